"""Effects of single changes: contrasts, ratios, errors, growth; controls of claims; the lines of a forest figure."""

from dataclasses import asdict

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from bestarm.experiments.definitions import ledger, load_experiment
from bestarm.reporting.claim_tests import STATISTICAL, compare_means, pulls_of
from bestarm.reporting.claims import evaluate
from bestarm.reporting.controls import control_caveat, control_rows
from bestarm.reporting.effects import Contrast, contrasts, effects, growth, single_changes
from bestarm.reporting.figures import use_style
from bestarm.reporting.forest import forest_figure, forest_lines
from bestarm.reporting.summaries import COLUMNS


def rows(means: dict[str, float], n: int = 200, wrong: dict[str, int] | None = None, seed: int = 0) -> pd.DataFrame:
    """Return rows of series on a shared noise; the first ``wrong[series]`` replications answer wrongly."""
    rng = np.random.default_rng(seed)
    shared = rng.gamma(25, 1 / 25, n)
    frames = [
        pd.DataFrame({"series": s, "replication": np.arange(n), "pulls": m * shared * rng.gamma(400, 1 / 400, n)})
        for s, m in means.items()
    ]
    frame = pd.concat(frames, ignore_index=True)
    errors = frame["series"].map(wrong or {}).fillna(0)
    frame["correct"] = (frame["replication"] >= errors).astype(float)
    return frame.assign(convention="as_written", data="synthetic", stopped=True)


def test_a_series_is_compared_with_the_one_before_its_bar():
    """Each algorithm stands first, its changes behind it, whatever the order of the rows."""
    frame = rows({"A": 1, "B": 1, "A | x": 1, "B | y, z": 1})
    assert single_changes(frame) == [
        Contrast("A", "", "A", "A"),
        Contrast("A", "x", "A | x", "A"),
        Contrast("B", "", "B", "B"),
        Contrast("B", "y, z", "B | y, z", "B"),
    ]
    assert contrasts({"g": {"n": ["a", "b"]}}) == [Contrast("g", "n", "a", "b")]


def test_effects_are_paired_ratios_and_wilson_errors():
    """The interval is that of the claims' tests; a series against itself has none."""
    frame = rows({"A": 100.0, "A | x": 80.0}, wrong={"A | x": 9})
    found = effects(frame, single_changes(frame), "a", "smoke")
    assert list(found.columns) == COLUMNS
    ratio = found[found["statistic"] == "ratio of means"].set_index("x")
    expected = compare_means(pulls_of(frame, "A | x"), pulls_of(frame, "A"), {"below": 1.0}, "")
    assert ratio.loc["x", ["value", "low", "high"]].tolist() == [expected.effect, expected.low, expected.high]
    assert ratio.loc["x", "low"] < 0.8 < ratio.loc["x", "high"] < 0.82
    assert ratio.loc["", ["value", "low", "high"]].tolist() == [1.0, 1.0, 1.0]
    error = found[found["statistic"] == "error rate"].set_index("x").loc["x"]
    assert [error["low"], error["high"]] == pytest.approx(proportion_confint(9, 200, method="wilson"))


def test_the_paired_interval_covers_the_true_ratio_nineteen_times_in_twenty():
    """Coverage over 400 data sets, within four standard errors."""
    covered = []
    for seed in range(400):
        frame = rows({"A": 100.0, "A | x": 80.0}, n=60, seed=seed)
        line = effects(frame, [Contrast("A", "x", "A | x", "A")], "a", "smoke").iloc[0]
        covered.append(line["low"] <= 0.8 <= line["high"])
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)


def test_growth_finds_the_power():
    """Means like the gap to the power -2: the slope is found and the line fits; a bent one does not."""
    gaps = {0.5: 0, 0.3: 1, 0.1: 2, 0.03: 3}
    found = growth({g: rows({"A": 7 / g**2, "B": 3 / g**2}, seed=s) for g, s in gaps.items()})
    assert ((found["slope"] + 2).abs() < 0.8 * (found["high"] - found["low"])).all()  # three standard errors
    assert (found["high"] - found["low"] < 0.1).all()
    assert (found["p"] > 0.01).all()
    cut = {g: rows({"A": 7 / g**2}, seed=s).assign(stopped=g > 0.03) for g, s in gaps.items()}
    assert growth(cut).loc[0, "slope"] == growth({g: cut[g] for g in (0.5, 0.3, 0.1)}).loc[0, "slope"]
    bent = growth({g: rows({"A": (7 + 20 * g) / g**2}, seed=s) for g, s in gaps.items()})
    assert bent.loc[0, "p"] < 1e-6


@pytest.mark.parametrize(("left", "right", "p_is_small"), [(0, 12, True), (12, 0, False), (5, 5, False)])
def test_fewer_errors_is_the_exact_sign_test_of_the_runs_that_differ(left, right, p_is_small):
    """Twelve against none has p = 2^-12; the same runs wrong in both say nothing."""
    test = {"kind": "fewer_errors", "pairs": [["e", "A", "B"]]}
    found = STATISTICAL["fewer_errors"](test, {"e": rows({"A": 1.0, "B": 1.0}, wrong={"A": left, "B": right})})[0]
    assert found.effect == pytest.approx((left - right) / 200)
    assert found.low <= found.effect <= found.high
    assert found.p == pytest.approx(2.0**-12 if p_is_small else 1.0)


CONTROL = {"says": "x costs less", "test": {"kind": "ratio", "below": 0.9, "pairs": [["e", "A | x", "A"]]}}
CLAIM = {"claim": "c", "where": "w", "caveat": "Mind this.", "controls": [CONTROL]}
CLAIM["test"] = {"kind": "error_rate", "at_most": 0.05, "experiments": ["f"]}


@pytest.mark.parametrize(("mean", "outcome"), [(80.0, "yes"), (100.0, "no"), (90.0, "undecided")])
def test_a_control_is_answered_and_said_in_the_caveat(mean, outcome):
    """The typed caveat stays; the control follows with its outcome; the verdict does not need the control's rows."""
    frames = {"e": rows({"A": 100.0, "A | x": mean}), "f": rows({"A": 1.0})}
    profiles = dict.fromkeys(frames, "laptop")
    assert control_rows({"C1": CLAIM}, frames, profiles)["outcome"].tolist() == [outcome]
    caveat = evaluate("linear_topm", {"C1": CLAIM}, frames, profiles)["caveat"].iloc[0]
    assert caveat.startswith(f"Mind this. Controls: x costs less: {outcome} (")
    verdicts = evaluate("linear_topm", {"C1": CLAIM}, {"f": frames["f"]}, profiles)
    assert verdicts.set_index("convention").loc["as_written", ["verdict", "caveat"]].tolist() == [
        "reproduced",
        "Mind this.",
    ]


def test_a_control_compares_one_convention():
    """Rows as coded serve where every experiment of the control has them; otherwise all are as written."""
    both = pd.concat(
        [rows({"A": 100.0, "A | x": 50.0}), rows({"A": 100.0, "A | x": 99.0}).assign(convention="as_coded")]
    )
    assert "no" in control_caveat(CLAIM, {"e": both}, {"e": "laptop"}, "as_coded")
    written = both[both["convention"] == "as_written"]
    assert "yes" in control_caveat(CLAIM, {"e": written}, {"e": "laptop"}, "as_coded")
    assert control_rows({"C1": CLAIM}, {"e": both}, {"e": "smoke"})["outcome"].tolist() == ["untested"]


def test_a_forest_has_a_heading_for_each_group_and_numbers_beside_each_ratio():
    """A reference stands on its heading's line; a group without one has a heading of its own."""
    frame = rows({"A": 100.0, "A | x": 80.0})
    values = effects(frame, [*single_changes(frame), Contrast("G", "x / A", "A | x", "A")], "a", "smoke")
    assert forest_lines(values[values["statistic"] == "error rate"]) == [
        ("A", "", 0), ("A", "x", 1), ("G", "", None), ("G", "x / A", 2),
    ]  # fmt: skip
    use_style()
    figure = forest_figure([("title", values)], "ratio")
    left, right = figure.axes
    assert [label.get_text().strip() for label in left.get_yticklabels()] == ["A", "x", "G", "x / A"]
    assert len(left.texts) == 2
    assert "n = 200" in left.get_xlabel()
    assert left.get_xscale() == "log"
    assert right.get_xscale() == "linear"
    plt.close(figure)


AUDITS = [name for name in ledger("linear_topm")["experiments"] if name.startswith("audit_")]


@pytest.mark.parametrize("name", AUDITS)
def test_what_the_ledger_calls_as_coded_is_so(name):
    """A series "A | as coded" has the settings that the policy itself gives, and every change keeps A's ties."""
    stand_in = "stand_in" in ledger("linear_topm")["experiments"][name]
    policies = {s.label: s.policy for s in load_experiment("linear_topm", name, "smoke", stand_in=stand_in).series}
    for label, policy in policies.items():
        reference, _, change = label.partition(" | ")
        if change:
            assert policy.label == reference
        if change == "as coded":
            assert asdict(policy) == pytest.approx(asdict(policies[reference].as_coded()))

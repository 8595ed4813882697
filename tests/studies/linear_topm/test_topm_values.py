"""Sample complexities, the authors' own runs, tables and audit of the Top-m paper, on rows whose answer is known."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from frames import runs
from statsmodels.stats.proportion import proportion_confint

from bestarm_lab.claims.verdicts import VERDICTS
from bestarm_lab.figures.values import COLUMNS, mean_interval, paired_effects
from bestarm_studies.linear_topm import values as topm
from bestarm_studies.linear_topm.figures import sample_complexity_figure
from bestarm_studies.linear_topm.paper_against_code.values import RATIO, moving, wrong_answers
from bestarm_studies.linear_topm.tables import agreement_table, exponent_table, growth_table, runs_table, verdict_counts

RECORDED = {"n": 500, "UGapE": [90.0, 30.0, 0]}


def rows(means: dict[str, float], n: int = 200, convention: str = "as_written", seed: int = 0) -> pd.DataFrame:
    """Return rows of some series; the first run of each answers wrongly."""
    rng = np.random.default_rng(seed)
    shared = rng.gamma(25, 1 / 25, n)
    pulls = {s: m * shared * rng.gamma(400, 1 / 400, n) for s, m in means.items()}
    frame = runs(pulls, "pulls", convention=convention, stopped=True)
    return frame.assign(correct=(frame["replication"] > 0).astype(float))


BOTH = pd.concat([rows({"UGapE": 100.0, "LinGame": 200.0}), rows({"UGapE": 100.0}, convention="as_coded")])


def test_values_carry_statistic_interval_and_n():
    """Means with t-intervals, errors with Wilson intervals, quantiles, and the authors' means as coded alone."""
    values = topm.sample_complexity_values(BOTH, "a", "smoke", RECORDED)
    assert list(values.columns) == COLUMNS
    table = values[values["convention"] == "as_written"].set_index(["statistic", "series"])
    pulls = BOTH.query("series == 'UGapE' and convention == 'as_written'")["pulls"]
    assert table.loc[("mean", "UGapE"), ["value", "low", "high"]].tolist() == pytest.approx(mean_interval(pulls))
    interval = proportion_confint(1, 200, method="wilson")
    assert table.loc[("error rate", "UGapE"), ["low", "high"]].tolist() == pytest.approx(interval)
    assert table.loc[("q1", "LinGame"), "value"] < table.loc[("median", "LinGame"), "value"]
    assert table.loc[("not stopped", "LinGame"), "value"] == 0
    authors = values[values["statistic"] == "authors' mean"]
    assert authors[["convention", "series", "value", "n"]].to_numpy().tolist() == [["as_coded", "UGapE", 90.0, 500]]


def test_errors_of_changes_stand_under_their_algorithm():
    found = topm.error_values(rows({"A": 1.0, "A | x": 1.0}), "1(a)", "smoke")
    assert found[["series", "x", "value"]].to_numpy().tolist() == [["A", "", 0.005], ["A", "x", 0.005]]


def test_agreement_is_a_two_sample_z_test():
    frame = rows({"UGapE": 100.0}, convention="as_coded")
    found = topm.agreement_with_recorded(frame, RECORDED)
    pulls = frame["pulls"]
    assert found["z"].iloc[0] == pytest.approx((pulls.mean() - 90) / np.sqrt(pulls.var() / 200 + 900 / 500))
    assert agreement_table(found.assign(instance="a"))["authors"].tolist() == ["90"]


def test_growth_finds_the_power():
    """Means like the gap to the power -2: the slope is found and the line fits; a bent one does not."""
    gaps = {0.5: 0, 0.3: 1, 0.1: 2, 0.03: 3}
    found = topm.growth_exponents({g: rows({"A": 7 / g**2, "B": 3 / g**2}, seed=s) for g, s in gaps.items()})
    assert ((found["slope"] + 2).abs() < 0.8 * (found["high"] - found["low"])).all()  # three standard errors
    assert (found["high"] - found["low"] < 0.1).all()
    assert (found["p"] > 0.01).all()
    cut = {g: rows({"A": 7 / g**2}, seed=s).assign(stopped=g > 0.03) for g, s in gaps.items()}
    kept = {g: cut[g] for g in (0.5, 0.3, 0.1)}
    assert topm.growth_exponents(cut).loc[0, "slope"] == topm.growth_exponents(kept).loc[0, "slope"]
    bent = topm.growth_exponents({g: rows({"A": (7 + 20 * g) / g**2}, seed=s) for g, s in gaps.items()})
    assert bent.loc[0, "p"] < 1e-6


def test_points_of_several_experiments_are_one_frame():
    section = SimpleNamespace(rows=lambda name: rows({name: 1.0}, n=2))
    assert topm.run_family(section, {"A": 1.0, "B": 2.0})["x"].tolist() == [1.0, 1.0, 2.0, 2.0]


def test_the_figure_shows_every_series_of_every_panel():
    """Labels, errors, n and convention at the place where a reader looks for them."""
    both = pd.concat([BOTH, rows({"LinGame": 150.0}, convention="as_coded")])
    values = topm.sample_complexity_values(both, "a", "smoke", RECORDED)
    panels, order = [topm.Panel("a", "one", "an instance", both, values)], [["LinGame", "UGapE"]]
    figure = sample_complexity_figure(panels, order, title="A finding")
    left, right = figure.axes
    assert [t.get_text() for t in left.get_yticklabels()] == ["LinGame", "UGapE"]
    assert "0.5%" in [t.get_text() for t in left.texts]
    assert "n = 200 runs" in figure.texts[1].get_text()
    assert "authors' code" in right.get_title(loc="left")
    assert figure.get_size_inches()[0] <= 8


def certain_rows(pulls, n=20, wrong=()):
    """Return runs in which each series always needs the same number of pulls; some series are wrong once."""
    frame = runs({s: np.full(n, p) for s, p in pulls.items()}, "pulls", correct=1.0, stopped=True)
    frame.loc[frame["series"].isin(wrong) & (frame["replication"] == 0), "correct"] = 0.0
    return frame


def panel(letter, pulls):
    frame = certain_rows(pulls)
    return topm.Panel(letter, "one", "an instance", frame, topm.sample_complexity_values(frame, letter, "smoke"))


def test_growth_is_the_ratio_of_the_means():
    table = growth_table(panel("a", {"UGapE": 10.0, "LinGame": 20.0}), panel("b", {"UGapE": 145.0, "LinGame": 20.0}))
    assert table.to_numpy().tolist() == [["UGapE", "14.5"], ["LinGame", "1.0"]]
    assert list(table.columns) == ["algorithm", "as written"]


def test_runs_are_counted_for_each_panel():
    table = runs_table([panel("a", {"UGapE": 10.0, "LinGame": 20.0})])
    assert table.to_numpy().tolist() == [["a", "an instance", 2, 20, "yes"]]


def test_exponents_are_written_with_their_intervals():
    slopes = pd.DataFrame({"series": ["A"], "slope": [-2.0], "low": [-2.1], "high": [-1.9], "p": [0.5], "n": [7]})
    assert exponent_table(slopes).to_numpy().tolist() == [["A", "-2.000 [-2.100, -1.900]", "0.500", 7]]


def test_changes_that_move_nothing_are_named_and_the_others_kept():
    """A change below the limit for every algorithm is named; below it for one only, its line is left out unnamed."""
    frame = certain_rows({"A": 100.0, "A | x": 101.0, "A | y": 150.0, "B": 100.0, "B | y": 101.0}, wrong=["A | y"])
    ratios = paired_effects(frame, "pulls", statistic=RATIO, profile="smoke", panel="1(a)", log=True)
    errors = topm.error_values(frame, "1(a)", "smoke")
    kept, named = moving(pd.concat([ratios, errors]))
    assert named == "x"
    assert kept[["series", "x"]].drop_duplicates().to_numpy().tolist() == [["A", ""], ["A", "y"], ["B", ""]]
    wrong = wrong_answers(errors)
    assert wrong[["algorithm", "change"]].to_numpy().tolist() == [["A", "y"]]
    assert wrong["wrong answers"].iloc[0].startswith("0.050")


def test_verdicts_are_counted_under_each_convention():
    verdicts = pd.DataFrame({"convention": ["as_written", "as_written", "as_coded"], "verdict": ["refuted"] * 3})
    table = verdict_counts(verdicts)
    assert table["refuted"].tolist() == pytest.approx([2, 1])
    assert list(table.columns) == ["run as", "refuted"]
    every = pd.DataFrame({"convention": "as_written", "verdict": VERDICTS})
    assert verdict_counts(every).iloc[0].tolist()[1:] == [1] * len(VERDICTS)  # none is left out, at the margin neither

"""Claims about regret, their summaries and figures, on rows whose truth is known."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bestarm.reporting.claims import evaluate
from bestarm.reporting.regret_claims import REGRET_TESTS, describe_regret, partial_conjunction, values_of
from bestarm.reporting.regret_figures import grid_figure, regret_figure
from bestarm.reporting.regret_summaries import function_values, regret_table, summarise_grid, summarise_regret
from bestarm.reporting.summaries import COLUMNS
from bestarm_studies.gpoo.functions import reward_function

N = 60
BUDGETS = np.arange(0, 41)


def table(series, seed=0, n=N, convention="as_written"):
    """Return rows of some series; each is a function of (budget, generator) to regrets of shape (n, n_budgets)."""
    frames = []
    for label, regret in series.items():
        values = regret(BUDGETS[None, :], np.random.default_rng(seed))
        values = np.broadcast_to(values, (n, len(BUDGETS)))
        frames.append(
            pd.DataFrame(
                {
                    "convention": convention,
                    "series": label,
                    "replication": np.repeat(np.arange(n), len(BUDGETS)),
                    "budget": np.tile(BUDGETS, n),
                    "regret": values.ravel(),
                    "data": "synthetic",
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def noisy(level, spread=0.1):
    return lambda t, rng: level + spread * rng.standard_normal((N, 1)) + 0.01 * rng.standard_normal((N, t.shape[1]))


ROWS = {
    "e": table(
        {
            "low": lambda t, rng: noisy(0.1)(t, rng) + 0.02 * np.random.default_rng(5).standard_normal((N, 1)),
            "high": noisy(0.2),
            "same": noisy(0.1),
            "fast": lambda t, rng: np.exp(-t / 4.0) + 0.001 * rng.standard_normal((N, t.shape[1])),
            "slow": lambda t, rng: np.exp(-t / 12.0) + 0.001 * rng.standard_normal((N, t.shape[1])),
            "never": lambda t, rng: 1.0 + 0.0 * t,
        }
    )
}


def run(kind, **test):
    return REGRET_TESTS[kind]({"kind": kind, "metric": "regret", **test}, ROWS)


def test_values_of_a_run_are_those_at_a_budget_or_their_mean():
    at = values_of(ROWS["e"], "fast", "regret", {"at": 8})
    over = values_of(ROWS["e"], "fast", "regret", {"over": [4, 8]})
    mine = ROWS["e"][ROWS["e"]["series"] == "fast"].pivot(index="replication", columns="budget", values="regret")
    np.testing.assert_allclose(at, mine[8])
    np.testing.assert_allclose(over, mine[[4, 5, 6, 7, 8]].mean(axis=1))
    with pytest.raises(ValueError, match="no rows of series 'quick'; there are: low"):
        values_of(ROWS["e"], "quick", "regret", {"at": 8})
    with pytest.raises(ValueError, match="series 'fast' has no rows at budgets 99 to 99"):
        values_of(ROWS["e"], "fast", "regret", {"at": 99})


def test_smaller_is_a_paired_t_test():
    """Against scipy, in both directions; a margin moves the question."""
    (found,) = run("smaller", pairs=[["e", "low", "high"]], measures=[{"at": 20}])
    a, b = (values_of(ROWS["e"], s, "regret", {"at": 20}) for s in ("low", "high"))
    expected = stats.ttest_rel(a, b, alternative="less")
    assert found.p == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.p_opposite == pytest.approx(1.0 - expected.pvalue)
    assert found.effect == pytest.approx((a - b).mean())
    assert found.low < found.effect < found.high < 0
    (beyond,) = run("smaller", pairs=[["e", "low", "high"]], measures=[{"at": 20}], margin=0.5)
    assert beyond.p > 0.999
    (reverse,) = run("smaller", pairs=[["e", "high", "low"]], measures=[{"at": 20}])
    assert reverse.p_opposite == pytest.approx(found.p)


def test_between_needs_both_sides():
    (inside,) = run("between", pairs=[["e", "high", "low"]], measures=[{"at": 20}], between=[0.0, 0.2])
    (above,) = run("between", pairs=[["e", "high", "low"]], measures=[{"at": 20}], between=[0.0, 0.05])
    assert inside.p < 1e-6
    assert above.p > 0.999
    assert above.p_opposite < 1e-6


def test_share_and_misses_are_exact_binomial_tests():
    (found,) = run("share", series=[["e", "never"]], measures=[{"at": 20}], more_than=0.5, share_above=0.25)
    assert found.effect == 1.0
    assert found.p == pytest.approx(0.25**N)
    (other,) = run("share", series=[["e", "never"]], measures=[{"at": 20}], at_most=0.5, share_above=0.25)
    assert (other.effect, other.p) == (0.0, 1.0)
    (more,) = run("misses_more", pairs=[["e", "never", "fast"]], measures=[{"at": 20}], more_than=0.5)
    assert more.effect == 1.0
    assert more.p == pytest.approx(0.5**N)
    (none,) = run("misses_more", pairs=[["e", "never", "never"]], measures=[{"at": 20}], more_than=0.5)
    assert (none.p, none.p_opposite) == (1.0, 1.0)


def test_spread_agrees_with_the_chi_square_interval():
    """Normal values: the bootstrap's 95% interval of the standard deviation is near the exact one."""
    (found,) = run("spread", series=[["e", "high"]], measures=[{"at": 20}], below=0.2)
    values = values_of(ROWS["e"], "high", "regret", {"at": 20})
    low, high = np.sqrt((N - 1) * values.var(ddof=1) / stats.chi2.ppf([0.975, 0.025], N - 1))
    assert found.effect == pytest.approx(values.std(ddof=1))
    assert found.low == pytest.approx(low, abs=0.02)
    assert found.high == pytest.approx(high, abs=0.02)
    assert found.p < 0.001
    (tight,) = run("spread", series=[["e", "high"]], measures=[{"at": 20}], below=0.05)
    assert tight.p_opposite < 0.001


def test_faster_compares_the_first_budgets():
    """exp(-t/4) is at 0.1 after 10, exp(-t/12) after 28; what never gets there counts as 41."""
    (found,) = run("faster", pairs=[["e", "fast", "slow"]], level=0.1, ratio=0.5)
    assert found.effect == pytest.approx(10 / 28)
    assert found.p < 0.01
    (never,) = run("faster", pairs=[["e", "fast", "never"]], level=0.1, ratio=0.5)
    assert never.effect == pytest.approx(10 / 41)
    (reverse,) = run("faster", pairs=[["e", "slow", "fast"]], level=0.1, ratio=0.5)
    assert reverse.p_opposite < 0.01


def test_gap_closed_is_the_part_of_the_difference():
    rows = {
        "e": table(
            {
                "slow": noisy(0.9),
                "fast": lambda t, rng: noisy(0.1)(t, rng) + 0.01 * np.random.default_rng(1).standard_normal((N, 1)),
                "half": lambda t, rng: noisy(0.3)(t, rng) + 0.01 * np.random.default_rng(2).standard_normal((N, 1)),
            }
        )
    }
    spec = {
        "kind": "gap_closed",
        "metric": "regret",
        "measures": [{"at": 20}],
        "triples": [["e", "slow", "half", "fast"]],
    }
    (found,) = REGRET_TESTS["gap_closed"](spec | {"part": 0.5}, rows)
    assert found.effect == pytest.approx(0.75, abs=0.01)
    assert found.low < 0.75 < found.high
    assert found.p < 1e-6
    (more,) = REGRET_TESTS["gap_closed"](spec | {"part": 0.9}, rows)
    assert more.p_opposite < 1e-6


def test_more_often_needs_as_many_measures_as_it_says():
    """Smaller in every run at three budgets, larger at two: three of five hold, four do not."""

    def crossing(t, rng):
        return np.where(t <= 15, 0.1, 0.9) + 0.0 * rng.standard_normal((N, 1))

    rows = {"e": table({"left": crossing, "right": noisy(0.5, 0.05)})}
    spec = {
        "kind": "more_often",
        "metric": "regret",
        "pairs": [["e", "left", "right"]],
        "measures": [{"at": b} for b in (5, 10, 15, 20, 25)],
    }
    (three,) = REGRET_TESTS["more_often"](spec | {"need": 3}, rows)
    (four,) = REGRET_TESTS["more_often"](spec | {"need": 4}, rows)
    assert three.p == pytest.approx(3 * 0.5**N)
    assert three.effect == 1.0
    assert four.p > 0.999
    assert four.p_opposite == pytest.approx(4 * 0.5**N)
    assert four.effect == 0.0


def test_a_partial_conjunction_needs_its_number_of_small_p_values():
    assert partial_conjunction([0.001, 0.002, 0.5], 1) == pytest.approx(0.003)
    assert partial_conjunction([0.001, 0.002, 0.5], 2) == pytest.approx(0.004)
    assert partial_conjunction([0.001, 0.002, 0.5], 3) == 0.5


def grid(best, trend, seed=0):
    rng = np.random.default_rng(seed)
    shared = 0.05 * rng.standard_normal((N, 1))
    return {
        "g": table(
            {
                f"K = {k}, S = {s}": lambda t, _, k=k, s=s: (
                    0.5 + 0.1 * (k != best) + trend * s + shared + 0.01 * rng.standard_normal((N, t.shape[1]))
                )
                for k in (2, 3, 4)
                for s in (1, 10, 20, 30)
            }
        )
    }


def test_best_arity_and_trend_on_grids_with_a_known_answer():
    spec = {"metric": "regret", "budgets": [10, 20], "experiments": ["g"]}
    rows = grid(best=3, trend=-0.004)
    (found,) = REGRET_TESTS["best_arity"](spec | {"kind": "best_arity", "arity": 3}, rows)
    (other,) = REGRET_TESTS["best_arity"](spec | {"kind": "best_arity", "arity": 2}, rows)
    assert found.effect == 1.0
    assert found.p < 0.001
    assert other.p_opposite < 0.001
    (falls,) = REGRET_TESTS["falls_with_size"](spec | {"kind": "falls_with_size"}, rows)
    (rises,) = REGRET_TESTS["falls_with_size"](spec | {"kind": "falls_with_size"}, grid(best=3, trend=0.004))
    (some,) = REGRET_TESTS["falls_with_size"](spec | {"kind": "falls_with_size", "smallest": 10}, rows)
    assert falls.effect == -1.0
    assert falls.p < 0.001
    assert rises.p_opposite < 0.001
    assert "S = 10, 20, 30" in some.name


def test_rate_recovers_a_known_slope():
    """Mean regret (N/log N)^-0.6 with five per cent of noise."""
    power = {"power": lambda t, rng: np.where(t > 1, (np.maximum(t, 2) / np.log(np.maximum(t, 2))) ** -0.6, 1.0)}
    clean = table(power)
    noise = 1.0 + 0.05 * np.random.default_rng(3).standard_normal(len(clean))
    rows = {"e": clean.assign(regret=clean["regret"] * noise)}
    spec = {"kind": "rate", "metric": "regret", "series": [["e", "power"]], "budgets": [4, 8, 16, 32]}
    (found,) = REGRET_TESTS["rate"](spec | {"slope": -0.5}, rows)
    assert found.effect == pytest.approx(-0.6, abs=0.02)
    assert found.low < -0.6 < found.high
    assert found.p < 0.001
    (steeper,) = REGRET_TESTS["rate"](spec | {"slope": -0.7}, rows)
    assert steeper.p_opposite < 0.001


def test_a_claim_of_the_ledger_gets_a_verdict_from_these_tests():
    claims = {
        "A": {
            "claim": "low is lower",
            "where": "here",
            "test": {
                "kind": "smaller", "metric": "regret", "measures": [{"at": 20}, {"over": [5, 20]}],
                "pairs": [["e", "low", "high"]],
            },
        },
        "B": {
            "claim": "high is lower",
            "where": "here",
            "test": {"kind": "smaller", "metric": "regret", "measures": [{"at": 20}], "pairs": [["e", "high", "low"]]},
        },
    }  # fmt: skip
    verdicts = evaluate("gpoo", claims, ROWS, {"e": "laptop"}).set_index(["id", "convention"])
    assert verdicts.loc[("A", "as_written"), "verdict"] == "reproduced"
    assert verdicts.loc[("A", "as_written"), "test"] == "mean regret smaller, paired t-test, every pair and measure"
    assert verdicts.loc[("B", "as_written"), "verdict"] == "contradicted"
    assert set(verdicts.index.get_level_values("convention")) == {"as_written"}  # nothing was run as coded


def test_every_kind_of_test_has_words():
    fields = {
        "at_most": 1, "share_above": 0.1, "below": 1, "level": 1, "ratio": 1, "arity": 3, "more_than": 1, "part": 0.5,
        "between": [0, 1], "need": 2, "slope": -1, "metric": "x",
    }  # fmt: skip
    assert all(describe_regret({"kind": kind, **fields}) for kind in REGRET_TESTS)
    assert describe_regret({"kind": "ratio"}) == ""


def test_summaries_are_the_plain_statistics():
    values = summarise_regret(ROWS["e"], "a", "smoke", metric="regret", n_runs=30)
    assert list(values.columns) == COLUMNS
    line = values[(values["series"] == "high") & (values["x"] == 7) & (values["statistic"] == "mean")].iloc[0]
    mine = values_of(ROWS["e"], "high", "regret", {"at": 7}).loc[:29]
    low, high = stats.t.interval(0.95, 29, mine.mean(), stats.sem(mine))
    np.testing.assert_allclose([line["value"], line["low"], line["high"]], [mine.mean(), low, high])
    assert line["n"] == 30
    spread = values[(values["series"] == "high") & (values["x"] == 7) & (values["statistic"] == "standard deviation")]
    assert spread["value"].item() == pytest.approx(mine.std(ddof=1))
    text = regret_table(values, [7, 8])
    assert list(text.columns) == ["panel", "convention", "series", "N = 7", "N = 8"]
    assert text.loc[text["series"] == "high", "N = 7"].item() == f"{mine.mean():.3f} [{low:.3f}, {high:.3f}]"


def test_figures_show_every_series_and_panel():
    values = summarise_regret(ROWS["e"], "a", "smoke", metric="regret")
    functions = {"a": function_values(reward_function("f1"), "a", "as_written", "smoke")}
    figure = regret_figure(functions, values, ["low", "fast"], band="interval", profile="smoke", titles={"a": "A"})
    axes = figure.axes
    assert [line.get_label() for line in axes[1].lines[:2]] == ["low", "fast"]
    np.testing.assert_allclose(axes[1].lines[1].get_ydata(), np.exp(-BUDGETS / 4.0), atol=0.01)
    assert "n = 60" in axes[1].get_ylabel()
    assert axes[0].lines[1].get_xdata()[0] == pytest.approx(0.8998999, abs=1e-6)
    plt.close(figure)
    rows = grid(best=3, trend=-0.004)["g"].rename(columns={"regret": "aggregated_regret"})
    cells = summarise_grid(rows, [10, 20], "smoke")
    assert len(cells) == 24
    mean = rows[(rows["series"] == "K = 3, S = 10") & (rows["budget"] == 20)]["aggregated_regret"].mean()
    shown = cells[(cells["series"] == "K = 3") & (cells["x"] == 10) & (cells["panel"] == "N = 20")]["value"].item()
    assert shown == pytest.approx(np.log(mean))
    figure = grid_figure(cells, "smoke")
    assert [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes[:2]] == [
        "N = 10, as written, n = 60",
        "N = 20, as written, n = 60",
    ]
    plt.close(figure)


def test_a_statement_that_must_always_hold_is_decided_on_the_runs_of_the_event():
    """One run beyond the bound is enough; a run outside of the event does not count."""
    from bestarm_studies.linear_topm.checks import decide

    rows = pd.DataFrame(
        {"convention": "as_written", "series": "A", "event_share": [0.5, 0.9, 1.2], "draws_share": [0.4, 0.8, 7.0]}
    )
    test = {"kind": "always", "metric": "draws_share", "experiments": ["e"], "series": ["A"]}
    assert decide("gpoo", {"e": rows}, test) == (True, "0 of 2 runs beyond the bound; at most 0.8 times the bound")
    rows.loc[0, "draws_share"] = 1.5
    assert decide("gpoo", {"e": rows}, test)[0] is False

"""Rows to plotted values: statistics with their intervals, paired effects, tables of texts."""

import numpy as np
import pandas as pd
import pytest
from frames import runs
from refusals import refuses
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from bestarm_lab.figures.values import (
    COLUMNS,
    as_values,
    interval_text,
    mean_interval,
    melted,
    paired_effects,
    single_changes,
    summarise,
    text_table,
)


def rows(means: dict[str, float], n: int = 200, seed: int = 0, budgets: tuple[int, ...] = (10, 20)) -> pd.DataFrame:
    """Return rows of series on a shared noise at some budgets."""
    rng = np.random.default_rng(seed)
    shared = rng.gamma(25, 1 / 25, n)
    frames = []
    for series, mean in means.items():
        for budget in budgets:
            pulls = mean * shared * rng.gamma(400, 1 / 400, n)
            frames.append(runs({series: pulls}, "pulls", budget=budget, correct=(rng.random(n) < 0.7).astype(float)))
    return pd.concat(frames, ignore_index=True)


ROWS = rows({"A": 100.0, "A | x": 80.0})


def test_statistics_are_the_plain_ones_with_their_intervals():
    """Means with t, shares with Wilson, medians with quartiles, spreads and counts without an interval."""
    kinds = {"mean": ("pulls", "mean"), "share": ("correct", "share"), "median": ("pulls", "median")}
    kinds |= {"sd": ("pulls", "standard deviation"), "wins": ("correct", "count"), "largest": ("pulls", 1.0)}
    values = summarise(ROWS, kinds, x="budget", panel="one", profile="smoke")
    assert (list(values.columns), set(values["n"])) == (COLUMNS, {200})
    mine = ROWS[(ROWS["series"] == "A | x") & (ROWS["budget"] == 20)]
    line = values[(values["series"] == "A | x") & (values["x"] == 20)].set_index("statistic")
    expected = {
        "mean": (mine["pulls"].mean(), *stats.t.interval(0.95, 199, mine["pulls"].mean(), stats.sem(mine["pulls"]))),
        "share": (mine["correct"].mean(), *proportion_confint(mine["correct"].sum(), 200, method="wilson")),
        "median": tuple(mine["pulls"].quantile([0.5, 0.25, 0.75])),
    }
    for statistic, numbers in expected.items():
        assert line.loc[statistic, ["value", "low", "high"]].tolist() == pytest.approx(numbers)
    assert line.loc["mean", ["value", "low", "high"]].tolist() == pytest.approx(mean_interval(mine["pulls"]))
    assert line.loc["sd", "value"] == pytest.approx(mine["pulls"].std(ddof=1))
    assert line.loc["wins", "value"] == mine["correct"].sum()
    assert line.loc["largest", "value"] == mine["pulls"].max()
    assert line.loc[["sd", "wins", "largest"], ["low", "high"]].isna().all(axis=None)
    refuses(lambda: summarise(ROWS, {"mode": ("pulls", "mode")}, profile="smoke"), "unknown kind of statistic 'mode'")


def test_a_panel_is_a_text_over_columns():
    """One panel for each value of the columns in braces; rows that do not say are synthetic and as written."""
    bare = ROWS.drop(columns=["convention", "data"])
    values = summarise(bare, {"mean": ("pulls", "mean")}, panel="B = {budget:g}", profile="smoke")
    assert values["panel"].unique().tolist() == ["B = 10", "B = 20"]
    assert (set(values["convention"]), set(values["data"])) == ({"as_written"}, {"synthetic"})
    assert values["x"].isna().all()
    one = summarise(bare[bare["replication"] == 0], {"mean": ("pulls", "mean")}, profile="smoke")
    assert one["n"].tolist() == [2, 2]  # the two budgets are one group if neither panel nor x names them


def test_the_mean_interval_covers_the_truth_nineteen_times_in_twenty():
    """Coverage over 2000 samples of size 20, within four standard errors."""
    rng = np.random.default_rng(1)
    covered = [low <= 0 <= high for _, low, high in (mean_interval(pd.Series(x)) for x in rng.normal(size=(2000, 20)))]
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2000)


def test_a_series_is_compared_with_the_one_before_its_bar():
    """Each algorithm stands first, its changes behind it, whatever the order of the rows."""
    assert single_changes(pd.DataFrame({"series": ["A", "B", "A | x", "B | y, z"]})) == {
        "A": {"": ("A", "A"), "x": ("A | x", "A")},
        "B": {"": ("B", "B"), "y, z": ("B | y, z", "B")},
    }


def test_differences_are_paired():
    """Shared noise cancels: the change is exact, with an interval of no width; a reference shows its own mean."""
    noise = 0.1 * np.random.default_rng(0).standard_normal(40)
    levels = {"A": 0.5, "A | better": 0.3, "A | same": 0.5, "B": 0.2}
    frames = [runs({s: by + noise + 0.001 * b for s, by in levels.items()}, "regret", budget=b) for b in (10, 20)]
    found = paired_effects(pd.concat(frames), "regret", statistic="mean", panel="f", profile="smoke")
    assert list(found.columns) == COLUMNS
    table = found.set_index(["series", "x"])
    np.testing.assert_allclose(table.loc[("A", "better"), ["value", "low", "high"]].astype(float), -0.2, atol=1e-12)
    assert table.loc[("A", "same"), "value"] == pytest.approx(0.0, abs=1e-12)
    assert table.loc[("B", ""), "value"] == pytest.approx(0.2 + noise.mean() + 0.015)
    assert set(found["n"]) == {40}


def test_series_of_unequal_length_are_compared_on_what_both_have():
    """The interval and n are those of the shorter series; runs that only one of them has are left out."""
    better = np.random.default_rng(1).standard_normal(20)
    rows = runs({"A": np.r_[np.zeros(20), np.full(80, 9.0)], "A | x": better}, "regret")
    found = paired_effects(rows, "regret", statistic="mean", profile="smoke").set_index("x").loc["x"]
    assert found["n"] == 20
    np.testing.assert_allclose(found[["value", "low", "high"]].astype(float), mean_interval(pd.Series(better)))


def test_ratios_are_paired_and_named_lines_can_be_given():
    """A series against itself is 1; a series that was not run is an error that names those that were."""
    lines = {"group": {"x / A": ("A | x", "A")}}
    found = paired_effects(ROWS, "pulls", log=True, statistic="ratio", profile="smoke", lines=lines).iloc[0]
    assert (found["series"], found["x"]) == ("group", "x / A")
    assert 0.78 < found["low"] < found["value"] < found["high"] < 0.82
    itself = paired_effects(ROWS, "pulls", log=True, statistic="ratio", profile="smoke").iloc[0]
    assert itself[["x", "value", "low", "high"]].tolist() == ["", 1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match=r"no rows of C; there are: A, A \| x"):
        paired_effects(ROWS, "pulls", statistic="d", profile="smoke", lines={"g": {"n": ("C", "A")}})


def test_the_interval_of_a_ratio_covers_the_truth_nineteen_times_in_twenty():
    """Coverage over 400 data sets, within four standard errors."""
    covered, lines = [], {"A": {"x": ("A | x", "A")}}
    for seed in range(400):
        frame = rows({"A": 100.0, "A | x": 80.0}, n=60, seed=seed, budgets=(10,))
        line = paired_effects(frame, "pulls", log=True, statistic="r", profile="smoke", lines=lines).iloc[0]
        covered.append(line["low"] <= 0.8 <= line["high"])
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)


def test_tables_are_texts_in_the_order_of_the_values():
    """One row for each series, one column for each cell, conventions in words."""
    values = summarise(ROWS, {"mean": ("pulls", "mean")}, x="budget", panel="p", profile="smoke")
    table = text_table(values, "mean", "{value:.1f} [{low:.1f}, {high:.1f}]", columns="B = {x:g}")
    assert list(table.columns) == ["convention", "series", "B = 10", "B = 20"]
    assert table["convention"].tolist() == ["as written"] * 2
    first = values.iloc[0]
    assert table.loc[0, "B = 10"] == f"{first['value']:.1f} [{first['low']:.1f}, {first['high']:.1f}]"
    assert text_table(values, "mean")["p, 10"].str.contains(" ± ").all()


def test_other_frames_become_values():
    """What a frame does not say is one exact value as written; texts keep their column as the statistic."""
    made = as_values(pd.DataFrame({"series": ["a"], "value": [2.0]}), panel="p", profile="smoke")
    assert list(made.columns) == COLUMNS
    assert made[["n", "convention", "data", "panel"]].to_numpy().tolist() == [[1, "as_written", "synthetic", "p"]]
    words = melted(pd.DataFrame({"name": ["a"], "rule": ["greedy"]}), "name", "smoke")
    assert words[["series", "statistic", "value"]].to_numpy().tolist() == [["a", "rule", "greedy"]]
    assert interval_text(123.4, 100.2, 150.0) == "123 [100, 150]"
    assert interval_text(0.5, 0.25, 0.75) == "0.500 [0.250, 0.750]"
    assert interval_text(np.nan, np.nan, np.nan) == ""

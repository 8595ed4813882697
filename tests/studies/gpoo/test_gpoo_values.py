"""Regret over budgets, settings and grids, and what changes are worth, on rows whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from frames import runs

from bestarm_lab.figures.values import COLUMNS, summarise
from bestarm_studies.gpoo.aggregation.children_and_representatives import grid_figure, log_regret_grid
from bestarm_studies.gpoo.functions import reward_function
from bestarm_studies.gpoo.paper_against_code.audit import audit_effects, effects_table
from bestarm_studies.gpoo.paper_against_code.causes import slope_values
from bestarm_studies.gpoo.regret.figures import regret_figure
from bestarm_studies.gpoo.values import difference_values, function_values, regret_of
from bestarm_studies.gpoo.what_changes_when import settings as gpoo_settings

N = 40
NAMES = {"S = 1, c = 1": 0.5, "S = 1, c = 2": 0.3, "S = 1, c = 4": 0.3, "S = 10, c = 1": 0.5, "S = 10, c = 2": 0.2}


def rows(levels: dict[str, float], budgets=(10, 20), seed: int = 0) -> pd.DataFrame:
    """Return rows of some series with these mean regrets, on a shared noise, a little larger at larger budgets."""
    noise = np.random.default_rng(seed).standard_normal(N)
    frames = [
        runs({label: level + 0.1 * noise + 0.001 * budget}, "aggregated_regret", budget=budget)
        for label, level in levels.items()
        for budget in budgets
    ]
    return pd.concat(frames, ignore_index=True)


def test_functions_stand_over_their_regret():
    """One row of functions, one for each convention; each line at its own values."""
    both = pd.concat([rows({"StoOO": 0.5}), rows({"StoOO": 0.4}).assign(convention="as_coded")])
    values = summarise(both, regret_of("aggregated_regret"), x="budget", panel="f1", profile="smoke")
    functions = {"f1": function_values(reward_function("f1"), "f1", "as_written", "smoke")}
    assert list(functions["f1"].columns) == COLUMNS
    for marks in ("band", "standard deviation"):
        figure = regret_figure(functions, values, ["StoOO"], title="T", titles={"f1": "F"}, marks=marks)
        assert len(figure.axes) == 3
        drawn = next(line for line in figure.axes[1].lines if line.get_label() == "StoOO")
        expected = values[(values["statistic"] == "mean") & (values["convention"] == "as_written")]["value"]
        np.testing.assert_allclose(drawn.get_ydata(), expected)
        assert figure.axes[0].lines[1].get_xdata()[0] == pytest.approx(0.8998999, abs=1e-6)


def test_the_grid_is_the_logarithm_of_the_mean_in_one_range_of_colours():
    """The smallest value of each row has a frame."""
    found = rows({f"K = {k}, S = {s}": 0.3 + 0.1 * (k != 3) + 0.01 * s for k in (2, 3, 4) for s in (1, 10)}, (10, 20))
    cells = log_regret_grid(found, [10, 20], "smoke")
    assert len(cells) == 12
    mean = found[(found["series"] == "K = 3, S = 10") & (found["budget"] == 20)]["aggregated_regret"].mean()
    shown = cells[(cells["series"] == "K = 3") & (cells["x"] == 10) & (cells["panel"] == "N = 20")]["value"].item()
    assert shown == pytest.approx(np.log(mean))
    first, second = grid_figure(cells, title="K = 3 is best").axes[:2]
    assert first.collections[0].get_clim() == second.collections[0].get_clim()
    assert {patch.get_x() for patch in first.patches} == {1.04}


def test_effects_at_each_budget_and_over_all():
    """Shared noise cancels: the change is exact, with an interval of no width; references show their own mean."""
    values = audit_effects(rows({"A": 0.5, "A | better": 0.3, "B": 0.2}, budgets=(10, 30, 50, 80)), "f1", "smoke")
    assert values["statistic"].unique().tolist() == ["N = 30", "N = 50", "N = 80", "mean over N = 10-80"]
    assert values.set_index(["statistic", "series", "x"]).loc[("N = 30", "A", "better"), "value"] == pytest.approx(-0.2)
    assert effects_table(values, ["N = 30"], "better")["better"].tolist() == ["-0.200 [-0.200, -0.200]"]


def test_settings_are_read_from_the_series_names():
    values = gpoo_settings.setting_values(rows(NAMES), "f1", "smoke", [10, 20])
    assert set(values["x"]) == {"c = 1", "c = 2", "c = 4"}
    chosen = values[(values["series"] == "S = 10") & (values["x"] == "c = 2") & (values["statistic"] == "N = 20")]
    mine = rows(NAMES).query("series == 'S = 10, c = 2' and budget == 20")["aggregated_regret"]
    assert chosen["value"].item() == pytest.approx(mine.mean())
    (axis,) = gpoo_settings.settings_figure(values, title="T", x="c").axes
    assert axis.get_xscale() == "log"
    assert next(line for line in axis.lines if line.get_label() == "S = 1, N = 20").get_xdata().tolist() == [1, 2, 4]


def test_settings_are_compared_with_the_reference_of_what_is_varied():
    """On shared noise a difference of levels is exact; each S has one reference."""
    found = {"scale": rows(NAMES), "beta": rows({"S = 1, θ = 0.1": 0.5, "S = 1, θ = 0.5": 0.6})}
    effects = gpoo_settings.setting_effects(found, {"scale": "c = 1", "beta": "θ = 0.1"}, 20, "f1", "smoke")
    assert (effects["statistic"].unique().tolist(), (effects["x"] == "").sum()) == (["N = 20"], 2)
    value = effects.set_index(["series", "x"])["value"]
    assert value["GPOO (S = 1)", "c = 2"] == pytest.approx(-0.2)
    assert value["GPOO (S = 10)", "c = 2"] == pytest.approx(-0.3)
    assert value["GPOO (S = 1)", "θ = 0.5"] == pytest.approx(0.1)


def test_differences_are_paired_and_need_both_sides():
    """Shared noise cancels, so that the interval has no width; a convention without one of the two has no line."""
    both = pd.concat([rows({"A": 0.5, "B": 0.2}), rows({"A": 0.4}).assign(convention="as_coded")])
    values = difference_values({"f1": both}, {"A": ("A", "B")}, "smoke")
    assert (set(values["convention"]), values["x"].tolist()) == ({"as_written"}, [10, 20])
    np.testing.assert_allclose(values[["value", "low", "high"]], 0.3)
    assert set(values["n"]) == {N}


def test_rankings_count_the_comparisons_that_intervals_decide():
    """One setting is better than the rival by 0.3, the other equal on average but for independent noise."""
    settings = rows({"S = 1, c = 1": 0.5, "S = 1, c = 2": 0.2})
    rival = rows({"StoOO": 0.5})
    rival["aggregated_regret"] += np.tile(0.1 * np.random.default_rng(1).standard_normal(N), 2)
    values = gpoo_settings.ranking_values(settings, rival, {"S = 1": ["StoOO"]}, "f1", "smoke")
    table = gpoo_settings.ranking_table(values).set_index("setting")
    assert table.loc["c = 2", ["better", "worse", "undecided"]].tolist() == [1, 0, 0]
    assert table.loc["c = 1", ["better", "worse", "undecided"]].tolist() == [0, 0, 1]


def test_slopes_of_gptree_stand_beside_a_search_without_a_slope():
    """Leaves before the first reward, the mean regret of both, and the share of the last runs that are off the peak."""
    names = {"GPTree, slope 0.1": 0.5, "GPTree, slope 6.32": 0.2}
    growth = pd.concat(
        pd.DataFrame({"series": name, "replication": np.arange(N), "round": t, "n_leaves": n})
        for name, n in zip(names, (2, 64), strict=True)
        for t in (1, 2)
    )
    searches = rows(names, budgets=(10, 80))
    searches["off_peak"] = ((searches["series"] == "GPTree, slope 0.1") & (searches["replication"] < 10)).astype(float)
    control = rows({"GP-UCB on 64 cells": 0.3, "other": 0.9}, budgets=(10, 80)).assign(off_peak=0.0)
    values = slope_values(growth, {"f1": searches}, {"f1": control}, "smoke").set_index(["statistic", "series", "x"])
    value = values["value"]
    assert (value["leaves", "GPTree", 0.1], value["leaves", "GPTree", 6.32]) == (2, 64)
    assert value["mean", "GPTree", 0.1] == pytest.approx(searches["aggregated_regret"][: 2 * N].mean())
    assert value["mean", "GP-UCB on 64 cells", 0.1] == value["mean", "GP-UCB on 64 cells", 6.32]
    assert (value["off peak", "GPTree", 0.1], set(values["n"]), len(values)) == (0.25, {N}, 2 + 4 + 4)

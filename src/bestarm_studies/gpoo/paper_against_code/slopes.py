"""Slopes of GPTree's modulus g(r), which sets how much f may vary in a cell."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from bestarm_lab.figures.values import summarise
from bestarm_studies.gpoo.series import GPTREE
from bestarm_studies.gpoo.values import BUDGETS

# Slopes of GPTree's modulus g(r), which sets how much f may vary in a cell; the largest is the one of this kernel
GPTREE_SLOPES = {f"GPTree, slope {slope:g}": partial(GPTREE, slope=slope) for slope in (0.03, 0.1, 0.3, 1.0, 3.0)}
GPTREE_SLOPES["GPTree, slope 6.32"] = GPTREE


def slope_values(
    growth: pd.DataFrame, slopes: Mapping[str, pd.DataFrame], controls: Mapping[str, pd.DataFrame], profile: str
) -> pd.DataFrame:
    """Return what the slope of GPTree's modulus does, as plotted values; x is the slope.
    ``growth`` are rows of `bestarm_studies.gpoo.trees.growth_rows`; ``slopes`` and ``controls`` are rows of regret by
    function. Panel "leaves": before the first reward; one panel a function: the mean regret over `BUDGETS`, and ``off
    peak``, the share of runs that end off the highest peak."""

    def by_slope(rows: pd.DataFrame) -> pd.DataFrame:
        slope = rows["series"].str.extract(r"slope ([\d.]+)")[0].astype(float)
        return rows.assign(x=slope, series="GPTree")

    first = growth[growth["round"] == 1]
    found = [summarise(by_slope(first), {"leaves": ("n_leaves", "mean")}, x="x", panel="leaves", profile=profile)]
    for name, rows in slopes.items():
        mine = by_slope(rows[rows["budget"].between(*BUDGETS)])
        control = controls[name][controls[name]["series"] == "GP-UCB on 64 cells"]
        control = control[control["budget"].isin(mine["budget"])]
        places = pd.DataFrame({"x": mine["x"].unique()})
        runs = pd.concat([mine, control.drop(columns="x", errors="ignore").merge(places, how="cross")])
        keys = ["convention", "series", "x", "replication", "data"]
        means = runs.groupby(keys, sort=False)["aggregated_regret"].mean().reset_index()
        last = runs[runs["budget"] == BUDGETS[1]]
        found.append(summarise(means, {"mean": ("aggregated_regret", "mean")}, x="x", panel=name, profile=profile))
        found.append(summarise(last, {"off peak": ("off_peak", "share")}, x="x", panel=name, profile=profile))
    return pd.concat(found, ignore_index=True)

"""Causes that the paper names, each alone, and the parts of a gap that they explain; GPTree's slopes; precision."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import EXPANDED, LEAF
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.experiments.series import Series, one_change
from bestarm_lab.figures.values import summarise
from bestarm_studies.gpoo.paper_against_code.audit import GPTREE_DEVIATIONS
from bestarm_studies.gpoo.series import AVE_STOOO, GPOO, GPTREE, TENS, gpoo, stooo
from bestarm_studies.gpoo.trees import Search, Searches, of_all
from bestarm_studies.gpoo.values import BUDGETS

ABLATIONS = {
    **one_change(
        "GPOO (S = 1)",
        Series(GPOO, label="GPOO"),
        {
            "constant β": {"constant_beta": True},
            "leaf": {"recommendation": "leaf"},
            "lower bound": {"recommendation": "lower_bound"},
            "independent cells": {"independent_cells": True},
        },
    ),
    **one_change("GPOO (S = 10)", gpoo(10), {"independent cells": {"independent_cells": True}}),
    **one_change(
        "GPTree",
        GPTREE,
        {
            "growing β": {"beta": "gpoo"},
            # with these constants nothing but the root is divided before the first reward, see GPTREE_SLOPES
            "constants of the code": GPTREE_DEVIATIONS["constants of the code"],
            "constants of the code, growing β": GPTREE_DEVIATIONS["constants of the code"] | {"beta": "gpoo"},
        },
    ),
    **one_change("AVE-StoOO", stooo(TENS, 10, AVE_STOOO), {"posterior mean": {"recommendation": "posterior"}}),
}
# Slopes of GPTree's modulus g(r), which sets how much f may vary in a cell; the largest is the one of this kernel
GPTREE_SLOPES = {f"GPTree, slope {slope:g}": partial(GPTREE, slope=slope) for slope in (0.03, 0.1, 0.3, 1.0, 3.0)}
GPTREE_SLOPES["GPTree, slope 6.32"] = GPTREE


def gap_closed(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, the part of the gap from ``slow`` to ``fast`` that ``changed`` closes."""
    means = rows.groupby(["replication", "series"], sort=False)[test["of"]].mean().unstack("series")
    gap, gain = means[test["slow"]] - means[test["fast"]], means[test["slow"]] - means[test["changed"]]
    closed = gain.mean() / gap.mean()
    found: pd.Series = closed + (gain - closed * gap) / gap.mean()
    return found.to_frame(test["changed"])


def gap_opened(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, the part of the gap from ``fast`` to ``slow`` that ``changed`` opens."""
    return 1.0 - gap_closed(rows, test)


def slope_values(growth: pd.DataFrame, slopes: Rows, controls: Rows, profile: str) -> pd.DataFrame:
    """Return what the slope of GPTree's modulus does, as plotted values; x is the slope.
    ``growth`` are rows of `bestarm_studies.gpoo.trees.growth_rows`; ``slopes`` and ``controls`` are rows of regret by
    function. Panel "leaves": before the first reward; one panel a function: the mean regret over `BUDGETS`, and ``off
    peak``, the share of runs that end off the highest peak."""

    def by_slope(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(x=rows["series"].str.extract(r"slope ([\d.]+)")[0].astype(float), series="GPTree")

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


def precision_rows(
    searches: Searches,
    replications: int,
    seed: int,
    *,
    budgets: Sequence[int],
    conventions: Sequence[str] = ("as_written",),
    workers: int = 1,
) -> pd.DataFrame:
    """Return how far the model's means are from the true averages of divided nodes and of leaves in every run."""
    return of_all(_precision_of, searches, conventions, workers, replications, seed, budgets)


def _precision_of(search: Search, replications: int, seed: int, budgets: Sequence[int]) -> pd.DataFrame:
    def look(state: Any, problem: Any) -> pd.DataFrame | None:
        if int(state.n_rounds[0]) not in budgets:
            return None
        truth = problem.cell_values(np.where(state.status > 0, state.cells, state.cells[:, :1]))
        found = {"error": np.abs(state.means - truth), "sd": np.sqrt(np.maximum(state.variances, 0.0))}
        frames = [
            pd.DataFrame({name: values.mean(axis=1, where=state.status == status) for name, values in found.items()})
            .assign(replication=state.replications, budget=int(state.n_rounds[0]), nodes=nodes)
            for nodes, status in (("divided nodes", EXPANDED), ("leaves", LEAF))
        ]  # fmt: skip
        return pd.concat(frames, ignore_index=True)

    seen = search.watched(look, replications, seed)
    return seen.assign(series=seen.pop("nodes") + " of " + seen["series"])

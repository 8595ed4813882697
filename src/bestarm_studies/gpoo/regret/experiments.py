"""Experiments of Figure 4: five searches of f1 and f2, and searches without a tree."""

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Scale
from bestarm_lab.experiments.series import Series
from bestarm_studies.gpoo import series
from bestarm_studies.gpoo.experiments import BOTH, CURVE, F1, F2, WRITTEN, search
from bestarm_studies.gpoo.functions import Maker

FIVE_SEARCHES = {
    **series.single_and_average(),
    "StoOO": Series(series.STOOO, budgets=series.ALL_BUDGETS),
    "AVE-StoOO": series.stooo(series.ALL_BUDGETS, 10, series.AVE_STOOO),
    "GPTree": series.GPTREE,
}


def figure_4(problem: Maker) -> dict[str, Experiment]:
    """Return the paper's five searches of one function, round by round, and searches without a tree."""
    name, smoke = problem.keywords["name"], Scale(3, budgets=(1, 20, 80))
    return {
        f"fig4_{name}": search(f"Figure 4, {name}", problem, FIVE_SEARCHES, CURVE, BOTH, every=1, smoke=smoke),
        f"controls_{name}": search(
            f"Without a tree, {name}", problem, series.controls(series.BUDGET), CURVE, WRITTEN, every=1
        ),
        f"rivals_{name}": search(
            f"GPTree with averages, {name}", problem, {"GPTree (S = 10)": series.GPTREE_AVERAGE}, CURVE, BOTH, every=1
        ),
    }


EXPERIMENTS: dict[str, Experiment] = {**figure_4(F1), **figure_4(F2)}

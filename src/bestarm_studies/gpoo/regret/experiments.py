"""Experiments of Figure 4: five searches of f1 and f2, and searches without a tree."""

from functools import partial

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Scale
from bestarm_lab.experiments.series import Series
from bestarm_studies.gpoo.experiments import BOTH, CURVE, F1, F2, WRITTEN, search
from bestarm_studies.gpoo.functions import DesignedBandit
from bestarm_studies.gpoo.series import (
    ALL_BUDGETS,
    AVE_STOOO,
    BUDGET,
    GPTREE,
    STOOO,
    controls,
    gptree_average,
    single_and_average,
    stooo,
)

FIVE_SEARCHES = {
    **single_and_average(),
    "StoOO": Series(STOOO, budgets=ALL_BUDGETS),
    "AVE-StoOO": stooo(ALL_BUDGETS, 10, AVE_STOOO),
    "GPTree": GPTREE,
}


def figure_4(problem: partial[DesignedBandit]) -> dict[str, Experiment]:
    """Return the paper's five searches of one function, round by round, and searches without a tree."""
    name, smoke = problem.keywords["name"], Scale(3, budgets=(1, 20, 80))
    return {
        f"fig4_{name}": search(f"Figure 4, {name}", problem, FIVE_SEARCHES, CURVE, BOTH, every=1, smoke=smoke),
        f"controls_{name}": search(f"Without a tree, {name}", problem, controls(BUDGET), CURVE, WRITTEN, every=1),
        f"rivals_{name}": search(
            f"GPTree with averages, {name}", problem, {"GPTree (S = 10)": gptree_average()}, CURVE, BOTH, every=1
        ),
    }


EXPERIMENTS: dict[str, Experiment] = {**figure_4(F1), **figure_4(F2)}

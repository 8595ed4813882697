"""Series of several sections: GPOO, its rivals as the paper sets them, and searches without a tree."""

from functools import partial
from typing import Any

from bestarm.policies.cells.gp_tree import GpTree
from bestarm.policies.cells.gpoo import Gpoo
from bestarm.policies.cells.grid_search import GridSearch
from bestarm.policies.cells.stooo import Stooo
from bestarm_lab.experiments.series import Series

BUDGET = 80  # N of the paper's figures
FEEDBACKS = (1, 10)  # S, representatives of a cell: single and average feedback
KERNEL_VARIANCE = 0.1
CODE_NOISE_VARIANCE = 0.005  # of the model in the authors' code; rewards have 0.01
GPOO = partial(Gpoo, budget=BUDGET)
GPTREE = partial(GpTree, budget=BUDGET)
STOOO = partial(Stooo, rule="munos")  # its rule holds the budget, so each budget is a run of its own
AVE_STOOO = partial(Stooo, rule="average")
GPTREE_AVERAGE = Series(GPTREE, label="GPTree", problem={"n_representatives": 10})  # which the paper does not run
ALL_BUDGETS, TENS = range(1, BUDGET + 1), range(10, BUDGET + 1, 10)


def gpoo(n_representatives: int, policy: partial[Gpoo] = GPOO, **problem: Any) -> Series:
    """Return GPOO on cells with so many representatives."""
    return Series(policy, label="GPOO", problem={"n_representatives": n_representatives, **problem})


def stooo(budgets: range, n_representatives: int = 1, policy: partial[Stooo] = STOOO) -> Series:
    """Return StoOO, or AVE-StoOO where a cell has several representatives."""
    return Series(policy, budgets=budgets, problem={"n_representatives": n_representatives})


def single_and_average(policy: partial[Gpoo] = GPOO) -> dict[str, Any]:
    """Return GPOO with the two feedbacks that the paper compares."""
    return {"GPOO (S = 1)": policy, "GPOO (S = 10)": Series(policy, problem={"n_representatives": 10})}


def controls(budget: int, **settings: Any) -> dict[str, Any]:
    """Return searches of 64 equal cells, no algorithms of the paper: without a tree, with and without a model."""
    grid = partial(GridSearch, budget=budget, **settings)
    return {
        "GP-UCB on 64 cells": partial(grid, order="upper_bound"),
        "Uniform search with the GP": grid,
        "Random search": partial(grid, order="random", by_posterior=False),
    }

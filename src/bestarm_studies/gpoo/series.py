"""The algorithms of the GPOO study as series of its figures: as the paper sets them, and with one thing changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from bestarm.kernels import Stationary
from bestarm.policies.cells.gp_tree import GpTree
from bestarm.policies.cells.gpoo import Gpoo
from bestarm.policies.cells.grid_search import GridSearch
from bestarm.policies.cells.stooo import Stooo
from bestarm_lab.experiments.one_change import changed, name_of_change, one_change
from bestarm_lab.experiments.series import Series

BUDGET = 80  # N of the paper's figures
FEEDBACKS = (1, 10)  # S, representatives of a cell: single and average feedback
KERNEL_VARIANCE = 0.1
CODE_NOISE_VARIANCE = 0.005  # of the model in the authors' code; rewards have 0.01

GPOO = partial(Gpoo, budget=BUDGET)
GPTREE = partial(GpTree, budget=BUDGET)
STOOO = partial(Stooo, rule="munos")  # its rule holds the budget, so each budget is a run of its own
AVE_STOOO = partial(Stooo, rule="average")


def gpoo(n_representatives: int, policy: partial[Gpoo] = GPOO, **problem: Any) -> Series:
    """Return GPOO on cells with so many representatives."""
    return Series(policy, label="GPOO", problem={"n_representatives": n_representatives, **problem})


def stooo(budgets: range, n_representatives: int = 1, policy: partial[Stooo] = STOOO) -> Series:
    """Return StoOO, or AVE-StoOO where a cell has several representatives."""
    return Series(policy, budgets=budgets, problem={"n_representatives": n_representatives})


def single_and_average(policy: partial[Gpoo] = GPOO) -> dict[str, Any]:
    """Return GPOO with the two feedbacks that the paper compares."""
    return {"GPOO (S = 1)": policy, "GPOO (S = 10)": Series(policy, problem={"n_representatives": 10})}


def gptree_average() -> Series:
    """Return GPTree with average feedback, which the paper does not run."""
    return Series(GPTREE, label="GPTree", problem={"n_representatives": 10})


ALL_BUDGETS, TENS = range(1, BUDGET + 1), range(10, BUDGET + 1, 10)

FIVE_SEARCHES = {
    **single_and_average(),
    "StoOO": Series(STOOO, budgets=ALL_BUDGETS),
    "AVE-StoOO": stooo(ALL_BUDGETS, 10, AVE_STOOO),
    "GPTree": GPTREE,
}

RIVALS_ON_F3 = {
    "StoOO": Series(STOOO, budgets=TENS),
    "AVE-StoOO": stooo(TENS, 10, AVE_STOOO),
    "GPTree": GPTREE,
    "GPTree (S = 10)": gptree_average(),
}


def controls(budget: int, **settings: Any) -> dict[str, Any]:
    """Return searches of 64 equal cells, no algorithms of the paper: without a tree, with and without a model."""
    grid = partial(GridSearch, budget=budget, **settings)
    return {
        "GP-UCB on 64 cells": partial(grid, order="upper_bound"),
        "Uniform search with the GP": grid,
        "Random search": partial(grid, order="random", by_posterior=False),
    }


CHILDREN_AND_REPRESENTATIVES = {
    f"K = {arity}, S = {size}": gpoo(size, partial(Gpoo, budget=50), arity=arity)
    for arity in (2, 3, 4, 5)
    for size in (1, 10, 20, 30, 40, 50)
}


# --------------------------------------------------------------------------------------------------------------------
# Paper against code: each deviation alone, and all of them

GPOO_DEVIATIONS: dict[str, dict[str, Any]] = {
    "β of the code": {"beta": "as_coded"},
    "noise of the model": {"model_noise_variance": CODE_NOISE_VARIANCE},
    "noise in the width": {"noise_in_width": True},
    "root divided first": {"root_divided_first": True},
    "late children": {"late_children": True},
    "late β": {"late_beta": True},
    "recommend at division": {"recommendation": "at_expansion"},
}
GPTREE_DEVIATIONS: dict[str, dict[str, Any]] = {
    "constants of the code": {"holder": 0.5, "slope": 0.1, "cell_ratio": 0.5, "cell_radius": 1.0},
    "β of the code": {"beta": "as_coded"},
    "noise of the model": {"model_noise_variance": CODE_NOISE_VARIANCE},
    "noise in the width": {"noise_in_width": True},
    "root evaluated first": {"root_evaluated_first": True},
    "first divided": {"first_divided": True},
    "exact comparisons": {"exact_ties": True},
}
STOOO_DEVIATIONS: dict[str, dict[str, Any]] = {
    "rule of the code": {"rule": "as_coded"},
    "first divided": {"recommendation": "first_divided"},
    "one evaluation less": {"one_evaluation_less": True},
}
FUNCTION_DEVIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "f1": ("length-scale of f", {"lengthscale": 0.1}),
    "f2": ("regions of f", {"n_regions": 9}),
    "f3": ("regions of f", {"n_regions": 9}),
}


def deviations(
    name: str, series: Series, changes: Mapping[str, dict[str, Any]], theirs: tuple[str, dict[str, Any]]
) -> dict[str, Series]:
    """Return an algorithm as written, with each deviation of the authors' code, on their function, and with it all."""
    cause, function = theirs
    together = {setting: value for change in changes.values() for setting, value in change.items()}
    alone = one_change(name, series, changes, {cause: function})
    return alone | {name_of_change(name, "all of these"): changed(series, together, function)}


def all_but_exact(function: Mapping[str, Any]) -> Series:
    """Return GPTree with every deviation of the authors' code on their function, except exact comparisons."""
    together = {setting: value for change in GPTREE_DEVIATIONS.values() for setting, value in change.items()}
    return changed(Series(GPTREE), together | {"exact_ties": False}, function)


def audited(function: str) -> dict[str, Series]:
    """Return every algorithm with each deviation of the authors' code, on one function."""
    theirs = FUNCTION_DEVIATIONS[function]
    return {
        **deviations("GPOO (S = 1)", gpoo(1), GPOO_DEVIATIONS, theirs),
        **deviations("GPOO (S = 10)", gpoo(10), GPOO_DEVIATIONS, theirs),
        **deviations("GPTree", Series(GPTREE), GPTREE_DEVIATIONS, theirs),
        name_of_change("GPTree", "all but exact comparisons"): all_but_exact(theirs[1]),
        **deviations("StoOO", stooo(TENS), STOOO_DEVIATIONS, theirs),
        **deviations("AVE-StoOO", stooo(TENS, 10, AVE_STOOO), STOOO_DEVIATIONS, theirs),
    }


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


# --------------------------------------------------------------------------------------------------------------------
# What changes when: settings of GPOO, and other readings of the text


def of_policy(readings: Mapping[str, partial[Gpoo]]) -> dict[str, Series]:
    """Return each policy with single and with average feedback."""
    return {f"S = {size}, {name}": gpoo(size, policy) for name, policy in readings.items() for size in FEEDBACKS}


def of_problem(readings: Mapping[str, Mapping[str, Any]]) -> dict[str, Series]:
    """Return GPOO on each problem, given by its settings, with single and with average feedback."""
    return {f"S = {size}, {name}": gpoo(size, **problem) for name, problem in readings.items() for size in FEEDBACKS}


DELTA_SCALES = of_policy({f"c = {c}": partial(GPOO, delta_scale=float(c)) for c in (1, 2, 4, 8, 14, 28)})
BETAS = of_policy(
    {
        **{f"θ = {theta}": partial(GPOO, theta=theta) for theta in (0.01, 0.1, 0.5)},
        "β of the code": partial(GPOO, beta="as_coded"),
    }
)
LENGTHSCALES = of_policy(
    {
        f"ℓ = {lengthscale}": partial(GPOO, kernel=Stationary("rbf", KERNEL_VARIANCE, lengthscale))
        for lengthscale in (0.01, 0.02, 0.05, 0.1)  # 0.01 is what makes f3
    }
)
ORDERS = of_policy(
    {
        "as read here": GPOO,
        "width before": partial(GPOO, width_before=True),
        "ties at random": partial(GPOO, random_ties=True),
    }
)
FUNCTION_READINGS = of_problem(
    {
        "variance 0.005": {},
        "standard deviation 0.005": {"conditioning_variance": 0.000025},
        "nine regions": {"n_regions": 9},
    }
)
FEEDBACK_READINGS = of_problem(
    {"representatives": {}, "whole cell": {"feedback": "average"}, "integral": {"feedback": "integral"}}
)
DELTA_RATIOS = {
    f"S = {size}, K = {arity}, δ = 14·{base}^-h": gpoo(
        size, partial(GPOO, delta_ratio=round(1 / base, 12)), arity=arity
    )
    for arity in (3, 4, 5)
    for base in (2, arity)  # δ falls as written, or like the cells
    for size in FEEDBACKS
}

SQUARE_BUDGET, SQUARE_KERNEL = 160, Stationary("rbf", KERNEL_VARIANCE, 0.15)
_ON_SQUARE = partial(Gpoo, budget=SQUARE_BUDGET, kernel=SQUARE_KERNEL, delta_scale=4.0, delta_ratio=math.sqrt(0.5))
ON_SQUARE = {
    **{f"GPOO (S = {size})": gpoo(size, _ON_SQUARE) for size in (1, 4, 10)},
    **controls(SQUARE_BUDGET, kernel=SQUARE_KERNEL),
}

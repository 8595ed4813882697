"""The experiments of the GPOO study: five searches of three functions, and what each choice behind them is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bestarm.experiments.experiment import Computation, Convention, Experiment, Metric, Profile, Scale, Series
from bestarm.kernels import Stationary
from bestarm.metrics import (
    aggregated_regret,
    cell_regret,
    centre_regret,
    depth,
    distance_to_optimum,
    off_peak,
)
from bestarm.policies.gp_tree import GpTree
from bestarm.policies.gpoo import Gpoo
from bestarm.policies.grid_search import GridSearch
from bestarm.policies.stooo import Stooo
from bestarm_studies.gpoo.functions import prior_bandit, reward_function, two_peaks
from bestarm_studies.gpoo.theory_rows import event_rows, mean_event_rows
from bestarm_studies.gpoo.trees import growth_rows, pattern_rows, tree_rows

BUDGET = 80  # N of the paper's figures
RUNS = 500  # the paper has 30
FEEDBACKS = (1, 10)  # S, representatives of a cell: single and average feedback
KERNEL_VARIANCE = 0.1
CODE_NOISE_VARIANCE = 0.005  # of the model in the authors' code; the rewards have 0.01
CODE_LENGTHSCALE_F1 = 0.1  # of f1 in the authors' code, whose f2 and f3 have nine regions instead of ten
CODE_REGIONS = 9

WRITTEN: tuple[Convention, ...] = ("as_written",)
BOTH: tuple[Convention, ...] = ("as_written", "as_coded")

CURVE: tuple[Metric, ...] = (
    aggregated_regret, centre_regret, cell_regret, depth, distance_to_optimum, off_peak,
)  # fmt: skip
EFFECT: tuple[Metric, ...] = (aggregated_regret, cell_regret, depth, off_peak)
READING: tuple[Metric, ...] = (aggregated_regret, cell_regret, depth)

FUNCTIONS = {name: partial(reward_function, name=name) for name in ("f1", "f2", "f3")}

GPOO = partial(Gpoo, budget=BUDGET)
GPTREE = partial(GpTree, budget=BUDGET)
STOOO = partial(Stooo, rule="munos")  # its rule holds the budget, so each budget is a run of its own
AVE_STOOO = partial(Stooo, rule="average")
TENS = range(10, BUDGET + 1, 10)


def search(
    title: str,
    problem: partial[Any],
    series: Mapping[str, Any],
    *,
    metrics: Sequence[Metric],
    conventions: Sequence[Convention],
    every: int,
    runs: int = RUNS,
    block: int = 500,
) -> Experiment:
    """Return an experiment with ``runs`` replications where the laptop has time for no more than these, else 500."""
    profiles: dict[Profile, Scale] = {"smoke": Scale(3), "laptop": Scale(runs)}
    if runs < RUNS:
        profiles["paper"] = Scale(RUNS)
    return Experiment(
        title, problem, series, profiles, metrics=metrics, conventions=conventions, every=every, block=block
    )


def of_functions(stem: str, title: str, names: Sequence[str], series: Mapping[str, Any], **settings: Any) -> Any:
    """Return one search of each of the named functions."""
    return {f"{stem}_{name}": search(f"{title}, {name}", FUNCTIONS[name], series, **settings) for name in names}


# --------------------------------------------------------------------------------------------------------------------
# The paper's figures, and controls without a tree


def of_size(n_representatives: int, policy: Any, label: str | None = "GPOO", **problem: Any) -> Series:
    """Return a search of cells with so many representatives."""
    return Series(policy, label=label, problem={"n_representatives": n_representatives, **problem})


SINGLE_AND_AVERAGE = {"GPOO (S = 1)": GPOO, "GPOO (S = 10)": of_size(10, GPOO, None)}


def figure_4(name: str) -> dict[str, Experiment]:
    """Return the five searches of one function at every budget, and the controls beside them."""
    all_budgets = range(1, BUDGET + 1)
    five = SINGLE_AND_AVERAGE | {
        "StoOO": Series(STOOO, budgets=all_budgets),
        "AVE-StoOO": Series(AVE_STOOO, budgets=all_budgets, problem={"n_representatives": 10}),
        "GPTree": GPTREE,
    }
    scales: dict[Profile, Scale] = {"smoke": Scale(3, budgets=(1, 20, 80)), "laptop": Scale(RUNS)}
    common: dict[str, Any] = {"metrics": CURVE, "every": 1, "block": 500}
    return {
        f"fig4_{name}": Experiment(
            f"Figure 4, {name}", FUNCTIONS[name], five, scales, conventions=BOTH, **common
        ),
        f"controls_{name}": search(
            f"Searches without a tree, {name}", FUNCTIONS[name], controls(BUDGET), conventions=WRITTEN, **common
        ),
    }  # fmt: skip


def controls(budget: int, **settings: Any) -> dict[str, Any]:
    """Return searches of 64 equal cells, no algorithms of the paper: without a tree, with and without a model."""
    grid = partial(GridSearch, budget=budget, **settings)
    return {
        "GP-UCB on 64 cells": partial(grid, order="upper_bound"),
        "Uniform search with the GP": grid,
        "Random search": partial(grid, order="random", by_posterior=False),
    }


FIGURE_6 = {
    f"K = {arity}, S = {size}": of_size(size, partial(Gpoo, budget=50), arity=arity)
    for arity in (2, 3, 4, 5)
    for size in (1, 10, 20, 30, 40, 50)
}


# --------------------------------------------------------------------------------------------------------------------
# Trees of single runs, and how trees grow


def computed(title: str, rows: partial[Any], runs: int) -> Computation:
    """Return a computation of so many runs, and of at most three at the smoke scale."""
    return Computation(title, rows, {"smoke": {"replications": min(runs, 3)}, "laptop": {"replications": runs}})


def two_feedbacks(name: str) -> dict[str, Any]:
    """Return GPOO's searches of one function with single and with average feedback."""
    return {
        "GPOO (S = 1)": (Gpoo("GPOO", BUDGET), FUNCTIONS[name]),
        "GPOO (S = 10)": (Gpoo("GPOO", BUDGET), partial(FUNCTIONS[name], n_representatives=10)),
    }


def two_representatives(name: str, budget: int, delta_scale: float) -> dict[str, Any]:
    """Return the search that the paper's drawings show."""
    policy = Gpoo("GPOO", budget, delta_scale=delta_scale)
    return {"GPOO (S = 2)": (policy, partial(FUNCTIONS[name], n_representatives=2))}


TREES = {
    "fig1": computed("Figure 1", partial(tree_rows, searches=two_representatives("f1", 24, 2.0), rounds=(24,)), 1),
    "fig2": computed(
        "Figure 2",
        partial(
            tree_rows,
            searches=two_representatives("f2", 10, 1.0),
            conventions=("as_coded",),
            first=2,  # the first run whose rounds 9 and 10 are those that the paper describes
            rounds=(1, 3, 5, 7, 9, 10, 11),
        ),
        1,
    ),
    "fig5_trees": computed(
        "Figure 5, trees",
        partial(tree_rows, searches=two_feedbacks("f3"), conventions=BOTH, rounds=(BUDGET + 1,), posterior=True),
        1,
    ),
    "tree_growth": computed(
        "Growth of trees", partial(growth_rows, searches=two_feedbacks("f1"), conventions=BOTH), RUNS
    ),
    "pattern": computed(
        "Distance of the model from f and from its average",
        partial(pattern_rows, searches=two_feedbacks("f3"), conventions=BOTH, budgets=(10, 25, 80), width=1 / 32),
        RUNS,
    ),
}


# --------------------------------------------------------------------------------------------------------------------
# Paper against code: each deviation alone, and all of them

GPOO_DEVIATIONS: dict[str, dict[str, Any]] = {
    "β of the code": {"beta": "published"},
    "noise of the model": {"model_noise_variance": CODE_NOISE_VARIANCE},
    "noise in the width": {"noise_in_width": True},
    "root divided first": {"root_divided_first": True},
    "late children": {"late_children": True},
    "late β": {"late_beta": True},
    "recommend at division": {"recommendation": "at_expansion"},
}
GPTREE_DEVIATIONS: dict[str, dict[str, Any]] = {
    "constants of the code": {"holder": 0.5, "slope": 0.1, "cell_ratio": 0.5, "cell_radius": 1.0},
    "β of the code": {"beta": "published"},
    "noise of the model": {"model_noise_variance": CODE_NOISE_VARIANCE},
    "noise in the width": {"noise_in_width": True},
    "root evaluated first": {"root_evaluated_first": True},
    "first divided": {"first_divided": True},
}
STOOO_DEVIATIONS: dict[str, dict[str, Any]] = {
    "rule of the code": {"rule": "published"},
    "first divided": {"recommendation": "first_divided"},
    "one evaluation less": {"one_evaluation_less": True},
}


def deviations(name: str, given: Series, changes: Mapping[str, dict[str, Any]], function: str) -> dict[str, Series]:
    """Return an algorithm as written, with each deviation of the authors' code, on their function, and with it all."""
    functions: dict[str, tuple[str, dict[str, Any]]] = {
        "f1": ("length-scale of f", {"lengthscale": CODE_LENGTHSCALE_F1}),
        "f2": ("regions of f", {"n_regions": CODE_REGIONS}),
        "f3": ("regions of f", {"n_regions": CODE_REGIONS}),
    }
    on_theirs, theirs = functions[function]

    def changed(change: Mapping[str, Any], problem: Mapping[str, Any]) -> Series:
        return Series(
            partial(given.policy, **change),
            label=given.label,
            problem={**given.problem, **problem},
            budgets=given.budgets,
        )

    all_of_these = {setting: value for change in changes.values() for setting, value in change.items()}
    return {
        name: given,
        **{f"{name} | {cause}": changed(change, {}) for cause, change in changes.items()},
        f"{name} | {on_theirs}": changed({}, theirs),
        f"{name} | all of these": changed(all_of_these, theirs),
    }


def audit(function: str) -> Experiment:
    """Return what each difference between the paper's text and the authors' code is worth on one function."""
    stooo = Series(STOOO, budgets=TENS, problem={"n_representatives": 1})
    ave_stooo = Series(AVE_STOOO, budgets=TENS, problem={"n_representatives": 10})
    series = {
        **deviations("GPOO (S = 1)", of_size(1, GPOO), GPOO_DEVIATIONS, function),
        **deviations("GPOO (S = 10)", of_size(10, GPOO), GPOO_DEVIATIONS, function),
        **deviations("GPTree", Series(GPTREE), GPTREE_DEVIATIONS, function),
        **deviations("StoOO", stooo, STOOO_DEVIATIONS, function),
        **deviations("AVE-StoOO", ave_stooo, STOOO_DEVIATIONS, function),
    }
    title = f"Deviations of the authors' code, {function}"
    return search(title, FUNCTIONS[function], series, metrics=EFFECT, conventions=WRITTEN, every=5)


ABLATIONS = {
    "GPOO (S = 1)": Series(GPOO, label="GPOO"),
    "GPOO (S = 1) | constant β": Series(partial(GPOO, constant_beta=True), label="GPOO"),
    "GPOO (S = 1) | leaf": Series(partial(GPOO, recommendation="leaf"), label="GPOO"),
    "GPOO (S = 1) | lower bound": Series(partial(GPOO, recommendation="lower_bound"), label="GPOO"),
    "GPOO (S = 1) | independent cells": Series(partial(GPOO, independent_cells=True), label="GPOO"),
    "GPOO (S = 10)": of_size(10, GPOO),
    "GPOO (S = 10) | independent cells": of_size(10, partial(GPOO, independent_cells=True)),
    "GPTree": GPTREE,
    "GPTree | growing β": partial(GPTREE, beta="gpoo"),
    "AVE-StoOO": Series(AVE_STOOO, budgets=TENS, problem={"n_representatives": 10}),
    "AVE-StoOO | posterior mean": Series(
        partial(AVE_STOOO, recommendation="posterior"), budgets=TENS, problem={"n_representatives": 10}
    ),
}


# --------------------------------------------------------------------------------------------------------------------
# What changes when: settings, and other readings of the text


def both_feedbacks(readings: Mapping[str, Any]) -> dict[str, Series]:
    """Return each policy with single and with average feedback."""
    return {f"S = {size}, {name}": of_size(size, policy) for name, policy in readings.items() for size in FEEDBACKS}


def readings_of_problem(readings: Mapping[str, Mapping[str, Any]]) -> dict[str, Series]:
    """Return GPOO on a problem with other settings, with single and with average feedback."""
    return {
        f"S = {size}, {name}": of_size(size, GPOO, **problem)
        for name, problem in readings.items()
        for size in FEEDBACKS
    }


SCALES = both_feedbacks({f"c = {c}": partial(GPOO, delta_scale=float(c)) for c in (1, 2, 4, 8, 14, 28)})
RISKS = both_feedbacks(
    {f"θ = {theta}": partial(GPOO, theta=theta) for theta in (0.01, 0.1, 0.5)}
    | {"β of the code": partial(GPOO, beta="published")}
)
LENGTHSCALES = both_feedbacks(
    {
        f"ℓ = {lengthscale}": partial(GPOO, kernel=Stationary("rbf", KERNEL_VARIANCE, lengthscale))
        for lengthscale in (0.01, 0.02, 0.05, 0.1)  # 0.01 is what makes f3
    }
)
ORDERS = both_feedbacks(
    {
        "as read here": GPOO,
        "width before": partial(GPOO, width_before=True),
        "ties at random": partial(GPOO, random_ties=True),
    }
)
FUNCTION_READINGS = readings_of_problem(
    {
        "variance 0.005": {},
        "standard deviation 0.005": {"conditioning_variance": 0.000025},
        "nine regions": {"n_regions": 9},
    }
)
FEEDBACK_READINGS = readings_of_problem(
    {"representatives": {}, "whole cell": {"feedback": "average"}, "integral": {"feedback": "integral"}}
)
ARITIES = {
    f"S = {size}, K = {arity}, δ = 14·{base}^-h": of_size(
        size, partial(GPOO, delta_ratio=round(1 / base, 12)), arity=arity
    )
    for arity in (3, 4, 5)
    for base in (2, arity)  # δ falls as written, or like the cells
    for size in FEEDBACKS
}

SQUARE_KERNEL = Stationary("rbf", KERNEL_VARIANCE, 0.15)
SQUARE_GPOO = partial(Gpoo, budget=160, kernel=SQUARE_KERNEL, delta_scale=4.0, delta_ratio=math.sqrt(0.5))
SQUARE = {f"GPOO (S = {size})": of_size(size, SQUARE_GPOO) for size in (1, 4, 10)} | controls(160, kernel=SQUARE_KERNEL)


# --------------------------------------------------------------------------------------------------------------------
# Theory

EVENT_GPOO = partial(Gpoo, "GPOO", BUDGET, max_depth=6)
EVENT = {
    "GPOO (S = 1)": (EVENT_GPOO, partial(prior_bandit)),
    "GPOO (S = 10)": (EVENT_GPOO, partial(prior_bandit, n_representatives=10)),
    "GPOO (S = 1) | β of the code": (partial(EVENT_GPOO, beta="published"), partial(prior_bandit)),
    "GPOO (S = 1) | β, noise and width of the code": (
        partial(EVENT_GPOO, beta="published", model_noise_variance=CODE_NOISE_VARIANCE, noise_in_width=True),
        partial(prior_bandit),
    ),
}
MEANS = partial(
    mean_event_rows,
    problem=partial(FUNCTIONS["f1"], n_representatives=10),
    policy=Stooo("AVE-StoOO", BUDGET, rule="average"),
    sigmas=(0.1, 0.5),
)
LONG_GPOO = partial(Gpoo, budget=1024, max_depth=14)


def rate(name: str) -> Experiment:
    """Return long searches of one function, whose maximum is found finely enough that no regret is negative."""
    series = {"GPOO (S = 1)": LONG_GPOO, "GPOO (S = 10)": of_size(10, LONG_GPOO, None)}
    problem = partial(FUNCTIONS[name], n_points=1_000_001)
    metrics = (aggregated_regret, depth)
    return search(f"Rate, {name}", problem, series, metrics=metrics, conventions=WRITTEN, every=32, runs=100, block=50)


ALL = ("f1", "f2", "f3")
reading_of = partial(of_functions, metrics=READING, every=5)

EXPERIMENTS: dict[str, Experiment | Computation] = {
    **figure_4("f1"),
    **figure_4("f2"),
    "fig5": search("Figure 5, f3", FUNCTIONS["f3"], SINGLE_AND_AVERAGE, metrics=CURVE, conventions=BOTH, every=1),
    "fig6": search("Figure 6", FUNCTIONS["f3"], FIGURE_6, metrics=CURVE, conventions=BOTH, every=25),
    **TREES,
    **{f"audit_{name}": audit(name) for name in ALL},
    **of_functions("ablation", "Ablations", ALL[:2], ABLATIONS, metrics=EFFECT, conventions=BOTH, every=5),
    **reading_of("scale", "c of δ(h) = c 2^-h", ALL, SCALES, conventions=BOTH),
    **reading_of("beta", "β and θ", ALL, RISKS, conventions=WRITTEN),
    **reading_of("model_scale", "Length-scale of the model", ALL, LENGTHSCALES, conventions=BOTH),
    **reading_of("literal", "Readings of the functions", ALL, FUNCTION_READINGS, conventions=WRITTEN),
    **reading_of("order", "Readings of Algorithm 1", ALL, ORDERS, conventions=WRITTEN),
    **reading_of("arity_ratio", "δ that falls like the cells", ["f3"], ARITIES, conventions=BOTH, runs=250),
    **reading_of("integral", "Averages and integrals", ["f1", "f3"], FEEDBACK_READINGS, conventions=WRITTEN),
    "square": search(
        "Two peaks on the square", partial(two_peaks), SQUARE, metrics=CURVE[:-1], conventions=BOTH, every=8, runs=250
    ),
    "theory_event": computed("The event of the analysis", partial(event_rows, searches=EVENT), RUNS),
    "theory_means": computed("The event of AVE-StoOO's analysis", MEANS, RUNS),
    **{f"rate_{name}": rate(name) for name in ("f1", "f2")},
}

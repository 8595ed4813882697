"""The experiments of the GPOO study: five searches of three functions, and what each choice behind them is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bestarm.policies.cells.gpoo import Gpoo
from bestarm.policies.cells.stooo import Stooo
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Convention, Experiment, Metric
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.metrics import aggregated_regret, cell_regret, centre_regret, depth, distance_to_optimum, off_peak
from bestarm_studies.gpoo.average_theory import average_bound_rows, mean_event_rows
from bestarm_studies.gpoo.check_rows import cost_rows, envelope_rows, single_feedback_rows
from bestarm_studies.gpoo.functions import DesignedBandit, prior_bandit, reward_function, two_peaks
from bestarm_studies.gpoo.series import (
    ABLATIONS,
    BETAS,
    BUDGET,
    CHILDREN_AND_REPRESENTATIVES,
    CODE_NOISE_VARIANCE,
    DELTA_RATIOS,
    DELTA_SCALES,
    FEEDBACK_READINGS,
    FIVE_SEARCHES,
    FUNCTION_READINGS,
    GPTREE_SLOPES,
    LENGTHSCALES,
    ON_SQUARE,
    ORDERS,
    RIVALS_ON_F3,
    audited,
    controls,
    gptree_average,
    single_and_average,
)
from bestarm_studies.gpoo.theory_rows import event_rows
from bestarm_studies.gpoo.trees import Searches, growth_rows, pattern_rows, tree_rows

RUNS = 500  # the paper has 30
SMOKE = Scale(3)
WRITTEN: tuple[Convention, ...] = ("as_written",)
BOTH: tuple[Convention, ...] = ("as_written", "as_coded")

CURVE: tuple[Metric, ...] = (aggregated_regret, centre_regret, cell_regret, depth, distance_to_optimum, off_peak)
EFFECT: tuple[Metric, ...] = (aggregated_regret, cell_regret, depth, off_peak)
READING: tuple[Metric, ...] = (aggregated_regret, cell_regret, depth)

F1, F2, F3 = (partial(reward_function, name=name) for name in ("f1", "f2", "f3"))


def search(
    title: str,
    problem: partial[Any],
    series: Mapping[str, Any],
    metrics: Sequence[Metric],
    conventions: Sequence[Convention],
    *,
    every: int,
    runs: int = RUNS,
    smoke: Scale = SMOKE,
    block: int = 500,
) -> Experiment:
    """Return an experiment with ``runs`` replications on a laptop and 500 at the paper's scale."""
    profiles: dict[Profile, Scale] = {"smoke": smoke, "laptop": Scale(runs)}
    if runs < RUNS:
        profiles["paper"] = Scale(RUNS)
    return Experiment(
        title, problem, series, profiles, metrics=metrics, conventions=conventions, every=every, block=block
    )


def of_each(stem: str, title: str, problems: Sequence[partial[Any]], *given: Any, **settings: Any) -> dict[str, Any]:
    """Return one search of each of some functions, every fifth round recorded."""
    found = {}
    for problem in problems:
        name = problem.keywords["name"]
        found[f"{stem}_{name}"] = search(f"{title}, {name}", problem, *given, every=5, **settings)
    return found


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


def audit(problem: partial[DesignedBandit]) -> dict[str, Experiment]:
    """Return what each difference between the paper's text and the authors' code is worth on one function."""
    name = problem.keywords["name"]
    return {f"audit_{name}": search(f"Paper against code, {name}", problem, audited(name), EFFECT, WRITTEN, every=5)}


def rate(problem: partial[DesignedBandit]) -> dict[str, Experiment]:
    """Return long searches of one function, whose maximum is found finely enough that no regret is negative."""
    name, fine = problem.keywords["name"], partial(problem, n_points=1_000_001)
    series, metrics = single_and_average(partial(Gpoo, budget=1024, max_depth=14)), (aggregated_regret, depth)
    return {f"rate_{name}": search(f"Rate, {name}", fine, series, metrics, WRITTEN, every=32, runs=100, block=50)}


# --------------------------------------------------------------------------------------------------------------------
# Trees of single runs, how trees grow, and the statements of the analysis


def computed(title: str, runs: int, rows: Any, **settings: Any) -> Computation:
    """Return a computation of so many runs, at most three of them at the smoke scale."""
    profiles: dict[Profile, dict[str, int]] = {
        "smoke": {"replications": min(runs, 3)},
        "laptop": {"replications": runs},
    }
    return Computation(title, partial(rows, **settings), profiles)


def two_representatives(problem: partial[DesignedBandit], budget: int, delta_scale: float) -> Searches:
    """Return the search that the paper's drawings of trees show."""
    policy = Gpoo("GPOO", budget, delta_scale=delta_scale)
    return {"GPOO (S = 2)": (policy, partial(problem, n_representatives=2))}


def two_feedbacks(problem: partial[DesignedBandit]) -> Searches:
    """Return GPOO's searches of one function with single and with average feedback."""
    policy = Gpoo("GPOO", BUDGET)
    return {"GPOO (S = 1)": (policy, problem), "GPOO (S = 10)": (policy, partial(problem, n_representatives=10))}


TREES = {
    "fig1": computed("Figure 1", 1, tree_rows, searches=two_representatives(F1, 24, 2.0), rounds=(24,)),
    "fig2": computed(
        "Figure 2",
        1,
        tree_rows,
        searches=two_representatives(F2, 10, 1.0),
        conventions=("as_coded",),
        first=2,  # the first run whose rounds 9 and 10 are those that the paper describes
        rounds=(1, 3, 5, 7, 9, 10, 11),
    ),
    "fig5_trees": computed(
        "Figure 5", 1, tree_rows, searches=two_feedbacks(F3), conventions=BOTH, rounds=(BUDGET + 1,), posterior=True
    ),
    "tree_growth": computed("Growth of trees", RUNS, growth_rows, searches=two_feedbacks(F1), conventions=BOTH),
    "gptree_growth": computed(
        "Growth of GPTree's trees",
        100,
        growth_rows,
        searches={name: (policy(label="GPTree"), F1) for name, policy in GPTREE_SLOPES.items()},
    ),
    "pattern": computed(
        "The model's mean against f and against f smoothed",
        RUNS,
        pattern_rows,
        searches=two_feedbacks(F3),
        conventions=BOTH,
        budgets=(10, 25, 80),
        width=1 / 32,
    ),
}

SHALLOW = partial(Gpoo, "GPOO", BUDGET, max_depth=6)
CODE_BETA = partial(SHALLOW, beta="as_coded")
PRIOR = partial(prior_bandit)
THEORY = {
    "theory_event": computed(
        "The event of GPOO's analysis",
        RUNS,
        event_rows,
        searches={
            "GPOO (S = 1)": (SHALLOW, PRIOR),
            "GPOO (S = 10)": (SHALLOW, partial(prior_bandit, n_representatives=10)),
            "GPOO (S = 1) | β of the code": (CODE_BETA, PRIOR),
            "GPOO (S = 1) | β, noise and width of the code": (
                partial(CODE_BETA, model_noise_variance=CODE_NOISE_VARIANCE, noise_in_width=True),
                PRIOR,
            ),
        },
    ),
    "theory_means": computed(
        "The event of AVE-StoOO's analysis",
        RUNS,
        mean_event_rows,
        problem=partial(F1, n_representatives=10),
        policy=Stooo("AVE-StoOO", BUDGET, rule="average"),
        sigmas=(0.1, 0.5),
    ),
    "theory_average": computed(
        "Lemma 6 and Theorem 3",
        50,
        average_bound_rows,
        problem=F1,
        sizes=(1, 10),
        budgets=tuple(4**k for k in range(3, 8)),
        max_depth=12,
    ),
    "theory_single": computed(
        "GPOO with S = 1 beside ordinary regression", 1, single_feedback_rows, problem=F1, policy=Gpoo("GPOO", BUDGET)
    ),
    "theory_envelope": computed(
        "The Lipschitz envelope of leaves", 20, envelope_rows, problem=F1, policy=Gpoo("GPOO", BUDGET), sizes=(1, 2, 10)
    ),
    "theory_cost": computed("Multiplications of GPOO", 1, cost_rows, problem=F1, budgets=(50, 100, 200, 400)),
}


EXPERIMENTS: dict[str, Experiment | Computation] = {
    **figure_4(F1),
    **figure_4(F2),
    "fig5": search("Figure 5", F3, single_and_average(), CURVE, BOTH, every=1),
    "rivals_f3": search("The other searches on f3", F3, RIVALS_ON_F3, CURVE, BOTH, every=1),
    "fig6": search("Figure 6", F3, CHILDREN_AND_REPRESENTATIVES, CURVE, BOTH, every=25),
    **TREES,
    **audit(F1),
    **audit(F2),
    **audit(F3),
    **of_each("ablation", "One cause at a time", [F1, F2], ABLATIONS, EFFECT, BOTH),
    **of_each("gptree_slope", "Slope of GPTree's modulus", [F1, F2], GPTREE_SLOPES, EFFECT, WRITTEN),
    **of_each("scale", "c of δ(h) = c 2^-h", [F1, F2, F3], DELTA_SCALES, READING, BOTH),
    **of_each("beta", "β and θ", [F1, F2, F3], BETAS, READING, WRITTEN),
    **of_each("model_scale", "Length-scale of the model", [F1, F2, F3], LENGTHSCALES, READING, BOTH),
    **of_each("literal", "Readings of the functions", [F1, F2, F3], FUNCTION_READINGS, READING, WRITTEN),
    **of_each("order", "Readings of Algorithm 1", [F1, F2, F3], ORDERS, READING, WRITTEN),
    **of_each("arity_ratio", "δ falls like the cells", [F3], DELTA_RATIOS, READING, BOTH, runs=250),
    **of_each("integral", "Averages and integrals of whole cells", [F1, F3], FEEDBACK_READINGS, READING, WRITTEN),
    "square": search("Two dimensions", partial(two_peaks), ON_SQUARE, CURVE[:-1], BOTH, every=8, runs=250),
    **THEORY,
    **rate(F1),
    **rate(F2),
}

"""Experiments on the statements of the analysis."""

from functools import partial

from bestarm.policies.cells.gpoo import Gpoo
from bestarm.policies.cells.stooo import Stooo
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.metrics import aggregated_regret, depth
from bestarm_studies.gpoo.experiments import F1, F2, RUNS, WRITTEN, computed, search
from bestarm_studies.gpoo.functions import Maker, prior_bandit
from bestarm_studies.gpoo.series import BUDGET, CODE_NOISE_VARIANCE, single_and_average
from bestarm_studies.gpoo.theory.average_feedback import average_bound_rows, mean_event_rows
from bestarm_studies.gpoo.theory.checks import cost_rows, envelope_rows, single_feedback_rows
from bestarm_studies.gpoo.theory.event import event_rows


def rate(problem: Maker) -> dict[str, Experiment]:
    """Return long searches of one function, whose maximum is found finely enough that no regret is negative."""
    name, fine = problem.keywords["name"], partial(problem, n_points=1_000_001)
    series, metrics = single_and_average(partial(Gpoo, budget=1024, max_depth=14)), (aggregated_regret, depth)
    return {f"rate_{name}": search(f"Rate, {name}", fine, series, metrics, WRITTEN, every=32, runs=100, block=50)}


SHALLOW = partial(Gpoo, "GPOO", BUDGET, max_depth=6)
CODE_BETA = partial(SHALLOW, beta="as_coded")
PRIOR = partial(prior_bandit)
EXPERIMENTS: dict[str, Experiment | Computation] = {
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
    **rate(F1),
    **rate(F2),
}

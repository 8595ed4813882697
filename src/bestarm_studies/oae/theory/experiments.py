"""Experiments on the paper's theory: exact linear searches, queries that any learner needs, optimism arm by arm."""

from functools import partial
from typing import Any

from bestarm.policies.batch_search import RandomBatch
from bestarm.policies.linear.linear_oae import LinearDiverse, LinearGreedy, LinearLogDet, LinearOae, LinearSeq
from bestarm_lab.experiments.computation import Computation, computed
from bestarm_studies.oae.theory.batch_regret import burn_in_rows, misspecified_rows
from bestarm_studies.oae.theory.optimism import optimism_rows
from bestarm_studies.oae.theory.query_bounds import query_rows

EPSILONS = (0.01, 0.1, 1.0)
BATCHES = (1, 2, 4, 8, 16)
LINEAR_SERIES: dict[str, partial[Any]] = {
    "Vanilla": partial(LinearOae),
    "Seq": partial(LinearSeq),
    "DvD": partial(LinearDiverse),
    "LogDet": partial(LinearLogDet),
    "Greedy": partial(LinearGreedy),
    "RandomBatch": partial(RandomBatch),
}
CHOSEN_FIRST: dict[str, partial[Any]] = {
    name: partial(search.func, first="chosen")
    for name, search in LINEAR_SERIES.items()
    if name not in ("Greedy", "RandomBatch")
}
RANDOM_START = {f"{name}, random start": LINEAR_SERIES[name] for name in ("Vanilla", "Seq")}
# d and epsilon: from those that one query solves to those that need many
_ACCURACIES = {2: (0.45,), 4: (0.2,), 10: (0.05, 0.09), 20: (0.5,), 50: (0.25, 0.5)}
_ACCURACIES |= {100: (0.1, 0.25, 0.5), 200: (0.5, 0.75)}
LINEAR_QUERIES = [(d, epsilon) for d, epsilons in _ACCURACIES.items() for epsilon in epsilons]
_BONUS = {"n_arms": 500, "dimensions": (4, 8), "per_feature": (2, 4), "optimism": (0.001, 0.01, 0.1), "batch": 3}


def _arms(kind: str, dimensions: tuple[int, ...], batches: tuple[int, ...] = BATCHES) -> dict[str, Any]:
    return {kind: {"dimensions": dimensions, "batches": batches}}


EXPERIMENTS: dict[str, Computation] = {
    "regret_sphere": computed(
        "regret of exact linear searches, random arms",
        50,
        burn_in_rows,
        few=4,
        smoke={"instances": _arms("sphere", (2, 4), (1, 2, 4)), "n_arms": 100},
        paper={"replications": 200, "instances": _arms("sphere", (2, 4, 8, 16, 32)), "n_arms": 4000},
        series=LINEAR_SERIES,
        instances=_arms("sphere", (2, 4, 8, 16)),
        n_arms=1200,
        epsilons=EPSILONS,
    ),
    "regret_clones": computed(
        "regret of exact linear searches, copies of the unit vectors",
        50,
        burn_in_rows,
        few=4,
        smoke={"instances": _arms("clones", (4, 8), (1, 2, 4))},
        paper={"replications": 200, "instances": _arms("clones", (4, 8, 16, 32))},
        series=LINEAR_SERIES | CHOSEN_FIRST | RANDOM_START,
        instances=_arms("clones", (4, 8, 16)),
        epsilons=EPSILONS,
    ),
    "misspecified": computed(
        "regret under misspecification, exact linear OAE",
        50,
        misspecified_rows,
        few=4,
        smoke={"dimensions": (4,), "rounds": (5, 10, 20), "n_arms": 200},
        paper={"replications": 200, "dimensions": (4, 8, 16), "batches": (1, 4, 8), "n_arms": 4000},
        omegas=(0.0, 0.01, 0.03, 0.1),
        dimensions=(4, 16),
        batches=(1, 4),
        rounds=(10, 20, 40),
        n_arms=1000,
    ),
    "queries": computed(
        "queries until an arm is nearly optimal, linear and Lipschitz classes",
        400,
        query_rows,
        few=50,
        smoke={"lipschitz": {"dimensions": (1, 2), "epsilons": (0.2, 0.1)}},
        paper={"replications": 4000},
        linear=LINEAR_QUERIES,
        lipschitz={"dimensions": (1, 2), "epsilons": (0.2, 0.1, 0.05, 0.025)},
    ),
    "optimism": computed(
        "whether an exactly optimistic linear model is optimistic on its batch",
        50,
        optimism_rows,
        few=5,
        paper={"replications": 500},
        omegas=(0.0, 0.03),
        runs={"n_arms": 500, "dimensions": (4, 8), "batches": (2, 4), "rounds": 10},
        enumeration={"n_arms": 14, "dimensions": (2, 3, 4, 6), "batches": (1, 2, 3), "rounds": 6},
        bonus=_BONUS,
    ),
}

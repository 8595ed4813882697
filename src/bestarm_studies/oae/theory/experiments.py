"""Experiments on the paper's theory: exact linear searches, queries that any learner needs, optimism arm by arm."""

from functools import partial
from typing import Any

from bestarm.policies.batch_search import RandomBatch
from bestarm.policies.linear.linear_oae import LinearDiverse, LinearGreedy, LinearLogDet, LinearOae, LinearSeq
from bestarm_lab.experiments.computation import Computation
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
# d and epsilon: from those that one query solves to those that need many
_ACCURACIES = {2: (0.45,), 4: (0.2,), 10: (0.05, 0.09), 20: (0.5,), 50: (0.25, 0.5)}
_ACCURACIES |= {100: (0.1, 0.25, 0.5), 200: (0.5, 0.75)}
LINEAR_QUERIES = [(d, epsilon) for d, epsilons in _ACCURACIES.items() for epsilon in epsilons]
EXPERIMENTS: dict[str, Computation] = {
    "regret_sphere": Computation(
        title="regret of exact linear searches, random arms",
        rows=partial(
            burn_in_rows,
            series=LINEAR_SERIES,
            instances={"sphere": {"dimensions": (2, 4, 8, 16), "batches": BATCHES}},
            n_arms=1200,
            epsilons=EPSILONS,
        ),
        profiles={
            "smoke": {
                "replications": 4,
                "instances": {"sphere": {"dimensions": (2, 4), "batches": (1, 2, 4)}},
                "n_arms": 100,
            },
            "laptop": {"replications": 50},
            "paper": {
                "replications": 200,
                "instances": {"sphere": {"dimensions": (2, 4, 8, 16, 32), "batches": BATCHES}},
                "n_arms": 4000,
            },
        },
    ),
    "regret_clones": Computation(
        title="regret of exact linear searches, copies of the unit vectors",
        rows=partial(
            burn_in_rows,
            series={
                **LINEAR_SERIES,
                **CHOSEN_FIRST,
                "Vanilla, random start": LINEAR_SERIES["Vanilla"],
                "Seq, random start": LINEAR_SERIES["Seq"],
            },
            instances={"clones": {"dimensions": (4, 8, 16), "batches": BATCHES}},
            epsilons=EPSILONS,
        ),
        profiles={
            "smoke": {"replications": 4, "instances": {"clones": {"dimensions": (4, 8), "batches": (1, 2, 4)}}},
            "laptop": {"replications": 50},
            "paper": {"replications": 200, "instances": {"clones": {"dimensions": (4, 8, 16, 32), "batches": BATCHES}}},
        },
    ),
    "misspecified": Computation(
        title="regret under misspecification, exact linear OAE",
        rows=partial(
            misspecified_rows,
            omegas=(0.0, 0.01, 0.03, 0.1),
            dimensions=(4, 16),
            batches=(1, 4),
            rounds=(10, 20, 40),
            n_arms=1000,
        ),
        profiles={
            "smoke": {"replications": 4, "dimensions": (4,), "rounds": (5, 10, 20), "n_arms": 200},
            "laptop": {"replications": 50},
            "paper": {"replications": 200, "dimensions": (4, 8, 16), "batches": (1, 4, 8), "n_arms": 4000},
        },
    ),
    "queries": Computation(
        title="queries until an arm is nearly optimal, linear and Lipschitz classes",
        rows=partial(
            query_rows, linear=LINEAR_QUERIES, lipschitz={"dimensions": (1, 2), "epsilons": (0.2, 0.1, 0.05, 0.025)}
        ),
        profiles={
            "smoke": {"replications": 50, "lipschitz": {"dimensions": (1, 2), "epsilons": (0.2, 0.1)}},
            "laptop": {"replications": 400},
            "paper": {"replications": 4000},
        },
    ),
    "optimism": Computation(
        title="whether an exactly optimistic linear model is optimistic on its batch",
        rows=partial(
            optimism_rows,
            omegas=(0.0, 0.03),
            runs={"n_arms": 500, "dimensions": (4, 8), "batches": (2, 4), "rounds": 10},
            enumeration={"n_arms": 14, "dimensions": (2, 3, 4, 6), "batches": (1, 2, 3), "rounds": 6},
            bonus={
                "n_arms": 500,
                "dimensions": (4, 8),
                "per_feature": (2, 4),
                "optimism": (0.001, 0.01, 0.1),
                "batch": 3,
            },
        ),
        profiles={"smoke": {"replications": 5}, "laptop": {"replications": 50}, "paper": {"replications": 500}},
    ),
}

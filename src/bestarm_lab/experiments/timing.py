"""Times of pulls, which are not reproducible and so are measured apart from the results."""

import time
from typing import Any

import numpy as np

from bestarm.interface import FloatArray, Policy, Problem
from bestarm.simulate import simulate
from bestarm.streams import Streams

_WARM_UP = 2  # rounds: the initial pulls, and the first round, whose memory is cold


def microseconds_per_pull(
    policy: Policy[Any], problem: Problem, *, seed: int, n_replications: int, n_rounds: int, n_repeats: int
) -> FloatArray:
    """Return the median time of a round divided by its pulls, in microseconds, shape (n_repeats,).

    So many replications advance together, for so many timed rounds in each repeat (fewer if the policy stops before),
    each repeat on other replications. Compiled code is warmed up first.
    """
    begun = policy.start(problem.arms, Streams.first(1, seed=seed, instance=problem.label))
    n_initial = int(policy.ask(begun).counts.sum())  # pulls of the first round: one, or one of every arm
    found = []
    for repeat in range(n_repeats + 1):
        replications = np.arange(repeat * n_replications, (repeat + 1) * n_replications)
        stamps = [time.perf_counter()]
        simulate(
            policy,
            problem,
            Streams(seed, problem.label, replications),
            metrics={},
            max_pulls=n_initial + _WARM_UP + n_rounds,
            on_round=lambda _, stamps=stamps: stamps.append(time.perf_counter()),  # type: ignore[misc]
        )
        rounds = np.diff(stamps)[_WARM_UP : _WARM_UP + n_rounds]
        found.append(1e6 * float(np.median(rounds)) / n_replications)
    return np.array(found[1:])  # the first repeat compiles

"""Rows of what is seen in every round of a search: the same loop and the same choices, and a look at each state.

Times of pulls are measured here as well, which are not reproducible and so stand apart from the results.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray, Policy, Problem
from bestarm.observe import Looking
from bestarm.simulate import simulate
from bestarm.streams import Streams

_WARM_UP = 2  # rounds: the initial pulls, and the first round, whose memory is cold
Seen = pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


def watched(
    policy: Any,
    problem: Any,
    look: Callable[[Any, Any], Seen],
    replications: int | Sequence[int],
    *,
    seed: int,
    block: int | None = None,
) -> pd.DataFrame:
    """Return what is seen in every round of a search, after the choice and before the reward, as rows.

    ``look`` makes of a state and the problem of its replications rows: a frame, a mapping of columns, a list of
    mappings, or None for a round of which nothing is kept. The last call is after the last reward. ``replications``
    says how many, or which; what is seen does not depend on how many are searched together (``block``, by default all).
    The problem's label keys the noise. Rows of all blocks are returned round by round.
    """
    runs = np.arange(replications) if isinstance(replications, int) else np.array(replications, dtype=np.int64)
    seen: list[pd.DataFrame] = []
    for start in range(0, len(runs), block or len(runs)):
        some = runs[start : start + (block or len(runs))]
        part = problem.take(some)

        def note(state: Any, part: Any = part) -> None:
            found = look(state, part)
            if found is not None:
                seen.append(found if isinstance(found, pd.DataFrame) else pd.DataFrame(found))

        simulate(Looking(policy, note), part, Streams(seed, problem.label, some), metrics={})
    return pd.concat(seen, ignore_index=True)


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
        found.append(1e6 * float(np.median(np.diff(stamps)[_WARM_UP : _WARM_UP + n_rounds])) / n_replications)
    return np.array(found[1:])  # the first repeat compiles

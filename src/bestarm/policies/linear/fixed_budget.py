"""The common parts of policies with a fixed budget: the check of the budget, ties, and the most pulled arm.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8.
"""

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.streams import uniform

_EQUAL = 1e-10  # indices that agree to so many parts differ by rounding only


def check_budget(label: str, budget: int, at_least: int = 1, what_for: str = "one pull") -> None:
    """Refuse a budget that is no whole number, or below what the policy needs, with the smallest that will do."""
    if budget != int(budget) or budget < at_least:
        raise ValueError(
            f"{label}: budget must be a whole number of at least {at_least} ({what_for}), got {budget}; raise it."
        )


@njit(cache=True)
def largest(
    values: FloatArray, allowed: BoolArray, in_order: bool, key: np.uint64, replication: int, time: int, draw: int
) -> int:
    """Return the position of the largest allowed value; ties at random, or the first of them if ``in_order``.

    Values equal in theory differ in their last digits by the order of the arms or the axes of the features, so values
    that agree to ten digits tie. ``time`` and ``draw`` name the choice.
    """
    n = len(values)
    highest = -np.inf
    for i in range(n):
        if allowed[i] and values[i] > highest:
            highest = values[i]
    lowest_tied = highest - _EQUAL * max(1.0, abs(highest)) if np.isfinite(highest) else highest
    chosen, n_ties = -1, 0
    for i in range(n):
        if allowed[i] and values[i] >= lowest_tied:
            n_ties += 1
            # reservoir sampling: each of the tied has the same chance
            if n_ties == 1 or (not in_order and uniform(key, replication, time, draw * n + i) * n_ties < 1.0):
                chosen = i
    return chosen


@njit(cache=True)
def most_pulled(
    pulls: IntArray, in_order: bool, key: np.uint64, replications: IntArray, spent: IntArray, draw: int
) -> IntArray:
    """Return the most pulled arm of every replication, shape (R, 1) ([1]_, Section 8)."""
    n_replications, n_arms = pulls.shape
    everything = np.ones(n_arms, dtype=np.bool_)
    arms = np.empty((n_replications, 1), dtype=np.int64)
    for r in range(n_replications):
        numbers = pulls[r].astype(np.float64)
        arms[r, 0] = largest(numbers, everything, in_order, key, replications[r], spent[r], draw)
    return arms

"""The compiled search for faults in what is told."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

LARGEST_REWARD = 1e150  # squares of rewards are still numbers
FAULTS = 8  # a fault is its number plus this times its place


@njit(cache=True)
def first_fault(
    arms: NDArray[np.int64],
    counts: NDArray[np.int64],
    totals: NDArray[np.float64],
    asked: NDArray[np.int64],
    asked_counts: NDArray[np.int64],
    n_arms: int,
) -> int:
    """Return the number and the place of the first fault, or 0; padding (a count of 0) may hold any number.

    Arrays have shape (R, b). The faults: 1, an arm that does not exist; 2, a negative count; 3, another arm than asked;
    4, more pulls than asked; 5, an infinite total; 6, one above `LARGEST_REWARD`.
    """
    for r in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            fault = 0
            if counts[r, j] > 0:
                if arms[r, j] < 0 or arms[r, j] >= n_arms:
                    fault = 1
                elif abs(totals[r, j]) > LARGEST_REWARD:
                    fault = 5 if np.isinf(totals[r, j]) else 6
            elif counts[r, j] < 0:
                fault = 2
            if fault == 0 and arms[r, j] != asked[r, j]:
                fault = 3
            if fault == 0 and counts[r, j] > asked_counts[r, j]:
                fault = 4
            if fault:
                return fault + FAULTS * (r * arms.shape[1] + j)
    return 0


@njit(cache=True)
def note_outcomes(
    counts: NDArray[np.int64], totals: NDArray[np.float64], learned: NDArray[np.bool_], in_vain: NDArray[np.int64]
) -> None:
    """Note in place where a reward was told, (R,), and how many evaluations failed since the last one, (R,).

    A round with a reward and a failure ends the count.
    """
    for r in range(counts.shape[0]):
        failed, rewarded = 0, False
        for j in range(counts.shape[1]):
            if counts[r, j] > 0:
                if np.isnan(totals[r, j]):
                    failed += counts[r, j]
                else:
                    rewarded = True
        if rewarded:
            learned[r], in_vain[r] = True, 0
        else:
            in_vain[r] += failed

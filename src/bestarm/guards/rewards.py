"""Compiled validation of rewards, and the messages of what it finds."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bestarm.interface import Ask

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
    counts: NDArray[np.int64],
    totals: NDArray[np.float64],
    learned: NDArray[np.bool_],
    failures_in_a_row: NDArray[np.int64],
) -> None:
    """Note in place where a reward was told, (R,), and how many evaluations failed since a round with one, (R,)."""
    for r in range(counts.shape[0]):
        failed, rewarded = 0, False
        for j in range(counts.shape[1]):
            if counts[r, j] > 0:
                if np.isnan(totals[r, j]):
                    failed += counts[r, j]
                else:
                    rewarded = True
        if rewarded:
            learned[r], failures_in_a_row[r] = True, 0
        else:
            failures_in_a_row[r] += failed


def as_arrays(label: str, n: int, asked: Any, totals: Any) -> tuple[Ask, NDArray[np.float64]]:
    """Return request and totals of R = ``n`` replications as arrays, refusing other shapes and what is no number."""
    if not (hasattr(asked, "arms") and hasattr(asked, "counts")):
        rule = f"with arms and counts, got {type(asked).__name__}; write tell(state, asked, totals)"
        raise ValueError(f"{label}: tell wants what ask returned, {rule}.")
    arms, counts = _wholes("arms", asked.arms), _wholes("counts", asked.counts)
    if arms.ndim != 2 or counts.shape != arms.shape or len(arms) != n:
        remedy = "tell what was asked"
        raise ValueError(f"arms and counts must have shape ({n}, b), got {arms.shape} and {counts.shape}; {remedy}.")
    if (rewards := _numbers(totals)).shape != arms.shape:
        remedy = "give one sum an arm"
        raise ValueError(f"totals must have the shape of the arms, {arms.shape}, got {rewards.shape}; {remedy}.")
    return Ask(arms, counts), rewards


def _wholes(name: str, values: Any) -> NDArray[np.int64]:
    if (found := np.asarray(values)).dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got an array of {found.dtype}; tell what was asked.")
    return np.ascontiguousarray(found, dtype=np.int64) if found.ndim else found


def _numbers(values: Any) -> NDArray[np.float64]:
    if np.ma.isMaskedArray(values):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError("totals must be a table of numbers, but its rows differ in length; complete them.") from None
    if found.dtype.kind not in "biuf":
        what = f"an array of {found.dtype}" if found.ndim else repr(values)
        raise ValueError(f"totals must be real numbers, or NaN for an evaluation that failed; got {what}.")
    return np.ascontiguousarray(found, dtype=np.float64) if found.ndim else found


def check_rewards(label: str, n_arms: int, expected: Ask, told: Ask, totals: NDArray[np.float64]) -> None:
    """Refuse what was not asked and what is no reward, by the first fault."""
    if expected.arms.shape != told.arms.shape:
        got = f"got {told.arms.shape[1]}; tell what the last ask returned"
        raise ValueError(f"{label}: {expected.arms.shape[1]} arms a replication wait for rewards, {got}.")
    if found := first_fault(told.arms, told.counts, totals, expected.arms, expected.counts, n_arms):
        r, j = divmod(found // FAULTS, told.arms.shape[1])
        arm, count, total, asked = told.arms[r, j], told.counts[r, j], totals[r, j], expected.counts[r, j]
        messages = {
            1: f"arm {arm} does not exist: arms are 0, ..., {n_arms - 1}; tell what was asked.",
            2: f"counts must be at least 0, got {count}; tell what was asked.",
            3: f"{label}: arm {arm} is not what the last ask returned; tell what was asked last.",
            4: f"{label}: {count} pulls of arm {arm} are told where {asked} were asked; tell at most those.",
            5: "rewards must be numbers, or NaN for an evaluation that failed; got an infinite one.",
            6: f"rewards must be at most {LARGEST_REWARD:g} in size, got {abs(total):.3g}; rescale them, or tell NaN.",
        }
        raise ValueError(messages[found % FAULTS])

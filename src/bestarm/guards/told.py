"""Checks of what a search is told, before any compiled code sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.guards.faults import FAULTS, LARGEST_REWARD, first_fault
from bestarm.interface import Ask


def as_told(label: str, n: int, asked: Any, totals: Any) -> tuple[Ask, NDArray[np.float64]]:
    """Return request and totals of R = ``n`` replications as arrays.

    Raises
    ------
    ValueError
        For what is no number, or has another shape than was asked.
    """
    if not (hasattr(asked, "arms") and hasattr(asked, "counts")):
        raise ValueError(
            f"{label}: tell wants what ask returned, with arms and counts, got {type(asked).__name__}; write "
            "tell(state, asked, totals)."
        )
    arms, counts = _wholes("arms", asked.arms), _wholes("counts", asked.counts)
    if arms.ndim != 2 or counts.shape != arms.shape or len(arms) != n:
        raise ValueError(
            f"arms and counts must have shape ({n}, b), got {arms.shape} and {counts.shape}; tell what was asked."
        )
    rewards = _numbers(totals)
    if rewards.shape != arms.shape:
        raise ValueError(
            f"totals must have the shape of the arms, {arms.shape}, got {rewards.shape}; give one sum an arm."
        )
    return Ask(arms, counts), rewards


def _wholes(name: str, values: Any) -> NDArray[np.int64]:
    found = np.asarray(values)
    if found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got an array of {found.dtype}; tell what was asked.")
    return np.ascontiguousarray(found, dtype=np.int64) if found.ndim else found


def _numbers(values: Any) -> NDArray[np.float64]:
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError("totals must be a table of numbers, but its rows differ in length; complete them.") from None
    if found.dtype.kind not in "biuf":
        what = f"an array of {found.dtype}" if found.ndim else repr(values)
        raise ValueError(f"totals must be real numbers, or NaN for an evaluation that failed; got {what}.")
    return np.ascontiguousarray(found, dtype=np.float64) if found.ndim else found


def check_told(label: str, n_arms: int, expected: Ask, told: Ask, totals: NDArray[np.float64]) -> None:
    """Refuse what was not asked and what is no reward.

    Raises
    ------
    ValueError
        With the first fault.
    """
    if expected.arms.shape != told.arms.shape:
        raise ValueError(
            f"{label}: {expected.arms.shape[1]} arms a replication wait for rewards, got {told.arms.shape[1]}; tell "
            "what the last ask returned."
        )
    found = first_fault(told.arms, told.counts, totals, expected.arms, expected.counts, n_arms)
    if found:
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

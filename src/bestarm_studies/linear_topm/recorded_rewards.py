"""A bandit that replays recorded rewards: a pull returns an entry of a table at random."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.streams import Streams, uniform


@njit(cache=True)
def _recorded_totals(
    key: np.uint64, replications: IntArray, arms: IntArray, counts: IntArray, pulled: IntArray, table: FloatArray
) -> FloatArray:
    """Return totals of recorded rewards: a pull is the arm's entry in a row drawn uniformly."""
    totals = np.zeros(arms.shape)
    for r in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            a = arms[r, j]
            for _ in range(counts[r, j]):
                row = int(uniform(key, replications[r], a, pulled[r, a]) * table.shape[0])
                totals[r, j] += table[row, a]
                pulled[r, a] += 1
    return totals


@dataclass(frozen=True)
class RecordedRewards:
    """Arms that answer with a uniformly drawn entry of their column in a table of recorded rewards.
    ``label``: name of the instance; it keys the draws; ``features`` (ndarray, shape (n_arms, n_features)): arm
    features; ``table`` (ndarray, shape (n_records, n_arms)): recorded rewards, for example one row per patient and one
    column per drug; ``data`` ({"real", "stand-in"}): where the table comes from."""

    label: str
    features: FloatArray
    table: FloatArray
    data: str = "real"

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or self.table.shape[1] != self.features.shape[0]:
            raise ValueError(
                f"table must have one column per arm: features have shape {self.features.shape}, "
                f"table {self.table.shape}."
            )
        if not np.isfinite(self.table).all():
            record, arm = np.argwhere(~np.isfinite(self.table))[0]
            raise ValueError(
                f"recorded rewards must be finite, got {self.table[record, arm]} in row {record}, arm {arm}."
            )

    @property
    def arms(self) -> Arms:
        """The arms with their features."""
        return Arms(self.features)

    @cached_property
    def means(self) -> FloatArray:
        """Column means of the table, shape (1, n_arms)."""
        return self.table.mean(axis=0, keepdims=True)

    def rewards(self, asked: Ask, pulled: IntArray, streams: Streams) -> FloatArray:
        """Draw the sums of rewards."""
        return _recorded_totals(
            streams.key("noise"), streams.replications, asked.arms, asked.counts, pulled, self.table
        )

    def take(self, rows: IntArray) -> Self:
        """Return the problem itself: its table serves every replication."""
        return self

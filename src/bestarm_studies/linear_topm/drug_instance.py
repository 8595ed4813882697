"""The drug-repurposing instance (Section 5, Appendix B): ten drugs, their rewards recorded for eighteen patients."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.streams import Streams, uniform
from bestarm_lab.datasets.registry import fetch
from bestarm_objectives.drug.files import DRUGS, N_PATIENTS, read_rewards, read_signatures

DATA_FILES = ("drug-rewards", "drug-signatures")


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


def drug_instance(identity_features: bool = False) -> RecordedRewards:
    """Return the instance on the real data: features of dimension 71, a table of 18 x 10 recorded rewards.
    ``identity_features``: every drug has a feature of its own. Raises DataUnavailable without the files, of which
    `stand_in_drug_instance` has the schema, and ValueError if a file lacks a drug or has another shape."""
    signatures = read_signatures(fetch("drug-signatures")).select([drug.cid for drug in DRUGS])
    table = read_rewards(fetch("drug-rewards")).values
    features = np.eye(len(DRUGS)) if identity_features else np.ascontiguousarray(signatures.values.T)
    return RecordedRewards("drug repurposing K=10", features, table)


def stand_in_drug_instance(seed: int = 0, identity_features: bool = False) -> RecordedRewards:
    """Return random data of the same schema, spread and gap, for use where the real files cannot be had."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((len(DRUGS), 71))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    means = np.repeat([0.48, 0.39], 5) + 0.01 * np.tile(np.linspace(-1, 1, 5), 2)
    table = np.clip(means + 0.04 * rng.standard_normal((N_PATIENTS, len(DRUGS))), 0.0, 1.0)
    features = np.eye(len(DRUGS)) if identity_features else features
    return RecordedRewards("stand-in drug repurposing K=10", features, table, data="stand-in")

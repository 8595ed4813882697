r"""Optimism from an ensemble: the largest output of several networks, fitted without a regulariser.

The midpoint of an ensemble's range plus half of the range, which is what the paper writes, is its maximum.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023.
   Section 4.1.2.
"""

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.policies.batch_search import BatchState, top_batch
from bestarm.policies.networks.oae import MOST_MEMBERS, NetworkSearch
from bestarm.presets import preset
from bestarm.settings import check_settings
from bestarm.streams import standard_normal


@njit(cache=True)
def label_noise(key: np.uint64, replications: IntArray, item: int, n_members: int, n: int) -> FloatArray:
    """Return N(0, 1) draws for the labels of every member, shape (R, n_members, n)."""
    found = np.empty((len(replications), n_members, n))
    for r in range(len(replications)):
        for member in range(n_members):
            for i in range(n):
                found[r, member, i] = standard_normal(key, replications[r], item * n_members + member, i)
    return found


@dataclass(frozen=True)
class EnsembleSearch(NetworkSearch):
    """Ensemble and EnsembleNoiseY: the batch of the largest member-wise maxima ([1]_, Section 4.1.2).

    Raises ValueError for no member, or a negative noise.

    Parameters
    ----------
    members : int
        M, networks of the ensemble, from different initial weights.
    label_noise : float
        Standard deviation of what is added to the labels, anew for each member and round; 1 is EnsembleNoiseY.
    """

    members: int = 10
    label_noise: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, members=1, label_noise=0)
        if self.members > MOST_MEMBERS:
            raise ValueError(f"members must be at most {MOST_MEMBERS}, got {self.members}; take fewer networks.")

    def ensemble(
        self, state: BatchState, arms: IntArray, rewards: FloatArray, n_observed: IntArray, place: int = 0
    ) -> FloatArray:
        """Return every member's outputs, shape (R, members, n_arms)."""
        labels = np.repeat(rewards[:, None], self.members, axis=1)
        if self.label_noise:
            key, item = state.streams.key(f"{self.label} label noise"), state.round * (self.batch + 1) + place
            labels = labels + self.label_noise * label_noise(
                key, state.replications, item, self.members, labels.shape[2]
            )
        plain = np.zeros(self.members)
        return self.fit_and_predict(state, labels, plain, arms=arms, n_observed=n_observed, place=place)

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the batch of a fresh ensemble."""
        state.scores = self.ensemble(state, state.arms, state.rewards, state.n_observed).max(axis=1)
        return top_batch(state.scores, state.available, self._draws(state, "ties"), size)


@preset
class Ensemble(EnsembleSearch):
    """Ensemble: the largest outputs of any of several networks."""

    label: str = "Ensemble"
    label_noise: float = field(init=False, default=0.0)
    pool_minibatch: int | None = field(init=False, default=None)


@preset
class EnsembleNoiseY(EnsembleSearch):
    """EnsembleNoiseY: the largest outputs of several networks, told noisy labels."""

    label: str = "EnsembleNoiseY"
    label_noise: float = 1.0
    pool_minibatch: int | None = field(init=False, default=None)

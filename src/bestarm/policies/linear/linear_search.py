"""Search in batches with linear functions, where what the rewards say about the parameter is known exactly.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Theorem
   4.1, Algorithm 1, Appendix D.2.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.policies.batch_search import BatchSearch, BatchState
from bestarm.settings import check_settings
from bestarm.streams import Streams

First = Literal["random", "chosen"]


@njit(cache=True)
def learn_directions(
    x: FloatArray, rewards: FloatArray, resolution: float, basis: FloatArray, rank: IntArray, estimate: FloatArray
) -> None:
    """Add new directions and what is known of the parameter along them, by Gram and Schmidt, twice for accuracy.

    ``x`` (ndarray, shape (R, b, d)): arms of a batch; ``rewards`` (ndarray, shape (R, b)): their rewards; NaN teaches
    nothing; ``resolution``: an arm so close to the span of the basis adds nothing; ``basis``, ``rank``, ``estimate``
    (ndarray, shapes (R, d, d), (R,), (R, d)): orthonormal rows, their number, the parameter's projection; changed."""
    for r in range(len(x)):
        for i in range(x.shape[1]):
            if rank[r] == x.shape[2] or np.isnan(rewards[r, i]):
                continue
            # what the basis does not explain
            rest = x[r, i].copy()
            for _ in range(2):
                for q in range(rank[r]):
                    rest -= (basis[r, q] * rest).sum() * basis[r, q]
            norm = np.sqrt((rest**2).sum())
            if norm > resolution:
                basis[r, rank[r]] = rest / norm
                # the reward tells the parameter's coordinate along the new direction
                missing = rewards[r, i] - (estimate[r] * x[r, i]).sum()
                estimate[r] += missing / norm * basis[r, rank[r]]
                rank[r] += 1


@dataclass(kw_only=True)
class LinearState(BatchState):
    """The state of a linear search."""

    basis: FloatArray  # orthonormal rows that span what was pulled, the first ``rank`` of each replication, (R, d, d)
    rank: IntArray  # directions known, (R,)
    estimate: FloatArray  # the parameter's projection on them, theta_t^0, (R, d)
    hope: FloatArray  # what the last chosen batch promised, (R,)


@dataclass(frozen=True)
class LinearSearch(BatchSearch):
    r"""What searches with linear functions :math:`|\theta|\leq1` have in common.

    Raises ValueError for an unknown first batch or a resolution that is not positive.

    Parameters
    ----------
    first : {"random", "chosen"}
        The first batch: random, as in Algorithm 1, or by Equation 1 without data, as the theorem allows.
    resolution : float
        An arm at most so far from the span of those pulled teaches no direction. At 0, a batch of almost equal arms
        would reveal the parameter by their tiny differences.
    """

    first: First = "random"
    resolution: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, shares=("resolution",))

    def start(self, arms: Arms, streams: Streams) -> LinearState:
        """Return the state before the first pull."""
        n, d = len(streams.replications), arms.n_features
        return LinearState(
            **vars(super().start(arms, streams)),
            basis=np.zeros((n, d, d)),
            rank=np.zeros(n, dtype=np.int64),
            estimate=np.zeros((n, d)),
            hope=np.full(n, np.nan),
        )

    def ask(self, state: BatchState) -> Ask:
        """Return the next batch."""
        assert isinstance(state, LinearState)
        state.hope = np.full(len(state.best), np.nan)
        if state.round == 0 and self.first == "chosen" and state.available.shape[1] > self.batch:
            chosen = self.choose(state, self.batch)
            return Ask(chosen, np.ones_like(chosen))
        asked = super().ask(state)
        state.hope[state.n_observed == 0] = np.nan
        return asked

    def tell(self, state: BatchState, asked: Ask, totals: FloatArray) -> None:
        """Learn the rewards and the directions of the arms."""
        assert isinstance(state, LinearState)
        super().tell(state, asked, totals)
        if (state.rank < state.estimate.shape[1]).any():
            x = state.features[state.feature_set[:, None], asked.arms]
            rewards = np.where(asked.counts > 0, totals / np.maximum(asked.counts, 1), np.nan)
            learn_directions(x, rewards, self.resolution, state.basis, state.rank, state.estimate)

    def plausible(self, state: LinearState) -> tuple[FloatArray, FloatArray]:
        r"""Return centre and M, shapes (R, d) and (R, d, d), of the plausible parameters: :math:`M=\rho_t(I-P_t)`."""
        radius = np.sqrt(np.maximum(1.0 - (state.estimate**2).sum(axis=1), 0.0))
        projector = np.eye(state.estimate.shape[1]) - np.einsum("rki,rkj->rij", state.basis, state.basis)
        known = state.rank == state.estimate.shape[1]
        return state.estimate, np.where(known, 0.0, radius)[:, None, None] * projector

    def outputs(self, state: LinearState, models: FloatArray) -> FloatArray:
        """Return the values of linear functions, shape (R, d), at all arms, shape (R, n_arms)."""
        if len(state.features) == 1:
            return np.asarray(models @ state.features[0].T)
        return np.einsum("rad,rd->ra", state.features, models)

    def width(self, state: LinearState, arms: IntArray) -> FloatArray:
        r"""Return :math:`r_t(a)` of Appendix D.2, by how much two plausible functions may differ at arms, shape (R, b).

        ``state``: what is known; ``arms`` (ndarray of int64, shape (R, b)): arms; at each it is :math:`2\|Ma\|`."""
        wide = state.features[state.feature_set[:, None], arms] @ self.plausible(state)[1].swapaxes(1, 2)
        return np.asarray(2.0 * np.linalg.norm(wide, axis=2))

    def index(self, state: LinearState) -> FloatArray:
        """Return the most that each arm may be worth, shape (R, n_arms)."""
        centre, widths = self.plausible(state)
        found = self.outputs(state, centre)
        if widths.any():
            wide = state.features[state.feature_set] @ widths.swapaxes(1, 2)
            found += np.sqrt(np.einsum("rad,rad->ra", wide, wide))
        return found

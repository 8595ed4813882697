"""Search in batches among arms without noise, where no arm is pulled twice: the frame of Algorithm 1, and its baseline.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Algorithm 1.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.models.torch_or_numpy import check_device, torch
from bestarm.presets import preset
from bestarm.settings import check_settings
from bestarm.streams import Streams, uniform

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class BatchState:
    """The state of a batch search; ``scores`` and ``diverged`` are those of the last choice."""

    features: FloatArray = field(metadata={"shared": True})
    inputs: "Tensor"
    feature_set: IntArray
    replications: IntArray
    streams: Streams
    arms: IntArray  # arms whose rewards are known, the first ``n_observed`` of each row, (R, rounds * batch)
    rewards: FloatArray  # their rewards, (R, rounds * batch)
    n_observed: IntArray
    available: BoolArray  # arms not yet pulled, (R, n_arms)
    best: IntArray  # the best arm observed so far, (R,)
    best_reward: FloatArray
    scores: FloatArray  # by what arms were chosen; NaN where nothing was predicted, (R, n_arms)
    diverged: BoolArray  # whether a model of the last choice had outputs beyond all measure, (R,)
    round: int = 0


@njit(cache=True)
def random_order(key: np.uint64, replications: IntArray, number: int, n_arms: int) -> FloatArray:
    """Return a uniform draw for each arm and replication, by which arms are shuffled and ties are broken."""
    found = np.empty((len(replications), n_arms))
    for r in range(len(replications)):
        for a in range(n_arms):
            found[r, a] = uniform(key, replications[r], a, number)
    return found


def top_batch(scores: FloatArray, available: BoolArray, order: FloatArray, size: int) -> IntArray:
    """Return the arms with the largest scores among those available, shape (R, size).

    ``scores`` (ndarray, shape (R, n_arms)): what is maximised; NaN comes last; ``available`` (ndarray of bool, shape
    (R, n_arms)): what may be chosen, at least ``size`` arms in each row; ``order`` (ndarray, shape (R, n_arms)): random
    draws that break ties; ``size``: arms of a batch."""
    ranked = np.where(available, np.nan_to_num(scores, nan=-np.inf, neginf=-1e300), -np.inf)
    ranked = np.where(available & np.isnan(scores), -1.1e300, ranked)
    return np.ascontiguousarray(np.lexsort((order, ranked), axis=1)[:, : -size - 1 : -1])


@dataclass(frozen=True)
class BatchSearch:
    """The frame of [1]_, Algorithm 1: a random batch, then one chosen by the subclass in every round.

    Raises ValueError for a number below 1, or a device that is not there.

    Parameters
    ----------
    label : str
        Name in the figures; keys the policy's own draws. The first batch does not depend on it.
    batch : int
        b, arms in a batch; the last batch is whatever is left.
    rounds : int
        N, number of batches.
    standardise : bool
        Whether models see features with mean 0 and standard deviation 1 over the arms.
    device : str
        ``cpu`` or ``cuda``; changes rounding, nothing else.
    """

    label: str
    batch: int
    rounds: int
    standardise: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_settings(self, batch=1, rounds=1)
        check_device(self.device)

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        """Return the state before the first pull."""
        n, room = len(streams.replications), min(self.batch * self.rounds, arms.n_arms)
        features, feature_set = arms.feature_sets(n)
        inputs = features
        if self.standardise:
            spread = features.std(axis=1, keepdims=True)
            if (spread <= 1e-12 * np.abs(features).max(axis=1, keepdims=True)).any():
                flat = int(np.argmin(spread[:, 0].min(axis=0)))
                raise ValueError(f"feature {flat} is the same for all arms, so it cannot be standardised; drop it.")
            inputs = (features - features.mean(axis=1, keepdims=True)) / spread
        return BatchState(
            features=features,
            inputs=torch.tensor(inputs, dtype=torch.float32, device=self.device),
            feature_set=feature_set,
            replications=streams.replications,
            streams=streams,
            arms=np.zeros((n, room), dtype=np.int64),
            rewards=np.zeros((n, room)),
            n_observed=np.zeros(n, dtype=np.int64),
            available=np.ones((n, arms.n_arms), dtype=np.bool_),
            best=np.zeros(n, dtype=np.int64),
            best_reward=np.full(n, -np.inf),
            scores=np.full((n, arms.n_arms), np.nan),
            diverged=np.zeros(n, dtype=np.bool_),
        )

    def ask(self, state: BatchState) -> Ask:
        """Return the next batch."""
        n, left = len(state.best), int(state.available.sum(axis=1).max())
        if state.round == self.rounds or left == 0:
            return Ask(np.zeros((n, 1), dtype=np.int64), np.zeros((n, 1), dtype=np.int64))
        size = min(self.batch, left)
        state.diverged[:] = False
        state.scores = np.full_like(state.scores, np.nan)
        if left <= self.batch:
            chosen = top_batch(state.scores, state.available, self._draws(state, "ties"), size)
        elif (state.n_observed > 0).all():
            chosen = self.choose(state, size)
        else:
            chosen = self._first_batch(state, size)
        return Ask(chosen, np.ones_like(chosen))

    def _first_batch(self, state: BatchState, size: int) -> IntArray:
        """Return random arms where nothing is known yet, and what the subclass chooses elsewhere."""
        order = random_order(
            state.streams.key("first batch"), state.replications, state.round, state.available.shape[1]
        )
        chosen, ignorant = top_batch(order, state.available, order, size), state.n_observed == 0
        if not ignorant.all():
            state.n_observed[ignorant] = 1  # models of all rows are fitted together, and a fit needs an observation
            try:
                chosen[~ignorant] = self.choose(state, size)[~ignorant]
            finally:
                state.n_observed[ignorant] = 0
            state.scores[ignorant], state.diverged[ignorant] = np.nan, False
        return chosen

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the arms of a batch, shape (R, size); may leave ``scores`` and ``diverged`` in the state."""
        raise NotImplementedError

    def tell(self, state: BatchState, asked: Ask, totals: FloatArray) -> None:
        """Learn the rewards; an evaluation that failed (NaN) uses the arm up and teaches nothing."""
        rows = np.arange(len(state.best))
        for place in range(asked.arms.shape[1]):
            arm, reward = asked.arms[:, place], totals[:, place] / np.maximum(asked.counts[:, place], 1)
            pulled = asked.counts[:, place] > 0
            state.available[rows[pulled], arm[pulled]] = False
            known = rows[pulled & ~np.isnan(reward)]
            state.arms[known, state.n_observed[known]] = arm[known]
            state.rewards[known, state.n_observed[known]] = reward[known]
            state.n_observed[known] += 1
            better = known[reward[known] > state.best_reward[known]]
            state.best[better], state.best_reward[better] = arm[better], reward[better]
        state.round += 1

    def finished(self, state: BatchState) -> BoolArray:
        """Return which replications have spent their rounds or their arms."""
        over = state.round == self.rounds or not state.available.any()
        return np.full(len(state.best), over)

    def recommend(self, state: BatchState) -> IntArray:
        """Return the best arm observed so far, shape (R, 1)."""
        return state.best[:, None]

    def _draws(self, state: BatchState, purpose: str) -> FloatArray:
        key = state.streams.key(f"{self.label} {purpose}")
        return random_order(key, state.replications, state.round, state.available.shape[1])


@dataclass(frozen=True)
class RandomBatch(BatchSearch):
    """Uniformly random batches without replacement."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return random arms not yet pulled."""
        order = self._draws(state, "batch")
        return top_batch(order, state.available, order, size)


@preset
class RandomBatches(RandomBatch):
    """Random batches without replacement, the baseline."""

    label: str = "RandomBatch"
    standardise: bool = field(init=False, default=False)
    device: str = field(init=False, default="cpu")

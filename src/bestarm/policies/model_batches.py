"""Batches of one measurement each, ranked by a model of what was measured: a Gaussian process, neighbours, a forest."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.models.forest import forest_predictions, grow
from bestarm.models.smooth_gp import UNIFORM, Believer, Posterior, SmoothGP, best_of
from bestarm.settings import check_settings
from bestarm.streams import Streams, uniform

Score = Literal["bound", "hits"]
MOST_KNOWN = 4000  # of a Gaussian process, whose factor takes n^3 operations


@dataclass
class ModelState:
    """What is known of R replications."""

    features: FloatArray = field(metadata={"shared": True})
    streams: Streams
    replications: IntArray
    arms: IntArray  # arms whose rewards are known, the first ``n_observed`` of each row, (R, room)
    rewards: FloatArray  # their rewards, (R, room)
    n_observed: IntArray
    available: BoolArray  # arms that may be asked for, (R, n_arms)
    pending: BoolArray  # arms that are being measured, (R, n_arms)
    round: int = 0


@dataclass(frozen=True)
class ModelBatches:
    """The frame of a search by a model: a random batch, then those with the largest scores; no arm twice.

    Features are seen as they are: give standardised ones. An arm that failed is used up and teaches nothing."""

    label: str  # keys the policy's own draws, of which the first batch is none
    batch: int
    rounds: int
    beta = 0.0  # deviations that are added to the mean

    def __post_init__(self) -> None:
        check_settings(self, batch=1, rounds=1)

    def start(self, arms: Arms, streams: Streams) -> ModelState:
        """Return the state before the first pull."""
        if arms.features.ndim != 2:
            raise ValueError(f"{self.label} takes one set of features for all replications, shape (n_arms, d).")
        n = len(streams.replications)
        nothing = np.zeros((n, arms.n_arms), np.bool_)
        return ModelState(
            arms.features, streams, streams.replications, np.zeros((n, 0), np.int64), np.zeros((n, 0)),
            np.zeros(n, np.int64), ~nothing, nothing,
        )  # fmt: skip

    def ask(self, state: ModelState) -> Ask:
        """Return the next batch."""
        n, left = len(state.n_observed), int(state.available.sum(axis=1).max())
        if state.round >= self.rounds or left == 0:
            return Ask(np.zeros((n, 1), np.int64), np.zeros((n, 1), np.int64))
        size = min(self.batch, left)
        chosen = np.empty((n, size), np.int64)
        for r in range(n):
            chosen[r] = self.choose(state, r, size) if state.n_observed[r] else _random(state, r, size)
        return Ask(chosen, np.ones_like(chosen))

    def choose(self, state: ModelState, r: int, size: int) -> IntArray:
        """Return the batch of one replication, shape (size,)."""
        mean, deviation = self.outputs(state, r)
        return best_of(self.score(mean, deviation), np.flatnonzero(state.available[r]), size)

    def score(self, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return what is maximised."""
        return mean + self.beta * deviation

    def outputs(self, state: ModelState, r: int) -> tuple[FloatArray, FloatArray]:
        """Return mean and deviation at every arm, in units of the scaled reward."""
        raise NotImplementedError

    def known(self, state: ModelState, r: int) -> tuple[IntArray, FloatArray, float, float]:
        """Return arms, rewards with mean 0 and deviation 1, and both of them."""
        n = int(state.n_observed[r])
        arms, rewards = state.arms[r, :n], state.rewards[r, :n]
        mean, spread = float(rewards.mean()), float(rewards.std())
        spread = spread if n > 1 and spread > 1e-12 * max(1.0, abs(mean)) else 1.0
        return arms, (rewards - mean) / spread, mean, spread

    def tell(self, state: ModelState, asked: Ask, totals: FloatArray) -> None:
        """Learn rewards, of what was asked or of anything else; an arm that failed is used up."""
        rows, more = np.arange(len(state.n_observed)), asked.arms.shape[1]
        room = int(state.n_observed.max()) + more
        if room > state.arms.shape[1]:
            wider = ((0, 0), (0, room + room // 2 - state.arms.shape[1]))
            state.arms, state.rewards = np.pad(state.arms, wider), np.pad(state.rewards, wider)
        for place in range(more):
            arm, pulled = asked.arms[:, place], asked.counts[:, place] > 0
            state.available[rows[pulled], arm[pulled]] = False
            reward = totals[:, place] / np.maximum(asked.counts[:, place], 1)
            new = rows[pulled & ~np.isnan(reward)]
            state.arms[new, state.n_observed[new]], state.rewards[new, state.n_observed[new]] = arm[new], reward[new]
            state.n_observed[new] += 1
        state.round += 1

    def finished(self, state: ModelState) -> BoolArray:
        """Return which replications have spent their rounds or their arms."""
        return np.full(len(state.n_observed), state.round >= self.rounds or not state.available.any())

    def recommend(self, state: ModelState) -> IntArray:
        """Return the best arm measured so far, shape (R, 1); arm 0 where nothing is known."""
        found = np.zeros((len(state.n_observed), 1), np.int64)
        for r, n in enumerate(state.n_observed):
            if n:
                found[r, 0] = state.arms[r, state.rewards[r, :n].argmax()]
        return found

    def set_aside(self, state: ModelState, places: IntArray) -> None:
        """Keep some arms from being chosen."""
        state.available[:, places] = False

    def believe(self, state: ModelState, places: IntArray) -> None:
        """Take arms for being measured: a Gaussian process is surer around them, other models leave them out."""
        self.set_aside(state, places)
        state.pending[:, places] = True

    def predicted(self, state: ModelState) -> tuple[FloatArray, FloatArray]:
        """Return predicted reward and deviation of every arm, of the first replication, shape (n_arms,) each."""
        mean, deviation = self.outputs(state, 0)
        _, _, centre, spread = self.known(state, 0)
        return centre + spread * mean, spread * deviation


@dataclass(frozen=True)
class GaussianBatches(ModelBatches):
    """Batches by a Gaussian process with a smooth kernel."""

    # "bound": mean plus ``beta`` deviations, of which each place of a batch is chosen after those before it were taken
    # for known at their mean; "hits": the probability of a value above that which the model expects a ``share`` of all
    # arms to have (by deviations from 800 rewards alone where 1,600 are known), or of a reward from ``threshold`` on
    score_by: Score = "bound"
    beta: float = 2.0  # deviations in the bound
    share: float = 0.05  # share of the arms that are hits
    threshold: float | None = None  # reward from which an arm is a hit, instead of a share
    model: SmoothGP = SmoothGP()  # kernel, priors and fitting
    # arms with the largest bounds among which a batch is chosen; more, if the batch is larger than a quarter of it
    shortlist: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, shares=("share",), beta=0)

    def posterior(self, state: ModelState, r: int) -> Posterior:
        """Return what is known of one replication."""
        arms, y, _, _ = self.known(state, r)
        if len(arms) > MOST_KNOWN:
            raise ValueError(
                f"{self.label} can learn {MOST_KNOWN} rewards, {len(arms)} are known; take a forest or networks."
            )
        return self.model.fitted(UNIFORM * state.features[arms], y)

    def outputs(self, state: ModelState, r: int, rough: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return posterior mean and deviation of every arm, see `Posterior.everywhere`."""
        return self.posterior(state, r).everywhere(UNIFORM * state.features, rough)

    def scaled_threshold(self, state: ModelState, r: int, mean: FloatArray, deviation: FloatArray) -> float:
        """Return the reward from which an arm is a hit, in units of the scaled reward."""
        if self.threshold is None:
            return expected_quantile(mean, deviation, self.share)
        _, _, centre, spread = self.known(state, r)
        return (self.threshold - centre) / spread

    def choose(self, state: ModelState, r: int, size: int) -> IntArray:
        """Return the batch of one replication."""
        free, posterior, x = np.flatnonzero(state.available[r]), self.posterior(state, r), UNIFORM * state.features
        mean, deviation = self.outputs(state, r, rough=True)
        some, rough = x[free], (mean[free], deviation[free])
        if self.score_by == "hits":
            least = self.scaled_threshold(state, r, mean, deviation)
            # the probabilities are a growing function of this, and may round to 0 or 1
            return free[posterior.highest(some, lambda mu, sigma: (mu - least) / sigma, rough, size)]
        looked_at = np.sort(free[posterior.highest(some, self.score, rough, max(self.shortlist, 4 * size))])
        at_the_bench = np.flatnonzero(state.pending[r])
        both = np.concatenate([looked_at, at_the_bench])
        believer = Believer(posterior, x[both], len(at_the_bench) + size)
        for place in range(len(looked_at), len(both)):
            believer.take(place)
        open_, chosen = np.arange(len(both)) < len(looked_at), np.empty(size, np.int64)
        for b in range(size):
            best = int(np.where(open_, self.score(believer.means, np.sqrt(believer.variances)), -np.inf).argmax())
            chosen[b], open_[best] = both[best], False
            if b + 1 < size:
                believer.take(best)
        return chosen


def _random(state: ModelState, r: int, size: int) -> IntArray:
    """Return random arms, the same as the first batch of the searches with networks at one seed."""
    key, number = state.streams.key("first batch"), int(state.replications[r])
    free = np.flatnonzero(state.available[r])
    draws = np.array([uniform(key, number, int(arm), state.round) for arm in free])
    return free[np.argsort(draws, kind="stable")[: -size - 1 : -1]]


def expected_quantile(mean: FloatArray, deviation: FloatArray, share: float) -> float:
    """Return the value above which a share of independent normal values is expected to lie."""
    low, high = float((mean - 10.0 * deviation).min()), float((mean + 10.0 * deviation).max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        above = float(ndtr((mean - middle) / np.maximum(deviation, 1e-300)).mean())
        low, high = (middle, high) if above > share else (low, middle)
    return 0.5 * (low + high)


@dataclass(frozen=True)
class NeighbourBatches(ModelBatches):
    """Batches by the mean reward of the nearest arms measured, the baseline without a model of smoothness."""

    neighbours: int = 10  # how many; weights are inverse to the distance

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, neighbours=1)

    def outputs(self, state: ModelState, r: int) -> tuple[FloatArray, FloatArray]:
        """Return weighted mean and deviation of the neighbours' rewards."""
        arms, y, _, _ = self.known(state, r)
        x, k = state.features, min(self.neighbours, len(arms))
        mean, deviation = np.empty(len(x)), np.empty(len(x))
        own = x[arms]
        for start in range(0, len(x), 4096):
            some = x[start : start + 4096]
            squares = (some**2).sum(axis=1)[:, None] + (own**2).sum(axis=1) - 2.0 * some @ own.T
            near = np.argpartition(squares, k - 1, axis=1)[:, :k]
            distance = np.sqrt(np.maximum(np.take_along_axis(squares, near, axis=1), 0.0))
            weight = 1.0 / (distance + 1e-6)
            weight /= weight.sum(axis=1, keepdims=True)
            found = (weight * y[near]).sum(axis=1)
            mean[start : start + 4096] = found
            deviation[start : start + 4096] = np.sqrt((weight * (y[near] - found[:, None]) ** 2).sum(axis=1))
        return mean, deviation


@dataclass(frozen=True)
class ForestBatches(ModelBatches):
    """Batches by a forest of extremely randomised trees, the baseline for features of every kind."""

    trees: int = 200  # a third of the features is tried at a node
    least: int = 5  # rewards below which a node is a leaf
    beta: float = 1.0  # deviations over the trees that are added to the mean

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, trees=1, least=2)

    def outputs(self, state: ModelState, r: int) -> tuple[FloatArray, FloatArray]:
        """Return mean and deviation over the trees."""
        arms, y, _, _ = self.known(state, r)
        key = replace(state.streams, instance=f"{state.streams.instance} {state.replications[r]} {state.round}").key(
            f"trees of {self.label}"
        )
        tried = -(-state.features.shape[1] // 3)
        forest = grow(key, np.ascontiguousarray(state.features[arms]), y, self.trees, tried, self.least)
        found: Any = forest_predictions(forest, state.features)
        return found

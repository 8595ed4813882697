r"""LinGame: best-arm identification as a game between a learner and the closest alternative model.

References
----------
.. [1] Degenne, Ménard, Shang, Valko. "Gamification of Pure Exploration for Linear Bandits". ICML 2020.
.. [2] de Rooij, van Erven, Grünwald, Koolen. "Follow the Leader If You Can, Hedge If You Must". JMLR 2014. AdaHedge.
.. [3] Réda, Kaufmann, Delahaye-Duriez. "Top-m identification for linear bandits". AISTATS 2021. Section 5.
"""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.policies.linear.gifa_round import learn, random_argmax
from bestarm.policies.linear.thresholds import Threshold, ThresholdName, make_threshold
from bestarm.settings import check_settings
from bestarm.streams import Streams

Tracking = Literal["C", "D"]
BestResponse = Literal["learner", "counts"]
_SMALLEST_WEIGHT = 1e-12  # a learner's weight may underflow to 0, which would leave the design singular


@njit(cache=True)
def adahedge_weights(losses: FloatArray, mixability_gap: float) -> FloatArray:
    r"""Return :math:`p_k \propto e^{-\eta(L_k - \min L)}` with :math:`\eta = \ln K/\Delta` ([2]_)."""
    weights = np.exp(-np.log(len(losses)) / mixability_gap * (losses - losses.min()))
    return weights / weights.sum()


@njit(cache=True)
def adahedge_gap(losses: FloatArray, loss: FloatArray, mixability_gap: float) -> float:
    """Return the mixability gap of one round: the learner's loss minus its mix loss, at least 0 ([2]_, Figure 1).

    The mix loss is the growth of the cumulative mix loss. Both of its values hold the smallest total exactly, so that
    it is right also where the weight of the arm with the lowest ``loss`` underflows to 0.
    """
    eta = np.log(len(loss)) / mixability_gap
    weights = adahedge_weights(losses, mixability_gap)
    mix_loss = _cumulative_mix_loss(losses + loss, eta) - _cumulative_mix_loss(losses, eta)
    return max((weights * loss).sum() - mix_loss, 0.0)


@njit(cache=True)
def _cumulative_mix_loss(losses: FloatArray, eta: float) -> float:
    lowest = losses.min()
    return lowest - np.log(np.exp(-eta * (losses - lowest)).sum() / len(losses)) / eta


@njit(cache=True)
def closest_alternative(
    features: FloatArray, weights: FloatArray, means: FloatArray, best: int
) -> tuple[int, float, FloatArray]:
    r"""Return the closest model in which another arm is best, for pulls in proportion to ``weights``.

    Returns the arm a, the value :math:`\frac12(\theta^\top d)^2/(d^\top V_w^{-1}d)` with :math:`d=x_a-x_{best}`, and
    :math:`x_k^\top(\theta-\lambda)` for every arm k ([1]_, Lemma 1).
    """
    n_arms, n_features = features.shape
    # V_w = sum_k w_k x_k x_k'
    design = np.zeros((n_features, n_features))
    for k in range(n_arms):
        weight = max(weights[k], _SMALLEST_WEIGHT)
        for i in range(n_features):
            for j in range(n_features):
                design[i, j] += weight * features[k, i] * features[k, j]
    inverse = np.linalg.inv(design)
    nearest, lowest = -1, np.inf
    for a in range(n_arms):
        if a != best:
            d = features[a] - features[best]
            variance = d @ (inverse @ d)
            if variance > 0.0:  # an arm equal to the best one is as good
                value = 0.5 * (means[a] - means[best]) ** 2 / variance
                if value < lowest:
                    nearest, lowest = a, value
    if nearest < 0:
        return nearest, lowest, np.zeros(n_arms)
    d = features[nearest] - features[best]
    # x_k'(theta - lambda) = x_k'V_w^-1 d (theta'd) / (d'V_w^-1 d)
    step = inverse @ d
    return nearest, lowest, features @ step * ((means[nearest] - means[best]) / (d @ step))


class _Game(NamedTuple):
    """The fields of `LinGameState` that a round reads, and changes in place."""

    gram: FloatArray
    means: FloatArray
    pulls: IntArray
    losses: FloatArray
    mixability: FloatArray
    tracked: FloatArray
    stopped: BoolArray
    recommended: IntArray
    replications: IntArray
    feature_set: IntArray


_arrays = attrgetter(*_Game._fields)


@njit(cache=True)
def _play(
    game: _Game,
    features: FloatArray,
    threshold: FloatArray,
    sigma: float,
    respond_to_counts: bool,
    squared_norm: bool,
    d_tracking: bool,
    key: np.uint64,
    arms: IntArray,
) -> None:
    """Play one round of every replication that still searches, and write the arm to pull."""
    gram, means, pulls, losses, mixability, tracked, stopped, recommended, replications, feature_set = game
    n_replications, n_arms = means.shape
    everything = np.ones(n_arms, dtype=np.bool_)
    for r in range(n_replications):
        if stopped[r]:
            continue
        x, counts, time = features[feature_set[r]], pulls[r].astype(np.float64), pulls[r].sum()
        # the empirical best arm i, whose learner plays
        best = random_argmax(means[r], everything, key, replications[r], time, 0)
        recommended[r, 0] = best
        # stopping rule: the generalised likelihood ratio reaches C_t^2 / 2
        _, statistic, difference = closest_alternative(x, counts, means[r], best)
        if statistic / sigma**2 >= threshold[r] ** 2 / 2.0:
            stopped[r] = True
            continue
        weights = adahedge_weights(losses[r, best], mixability[r, best])  # the learner's weights
        if not respond_to_counts:  # the closest alternative answers to them, or to the counts
            _, _, difference = closest_alternative(x, weights, means[r], best)
        cap = np.log(max(time, 1))  # 0 if every evaluation so far failed
        # the learner's loss is minus the optimistic gain, which is at most f(t) = ln t
        loss = np.empty(n_arms)
        for k in range(n_arms):
            norm = gram[r, k, k] if squared_norm else np.sqrt(gram[r, k, k])
            optimistic = (abs(difference[k]) + np.sqrt(2.0 * cap * norm) * sigma) ** 2 / (2.0 * sigma**2)
            loss[k] = -min(optimistic, cap)
        mixability[r, best] += adahedge_gap(losses[r, best], loss, mixability[r, best])
        losses[r, best] += loss
        tracked[r] += weights
        # tracking: the arm that is farthest behind t w (D) or the sum of all w (C)
        lag = time * weights - counts if d_tracking else tracked[r] - counts
        arms[r, 0] = random_argmax(lag, everything, key, replications[r], time, 1)


@dataclass
class LinGameState:
    """The state of LinGame for R replications: estimates, one AdaHedge learner per possible answer, tracked weights."""

    gram: FloatArray  # (R, K, K)
    means: FloatArray  # (R, K)
    pulls: IntArray  # (R, K)
    losses: FloatArray  # (R, K answers, K arms)
    mixability: FloatArray  # (R, K answers)
    tracked: FloatArray  # (R, K)
    stopped: BoolArray  # (R,)
    recommended: IntArray  # (R, 1)
    replications: IntArray
    feature_set: IntArray
    features: FloatArray = shared()  # (n_sets, K, rank)
    threshold: Threshold = shared()
    key: np.uint64 = shared()
    initialised: bool = shared()


@dataclass(frozen=True)
class LinGame:
    r"""LinGame ([1]_, Algorithm 1), for the best arm of a linear bandit.

    Parameters
    ----------
    label : str
        Name in the paper; keys the random ties.
    delta : float
        Risk in (0, 1).
    sigma : float
        Scale of the noise, in units of reward.
    threshold : {"heuristic", "eq2", "lucb1"}
        Stops when the generalised likelihood ratio reaches :math:`C_{t,\delta}^2/2`.
    norm_bound : float
        S in Eq. 2 of [3]_.
    tracking : {"C", "D"}
        Follow the sum of the learner's weights, or t times the last ones.
    best_response : {"learner", "counts"}
        What the alternative answers to: the learner's weights, or (*deviation* of the authors' code) the counts.
    regulariser : float
        :math:`\rho` in :math:`V=\rho I+\sum_a N_a x_a x_a^\top`; the statistic itself has none.
    noise_in_statistic : bool
        *Deviation* if False: the authors' code takes sigma = 1 in statistic and gains, whatever the noise.
    squared_norm : bool
        *Deviation* if False: the authors' code has :math:`\|x\|` for :math:`\|x\|^2` in the optimistic gains.
    """

    label: str = "LinGame"
    delta: float = 0.05
    sigma: float = 0.5
    threshold: ThresholdName = "heuristic"
    norm_bound: float = 1.0
    tracking: Tracking = "C"
    best_response: BestResponse = "learner"
    regulariser: float = 1.0
    noise_in_statistic: bool = True
    squared_norm: bool = True

    def __post_init__(self) -> None:
        check_settings(self, positive=("sigma",), shares=("delta",), norm_bound=0, regulariser=1e-12)

    def as_coded(self) -> "LinGame":
        """Return the algorithm with the named deviations of the authors' code of [3]_."""
        return replace(
            self,
            tracking="D",
            best_response="counts",
            regulariser=(self.sigma / 20.0) ** 2,
            noise_in_statistic=False,
            squared_norm=False,
        )

    def start(self, arms: Arms, streams: Streams) -> LinGameState:
        """Return the state before the first pull."""
        n_arms, n_replications = arms.n_arms, len(streams.replications)
        features, feature_set = arms.feature_sets(n_replications)
        ranks = {int(np.linalg.matrix_rank(x)) for x in features}
        if len(ranks) > 1:
            raise ValueError(f"the arms of all replications must span as many dimensions, got {sorted(ranks)}.")
        rank = ranks.pop()
        axes = np.linalg.svd(features, full_matrices=False)[2][:, :rank]  # an orthonormal basis of the row space
        return LinGameState(
            gram=(features @ features.transpose(0, 2, 1) / self.regulariser)[feature_set],
            means=np.zeros((n_replications, n_arms)),
            pulls=np.zeros((n_replications, n_arms), dtype=np.int64),
            losses=np.zeros((n_replications, n_arms, n_arms)),
            mixability=np.full((n_replications, n_arms), 0.01),
            tracked=np.zeros((n_replications, n_arms)),
            stopped=np.zeros(n_replications, dtype=np.bool_),
            recommended=np.zeros((n_replications, 1), dtype=np.int64),
            replications=streams.replications,
            feature_set=feature_set,
            features=np.ascontiguousarray(features @ axes.transpose(0, 2, 1)),
            threshold=make_threshold(
                self.threshold,
                arms,
                delta=self.delta,
                sigma=self.sigma,
                regulariser=(self.sigma / 20.0) ** 2,
                norm_bound=self.norm_bound,
            ),
            key=streams.key(f"ties of {self.label}"),
            initialised=False,
        )

    def ask(self, state: LinGameState) -> Ask:
        """Stop where the likelihood ratio is large enough; elsewhere play one round of the game."""
        n_replications, n_arms = state.means.shape
        if not state.initialised:
            arms = np.tile(np.arange(n_arms), (n_replications, 1))
            return Ask(arms, np.ones_like(arms))
        arms = np.zeros((n_replications, 1), dtype=np.int64)
        threshold = state.threshold(np.maximum(state.pulls.sum(axis=1), 1.0), state.feature_set)
        _play(
            _Game._make(_arrays(state)), state.features, threshold, self.sigma if self.noise_in_statistic else 1.0,
            self.best_response == "counts", self.squared_norm, self.tracking == "D", state.key, arms,
        )  # fmt: skip
        return Ask(arms, (~state.stopped[:, None]).astype(np.int64))

    def tell(self, state: LinGameState, asked: Ask, totals: FloatArray) -> None:
        """Update the estimates; a total that is NaN (a failed evaluation) teaches nothing."""
        learn(state.gram, state.means, state.pulls, asked.arms, asked.counts, totals, True)
        if not state.initialised:
            state.tracked += asked.counts
            state.initialised = True

    def finished(self, state: LinGameState) -> BoolArray:
        """Return which replications have stopped."""
        return state.stopped

    def recommend(self, state: LinGameState) -> IntArray:
        """Return the arm with the largest estimated mean, shape (R, 1)."""
        return np.where(state.stopped[:, None], state.recommended, state.means.argmax(axis=1)[:, None])

r"""MisLid: the m best arms of a linear model that is wrong by at most a known level.

The models are :math:`\lambda = X\theta + \eta` with :math:`\|\eta\|_\infty \le c`. Minimised over :math:`\eta`, the
squared distance of a target from them is that of the residuals beyond c, so that each projection is a smooth convex
problem in the few entries of :math:`\theta` alone, solved by Newton steps.

References
----------
.. [1] Réda, Tirinzoni, Degenne. "Dealing With Misspecification In Fixed-Confidence Linear Top-m Identification".
   NeurIPS 2021. Algorithm 1, Sections 2 and 3.
.. [2] de Rooij, van Erven, Grünwald, Koolen. "Follow the Leader If You Can, Hedge If You Must". JMLR 2014. AdaHedge.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import njit
from scipy.special import lambertw

from bestarm.designs.optimal_design import information_inverse
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.models.regression import dot, factorise, solve_lower, solve_upper
from bestarm.policies.linear.gifa_round import random_argmax
from bestarm.policies.linear.lingame import adahedge_gap, adahedge_weights
from bestarm.settings import check_settings
from bestarm.streams import Streams, uniform

_SMALLEST_SHARE = 1e-9  # of a weight in the largest: an arm without weight would leave its mean undetermined
_EXACT = 1e-9  # losses below this share of the scale count as zero
_MOST_STEPS = 100


@njit(cache=True)
def _excess_loss(weights: FloatArray, residuals: FloatArray, moves: FloatArray, size: float, level: float) -> float:
    total = 0.0
    for k in range(len(weights)):
        excess = max(abs(residuals[k] - size * moves[k]) - level, 0.0)
        total += 0.5 * weights[k] * excess * excess
    return total


@njit(cache=True)
def project(x: FloatArray, weights: FloatArray, target: FloatArray, level: float, theta: FloatArray) -> float:
    r"""Move ``theta`` to the model closest to ``target`` and return half its squared distance, weighted.

    The projection itself is ``x @ theta`` plus the residuals cut to ``level``. ``theta`` is the start of the Newton
    steps; where the models hold the target, the first parameter found is kept.
    """
    n_arms, n_features = x.shape
    residuals, moves, scale = np.empty(n_arms), np.zeros(n_arms), 0.0
    slope, step, curvature = np.empty(n_features), np.empty(n_features), np.empty((n_features, n_features))
    for k in range(n_arms):
        residuals[k] = target[k] - dot(x[k], theta)
        scale += weights[k] * target[k] ** 2
    loss = _excess_loss(weights, residuals, moves, 0.0, level)
    for _ in range(_MOST_STEPS):
        if loss <= _EXACT**2 * scale:
            break
        slope[:], curvature[:] = 0.0, 0.0
        for k in range(n_arms):
            excess = residuals[k] - min(max(residuals[k], -level), level)
            if excess != 0.0:
                for i in range(n_features):
                    slope[i] += weights[k] * excess * x[k, i]
                    for j in range(n_features):
                        curvature[i, j] += weights[k] * x[k, i] * x[k, j]
        ridge = 1e-12 * np.trace(curvature)
        for i in range(n_features):
            curvature[i, i] += ridge
        # a Newton step on the arms beyond the level, halved until the loss falls enough
        step[:] = slope
        if level == 0.0:  # the game amplifies rounding: this solver keeps rows of level 0 as they are
            step[:] = np.linalg.solve(curvature, slope)
        elif factorise(curvature):
            solve_lower(curvature, step)
            solve_upper(curvature, step)
        gain = slope @ step
        if gain <= 1e-14 * loss:
            break
        for k in range(n_arms):
            moves[k] = dot(x[k], step)
        size = 1.0
        while size > 1e-12:
            moved = _excess_loss(weights, residuals, moves, size, level)
            if moved <= loss - 1e-4 * size * gain:
                break
            size *= 0.5
        else:
            break
        for i in range(n_features):
            theta[i] += size * step[i]
        for k in range(n_arms):
            residuals[k] -= size * moves[k]
        loss = moved
        if level == 0.0:  # least squares: the step is exact
            break
    return loss


@njit(cache=True)
def within(x: FloatArray, target: FloatArray, level: float, theta: FloatArray) -> FloatArray:
    """Return the means of a model: its linear part, and of the residuals as much as the level allows."""
    linear = x @ theta
    return linear + np.minimum(np.maximum(target - linear, -level), level)


@njit(cache=True)
def _swapped(
    x: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    best: int,
    rival: int,
    level: float,
    theta: FloatArray,
    worst: float,
) -> tuple[float, FloatArray]:
    """Return the distance of the closest model in which ``rival`` is as good as ``best``, and it, or infinity.

    For a multiplier of that constraint the closest model is a projection, of the means moved at the two arms, and the
    gap between them grows with the multiplier piece by piece linearly: the Illinois method finds its root. The dual
    value of each multiplier is a bound from below; where it reaches ``worst``, the pair is given up.
    """
    gap, spread = means[best] - means[rival], 1.0 / weights[best] + 1.0 / weights[rival]
    low, high = 0.0, gap / spread
    at_low, at_high = -gap, -gap
    found, moved, parameter = means, means.copy(), theta.copy()
    side = 0
    for _ in range(2 * _MOST_STEPS):
        # the upper end of the bracket until it is one, then the secant's root
        multiplier = high if at_high < 0.0 else (low * at_high - high * at_low) / (at_high - at_low)
        moved[best] = means[best] - multiplier / weights[best]
        moved[rival] = means[rival] + multiplier / weights[rival]
        loss = project(x, weights, moved, level, parameter)
        dual = loss + multiplier * gap - 0.5 * multiplier**2 * spread
        if dual >= worst:
            return np.inf, means
        found = within(x, moved, level, parameter)
        value = found[rival] - found[best]
        if abs(value) <= _EXACT * gap:
            break
        if value >= 0.0:
            at_low, side = 0.5 * at_low if side == 1 else at_low, 1 if at_high >= 0.0 else 0
            high, at_high = multiplier, value
        elif at_high < 0.0:
            low, at_low, high = high, value, 2.0 * high
        else:
            low, at_low, at_high, side = multiplier, value, 0.5 * at_high if side == -1 else at_high, -1
    return 0.5 * (weights * (means - found) ** 2).sum(), found


@njit(cache=True)
def closest_alternative(
    x: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    inside: BoolArray,
    level: float,
    theta: FloatArray,
    enough: float = 0.0,
) -> tuple[float, FloatArray, FloatArray]:
    r"""Return :math:`\frac12\sum_k w_k(\mu_k-\lambda_k)^2` of the closest model with another answer, it, and leverages.

    For each pair of an arm inside the answer and one outside there are two bounds on the value: without structure, the
    two arms alone move to their weighted mean; at most, the linear part alone moves. Pairs are solved in the order of
    the first, which is exact where the models hold it, until it exceeds the best value found ([1]_, Section 3). ``x``,
    ``weights``, ``means`` (ndarray, shapes (K, d), (K,) and (K,)): arms, how often each is pulled, and their means,
    which the models hold; ``inside`` (ndarray of bool, shape (K,)): the answer: the m arms with the largest means;
    ``level``: c, the largest deviation from linearity, in units of reward; ``theta`` (ndarray, shape (d,)): a parameter
    near that of the means; start of the solver; ``enough``: a model at most so far is returned at once."""
    n_arms, n_features = x.shape
    w = np.maximum(weights, _SMALLEST_SHARE * weights.max())
    inverse, leverage = np.empty((n_features, n_features)), np.empty(n_arms)
    information_inverse(x, w, inverse, leverage)
    loose = np.full((n_arms, n_arms) if level > 0.0 else (0, 0), np.inf)
    value, best, rival = np.inf, -1, -1
    for i in np.flatnonzero(inside):
        reach = inverse @ x[i]
        for a in np.flatnonzero(~inside):
            gap = means[i] - means[a]
            if level > 0.0:
                loose[i, a] = 0.5 * gap * gap / (1.0 / w[i] + 1.0 / w[a])
            variance = leverage[i] + leverage[a] - 2.0 * dot(reach, x[a])
            if variance > 1e-12 * leverage[i] and 0.5 * gap * gap / variance < value:  # equal arms are as good
                value, best, rival = 0.5 * gap * gap / variance, int(i), int(a)
    alternative = means.copy()
    if best >= 0:  # the linear part moves
        d = x[best] - x[rival]
        step = inverse @ d
        alternative = means - x @ step * ((means[best] - means[rival]) / (d @ step))
    while level > 0.0 and value > enough:
        pair = int(loose.argmin())
        first, second = pair // n_arms, pair % n_arms
        bound = loose[first, second]
        if bound >= value:
            break
        loose[first, second] = np.inf
        distance, moved = _swapped(x, w, means, first, second, level, theta, value)
        if distance < value:
            value, alternative = distance, moved
    return value, alternative, leverage


def rate_without_structure(n_arms: int, log_risk: FloatArray | float, time: FloatArray) -> FloatArray:
    r"""Return :math:`2K\bar W(\frac{\ell}{2K}+\frac12\ln(8eK\ln t))`, of means that share nothing ([1]_, Section 3).

    :math:`\bar W(y) = -W_{-1}(-e^{-y})`, at least 1, and :math:`\ell` is ``log_risk``, the logarithm of e over a risk.
    """
    at = np.maximum(log_risk / (2.0 * n_arms) + 0.5 * np.log(8.0 * np.e * n_arms * np.log(time)), 1.0)
    return np.asarray(-2.0 * n_arms * np.real(lambertw(-np.exp(-at), k=-1)))


@njit(cache=True)
def _play(
    game: tuple[Any, ...], level: float, largest: float, rate: FloatArray, unstructured: FloatArray, arms: IntArray
) -> None:
    """Play one round of every replication that still searches, and write the arm to pull. The noise has scale 1."""
    theta, sums, pulls, losses, mixability, stopped, recommended, replications, feature_set, features, key = game
    n_arms, n_best = sums.shape[1], recommended.shape[1]
    for r in range(len(sums)):
        if stopped[r]:
            continue
        x, counts, time = features[feature_set[r]], pulls[r].astype(np.float64), pulls[r].sum()
        # the projection of the empirical means onto the models
        empirical = sums[r] / np.maximum(counts, 1.0)
        known = np.maximum(counts, 1e-9)
        project(x, known, empirical, level, theta[r])
        means = within(x, empirical, level, theta[r])
        # the answer: the m largest means
        outside = np.ones(n_arms, dtype=np.bool_)
        for k in range(n_best):
            recommended[r, k] = random_argmax(means, outside, key, replications[r], time, k)
            outside[recommended[r, k]] = False
        # stopping rule: the closest model with another answer is too far
        value, _, leverage = closest_alternative(x, known, means, ~outside, level, theta[r], rate[r])
        if value > rate[r]:
            stopped[r] = True
            continue
        # the learner's weights, and the alternative that answers to them
        weights = adahedge_weights(losses[r], mixability[r])
        _, alternative, _ = closest_alternative(x, weights, means, ~outside, level, theta[r])
        # its loss is minus the optimistic gain, which is at most ln t
        cap = np.log(max(time, 1))
        loss = np.empty(n_arms)
        for k in range(n_arms):
            linear = 8.0 * level**2 + 2.0 * cap * leverage[k]
            width = min(min(2.0 * unstructured[r] / known[k], 4.0 * largest**2), linear)
            loss[k] = -min(0.5 * (abs(means[k] - alternative[k]) + np.sqrt(width)) ** 2, cap)
        mixability[r] += adahedge_gap(losses[r], loss, mixability[r])
        losses[r] += loss
        # an arm is drawn by the weights
        place, drawn = uniform(key, replications[r], time, (n_best + 1) * n_arms), 0
        while drawn < n_arms - 1 and place >= weights[drawn]:
            place -= weights[drawn]
            drawn += 1
        arms[r, 0] = drawn


@dataclass
class MisLidState:
    """The state of MisLid for R replications: sums of rewards over sigma, parameters, the learner."""

    theta: FloatArray  # (R, rank): linear part of the last projection
    sums: FloatArray  # (R, K)
    pulls: IntArray  # (R, K)
    losses: FloatArray  # (R, K)
    mixability: FloatArray  # (R,)
    stopped: BoolArray  # (R,)
    recommended: IntArray  # (R, m)
    replications: IntArray
    feature_set: IntArray
    features: FloatArray = shared()  # (n_sets, K, rank)
    key: np.uint64 = shared()
    initialised: bool = shared()


@dataclass(frozen=True)
class MisLid:
    r"""MisLid ([1]_, Algorithm 1): the m best arms where means are linear up to a level, with fixed confidence.

    A learner (AdaHedge [2]_) plays weights of arms against the closest model with another answer, until a likelihood
    ratio is large enough. Level 0 is a linear model; a level beyond every residual leaves arms without structure.

    Choices where [1]_ leaves some, most of them those of the authors' experiments: one learner for all answers; the
    arm is drawn by its weights; gains use :math:`\ln t` as confidence width and are at most that. Every arm is pulled
    once first, where the authors pull a barycentric spanner. At c = 0 the authors' recorded mean of pulls is missed by
    500 runs (z = -2.2 with both standard errors) and met by 3,000 (z = -1.7), a size chosen after that was seen. Raises
    ValueError for a value out of range.

    Parameters
    ----------
    n_best : int
        m, the number of arms to find.
    level : float
        c, the largest deviation of a mean from a linear function of its features, in units of reward. That it is known
        is needed: no algorithm can profit from features without it ([1]_, Section 2).
    mean_bound : float
        M, a bound on the size of the means, in units of reward; it caps the optimism of the first rounds.
    delta : float
        Risk of a wrong answer, in (0, 1).
    sigma : float
        Standard deviation of a reward, in units of reward.
    threshold : {"heuristic", "proven"}
        Stops when the ratio passes :math:`\ln((1+\ln t)/\delta)`, without a proof, or the threshold of [1]_, Theorem 2,
        the smaller one of a linear and of an unstructured model.
    label : str
        Name in the paper; keys the draws.
    """

    n_best: int
    level: float
    mean_bound: float = 1.0
    delta: float = 0.05
    sigma: float = 0.5
    threshold: Literal["heuristic", "proven"] = "heuristic"
    label: str = "MisLid"

    def __post_init__(self) -> None:
        check_settings(self, positive=("sigma", "mean_bound"), shares=("delta",), n_best=1, level=0)

    def start(self, arms: Arms, streams: Streams) -> MisLidState:
        """Return the state before the first pull; refuses ``n_best`` that leaves no arm out."""
        n_arms, n_replications = arms.n_arms, len(streams.replications)
        if self.n_best >= n_arms:
            raise ValueError(f"n_best must be smaller than the number of arms {n_arms}, got {self.n_best}.")
        features, feature_set = arms.feature_sets(n_replications)
        ranks = {int(np.linalg.matrix_rank(x)) for x in features}
        if len(ranks) > 1:
            raise ValueError(f"the arms of all replications must span as many dimensions, got {sorted(ranks)}.")
        axes = np.linalg.svd(features, full_matrices=False)[2][:, : ranks.pop()]  # a basis of the row space
        return MisLidState(
            theta=np.zeros((n_replications, axes.shape[1])),
            sums=np.zeros((n_replications, n_arms)),
            pulls=np.zeros((n_replications, n_arms), dtype=np.int64),
            losses=np.zeros((n_replications, n_arms)),
            mixability=np.full(n_replications, 0.01),
            stopped=np.zeros(n_replications, dtype=np.bool_),
            recommended=np.tile(np.arange(self.n_best), (n_replications, 1)),
            replications=streams.replications,
            feature_set=feature_set,
            features=np.ascontiguousarray(features @ axes.transpose(0, 2, 1)),
            key=streams.key(f"draws of {self.label}"),
            initialised=False,
        )

    def rate(self, n_arms: int, rank: int, time: FloatArray) -> FloatArray:
        """Return the threshold of the likelihood ratio after so many pulls, shape of ``time``."""
        if self.threshold == "heuristic":
            return np.asarray(np.log((1.0 + np.log(time)) / self.delta))
        risk = np.log(2.0 / self.delta)
        # V is at least 2 L^2 I once the first pulls are made, which cancels the norms L of the arms
        linear = 1.0 + risk + (1.0 + 1.0 / risk) * 0.5 * rank * np.log1p(time / (2.0 * rank) * risk)
        linear += 2.0 * (self.level / self.sigma) ** 2 * time
        return np.minimum(linear, rate_without_structure(n_arms, 1.0 + risk, time))

    def ask(self, state: MisLidState) -> Ask:
        """Stop where the likelihood ratio is large enough; elsewhere play one round of the game."""
        n_replications, n_arms = state.sums.shape
        if not state.initialised:
            arms = np.tile(np.arange(n_arms), (n_replications, 1))
            return Ask(arms, np.ones_like(arms))
        arms = np.zeros((n_replications, 1), dtype=np.int64)
        time = np.maximum(state.pulls.sum(axis=1), 2.0)
        free = rate_without_structure(n_arms, 1.0 + np.log(5.0) + 3.0 * np.log(time), time)
        game = (
            state.theta, state.sums, state.pulls, state.losses, state.mixability, state.stopped, state.recommended,
            state.replications, state.feature_set, state.features, state.key,
        )  # fmt: skip
        rate = self.rate(n_arms, state.features.shape[2], time)
        _play(game, self.level / self.sigma, self.mean_bound / self.sigma, rate, free, arms)
        return Ask(arms, (~state.stopped[:, None]).astype(np.int64))

    def tell(self, state: MisLidState, asked: Ask, totals: FloatArray) -> None:
        """Add the rewards; a total that is NaN (a failed evaluation) teaches nothing."""
        rows = np.broadcast_to(np.arange(len(state.sums))[:, None], asked.arms.shape)
        counts = np.where(np.isnan(totals), 0, asked.counts)
        np.add.at(state.sums, (rows, asked.arms), np.where(counts > 0, totals, 0.0) / self.sigma)
        np.add.at(state.pulls, (rows, asked.arms), counts)
        state.initialised = True

    def finished(self, state: MisLidState) -> BoolArray:
        """Return which replications have stopped."""
        return state.stopped

    def recommend(self, state: MisLidState) -> IntArray:
        """Return the m arms with the largest projected means, shape (R, m), as of the last round."""
        return state.recommended.copy()

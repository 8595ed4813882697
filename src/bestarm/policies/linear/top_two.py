r"""Top-two Thompson sampling with a fixed budget, for means that are nearly linear.

Rewards are in units of the noise's standard deviation. Given the variance :math:`\tau^2` of the own effects, the mean
of n rewards of an arm is :math:`x^\top\theta` with noise of variance :math:`\tau^2+1/n`, so its weight is
:math:`w=n/(1+n\tau^2)`. The arms' linear parts have covariance :math:`ZZ^\top` and means :math:`\ell`.

References
----------
.. [1] Russo. "Simple Bayesian Algorithms for Best-Arm Identification". Operations Research 2020, COLT 2016. Top-two
   Thompson sampling.
.. [2] Shang, de Heide, Kaufmann, Ménard, Valko. "Fixed-Confidence Guarantees for Bayesian Best-Arm Identification".
   AISTATS 2020. T3C, whose challenger needs no second draw.
.. [3] Xu, Honda, Sugiyama. "A Fully Adaptive Algorithm for Pure Exploration in Linear Bandits". AISTATS 2018. The
   greedy pull for the difference of two arms.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.models.regression import design, dot
from bestarm.policies.linear.fixed_budget import check_budget, largest
from bestarm.settings import check_settings
from bestarm.streams import Streams, standard_normal, uniform

# variances of the own effects, and of an arm's linear part before any reward, that are tried
_OWN = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
_LINEAR = 10.0 ** np.linspace(-1.0, 2.0, 10)
GRID = (len(_OWN), len(_LINEAR))
_PARSIMONY = np.log(len(_OWN) - 1.0)  # own effects have half of the prior, none of them the other
_SPREAD = 0.7  # of the draws, in standard deviations of the posterior
_NEGLIGIBLE = 1e-12


@dataclass
class TopTwoState:
    r"""The state of the policy for R replications, in units of :math:`\sigma`."""

    own: FloatArray  # tau^2, (R,)
    pulls: IntArray  # successful pulls of each arm, (R, K)
    sums: FloatArray  # the sums of their rewards, (R, K)
    roots: FloatArray  # Z of the module, (R, K, d)
    lines: FloatArray  # l of the module, (R, K)
    spent: IntArray
    next_fit: IntArray  # pulls at which the variances are fitted next, (R,)
    feature_set: IntArray
    replications: IntArray
    features: FloatArray = shared()  # in coordinates of their span, (n_sets, K, d)
    tie_key: np.uint64 = shared()
    sample_key: np.uint64 = shared()


class Known(NamedTuple):
    """The fields of `TopTwoState` that the rewards change."""

    own: FloatArray
    pulls: IntArray
    sums: FloatArray
    roots: FloatArray
    lines: FloatArray


@njit(cache=True)
def fit(
    x: FloatArray, pulls: IntArray, sums: FloatArray, roots: FloatArray, lines: FloatArray, noise: FloatArray
) -> float:
    """Write Z and the means of the linear parts for two variances of the grid, and return that of the own effects.

    They maximise the log posterior plus ``noise``, of the grid's shape: zeros find the likeliest, Gumbel variables draw
    from the posterior. Without rewards it is the largest variance of the linear parts, without own effects.
    """
    d, largest_value, own = x.shape[1], -np.inf, 0.0
    squared_norm = max((x**2).sum() / len(x), 1e-300)
    values, vectors = np.zeros(d), np.eye(d)
    weighed, ridge = np.zeros(d), squared_norm / _LINEAR[-1]
    for i_own, tried in enumerate(_OWN):
        # X'WX, X'Wy and the part of the log posterior without them
        weights, target, constant = pulls / (1.0 + pulls * tried), np.zeros(d), -_PARSIMONY * (tried > 0.0)
        for k in range(len(x)):
            if pulls[k] > 0:
                weight, y = weights[k], sums[k] / pulls[k]
                constant += 0.5 * (np.log(weight) - weight * y * y)
                for i in range(d):
                    target[i] += weight * y * x[k, i]
        e, q = np.linalg.eigh(design(x, weights, 0.0))
        rotated = q.T @ target
        for i_linear, linear in enumerate(_LINEAR):
            rho, value = squared_norm / linear, constant + noise[i_own, i_linear]
            for i in range(d):
                value += 0.5 * (rotated[i] ** 2 / (max(e[i], 0.0) + rho) - np.log(max(e[i], 0.0) / rho + 1.0))
            if value > largest_value and pulls.sum() > 0:
                largest_value, own, ridge = value, tried, rho
                values, vectors, weighed = e, q, rotated
    scale = 1.0 / np.sqrt(np.maximum(values, 0.0) + ridge)
    roots[:] = (x @ np.ascontiguousarray(vectors)) * scale
    lines[:] = roots @ (weighed * scale)
    return own


@njit(cache=True)
def posterior(
    own: float,
    pulls: IntArray,
    sums: FloatArray,
    roots: FloatArray,
    lines: FloatArray,
    kept: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> None:
    """Write the share of each arm's mean that its linear part has, the means, and their variances."""
    for k in range(len(lines)):
        kept[k] = 1.0 / (1.0 + pulls[k] * own)  # the other share is that of the arm's own rewards
        means[k] = kept[k] * (lines[k] + own * sums[k])
        variances[k] = kept[k] ** 2 * dot(roots[k], roots[k]) + own * kept[k]


@njit(cache=True)
def choose(
    known: Known, tie_key: np.uint64, sample_key: np.uint64, replications: IntArray, spent: IntArray, arms: IntArray
) -> None:
    """Write the arm to pull of every replication, shape (R, 1)."""
    own, pulls, sums, roots, lines = known
    n_replications, n_arms, d = roots.shape
    kept, means, variances = np.empty(n_arms), np.empty(n_arms), np.empty(n_arms)
    values, other, z = np.empty(n_arms), np.ones(n_arms, dtype=np.bool_), np.empty(d)
    for r in range(n_replications):
        replication, time, root = replications[r], spent[r], roots[r]
        posterior(own[r], pulls[r], sums[r], root, lines[r], kept, means, variances)
        if time < d:
            arms[r, 0] = largest(variances, other, False, tie_key, replication, time, 0)
            continue
        # the leader is the best arm of a draw from the posterior
        for i in range(d):
            z[i] = _SPREAD * standard_normal(sample_key, replication, time, i)
        for k in range(n_arms):
            values[k] = means[k] + kept[k] * dot(root[k], z)
            if own[r] > 0.0:
                values[k] += _SPREAD * np.sqrt(own[r] * kept[k]) * standard_normal(sample_key, replication, time, d + k)
        leader = largest(values, other, False, tie_key, replication, time, 1)
        # the challenger is the arm that is most likely better than it
        for k in range(n_arms):
            spread = variances[leader] + variances[k] - 2.0 * kept[leader] * kept[k] * dot(root[leader], root[k])
            gap = max(means[leader] - means[k], 0.0)
            values[k] = -(gap**2) / spread if spread > _NEGLIGIBLE * variances[leader] else -np.inf
        other[leader] = False
        challenger = largest(values, other, False, tie_key, replication, time, 2)
        other[leader] = True
        # pulled is the arm that lessens the variance of their difference most
        z[:] = kept[leader] * root[leader] - kept[challenger] * root[challenger]
        most = 0.0
        for k in range(n_arms):
            covariance = kept[k] * dot(root[k], z)
            if k == leader:
                covariance += own[r] * kept[k]
            elif k == challenger:
                covariance -= own[r] * kept[k]
            values[k] = covariance**2 / (1.0 + variances[k])
            most = max(most, values[k])
        if most > 0.0:
            values /= most
        arms[r, 0] = largest(values, other, False, tie_key, replication, time, 3)


@njit(cache=True)
def learn(
    features: FloatArray,
    feature_set: IntArray,
    budget: int,
    known: Known,
    spent: IntArray,
    next_fit: IntArray,
    asked: Ask,
    totals: FloatArray,
    sample_key: np.uint64,
    replications: IntArray,
) -> None:
    """Learn the rewards of a round in place; draw the variances anew when half as many pulls more were spent."""
    own, pulls, sums, roots, lines = known
    arms, counts = asked
    for r in range(len(pulls)):
        root, line, before = roots[r], lines[r], spent[r]
        for j in range(arms.shape[1]):
            n, a = counts[r, j], arms[r, j]
            spent[r] += n
            if n == 0 or np.isnan(totals[r, j]):
                continue
            weight, target = pulls[r, a] / (1.0 + pulls[r, a] * own[r]), sums[r, a] / (1.0 + pulls[r, a] * own[r])
            pulls[r, a] += n
            sums[r, a] += totals[r, j]
            shrunk = 1.0 / (1.0 + pulls[r, a] * own[r])
            gain, surprise = pulls[r, a] * shrunk - weight, sums[r, a] * shrunk - target
            # the update of Sherman and Morrison, of the square root: Z (I - c u u')
            u = root[a].copy()
            q = dot(u, u)
            surprise = (surprise - gain * line[a]) / (1.0 + gain * q)
            c = (1.0 - 1.0 / np.sqrt(1.0 + gain * q)) / q if q > 0.0 else 0.0
            for k in range(len(line)):
                along = dot(root[k], u)
                line[k] += along * surprise
                for i in range(len(u)):
                    root[k, i] -= c * along * u[i]
        if spent[r] > before and (spent[r] >= next_fit[r] or spent[r] >= budget):
            noise = np.zeros(GRID)
            for i in range(noise.size if spent[r] < budget else 0):
                number = len(line) + root.shape[1] + i  # after those that draw arms
                noise.flat[i] = -np.log(-np.log(uniform(sample_key, replications[r], spent[r], number)))
            own[r] = fit(features[feature_set[r]], pulls[r], sums[r], root, line, noise)
            next_fit[r] = spent[r] + spent[r] // 2 + 1


@njit(cache=True)
def best(known: Known, key: np.uint64, replications: IntArray, spent: IntArray) -> IntArray:
    """Return the arm with the largest posterior mean, shape (R, 1)."""
    own, pulls, sums, roots, lines = known
    n_arms = lines.shape[1]
    kept, means, variances = np.empty(n_arms), np.empty(n_arms), np.empty(n_arms)
    everything, found = np.ones(n_arms, dtype=np.bool_), np.empty((len(lines), 1), dtype=np.int64)
    for r in range(len(lines)):
        posterior(own[r], pulls[r], sums[r], roots[r], lines[r], kept, means, variances)
        found[r, 0] = largest(means, everything, False, key, replications[r], spent[r], 4)
    return found


@dataclass(frozen=True)
class TopTwo:
    r"""Top-two Thompson sampling on a linear model with an own effect of each arm.

    The mean of arm k is :math:`x_k^\top\theta+u_k` with :math:`\theta\sim N(0,a^2I)` and :math:`u_k\sim N(0,\tau^2)`.
    With :math:`\tau^2=0` arms teach about each other all that a linear model allows, with a large one nothing. Both
    variances are unknown, too: they are drawn from their posterior on a grid, where :math:`\tau^2>0` has half of the
    prior, whenever half as many pulls more were spent, and are the likeliest ones at the end. The likeliest ones during
    the search would make arms certain that were never pulled, where rewards cannot tell :math:`\tau^2` from 0. So would
    small :math:`a^2`: an arm's linear part has at least a tenth of the noise's variance.

    After the least known arms, one pull for each dimension, a round draws the means from the posterior, with 0.7 of
    its standard deviations, and the best of them is the leader J ([1]_). Its challenger c is the arm most likely better
    than it, of smallest :math:`\max(\mu_J-\mu_c,0)^2/\operatorname{Var}(m_J-m_c)` ([2]_). Pulled is the arm, be it
    another one, that lessens :math:`\operatorname{Var}(m_J-m_c)` most ([3]_). Recommended: the largest posterior mean.

    *Deviations*: [1]_ and [2]_ have independent arms, draw with whole standard deviations and pull one of the two; the
    posterior of [3]_ has neither drawn variances nor own effects. A pull costs O(K d), a fit O(K d² + d³), d at most K.
    Raises ValueError for a value out of range.

    Parameters
    ----------
    budget : int
        B, at least 1.
    sigma : float
        Standard deviation of the noise, in units of reward.
    label : str
        Name; keys the random choices.
    """

    budget: int
    sigma: float
    label: str = "Top-two Thompson"

    def __post_init__(self) -> None:
        check_settings(self)
        check_budget(self.label, self.budget)
        if not 0 < self.sigma < np.inf:
            raise ValueError(
                f"sigma must be positive and finite, got {self.sigma}; give the noise's standard deviation."
            )

    def start(self, arms: Arms, streams: Streams) -> TopTwoState:
        """Return the state before the first pull."""
        n, n_arms = len(streams.replications), arms.n_arms
        features, feature_set = arms.feature_sets(n)
        left, singular, _ = np.linalg.svd(features, full_matrices=False)
        features = left * singular[:, None, :]
        state = TopTwoState(
            own=np.zeros(n),
            pulls=arms.no_pulls(n),
            sums=np.zeros((n, n_arms)),
            roots=np.empty((n, *features.shape[1:])),
            lines=np.empty((n, n_arms)),
            spent=np.zeros(n, dtype=np.int64),
            next_fit=np.full(n, features.shape[2]),
            feature_set=feature_set,
            replications=streams.replications,
            features=features,
            tie_key=streams.key(f"ties of {self.label}"),
            sample_key=streams.key(f"draws of {self.label}"),
        )
        noise = np.zeros(GRID)
        for r, s in enumerate(feature_set):
            fit(features[s], state.pulls[r], state.sums[r], state.roots[r], state.lines[r], noise)
        return state

    def ask(self, state: TopTwoState) -> Ask:
        """Choose an arm where budget is left."""
        arms = np.empty((len(state.spent), 1), dtype=np.int64)
        choose(_known(state), state.tie_key, state.sample_key, state.replications, state.spent, arms)
        return Ask(arms, (state.spent < self.budget)[:, None].astype(np.int64))

    def tell(self, state: TopTwoState, asked: Ask, totals: FloatArray) -> None:
        """Update the posterior; a total that is NaN (a failed evaluation) teaches nothing and costs its pulls."""
        features, keys = (state.features, state.feature_set), (state.sample_key, state.replications)
        rewards, spent = totals / self.sigma, (state.spent, state.next_fit)
        learn(*features, self.budget, _known(state), *spent, asked, rewards, *keys)

    def finished(self, state: TopTwoState) -> BoolArray:
        """Return which replications have spent their budget."""
        return state.spent >= self.budget

    def recommend(self, state: TopTwoState) -> IntArray:
        """Return the arm with the largest posterior mean, shape (R, 1)."""
        return best(_known(state), state.tie_key, state.replications, state.spent)


def _known(state: TopTwoState) -> Known:
    return Known(state.own, state.pulls, state.sums, state.roots, state.lines)

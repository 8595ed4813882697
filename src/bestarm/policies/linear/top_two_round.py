r"""One round of top-two Thompson sampling, compiled, over replications; arrays and model are those of `top_two`.

Rewards are in units of the noise's standard deviation. Given the variance :math:`\tau^2` of the own effects, the mean
of n rewards of an arm is :math:`x^\top\theta` with noise of variance :math:`\tau^2+1/n`, so its weight is
:math:`w=n/(1+n\tau^2)`. The covariance of the arms' linear parts is kept as :math:`ZZ^\top`, their means as
:math:`\ell`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import Ask, FloatArray, IntArray
from bestarm.models.regression import design, dot
from bestarm.policies.linear.fixed_budget import largest
from bestarm.streams import standard_normal, uniform

# variances of the own effects, and of an arm's linear part before any reward, that are tried
_OWN = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
_LINEAR = 10.0 ** np.linspace(-1.0, 2.0, 10)
GRID = (len(_OWN), len(_LINEAR))
_PARSIMONY = np.log(len(_OWN) - 1.0)  # own effects have half of the prior, none of them the other
_SPREAD = 0.7  # of the draws, in standard deviations of the posterior
_NEGLIGIBLE = 1e-12


class Known(NamedTuple):
    """The fields of `bestarm.policies.linear.top_two.TopTwoState` that the rewards change."""

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
        # the other share is that of the arm's own rewards
        kept[k] = 1.0 / (1.0 + pulls[k] * own)
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

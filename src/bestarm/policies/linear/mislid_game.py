r"""Projections and closest alternatives of linear models that are wrong by at most a given level, compiled.

The models are :math:`\lambda = X\theta + \eta` with :math:`\|\eta\|_\infty \le c`. Minimised over :math:`\eta`, the
squared distance of a target from them is that of the residuals beyond c, so that each projection is a smooth convex
problem in the few entries of :math:`\theta` alone, solved by Newton steps.

References
----------
.. [1] Réda, Tirinzoni, Degenne. "Dealing With Misspecification In Fixed-Confidence Linear Top-m Identification".
   NeurIPS 2021. Sections 2 and 3.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bestarm.designs.design_steps import information_inverse
from bestarm.interface import BoolArray, FloatArray

_SMALLEST_SHARE = 1e-9  # of a weight in the largest: an arm without weight would leave its mean undetermined
_EXACT = 1e-9  # losses below this share of the scale count as zero
_MOST_STEPS = 100


@njit(cache=True)
def _dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product of two short vectors, without the overhead of a call to BLAS."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def _loss(x: FloatArray, weights: FloatArray, target: FloatArray, level: float, theta: FloatArray) -> float:
    total = 0.0
    for k in range(len(x)):
        excess = max(abs(target[k] - _dot(x[k], theta)) - level, 0.0)
        total += 0.5 * weights[k] * excess * excess
    return total


@njit(cache=True)
def project(x: FloatArray, weights: FloatArray, target: FloatArray, level: float, theta: FloatArray) -> float:
    r"""Move ``theta`` to the model closest to ``target`` and return half its squared distance, weighted.

    The projection itself is ``x @ theta`` plus the residuals cut to ``level``. ``theta`` is the start of the Newton
    steps; where the models hold the target, the first parameter found is kept.
    """
    n_arms, n_features = x.shape
    loss = _loss(x, weights, target, level, theta)
    for _ in range(_MOST_STEPS):
        slope, curvature = np.zeros(n_features), np.zeros((n_features, n_features))
        scale = 0.0
        for k in range(n_arms):
            residual = target[k] - _dot(x[k], theta)
            scale += weights[k] * target[k] ** 2
            excess = residual - min(max(residual, -level), level)
            if excess != 0.0:
                for i in range(n_features):
                    slope[i] += weights[k] * excess * x[k, i]
                    for j in range(n_features):
                        curvature[i, j] += weights[k] * x[k, i] * x[k, j]
        if loss <= _EXACT**2 * scale:
            break
        ridge = 1e-12 * np.trace(curvature)
        for i in range(n_features):
            curvature[i, i] += ridge
        # a Newton step on the arms beyond the level, halved until the loss falls enough
        step = np.linalg.solve(curvature, slope)
        gain = slope @ step
        if gain <= 1e-14 * loss:
            break
        size = 1.0
        while size > 1e-12:
            moved = _loss(x, weights, target, level, theta + size * step)
            if moved <= loss - 1e-4 * size * gain:
                break
            size *= 0.5
        else:
            break
        theta += size * step
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
    the first, which is exact where the models hold it, until it exceeds the best value found ([1]_, Section 3).

    Parameters
    ----------
    x, weights, means : ndarray, shapes (K, d), (K,) and (K,)
        Arms, how often each is pulled, and their means, which the models hold.
    inside : ndarray of bool, shape (K,)
        The answer: the m arms with the largest means.
    level : float
        c, the largest deviation from linearity, in units of reward.
    theta : ndarray, shape (d,)
        A parameter near that of the means; start of the solver.
    enough : float
        A model at most so far is returned at once.
    """
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
            variance = leverage[i] + leverage[a] - 2.0 * _dot(reach, x[a])
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

r"""Designs that tell arms apart: XY-optimal ones, and those of small Gaussian width up to a limit.

The XY-optimal design of directions v is that of the smallest :math:`\rho(\lambda)=\max_vv^\top A(\lambda)^{-1}v`, with
:math:`A(\lambda)=\sum_j\lambda_jx_jx_j^\top` over all arms [1]_; for pairs, v is the difference of two arms.

References
----------
.. [1] Soare, Lazaric, Munos. "Best-Arm Identification in Linear Bandits". NeurIPS 2014. Section 4.
.. [2] Katz-Samuels, Jain, Karnin, Jamieson. "An Empirical Process Approach to the Union Bound: Practical Algorithms for
   Combinatorial and Linear Bandits". NeurIPS 2020.
"""

import numpy as np
from numba import njit

from bestarm.designs.projection import span_basis
from bestarm.designs.width_design import normals
from bestarm.interface import BoolArray, FloatArray, IntArray

_POWER, _TOLERANCE, _N_STEPS = 64.0, 0.02, 300
_N_DRAWS, _WIDTH_STEPS, _WIDTH_TOLERANCE = 256, 200, 0.01
_SMALLEST = 1e-12
_LEAST_SHARE = 1e-6  # of the uniform weight: A keeps its inverse
_SHORTEST_STEP = 1e-4


def distinct(*columns: FloatArray | IntArray | BoolArray) -> tuple[IntArray, IntArray]:
    """Return the first row of each kind, and of which kind each row is; a row is what all columns say of it."""
    parts = [np.ascontiguousarray(c.reshape(len(c), -1)).view(np.uint8).reshape(len(c), -1) for c in columns]
    _, first, kind = np.unique(np.concatenate(parts, axis=1), axis=0, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


def span_coordinates(features: FloatArray, label: str) -> list[FloatArray]:
    """Return the arms of each set in coordinates of their span; a set of equal arms is refused (ValueError)."""
    for s, x in enumerate(features):
        if np.abs(x - x[0]).max() <= 1e-9 * np.abs(x).max():
            raise ValueError(
                f"{label}: features must tell arms apart, but all {len(x)} arms of set {s} are {x[0].tolist()}; give "
                "features that differ, or search without them."
            )
    return [np.ascontiguousarray(x @ span_basis(x)) for x in features]


def pairs(z: FloatArray) -> FloatArray:
    """Return the differences of all pairs of arms, shape (n (n - 1) / 2, d)."""
    first, second = np.tril_indices(len(z), -1)
    return z[first] - z[second]


@njit(cache=True)
def _information(z: FloatArray, weights: FloatArray) -> FloatArray:
    """Return A, the weighted sum of the arms' outer products."""
    n, d = z.shape
    a = np.zeros((d, d))
    for j in range(n):
        for k in range(d):
            for m in range(d):
                a[k, m] += weights[j] * z[j, k] * z[j, m]
    return a


@njit(cache=True)
def _stepped(weights: FloatArray, gradient: FloatArray, step: float) -> FloatArray:
    """Return the weights after a multiplicative step, with the gradient scaled to entries of at most 1."""
    trial = weights * np.exp(-step * (gradient - gradient.min()) / np.abs(gradient).max())
    trial = np.maximum(trial / trial.sum(), _LEAST_SHARE / len(weights))
    return trial / trial.sum()


@njit(cache=True)
def _power_mean(
    z: FloatArray, directions: FloatArray, weights: FloatArray, gradient: FloatArray
) -> tuple[float, float, float]:
    """Return the power mean of the variances, the largest, and a lower bound on its optimum; write the gradient."""
    inverse = np.linalg.inv(_information(z, weights))
    variances = np.sum((directions @ inverse) * directions, axis=1)
    largest = variances.max()
    ratios = (variances / largest) ** (_POWER - 1.0)
    mean = largest * np.sum(ratios * variances / largest) ** (1.0 / _POWER)
    # d mean / d variance = (variance / mean)^(p - 1); of the variances in the weights: -(v'A^-1 x_j)^2
    share = ratios * (largest / mean) ** (_POWER - 1.0)
    middle = directions.T @ (directions * share.reshape(-1, 1))
    turned = z @ inverse
    gradient[:] = -np.sum((turned @ middle) * turned, axis=1)
    # sum_v p_v v'A^-1 v is convex in the weights, and no larger than the largest variance: its tangent bounds both
    return mean, largest, (2.0 * np.sum(share * variances) + gradient.min()) / share.sum()


@njit(cache=True)
def xy_design(z: FloatArray, directions: FloatArray, weights: FloatArray) -> float:
    """Write the design of all arms with the smallest largest variance of a direction; return that variance.

    Exponentiated gradients with an adaptive step on the power mean of order 64, until the largest variance is proved to
    be within 2% of the optimum, or 300 steps; the best design on the way. Arrays: ``z``, shape (n, d), all arms, which
    span everything; ``directions``, shape (m, d), v, not all zero; ``weights``, shape (n,), overwritten."""
    n = len(z)
    current, gradient, other = np.full(n, 1.0 / n), np.empty(n), np.empty(n)
    value, least, bound = _power_mean(z, directions, current, gradient)
    weights[:] = current
    step = 1.0
    for _ in range(_N_STEPS):
        if least <= (1.0 + _TOLERANCE) * bound or step < _SHORTEST_STEP:
            break
        trial = _stepped(current, gradient, step)
        reached, largest, below = _power_mean(z, directions, trial, other)
        bound = max(bound, below)
        if largest < least:
            least = largest
            weights[:] = trial
        if reached < value:  # taken only if the power mean falls
            current, value, step = trial, reached, 1.3 * step
            gradient[:] = other
        else:
            step *= 0.5
    return least


@njit(cache=True)
def symmetric_width(
    z: FloatArray, chosen: FloatArray, weights: FloatArray, xi: FloatArray, gradient: FloatArray
) -> float:
    r"""Return the width of chosen arms over draws and their negatives, and write its gradient in the weights.

    Over :math:`\pm\xi` the mean of the maximum is half of the range, so that one arm has no width. The gradient is that
    of `bestarm.designs.width_design`, all draws at once.
    """
    d = z.shape[1]
    eigenvalues, q = np.linalg.eigh(_information(z, weights))  # A = Q diag(a) Q', s = a^-1/2
    eigenvalues = np.maximum(eigenvalues, _SMALLEST)
    s = 1.0 / np.sqrt(eigenvalues)
    turned, rotated = chosen @ q, xi @ q
    heights = (rotated * s) @ np.ascontiguousarray(turned.T)
    # the direction from the lowest arm to the highest one of each draw
    ranges, value = np.empty(rotated.shape), 0.0
    for i in range(len(xi)):
        top, low = int(np.argmax(heights[i])), int(np.argmin(heights[i]))
        value += heights[i, top] - heights[i, low]
        ranges[i] = turned[top] - turned[low]
    middle = ranges.T @ rotated
    for k in range(d):
        for m in range(d):
            middle[k, m] /= s[k] + s[m]
    u = (z @ q) / eigenvalues
    gradient[:] = -np.sum((u @ middle) * u, axis=1) / (2.0 * len(xi))
    return value / (2.0 * len(xi))


@njit(cache=True)
def width_design(z: FloatArray, live: BoolArray, key: np.uint64, limit: float, weights: FloatArray) -> float:
    r"""Write a design of small Gaussian width of the live arms; return :math:`(E\max_az_a^\top A^{-1/2}\xi)^2` ([2]_).

    256 draws and their negatives, the same for every set and design, stand for the expectation. Exponentiated gradients
    with an adaptive step, until the squared width is at most ``limit``, the first-order condition holds within 1%, 20
    steps in a row have lowered the width by less than 0.5%, or 200 steps.
    """
    n, d = z.shape
    chosen, xi = z[live], normals(key, 0, 0, _N_DRAWS, d)
    gradient, other = np.empty(n), np.empty(n)
    weights[:] = 1.0 / n
    value, step = symmetric_width(z, chosen, weights, xi, gradient), 1.0
    before = value
    for t in range(_WIDTH_STEPS):
        # the width has the degree -1/2 in the weights: at the optimum the largest slope is half of it
        if value <= 0.0 or value**2 <= limit or -gradient.min() <= (1.0 + _WIDTH_TOLERANCE) * 0.5 * value:
            break
        if t % 20 == 19:
            if value > (1.0 - 0.5 * _WIDTH_TOLERANCE) * before:
                break
            before = value
        trial = _stepped(weights, gradient, step)
        reached = symmetric_width(z, chosen, trial, xi, other)
        if reached < value:
            weights[:] = trial
            gradient[:] = other
            value, step = reached, 1.3 * step
        else:
            step *= 0.5
    return value**2


def live_designs(
    coordinates: list[FloatArray],
    feature_set: IntArray,
    live: BoolArray,
    key: np.uint64 | None = None,
    limit: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return designs of all arms for the live ones of each row, solved once for each kind of row, and their values.

    ``coordinates`` (list of ndarray, each of shape (K, rank)): the arms of each set of features, see
    `span_coordinates`; ``feature_set``, ``live`` (ndarray, shapes (R,) and (R, K)): the set of each row, and at least
    two live arms; ``key``: of the draws: the design of small width. Without it the XY-optimal design of all pairs;
    ``limit`` (ndarray, shape (R,)): squared width that is small enough; by default the smallest is sought. Returned are
    the designs, of shape (R, K), and the squared width or the largest variance of each, of shape (R,)."""
    limits = np.zeros(len(live)) if limit is None else limit
    first, kind = distinct(feature_set, live, limits)
    weights, values = np.empty((len(first), live.shape[1])), np.empty(len(first))
    for i, r in enumerate(first):
        z = coordinates[feature_set[r]]
        if key is None:
            values[i] = xy_design(z, pairs(z[live[r]]), weights[i])
        else:
            values[i] = width_design(z, live[r], key, limits[r], weights[i])
    return weights[kind], values[kind]

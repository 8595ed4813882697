r"""Local penalisation: each point of a batch lowers the worth of its neighbourhood, by a Lipschitz constant.

References
----------
.. [1] Gonzalez, Dai, Hennig, Lawrence. "Batch Bayesian Optimization via Local Penalization". AISTATS 2016.
"""

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.policies.gaussian.gp_acquisition import log_cdf
from bestarm.streams import uniform
from bestarm.vector_functions import exponentials

N_TRIED = 500  # points of the box from which the Lipschitz constant is sought, as in GPyOpt, and as many candidates
_CLIMB = 40
_FLAT = 1e-7  # a Lipschitz constant below this says nothing
_OF_FLAT = 10.0  # what GPyOpt takes instead


@njit(cache=True)
def mean_weights(rows: FloatArray, pivots: FloatArray, arms: IntArray, rewards: FloatArray) -> FloatArray:
    r"""Return :math:`\alpha=(K+\sigma^2I)^{-1}y` of the scaled rewards, shape (n,), by the factor that rows hold."""
    # Forward, then backward, by the Cholesky factor: its row t has rows[s, arms[t]] for s < t, then pivots[t].
    n = len(arms)
    found = rewards.copy()
    for t in range(n):
        for s in range(t):
            found[t] -= rows[s, arms[t]] * found[s]
        found[t] /= pivots[t]
    for t in range(n - 1, -1, -1):
        for s in range(t + 1, n):
            found[t] -= rows[t, arms[s]] * found[s]
        found[t] /= pivots[t]
    return found


@njit(cache=True)
def mean_gradient(
    x: FloatArray,
    seen: FloatArray,
    weights: FloatArray,
    lengthscales: FloatArray,
    signal: float,
    gradient: FloatArray,
    ascent: FloatArray,
) -> float:
    """Write the gradient of the posterior mean at x; return its squared norm, and write that one's gradient if wanted.

    An ``ascent`` of length 0 is not wanted.
    """
    d, n = len(x), len(weights)
    # grad mu(x) = -sum_i alpha_i k(x, x_i) (x - x_i) / l^2
    gradient[:] = 0.0
    values, precision = np.zeros(n), 1.0 / lengthscales**2
    for i in range(n):
        for c in range(d):
            values[i] -= 0.5 * precision[c] * (x[c] - seen[i, c]) ** 2
    exponentials(values)
    for i in range(n):
        values[i] *= weights[i] * signal
        for c in range(d):
            gradient[c] -= values[i] * (x[c] - seen[i, c]) * precision[c]
    if len(ascent) > 0:  # grad |grad mu|^2 = 2 H grad mu, with H the Hessian of mu
        ascent[:] = 0.0
        for i in range(n):
            along = 0.0
            for c in range(d):
                along += (x[c] - seen[i, c]) * precision[c] * gradient[c]
            for c in range(d):
                ascent[c] += 2.0 * values[i] * ((x[c] - seen[i, c]) * along - gradient[c]) * precision[c]
    return (gradient**2).sum()


@njit(cache=True)
def lipschitz_constant(
    points: FloatArray,
    seen: FloatArray,
    weights: FloatArray,
    lengthscales: FloatArray,
    signal: float,
    n_tried: int,
    key: np.uint64,
    replication: int,
    item: int,
) -> float:
    """Return the largest norm of the mean's gradient: the best of random candidates, of points of their box and of the
    data, then uphill.

    ``points`` (ndarray, shape (d, n_arms)): candidates, whose box bounds the ascent; ``seen``, ``weights`` (ndarray,
    shapes (n, d) and (n,)): points with rewards, and `mean_weights`; ``n_tried``: candidates tried, and points of the
    box tried beside them: the mean may be steepest far from few candidates."""
    d, n_arms = points.shape
    low, high = np.empty(d), np.empty(d)
    for c in range(d):
        low[c], high[c] = points[c].min(), points[c].max()
    # The best of the candidates, the box and the data.
    gradient, ascent, none = np.empty(d), np.empty(d), np.empty(0)
    best, x = -1.0, np.empty(d)
    for i in range(2 * n_tried + len(seen)):
        if i < n_tried:
            candidate = points[:, int(uniform(key, replication, item, i) * n_arms)].copy()
        elif i < 2 * n_tried:
            candidate = np.empty(d)
            for c in range(d):
                share = uniform(key, replication, item, n_tried + (i - n_tried) * d + c)
                candidate[c] = low[c] + (high[c] - low[c]) * share
        else:
            candidate = seen[i - 2 * n_tried].copy()
        value = mean_gradient(candidate, seen, weights, lengthscales, signal, gradient, none)
        if value > best:
            best, x = value, candidate
    # Uphill within the box, in units of the length-scales; steps grow by success and shrink by failure.
    best = mean_gradient(x, seen, weights, lengthscales, signal, gradient, ascent)
    size, direction, other = 0.1, ascent * lengthscales**2, np.empty(d)
    for _ in range(_CLIMB):
        norm = np.sqrt((direction**2 / lengthscales**2).sum())
        if norm <= 0.0 or size < 1e-6:
            break
        proposal = np.minimum(np.maximum(x + size * direction / norm, low), high)
        value = mean_gradient(proposal, seen, weights, lengthscales, signal, gradient, other)
        if value > best:
            best, x, size = value, proposal, 1.5 * size
            direction = other * lengthscales**2
        else:
            size *= 0.3
    found = np.sqrt(max(best, 0.0))
    return found if found >= _FLAT else _OF_FLAT


@njit(cache=True)
def penalise(
    scores: FloatArray, points: FloatArray, arm: int, mean: float, deviation: float, lipschitz: float, best: float
) -> None:
    r"""Add, in place, :math:`\log\Phi((L\|x-x_i\|-\hat M+\mu(x_i))/\sigma(x_i))` of one point to log scores."""
    centre = points[:, arm].copy()
    for i in range(len(scores)):
        squared = 0.0
        for c in range(len(centre)):
            squared += (points[c, i] - centre[c]) ** 2
        scores[i] += log_cdf((lipschitz * np.sqrt(squared) - best + mean) / deviation)


@njit(cache=True)
def log_softplus(values: FloatArray) -> FloatArray:
    """Return log log(1 + exp(values)), without overflow."""
    found = np.empty(len(values))
    for i in range(len(values)):
        v = values[i]
        if v > 30.0:
            found[i] = np.log(v)
        elif v < -30.0:
            found[i] = v
        else:
            found[i] = np.log(np.log1p(np.exp(v)))
    return found

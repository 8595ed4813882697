r"""Acquisitions of a Gaussian process: widths of UCB and EST, estimates of the maximum, the relevance region.

All functions are about one replication, in units of the scaled reward.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Sections 2.1 and 3.2.
.. [2] Wang, Zhou, Jegelka. "Optimization as Estimation with Gaussian Processes in Bandit Settings". AISTATS 2016.
.. [3] Contal, Buffoni, Robicquet, Vayatis. "Parallel Gaussian Process Optimization with Upper Confidence Bound and Pure
   Exploration". ECML 2013.
"""

from math import erfc, expm1, log1p

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray

_LEAST_DEVIATION = 1e-8
_LEAST_HOPE = 1e-6  # how far the estimated maximum is above the largest mean at least
_FAR = 8.3  # standard deviations beyond which a normal tail is lost in rounding
_NODES = 200


@njit(cache=True)
def ucb_width(n_arms: int, t: int, delta: float, scale: float) -> float:
    r"""Return the root of :math:`\beta_t=2\log(|X|t^2\pi^2/(6\delta))` times a scale ([1]_, Theorem 2.1)."""
    return np.sqrt(scale * 2.0 * np.log(n_arms * t**2 * np.pi**2 / (6.0 * delta)))


@njit(cache=True)
def log_cdf(z: float) -> float:
    """Return the log of the normal distribution function, without underflow."""
    if z > 0.0:
        return log1p(-0.5 * erfc(z * np.sqrt(0.5)))
    if z > -35.0:
        return np.log(0.5 * erfc(-z * np.sqrt(0.5)))
    # Phi(z) = phi(z) / -z * (1 - u + 3 u^2 - 15 u^3 + ...), with u = 1 / z^2: continuous with the line above.
    u = 1.0 / (z * z)
    return -0.5 * z * z - np.log(-z * np.sqrt(2.0 * np.pi)) + log1p(u * (-1.0 + u * (3.0 - 15.0 * u)))


@njit(cache=True)
def _log_all_below(level: float, means: FloatArray, deviations: FloatArray) -> float:
    """Return the log probability that independent values are all below a level."""
    total = 0.0
    for i in range(len(means)):
        z = (level - means[i]) / deviations[i]
        if z < _FAR:
            total += log_cdf(z)
            if total < -745.0:
                return -np.inf
    return total


@njit(cache=True)
def maximum_by_integral(means: FloatArray, deviations: FloatArray, best: float) -> float:
    """Return ESTn, the expected maximum of independent values and the best reward, by 200 trapezia ([2]_)."""
    top = best
    n_live = 0
    live = np.empty(len(means), dtype=np.int64)
    for i in range(len(means)):
        top = max(top, means[i] + 6.0 * deviations[i])
        if best - means[i] < _FAR * deviations[i]:
            live[n_live] = i
            n_live += 1
    own_means, own_deviations = means[live[:n_live]], deviations[live[:n_live]]
    # m = m_0 + the integral of 1 - prod_x Phi((w - mu(x)) / sigma(x)) over w from m_0, the best reward.
    step, total = (top - best) / (_NODES - 1), 0.0
    for node in range(_NODES):
        above = -expm1(_log_all_below(best + node * step, own_means, own_deviations))
        total += above * (0.5 if node in (0, _NODES - 1) else 1.0)
    return best + step * total


@njit(cache=True)
def maximum_by_approximation(means: FloatArray, deviations: FloatArray, best: float) -> float:
    """Return ESTa: the tail of the maximum as half a normal density, matched one unit above the best reward ([2]_)."""
    tail = -expm1(_log_all_below(best + 1.0, means, deviations))
    if tail <= 0.0:
        return best
    # s^2 = -1 / (2 log(1 - G(m_0 + 1))), m = m_0 + (pi / 2)^(1/2) s (1 - G(m_0)), with G the probability below.
    logarithm = np.log(tail)
    spread = np.sqrt(-0.5 / logarithm) if logarithm < 0.0 else 50.0
    return best - np.sqrt(np.pi / 2.0) * spread * expm1(_log_all_below(best, means, deviations))


@njit(cache=True)
def estimate_maximum(means: FloatArray, variances: FloatArray, best: float, integral: bool) -> float:
    """Return the estimate of the maximum of f, at least a little above the largest mean."""
    deviations = np.maximum(np.sqrt(variances), _LEAST_DEVIATION)
    if integral:
        found = maximum_by_integral(means, deviations, best)
    else:
        found = maximum_by_approximation(means, deviations, best)
    return max(found, means.max() + _LEAST_HOPE)


@njit(cache=True)
def est_width(means: FloatArray, variances: FloatArray, maximum: float) -> float:
    """Return the width at which UCB equals EST: the least (maximum - mean) / deviation ([1]_, Lemma 3.1)."""
    found = np.inf
    for i in range(len(means)):
        found = min(found, (maximum - means[i]) / max(np.sqrt(variances[i]), _LEAST_DEVIATION))
    return found


@njit(cache=True)
def relevance_region(means: FloatArray, variances: FloatArray, width: float, reach: float) -> IntArray:
    r"""Return the arms with mean + reach deviation at least the largest mean - width deviation, in order.

    The paper's text has reach :math:`2\beta_{t+1}^{1/2}`, Contal's software :math:`\beta_t^{1/2}` ([3]_).
    """
    lowest = -np.inf  # y_t, the largest lower bound
    for i in range(len(means)):
        lowest = max(lowest, means[i] - width * np.sqrt(variances[i]))
    found, n = np.empty(len(means), dtype=np.int64), 0
    for i in range(len(means)):
        if means[i] + reach * np.sqrt(variances[i]) >= lowest:
            found[n] = i
            n += 1
    return found[:n]

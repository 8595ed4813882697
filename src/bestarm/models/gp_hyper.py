r"""Hyper-parameters of a Gaussian process with a squared-exponential kernel: priors, MAP by BFGS, slice sampling.

Parameters are :math:`\theta=(\log\gamma^2,\log\ell_1,\ldots,\log\ell_d,\log\sigma^2)`; with one length-scale for all
features d is 1. The prior is a Gamma density of each parameter itself, not of its logarithm, so that the maximum
is that of the density of the parameters.

References
----------
.. [1] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Equations 5.8 and 5.9.
.. [2] Neal. "Slice Sampling". Annals of Statistics 2003. Figures 3 and 5.
.. [3] Nocedal, Wright. "Numerical Optimization". Springer 2006. Algorithm 6.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.streams import standard_normal, uniform

_LOG_2PI = float(np.log(2.0 * np.pi))


def _are_two_numbers(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(v, Real) for v in value)


@dataclass(frozen=True)
class GammaPriors:
    """Gamma priors (shape, rate) of the hyper-parameters, on the scale of standardised rewards and unit features.

    Parameters
    ----------
    signal, lengthscale, noise : tuple of two floats
        Shape and rate.
    noise_bounds, lengthscale_bounds, signal_bounds : tuple of two floats
        Where the densities are cut.

    Raises
    ------
    ValueError
        For a shape or rate that is not positive and finite, or bounds in the wrong order.
    """

    signal: tuple[float, float] = (1.0, 0.1)
    lengthscale: tuple[float, float] = (2.5, 5.0)
    noise: tuple[float, float] = (1.0, 10.0)
    signal_bounds: tuple[float, float] = (1e-3, 1e3)
    lengthscale_bounds: tuple[float, float] = (1e-2, 1e2)
    noise_bounds: tuple[float, float] = (1e-6, 1.0)

    def __post_init__(self) -> None:
        for name in ("signal", "lengthscale", "noise"):
            pair, bounds = getattr(self, name), getattr(self, f"{name}_bounds")
            if not (_are_two_numbers(pair) and all(0 < value < np.inf for value in pair)):
                raise ValueError(f"shape and rate of the prior of {name} must be positive and finite, got {pair!r}.")
            if not (_are_two_numbers(bounds) and 0 < bounds[0] < bounds[1]):
                raise ValueError(f"bounds of {name} must be two positive numbers in order, got {bounds!r}.")

    @classmethod
    def uninformative(cls) -> GammaPriors:
        """Return Gamma(1, 0.1) priors of all hyper-parameters."""
        return cls((1.0, 0.1), (1.0, 0.1), (1.0, 0.1))

    def table(self, n_lengthscales: int) -> FloatArray:
        """Return shape, rate, log lower and log upper bound of every parameter, shape (p, 4)."""
        lines = [(*self.signal, *self.signal_bounds)]
        lines += [(*self.lengthscale, *self.lengthscale_bounds)] * n_lengthscales
        lines += [(*self.noise, *self.noise_bounds)]
        found = np.array(lines)
        found[:, 2:] = np.log(found[:, 2:])
        return found


@njit(cache=True)
def log_posterior(
    theta: FloatArray, points: FloatArray, rewards: FloatArray, constant: float, priors: FloatArray,
    gradient: FloatArray, wants_gradient: bool,
) -> float:  # fmt: skip
    r"""Return the log marginal likelihood plus the log prior, up to the priors' constants, and write its gradient.

    Parameters
    ----------
    theta : ndarray, shape (p,)
        Parameters; p - 2 is the number of features, or 1.
    points : ndarray, shape (d, n)
        Where rewards were seen.
    rewards : ndarray, shape (n,)
        Scaled rewards.
    constant : float
        Prior variance of the unknown mean.
    priors : ndarray, shape (p, 4)
        See `GammaPriors.table`; minus infinity is returned outside of the bounds.
    gradient : ndarray, shape (p,)
        Written if wanted.
    """
    d, n = points.shape
    n_scales = len(theta) - 2
    value = 0.0
    for i in range(len(theta)):
        if theta[i] < priors[i, 2] or theta[i] > priors[i, 3] or np.isnan(theta[i]):
            return -np.inf
        value += (priors[i, 0] - 1.0) * theta[i] - priors[i, 1] * np.exp(theta[i])
    signal, noise = np.exp(theta[0]), np.exp(theta[-1])
    kernel = np.zeros((n, n))
    for c in range(d):
        inverse = np.exp(-2.0 * theta[1 + min(c, n_scales - 1)])
        for i in range(n):
            for j in range(i):
                kernel[i, j] += (points[c, i] - points[c, j]) ** 2 * inverse
    covariance = np.empty((n, n))
    for i in range(n):
        kernel[i, i] = signal
        covariance[i, i] = signal + constant + noise
        for j in range(i):
            kernel[i, j] = signal * np.exp(-0.5 * kernel[i, j])
            kernel[j, i] = kernel[i, j]
            covariance[i, j] = covariance[j, i] = kernel[i, j] + constant
    factor = np.linalg.cholesky(covariance)
    inverse_factor = np.zeros((n, n))  # row i of the inverse of a lower triangle, from the rows before it
    for i in range(n):
        row = inverse_factor[i]
        for s in range(i):
            weight = factor[i, s]
            for c in range(s + 1):
                row[c] -= weight * inverse_factor[s, c]
        for c in range(i):
            row[c] /= factor[i, i]
        row[i] = 1.0 / factor[i, i]
    whitened = np.dot(inverse_factor, rewards)
    for i in range(n):
        value -= 0.5 * whitened[i] ** 2 + np.log(factor[i, i]) + 0.5 * _LOG_2PI
    if wants_gradient:
        alpha = np.dot(inverse_factor.T, whitened)
        outer = -np.dot(inverse_factor.T, inverse_factor)
        for i in range(len(theta)):
            gradient[i] = priors[i, 0] - 1.0 - priors[i, 1] * np.exp(theta[i])
        trace = 0.0
        for i in range(n):
            trace += outer[i, i] + alpha[i] ** 2
            for j in range(n):
                outer[i, j] = (outer[i, j] + alpha[i] * alpha[j]) * kernel[i, j]
        gradient[0] += 0.5 * outer.sum()
        gradient[-1] += 0.5 * noise * trace
        for c in range(d):
            inverse, total = np.exp(-2.0 * theta[1 + min(c, n_scales - 1)]), 0.0
            for i in range(n):
                for j in range(i):
                    total += outer[i, j] * (points[c, i] - points[c, j]) ** 2
            gradient[1 + min(c, n_scales - 1)] += total * inverse
    return value


@njit(cache=True)
def _climb(
    theta: FloatArray, points: FloatArray, rewards: FloatArray, constant: float, priors: FloatArray, most: int,
    tolerance: float,
) -> tuple[FloatArray, float]:  # fmt: skip
    """Return a local maximum and its value, by BFGS within the bounds ([3]_) with backtracking."""
    p = len(theta)
    gradient, other = np.empty(p), np.empty(p)
    theta = np.minimum(np.maximum(theta, priors[:, 2]), priors[:, 3])
    value = log_posterior(theta, points, rewards, constant, priors, gradient, True)
    curvature = np.eye(p)
    fresh = True
    for _ in range(most):
        free = np.ones(p, dtype=np.bool_)
        for i in range(p):  # a bound that the gradient presses against is kept
            free[i] = not (
                (theta[i] <= priors[i, 2] and gradient[i] < 0) or (theta[i] >= priors[i, 3] and gradient[i] > 0)
            )
        slope = np.where(free, gradient, 0.0)
        if np.abs(slope).max() < tolerance:
            break
        step = np.where(free, np.dot(curvature, slope), 0.0)
        if np.dot(step, slope) <= 0.0:
            curvature, step, fresh = np.eye(p), slope.copy(), True
        length = np.abs(step).max()
        size = min(1.0, 2.0 / length)
        if fresh:
            size = min(size, 0.5 / length)
        moved = False
        for _ in range(20):
            proposal = np.minimum(np.maximum(theta + size * step, priors[:, 2]), priors[:, 3])
            reached = log_posterior(proposal, points, rewards, constant, priors, other, True)
            if reached >= value + 1e-4 * np.dot(slope, proposal - theta):
                moved = True
                break
            size *= 0.3
        if not moved:
            if fresh:
                break
            curvature, fresh = np.eye(p), True
            continue
        change, turn = proposal - theta, gradient - other
        gained = reached - value
        theta, value = proposal, reached
        gradient[:] = other
        agreement = np.dot(change, turn)
        if agreement > 1e-10:
            if fresh:
                curvature = np.eye(p) * agreement / np.dot(turn, turn)
                fresh = False
            bent = np.dot(curvature, turn)
            factor = (1.0 + np.dot(turn, bent) / agreement) / agreement
            curvature = curvature + factor * np.outer(change, change)
            curvature -= (np.outer(bent, change) + np.outer(change, bent)) / agreement
        if gained < 1e-7 * max(1.0, abs(value)):
            break
    return theta, value


@njit(cache=True)
def find_map(
    starts: FloatArray, points: FloatArray, rewards: FloatArray, constant: float, priors: FloatArray, most: int = 50,
    tolerance: float = 1e-3,
) -> tuple[FloatArray, float]:  # fmt: skip
    """Return the best of the local maxima of the log posterior from several starts, shape (p,), and its value.

    Parameters
    ----------
    starts : ndarray, shape (n_starts, p)
        Starts.
    points, rewards, constant, priors
        See `log_posterior`.
    most : int
        Steps from a start.
    tolerance : float
        Largest entry of the gradient at which a climb ends.
    """
    best, value = _climb(starts[0].copy(), points, rewards, constant, priors, most, tolerance)
    for s in range(1, len(starts)):
        theta, reached = _climb(starts[s].copy(), points, rewards, constant, priors, most, tolerance)
        if reached > value:
            best, value = theta, reached
    return best, value


@njit(cache=True)
def slice_sweeps(
    theta: FloatArray, points: FloatArray, rewards: FloatArray, constant: float, priors: FloatArray, n_sweeps: int,
    key: np.uint64, replication: int, item: int, width: float = 1.0, most_out: int = 8,
) -> FloatArray:  # fmt: skip
    """Return the log parameters after each sweep of univariate slice sampling ([2]_), shape (n_sweeps, p).

    The target is the density of the logarithms of the parameters, so the Jacobian of the priors is added.
    """
    p, number = len(theta), 0
    none = np.empty(p)
    theta = np.minimum(np.maximum(theta, priors[:, 2]), priors[:, 3])
    found = np.empty((n_sweeps, p))
    value = log_posterior(theta, points, rewards, constant, priors, none, False) + theta.sum()
    for sweep in range(n_sweeps):
        for i in range(p):
            level = value + np.log(1.0 - uniform(key, replication, item, number))
            low = theta[i] - width * uniform(key, replication, item, number + 1)
            out = int(most_out * uniform(key, replication, item, number + 2))
            number += 3
            high, now = low + width, theta[i]
            for side in range(2):
                for _ in range(out if side == 0 else most_out - 1 - out):
                    theta[i] = low if side == 0 else high
                    if log_posterior(theta, points, rewards, constant, priors, none, False) + theta.sum() <= level:
                        break
                    if side == 0:
                        low -= width
                    else:
                        high += width
            while True:
                theta[i] = low + (high - low) * uniform(key, replication, item, number)
                number += 1
                value = log_posterior(theta, points, rewards, constant, priors, none, False) + theta.sum()
                if value > level or high - low < 1e-12:
                    break
                if theta[i] < now:
                    low = theta[i]
                else:
                    high = theta[i]
        found[sweep] = theta
    return found


@njit(cache=True)
def random_start(priors: FloatArray, key: np.uint64, replication: int, item: int, number: int) -> FloatArray:
    """Return a start: the priors' means, moved on the log scale by normal draws of standard deviation 1."""
    p = len(priors)
    found = np.empty(p)
    for i in range(p):
        found[i] = np.log(priors[i, 0] / priors[i, 1]) + standard_normal(key, replication, item, number * p + i)
    return np.minimum(np.maximum(found, priors[:, 2]), priors[:, 3])


@njit(cache=True)
def refit(
    theta: FloatArray, points: FloatArray, point_set: IntArray, arms: IntArray, rewards: FloatArray, n_known: IntArray,
    offset: FloatArray, scale: FloatArray, constant: float, priors: FloatArray, which: IntArray, n_starts: int,
    sweeps: tuple[int, int, int], key: np.uint64, replications: IntArray, item: int,
) -> None:  # fmt: skip
    """Write new log parameters of some replications, shape (R, p): the MAP, or the mean of slice samples.

    Starts are the present parameters, the priors' means, then random ones. ``sweeps`` are burn-in, samples and
    thinning; no samples means the MAP.
    """
    p = theta.shape[1]
    for r in which:
        n = n_known[r]
        own = np.empty((points.shape[1], n))
        for t in range(n):
            own[:, t] = points[point_set[r], :, arms[r, t]]
        scaled = (rewards[r, :n] - offset[r]) / scale[r]
        if sweeps[1] == 0:
            starts = np.empty((n_starts, p))
            starts[0] = theta[r]
            for s in range(1, n_starts):
                starts[s] = random_start(priors, key, replications[r], item, s)
                if s == 1:
                    starts[s] = np.log(priors[:, 0] / priors[:, 1])
            theta[r] = find_map(starts, own, scaled, constant, priors)[0]
        else:
            total = sweeps[0] + sweeps[1] * sweeps[2]
            samples = slice_sweeps(theta[r].copy(), own, scaled, constant, priors, total, key, replications[r], item)
            mean = np.zeros(p)
            for s in range(sweeps[1]):
                mean += samples[sweeps[0] + (s + 1) * sweeps[2] - 1]
            theta[r] = mean / sweeps[1]

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

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.models.triangular import symmetric_inverse, upper_cholesky
from bestarm.streams import standard_normal, uniform
from bestarm.vector_functions import exponentials

_LOG_2PI = float(np.log(2.0 * np.pi))


def _are_two_numbers(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(v, Real) for v in value)


@dataclass(frozen=True)
class GammaPriors:
    """Gamma priors (shape, rate) of the hyper-parameters, on the scale of standardised rewards and unit features.

    ``signal``, ``lengthscale``, ``noise`` (tuple of two floats): shape and rate; ``noise_bounds``,
    ``lengthscale_bounds``, ``signal_bounds`` (tuple of two floats): where the densities are cut. Raises ValueError for
    a shape or rate that is not positive and finite, or bounds in the wrong order."""

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
    def uninformative(cls) -> "GammaPriors":
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
def squared_differences(points: FloatArray) -> FloatArray:
    """Return squared differences of points (d, n), by pairs (0, 1), (0, 2), ..., (1, 2), ...: (d, n (n - 1) / 2)."""
    d, n = points.shape
    found = np.empty((d, n * (n - 1) // 2))
    for c in range(d):
        place = 0
        for j in range(n):
            for i in range(j + 1, n):
                found[c, place] = (points[c, i] - points[c, j]) ** 2
                place += 1
    return found


@njit(cache=True)
def log_posterior(
    theta: FloatArray,
    squared: FloatArray,
    rewards: FloatArray,
    constant: float,
    priors: FloatArray,
    gradient: FloatArray,
    enough: float,
) -> float:
    r"""Return the log marginal likelihood plus the log prior, up to the priors' constants, and write its gradient.

    ``theta`` (ndarray, shape (p,)): parameters; p - 2 is the number of features, or 1; ``squared`` (ndarray, shape (d,
    n (n - 1) / 2)): `squared_differences` of the points where rewards were seen; ``rewards`` (ndarray, shape (n,)):
    scaled rewards; ``constant``: prior variance of the unknown mean; ``priors`` (ndarray, shape (p, 4)): see
    `GammaPriors.table`; minus infinity is returned outside of the bounds; ``gradient`` (ndarray, shape (p,)): written
    if the value is at least ``enough``; it costs twice the value."""
    d, n = len(squared), len(rewards)
    n_scales = len(theta) - 2
    value = 0.0
    for i in range(len(theta)):
        if theta[i] < priors[i, 2] or theta[i] > priors[i, 3] or np.isnan(theta[i]):
            return -np.inf
        # log of the Gamma density at e^theta, without its constant
        value += (priors[i, 0] - 1.0) * theta[i] - priors[i, 1] * np.exp(theta[i])
    signal, noise = np.exp(theta[0]), np.exp(theta[-1])
    # gamma^2 exp(-|x - y|^2 / (2 l^2))
    kernel = np.zeros(squared.shape[1])  # of the pairs
    for c in range(d):
        weight = -0.5 * np.exp(-2.0 * theta[1 + min(c, n_scales - 1)])
        for pair in range(len(kernel)):
            kernel[pair] += weight * squared[c, pair]
    exponentials(kernel)
    kernel *= signal
    covariance, place = np.zeros((n, n)), 0  # its upper triangle
    for j in range(n):
        covariance[j, j] = signal + constant + noise
        covariance[j, j + 1 :] = kernel[place : place + n - 1 - j] + constant
        place += n - 1 - j
    factor = covariance
    # [1]_, Equation 5.8 with A = U'U: -|z|^2 / 2 - sum log U_jj - n log(2 pi) / 2, U'z = y
    upper_cholesky(factor)
    whitened = rewards.copy()
    for j in range(n):
        whitened[j] /= factor[j, j]
        whitened[j + 1 :] -= whitened[j] * factor[j, j + 1 :]
        value -= 0.5 * whitened[j] ** 2 + np.log(factor[j, j]) + 0.5 * _LOG_2PI
    if value >= enough:
        _write_gradient(theta, squared, kernel, factor, whitened, priors, gradient)
    return value


@njit(cache=True)
def _write_gradient(
    theta: FloatArray,
    squared: FloatArray,
    kernel: FloatArray,
    factor: FloatArray,
    whitened: FloatArray,
    priors: FloatArray,
    gradient: FloatArray,
) -> None:
    r"""Write the gradient, the prior's plus :math:`\frac12\mathrm{tr}((\alpha\alpha^\top-A^{-1})\partial A)` ([1]_)."""
    d, n, n_scales = len(squared), len(whitened), len(theta) - 2
    inverse, alpha = symmetric_inverse(factor), whitened.copy()  # A^-1, and alpha = A^-1 y
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            alpha[i] -= factor[i, j] * alpha[j]
        alpha[i] /= factor[i, i]
    # of the prior
    for i in range(len(theta)):
        gradient[i] = priors[i, 0] - 1.0 - priors[i, 1] * np.exp(theta[i])
    # [1]_, Equation 5.9: a pair stands twice in the trace, which makes up for the factor 1/2
    trace, place, steep = 0.0, 0, np.empty(len(kernel))
    for j in range(n):
        trace += alpha[j] ** 2 - inverse[j, j]
        stop = place + n - 1 - j
        steep[place:stop] = (alpha[j] * alpha[j + 1 :] - inverse[j, j + 1 :]) * kernel[place:stop]
        place = stop
    # by log gamma^2, by log sigma^2, then by the logs of the length-scales
    gradient[0] += 0.5 * np.exp(theta[0]) * trace + steep.sum()
    gradient[-1] += 0.5 * np.exp(theta[-1]) * trace
    for c in range(d):
        scale = 1 + min(c, n_scales - 1)
        gradient[scale] += np.exp(-2.0 * theta[scale]) * np.dot(steep, squared[c])


@njit(cache=True)
def _climb(
    theta: FloatArray,
    squared: FloatArray,
    rewards: FloatArray,
    constant: float,
    priors: FloatArray,
    most: int,
    tolerance: float,
) -> tuple[FloatArray, float]:
    """Return a local maximum and its value, by BFGS within the bounds ([3]_) with backtracking."""
    p = len(theta)
    gradient, other = np.empty(p), np.empty(p)
    theta = np.minimum(np.maximum(theta, priors[:, 2]), priors[:, 3])
    value = log_posterior(theta, squared, rewards, constant, priors, gradient, -np.inf)
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
        # [3]_, Algorithm 6.1: the direction H g; the gradient itself where H g does not go up
        step = np.where(free, np.dot(curvature, slope), 0.0)
        if np.dot(step, slope) <= 0.0:
            curvature, step, fresh = np.eye(p), slope.copy(), True
        length = np.abs(step).max()
        size = min(1.0, 2.0 / length)
        if fresh:
            size = min(size, 0.5 / length)
        moved = False
        # backtracking until the value rises by a share of what the slope promises (Armijo)
        for _ in range(20):
            proposal = np.minimum(np.maximum(theta + size * step, priors[:, 2]), priors[:, 3])
            enough = value + 1e-4 * np.dot(slope, proposal - theta)
            reached = log_posterior(proposal, squared, rewards, constant, priors, other, enough)
            if reached >= enough:
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
        # the BFGS update of the inverse H, first from a multiple of the identity
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
    starts: FloatArray,
    points: FloatArray,
    rewards: FloatArray,
    constant: float,
    priors: FloatArray,
    most: int = 50,
    tolerance: float = 1e-3,
) -> tuple[FloatArray, float]:
    """Return the best of the local maxima of the log posterior from several starts, shape (p,), and its value.

    ``starts`` (ndarray, shape (n_starts, p)): starts; ``points`` (ndarray, shape (d, n)): where rewards were seen;
    ``rewards``, ``constant``, ``priors``: see `log_posterior`; ``most``: steps from a start; ``tolerance``: largest
    entry of the gradient at which a climb ends."""
    squared = squared_differences(points)  # the same for all starts
    best, value = _climb(starts[0].copy(), squared, rewards, constant, priors, most, tolerance)
    for s in range(1, len(starts)):
        theta, reached = _climb(starts[s].copy(), squared, rewards, constant, priors, most, tolerance)
        if reached > value:
            best, value = theta, reached
    return best, value


@njit(cache=True)
def slice_sweeps(
    theta: FloatArray,
    points: FloatArray,
    rewards: FloatArray,
    constant: float,
    priors: FloatArray,
    n_sweeps: int,
    key: np.uint64,
    replication: int,
    item: int,
    width: float = 1.0,
    most_out: int = 8,
) -> FloatArray:
    """Return the log parameters after each sweep of univariate slice sampling ([2]_), shape (n_sweeps, p).

    The target is the density of the logarithms of the parameters, so the Jacobian of the priors is added.
    """
    p, number = len(theta), 0
    none, squared = np.empty(p), squared_differences(points)
    theta = np.minimum(np.maximum(theta, priors[:, 2]), priors[:, 3])
    found = np.empty((n_sweeps, p))
    value = log_posterior(theta, squared, rewards, constant, priors, none, np.inf) + theta.sum()
    for sweep in range(n_sweeps):
        for i in range(p):
            # a level below the density defines the slice
            level = value + np.log(1.0 - uniform(key, replication, item, number))
            low = theta[i] - width * uniform(key, replication, item, number + 1)
            # [2]_, Figure 3: stepping out, with a limit that is shared at random between the two sides
            out = int(most_out * uniform(key, replication, item, number + 2))
            number += 3
            high, now = low + width, theta[i]
            for side in range(2):
                for _ in range(out if side == 0 else most_out - 1 - out):
                    theta[i] = low if side == 0 else high
                    if log_posterior(theta, squared, rewards, constant, priors, none, np.inf) + theta.sum() <= level:
                        break
                    if side == 0:
                        low -= width
                    else:
                        high += width
            # [2]_, Figure 5: draw from the interval, and shrink it towards the present value
            while True:
                theta[i] = low + (high - low) * uniform(key, replication, item, number)
                number += 1
                value = log_posterior(theta, squared, rewards, constant, priors, none, np.inf) + theta.sum()
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

    Starts are the present ones, the priors' means, then random ones; ``sweeps``: burn-in, samples (0: MAP), thinning.
    """
    p = theta.shape[1]
    for r in which:
        n = n_known[r]
        own = np.empty((points.shape[1], n))
        for t in range(n):
            own[:, t] = points[point_set[r], :, arms[r, t]]
        scaled = (rewards[r, :n] - offset[r]) / scale[r]
        if sweeps[1] == 0:  # MAP, the best of all starts
            starts = np.empty((n_starts, p))
            starts[0] = theta[r]
            for s in range(1, n_starts):
                starts[s] = random_start(priors, key, replications[r], item, s)
                if s == 1:
                    starts[s] = np.log(priors[:, 0] / priors[:, 1])
            theta[r] = find_map(starts, own, scaled, constant, priors)[0]
        else:
            # the mean of every thinned sample after the burn-in
            total = sweeps[0] + sweeps[1] * sweeps[2]
            samples = slice_sweeps(theta[r].copy(), own, scaled, constant, priors, total, key, replications[r], item)
            mean = np.zeros(p)
            for s in range(sweeps[1]):
                mean += samples[sweeps[0] + (s + 1) * sweeps[2] - 1]
            theta[r] = mean / sweeps[1]

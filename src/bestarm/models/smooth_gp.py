r"""Gaussian process regression of one data set, with length-scales under a prior that grows with the dimension.

References
----------
.. [1] Hvarfner, Hellsten, Nardi. "Vanilla Bayesian Optimization Performs Great in High Dimensions". ICML 2024.
   Section 4: the logarithm of a length-scale is normal around :math:`\sqrt2+\log\sqrt d`.
.. [2] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Equations 4.17 and 5.9.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from bestarm.interface import FloatArray, IntArray
from bestarm.settings import check_settings

Family = Literal["matern52", "rbf"]
ScoreFunction = Callable[[FloatArray, FloatArray], FloatArray]
UNIFORM = 12.0**-0.5  # standard deviation on [0, 1], the cube for which the prior of [1]_ is made
_JITTER = 1e-8
_FIRST = 800  # measurements that say where to look for the largest scores, where twice as many are known


@dataclass(frozen=True)
class SmoothGP:
    r"""Kernel and priors; hyper-parameters are the most probable ones, by L-BFGS from the centres of the priors.

    Logarithms of length-scales, signal and noise variance have normal priors; rewards are modelled with mean 0 and
    standard deviation 1. Raises ValueError for a setting out of its range."""

    family: Family = "matern52"
    ard: bool = True  # one length-scale for each feature
    lengthscale_spread: float = 3.0**0.5  # deviation of the log of one, around sqrt(2) + log(d) / 2 ([1]_)
    signal_prior: tuple[float, float] = (0.0, 1.0)  # centre and standard deviation of the logarithm of a variance
    noise_prior: tuple[float, float] = (-4.0, 1.0)
    most_fitted: int = 400  # rewards for the fit, evenly over the order of telling; the posterior has all
    steps: int = 50  # of L-BFGS at most

    def __post_init__(self) -> None:
        check_settings(self, positive=("lengthscale_spread",), most_fitted=2, steps=1)
        for name in ("signal_prior", "noise_prior"):
            prior = getattr(self, name)
            if len(prior) != 2 or not np.isfinite(prior).all() or prior[1] <= 0:
                raise ValueError(f"{name} must be a centre and a positive deviation, got {prior}.")

    def fitted(
        self, x: FloatArray, y: FloatArray, variances: FloatArray | float = 0.0, shares: FloatArray | float = 1.0
    ) -> "Posterior":
        """Return the posterior after some rewards.

        ``x`` (ndarray, shape (n, d)): features of what was measured, with about the spread of a uniform variable on [0,
        1]; ``y`` (ndarray, shape (n,)): rewards with mean 0 and standard deviation 1. The noise of reward i is
        ``variances[i] + shares[i] * noise``, in squared units of y, with a learned noise."""
        n, d = x.shape
        some = np.arange(n) if n <= self.most_fitted else np.linspace(0, n - 1, self.most_fitted).astype(np.int64)
        variances, shares = np.broadcast_to(variances, n), np.broadcast_to(shares, n)
        scales = [(2.0**0.5 + 0.5 * np.log(d), self.lengthscale_spread)] * (d if self.ard else 1)
        centre, spread = np.array([self.signal_prior, *scales, self.noise_prior], dtype=np.float64).T

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self._likelihood(theta, x[some], y[some], variances[some], shares[some])
            off = (theta - centre) / spread
            return value + 0.5 * float(off @ off), slope + off / spread

        bounds = [(c - 6.0 * s, c + 6.0 * s) for c, s in zip(centre, spread, strict=True)]
        bounds[-1] = (max(bounds[-1][0], np.log(1e-6)), bounds[-1][1])
        found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": self.steps})
        theta = np.asarray(found.x)
        found_scales = np.broadcast_to(np.exp(theta[1:-1]), d).copy()
        signal, noise = float(np.exp(theta[0])), float(np.exp(theta[-1]))
        z, own = x / found_scales, variances + shares * noise
        covariance = np.empty((n, n))
        for start in range(0, n, _part(n)):
            part = slice(start, start + _part(n))
            covariance[part] = signal * self.kernel(_squares(z[part], z))
        covariance[np.diag_indices(n)] += own + _JITTER * signal
        lower = cholesky(covariance, lower=True, overwrite_a=True)
        whitened = solve_triangular(lower, y, lower=True)
        return Posterior(self, found_scales, signal, noise + float(np.median(variances)), own, z, lower, whitened)

    def kernel(self, squares: FloatArray) -> FloatArray:
        """Return correlations at squared scaled distances."""
        if self.family == "rbf":
            return np.asarray(np.exp(-0.5 * squares))
        found, root = (5.0 / 3.0) * squares, np.sqrt(5.0 * squares)
        found += 1.0 + root
        np.negative(root, out=root)
        found *= np.exp(root, out=root)
        return found

    def _likelihood(
        self,
        theta: FloatArray,
        x: FloatArray,
        y: FloatArray,
        variances: FloatArray | float = 0.0,
        shares: FloatArray | float = 1.0,
    ) -> tuple[float, FloatArray]:
        """Return the negative log likelihood and its gradient ([2]_, Equation 5.9)."""
        n = len(y)
        z = x / np.exp(theta[1:-1])
        signal, noise = np.exp(theta[0]), np.exp(theta[-1])
        squares = _squares(z, z)
        correlation = self.kernel(squares)
        covariance = signal * correlation
        covariance[np.diag_indices(n)] += variances + shares * noise + _JITTER * signal
        try:
            lower = cholesky(covariance, lower=True)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        weights = cho_solve((lower, True), y)
        value = 0.5 * float(y @ weights) + float(np.log(np.diag(lower)).sum())
        inner = np.outer(weights, weights) - cho_solve((lower, True), np.eye(n))
        # d k / d log l = (d k / d r^2) (-2 (z - z')^2), one product of matrices for all features
        if self.family == "rbf":
            steep = signal * correlation
        else:
            root = np.sqrt(5.0 * squares)
            steep = (5.0 / 3.0) * signal * (1.0 + root) * np.exp(-root)
        pull = inner * steep
        by_feature = 2.0 * ((z**2).T @ pull.sum(axis=1) - np.einsum("ij,ij->j", z, pull @ z))
        slope = np.empty_like(theta)
        slope[0] = -0.5 * float((inner * signal * correlation).sum())
        slope[1:-1] = -0.5 * (by_feature if self.ard else by_feature.sum())
        slope[-1] = -0.5 * noise * float((shares * np.diag(inner)).sum())
        return value, slope


@dataclass(frozen=True)
class Posterior:
    """What is known of a function after some rewards."""

    model: SmoothGP
    scales: FloatArray  # length-scales, (d,)
    signal: float  # variance, in squared units of the scaled reward
    noise: float  # that of a usual measurement, in the same units
    own_noise: FloatArray  # variances of the noise of each reward, (n,)
    known: FloatArray  # scaled features of what was measured, (n, d)
    lower: FloatArray  # Cholesky factor of their covariance, (n, n)
    whitened: FloatArray  # its inverse times the rewards, (n,)

    def knows_much(self) -> bool:
        """Return whether deviations at many points take long."""
        return len(self.known) > 2 * _FIRST

    def everywhere(self, x: FloatArray, rough: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return mean and deviation at many points, some thousand at a time, or fewer where much is known.
        ``rough``: where much is known, deviations by the first measurements alone, which are larger."""
        mean, deviation, size = np.empty(len(x)), np.empty(len(x)), _part(len(self.known))
        rough = rough and self.knows_much()
        gain = solve_triangular(self.lower, self.whitened, lower=True, trans="T") if rough else self.whitened
        for start in range(0, len(x), size):
            part = slice(start, start + size)
            if rough:
                across = self.signal * self.model.kernel(_squares(self.known, x[part] / self.scales))
                rows = solve_triangular(self.lower[:_FIRST, :_FIRST], across[:_FIRST], lower=True, check_finite=False)
                mean[part], variance = gain @ across, np.maximum(self.signal - (rows**2).sum(axis=0), 1e-12)
            else:
                mean[part], variance, _ = self.at(x[part])
            deviation[part] = np.sqrt(variance)
        return mean, deviation

    def highest(self, x: FloatArray, score: ScoreFunction, rough: tuple[FloatArray, FloatArray], size: int) -> IntArray:
        """Return the places of the largest scores in their order; ``rough``, of `everywhere`, says where to look first.
        ``score``: a function of means and deviations that only grows or only falls with a deviation."""
        scores, order, done = score(*rough), np.zeros(0, np.int64), 0
        if self.knows_much():
            bounds = np.maximum(scores, score(rough[0], np.full(len(x), 1e-6)))
            scores, order = np.full(len(x), -np.inf), np.argsort(-bounds, kind="stable")
        while done < len(order) and (done < size or bounds[order[done]] > np.partition(scores, -size)[-size] - 1e-9):
            some = order[done : done + max(size, _FIRST // 4)]
            scores[some], done = score(*self.everywhere(x[some])), done + len(some)
        return np.argsort(-scores, kind="stable")[:size]

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return means and variances at some points, and rows V with posterior covariance K - V'V, shape (n, N)."""
        across = self.signal * self.model.kernel(_squares(self.known, x / self.scales))
        rows = solve_triangular(self.lower, across, lower=True, overwrite_b=True, check_finite=False)
        return self.whitened @ rows, np.maximum(self.signal - np.einsum("ij,ij->j", rows, rows), 1e-12), rows


class Believer:
    """Variances at some points as points are taken for known one by one; means stay as they are.

    ``posterior``: before; ``x`` (ndarray, shape (N, d)): points; ``room``: how many of them will be taken."""

    def __init__(self, posterior: Posterior, x: FloatArray, room: int) -> None:
        self.posterior = posterior
        self.means, self.variances, self._rows = posterior.at(x)
        self._z = x / posterior.scales
        self._own = np.empty((room, len(x)))
        self._taken = 0

    def take(self, place: int) -> None:
        """Take a point for known."""
        p, own = self.posterior, self._own[: self._taken]
        row = p.signal * p.model.kernel(_squares(self._z[place : place + 1], self._z)[0])
        row -= self._rows[:, place] @ self._rows + own[:, place] @ own
        row /= np.sqrt(self.variances[place] + p.noise)
        self._own[self._taken] = row
        self._taken += 1
        self.variances = np.maximum(self.variances - row**2, 1e-12)


def _part(n: int) -> int:
    """Return how many points are predicted at once where n are known."""
    return min(4096, max(256, 2_000_000 // n))


def best_of(scores: FloatArray, free: IntArray, size: int) -> IntArray:
    """Return the places of the largest scores among those that are free, the first of equals first."""
    return free[np.argsort(-scores[free], kind="stable")[:size]]


def _squares(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return squared distances, shape (len(a), len(b))."""
    found = -2.0 * (a @ b.T)
    found += np.einsum("ij,ij->i", a, a)[:, None]
    found += np.einsum("ij,ij->i", b, b)
    return np.maximum(found, 0.0, out=found)

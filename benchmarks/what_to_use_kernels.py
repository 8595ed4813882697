"""Gaussian processes with other kernels than `SmoothGP` has, whose parameters are learned in the same way.

References
----------
.. [1] Cho, Saul. "Kernel Methods for Deep Learning". NeurIPS 2009. Equations 1 and 6: degree 1, in layers.
.. [2] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Equations 4.17 and 5.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from bestarm.interface import FloatArray, IntArray
from bestarm.models.smooth_gp import _JITTER, UNIFORM, Posterior, SmoothGP, _squares

Priors = list[tuple[float, float]]  # centre and deviation of the logarithm of each parameter


class Kernel:
    """A covariance of values, with parameters whose logarithms have normal priors."""

    def priors(self, d: int) -> Priors:
        """Return the priors for so many features."""
        raise NotImplementedError

    def between(self, theta: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return covariances, shape (len(a), len(b)); ``theta`` has the logarithms of the parameters."""
        raise NotImplementedError

    def alone(self, theta: FloatArray, a: FloatArray) -> FloatArray:
        """Return variances, shape (len(a),)."""
        raise NotImplementedError

    def slope(self, theta: FloatArray, x: FloatArray, inner: FloatArray) -> FloatArray:
        """Return the derivatives of the sum of a symmetric matrix times the covariances."""
        raise NotImplementedError


@dataclass(frozen=True)
class Matern(Kernel):
    """Of 5/2 or 3/2: signal, then one length-scale for each feature."""

    halves: int = 5
    signal: tuple[float, float] = (0.0, 1.0)
    spread: float = 3.0**0.5

    def priors(self, d: int) -> Priors:
        return [self.signal] + [(2.0**0.5 + 0.5 * np.log(d), self.spread)] * d

    def between(self, theta: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        root = np.sqrt(self.halves * _squares(a / np.exp(theta[1:]), b / np.exp(theta[1:])))
        return np.asarray(np.exp(theta[0] - root) * (1.0 + root + (root**2 / 3.0 if self.halves == 5 else 0.0)))

    def alone(self, theta: FloatArray, a: FloatArray) -> FloatArray:
        return np.full(len(a), np.exp(theta[0]))

    def slope(self, theta: FloatArray, x: FloatArray, inner: FloatArray) -> FloatArray:
        z = x / np.exp(theta[1:])
        root = np.sqrt(self.halves * _squares(z, z))
        steep = np.exp(theta[0] - root) * ((5.0 / 3.0) * (1.0 + root) if self.halves == 5 else 3.0)
        pull = inner * steep  # minus twice the derivative by squared distances
        by_feature = 2.0 * ((z**2).T @ pull.sum(axis=1) - np.einsum("ij,ij->j", z, pull @ z))
        return np.append(float((inner * self.between(theta, x, x)).sum()), by_feature)


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear functions of standardised features, with one variance."""

    def priors(self, d: int) -> Priors:
        return [(-2.0, 2.0)]

    def between(self, theta: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(np.exp(theta[0]) / (UNIFORM**2 * a.shape[1]) * (a @ b.T))

    def alone(self, theta: FloatArray, a: FloatArray) -> FloatArray:
        return np.asarray(np.exp(theta[0]) / (UNIFORM**2 * a.shape[1]) * (a**2).sum(axis=1))

    def slope(self, theta: FloatArray, x: FloatArray, inner: FloatArray) -> FloatArray:
        return np.array([(inner * self.between(theta, x, x)).sum()])


@dataclass(frozen=True)
class Network(Kernel):
    """Infinitely wide networks of rectified units ([1]_): signal, variance of biases, length-scales."""

    layers: int = 2

    def priors(self, d: int) -> Priors:
        return [(0.0, 1.0), (-2.0, 2.0)] + [(0.0, 3.0**0.5)] * d

    def scaled(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Return features with squares that sum to about 1, in units of their length-scales."""
        return np.asarray(x / (UNIFORM * np.sqrt(x.shape[1]) * np.exp(theta[2:])))

    def alone(self, theta: FloatArray, a: FloatArray) -> FloatArray:
        inner = (self.scaled(theta, a) ** 2).sum(axis=1) + (self.layers + 1) * np.exp(theta[1])
        return np.asarray(np.exp(theta[0]) * inner)

    def between(self, theta: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        za, zb, bias = self.scaled(theta, a), self.scaled(theta, b), np.exp(theta[1])
        found = za @ zb.T + bias
        left, right = (za**2).sum(axis=1) + bias, (zb**2).sum(axis=1) + bias
        for _ in range(self.layers):
            found = self.layer(found, np.sqrt(np.outer(left, right)))[0] + bias
            left, right = left + bias, right + bias
        return np.asarray(np.exp(theta[0]) * found)

    @staticmethod
    def layer(found: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return covariances after a layer, from those before it and the roots of products of variances, and its
        derivatives by both."""
        cosine = np.clip(found / size, -1.0, 1.0)
        share, sine = 1.0 - np.arccos(cosine) / np.pi, np.sqrt(1.0 - cosine**2) / np.pi
        return size * (sine + share * cosine), share, sine

    def slope(self, theta: FloatArray, x: FloatArray, inner: FloatArray) -> FloatArray:
        z, bias = self.scaled(theta, x), np.exp(theta[1])
        found, variance, steps = z @ z.T + bias, (z**2).sum(axis=1) + bias, []
        for _ in range(self.layers):
            size = np.sqrt(np.outer(variance, variance))
            after, share, sine = self.layer(found, size)
            steps.append((share, sine * size, variance))
            found, variance = after + bias, variance + bias
        signal = float(np.exp(theta[0]) * (inner * found).sum())
        pull, alone, by_bias = np.exp(theta[0]) * inner, np.zeros(len(x)), 0.0
        for share, steep, before in reversed(steps):
            by_bias += float(pull.sum() + alone.sum())
            alone = alone + (pull * steep).sum(axis=1) / before  # the root of a product has half of both, twice
            pull = pull * share
        by_bias += float(pull.sum() + alone.sum())
        by_feature = -2.0 * (np.einsum("ij,ij->j", z, pull @ z) + alone @ z**2)
        return np.concatenate([[signal, bias * by_bias], by_feature])


@dataclass(frozen=True)
class Sum(Kernel):
    """Two kernels side by side."""

    one: Kernel
    other: Kernel

    def priors(self, d: int) -> Priors:
        return self.one.priors(d) + self.other.priors(d)

    def parts(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of each."""
        n = len(self.one.priors(x.shape[1]))
        return theta[:n], theta[n:]

    def between(self, theta: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        first, second = self.parts(theta, a)
        return self.one.between(first, a, b) + self.other.between(second, a, b)

    def alone(self, theta: FloatArray, a: FloatArray) -> FloatArray:
        first, second = self.parts(theta, a)
        return self.one.alone(first, a) + self.other.alone(second, a)

    def slope(self, theta: FloatArray, x: FloatArray, inner: FloatArray) -> FloatArray:
        first, second = self.parts(theta, x)
        return np.append(self.one.slope(first, x, inner), self.other.slope(second, x, inner))


def likelihood(covariance: FloatArray, y: FloatArray) -> tuple[float, FloatArray] | None:
    """Return the negative log likelihood, and the matrix whose product with a derivative of the covariance has minus
    twice its derivative as trace ([2]_); None where the covariance is not positive definite."""
    try:
        lower = cholesky(covariance, lower=True)
    except np.linalg.LinAlgError:
        return None
    gain = cho_solve((lower, True), y)
    value = 0.5 * float(y @ gain) + float(np.log(np.diag(lower)).sum())
    return value, np.outer(gain, gain) - cho_solve((lower, True), np.eye(len(y)))


@dataclass(frozen=True)
class KernelGP(SmoothGP):
    """A Gaussian process with any kernel; the last parameter is the noise, and rewards have no errors of their own."""

    kernels: Kernel = Matern()

    def measured(self, n: int) -> IntArray:
        """Return which of n measurements parameters are fitted to, as `SmoothGP` chooses them."""
        return np.arange(n) if n <= self.most_fitted else np.linspace(0, n - 1, self.most_fitted).astype(np.int64)

    def covariance(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Return the covariance of rewards."""
        found = self.kernels.between(theta[:-1], x, x)
        diagonal = np.diag_indices(len(x))
        found[diagonal] = (1.0 + _JITTER) * self.kernels.alone(theta[:-1], x) + np.exp(theta[-1])
        return found

    def loss(self, theta: FloatArray, x: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the logarithm of the posterior density of parameters, but for a constant, and its gradient."""
        centre, spread = np.array([*self.kernels.priors(x.shape[1]), self.noise_prior]).T
        off = (theta - centre) / spread
        if (fit := likelihood(self.covariance(theta, x), y)) is None:
            return 1e10, np.zeros_like(theta)
        value, inner = fit
        slope = np.append(self.kernels.slope(theta[:-1], x, inner), np.exp(theta[-1]) * np.trace(inner))
        return value + 0.5 * float(off @ off), -0.5 * slope + off / spread

    def fitted(self, x: FloatArray, y: FloatArray, variances: Any = 0.0, shares: Any = 1.0) -> KernelPosterior:
        """Return the posterior with the most probable parameters."""
        some, priors = self.measured(len(y)), [*self.kernels.priors(x.shape[1]), self.noise_prior]
        bounds = [(c - 6.0 * s, c + 6.0 * s) for c, s in priors]
        bounds[-1] = (max(bounds[-1][0], np.log(1e-6)), bounds[-1][1])
        start = np.array([c for c, _ in priors])
        found = minimize(
            self.loss, start, (x[some], y[some]), "L-BFGS-B", True, bounds=bounds, options={"maxiter": self.steps}
        )
        return self.at(np.asarray(found.x), x, y)

    def at(self, theta: FloatArray, x: FloatArray, y: FloatArray) -> KernelPosterior:
        """Return the posterior with some parameters."""
        lower, noise = cholesky(self.covariance(theta, x), lower=True), float(np.exp(theta[-1]))
        whitened, own = solve_triangular(lower, y, lower=True), np.full(len(y), noise)
        return KernelPosterior(self, np.ones(x.shape[1]), 1.0, noise, own, x, lower, whitened, theta)


@dataclass(frozen=True)
class KernelPosterior(Posterior):
    """What is known with any kernel; points are not scaled."""

    model: KernelGP
    theta: FloatArray

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return means and variances at some points, and rows V with posterior covariance K - V'V, shape (n, N)."""
        kernel, theta = self.model.kernels, self.theta[:-1]
        rows = solve_triangular(self.lower, kernel.between(theta, self.known, x), lower=True)
        return self.whitened @ rows, np.maximum(kernel.alone(theta, x) - (rows**2).sum(axis=0), 1e-12), rows

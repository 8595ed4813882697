"""Gaussian process regression of rewards with errors of their own, and draws of many candidates together.

References
----------
.. [1] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Equations 2.22 and 5.9.
.. [2] Wilson et al. "Efficiently Sampling Functions from Gaussian Process Posteriors". ICML 2020. Equation 12.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from bestarm.interface import FloatArray, IntArray
from bestarm.models.smooth_gp import _JITTER, Posterior, SmoothGP, _squares

_EXACT = 2000  # points whose covariance is factored; of more, functions are drawn by random Fourier features
_FEATURES, _BLOCKS = 1000, 2  # of these, and how often they are drawn anew


@dataclass(frozen=True)
class WeighedPosterior(Posterior):
    """A posterior whose rewards had variances of their own, shape (n,); ``noise`` is that of a usual measurement."""

    own_noise: FloatArray


def weighed(model: SmoothGP, x: FloatArray, y: FloatArray, variances: FloatArray, shares: FloatArray) -> Posterior:
    """Return the posterior after rewards y, shape (n,), at features x, shape (n, d), as `SmoothGP.fitted` takes them.

    The noise of reward i is ``variances[i] + shares[i] * noise``, in squared units of y, with a learned noise.
    """
    n, d = x.shape
    some, (centre, spread) = fitted_on(model, n), priors(model, d)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        off = (theta - centre) / spread
        whole, squares, correlation = covariance(model, theta, x[some], variances[some], shares[some])
        if (found := likelihood(whole, y[some])) is None:
            return 1e10, np.zeros_like(theta)
        value, inner = found
        signal, z = np.exp(theta[0]), x[some] / np.exp(theta[1:-1])
        root = np.sqrt(5.0 * squares)
        steep = correlation if model.family == "rbf" else (5.0 / 3.0) * (1.0 + root) * np.exp(-root)
        pull = inner * steep * signal
        slope = np.empty_like(theta)  # of the negative log likelihood ([1]_, Equation 5.9)
        slope[0] = -0.5 * signal * float((inner * correlation).sum())
        by_feature = (z**2).T @ pull.sum(axis=1) - np.einsum("ij,ij->j", z, pull @ z)
        slope[1:-1] = -by_feature if model.ard else -by_feature.sum()
        slope[-1] = -0.5 * np.exp(theta[-1]) * float(shares[some] @ np.diag(inner))
        return value + 0.5 * float(off @ off), slope + off / spread

    bounds = [(c - 6.0 * s, c + 6.0 * s) for c, s in zip(centre, spread, strict=True)]
    bounds[-1] = (max(bounds[-1][0], np.log(1e-6)), bounds[-1][1])
    theta = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": model.steps}).x
    scales, noise = np.broadcast_to(np.exp(theta[1:-1]), d).copy(), float(np.exp(theta[-1]))
    lower = cholesky(covariance(model, theta, x, variances, shares)[0], lower=True, overwrite_a=True)
    whitened = solve_triangular(lower, y, lower=True)
    usual, own = noise + float(np.median(variances)), variances + shares * noise
    return WeighedPosterior(model, scales, float(np.exp(theta[0])), usual, x / scales, lower, whitened, own)


def fitted_on(model: SmoothGP, n: int) -> IntArray:
    """Return which of n measurements parameters are fitted to: all, or ``most_fitted``, evenly spread."""
    return np.arange(n) if n <= model.most_fitted else np.linspace(0, n - 1, model.most_fitted).astype(np.int64)


def priors(model: SmoothGP, d: int) -> FloatArray:
    """Return centres and deviations of the logarithms of signal, length-scales and noise, shape (2, 2 + d or 3)."""
    scales = [(2.0**0.5 + 0.5 * np.log(d), model.lengthscale_spread)] * (d if model.ard else 1)
    return np.array([model.signal_prior, *scales, model.noise_prior], dtype=np.float64).T


def covariance(
    model: SmoothGP,
    theta: FloatArray,
    x: FloatArray,
    variances: FloatArray | float = 0.0,
    shares: FloatArray | float = 1.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the covariance of rewards, squared scaled distances, and correlations, each of shape (n, n).

    ``theta`` are the logarithms of signal, length-scales and noise."""
    z = x / np.exp(theta[1:-1])
    squares = _squares(z, z)
    correlation = model.kernel(squares)
    found = np.exp(theta[0]) * correlation
    found[np.diag_indices(len(z))] += variances + np.exp(theta[-1]) * shares + _JITTER * np.exp(theta[0])
    return found, squares, correlation


def likelihood(covariance: FloatArray, y: FloatArray) -> tuple[float, FloatArray] | None:
    """Return the negative log likelihood, and the matrix whose product with a derivative of the covariance has minus
    twice its derivative as trace ([1]_, Equation 5.9); None where the covariance is not positive definite."""
    try:
        lower = cholesky(covariance, lower=True)
    except np.linalg.LinAlgError:
        return None
    gain = cho_solve((lower, True), y)
    value = 0.5 * float(y @ gain) + float(np.log(np.diag(lower)).sum())
    return value, np.outer(gain, gain) - cho_solve((lower, True), np.eye(len(y)))


def drawn_jointly(posterior: Posterior, x: FloatArray, n: int, rng: Generator) -> FloatArray:
    """Return draws of what measurements at some points would give, all together, shape (n, N), of many by ([2]_)."""
    p, z = posterior, x / posterior.scales
    if len(x) <= _EXACT:
        mean, _, rows = p.at(x)
        covariance = p.signal * p.model.kernel(_squares(z, z)) - rows.T @ rows
        covariance[np.diag_indices(len(x))] += p.noise + 1e-6 * p.signal
        found: FloatArray = rng.standard_normal((n, len(x))) @ cholesky(covariance, lower=True).T
        return found + mean
    y, k, d = p.lower @ p.whitened, *p.known.shape
    waves, blocks = [], np.array_split(np.arange(n), _BLOCKS)
    for block in blocks:
        frequency = rng.standard_normal((d, _FEATURES))
        if p.model.family == "matern52":  # whose spectral density is a Student's t with 5 degrees of freedom
            frequency /= np.sqrt(rng.chisquare(5.0, _FEATURES) / 5.0)
        phase = 2.0 * np.pi * rng.random(_FEATURES)
        weight = rng.standard_normal((_FEATURES, len(block))) * np.sqrt(2.0 * p.signal / _FEATURES)
        own = p.own_noise[:, None] if isinstance(p, WeighedPosterior) else p.noise
        error = np.sqrt(own) * rng.standard_normal((k, len(block)))
        prior = np.cos(p.known @ frequency + phase) @ weight
        waves.append((frequency, phase, weight, cho_solve((p.lower, True), y[:, None] - prior - error)))
    found = np.sqrt(p.noise) * rng.standard_normal((n, len(x)))
    for start in range(0, len(x), 4096):
        part = slice(start, start + 4096)
        across = p.signal * p.model.kernel(_squares(z[part], p.known))
        for block, (frequency, phase, weight, gain) in zip(blocks, waves, strict=True):
            found[block, part] += (np.cos(z[part] @ frequency + phase) @ weight + across @ gain).T
    return found

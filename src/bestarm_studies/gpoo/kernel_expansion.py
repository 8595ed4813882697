r"""Functions :math:`f(x)=\sum_j\alpha_jk(x, c_j)`: posterior means and draws of Gaussian processes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from bestarm.interface import FloatArray, IntArray
from bestarm.kernels import Stationary, box_point_average
from bestarm.streams import Streams, standard_normal


@dataclass(frozen=True)
class KernelExpansion:
    """A function in the span of a kernel, or one for each replication.

    Parameters
    ----------
    kernel : Stationary
        k.
    centres : ndarray, shape (n, d)
        c_j.
    weights : ndarray, shape (n,) or (R, n)
        The coefficients, shared or one set for each replication.
    """

    kernel: Stationary
    centres: FloatArray
    weights: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return f at points of shape (..., d), shape (...); with R sets of weights the leading axis is R."""
        covariances = self.kernel.K(x, self.centres) if x.ndim > 1 else self.kernel.K(x[None], self.centres)[0]
        return self._sum(covariances)

    def average(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return the averages of f over boxes given by their corners, shape (..., d): closed form for an RBF kernel."""
        return self._sum(box_point_average(self.kernel, lower[..., None, :], upper[..., None, :], self.centres))

    def _sum(self, covariances: FloatArray) -> FloatArray:
        if self.weights.ndim == 1:
            # no matrix product: its last bit depends on how many points are asked at once, hence on the block
            return np.asarray((covariances * self.weights).sum(axis=-1))
        flat = covariances.reshape(len(self.weights), -1, self.weights.shape[1])
        return np.einsum("rmn,rn->rm", flat, self.weights).reshape(covariances.shape[:-1])

    def take(self, rows: IntArray) -> Self:
        """Return the functions of a subset of the replications."""
        return self if self.weights.ndim == 1 else replace(self, weights=self.weights[rows])


def posterior_mean(kernel: Stationary, x: FloatArray, y: FloatArray, noise_variance: float) -> KernelExpansion:
    """Return the posterior mean given rewards y, shape (n,), at points x, shape (n, d)."""
    gram = kernel.K(x) + noise_variance * np.eye(len(x))
    weights: FloatArray = np.asarray(np.linalg.solve(gram, y), dtype=np.float64)
    return KernelExpansion(kernel, x, weights)


def prior_draws(kernel: Stationary, centres: FloatArray, streams: Streams) -> KernelExpansion:
    """Return draws from the prior, one for each replication: exact at the centres, their interpolation between.

    The centres must lie closer than about a quarter of the length-scale for the draws to be the process's everywhere;
    a jitter of 1e-10 of the variance keeps the factorisation stable.
    """
    factor = np.linalg.cholesky(kernel.K(centres) + 1e-10 * kernel.variance * np.eye(len(centres)))
    key = streams.key("function")
    normals = np.array([[standard_normal(key, r, j, 0) for j in range(len(centres))] for r in streams.replications])
    return KernelExpansion(kernel, centres, solve_triangular(factor, normals.T, lower=True, trans="T").T)

r"""Gaussian process regression from averages: rewards are :math:`Y=A f(X)+\epsilon` for any averaging matrix A.

Used alone, for many replications at once; the search over cells has its own form of the same posterior
(`bestarm.models.cell_posterior`), which the tests compare with this one.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Equation 4, Appendix B.
.. [2] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Algorithm 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from bestarm.interface import FloatArray, IntArray
from bestarm.kernels import Kernel
from bestarm.partition import Partition
from bestarm.streams import Streams, standard_normal


def average_cells(partition: Partition, cells: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the points, shape (t S, d), and the averaging matrix, shape (t, t S), of cells, shape (t,) ([1]_)."""
    points = partition.representatives(np.asarray(cells))
    t, s, d = points.shape
    return points.reshape(t * s, d), np.kron(np.eye(t), np.full((1, s), 1.0 / s))


@dataclass(frozen=True)
class AggregatedGP:
    """A zero-mean Gaussian process that is observed through averages.

    Parameters
    ----------
    kernel : Kernel
        Covariance function of f: `bestarm.kernels.Stationary`, or a GPy kernel.
    noise_variance : float
        Variance of the noise of a reward.

    Raises
    ------
    ValueError
        If the noise variance is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from bestarm.kernels import Stationary
    >>> gp = AggregatedGP(Stationary("rbf", 1.0, 0.2), noise_variance=0.01)
    >>> points, averaging = np.array([[0.1], [0.3], [0.8]]), np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> posterior = gp.fit(points, np.array([1.0, -1.0]), averaging)
    >>> mean, variance = posterior.predict(np.array([[0.2]]))
    >>> mean.shape, bool(variance[0, 0] < 1.0)
    ((1, 1), True)
    """

    kernel: Kernel
    noise_variance: float

    def __post_init__(self) -> None:
        if not 0 < self.noise_variance < np.inf:
            raise ValueError(f"noise_variance must be positive, got {self.noise_variance}.")

    def prior(self, n_replications: int = 1, n_dimensions: int = 1) -> Posterior:
        """Return the posterior of no observations."""
        empty = np.zeros((n_replications, 0))
        points = np.zeros((n_replications, 0, n_dimensions))
        return Posterior(self, points, np.zeros((n_replications, 0, 0)), np.zeros((n_replications, 0, 0)), empty, empty)

    def fit(self, points: FloatArray, rewards: FloatArray, averaging: FloatArray | None = None) -> Posterior:
        """Return the posterior given rewards of averages ([1]_, Equation 4).

        Parameters
        ----------
        points : ndarray, shape (n, d) or (R, n, d)
            X.
        rewards : ndarray, shape (t,) or (R, t)
            Y; NaN is an evaluation that failed and teaches nothing, in any one replication alone.
        averaging : ndarray, shape (t, n) or (R, t, n), optional
            A; by default every reward is that of one point.

        Raises
        ------
        ValueError
            For shapes that do not fit, numbers that are not finite, or a covariance that is not positive definite.
        """
        rewards = np.atleast_2d(np.asarray(rewards, dtype=np.float64))
        n_replications = len(rewards)
        points = _replicated(points, n_replications, "points")
        return self.prior(n_replications, points.shape[2]).update(points, rewards, averaging)


@dataclass(frozen=True)
class Posterior:
    """What is known of f after some rewards, for R replications; `update` returns a new one.

    Attributes
    ----------
    gp : AggregatedGP
        The prior.
    points, averaging : ndarray, shapes (R, n, d) and (R, t, n)
        X and A.
    factor : ndarray, shape (R, t, t)
        Cholesky factor L of :math:`A k(X,X) A^\\top+\\sigma^2I`.
    rewards, residuals : ndarray, shape (R, t)
        Y and :math:`L^{-1}Y`.
    """

    gp: AggregatedGP
    points: FloatArray
    averaging: FloatArray
    factor: FloatArray
    rewards: FloatArray
    residuals: FloatArray

    def update(self, points: FloatArray, rewards: FloatArray, averaging: FloatArray | None = None) -> Posterior:
        """Return the posterior after more rewards: rows are appended to L, O(t^2) each ([1]_, Appendix B).

        Parameters are those of `AggregatedGP.fit`; ``averaging`` is over the new points alone.
        """
        n_replications, known = len(self.rewards), self.rewards.shape[1]
        rewards = np.broadcast_to(
            np.atleast_2d(np.asarray(rewards, dtype=np.float64)), (n_replications, np.shape(rewards)[-1])
        )
        points = _replicated(points, n_replications, "points")
        if averaging is None:
            averaging = np.eye(points.shape[1])
        averaging = _replicated(averaging, n_replications, "averaging")
        if averaging.shape[1:] != (rewards.shape[1], points.shape[1]):
            raise ValueError(
                f"averaging must have a row for each reward and a column for each point, ({rewards.shape[1]}, "
                f"{points.shape[1]}), got {averaging.shape[1:]}."
            )
        if known and points.shape[2] != self.points.shape[2]:
            raise ValueError(f"points must have {self.points.shape[2]} coordinates, got {points.shape[2]}.")
        taught = np.isfinite(rewards)
        if np.isinf(rewards).any():
            raise ValueError("rewards must be numbers, or NaN for an evaluation that failed; got an infinite one.")
        averaging = np.where(taught[:, :, None], averaging, 0.0)  # what failed is a reward 0 of nothing at all
        rewards = np.where(taught, rewards, 0.0)
        all_points = np.concatenate([self.points, points], axis=1)
        t, n = known + rewards.shape[1], all_points.shape[1]
        all_averaging = np.zeros((n_replications, t, n))
        all_averaging[:, :known, : self.points.shape[1]] = self.averaging
        all_averaging[:, known:, self.points.shape[1] :] = averaging
        factor, residuals = np.zeros((n_replications, t, t)), np.zeros((n_replications, t))
        factor[:, :known, :known], residuals[:, :known] = self.factor, self.residuals
        for r in range(n_replications):
            cross = averaging[r] @ self.gp.kernel.K(points[r], all_points[r]) @ all_averaging[r].T
            for i in range(rewards.shape[1]):
                row = known + i
                new = solve_triangular(factor[r, :row, :row], cross[i, :row], lower=True) if row else np.zeros(0)
                pivot = cross[i, row] + self.gp.noise_variance - new @ new
                if not pivot > 1e-12 * self.gp.noise_variance:
                    raise ValueError(
                        f"the covariance matrix is not positive definite: pivot {row} of replication {r} is "
                        f"{pivot:.3g}. Check that the kernel is a covariance function, or raise noise_variance."
                    )
                factor[r, row, :row], factor[r, row, row] = new, np.sqrt(pivot)
                residuals[r, row] = (rewards[r, i] - new @ residuals[r, :row]) / factor[r, row, row]
        all_rewards = np.concatenate([self.rewards, rewards], axis=1)
        return Posterior(self.gp, all_points, all_averaging, factor, all_rewards, residuals)

    def _whitened(self, points: FloatArray, averaging: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return L^-1 A k(X, X_*) A_*^T, shape (R, t, m), and A_* k(X_*, X_*) A_*^T, shape (R, m, m)."""
        prior = np.stack([a @ self.gp.kernel.K(x) @ a.T for x, a in zip(points, averaging, strict=True)])
        found = np.zeros((len(self.rewards), self.rewards.shape[1], averaging.shape[1]))
        for r in range(len(self.rewards)):
            if self.rewards.shape[1]:
                cross = self.averaging[r] @ self.gp.kernel.K(self.points[r], points[r]) @ averaging[r].T
                found[r] = solve_triangular(self.factor[r], cross, lower=True)
        return found, prior

    def _targets(self, points: FloatArray, averaging: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        points = _replicated(points, len(self.rewards), "points")
        if averaging is None:
            averaging = np.eye(points.shape[1])
        averaging = _replicated(averaging, len(self.rewards), "averaging")
        if averaging.shape[2] != points.shape[1]:
            raise ValueError(
                f"averaging must have {points.shape[1]} columns, one for each point, got {averaging.shape}."
            )
        return points, averaging

    def predict(self, points: FloatArray, averaging: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means and variances of averages of f, each of shape (R, m); by default at the points."""
        whitened, prior = self._whitened(*self._targets(points, averaging))
        means = np.einsum("rtm,rt->rm", whitened, self.residuals)
        return means, np.maximum(np.einsum("rmm->rm", prior) - (whitened**2).sum(axis=1), 0.0)

    def covariance(self, points: FloatArray, averaging: FloatArray | None = None) -> FloatArray:
        """Return the posterior covariances of averages of f, shape (R, m, m)."""
        whitened, prior = self._whitened(*self._targets(points, averaging))
        return np.asarray(prior - np.einsum("rtm,rtk->rmk", whitened, whitened))

    def sample(
        self, points: FloatArray, n_samples: int, streams: Streams, averaging: FloatArray | None = None
    ) -> FloatArray:
        """Return draws of averages of f, shape (R, n_samples, m), by Cholesky; the jitter is 1e-10 of the variance."""
        means, covariance = self.predict(points, averaging)[0], self.covariance(points, averaging)
        key, m = streams.key("posterior draws"), means.shape[1]
        found = np.empty((len(means), n_samples, m))
        for r, replication in enumerate(streams.replications):
            scale = float(np.trace(covariance[r])) / m
            factor = np.linalg.cholesky(covariance[r] + 1e-10 * max(scale, 1e-300) * np.eye(m))
            normals = [[standard_normal(key, replication, j, i) for j in range(m)] for i in range(n_samples)]
            found[r] = means[r] + np.array(normals) @ factor.T
        return found

    @property
    def log_marginal_likelihood(self) -> FloatArray:
        """Log density of the rewards that did not fail under the prior, shape (R,) ([2]_, Algorithm 2.1)."""
        taught = np.abs(self.averaging).sum(axis=2) > 0
        logs = np.log(np.einsum("rtt->rt", self.factor)) + 0.5 * np.log(2.0 * np.pi)
        return -np.asarray((np.where(taught, logs, 0.0) + 0.5 * self.residuals**2).sum(axis=1))


def _replicated(values: FloatArray, n_replications: int, name: str) -> FloatArray:
    """Return an array with the leading axis R, refusing what is not finite or has another number of replications."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 2:
        values = np.broadcast_to(values, (n_replications, *values.shape))
    if values.ndim != 3 or len(values) != n_replications:
        raise ValueError(f"{name} must have two axes, or three with {n_replications} replications, got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}.")
    return values

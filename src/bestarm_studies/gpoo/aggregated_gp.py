r"""Gaussian process regression from averages: rewards are :math:`Y=A f(X)+\epsilon` for any averaging matrix A.

Used alone, for many replications at once; the search over cells has its own form of the same posterior
(`bestarm.models.cell_posterior`), which the tests compare with this one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from bestarm.interface import FloatArray, IntArray
from bestarm.kernels import Kernel, quadrature
from bestarm.partition import Partition
from bestarm.streams import Streams, standard_normal

_AT_ONCE = 128  # averages that are predicted together, which bounds the covariances in memory
_DISTINGUISHABLE = 1e-11  # a conditional variance under this share of the variance has lost its digits to rounding
_JITTER = 1e-10  # share of the prior variance that is added before a draw: a posterior covariance may be singular


def average_cells(partition: Partition, cells: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the points, shape (t S, d), and the averaging matrix, shape (t, t S), of cells, shape (t,)."""
    points = partition.representatives(np.asarray(cells))
    t, s, d = points.shape
    return points.reshape(t * s, d), np.kron(np.eye(t), np.full((1, s), 1.0 / s))


@dataclass(frozen=True)
class AggregatedGP:
    """A zero-mean Gaussian process that is observed through averages.

    ``kernel``: covariance function of f: `bestarm.kernels.Stationary`, or a GPy kernel; ``noise_variance``: variance of
    the noise of a reward. Raises ValueError if the noise variance is not positive.

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

    def prior(self, n_replications: int = 1, n_dimensions: int = 1) -> "Posterior":
        """Return the posterior of no observations."""
        empty = np.zeros((n_replications, 0))
        points = np.zeros((n_replications, 0, n_dimensions))
        return Posterior(self, points, np.zeros((n_replications, 0, 0)), np.zeros((n_replications, 0, 0)), empty, empty)

    def fit(self, points: FloatArray, rewards: FloatArray, averaging: FloatArray | None = None) -> "Posterior":
        """Return the posterior given rewards of averages (Equation 4).
        ``points`` (ndarray, shape (n, d) or (R, n, d)): X; ``rewards`` (ndarray, shape (t,) or (R, t)): Y; NaN is an
        evaluation that failed and teaches nothing, in any one replication alone; ``averaging`` (ndarray, shape (t, n)
        or (R, t, n)): A; by default every reward is that of one point. Raises ValueError for shapes that do not fit,
        numbers that are not finite, or a covariance that is not positive definite."""
        rewards = np.atleast_2d(np.asarray(rewards, dtype=np.float64))
        n_dimensions = np.shape(points)[-1] if np.ndim(points) else 1
        return self.prior(len(rewards), n_dimensions).update(points, rewards, averaging)


@dataclass(frozen=True)
class Posterior:
    r"""What is known of f after some rewards, for R replications; `update` returns a new one.
    ``gp``: the prior; ``points``, ``averaging`` (ndarray, shapes (R, n, d) and (R, t, n)): x and A; the rows of rewards
    that failed are 0; ``factor`` (ndarray, shape (R, t, t)): cholesky factor L of :math:`A k(X,X) A^\top+\sigma^2I`;
    ``rewards``, ``residuals`` (ndarray, shape (R, t)): Y, NaN where it failed, and :math:`L^{-1}Y`, 0 there."""

    gp: AggregatedGP
    points: FloatArray
    averaging: FloatArray
    factor: FloatArray
    rewards: FloatArray
    residuals: FloatArray

    def update(self, points: FloatArray, rewards: FloatArray, averaging: FloatArray | None = None) -> "Posterior":
        """Return the posterior after more rewards: rows are appended to L, O(t^2) each (Appendix B).
        Parameters are those of `AggregatedGP.fit`; ``averaging`` is over the new points alone."""
        n_replications, known, n_known = len(self.rewards), self.rewards.shape[1], self.points.shape[1]
        rewards = np.atleast_2d(np.asarray(rewards, dtype=np.float64))
        rewards = _replicated(
            rewards[0] if rewards.ndim == 2 and len(rewards) == 1 else rewards, n_replications, "rewards", 2
        )
        if np.isinf(rewards).any():
            raise ValueError("rewards must be numbers, or NaN for an evaluation that failed; got an infinite one.")
        points, averaging = self._targets(points, averaging)
        if averaging.shape[1:] != (rewards.shape[1], points.shape[1]):
            raise ValueError(
                f"averaging must have a row for each reward and a column for each point, ({rewards.shape[1]}, "
                f"{points.shape[1]}), got {averaging.shape[1:]}."
            )
        averaging = np.where(np.isnan(rewards)[:, :, None], 0.0, averaging)  # what failed is a reward 0 of nothing
        t, n = known + rewards.shape[1], n_known + points.shape[1]
        all_averaging = np.zeros((n_replications, t, n))
        all_averaging[:, :known, :n_known], all_averaging[:, known:, n_known:] = self.averaging, averaging
        factor, residuals = np.zeros((n_replications, t, t)), np.zeros((n_replications, t))
        factor[:, :known, :known], residuals[:, :known] = self.factor, self.residuals
        for r in range(n_replications):
            own = averaging[r] @ _covariances(self.gp.kernel, points[r]) @ averaging[r].T
            covariances = np.hstack([self._cross(r, points[r], averaging[r]).T, own])
            for i, reward in enumerate(np.where(np.isnan(rewards[r]), 0.0, rewards[r])):
                row = known + i
                l21, diagonal = _new_row(factor[r, :row, :row], covariances[i], self.gp.noise_variance, r)
                factor[r, row, :row], factor[r, row, row] = l21, diagonal
                residuals[r, row] = (reward - l21 @ residuals[r, :row]) / diagonal
        all_points = np.concatenate([self.points, points], axis=1)
        all_rewards = np.concatenate([self.rewards, rewards], axis=1)
        return Posterior(self.gp, all_points, all_averaging, factor, all_rewards, residuals)

    def _targets(self, points: FloatArray, averaging: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return points and averaging with the leading axis R, refusing what does not fit."""
        n_replications = len(self.rewards)
        points = _finite(_replicated(points, n_replications, "points", 3), "points")
        if points.shape[2] != self.points.shape[2]:
            raise ValueError(f"points must have {self.points.shape[2]} coordinates, got {points.shape[2]}.")
        averaging = np.eye(points.shape[1]) if averaging is None else averaging
        averaging = _finite(_replicated(averaging, n_replications, "averaging", 3), "averaging")
        if averaging.shape[2] != points.shape[1]:
            raise ValueError(
                f"averaging must have {points.shape[1]} columns, one for each point, got {averaging.shape[1:]}."
            )
        return points, averaging

    def _cross(self, r: int, points: FloatArray, averaging: FloatArray) -> FloatArray:
        """Return A k(X, X_*) A_*^T of one replication, shape (t, m)."""
        if not self.rewards.shape[1]:
            return np.zeros((0, len(averaging)))
        return np.asarray(self.averaging[r] @ _covariances(self.gp.kernel, self.points[r], points) @ averaging.T)

    def _whitened(self, r: int, points: FloatArray, averaging: FloatArray) -> FloatArray:
        """Return L^-1 A k(X, X_*) A_*^T of one replication, shape (t, m)."""
        cross = self._cross(r, points, averaging)
        return np.asarray(solve_triangular(self.factor[r], cross, lower=True)) if len(cross) else cross

    def predict(self, points: FloatArray, averaging: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means and variances of averages of f, each of shape (R, m); by default at the points.
        A variance that rounding has made negative is 0."""
        points, averaging = self._targets(points, averaging)
        n_replications, m = averaging.shape[:2]
        means, variances = np.empty((n_replications, m)), np.empty((n_replications, m))
        for r in range(n_replications):
            for begin in range(0, m, _AT_ONCE):
                rows = slice(begin, begin + _AT_ONCE)
                used = np.flatnonzero(averaging[r, rows].any(axis=0))
                x, a = points[r, used], averaging[r, rows][:, used]
                whitened = self._whitened(r, x, a)
                prior = ((a @ _covariances(self.gp.kernel, x)) * a).sum(axis=1)
                means[r, rows] = self.residuals[r] @ whitened
                variances[r, rows] = np.maximum(prior - (whitened**2).sum(axis=0), 0.0)
        return means, variances

    def covariance(self, points: FloatArray, averaging: FloatArray | None = None) -> FloatArray:
        """Return the posterior covariances of averages of f, shape (R, m, m)."""
        return self._covariance(*self._targets(points, averaging))[0]

    def _covariance(self, points: FloatArray, averaging: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the posterior covariances, shape (R, m, m), and the prior variances, shape (R, m)."""
        n_replications, m = averaging.shape[:2]
        found, prior = np.empty((n_replications, m, m)), np.empty((n_replications, m))
        for r in range(n_replications):
            before = averaging[r] @ _covariances(self.gp.kernel, points[r]) @ averaging[r].T
            whitened = self._whitened(r, points[r], averaging[r])
            found[r], prior[r] = before - whitened.T @ whitened, np.diag(before)
        return found, prior

    def sample(self, points: FloatArray, n_samples: int, streams: Streams) -> FloatArray:
        """Return draws of f at m points, shape (R, n_samples, m), by Cholesky; jitter: 1e-10 of the prior variance.
        The first draws do not depend on how many there are, nor do their first entries on the points that follow."""
        if len(streams.replications) != len(self.rewards):
            raise ValueError(f"streams must have {len(self.rewards)} replications, got {len(streams.replications)}.")
        means = self.predict(points)[0]
        covariance, prior = self._covariance(*self._targets(points, None))
        key, m = streams.key("posterior draws"), means.shape[1]
        found = np.empty((len(means), n_samples, m))
        for r, replication in enumerate(streams.replications):
            factor = np.linalg.cholesky(covariance[r] + np.diag(_JITTER * prior[r]))
            normals = [[standard_normal(key, replication, j, i) for j in range(m)] for i in range(n_samples)]
            found[r] = means[r] + np.reshape(normals, (n_samples, m)) @ factor.T
        return found


def _new_row(factor: FloatArray, covariances: FloatArray, noise_variance: float, r: int) -> tuple[FloatArray, float]:
    """Return the row that a new reward appends to L: l_21 by forward substitution, and l_22 (Appendix B)."""
    t = len(factor)
    l21 = np.asarray(solve_triangular(factor, covariances[:t], lower=True)) if t else np.zeros(0)
    variance = covariances[t] + noise_variance
    pivot = float(variance - l21 @ l21)
    if not pivot > _DISTINGUISHABLE * variance:
        raise ValueError(
            f"the covariance matrix is not positive definite: pivot {t} of replication {r} is {pivot:.3g}, its "
            f"variance {variance:.3g}. If rewards repeat others, or nearly, raise noise_variance (now "
            f"{noise_variance:.3g}); otherwise check that the kernel is a covariance function."
        )
    return l21, float(np.sqrt(pivot))


def _covariances(kernel: Kernel, x: FloatArray, y: FloatArray | None = None) -> FloatArray:
    """Return the covariances of points of shapes (n, d) and (m, d), or of one set; they must be finite."""
    found = np.asarray(kernel.K(x, y))
    if found.shape != (len(x), len(x if y is None else y)) or not np.isfinite(found).all():
        raise ValueError(
            f"the kernel must give a finite covariance for each pair of points, shape "
            f"{(len(x), len(x if y is None else y))}; got shape {found.shape}, finite: {np.isfinite(found).all()}."
        )
    return found


def _replicated(values: FloatArray, n_replications: int, name: str, n_axes: int) -> FloatArray:
    """Return an array with the leading axis R, refusing one of another number of axes or of replications."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == n_axes - 1:
        values = np.broadcast_to(values, (n_replications, *values.shape))
    if values.ndim != n_axes or len(values) != n_replications:
        axes = "one axis, or two" if n_axes == 2 else "two axes, or three"
        raise ValueError(f"{name} must have {axes} with {n_replications} replications, got {values.shape}.")
    return values


def _finite(values: FloatArray, name: str) -> FloatArray:
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}.")
    return values


def observed_averages(partition: Partition, cells: IntArray, lengthscale: float) -> tuple[FloatArray, FloatArray]:
    """Return the points, shape (n, d), and the matrix A, shape (t, n), of the rewards of cells, shape (t,).
    Averages over whole cells have the nodes and the weights of a quadrature that is exact to rounding for functions
    that vary on the scale of ``lengthscale``; a row of A for an integral sums to the cell's volume."""
    cells = np.asarray(cells)
    if partition.feedback == "representatives":
        return average_cells(partition, cells)
    lower, upper = partition.bounds(cells)
    rules = [quadrature(low, high, lengthscale) for low, high in zip(lower, upper, strict=True)]
    volumes = (upper - lower).prod(axis=1) if partition.feedback == "integral" else np.ones(len(cells))
    rows = [volume * weights for volume, (_, weights) in zip(volumes, rules, strict=True)]
    return np.concatenate([nodes for nodes, _ in rules]), block_diag(*rows)

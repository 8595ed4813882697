r"""Gaussian process regression on finitely many candidates, for many replications at once, one rank at a time.

The posterior covariance does not depend on rewards, so a point can be *conditioned* on before its reward is known
(hallucinated): means stay, variances shrink. Its reward, once known, moves the means only.

References
----------
.. [1] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Algorithm 2.1.
.. [2] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Section 2.1.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numba import njit

from bestarm.designs.k_dpp import subtract_products
from bestarm.interface import Arms, FloatArray, IntArray
from bestarm.settings import is_number
from bestarm.vector_functions import exponentials

LARGEST_REWARD = 1e150  # its square, and the sum of as many squares as there is room for, are finite


@njit(cache=True)
def prior_column(
    points: FloatArray, point: FloatArray, lengthscales: FloatArray, signal: float, constant: float, found: FloatArray
) -> None:
    """Write the prior covariance of one point, shape (d,), with points, shape (d, n)."""
    found[:] = 0.0
    for c in range(len(lengthscales)):
        centre, weight = point[c], -0.5 / lengthscales[c] ** 2
        for i in range(len(found)):
            found[i] += weight * (points[c, i] - centre) ** 2
    exponentials(found)
    for i in range(len(found)):
        found[i] = constant + signal * found[i]


@njit(cache=True)
def condition_row(
    points: FloatArray,
    lengthscales: FloatArray,
    signal: float,
    constant: float,
    noise: float,
    rows: FloatArray,
    variances: FloatArray,
    pivots: FloatArray,
    n_rows: int,
    arm: int,
) -> None:
    """Append the row of one arm in place, O(n_rows n_arms): its scaled posterior covariances with all arms."""
    row = rows[n_rows]
    prior_column(points, points[:, arm].copy(), lengthscales, signal, constant, row)
    # [1]_, Algorithm 2.1, one row of it: L^-1 k = (k - what earlier rows explain) / pivot
    subtract_products(rows[:n_rows, arm].copy(), rows[:n_rows], row)
    pivot = np.sqrt(max(variances[arm], 0.0) + noise)
    pivots[n_rows] = pivot
    for i in range(len(row)):
        row[i] /= pivot
        variances[i] = max(variances[i] - row[i] * row[i], 0.0)


@njit(cache=True)
def learn_row(
    rows: FloatArray, reward_means: FloatArray, one_means: FloatArray, pivot: float, row: int, arm: int, reward: float
) -> None:
    """Move the means, in place, by the reward of a row that was conditioned on; those before it are known."""
    gain = (reward - reward_means[arm]) / pivot
    one_gain = (1.0 - one_means[arm]) / pivot
    for i in range(rows.shape[1]):
        reward_means[i] += gain * rows[row, i]
        one_means[i] += one_gain * rows[row, i]


@njit(cache=True)
def _condition_all(
    points: FloatArray,
    point_set: IntArray,
    lengthscales: FloatArray,
    signal: FloatArray,
    constant: float,
    noise: FloatArray,
    rows: FloatArray,
    variances: FloatArray,
    pivots: FloatArray,
    n_rows: IntArray,
    conditioned: IntArray,
    arms: IntArray,
    counts: IntArray,
) -> None:
    """Condition every replication on the arms asked of it, before their rewards are known."""
    for r in range(len(arms)):
        for j in range(arms.shape[1]):
            if counts[r, j] > 0:
                condition_row(
                    points[point_set[r]],
                    lengthscales[r],
                    signal[r],
                    constant,
                    noise[r],
                    rows[r],
                    variances[r],
                    pivots[r],
                    n_rows[r],
                    arms[r, j],
                )
                conditioned[r, n_rows[r]] = arms[r, j]
                n_rows[r] += 1


@njit(cache=True)
def _learn_all(
    points: FloatArray, point_set: IntArray, lengthscales: FloatArray, signal: FloatArray, constant: float,
    noise: FloatArray, rows: FloatArray, variances: FloatArray, pivots: FloatArray, n_rows: IntArray,
    conditioned: IntArray, rewards: FloatArray, n_known: IntArray, reward_means: FloatArray, one_means: FloatArray,
    arms: IntArray, counts: IntArray, found: FloatArray,
) -> None:  # fmt: skip
    """Learn rewards in place; rows that hallucinated other arms, or arms that failed, are rebuilt."""
    for r in range(len(arms)):
        for j in range(arms.shape[1]):
            if counts[r, j] == 0 or np.isnan(found[r, j]):
                continue
            n, arm = n_known[r], arms[r, j]
            # the next row is missing, or was hallucinated for another arm
            if n_rows[r] <= n or conditioned[r, n] != arm:
                if n_rows[r] > n:
                    forget(signal[r] + constant, rows[r], variances[r], n)
                condition_row(
                    points[point_set[r]],
                    lengthscales[r],
                    signal[r],
                    constant,
                    noise[r],
                    rows[r],
                    variances[r],
                    pivots[r],
                    n,
                    arm,
                )
                conditioned[r, n], n_rows[r] = arm, n + 1
            # the mean of the evaluations moves the means
            rewards[r, n] = found[r, j] / counts[r, j]
            learn_row(rows[r], reward_means[r], one_means[r], pivots[r, n], n, arm, rewards[r, n])
            n_known[r] += 1
        if n_rows[r] > n_known[r]:  # what failed is not known
            forget(signal[r] + constant, rows[r], variances[r], n_known[r])
            n_rows[r] = n_known[r]


@njit(cache=True)
def forget(prior: float, rows: FloatArray, variances: FloatArray, kept: int) -> None:
    """Set the variances to those of the first rows alone."""
    variances[:] = prior
    for s in range(kept):
        for i in range(len(variances)):
            variances[i] -= rows[s, i] ** 2
    for i in range(len(variances)):
        variances[i] = max(variances[i], 0.0)


@njit(cache=True)
def rebuild(
    points: FloatArray,
    lengthscales: FloatArray,
    signal: float,
    constant: float,
    noise: float,
    rows: FloatArray,
    variances: FloatArray,
    pivots: FloatArray,
    reward_means: FloatArray,
    one_means: FloatArray,
    arms: IntArray,
    rewards: FloatArray,
) -> None:
    """Rebuild the posterior of one replication in place, after its hyper-parameters changed: O(n^2 n_arms)."""
    n, n_arms = len(arms), points.shape[1]
    block = 32
    variances[:] = signal + constant
    reward_means[:] = 0.0
    one_means[:] = 0.0
    for first in range(0, n, block):  # [1]_, Algorithm 2.1, in blocks of rows of L^-1 K
        last = min(first + block, n)
        cross = np.empty((last - first, n_arms))
        for t in range(first, last):
            prior_column(points, points[:, arms[t]].copy(), lengthscales, signal, constant, cross[t - first])
        if first > 0:  # less what the rows of earlier blocks explain, as one product of matrices
            own = np.empty((last - first, first))
            for t in range(first, last):
                for s in range(first):
                    own[t - first, s] = rows[s, arms[t]]
            cross -= np.dot(own, rows[:first])
        for t in range(first, last):
            # less what the rows of this block explain, row by row
            row, arm = cross[t - first], arms[t]
            subtract_products(rows[first:t, arm].copy(), rows[first:t], row)
            pivots[t] = np.sqrt(max(row[arm], 0.0) + noise)
            share = 1.0 / pivots[t]
            for i in range(n_arms):
                rows[t, i] = row[i] * share
                variances[i] -= rows[t, i] ** 2
            learn_row(rows, reward_means, one_means, pivots[t], t, arm, rewards[t])
    for i in range(n_arms):
        variances[i] = max(variances[i], 0.0)


def as_lengthscales(value: Any, n_features: int) -> FloatArray:
    """Return one length-scale or one for each feature, refusing what is no positive number."""
    try:
        scales = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        scales = np.empty(0)
    if scales.shape not in ((1,), (n_features,)) or not ((scales > 0) & np.isfinite(scales)).all():
        raise ValueError(f"lengthscale must be one positive number, or {n_features} (one a feature), got {value!r}.")
    return scales


@dataclass
class FiniteGP:
    r"""What R replications know of a function on finitely many candidates, :math:`f\sim GP(m, k)`.

    The kernel is :math:`k(x,y)=c+\gamma^2\exp(-\frac12\sum_d(x_d-y_d)^2/\ell_d^2)`; the constant c stands for an
    unknown mean with that prior variance. Rewards are stored as they come; the model is of (reward - offset) / scale.
    """

    points: FloatArray = field(metadata={"shared": True})  # one set of candidates, or one for each, (n_sets, d, n_arms)
    point_set: IntArray  # which set each replication has, (R,)
    lengthscales: FloatArray  # l_d, (R, d)
    signal: FloatArray  # gamma^2, in squared units of the scaled reward, (R,)
    noise: FloatArray  # its variance, in the same units, (R,)
    offset: FloatArray  # modelled is (reward - offset) / scale, (R,)
    scale: FloatArray
    conditioned: IntArray  # arms of the first ``n_rows`` rows, of which ``n_known`` have rewards, (R, room)
    rewards: FloatArray  # their rewards, (R, room)
    n_rows: IntArray
    n_known: IntArray
    rows: FloatArray  # V; the posterior covariance is k - V'V, (R, room, n_arms)
    pivots: FloatArray  # standard deviation of each reward before it was known, (R, room)
    variances: FloatArray  # posterior variances given all rows, (R, n_arms)
    reward_means: FloatArray  # posterior means if rewards were modelled as they are, (R, n_arms)
    one_means: FloatArray  # the same if all were 1, (R, n_arms)
    constant: float  # c

    @classmethod
    def start(
        cls,
        arms: Arms,
        n_replications: int,
        room: int,
        *,
        lengthscale: float | tuple[float, ...] = 1.0,
        signal: float = 1.0,
        noise: float = 0.01,
        constant: float = 0.0,
        offset: float = 0.0,
        scale: float = 1.0,
        **others: object,
    ) -> Self:
        """Return the prior on some arms, with room for so many rewards and hallucinated rows a replication.

        Raises ValueError for a hyper-parameter that is not positive, an offset that is not finite, or a number of
        length-scales that is not that of the features."""
        for name, value in (("signal", signal), ("noise", noise), ("scale", scale)):
            if not (is_number(value) and 0 < value < np.inf):
                raise ValueError(f"{name} must be positive and finite, got {value!r}.")
        if not (is_number(constant) and 0 <= constant < np.inf):
            raise ValueError(f"constant must be at least 0 and finite, got {constant!r}; 0 is a mean known to be zero.")
        if not (is_number(offset) and np.isfinite(offset)):
            raise ValueError(f"offset must be finite, got {offset!r}; 0 models rewards as they are.")
        scales = as_lengthscales(lengthscale, arms.n_features)
        features, point_set = arms.feature_sets(n_replications)
        n, n_arms = n_replications, arms.n_arms
        return cls(
            points=np.ascontiguousarray(features.transpose(0, 2, 1)),
            point_set=point_set,
            lengthscales=np.tile(np.broadcast_to(scales, arms.n_features), (n, 1)),
            signal=np.full(n, float(signal)),
            noise=np.full(n, float(noise)),
            offset=np.full(n, float(offset)),
            scale=np.full(n, float(scale)),
            conditioned=np.zeros((n, room), dtype=np.int64),
            rewards=np.zeros((n, room)),
            n_rows=np.zeros(n, dtype=np.int64),
            n_known=np.zeros(n, dtype=np.int64),
            rows=np.empty((n, room, n_arms)),
            pivots=np.empty((n, room)),
            variances=np.full((n, n_arms), float(signal) + constant),
            reward_means=np.zeros((n, n_arms)),
            one_means=np.zeros((n, n_arms)),
            constant=float(constant),
            **others,
        )

    @property
    def means(self) -> FloatArray:
        """Posterior means in units of the scaled reward, shape (R, n_arms)."""
        return (self.reward_means - self.offset[:, None] * self.one_means) / self.scale[:, None]

    def predict(self) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means and variances of f in units of the reward, each of shape (R, n_arms)."""
        means = self.offset[:, None] + self.scale[:, None] * self.means
        return means, self.variances * self.scale[:, None] ** 2

    def condition(self, arms: IntArray, counts: IntArray | None = None) -> None:
        """Condition on arms, shape (R, b), before their rewards are known; variances shrink, means stay.

        Raises ValueError if there is no room left, or an arm does not exist."""
        counts = np.ones_like(arms) if counts is None else counts
        self._check_asked(arms, counts)
        if (self.n_rows + (counts > 0).sum(axis=1)).max() > self.rewards.shape[1]:
            raise ValueError(f"there is room for {self.rewards.shape[1]} rewards; start with more room.")
        _condition_all(
            self.points,
            self.point_set,
            self.lengthscales,
            self.signal,
            self.constant,
            self.noise,
            self.rows,
            self.variances,
            self.pivots,
            self.n_rows,
            self.conditioned,
            arms,
            counts,
        )

    def learn(self, arms: IntArray, totals: FloatArray, counts: IntArray | None = None) -> None:
        """Learn sums of rewards, shape (R, b); a sum of several pulls counts as one reward, their mean.

        NaN is an evaluation that failed: it teaches nothing, and what was hallucinated of it is forgotten. Arms that
        were conditioned on in this order cost O(n_arms) each, others O(n n_arms). Raises ValueError if there is no room
        left, an arm does not exist, shapes differ, a reward is infinite or above 1e150 in size: nothing is learned."""
        counts = np.ones_like(arms) if counts is None else counts
        self._check_asked(arms, counts)
        if np.shape(totals) != arms.shape:
            raise ValueError(
                f"totals must have the shape of the arms, {arms.shape}, got {np.shape(totals)}; give one sum an arm."
            )
        totals = np.asarray(totals, dtype=np.float64)
        known = (counts > 0) & ~np.isnan(totals)
        largest = np.abs(totals).max(initial=0.0, where=known)
        if largest == np.inf:
            raise ValueError("rewards must be numbers, or NaN for an evaluation that failed; got an infinite one.")
        if largest > LARGEST_REWARD:
            raise ValueError(
                f"rewards must be at most {LARGEST_REWARD:g} in size, got {largest:.3g}; rescale them, or tell NaN."
            )
        if (self.n_known + known.sum(axis=1)).max() > self.rewards.shape[1]:
            raise ValueError(f"there is room for {self.rewards.shape[1]} rewards; start with more room.")
        _learn_all(
            self.points, self.point_set, self.lengthscales, self.signal, self.constant, self.noise, self.rows,
            self.variances, self.pivots, self.n_rows, self.conditioned, self.rewards, self.n_known, self.reward_means,
            self.one_means, arms, counts, totals,
        )  # fmt: skip

    def _check_asked(self, arms: IntArray, counts: IntArray) -> None:
        """Refuse arms and counts that would be read or written outside of the arrays; padding may name any arm."""
        n, n_arms = self.variances.shape
        if arms.ndim != 2 or len(arms) != n or counts.shape != arms.shape:
            raise ValueError(
                f"arms and counts must have shape ({n}, b), got {arms.shape} and {counts.shape}; tell what was asked."
            )
        if arms.dtype.kind not in "iu":
            raise ValueError(f"arms must be whole numbers, got an array of {arms.dtype}; tell what was asked.")
        if counts.min(initial=0) < 0:
            raise ValueError(f"counts must be at least 0, got {counts.min()}; tell what was asked.")
        if arms.min(initial=0) < 0 or arms.max(initial=0) >= n_arms:
            wrong = arms[(counts > 0) & ((arms < 0) | (arms >= n_arms))]
            if len(wrong):
                raise ValueError(f"arm {wrong[0]} does not exist: arms are 0, ..., {n_arms - 1}; tell what was asked.")

    def renew(self, rows: IntArray) -> None:
        """Rebuild the posterior of some replications, after their hyper-parameters changed."""
        for r in rows:
            n = int(self.n_known[r])
            rebuild(
                self.points[self.point_set[r]],
                self.lengthscales[r],
                self.signal[r],
                self.constant,
                self.noise[r],
                self.rows[r],
                self.variances[r],
                self.pivots[r],
                self.reward_means[r],
                self.one_means[r],
                self.conditioned[r, :n],
                self.rewards[r, :n],
            )
            self.n_rows[r] = n

    def covariance(self, replication: int, region: IntArray) -> FloatArray:
        """Return the posterior covariance of the scaled f on a region of one replication, shape (n, n)."""
        r, n = replication, int(self.n_rows[replication])
        points = self.points[self.point_set[r]][:, region]
        found = np.empty((len(region), len(region)))
        for i in range(len(region)):
            prior_column(points, points[:, i].copy(), self.lengthscales[r], self.signal[r], self.constant, found[i])
        whitened = self.rows[r, :n][:, region]
        return np.asarray(found - whitened.T @ whitened)

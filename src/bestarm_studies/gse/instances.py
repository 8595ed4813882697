"""Instances of the GSE paper: linear ones, two fixed and two drawn anew for each replication, and logistic ones.

Sections and appendices are the paper's: Sections 8 and 8.4, Appendix E.3; the corner case is that of Yang and Tan,
"Minimax Optimal Fixed-Budget Best Arm Identification in Linear Bandits", NeurIPS 2022, Section 5.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numba import njit
from scipy.special import expit

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams, standard_normal, uniform

Draw = Literal["sphere", "cube", "corner"]
_LEAKED_DIMENSION = 4
_CORNER_SPREAD = 0.09


def check_sizes(n_arms: int, n_features: int, variance: float) -> None:
    """Refuse fewer than two arms, no feature, or a variance that is not positive."""
    if n_arms != int(n_arms) or n_arms < 2:
        raise ValueError(f"n_arms must be a whole number of at least 2, got {n_arms}: one arm needs no search.")
    if n_features != int(n_features) or n_features < 1:
        raise ValueError(f"n_features must be a whole number of at least 1, got {n_features}.")
    if not 0 < variance < np.inf:
        raise ValueError(f"variance must be positive and finite, got {variance}; it is that of one reward.")


def static_instance(gap: float, n_arms: int = 16, variance: float = 10.0) -> LinearBandit:
    r"""Return the canonical basis with :math:`\theta=(\Delta,0,\dots,0)` (Section 8.2): no structure at all.
    The gap is in units of reward. The paper states no variance of a reward here; its code has 10."""
    check_sizes(n_arms, n_arms, variance)
    if not 0 < gap < np.inf:
        raise ValueError(f"gap must be positive and finite, got {gap}: with 0 every arm is best.")
    theta = np.zeros(n_arms)
    theta[0] = gap
    return LinearBandit(f"static K={n_arms} gap={gap:g} variance={variance:g}", np.eye(n_arms), theta, variance**0.5)


def adaptive_instance(n_arms: int, omega: float = 0.1, variance: float = 10.0) -> LinearBandit:
    r"""Return the canonical basis and :math:`(\cos\omega,\sin\omega,0,\dots)`, :math:`\theta=e_1` (Section 8.1).
    K is at least 3, and there are K - 1 features. The last arm is hard to tell from the first, except by arm 2."""
    check_sizes(n_arms, n_arms - 1, variance)
    if n_arms < 3:
        raise ValueError(f"n_arms must be at least 3, got {n_arms}: a basis of two and the disturbing arm.")
    if not 0 < omega < np.pi / 2:
        raise ValueError(f"omega must lie in (0, pi/2), got {omega}.")
    features = np.vstack([np.eye(n_arms - 1), np.zeros(n_arms - 1)])
    features[-1, :2] = np.cos(omega), np.sin(omega)
    label = f"adaptive K={n_arms} omega={omega:g} variance={variance:g}"
    return LinearBandit(label, features, np.eye(n_arms - 1)[0].copy(), variance**0.5)


@njit(cache=True)
def _directions(key: np.uint64, replications: IntArray, n_arms: int, d: int, in_cube: bool) -> FloatArray:
    """Return unit vectors, shape (R, K, d): uniform on the sphere, or uniform in a cube and then normalised."""
    x = np.empty((len(replications), n_arms, d))
    for r in range(len(replications)):
        for a in range(n_arms):
            square = 0.0
            for k in range(d):
                if in_cube:
                    x[r, a, k] = 2.0 * uniform(key, replications[r], a, k) - 1.0
                else:
                    x[r, a, k] = standard_normal(key, replications[r], a, k)
                square += x[r, a, k] ** 2
            x[r, a] /= np.sqrt(square)
    return x


@njit(cache=True)
def _near_closest_pair(x: FloatArray, key: np.uint64, replications: IntArray) -> FloatArray:
    """Return theta = x_i + 0.01 (x_j - x_i), (i, j) the closest pair of each row, in random order."""
    n_rows, n_arms, d = x.shape
    theta = np.empty((n_rows, d))
    for r in range(n_rows):
        least, first, second = np.inf, 0, 1
        for i in range(n_arms):
            for j in range(i):
                square = np.sum((x[r, i] - x[r, j]) ** 2)
                if square < least:
                    least, first, second = square, j, i
        if uniform(key, replications[r], n_arms, 0) < 0.5:
            first, second = second, first
        theta[r] = x[r, first] + 0.01 * (x[r, second] - x[r, first])
    return theta


@njit(cache=True)
def _corner(key: np.uint64, replications: IntArray, n_arms: int, spread: float) -> FloatArray:
    """Return e_1, n_arms - 2 arms near the angle pi/4, and one at 3 pi/4."""
    x = np.empty((len(replications), n_arms, 2))
    for r in range(len(replications)):
        for a in range(n_arms):
            if a == 0:
                angle = 0.0
            elif a == n_arms - 1:
                angle = 0.75 * np.pi
            else:
                angle = 0.25 * np.pi + spread * standard_normal(key, replications[r], a, 0)
            x[r, a, 0], x[r, a, 1] = np.cos(angle), np.sin(angle)
    return x


@dataclass(frozen=True)
class LinearInstances:
    """Linear bandits of one law, a new one for each replication; `take` draws those of some replications.
    ``draw`` says how arms are drawn; with ``leaks`` the policies of the authors' code overwrite the dimension."""

    label: str
    n_arms: int
    n_features: int
    sigma: float
    draw: Draw
    seed: int = 0
    leaks: bool = False

    def as_coded(self) -> "LinearInstances":
        """Return the law of the authors' code: a cube for the sphere; with ``leaks``, four features.
        Its projection overwrites the dimension that the generator uses, with 4, in all replications but the first."""
        draw: Draw = "cube" if self.draw == "sphere" else self.draw
        d = _LEAKED_DIMENSION if self.leaks and self.draw != "corner" else self.n_features
        return replace(self, draw=draw, n_features=d)

    @property
    def arms(self) -> Arms:
        """Refuse: which arms there are depends on the replication."""
        raise ValueError(f"{self.label}: arms differ by replication; call problem.take(streams.replications) first.")

    def take(self, replications: IntArray) -> LinearBandit:
        """Return the instances of some replications, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        key, rows = streams.key("features"), streams.replications
        if self.draw == "corner":
            features = _corner(key, rows, self.n_arms, _CORNER_SPREAD)
            theta = np.tile([1.0, 0.0], (len(rows), 1))
        else:
            features = _directions(key, rows, self.n_arms, self.n_features, self.draw == "cube")
            theta = _near_closest_pair(features, streams.key("theta"), rows)
        return LinearBandit(self.label, features, theta, self.sigma)


def sphere_instance(
    n_arms: int, n_features: int = 10, variance: float = 10.0, seed: int = 0, leaks: bool = False
) -> LinearInstances:
    r"""Return random unit arms, :math:`\theta=x_i+0.01(x_j-x_i)` for the closest pair (Section 8.3).
    The variance of a reward is 10 in Figure 3 by the code, 1 in Figure 6."""
    check_sizes(n_arms, n_features, variance)
    label = f"sphere K={n_arms} d={n_features} variance={variance:g}"
    return LinearInstances(label, n_arms, n_features, variance**0.5, "sphere", seed, leaks)


def corner_instance(n_arms: int, variance: float = 1.0, seed: int = 0) -> LinearInstances:
    r"""Return the corner case of Yang and Tan in the plane (Appendix E.3).
    The best arm is :math:`e_1=\theta`; one lies at the angle :math:`3\pi/4`, the others at :math:`\pi/4+\varphi` with
    :math:`\varphi\sim N(0,0.09^2)`. Most pulls of a uniform allocation go where they tell least."""
    check_sizes(n_arms, 2, variance)
    if n_arms < 3:
        raise ValueError(f"n_arms must be at least 3, got {n_arms}: the best arm, one near pi/4 and one at 3 pi/4.")
    return LinearInstances(f"corner K={n_arms} variance={variance:g}", n_arms, 2, variance**0.5, "corner", seed)


@njit(cache=True)
def _successes(
    key: np.uint64, replications: IntArray, arms: IntArray, counts: IntArray, pulled: IntArray, means: FloatArray
) -> FloatArray:
    totals = np.zeros(arms.shape)
    for r in range(arms.shape[0]):
        row = r if means.shape[0] > 1 else 0
        for j in range(arms.shape[1]):
            a = arms[r, j]
            for _ in range(counts[r, j]):
                totals[r, j] += uniform(key, replications[r], a, pulled[r, a]) < means[row, a]
                pulled[r, a] += 1
    return totals


@dataclass(frozen=True)
class LogisticBandit:
    """Arms whose rewards are Bernoulli with a logistic mean; the label keys the noise.
    Features have shape (n_arms, n_features), or (R, n_arms, n_features) with ``theta`` of shape (R, n_features)."""

    label: str
    features: FloatArray
    theta: FloatArray

    def __post_init__(self) -> None:
        if self.features.shape[-1] != self.theta.shape[-1]:
            raise ValueError(
                f"theta must have one entry per feature: features have shape {self.features.shape}, "
                f"theta {self.theta.shape}."
            )

    @property
    def arms(self) -> Arms:
        """The arms with their features."""
        return Arms(self.features)

    @cached_property
    def means(self) -> FloatArray:
        """Probabilities of a reward of 1, shape (1, n_arms) or (R, n_arms)."""
        return np.asarray(expit(np.atleast_2d(np.einsum("...kn,...n->...k", self.features, self.theta))))

    def rewards(self, asked: Ask, pulled: IntArray, streams: Streams) -> FloatArray:
        """Draw the numbers of successes; pull number n of an arm is the same reward whoever asks for it."""
        return _successes(streams.key("noise"), streams.replications, asked.arms, asked.counts, pulled, self.means)

    def take(self, rows: IntArray) -> Self:
        """Return the problem for a subset of the replications."""
        features = self.features[rows] if self.features.ndim == 3 else self.features
        theta = self.theta[rows] if self.theta.ndim == 2 else self.theta
        return replace(self, features=features, theta=theta)


@njit(cache=True)
def _cube(key: np.uint64, replications: IntArray, n_arms: int, d: int) -> FloatArray:
    """Return arms uniform in [-1/2, 1/2]^d, shape (R, K, d)."""
    x = np.empty((len(replications), n_arms, d))
    for r in range(len(replications)):
        for a in range(n_arms):
            for k in range(d):
                x[r, a, k] = uniform(key, replications[r], a, k) - 0.5
    return x


@njit(cache=True)
def _normal(key: np.uint64, replications: IntArray, d: int, scale: float) -> FloatArray:
    theta = np.empty((len(replications), d))
    for r in range(len(replications)):
        for k in range(d):
            theta[r, k] = scale * standard_normal(key, replications[r], 0, k)
    return theta


@dataclass(frozen=True)
class LogisticInstances:
    r"""Random logistic bandits (Section 8.4), a new one for each replication; `take` draws them.
    ``coded_scale`` is a *deviation*: the entries of :math:`\theta` have the standard deviation 3/d instead of the
    variance 3/d. ``leaks``: in the authors' code, the policies that run on these instances overwrite the dimension."""

    label: str
    n_arms: int
    n_features: int
    seed: int = 0
    coded_scale: bool = False
    leaks: bool = False

    def as_coded(self) -> "LogisticInstances":
        r"""Return the law of the authors' code: another scale of :math:`\theta`; with ``leaks``, four features."""
        d = _LEAKED_DIMENSION if self.leaks else self.n_features
        return replace(self, coded_scale=True, n_features=d)

    @property
    def arms(self) -> Arms:
        """Refuse: which arms there are depends on the replication."""
        raise ValueError(f"{self.label}: arms differ by replication; call problem.take(streams.replications) first.")

    def take(self, replications: IntArray) -> LogisticBandit:
        """Return the instances of some replications, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        d, rows = self.n_features, streams.replications
        scale = 3.0 / d if self.coded_scale else np.sqrt(3.0 / d)
        features = _cube(streams.key("features"), rows, self.n_arms, d)
        return LogisticBandit(self.label, features, _normal(streams.key("theta"), rows, d, scale))


def logistic_instance(
    n_features: int, n_arms: int = 8, seed: int = 0, coded_scale: bool = False, leaks: bool = False
) -> LogisticInstances:
    r"""Return arms uniform in :math:`[-1/2,1/2]^d` and :math:`\theta\sim N(0,\frac3dI_d)` (Section 8.4)."""
    check_sizes(n_arms, n_features, 1.0)
    label = f"logistic K={n_arms} d={n_features}{' published scale' * coded_scale}"
    return LogisticInstances(label, n_arms, n_features, seed, coded_scale, leaks)

"""Logistic bandits, the random ones of the GSE paper (Section 8.4), and those of its authors' code."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numba import njit
from scipy.special import expit

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.streams import Streams, standard_normal, uniform
from bestarm_studies.gse.instances import check_sizes


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


_LEAKED_DIMENSION = 4


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

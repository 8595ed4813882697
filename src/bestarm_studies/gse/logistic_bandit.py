r"""Logistic bandits: rewards 0 or 1 with :math:`P(1)=1/(1+e^{-x^\top\theta})`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numba import njit
from scipy.special import expit

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.streams import Streams, uniform


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
    """Arms whose rewards are Bernoulli with a logistic mean.

    Parameters
    ----------
    label : str
        Name of the instance; it keys the noise.
    features : ndarray, shape (n_arms, n_features) or (R, n_arms, n_features)
        Arm features.
    theta : ndarray, shape (n_features,) or (R, n_features)
        Parameter.
    """

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

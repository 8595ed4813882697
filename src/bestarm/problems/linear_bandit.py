"""Linear bandits with Gaussian rewards."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.settings import check_whole
from bestarm.streams import Streams, standard_normal


@njit(cache=True)
def gaussian_totals(
    key: np.uint64,
    replications: IntArray,
    arms: IntArray,
    counts: IntArray,
    pulled: IntArray,
    means: FloatArray,
    sigma: float,
) -> FloatArray:
    """Return the totals of n pulls each, n mu + sigma sqrt(n) z with one normal z; ``pulled`` is counted on."""
    totals = np.zeros(arms.shape)
    for r in range(arms.shape[0]):
        row = r if means.shape[0] > 1 else 0
        for j in range(arms.shape[1]):
            n = counts[r, j]
            if n > 0:
                a = arms[r, j]
                noise = standard_normal(key, replications[r], a, pulled[r, a])
                totals[r, j] = n * means[row, a] + sigma * np.sqrt(n) * noise
                pulled[r, a] += n
    return totals


@dataclass(frozen=True)
class LinearBandit:
    r"""Arms whose rewards are :math:`N(\theta^\top x_a, \sigma^2)`."""

    label: str  # name of the instance; it keys the noise
    features: FloatArray  # x_a, (n_arms, n_features) or (R, n_arms, n_features)
    theta: FloatArray  # parameter of the mean reward, (n_features,) or (R, n_features)
    sigma: float = 0.5  # standard deviation of a reward

    def __post_init__(self) -> None:
        if self.features.shape[-1] != self.theta.shape[-1]:
            raise ValueError(
                f"theta must have one entry per feature: features have shape {self.features.shape}, "
                f"theta {self.theta.shape}."
            )
        if not self.sigma > 0:
            raise ValueError(f"sigma must be positive, got {self.sigma}.")

    @property
    def arms(self) -> Arms:
        """The arms with their features."""
        return Arms(self.features)

    @cached_property
    def means(self) -> FloatArray:
        """Expected rewards, shape (1, n_arms) or (R, n_arms)."""
        return np.atleast_2d(np.einsum("...kn,...n->...k", self.features, self.theta))

    def rewards(self, asked: Ask, pulled: IntArray, streams: Streams) -> FloatArray:
        """Draw the sums of rewards; the sum of n pulls is drawn from its exact law N(n mean, n sigma^2)."""
        return gaussian_totals(
            streams.key("noise"), streams.replications, asked.arms, asked.counts, pulled, self.means, self.sigma
        )

    def take(self, rows: IntArray) -> Self:
        """Return the problem for a subset of the replications."""
        features = self.features[rows] if self.features.ndim == 3 else self.features
        theta = self.theta[rows] if self.theta.ndim == 2 else self.theta
        return replace(self, features=features, theta=theta)


def soare_instance(n_features: int = 10, omega: float = 0.1, sigma: float = 1.0) -> LinearBandit:
    r"""Return the hard instance of Soare et al.: the canonical basis and one arm close behind the best.

    The d + 1 arms are :math:`e_1,\dots,e_d` and :math:`(\cos\omega,\sin\omega,0,\dots)`, with :math:`\theta=2e_1`. The
    last arm is :math:`2(1-\cos\omega)` behind the best, 0.01 where the angle is 0.1; pulls of arm 2 tell them apart.
    ``n_features`` is d, at least 2, ``omega`` in (0, pi/2), ``sigma`` the standard deviation of a reward. Raises
    ValueError for a value out of range.

    References
    ----------
    .. [1] Soare, Lazaric, Munos. "Best-Arm Identification in Linear Bandits". NeurIPS 2014. Section 6.
    """
    check_whole("n_features", n_features, 2)
    if not 0 < omega < np.pi / 2:
        raise ValueError(f"omega must lie in (0, pi/2), got {omega}; the last arm is between the first two.")
    features = np.vstack([np.eye(n_features), np.zeros(n_features)])
    features[-1, :2] = np.cos(omega), np.sin(omega)
    return LinearBandit(f"Soare d={n_features} omega={omega:g}", features, 2.0 * np.eye(n_features)[0], sigma)

"""Finitely many arms whose rewards are seen without noise, or as the mean of a few noisy evaluations."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.problems.linear_bandit import gaussian_totals
from bestarm.streams import Streams


@dataclass(frozen=True)
class NoiselessArms:
    """Arms with given responses; ValueError for other shapes, responses not finite, or negative noise."""

    label: str  # name of the instance; it keys the noise, if there is any
    features: FloatArray  # (n_arms, n_features) or (R, n_arms, n_features)
    means: FloatArray  # responses, (1, n_arms) or (R, n_arms)
    sigma: float = 0.0  # standard deviation of one evaluation; 0 is the noiseless setting of the paper
    evaluations: int = 1  # evaluations that one pull averages
    data: str = "synthetic"  # or "real" or "stand-in": where the responses come from

    def __post_init__(self) -> None:
        if self.means.ndim != 2 or self.means.shape[1] != self.features.shape[-2]:
            raise ValueError(
                f"means must have one entry per arm, shape (1 or R, {self.features.shape[-2]}), got {self.means.shape}."
            )
        if not np.isfinite(self.means).all():
            row, arm = (int(i) for i in np.argwhere(~np.isfinite(self.means))[0])
            raise ValueError(f"responses must be finite, got {self.means[row, arm]} of arm {arm}; drop this arm.")
        if not self.sigma >= 0 or self.evaluations < 1:
            raise ValueError(
                f"sigma must be at least 0 and evaluations at least 1, got {self.sigma} and {self.evaluations}."
            )

    @property
    def arms(self) -> Arms:
        """The arms with their features."""
        return Arms(self.features)

    def rewards(self, asked: Ask, pulled: IntArray, streams: Streams) -> FloatArray:
        """Return sums of rewards, shape (R, b), and add the pulls to the tally."""
        scale = self.sigma / np.sqrt(self.evaluations)
        return gaussian_totals(
            streams.key("noise"), streams.replications, asked.arms, asked.counts, pulled, self.means, scale
        )

    def take(self, rows: IntArray) -> Self:
        """Return the problem for a subset of the replications."""
        features = self.features if self.features.ndim == 2 else self.features[rows]
        return replace(self, features=features, means=self.means if len(self.means) == 1 else self.means[rows])

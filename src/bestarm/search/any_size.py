"""Models of a pool whose rewards may be of any size: floors are relative to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.interface import FloatArray, IntArray
from bestarm.policies.model_batches import ForestBatches, GaussianBatches, ModelBatches, ModelState, NeighbourBatches


def spread_or_unit(spread: Any, centre: Any) -> Any:
    """Return the deviation of rewards, and where they are all equal a thousandth of their size, or 1 if they are 0."""
    size = np.abs(centre)
    return np.where(spread > 1e-12 * size, spread, np.where(size > 0.0, 1e-3 * size, 1.0))


class _AnySize(ModelBatches):
    """A model that sees rewards in units of their deviation, however small or large that is."""

    def known(self, state: ModelState, r: int) -> tuple[IntArray, FloatArray, float, float]:
        """Return arms, rewards with mean 0 and deviation 1, and both of them."""
        n = int(state.n_observed[r])
        arms, rewards = state.arms[r, :n], state.rewards[r, :n]
        mean = float(rewards.mean())
        spread = float(spread_or_unit(rewards.std(), mean))
        return arms, (rewards - mean) / spread, mean, spread


@dataclass(frozen=True)
class PoolGaussian(_AnySize, GaussianBatches):
    """`GaussianBatches` for rewards of any size."""


@dataclass(frozen=True)
class PoolForest(_AnySize, ForestBatches):
    """`ForestBatches` for rewards of any size."""


@dataclass(frozen=True)
class PoolNeighbours(_AnySize, NeighbourBatches):
    """`NeighbourBatches` for rewards of any size."""

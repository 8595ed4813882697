r"""Bandits whose mean rewards are not quite linear in the features: :math:`\mu_a = \theta^\top x_a + \eta_a`.

Réda, Tirinzoni, Degenne, "Dealing With Misspecification In Fixed-Confidence Linear Top-m Identification", NeurIPS 2021.
"""

from dataclasses import dataclass

import numpy as np

from bestarm.interface import FloatArray
from bestarm.problems.linear_bandit import LinearBandit
from bestarm_studies.linear_topm.equal_gap import equal_gap_instance


@dataclass(frozen=True)
class MisspecifiedBandit(LinearBandit):
    """A linear bandit whose means deviate from the linear prediction.
    ``label``, ``features``, ``theta``, ``sigma``: as of `LinearBandit`; the features are one set, shared by all
    replications; ``deviation`` (ndarray, shape (n_arms,)): what is added to the linear prediction of each arm, in units
    of reward; ``data`` ({"synthetic", "real", "stand-in"}): where the instance comes from. Raises ValueError if there
    is not one finite deviation per arm."""

    deviation: FloatArray | None = None
    data: str = "synthetic"

    def __post_init__(self) -> None:
        super().__post_init__()
        deviation = np.zeros(self.features.shape[0]) if self.deviation is None else np.asarray(self.deviation)
        if self.features.ndim != 2 or deviation.shape != (self.features.shape[0],) or not np.isfinite(deviation).all():
            raise ValueError(
                "deviation must have one finite entry per arm of one set of features: features have shape "
                f"{self.features.shape}, deviation {deviation.shape}."
            )
        # the kernel of LinearBandit reads `means`; a cached property would be the linear prediction
        object.__setattr__(self, "means", (self.features @ self.theta + deviation)[None, :])

    @property
    def largest_deviation(self) -> float:
        """Return the level of misspecification, the largest deviation in absolute value, in units of reward."""
        return float(np.abs(self.means[0] - self.features @ self.theta).max())


def unexplained_deviation(features: FloatArray, level: float, seed: int = 0) -> FloatArray:
    """Return a random deviation that no linear model can absorb, scaled to a largest absolute value of ``level``.
    Raises ValueError if the arms are linearly independent, so that every vector of means is linear in the features."""
    if np.linalg.matrix_rank(features) == len(features):
        raise ValueError(f"the {len(features)} arms are linearly independent, so any means are linear in the features.")
    drawn = np.random.default_rng(seed).uniform(-1.0, 1.0, len(features))
    residual = drawn - features @ np.linalg.lstsq(features, drawn, rcond=None)[0]
    return np.asarray(level * residual / np.abs(residual).max())


def misspecified_instance(
    n_arms: int, n_features: int, n_best: int, gap: float, level: float, sigma: float = 0.5, seed: int = 0
) -> MisspecifiedBandit:
    """Return `equal_gap_instance` with a deviation of some level that no linear model can absorb.
    ``gap`` is that of the linear part. Every level of one seed has the same features and the same direction of the
    deviation."""
    bandit = equal_gap_instance(n_arms, n_features, n_best, gap, sigma, seed)
    deviation = unexplained_deviation(bandit.features, level, seed)
    return MisspecifiedBandit(
        f"{bandit.label} level={level:g}", bandit.features, bandit.theta, sigma, deviation=deviation
    )

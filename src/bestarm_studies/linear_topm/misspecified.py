r"""Bandits whose mean rewards are not quite linear in the features: :math:`\mu_a = \theta^\top x_a + \eta_a`.

Réda, Tirinzoni, Degenne, "Dealing With Misspecification In Fixed-Confidence Linear Top-m Identification", NeurIPS 2021.
"""

from dataclasses import dataclass

import numpy as np

from bestarm.interface import FloatArray
from bestarm.problems.linear_bandit import LinearBandit


@dataclass(frozen=True)
class MisspecifiedBandit(LinearBandit):
    """A linear bandit whose means deviate from the linear prediction.
    As `LinearBandit` with one set of features; ``deviation``, shape (n_arms,), is added to the linear prediction, in
    units of reward. Raises ValueError if there is not one finite deviation per arm."""

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


def equal_gap_instance(
    n_arms: int, n_features: int, n_best: int, gap: float, sigma: float = 0.5, seed: int = 0
) -> LinearBandit:
    r"""Return arms with two means only: ``gap`` for the first ``n_best`` arms, 0 for the others.
    The mean is the first feature (:math:`\theta = e_1`); the other features are a random direction of length 1, which
    says nothing of the mean and lets arms share information. ``n_arms``, ``n_features``, ``n_best``: K, N (at least 2)
    and m; ``gap``: gap of every arm, in units of reward; ``sigma``: standard deviation of a reward; ``seed``: of the
    directions. Raises ValueError if a size is out of range or the gap is not positive."""
    if not 1 <= n_best < n_arms or n_features < 2 or not gap > 0:
        raise ValueError(
            "n_best must lie between 1 and n_arms - 1, n_features be at least 2 and gap positive, "
            f"got {n_best} of {n_arms}, {n_features} and {gap}."
        )
    directions = np.random.default_rng([seed, n_arms, n_features]).standard_normal((n_arms, n_features - 1))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    means = np.where(np.arange(n_arms) < n_best, gap, 0.0)
    label = f"equal gap K={n_arms} N={n_features} m={n_best} gap={gap:g} seed={seed}"
    return LinearBandit(label, np.column_stack([means, directions]), np.eye(n_features)[0], sigma)


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

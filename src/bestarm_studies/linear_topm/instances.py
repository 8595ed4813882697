r"""Instances of the Top-m paper, classic and random linear bandits; and some whose means are not quite linear.

The latter, :math:`\mu_a = \theta^\top x_a + \eta_a`, are those of Réda, Tirinzoni, Degenne, "Dealing With
Misspecification In Fixed-Confidence Linear Top-m Identification", NeurIPS 2021.
"""

from dataclasses import dataclass

import numpy as np

from bestarm.interface import FloatArray
from bestarm.problems.linear_bandit import LinearBandit


def classic_instance(n_arms: int, n_best: int, omega: float, sigma: float = 0.5) -> LinearBandit:
    r"""Return the hard instance of Section 5, which extends that of Soare and others (NeurIPS 2014) to ``n_best`` arms.
    Arm 1 is :math:`e_1`, arms 2 to m are :math:`e_1 + e_a`, arm m + 1 is :math:`\cos\omega\, e_1 + \sin\omega\,
    e_{m+1}`, arm a > m + 1 is :math:`e_{a-1}`; :math:`\theta = e_1`. The paper prints :math:`e_1 + e_a` for every
    :math:`a \leq m`, which would make the first arm :math:`2 e_1` and contradict the gaps it states. ``n_arms``,
    ``n_best``: k and m, with :math:`1 \leq m \leq K - 2`; ``omega``: angle in radians, in :math:`(0, \pi/2)`; the gap
    is :math:`1 - \cos\omega`. Raises ValueError if ``n_best`` or ``omega`` is out of range."""
    if not 1 <= n_best <= n_arms - 2:
        raise ValueError(f"n_best must be between 1 and n_arms - 2 = {n_arms - 2}, got {n_best}.")
    if not 0 < omega < np.pi / 2:
        raise ValueError(f"omega must lie in (0, pi/2), got {omega}.")
    basis = np.eye(n_arms - 1)
    features = np.empty((n_arms, n_arms - 1))
    features[0] = basis[0]
    features[1:n_best] = basis[0] + basis[1:n_best]
    features[n_best] = np.cos(omega) * basis[0] + np.sin(omega) * basis[n_best]
    features[n_best + 1 :] = basis[n_best:]
    return LinearBandit(f"classic K={n_arms} m={n_best} omega={omega:.6f}", features, basis[0].copy(), sigma)


_PUBLISHED_RANDOM_FEATURES = """
 0.18764220 -0.02732191 -0.11476417  0.05955739 -0.15324525 -0.12808546 -0.20339100 -0.18218843 -0.01590106  0.33471648
 0.21931815 -0.13946815  0.22870231  0.08103856 -0.04315522  0.07396211 -0.29483414  0.46006607 -0.49793115 -0.09691078
 0.08369792 -0.27917134 -0.55106505  0.00150952  0.01051786  0.12711732  0.20957073 -0.18937607 -0.26275369 -0.42329704
-0.15280373  0.10698858 -0.34941470  0.02731548 -0.23478710  0.03526464 -0.07594940  0.28164524  0.18729474  0.29865335
 0.00070392  0.40249142  0.12453201  0.06903440  0.06391789  0.13537006  0.05955834 -0.09707516 -0.13077220  0.49145662
"""


def published_random_instance(sigma: float = 0.5) -> LinearBandit:
    r"""Return the random linear instance behind Figure 3 and Table 5 (K = 10, N = 5, :math:`\theta = e_1`).
    It was drawn once without a seed: the numbers, from the authors' published results (MIT licence), specify it."""
    features = np.array(_PUBLISHED_RANDOM_FEATURES.split(), dtype=np.float64).reshape(5, 10).T
    return LinearBandit("published random K=10 N=5", np.ascontiguousarray(features), np.eye(5)[0], sigma)


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
    ``gap`` is that of the linear part. All levels of one seed have the same features and direction of deviation."""
    bandit = equal_gap_instance(n_arms, n_features, n_best, gap, sigma, seed)
    deviation = unexplained_deviation(bandit.features, level, seed)
    return MisspecifiedBandit(
        f"{bandit.label} level={level:g}", bandit.features, bandit.theta, sigma, deviation=deviation
    )

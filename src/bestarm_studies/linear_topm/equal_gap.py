"""Linear instances of one difficulty in any number of arms and features, to see what grows with either."""

import numpy as np

from bestarm.problems.linear_bandit import LinearBandit


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

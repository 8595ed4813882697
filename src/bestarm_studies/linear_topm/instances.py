"""Instances of the Top-m paper: classic and random linear bandits."""

import numpy as np

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

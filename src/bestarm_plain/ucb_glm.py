"""UCB-GLM: optimism with a logistic model, for rewards 0 and 1; within a budget the arm pulled most is recommended.

Idea: the logistic fit to all rewards so far gives each arm a linear predictor; the width of linear regression makes an
upper bound of it, since V bounds the logistic information from above up to a constant.

Source: Li, Lu, Zhou. "Provably Optimal Algorithms for Generalized Linear Contextual Bandits". ICML 2017. Algorithm 1
(its steps are quoted); a rival in Azizi, Kveton, Ghavamzadeh. IJCAI 2022.

Deviations: a small ridge keeps the fit finite under separation. ``opening`` each_arm, ``root`` False and a
``regulariser`` in V are what the code of the IJCAI paper does otherwise; the answer at the end is its.
"""

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Argmax, Pull, argmax, logistic_fit


def ucb_glm(
    x: ndarray,  # features, shape (K, d)
    pull: Pull,
    budget: int,
    *,
    alpha: float | None = None,
    delta: float = 0.05,
    ridge: float = 1e-4,
    regulariser: float = 0.0,
    opening: str = "random",
    least_eigenvalue: float = 1.0,
    root: bool = True,
    random_arm: Callable[[int], int] = lambda K: int(np.random.default_rng().integers(K)),
    argmax: Argmax = argmax,
) -> int:
    """Return the arm pulled most."""
    (K, d), T = x.shape, budget
    if alpha is None:  # of Theorem 2, whose sigma / kappa is 2: 1/2 over the slope 1/4 at 0
        alpha = 2 * np.sqrt(d / 2 * np.log(1 + 2 * T / d) + np.log(1 / delta))
    N, sums = np.zeros(K, dtype=int), np.zeros(K)
    for t in range(T):
        V = regulariser * np.eye(d) + (x.T * N) @ x
        if opening == "each_arm" and t < K:
            a = t
        elif opening == "random" and np.linalg.eigvalsh(V).min() < least_eigenvalue - 1e-9:
            a = random_arm(K)  # at first at random, until V reaches the identity
        else:
            theta = logistic_fit(x, N, sums, ridge)  # the maximum-likelihood estimate
            width = ((x @ np.linalg.inv(V)) * x).sum(axis=1)
            a = argmax(x @ theta + alpha * (np.sqrt(width) if root else width))  # choose the largest upper bound
        sums[a] += pull(a)  # observe
        N[a] += 1
    return argmax(N)

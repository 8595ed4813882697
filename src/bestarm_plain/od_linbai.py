"""OD-LinBAI: the best arm of a linear bandit within a budget, by halving the dimension and not the arms.

Idea: log d stages; each has a G-optimal design of the live arms in their span, and a fresh least squares fit. The first
stage leaves d / 2 arms, the next d / 4, since d directions are what has to be learned, however many arms there are.

Source: Yang, Tan. "Minimax Optimal Fixed-Budget Best Arm Identification in Linear Bandits". NeurIPS 2022. Algorithm 1
(its lines are quoted); a rival in Azizi, Kveton, Ghavamzadeh. IJCAI 2022.

Deviations: the solver of the design may leave more arms than the d (d + 1) / 2 that the rule for m allows; the pulls
that this rule promises are then shared out exactly. Without budget for a stage the first arm is returned.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Pulls, apportion, g_optimal, in_order, least_squares, span


def od_linbai(
    x: ndarray,  # features, shape (K, d)
    pull: Pulls,
    budget: int,
    *,
    order: Callable[[int], Iterable[int]] = in_order,
) -> int:
    """Return the arm that is left after all stages."""
    K, d, T = len(x), span(x).shape[1], budget
    R = max(1, int(np.ceil(np.log2(d))))  # ceil(log2 d) stages
    sizes = [-(-d // 2**r) for r in range(1, R)] + [1]
    support = min(K, d * (d + 1) // 2)
    m = (T - support - sum(sizes[: R - 1])) / R
    A = list(range(K))  # A_0: all arms
    if m <= 0:
        return A[0]
    for size in sizes:  # for r = 1 to ceil(log2 d)
        pi, served = np.zeros(K), order(K)
        pi[A] = g_optimal(x[A])  # find a G-optimal design in the span of A_{r-1}
        N = np.ceil(m * pi - 1e-9).astype(int)  # T_r(i) = ceil(pi_r(i) m) pulls
        most = int(m + 1e-9) + min(len(A), d * (d + 1) // 2)
        if N.sum() > most:
            N = apportion(pi, most, served)
        sums = np.array([pull(a, int(N[a])) if N[a] else 0.0 for a in range(K)])
        theta = least_squares(x, N, sums)  # from the rewards of this stage
        A = sorted(sorted(A, key=lambda a: -x[a] @ theta)[:size])  # the ceil(d / 2^r) largest estimates
        if len(A) == 1:
            break
    return A[0]  # the only arm of the last set

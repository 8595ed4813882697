"""LinUCB: optimism with one ridge regression; within a budget the arm pulled most is recommended.

Idea: every arm's mean has an upper bound, from least squares on all rewards so far; the arm with the largest is pulled.

Source: Li, Chu, Langford, Schapire. "A contextual-bandit approach to personalized news article recommendation". WWW
2010. Algorithm 1 (its lines are quoted), which is the form with ``disjoint`` arms; a rival in Azizi et al. IJCAI 2022.

Deviations: by default the arms share A and b, as the linear model has it; the answer at the end is the IJCAI paper's.
"""

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Argmax, Pull, argmax


def lin_ucb(
    x: ndarray,  # features, shape (K, d)
    pull: Pull,
    budget: int,
    *,
    alpha: float | None = None,
    delta: float = 0.05,
    regulariser: float = 1.0,
    disjoint: bool = False,
    argmax: Argmax = argmax,
) -> int:
    """Return the arm pulled most."""
    (K, d), N = x.shape, np.zeros(len(x), dtype=int)
    alpha = 1 + np.sqrt(np.log(2 / delta) / 2) if alpha is None else alpha
    A, b = np.tile(regulariser * np.eye(d), (K, 1, 1)), np.zeros((K, d))  # lines 5, 6
    for _ in range(budget):  # line 1
        inverse = np.linalg.inv(A)
        theta = np.einsum("kij,kj->ki", inverse, b)  # line 8
        p = (theta * x).sum(axis=1) + alpha * np.sqrt(np.einsum("ki,kij,kj->k", x, inverse, x))  # line 9
        a = argmax(p)  # line 11
        r = pull(a)
        taught = [a] if disjoint else list(range(K))
        A[taught] += np.outer(x[a], x[a])  # line 12
        b[taught] += r * x[a]  # line 13
        N[a] += 1
    return argmax(N)

"""OAE-Linear: optimistic arm elimination with linear functions, and with no slack: the batch that promises most.

Idea: the functions with parameters |theta| <= 1 that agree with all rewards are a ball around the shortest of them. The
batch and the function are chosen together, for the largest sum of the batch's values.

Source: Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Algorithm 1
(its lines are quoted), Equation 1 with gamma_t = 0.

Deviations: the joint maximum is sought by turns from many starts, the arms with the largest index: given the function
the best batch, given the batch the best function. For batches of one it is exact.
"""

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from bestarm_plain.mean_opt import largest


def linear_oae(
    x: ndarray,  # features, shape (n, d)
    measure: Callable[[list[int]], ndarray],  # rewards of a batch
    rounds: int,
    first: list[int],  # B_1, a random batch
    *,
    starts: int = 50,
    resolution: float = 1e-4,  # an arm nearer to the span of those measured teaches no direction
) -> int:
    """Return the best arm measured."""
    N, b = rounds, len(first)
    D, y = list(first), list(measure(first))  # t = 1: sample B_1 uniformly, observe batch rewards
    for _ in range(1, N):  # for t = 1, ..., N do
        U = [a for a in range(len(x)) if a not in D]
        if not U:
            break
        inverse = np.linalg.pinv(x[D], rcond=resolution)
        centre = inverse @ np.array(y)  # theta = centre + M u with |u| <= 1
        M = np.sqrt(max(1 - centre @ centre, 0)) * (np.eye(x.shape[1]) - inverse @ x[D])
        base, wide = x @ centre, x @ M
        norm = np.linalg.norm(wide, axis=1)
        B, most = largest(base + norm, U, b), -np.inf
        for a in largest(base + norm, U, starts) if len(U) > b else []:
            if norm[a] <= 1e-9:
                continue
            u, value, gained = wide[a] / norm[a], -np.inf, True
            while gained:
                batch = largest(base + wide @ u, U, b)  # given u, the best batch
                s = wide[batch].sum(axis=0)
                u = s / max(np.linalg.norm(s), 1e-300)  # given the batch, the best u
                reached = base[batch].sum() + np.linalg.norm(s)
                gained, value = reached > value + 1e-12, max(reached, value)
            if value > most + 1e-12:
                B, most = batch, value
        D, y = D + B, y + list(measure(B))  # B_t = argmax over batches and functions of Equation 1
    return D[int(np.argmax(y))]

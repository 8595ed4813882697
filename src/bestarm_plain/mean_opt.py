"""MeanOpt, HingePNorm, MaxOpt, Greedy: optimistic arm elimination with a network rewarded for large outputs.

Idea: fit a network to all rewards, minus lam times an objective A on the arms left: their mean output (MeanOpt), the
mean of max(0, f)^4 (HingePNorm), a soft maximum (MaxOpt), or nothing (Greedy). Measure the arms left with the largest
outputs.

Source: Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Algorithm 1
(its lines are quoted), Equations 2 and 3, Section 4.1.1.

Deviations: A is estimated on a minibatch of arms left in each step of Adam; a fit starts afresh each round.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from bestarm_plain.network import Draws, Named, fitted


def largest(f: ndarray, U: list[int], b: int) -> list[int]:
    """Return the b arms of U with the largest f, the largest first."""
    return sorted(U, key=lambda a: -f[a])[:b]


def oae(
    x: ndarray,  # inputs of the network, shape (n, d)
    measure: Callable[[list[int]], ndarray],  # rewards of a batch
    rounds: int,
    first: list[int],  # B_1, a random batch
    optimism: float = 0.0,
    *,
    objective: str = "avg",
    draws: Named = Draws,
    choose: Callable[[ndarray, list[int], int], list[int]] = largest,
    **training: Any,  # of `network.fitted`: hidden, steps, learning_rate, minibatch, pool_minibatch
) -> int:
    """Return the best arm measured."""
    N, b, lam = rounds, len(first), optimism
    D, y = list(first), list(measure(first))  # t = 1: sample B_1 uniformly, observe batch rewards
    for t in range(1, N):  # for t = 1, ..., N do
        U = [a for a in range(len(x)) if a not in D]  # U_{t+1} = U_t \ B_t
        if not U:
            break
        f = fitted(x[D], np.array(y), x[U], lam, draws(t, 0, 0), objective=objective, **training)(x)  # Equation 3
        B = choose(f, U, b) if len(U) > b else U  # B_t = the b arms of U_t with the largest f, Equation 2
        D, y = D + B, y + list(measure(B))  # D_{t+1} = D_t and (B_t, Y_t)
    return D[int(np.argmax(y))]


mean_opt = partial(oae, objective="avg")
hinge_p_norm = partial(oae, objective="hinge")
max_opt = partial(oae, objective="softmax")
greedy = partial(oae, optimism=0.0)

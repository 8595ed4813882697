"""SeqB and Ensemble-SeqB: batches chosen arm after arm, with virtual rewards in between.

Idea: after each arm of a batch the models are fitted again, as if its reward were between an optimistic and a
pessimistic prediction; so the next arm is not a copy of the last. Virtual rewards are forgotten when the batch is
measured.

Source: Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Algorithm 3
(OAE-Seq, its lines are quoted), Appendix B.1.1. SeqB: networks rewarded and punished for large outputs. Ensemble-SeqB:
the largest and the smallest output of several networks.

Deviations: none beside those of `mean_opt`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from bestarm_plain.ensemble import Noise, normals, outputs_of
from bestarm_plain.mean_opt import largest
from bestarm_plain.network import Draws, Named, fitted

# arms and labels so far, arms left, round and place to the optimistic and the pessimistic outputs
Predict = Callable[[list[int], ndarray, list[int], int, int], tuple[ndarray, ndarray]]


def oae_seq(
    x: ndarray, measure: Callable[[list[int]], ndarray], rounds: int, first: list[int], predict: Predict, alpha: float
) -> int:
    """Return the best arm measured."""
    N, b = rounds, len(first)
    D, y = list(first), list(measure(first))  # t = 1: sample B_1 uniformly, observe batch rewards
    for t in range(1, N):  # for t = 1, ..., N do
        U = [a for a in range(len(x)) if a not in D]
        if not U:
            break
        B, labels = [] if len(U) > b else U, list(y)  # D_{t,0} = D_t
        for i in range(b if len(U) > b else 0):
            rest = [a for a in U if a not in B]
            optimistic, pessimistic = predict(D + B, np.array(labels), rest, t, i)
            a = largest(optimistic, rest, 1)[0]  # a_{t,i} = argmax of f_{t,i}, Equation 8
            labels.append(alpha * optimistic[a] + (1 - alpha) * pessimistic[a])  # the virtual reward of a_{t,i}
            B.append(a)
        D, y = D + B, y + list(measure(B))  # observe batch rewards; the virtual ones are forgotten
    return D[int(np.argmax(y))]


def seq_b(
    x: ndarray,  # inputs of the networks, shape (n, d)
    measure: Callable[[list[int]], ndarray],  # rewards of a batch
    rounds: int,
    first: list[int],  # B_1, a random batch
    optimism: float,
    *,
    optimism_weight: float = 0.5,
    draws: Named = Draws,
    **training: Any,  # of `network.fitted`
) -> int:
    """Return the best arm measured, with two networks a place: of strength lam and -lam."""

    def predict(D: list[int], y: ndarray, U: list[int], t: int, i: int) -> tuple[ndarray, ndarray]:
        if i == len(first) - 1:  # no virtual reward is needed after the last arm
            return (fitted(x[D], y, x[U], optimism, draws(t, i, 0), **training)(x),) * 2
        hope, fear = (fitted(x[D], y, x[U], s * optimism, draws(t, i, j), **training)(x) for j, s in ((0, 1), (1, -1)))
        return hope, fear

    return oae_seq(x, measure, rounds, first, predict, optimism_weight)


def ensemble_seq_b(
    x: ndarray,
    measure: Callable[[list[int]], ndarray],
    rounds: int,
    first: list[int],
    members: int = 10,
    *,
    optimism_weight: float = 0.5,
    label_noise: float = 0.0,
    noise: Noise = normals,
    draws: Named = Draws,
    **training: Any,
) -> int:
    """Return the best arm measured, with the largest and the smallest output of several networks."""

    def predict(D: list[int], y: ndarray, U: list[int], t: int, i: int) -> tuple[ndarray, ndarray]:
        f = outputs_of(x, y, D, U, t, i, members, label_noise, noise, draws, training)
        return f.max(axis=0), f.min(axis=0)

    return oae_seq(x, measure, rounds, first, predict, optimism_weight)


ensemble_seq_b_noise_y = partial(ensemble_seq_b, label_noise=1.0)

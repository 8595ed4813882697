"""Ensemble and EnsembleNoiseY: optimism from several networks, by the largest output of any of them.

Idea: networks fitted from different starts, or to rewards with noise of their own, agree where arms have been measured
and differ elsewhere. Their largest output is an optimistic estimate.

Source: Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section
4.1.2, in the frame of Algorithm 1 (its lines are quoted). The middle of the range plus half of it is the maximum.

Deviations: none beside those of `mean_opt`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from bestarm_plain.mean_opt import largest
from bestarm_plain.network import Draws, Named, fitted

Noise = Callable[[int, int, int, int], ndarray]


def normals(t: int, place: int, member: int, n: int) -> ndarray:
    """Return n normal draws of a member in a round."""
    return np.random.default_rng([t, place, member]).standard_normal(n)


def outputs_of(
    x: ndarray,
    y: ndarray,
    D: list[int],
    U: list[int],
    t: int,
    place: int,
    members: int,
    label_noise: float,
    noise: Noise,
    draws: Named,
    training: dict[str, Any],
) -> ndarray:
    """Return what every member says of all arms, shape (M, n)."""
    labels = [y + label_noise * noise(t, place, i, len(y)) if label_noise else y for i in range(members)]
    return np.array([fitted(x[D], z, x[U], 0.0, draws(t, place, i), **training)(x) for i, z in enumerate(labels)])


def ensemble(
    x: ndarray,  # inputs of the networks, shape (n, d)
    measure: Callable[[list[int]], ndarray],  # rewards of a batch
    rounds: int,
    first: list[int],  # B_1, a random batch
    members: int = 10,
    *,
    label_noise: float = 0.0,
    noise: Noise = normals,
    draws: Named = Draws,
    **training: Any,  # of `network.fitted`
) -> int:
    """Return the best arm measured."""
    N, b, M = rounds, len(first), members
    D, y = list(first), list(measure(first))  # t = 1: sample B_1 uniformly, observe batch rewards
    for t in range(1, N):  # for t = 1, ..., N do
        U = [a for a in range(len(x)) if a not in D]
        if not U:
            break
        f = outputs_of(x, np.array(y), D, U, t, 0, M, label_noise, noise, draws, training)  # f_t^i, i = 1, ..., M
        middle, half = (f.max(axis=0) + f.min(axis=0)) / 2, (f.max(axis=0) - f.min(axis=0)) / 2
        B = largest(middle + half, U, b) if len(U) > b else U  # B_t, Equation 2
        D, y = D + B, y + list(measure(B))
    return D[int(np.argmax(y))]


ensemble_noise_y = partial(ensemble, label_noise=1.0)

"""LinGapE: the best arm of a linear bandit, by pulls that tell the leader from its most doubtful rival.

Idea: i_t has the largest estimate, j_t may exceed it most. The arm pulled next is the one that narrows the width of
this pair's difference most (greedy), or that lags most behind the best proportions for it (optimised).

Source: Xu, Honda, Sugiyama. "A fully adaptive algorithm for pure exploration in linear bandits". AISTATS 2018.
Algorithm 1, with the radius C_t of their theorem; as a rival with a budget in Azizi, Kveton, Ghavamzadeh. IJCAI 2022.

Deviations: a budget B ends the search; ``stops_early`` keeps the stopping rule with epsilon = 0. The radii "explicit"
and "own" put a bound on the determinant in its place. ``coded_radius`` and ``stale_pair`` are what the code of the
IJCAI paper does otherwise; its proportions (``design``) may not be negative.
"""

from functools import partial

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Argmax, Design, Pull, argmax, pair_design


def lingape(
    x: ndarray,  # features, shape (K, d)
    pull: Pull,
    budget: int,
    *,
    selection: str = "optimised",
    delta: float = 0.05,
    sigma: float = 0.5,
    norm_bound: float = 1.0,
    regulariser: float = 1.0,
    radius: str = "determinant",
    stops_early: bool = True,
    coded_radius: bool = False,
    design: Design = pair_design,
    stale_pair: bool = False,
    argmax: Argmax = argmax,
) -> int:
    """Return the arm with the largest estimate once no other can exceed it, or the budget is spent."""
    (K, d), S, rho = x.shape, norm_bound, regulariser
    L = np.linalg.norm(x, axis=1).max()
    A, b, T = rho * np.eye(d), np.zeros(d), np.zeros(K, dtype=int)

    def C() -> float:
        """The radius C_t, in units of reward, of the data so far."""
        t = T.sum()
        if radius == "determinant":
            log_ratio = (np.linalg.slogdet(A)[1] - d * np.log(rho)) / 2
            return sigma * np.sqrt(2 * (np.log(K**2 / delta) + log_ratio)) + np.sqrt(rho) * S
        if radius == "explicit" and coded_radius:
            return sigma**2 * np.sqrt(d * np.log(K**2 * (1 + t) / (rho * delta))) + np.sqrt(rho) * S
        if radius == "explicit":
            return sigma * np.sqrt(d * np.log(K**2 * (1 + t * L**2) / (rho * delta))) + np.sqrt(rho) * S
        inside = 2 * np.log(1 / delta) + d * np.log(1 + (t + 1) * L**2 / (rho * d))
        return sigma * np.sqrt(inside) + np.sqrt(rho) * S

    def learn(a: int) -> None:
        A[:], b[:] = A + np.outer(x[a], x[a]), b + x[a] * pull(a)
        T[a] += 1

    for a in range(K):  # every arm once
        learn(a)
    while True:
        inverse = np.linalg.inv(A)
        mean = x @ inverse @ b
        i = int(mean.argmax())  # i_t
        Y = x - x[i]
        B = mean - mean[i] + C() * np.sqrt(((Y @ inverse) * Y).sum(axis=1))
        B[i] = -np.inf
        j = int(B.argmax())  # j_t
        if T.sum() == budget or (stops_early and not stale_pair and B[j] <= 0):
            return i
        y = x[i] - x[j]
        if selection == "greedy":
            learn(argmax([-y @ np.linalg.inv(A + np.outer(x_a, x_a)) @ y for x_a in x]))
        else:  # the proportions p*(y): the arm with the least T_a / p_a among those with weight
            p = np.abs(np.round(design(x, i, j), 10))
            lag = {a: -T[a] / p[a] for a in range(K) if p[a] > 0}
            learn(argmax(lag, lag))
        if stale_pair and C() * np.sqrt(y @ np.linalg.inv(A) @ y) <= y @ np.linalg.inv(A) @ b:
            return i  # the old pair with the new data


lingape_greedy = partial(lingape, selection="greedy")

"""GSE: the best arm within a budget, by halving; a linear (GSE-Lin) or a logistic model (GSE-Log) of each stage.

Idea: each of log K stages has its share of the budget and spends it on the arms that are left, by a design such as the
G-optimal one. A model is fitted to the rewards of this stage alone, and half of the arms stay.

Source: Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Algorithm
1 (its line numbers), Equations 1 (least squares) and 4 (logistic), Section 6 (G-optimal design).

Deviations: V may have no inverse, so the shortest least squares solution takes the place of the projection of line 2; a
small ridge keeps logistic fits finite under separation. ``keeps_rewards`` fits the rewards of all stages: an ablation,
by which GSE comes closer to its rivals.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Pulls, apportion, g_optimal, in_order, least_squares, logistic_fit

Allocation = Callable[[ndarray, list[int], int, Iterable[int]], ndarray]


def by_g_optimal(x: ndarray, live: list[int], n: int, served: Iterable[int]) -> ndarray:
    """Return how often to pull each arm, n pulls in all: the G-optimal design of the live arms, rounded."""
    pi = np.zeros(len(x))
    pi[live] = g_optimal(x[live])
    return apportion(pi, n, served)


def uniform(x: ndarray, live: list[int], n: int, served: Iterable[int]) -> ndarray:
    """Return the same number of pulls of each live arm, up to one that the first to be served have more."""
    counts = np.zeros(len(x), dtype=int)
    for place, a in enumerate(a for a in served if a in live):
        counts[a] = n // len(live) + (place < n % len(live))
    return counts


def gse(
    x: ndarray,  # features, shape (K, d)
    pull: Pulls,
    budget: int,
    *,
    eta: int = 2,
    model: str = "linear",
    allocate: Allocation = by_g_optimal,
    ridge: float = 1e-4,
    keeps_rewards: bool = False,
    order: Callable[[int], Iterable[int]] = in_order,
) -> int:
    """Return the arm that is left after all stages."""
    K, B = len(x), budget
    A, s = list(range(K)), 1  # A_1: all arms; s: ceil(log_eta K) stages
    while eta**s < K:
        s += 1
    N, sums = np.zeros(K, dtype=int), np.zeros(K)
    for _ in range(s):  # line 1
        Pi = allocate(x, A, B // s, order(K))  # lines 2, 3
        if not keeps_rewards:
            N[:], sums[:] = 0, 0.0
        for a in np.flatnonzero(Pi):
            sums[a] += pull(int(a), int(Pi[a]))
        N += Pi
        theta = least_squares(x, N, sums) if model == "linear" else logistic_fit(x, N, sums, ridge)  # line 4
        best_first = sorted(A, key=lambda a: -x[a] @ theta)
        A = sorted(best_first[: -(-len(A) // eta)])  # line 5: ceil(|A| / eta) arms stay
    return A[0]  # line 8


gse_lin = partial(gse, model="linear")
gse_log = partial(gse, model="logistic")

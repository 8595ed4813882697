"""One round of UCB-GLM, compiled, over replications: the maximum likelihood estimate and the optimistic arm.

Arrays and rules are those of `ucb_glm`. Everything is computed from the counts and totals of the arms,
O(K d^2) a round; x are the features of one replication in coordinates of their span, shape (K, d).

References
----------
.. [1] Li, Lu, Zhou. "Provably Optimal Algorithms for Generalized Linear Contextual Bandits". ICML 2017. Algorithm 1.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.regression import design, factorise, fit_logistic, linear_predictor, solve_lower
from bestarm.policies.linear.fixed_budget import largest
from bestarm.streams import uniform

_ROUNDING = 1e-9


class Knowledge(NamedTuple):
    """The fields of `bestarm.policies.linear.ucb_glm.UcbGlmState` that a round reads; ``theta`` is changed in place."""

    features: FloatArray
    ranks: IntArray
    feature_set: IntArray
    pulls: IntArray
    totals: FloatArray
    theta: FloatArray
    alpha: FloatArray
    replications: IntArray
    spent: IntArray
    key: np.uint64


@njit(cache=True)
def is_at_least(matrix: FloatArray, level: float) -> bool:
    """Return whether the smallest eigenvalue of a symmetric matrix reaches a level; for level 0, exceeds rounding.

    Where it does, the matrix less the level has a Cholesky factor. Looks at the lower triangle.
    """
    rest = matrix.copy()
    greatest = 0.0
    for i in range(len(rest)):
        greatest = max(greatest, rest[i, i])
    for i in range(len(rest)):
        rest[i, i] -= max(level * (1.0 - _ROUNDING), _ROUNDING * greatest)
    return factorise(rest)


@njit(cache=True)
def choose(
    known: Knowledge,
    ridge: float,
    regulariser: float,
    least_eigenvalue: float,
    root: bool,
    in_order: bool,
    stopped: BoolArray,
    arms: IntArray,
) -> None:
    """Write a random arm while V is too small, else the one with the largest x' theta + bonus ([1]_), shape (R, 1)."""
    features, ranks, feature_set, pulls, totals, theta, alpha, replications, spent, key = known
    n_replications, n_arms = pulls.shape
    index, everything = np.empty(n_arms), np.ones(n_arms, dtype=np.bool_)
    for r in range(n_replications):
        if stopped[r]:
            continue
        rank = ranks[feature_set[r]]
        x, numbers = features[feature_set[r], :, :rank], pulls[r].astype(np.float64)
        # V = regulariser I + sum_k N_k x_k x_k'
        v = design(x, numbers, regulariser)
        # [1]_, Algorithm 1: random arms until V is large enough
        if not is_at_least(v, least_eigenvalue):
            arms[r, 0] = int(n_arms * uniform(key, replications[r], spent[r], 2 * n_arms))
            continue
        # the maximum likelihood estimate, from the last one on
        fit_logistic(x, numbers, totals[r], ridge, theta[r, :rank])
        index[:] = linear_predictor(x, theta[r, :rank])
        factorise(v)
        column = np.empty(rank)
        # x'theta + alpha |x|_{V^-1}, by the Cholesky factor of V
        for k in range(n_arms):
            column[:] = x[k]
            solve_lower(v, column)
            bonus = 0.0
            for i in range(rank):
                bonus += column[i] ** 2
            index[k] += alpha[r] * (np.sqrt(bonus) if root else bonus)
        arms[r, 0] = largest(index, everything, in_order, key, replications[r], spent[r], 0)


@njit(cache=True)
def tally(pulls: IntArray, sums: FloatArray, arms: IntArray, counts: IntArray, totals: FloatArray) -> None:
    """Add what was pulled and what it paid to the counts and sums of the arms, in place."""
    for r in range(len(pulls)):
        for j in range(arms.shape[1]):
            if counts[r, j] > 0 and not np.isnan(totals[r, j]):
                pulls[r, arms[r, j]] += counts[r, j]
                sums[r, arms[r, j]] += totals[r, j]

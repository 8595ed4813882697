"""One round of BayesGap, compiled, over replications; arrays and rules are those of `bayes_gap`.

References
----------
.. [1] Hoffman, Shahriari, de Freitas. "On correlation and budget constraints in model-based bandit optimization with
   application to automatic machine learning". AISTATS 2014. Algorithm 1, Theorem 1.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.policies.linear.fixed_budget import largest

_ROUNDING = 1e-10


class Rule(NamedTuple):
    """The settings of `bestarm.policies.linear.bayes_gap.BayesGap` that a round needs."""

    budget: int
    sigma: float
    epsilon: float
    inverse_square: bool
    absolute_gaps: bool
    root: bool
    variance_as_width: bool
    ties_in_order: bool


@njit(cache=True)
def largest_of_the_others(values: FloatArray) -> FloatArray:
    """Return the largest value over all other positions, for each position."""
    first, second, place = -np.inf, -np.inf, 0
    for k in range(len(values)):
        if values[k] > first:
            first, second, place = values[k], first, k
        elif values[k] > second:
            second = values[k]
    others = np.full(len(values), first)
    others[place] = second
    return others


@njit(cache=True)
def estimated_hardness(
    means: FloatArray, widths: FloatArray, epsilon: float, inverse_square: bool, absolute: bool
) -> float:
    """Return H with gaps from three-sigma bounds, |max_{j != k} (mean_j + 3 w_j) - (mean_k - 3 w_k)| ([1]_)."""
    others = largest_of_the_others(means + 3.0 * widths)
    hardness = 0.0
    for k in range(len(means)):
        gap = others[k] - (means[k] - 3.0 * widths[k])
        if absolute:
            gap = abs(gap)
        # [1]_, Theorem 1: H is the sum of max((gap + epsilon) / 2, epsilon)^-2
        half = max((gap + epsilon) / 2.0, epsilon)
        if not inverse_square:
            hardness += half
        else:
            hardness += 1.0 / half**2 if half > 0.0 else np.inf
    return hardness


@njit(cache=True)
def exploration(information: float, hardness: float, root: bool) -> float:
    """Return beta: the root of information / (4 H) ([1]_, Theorem 1), 0 where nothing can be told apart."""
    squared = max(information, 0.0) / (4.0 * hardness) if hardness > 0.0 else 0.0
    return np.sqrt(squared) if root else squared


@njit(cache=True)
def choose(
    rule: Rule,
    variances: FloatArray,
    means: FloatArray,
    information: FloatArray,
    key: np.uint64,
    replications: IntArray,
    spent: IntArray,
    smallest_bound: FloatArray,
    recommended: IntArray,
    arms: IntArray,
) -> None:
    """Compute B_k, J and j, write the one of the two that is less known, and keep J if its bound is the least so far.

    A replication without budget is left as it is.
    """
    budget, sigma, epsilon, inverse_square, absolute, root, variance, in_order = rule
    n_replications, n_arms = means.shape
    widths, allowed = np.empty(n_arms), np.ones(n_arms, dtype=np.bool_)
    pair = np.zeros(n_arms, dtype=np.bool_)
    for r in range(n_replications):
        if spent[r] >= budget:
            continue
        replication, time, mu = replications[r], spent[r], means[r]
        for k in range(n_arms):
            squared = sigma**2 * max(variances[r, k], 0.0)
            widths[k] = squared if variance else np.sqrt(squared)
        # beta, with the hardness as it is estimated now ([1]_, Theorem 1)
        hardness = estimated_hardness(mu, widths, epsilon, inverse_square, absolute)
        beta = exploration(information[r], hardness, root)
        upper = mu + beta * widths
        # B_k = max_{i != k} U_i - L_k
        bounds = largest_of_the_others(upper) - (mu - beta * widths)
        # J = argmin_k B_k
        best = largest(-bounds, allowed, in_order, key, replication, time, 0)
        allowed[best] = False
        # j = argmax_{k != J} U_k
        rival = largest(upper, allowed, in_order, key, replication, time, 1)
        allowed[best] = True
        # the recommendation is the J of the round with the least bound
        if bounds[best] < smallest_bound[r]:
            smallest_bound[r], recommended[r, 0] = bounds[best], best
        # the arm to pull is the less known one of J and j
        if in_order:  # of two that are known equally well, J
            arms[r, 0] = best if widths[best] >= (1.0 - _ROUNDING) * widths[rival] else rival
        else:
            pair[best], pair[rival] = True, True
            arms[r, 0] = largest(widths, pair, False, key, replication, time, 2)
            pair[best], pair[rival] = False, False

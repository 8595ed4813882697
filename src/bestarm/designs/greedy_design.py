r"""The sequential G-allocation: pull, one at a time, the arm that most lowers the largest variance.

With :math:`A = \lambda I + \sum x x^\top` over the pulls so far, the next arm is

.. math:: \arg\min_j \max_i \|x_i\|^2_{(A + x_j x_j^\top)^{-1}}.

Only :math:`G = X A^{-1} X^\top` matters, and a pull of arm j lowers it by
:math:`G_{\cdot j} G_{j \cdot} / (1 + G_{jj})`, so a pull costs :math:`O(|\mathcal A|^2)` whatever the dimension. No
reward enters: the allocation depends on the arms alone.

The rule looks one pull ahead at a maximum. Once several arms share the largest variance, one pull cannot lower all of
them, so a longer budget does not make the allocation G-optimal: with random arms the largest leverage settles above the
optimum, sometimes at twice its value, and uniform pulls can be better.

References
----------
.. [1] Soare, Lazaric, Munos. "Best-Arm Identification in Linear Bandits". NIPS 2014. Section 3.
.. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8.
"""

import numpy as np
from numba import njit

from bestarm.designs.rounding import checked_budget, checked_features, checked_live
from bestarm.interface import BoolArray, FloatArray, IntArray

_EQUAL = 1e-10


def greedy_counts(
    features: FloatArray, live: BoolArray, budget: IntArray, *, regulariser: float = 1.0, intercept: bool = False
) -> IntArray:
    r"""Return how often the sequential G-allocation pulls each arm ([1]_, [2]_), row by row.

    ``features`` (ndarray, shape (S, K, d)): :math:`x_i` of every row; ``live`` (ndarray of bool, shape (S, K)): the
    arms that may be pulled, and whose variances count; ``budget`` (ndarray of int64, shape (S,)): number of pulls,
    spent exactly; ``regulariser``: :math:`\lambda > 0`, in squared units of the features. The authors' code of [2]_ has
    1; ``intercept``: whether the design has a constant feature 1 besides x, as in the authors' code of [2]_. Returns
    ndarray of int64, shape (S, K): pulls. Where arms tie (to ten digits), the one pulled least so far is taken, then
    the first. With orthogonal arms of equal length every choice but the last of a round leaves the same largest
    variance: always taking the first would give it the whole budget. There is no random choice. Raises ValueError if a
    row has no live arm, a budget is no positive whole number, the regulariser is not positive, a feature is not finite,
    or shapes do not fit."""
    arms = checked_live(live)
    x = checked_features(features, *arms.shape)
    pulls = checked_budget(budget, len(arms))
    if not (np.isfinite(regulariser) and regulariser > 0.0):
        raise ValueError(f"regulariser must be positive, for A to have an inverse, got {regulariser}; try 1.")
    return _greedy_rows(x, arms, pulls, float(regulariser), intercept)


@njit(cache=True)
def _next_arm(gram: FloatArray, counts: IntArray) -> int:
    """Return the arm after whose pull the largest variance is least."""
    n_arms = len(gram)
    worst = np.empty(n_arms)
    least = np.inf
    for j in range(n_arms):  # the largest variance after a pull of j: max_i G_ii - G_ji^2 / (1 + G_jj)
        scale, enough = 1.0 / (1.0 + gram[j, j]), least * (1.0 + _EQUAL)
        worst[j] = 0.0
        for i in range(n_arms):
            worst[j] = max(worst[j], gram[i, i] - gram[j, i] * gram[j, i] * scale)
            if worst[j] > enough:  # neither the least nor tied with it
                break
        least = min(least, worst[j])
    # of the arms that tie for the least, the one pulled least so far, then the first
    chosen = -1
    for j in range(n_arms):
        if worst[j] <= least * (1.0 + _EQUAL) and (chosen < 0 or counts[j] < counts[chosen]):
            chosen = j
    return chosen


@njit(cache=True)
def allocate(gram: FloatArray, budget: int) -> IntArray:
    """Return the pulls of each arm; ``gram`` is G before the first pull, and is updated in place."""
    n_arms = len(gram)
    counts, column = np.zeros(n_arms, dtype=np.int64), np.empty(n_arms)
    for _ in range(budget):
        j = _next_arm(gram, counts)
        counts[j] += 1
        column[:] = gram[j]
        scale = 1.0 / (1.0 + column[j])
        for i in range(n_arms):
            if column[i] != 0.0:  # zeros are many where arms are orthogonal
                for k in range(n_arms):
                    gram[i, k] -= scale * column[i] * column[k]
    return counts


@njit(cache=True)
def _greedy_rows(
    features: FloatArray, live: BoolArray, budget: IntArray, regulariser: float, intercept: bool
) -> IntArray:
    counts = np.zeros(live.shape, dtype=np.int64)
    for s in range(len(live)):
        arms = np.flatnonzero(live[s])
        x = features[s][arms]
        gram = (x @ x.T + (1.0 if intercept else 0.0)) / regulariser
        counts[s][arms] = allocate(gram, budget[s])
    return counts

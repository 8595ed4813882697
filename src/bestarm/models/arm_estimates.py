r"""Estimates of the arms of many replications from their counts and totals: least squares, or logistic regression.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Equations 1 and 4.
"""

import numpy as np
from numba import njit

from bestarm.designs.projection import span_basis
from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.regression import RIDGE, fit_least_squares, fit_logistic


@njit(cache=True)
def _estimate(
    features: FloatArray,
    feature_set: IntArray,
    live: BoolArray,
    counts: IntArray,
    totals: FloatArray,
    logistic: bool,
    ridge: float,
    found: FloatArray,
) -> None:
    """Write the linear predictor of every live arm, fitted in coordinates of what the pulled arms span."""
    last_set, last_arms = -1, np.empty(0, dtype=np.int64)
    basis, z = np.empty((0, 0)), np.empty((0, 0))
    for r in range(len(live)):
        x = features[feature_set[r]]
        # live arms that were pulled and whose total is known
        arms = np.flatnonzero(live[r] & (counts[r] > 0) & ~np.isnan(totals[r]))
        found[r] = 0.0
        if len(arms) == 0:
            continue
        if feature_set[r] != last_set or not np.array_equal(arms, last_arms):  # a basis costs more than a fit
            last_set, last_arms = feature_set[r], arms
            basis = span_basis(x[arms])
            z = x[arms] @ basis
        numbers, sums = counts[r][arms].astype(np.float64), totals[r][arms]
        if logistic:  # [1]_, Equation 4 or Equation 1
            theta = np.zeros(z.shape[1])
            fit_logistic(z, numbers, sums, ridge, theta)
        else:
            theta = fit_least_squares(z, numbers, sums)
        direction = basis @ theta  # from coordinates of the span back to features
        for a in np.flatnonzero(live[r]):
            found[r, a] = np.sum(x[a] * direction)


def least_squares_means(
    features: FloatArray, feature_set: IntArray, live: BoolArray, counts: IntArray, totals: FloatArray
) -> FloatArray:
    r"""Return :math:`x^\top V^+\sum_j x_jy_j` of every live arm, shape (R, K), 0 elsewhere ([1]_, Equation 1).

    The shortest of all least squares solutions, by projection onto the span of the arms that were pulled: the same as
    the pseudo-inverse of :math:`V=\sum_jn_jx_jx_j^\top`, and as the inverse where there is one. ``features`` (ndarray,
    shape (n_sets, K, d)): sets of features; ``feature_set`` (ndarray of int64, shape (R,)): which of them each
    replication has; ``live`` (ndarray of bool, shape (R, K)): arms whose rewards are used and predicted; ``counts``,
    ``totals`` (ndarray, shape (R, K)): pulls and sums of rewards of every arm; a total that is NaN is left out."""
    means = np.empty(live.shape)
    _estimate(features, feature_set, live, counts, totals, False, 0.0, means)
    return means


def _check_binary(counts: IntArray, totals: FloatArray) -> None:
    """Refuse totals that no sum of so many rewards 0 or 1 can be; NaN is a failed evaluation."""
    pulled = (counts > 0) & ~np.isnan(totals)
    wrong = pulled & ((totals < 0) | (totals > counts) | (totals != np.round(totals)))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            f"a logistic model needs rewards of 0 or 1, got a total of {totals[place]} from {counts[place]} "
            f"pulls at index {place}; use a linear model for other rewards."
        )


def logistic_scores(
    features: FloatArray,
    feature_set: IntArray,
    live: BoolArray,
    counts: IntArray,
    totals: FloatArray,
    ridge: float = RIDGE,
) -> FloatArray:
    r"""Return :math:`x^\top\hat\theta` of every live arm before the link, shape (R, K), 0 elsewhere ([1]_, Equation 4).

    ``features``, ``feature_set``, ``live``, ``counts``, ``totals``: as in `least_squares_means`, for rewards 0 and 1;
    ``ridge``: penalty on :math:`|\theta|^2/2`, positive. Raises ValueError if the ridge is not positive, or a total is
    none of so many rewards 0 or 1."""
    if not 0 < ridge < np.inf:
        raise ValueError(f"ridge must be positive, got {ridge}: without it separated rewards have no estimate.")
    _check_binary(counts, totals)
    scores = np.empty(live.shape)
    _estimate(features, feature_set, live, counts, totals, True, ridge, scores)
    return scores

r"""Least squares from the counts and totals of arms, batched over replications.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Equation 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bestarm.designs.projection import span_basis
from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.logistic import design, factorise, solve_lower, solve_upper


@njit(cache=True)
def _fit(
    features: FloatArray,
    feature_set: IntArray,
    live: BoolArray,
    counts: IntArray,
    totals: FloatArray,
    means: FloatArray,
) -> None:
    for r in range(len(live)):
        x = features[feature_set[r]]
        arms = np.flatnonzero(live[r] & (counts[r] > 0) & ~np.isnan(totals[r]))
        means[r] = 0.0
        if len(arms) == 0:
            continue
        basis = span_basis(x[arms])
        z = x[arms] @ basis
        theta = np.zeros(z.shape[1])
        for j in range(len(arms)):
            theta += totals[r, arms[j]] * z[j]
        v = design(z, counts[r][arms].astype(np.float64), 0.0)
        factorise(v)
        solve_lower(v, theta)
        solve_upper(v, theta)
        direction = basis @ theta
        for a in np.flatnonzero(live[r]):
            means[r, a] = np.sum(x[a] * direction)


def least_squares_means(
    features: FloatArray, feature_set: IntArray, live: BoolArray, counts: IntArray, totals: FloatArray
) -> FloatArray:
    r"""Return :math:`x^\top V^+\sum_j x_jy_j` of every live arm, shape (R, K), 0 elsewhere ([1]_, Equation 1).

    The shortest of all least squares solutions, by projection onto the span of the arms that were pulled: the same as
    the pseudo-inverse of :math:`V=\sum_jn_jx_jx_j^\top`, and as the inverse where there is one.

    Parameters
    ----------
    features : ndarray, shape (n_sets, K, d)
        Sets of features.
    feature_set : ndarray of int64, shape (R,)
        Which of them each replication has.
    live : ndarray of bool, shape (R, K)
        Arms whose rewards are used and predicted.
    counts, totals : ndarray, shape (R, K)
        Pulls and sums of rewards of every arm; a total that is NaN is left out.
    """
    means = np.empty(live.shape)
    _fit(features, feature_set, live, counts, totals, means)
    return means

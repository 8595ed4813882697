r"""Designs of single pairs of arms, compiled, and the design that a slip in the authors' code gives.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8.
.. [2] Xu, Honda, Sugiyama. "A fully adaptive algorithm for pure exploration in linear bandits". AISTATS 2018. Eq. 12.
"""

import numpy as np
from numba import njit
from scipy.optimize import minimize

from bestarm.designs.l1_design import best_vertices, l1_design, orthonormal_coordinates
from bestarm.interface import BoolArray, FloatArray, IntArray

_DIGITS = 10  # arms of equal weight tie, whatever the basis: a difference x_b - x_c often is its own design
_INDEPENDENT = 1e-9  # an arm whose leverage is so close to 1 is in no linear relation with the others


def related_arms(features: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return which arms are in a linear relation with others, and their coordinates in what those span.

    The weight of any other arm is fixed by the pair: 1, -1 or 0. One arm alone is in no relation but at the origin.
    ``features`` (ndarray, shape (n_sets, n_arms, n_features)): sets of arms; they may be collinear. Returned are which
    arms they are, of shape (n_sets, n_arms), and coordinates of shape (n_sets, n_arms, n_coordinates): orthonormal in
    the first columns, as many as the rank; 0 in the others, and for the other arms. Raises ValueError if a feature is
    not finite."""
    related, coordinates = np.zeros(features.shape[:2], dtype=np.bool_), np.zeros(features.shape)
    for s, arms in enumerate(features):
        x = orthonormal_coordinates(arms)
        related[s] = (x**2).sum(axis=1) < 1.0 - _INDEPENDENT
        if related[s].sum() > 1:
            z = orthonormal_coordinates(x[related[s]]) if x.shape[1] > 0 else x[related[s]]
            coordinates[s, related[s], : z.shape[1]] = z
    return related, coordinates


@njit(cache=True)
def _solve(
    related: BoolArray, coordinates: FloatArray, pairs: IntArray, weights: FloatArray, certified: BoolArray
) -> None:
    """Solve for all pairs (set, b, c), ordered by set; fill ``weights`` and ``certified``."""
    n_arms = related.shape[1]
    first, last = 0, 0
    while first < len(pairs):
        # the pairs of one set of arms share the dual polytope
        s = pairs[first, 0]
        while last < len(pairs) and pairs[last, 0] == s:
            last += 1
        arms = np.flatnonzero(related[s])
        place = np.full(n_arms, -1)
        place[arms] = np.arange(len(arms))
        rank = 0
        while rank < coordinates.shape[2] and np.any(coordinates[s, :, rank]):
            rank += 1
        # an arm that is in no relation with others has the weight 1 as b, -1 as c
        mine = np.empty((last - first, 2), dtype=np.int64)
        for p in range(first, last):
            for end in range(2):
                arm = pairs[p, 1 + end]
                mine[p - first, end] = place[arm]
                if place[arm] < 0:
                    weights[p, arm] += 1.0 - 2.0 * end
        certified[first:last] = True
        # the related arms: one walk over the vertices for all pairs
        if rank > 0:
            x = np.ascontiguousarray(coordinates[s][arms][:, :rank])
            found = np.zeros((last - first, len(arms)))
            best_vertices(x, mine, found, certified[first:last])
            for p in range(first, last):
                weights[p][arms] = np.round(found[p - first], _DIGITS)
        first = last


def l1_pairs(features: FloatArray, related: BoolArray, coordinates: FloatArray, pairs: IntArray) -> FloatArray:
    r"""Return the designs of smallest norm for some pairs of arms ([2]_), as `bestarm.designs.l1_design` does.

    Every solution carries a certificate of optimality; a pair without one goes to HiGHS. ``features`` (ndarray, shape
    (n_sets, n_arms, n_features)): sets of arms; ``related``, ``coordinates``: what `related_arms` says of them;
    ``pairs`` (ndarray of int64, shape (n_pairs, 3)): sets, in ascending order, and ordered pairs (b, c) of their arms.
    Returns ndarray, shape (n_pairs, n_arms): :math:`w^*(b, c)` to ten digits; an optimum that is not unique is some
    vertex of the set of optima. Raises ValueError if an arm does not exist."""
    n_arms = features.shape[1]
    if len(pairs) > 0 and not 0 <= pairs[:, 1:].min() <= pairs[:, 1:].max() < n_arms:
        raise ValueError(f"arms must lie between 0 and n_arms - 1 = {n_arms - 1}, got {np.unique(pairs[:, 1:])}.")
    weights, certified = np.zeros((len(pairs), n_arms)), np.zeros(len(pairs), dtype=np.bool_)
    _solve(related, coordinates, np.ascontiguousarray(pairs, dtype=np.int64), weights, certified)
    for p in np.flatnonzero(~certified):
        weights[p] = l1_design(features[pairs[p, 0]], int(pairs[p, 1]), int(pairs[p, 2]))
    return weights


def nonnegative_design(features: FloatArray, b: int, c: int) -> FloatArray:
    r"""Return what the authors' code of [1]_ takes for the design of a pair: it asks for :math:`w\geq0` as well.

    Its solver, sequential quadratic programming from the uniform design, then finds the optimum where there is one. In
    general there is none, since :math:`x_b-x_c` is no sum of arms; what is returned is where SciPy's solver gives up,
    which may depend on its version: on the adaptive instance a design that is almost uniform. ``features`` (ndarray,
    shape (n_arms, n_features)): arm features; ``b``, ``c``: the pair. Returns ndarray, shape (n_arms,): weights, at
    least 0."""
    target, ones = features[b] - features[c], np.ones(len(features))
    found = minimize(
        np.sum,
        ones / len(features),
        jac=lambda w: ones,
        method="SLSQP",
        bounds=[(0.0, None)] * len(features),
        constraints={"type": "eq", "fun": lambda w: w @ features - target, "jac": lambda w: features.T},
    )
    return np.maximum(found.x, 0.0)

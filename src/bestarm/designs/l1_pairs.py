r"""The designs of `bestarm.designs.l1_design` for the pairs that a search meets, compiled; and the published slip.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8.
.. [2] Xu, Honda, Sugiyama. "A fully adaptive algorithm for pure exploration in linear bandits". AISTATS 2018. Eq. 12.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit
from scipy.optimize import minimize

from bestarm.designs.l1_design import (
    _coordinates,
    _find_vertex,
    _first_hit,
    _is_certified,
    _leaving_arm,
    l1_design,
)
from bestarm.interface import BoolArray, FloatArray, IntArray

_NEGLIGIBLE = 1e-9
_DIGITS = 10  # arms of equal weight tie, whatever the basis: a difference x_b - x_c often is its own design
_INDEPENDENT = 1e-9  # an arm whose leverage is so close to 1 is in no linear relation with the others
_PIVOTS_BETWEEN_REFACTORISATIONS = 50


@njit(cache=True)
def _solve(x: FloatArray, targets: FloatArray, weights: FloatArray, certified: BoolArray) -> None:
    """Walk on the edges of the dual polytope from the best vertex of one target to that of the next.

    The dual simplex method of `bestarm.designs.l1_design`, for some pairs; ``targets`` are their differences, shape
    (n_pairs, N), and ``weights`` has shape (n_pairs, K).
    """
    n_arms, n_features = x.shape
    arms, signs = _find_vertex(x)
    if signs[0] == 0.0:
        return
    active = np.zeros(n_arms, np.bool_)
    active[arms] = True
    age, patience = _PIVOTS_BETWEEN_REFACTORISATIONS, 10 * (n_arms + n_features)
    edges, y, heights = np.zeros((n_features, n_features)), np.zeros(n_features), np.zeros(n_arms)
    slopes = np.zeros(n_features)
    for p in range(len(targets)):
        target = targets[p]
        for pivot in range(10 * patience):
            if age >= _PIVOTS_BETWEEN_REFACTORISATIONS:
                edges = np.ascontiguousarray(np.linalg.inv(x[arms]).T)
                y = signs @ edges
                heights = x @ y
                age = 0
            slopes = edges @ target
            r = _leaving_arm(arms, signs * slopes, pivot > patience)
            if r < 0:
                break
            ray = -signs[r] * edges[r]
            rates = x @ ray
            entering, distance = _first_hit(heights, rates, active)
            age += 1
            if distance >= 2.0:  # the arm that leaves one face is the first to reach the opposite one
                signs[r], distance = -signs[r], 2.0
            else:
                active[arms[r]], active[entering] = False, True
                arms[r], signs[r] = entering, np.sign(rates[entering])
                shares = edges @ x[entering]
                edges[r] /= shares[r]
                for other in range(n_features):
                    if other != r and shares[other] != 0.0:
                        edges[other] -= shares[other] * edges[r]
            y = y + distance * ray
            heights = heights + distance * rates
        design = np.zeros(n_arms)
        design[arms] = slopes
        certified[p] = _is_certified(x, target, design, y)
        if certified[p]:
            weights[p] = np.where(np.abs(design) < _NEGLIGIBLE, 0.0, np.round(design, _DIGITS))
        else:
            age = _PIVOTS_BETWEEN_REFACTORISATIONS


def l1_pairs(features: FloatArray, pairs: IntArray) -> FloatArray:
    r"""Return the designs of smallest norm for some pairs of arms ([2]_), as `bestarm.designs.l1_design` does.

    Every solution carries a certificate of optimality; a pair without one goes to HiGHS.

    Parameters
    ----------
    features : ndarray, shape (n_arms, n_features)
        Arm features; they may be collinear.
    pairs : ndarray of int64, shape (n_pairs, 2)
        Ordered pairs (b, c).

    Returns
    -------
    ndarray, shape (n_pairs, n_arms)
        :math:`w^*(b, c)`; an optimum that is not unique is some vertex of the set of optima.

    Raises
    ------
    ValueError
        If a feature is not finite, or an arm does not exist.
    """
    x, pairs = np.ascontiguousarray(features, dtype=np.float64), np.ascontiguousarray(pairs, dtype=np.int64)
    n_arms = len(x)
    if len(pairs) > 0 and not 0 <= pairs.min() <= pairs.max() < n_arms:
        raise ValueError(f"arms must lie between 0 and n_arms - 1 = {n_arms - 1}, got {pairs.min()} and {pairs.max()}.")
    related, z = _prepared(x.tobytes(), *x.shape)
    rows, weights = np.arange(len(pairs)), np.zeros((len(pairs), n_arms))
    if (x == 0.0).all():
        return weights
    weights[rows, pairs[:, 0]] += 1.0
    weights[rows, pairs[:, 1]] -= 1.0
    if len(related) == 0 or len(pairs) == 0:
        return weights
    if z.shape[1] == 0:  # arms at the origin
        weights[:, related] = 0.0
        return weights
    targets, certified = weights[:, related] @ z, np.zeros(len(pairs), dtype=np.bool_)
    found = np.zeros((len(pairs), len(related)))
    _solve(z, targets, found, certified)
    weights[:, related] = found
    for p in np.flatnonzero(~certified):
        weights[p] = l1_design(features, int(pairs[p, 0]), int(pairs[p, 1]))
    return weights


@lru_cache(maxsize=512)
def _prepared(features: bytes, n_arms: int, n_features: int) -> tuple[IntArray, FloatArray]:
    """Return the arms that are in a linear relation with others, and their coordinates in what they span.

    The weight of any other arm is fixed by the pair: 1, -1 or 0. One arm alone is in no relation but at the origin.
    """
    x = _coordinates(np.frombuffer(features).reshape(n_arms, n_features))
    related = np.flatnonzero((x**2).sum(axis=1) < 1.0 - _INDEPENDENT)
    return related, _coordinates(x[related]) if len(related) > 1 and x.shape[1] > 0 else np.zeros((len(related), 0))


def nonnegative_design(features: FloatArray, b: int, c: int) -> FloatArray:
    r"""Return what the code published with [1]_ takes for the design of a pair: it asks for :math:`w\geq0` as well.

    Its solver, sequential quadratic programming from the uniform design, then finds the optimum where there is one.
    In general there is none, since :math:`x_b-x_c` is no sum of arms; what is returned is where SciPy's solver gives
    up, which may depend on its version: on the adaptive instance a design that is almost uniform.

    Parameters
    ----------
    features : ndarray, shape (n_arms, n_features)
        Arm features.
    b, c : int
        The pair.

    Returns
    -------
    ndarray, shape (n_arms,)
        Weights, at least 0.
    """
    target, ones = features[b] - features[c], np.ones(len(features))
    found = minimize(
        np.sum, ones / len(features), jac=lambda w: ones, method="SLSQP", bounds=[(0.0, None)] * len(features),
        constraints={"type": "eq", "fun": lambda w: w @ features - target, "jac": lambda w: features.T},
    )  # fmt: skip
    return np.maximum(found.x, 0.0)

r"""The design of smallest :math:`\ell_1` norm that estimates the difference of two arms.

Among all ways to write :math:`x_b - x_c = \sum_a w_a x_a`, the one with the smallest :math:`\|w\|_1` says in which
proportions :math:`|w_a|` to pull the arms so that the difference of the means of b and c is known best. It is the
program behind the optimised selection rule and behind the complexity constant of m-LinGapE with that rule.

One pair is left to HiGHS. All pairs of one set of arms share their dual,

.. math:: \max_y\ (x_b - x_c)^\top y \quad \text{subject to} \quad |x_a^\top y| \leq 1 \text{ for every arm } a,

a polytope that does not depend on the pair, so a compiled solver walks on its edges from the best vertex of one pair to
that of the next (the dual simplex method, warm-started).

References
----------
.. [1] Réda, Kaufmann, Delahaye-Duriez. "Top-m identification for linear bandits". AISTATS 2021. Eq. 1.
.. [2] Xu, Honda, Sugiyama. "A fully adaptive algorithm for pure exploration in linear bandits". AISTATS 2018. Eq. 12.
.. [3] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import linprog, minimize

from bestarm.interface import Arms, BoolArray, FloatArray, IntArray

# Weights are of order one (their absolute values sum to at most 2), and so are the arms in orthonormal coordinates.
_NEGLIGIBLE = 1e-9  # smaller weights are rounding; so are smaller violations of the dual constraints
_COLLINEAR = 1e-10  # directions that carry less than this share of the features are rounding of the data
_WRONG_SIGN = 1e-11
_ZERO_RATE = 1e-11
_RESIDUAL = 1e-10
_PIVOTS_BETWEEN_REFACTORISATIONS = 50
_DIGITS = 10  # arms of equal weight tie, whatever the basis: a difference x_b - x_c often is its own design
_INDEPENDENT = 1e-9  # an arm whose leverage is so close to 1 is in no linear relation with the others


class L1Designs(NamedTuple):
    """Designs of all ordered pairs of one set of arms."""

    weights: FloatArray  # ``weights[b, c]`` is that of the pair (b, c), (n_arms, n_arms, n_arms)
    n_fallbacks: int  # pairs b < c that the compiled solver did not certify, and that HiGHS solved


def l1_design(features: FloatArray, b: int, c: int) -> FloatArray:
    r"""Return the design of smallest norm for one pair of arms ([1]_, Eq. 1).

    .. math:: w^*(b, c) = \arg\min_w \|w\|_1 \quad \text{subject to} \quad \sum_a w_a x_a = x_b - x_c.

    ``features`` (ndarray, shape (n_arms, n_features)): arm features :math:`x_a`; they may be collinear (singular values
    below 1e-10 of the largest count as 0), and there may be fewer arms than features; ``b``, ``c``: the two arms.
    Returns ndarray, shape (n_arms,): :math:`w^*(b, c)`, without unit. An optimum that is not unique is some vertex of
    the set of optima. Weights below 1e-9 in absolute value are set to 0. Raises ValueError if a feature is not finite,
    or an arm does not exist. Raises RuntimeError if HiGHS finds no optimum, which only numerical trouble can cause:
    :math:`e_b - e_c` is always feasible."""
    x = orthonormal_coordinates(features)
    n_arms, rank = x.shape
    for arm in (b, c):
        if not 0 <= arm < n_arms:
            raise ValueError(f"arms must lie between 0 and n_arms - 1 = {n_arms - 1}, got the pair ({b}, {c}).")
    if rank == n_arms:
        identity = np.eye(n_arms)
        return identity[b] - identity[c]
    if rank == 0:  # every arm is the origin: nothing needs estimating
        return np.zeros(n_arms)
    for tolerance in (1e-10, 1e-7):  # HiGHS gives up on nearly equal arms at the first, rarely at the second
        solution = linprog(
            np.ones(2 * n_arms),  # w = positive part - negative part
            A_eq=np.hstack([x.T, -x.T]),
            b_eq=x[b] - x[c],
            bounds=(0, None),
            method="highs-ds",
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if solution.success:
            break
    else:
        raise RuntimeError(
            f"The linear program of Eq. 1 must have an optimum, but HiGHS found none for arms {b} and {c}: "
            f"{solution.message} Look for arms that are almost, but not quite, equal."
        )
    weights: FloatArray = solution.x[:n_arms] - solution.x[n_arms:]
    weights[np.abs(weights) < _NEGLIGIBLE] = 0.0
    return weights


def l1_designs(features: FloatArray) -> L1Designs:
    r"""Return the designs of all pairs of arms ([1]_, Eq. 1), with a compiled solver.

    Independent arms leave no choice, :math:`w^*(b, c) = e_b - e_c`. Otherwise every solution carries a certificate
    (feasible weights and a feasible dual vertex whose active arms have the signs of the weights); a pair without one
    goes to HiGHS and is counted. Meant for many small programs: the result has :math:`K^3` numbers. ``features``
    (ndarray, shape (n_arms, n_features)): arm features :math:`x_a`. Returns weights of shape (n_arms, n_arms, n_arms),
    with ``weights[c, b] == -weights[b, c]``, and the number of pairs that HiGHS had to solve. Raises ValueError if a
    feature is not finite. Raises RuntimeError if neither solver finds an optimum."""
    x = orthonormal_coordinates(features)
    n_arms, rank = x.shape
    if rank == n_arms:
        identity = np.eye(n_arms)
        return L1Designs(identity[:, None, :] - identity[None, :, :], 0)
    if rank == 0:
        return L1Designs(np.zeros((n_arms, n_arms, n_arms)), 0)
    weights, pairs = np.zeros((n_arms, n_arms, n_arms)), np.argwhere(np.triu(np.ones((n_arms, n_arms)), 1))
    found, certified = np.zeros((len(pairs), n_arms)), np.zeros(len(pairs), dtype=np.bool_)
    best_vertices(x, pairs, found, certified)
    weights[pairs[:, 0], pairs[:, 1]] = found
    failed = pairs[~certified]
    for b, c in failed:
        weights[b, c] = l1_design(features, int(b), int(c))
    weights -= weights.transpose(1, 0, 2)
    return L1Designs(weights, len(failed))


def orthonormal_coordinates(features: FloatArray) -> FloatArray:
    """Return orthonormal coordinates, shape (n_arms, rank), of the arms in the space that they span.

    A design depends on that space only, and in these coordinates every tolerance has one scale.
    """
    x = Arms(features).features
    if x.ndim != 2:
        raise ValueError(f"features must have shape (n_arms, n_features), got {x.shape}. Pass one set of arms.")
    coordinates, singular_values, _ = np.linalg.svd(x, full_matrices=False)
    return np.ascontiguousarray(coordinates[:, singular_values > _COLLINEAR * singular_values[0]])


@njit(cache=True)
def _first_hit(heights: FloatArray, rates: FloatArray, active: BoolArray) -> tuple[int, float]:
    r"""Return the first inactive arm to reach :math:`|x_a^\top y| = 1` along a ray, and how far along; -1 if none."""
    arm, distance = -1, np.inf
    for k in range(len(heights)):
        if active[k] or abs(rates[k]) < _ZERO_RATE:
            continue
        reach = max((1.0 - np.sign(rates[k]) * heights[k]) / abs(rates[k]), 0.0)
        if reach < distance:
            arm, distance = k, reach
    return arm, distance


@njit(cache=True)
def _find_vertex(x: FloatArray) -> tuple[IntArray, FloatArray]:
    """Walk from the centre of the polytope to a vertex; return its N active arms and their signs (0: none found)."""
    n_arms, n_features = x.shape
    arms, signs = np.zeros(n_features, np.int64), np.zeros(n_features)
    y, active = np.zeros(n_features), np.zeros(n_arms, np.bool_)
    basis = np.zeros((n_features, n_features))  # orthonormal, spans the active arms
    for n in range(n_features):
        axis = np.argmin((basis**2).sum(axis=0))  # the axis that the active arms explain least
        ray = -basis.T @ np.ascontiguousarray(basis[:, axis])
        ray[axis] += 1.0
        rates = x @ ray
        arm, distance = _first_hit(x @ y, rates, active)
        if arm < 0:
            return arms, np.zeros(n_features)
        y += distance * ray
        arms[n], signs[n], active[arm] = arm, np.sign(rates[arm]), True
        direction = x[arm].copy()
        for _ in range(2):  # one pass of Gram-Schmidt loses orthogonality for nearly dependent arms
            direction -= basis.T @ (basis @ direction)
        basis[n] = direction / np.sqrt((direction**2).sum())
    return arms, signs


@njit(cache=True)
def _leaving_arm(arms: IntArray, signed_weights: FloatArray, by_index: bool) -> int:
    """Return the position of the active arm to leave, -1 at the optimum: the worst sign, or the first arm (Bland)."""
    leaving = -1
    for r in range(len(arms)):
        if signed_weights[r] < -_WRONG_SIGN and (
            leaving < 0 or (arms[r] < arms[leaving] if by_index else signed_weights[r] < signed_weights[leaving])
        ):
            leaving = r
    return leaving


@njit(cache=True)
def _is_certified(x: FloatArray, target: FloatArray, weights: FloatArray, y: FloatArray) -> bool:
    """Tell whether the weights are feasible and the dual point is, which together with the signs proves optimality."""
    return (
        np.abs(weights @ x - target).max() < _RESIDUAL
        and np.abs(x @ y).max() < 1.0 + _NEGLIGIBLE
        and abs(np.abs(weights).sum() - target @ y) < _NEGLIGIBLE
    )


@njit(cache=True)
def _climb(
    x: FloatArray,
    target: FloatArray,
    arms: IntArray,
    signs: FloatArray,
    active: BoolArray,
    edges: FloatArray,
    y: FloatArray,
    heights: FloatArray,
    age: int,
) -> tuple[FloatArray, int]:
    """Walk from a vertex to the best one of a target, in place; return the weights of its active arms, and the age.

    At a vertex y of the polytope N arms are active. Row r of ``edges`` is the edge on which arm r alone leaves its
    face: the weights that write a target in terms of the active arms are the slopes of the target along the edges. The
    vertex is the best one when every weight has the sign of its arm; otherwise the walk follows an edge that goes up.
    ``heights`` are the products of the arms with y, ``age`` counts pivots since the edges were last computed afresh.
    """
    n_arms, n_features = x.shape
    patience = 10 * (n_arms + n_features)  # pivots before Bland's rule, which cannot cycle but is slow
    slopes = np.zeros(n_features)
    for pivot in range(10 * patience):
        if age >= _PIVOTS_BETWEEN_REFACTORISATIONS:
            edges[:] = np.linalg.inv(x[arms]).T
            y[:] = signs @ edges
            heights[:] = x @ y
            age = 0
        slopes = edges @ target  # the weights of the active arms that write the target
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
            # pivot: the entering arm takes the place of arm r
            shares = edges @ x[entering]
            edges[r] /= shares[r]
            for other in range(n_features):
                if other != r and shares[other] != 0.0:
                    edges[other] -= shares[other] * edges[r]
        y += distance * ray
        heights += distance * rates
    return slopes, age


@njit(cache=True)
def best_vertices(x: FloatArray, pairs: IntArray, weights: FloatArray, certified: BoolArray) -> None:
    """Walk on the edges of the dual polytope from the best vertex of one pair of arms to that of the next.

    ``x`` (ndarray, shape (n_arms, rank)): arms that span their space; ``pairs`` (ndarray of int64, shape (n_pairs, 2)):
    ordered pairs; -1 is an arm at the origin; ``weights`` (ndarray, shape (n_pairs, n_arms)): overwritten by the
    designs that are certified; the others stay; ``certified`` (ndarray of bool, shape (n_pairs,)): overwritten."""
    n_arms, n_features = x.shape
    arms, signs = _find_vertex(x)
    certified[:] = False
    if signs[0] == 0.0:
        return
    active = np.zeros(n_arms, np.bool_)
    active[arms] = True
    edges, y, heights = np.zeros((n_features, n_features)), np.zeros(n_features), np.zeros(n_arms)
    age = _PIVOTS_BETWEEN_REFACTORISATIONS
    for p in range(len(pairs)):
        target = np.zeros(n_features)
        if pairs[p, 0] >= 0:
            target += x[pairs[p, 0]]
        if pairs[p, 1] >= 0:
            target -= x[pairs[p, 1]]
        # from the best vertex of the pair before to that of this one
        slopes, age = _climb(x, target, arms, signs, active, edges, y, heights, age)
        # [1]_, Eq. 1: only arms that are active at the vertex have weights
        design = np.zeros(n_arms)
        design[arms] = slopes
        certified[p] = _is_certified(x, target, design, y)
        if certified[p]:
            weights[p] = np.where(np.abs(design) < _NEGLIGIBLE, 0.0, design)
        else:
            age = _PIVOTS_BETWEEN_REFACTORISATIONS


def related_arms(features: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return which arms are in a linear relation with others, and their coordinates in what those span.

    The weight of any other arm is fixed by the pair: 1, -1 or 0. One arm alone is in no relation but at the origin.
    ``features`` (ndarray, shape (n_sets, n_arms, n_features)): sets of arms; they may be collinear. Returned are which
    arms they are, of shape (n_sets, n_arms), and coordinates of shape (n_sets, n_arms, n_coordinates): orthonormal in
    the first columns, as many as the rank; 0 in the others, and for the other arms. Not finite: a ValueError."""
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
        if rank > 0:  # the related arms: one walk over the vertices for all pairs
            x = np.ascontiguousarray(coordinates[s][arms][:, :rank])
            found = np.zeros((last - first, len(arms)))
            best_vertices(x, mine, found, certified[first:last])
            for p in range(first, last):
                weights[p][arms] = np.round(found[p - first], _DIGITS)
        first = last


def l1_pairs(features: FloatArray, related: BoolArray, coordinates: FloatArray, pairs: IntArray) -> FloatArray:
    r"""Return the designs of smallest norm for some pairs of arms ([2]_), as `l1_design` does.

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
    r"""Return what the authors' code of [3]_ takes for the design of a pair: it asks for :math:`w\geq0` as well.

    Its solver, sequential quadratic programming from the uniform design, then finds the optimum where there is one. In
    general there is none, since :math:`x_b-x_c` is no sum of arms; what is returned is where SciPy's solver gives up,
    which may depend on its version: on the adaptive instance a design that is almost uniform. ``features`` (ndarray,
    shape (n_arms, n_features)): arm features; ``b``, ``c``: the pair. Returns weights >= 0, (n_arms,)."""
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

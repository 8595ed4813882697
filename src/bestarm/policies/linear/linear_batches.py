r"""Batches chosen with linear functions, of which those that are plausible form a ball or an ellipsoid.

The plausible parameters are :math:`\hat\theta+M^\top u` with :math:`\|u\|\leq1`: a ball of what is not yet known (no
misspecification), or an ellipsoid. A batch with the sum of features s promises at most
:math:`\hat\theta^\top s+\|Ms\|`.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Equation 1
   with :math:`\mathbb{A}_{\max,b}`, Algorithms 2 and 3.
"""

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray

NEGLIGIBLE = 1e-9


@njit(cache=True)
def _largest(scores: FloatArray, order: FloatArray, arms: IntArray, size: int, found: IntArray) -> None:
    """Write the positions with the largest scores to ``found``; ``order`` of the arms breaks ties."""
    n = 0
    for i in range(len(scores)):
        if n == size:
            last = found[n - 1]
            better = scores[i] > scores[last] or (scores[i] == scores[last] and order[arms[i]] > order[arms[last]])
            if not better:
                continue
        else:
            n += 1
        # insertion, the largest first
        place = n - 1
        while place > 0:
            other = found[place - 1]
            if scores[i] < scores[other] or (scores[i] == scores[other] and order[arms[i]] < order[arms[other]]):
                break
            found[place] = other
            place -= 1
        found[place] = i


@njit(cache=True)
def optimistic_batches(
    features: FloatArray,
    feature_set: IntArray,
    estimate: FloatArray,
    widths: FloatArray,
    available: BoolArray,
    order: FloatArray,
    size: int,
    n_starts: int,
) -> tuple[IntArray, FloatArray, FloatArray]:
    r"""Return batches that maximise :math:`\hat\theta^\top s+\|Ms\|`, s the sum of the batch, by alternation.

    Given u, the best batch has the largest :math:`\hat\theta^\top a+u^\top Ma`; given the batch, the best u is
    :math:`Ms/\|Ms\|`. The value never falls. The starts are the directions of the arms with the largest index
    :math:`\hat\theta^\top a+\|Ma\|`; the largest value is kept. For one arm it is the exact maximum, for more a local
    one. ``features``, ``feature_set`` (ndarray, shapes (n_sets, n_arms, d) and (R,)): arms, and which set of them each
    replication has; ``estimate``, ``widths`` (ndarray, shapes (R, d) and (R, d, d)): centre of the plausible
    parameters, and M; ``available``, ``order`` (ndarray, shape (R, n_arms)): arms not yet pulled, at least ``size`` in
    each row; random draws that break ties; ``size``, ``n_starts``: arms of a batch; starts of the alternation. Returns
    batches, shape (R, size), what they promise, (R,), and the optimistic parameters, (R, d), that promise it."""
    n_rows, n_features = estimate.shape
    chosen = np.empty((n_rows, size), dtype=np.int64)
    values, models = np.empty(n_rows), estimate.copy()
    for r in range(n_rows):
        arms = np.flatnonzero(available[r])
        x = features[feature_set[r]][arms]
        base = x @ estimate[r]
        wide = x @ np.ascontiguousarray(widths[r].T)
        norms = np.sqrt((wide**2).sum(axis=1))
        index = base + norms
        batch = np.empty(size, dtype=np.int64)
        if size == 1 or norms.max() <= NEGLIGIBLE:  # nothing to alternate
            _largest(index, order[r], arms, size, batch)
            total = np.zeros(n_features)
            value = 0.0
            for i in batch:
                value += base[i]
                total += wide[i]
            norm = np.sqrt((total**2).sum())
            chosen[r], values[r] = arms[batch], value + norm
            if norm > NEGLIGIBLE:
                models[r] += np.ascontiguousarray(widths[r].T) @ total / norm
            continue
        starts = np.empty(min(n_starts, len(arms)), dtype=np.int64)
        _largest(index, order[r], arms, len(starts), starts)
        directions = np.empty((len(starts), n_features))
        n = 0
        for i in starts:  # copies of an arm are one start
            if norms[i] > NEGLIGIBLE:
                directions[n] = wide[i] / norms[i]
                if n == 0 or (directions[:n] @ directions[n]).max() < 1.0 - NEGLIGIBLE:
                    n += 1
        if n == 0:  # the arms with the largest index are known, but others are not
            directions[0], n = wide[np.argmax(norms)] / norms.max(), 1
        reached = np.full(n, -np.inf)
        values[r] = -np.inf
        while n > 0:
            # given u, the best batch; given the batch, the best u; a start that no longer gains is dropped
            scores = directions[:n] @ wide.T
            kept = 0
            for k in range(n):
                _largest(base + scores[k], order[r], arms, size, batch)
                total = np.zeros(n_features)
                value = 0.0
                for i in batch:
                    value += base[i]
                    total += wide[i]
                norm = np.sqrt((total**2).sum())
                value += norm
                if value > values[r]:
                    values[r], chosen[r] = value, arms[batch]
                    models[r] = estimate[r]
                    if norm > NEGLIGIBLE:
                        models[r] += np.ascontiguousarray(widths[r].T) @ total / norm
                if value > reached[k] + NEGLIGIBLE and norm > NEGLIGIBLE:
                    reached[kept], directions[kept] = value, total / norm
                    kept += 1
            n = kept
    return chosen, values, models


@njit(cache=True)
def sequential_batches(
    features: FloatArray,
    feature_set: IntArray,
    estimate: FloatArray,
    widths: FloatArray,
    least: FloatArray,
    available: BoolArray,
    order: FloatArray,
    size: int,
) -> IntArray:
    r"""Return batches chosen arm after arm, each followed by the label in the middle of what is plausible, (R, size).

    That label changes neither the centre nor the radius and makes the arm's direction known, so it is projected out of
    all widths. Parameters are those of `optimistic_batches`; a direction counts as known already if the arm's width is
    at most ``least``, shape (R,).
    """
    n_rows = len(estimate)
    chosen = np.empty((n_rows, size), dtype=np.int64)
    best = np.empty(1, dtype=np.int64)
    for r in range(n_rows):
        arms = np.flatnonzero(available[r])
        x = features[feature_set[r]][arms]
        base = x @ estimate[r]
        if np.abs(widths[r]).max() <= NEGLIGIBLE:
            top = np.empty(size, dtype=np.int64)
            _largest(base, order[r], arms, size, top)
            chosen[r] = arms[top]
            continue
        wide = x @ np.ascontiguousarray(widths[r].T)
        squares = (wide**2).sum(axis=1)
        for place in range(size):
            # [1]_, Algorithm 3: the arm with the largest optimistic value
            _largest(base + np.sqrt(np.maximum(squares, 0.0)), order[r], arms, 1, best)
            i = best[0]
            chosen[r, place] = arms[i]
            base[i] = -np.inf
            norm = np.sqrt(max(squares[i], 0.0))
            if norm > least[r] and place + 1 < size:
                direction = wide[i] / norm  # its virtual label makes the arm's direction known
                along = wide @ direction
                wide -= np.outer(along, direction)
                squares = (wide**2).sum(axis=1)
    return chosen


@njit(cache=True)
def log_det_batches(
    features: FloatArray,
    feature_set: IntArray,
    estimate: FloatArray,
    widths: FloatArray,
    available: BoolArray,
    order: FloatArray,
    size: int,
    diversity: float,
    noise: float,
) -> IntArray:
    r"""Return batches that greedily maximise the indices plus :math:`\lambda_{div}\log\det(I+s^{-2}MB^\top BM^\top)`.

    B has an arm of the batch in each row. Parameters are those of `optimistic_batches`; ``diversity`` is
    :math:`\lambda_{div}` and ``noise`` is s: widths far below it add nothing to the determinant, so what is known is
    not spread out.
    """
    n_rows = len(estimate)
    chosen = np.empty((n_rows, size), dtype=np.int64)
    best = np.empty(1, dtype=np.int64)
    for r in range(n_rows):
        arms = np.flatnonzero(available[r])
        x = features[feature_set[r]][arms]
        if np.abs(widths[r]).max() <= NEGLIGIBLE:
            top = np.empty(size, dtype=np.int64)
            _largest(x @ estimate[r], order[r], arms, size, top)
            chosen[r] = arms[top]
            continue
        wide = x @ np.ascontiguousarray(widths[r].T) / noise
        gains = (wide**2).sum(axis=1)  # |Ma|^2 / s^2, given the arms chosen
        index = x @ estimate[r] + noise * np.sqrt(gains)
        for place in range(size):
            # [1]_, Algorithm 2, greedily: one more arm raises the log determinant by log(1 + gain)
            _largest(index + diversity * np.log1p(np.maximum(gains, 0.0)), order[r], arms, 1, best)
            i = best[0]
            chosen[r, place] = arms[i]
            root = np.sqrt(1.0 + gains[i])  # the widths times the inverse root of I + ww', w that of the arm
            direction = wide[i].copy()
            wide -= np.outer(wide @ direction, direction) / (root * (root + 1.0))
            gains = (wide**2).sum(axis=1)
            index[i] = -np.inf
    return chosen

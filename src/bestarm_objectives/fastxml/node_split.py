"""The split of a node of FastXML: sides that rank their labels best, then a sparse linear rule, compiled."""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.streams import uniform
from bestarm_objectives.fastxml.sparse_logistic import l1_logistic

SMALLEST_GAIN = 1e-6
MAX_ROUNDS = 100


class SparseRows(NamedTuple):
    """A sparse matrix by rows: row i has ``columns[starts[i]:starts[i + 1]]``."""

    starts: IntArray
    columns: IntArray
    values: FloatArray


@njit(cache=True)
def ranking_partition(starts: IntArray, labels: IntArray, n_labels: int, sides: IntArray) -> float:
    r"""Improve a partition of points by the nDCG of the two label rankings that it implies (Section 4).

    In turn, labels are ranked on either side by the sum of :math:`I(y_i)y_i`, and points go to the side whose ranking
    suits their labels better. A point that gains nothing stays. Labels of the points, numbered from 0, are compressed
    by rows; ``sides`` ±1, shape (n,), are improved in place. The mean nDCG of the last pair of rankings is returned.
    """
    n = sides.shape[0]
    discounts, ideal = np.empty(n_labels + 1), np.zeros(n_labels + 2)
    # discounts 1 / log2(1 + rank) for ranks from 1; I(y) is one over the sum of the first |y|
    for rank in range(n_labels + 1):
        discounts[rank] = 1.0 / np.log2(rank + 2.0)
        ideal[rank + 1] = ideal[rank] + discounts[rank]
    score = -np.inf
    for _ in range(MAX_ROUNDS):
        # rankings: labels by the sum of I(y_i) y_i of either side
        sums = np.zeros((2, n_labels))
        for i in range(n):
            side = 1 if sides[i] > 0 else 0
            count = starts[i + 1] - starts[i]
            for p in range(starts[i], starts[i + 1]):
                sums[side, labels[p]] += 1.0 / ideal[count]
        advantage, reached = np.zeros(n_labels), 0.0
        for side in range(2):
            # what a label gains on the positive side
            order = np.argsort(-sums[side], kind="mergesort")
            for rank in range(n_labels):
                advantage[order[rank]] += discounts[rank] if side == 1 else -discounts[rank]
                reached += discounts[rank] * sums[side, order[rank]]
        for i in range(n):
            gain = 0.0
            for p in range(starts[i], starts[i + 1]):
                gain += advantage[labels[p]]
            # sides: where the ranking has the larger nDCG
            if gain > 0.0:
                sides[i] = 1
            elif gain < 0.0:
                sides[i] = -1
        reached /= n
        if reached - score < SMALLEST_GAIN:
            return reached
        score = reached
    return score


@njit(cache=True)
def own_labels(points: IntArray, labels: SparseRows, place: IntArray) -> tuple:
    """Return the labels of some points compressed to those that occur, and which those are, in order."""
    starts, columns, _ = labels
    n, total = points.shape[0], 0
    for i in points:
        total += starts[i + 1] - starts[i]
        for p in range(starts[i], starts[i + 1]):
            place[columns[p]] = 0
    # labels that occur are numbered in order
    present = np.flatnonzero(place == 0)
    for number in range(present.shape[0]):
        place[present[number]] = number
    own_starts, own = np.zeros(n + 1, dtype=np.int64), np.empty(total, dtype=np.int64)
    filled = 0
    for s in range(n):
        for p in range(starts[points[s]], starts[points[s] + 1]):
            own[filled] = place[columns[p]]
            filled += 1
        own_starts[s + 1] = filled
    # ``place`` is left as it was
    for label in present:
        place[label] = -1
    return own_starts, own, present


@njit(cache=True)
def _own_columns(points: IntArray, features: SparseRows, bias: float, counts: IntArray) -> tuple:
    """Return the features of some points by columns, those that occur and the bias as the last."""
    starts, columns, values = features
    n, n_features = points.shape[0], counts.shape[0]
    counts[:] = 0
    total = n
    for i in points:
        total += starts[i + 1] - starts[i]
        for p in range(starts[i], starts[i + 1]):
            counts[columns[p]] += 1
    # counting sort by columns: from here on ``counts`` is where a column's next entry goes
    present = np.flatnonzero(counts)
    own_starts = np.zeros(present.shape[0] + 2, dtype=np.int64)
    for number in range(present.shape[0]):
        own_starts[number + 1] = own_starts[number] + counts[present[number]]
        counts[present[number]] = own_starts[number]
    own_starts[-1] = total
    rows, own = np.empty(total, dtype=np.int64), np.empty(total)
    for s in range(n):
        for p in range(starts[points[s]], starts[points[s] + 1]):
            at = counts[columns[p]]
            rows[at], own[at] = s, values[p]
            counts[columns[p]] += 1
        # the bias is the last column
        at = own_starts[-2] + s
        rows[at], own[at] = s, bias
    named = np.empty(present.shape[0] + 1, dtype=np.int64)
    named[:-1], named[-1] = present, n_features
    return own_starts, rows, own, named


@njit(cache=True)
def split_node(
    points: IntArray,
    features: SparseRows,
    labels: SparseRows,
    counts: IntArray,
    place: IntArray,
    bias: float,
    cost: float,
    key: np.uint64,
    tree: int,
    path: int,
) -> tuple:
    """Return the sides of a node's points and its separator; all sides are equal where no split was found."""
    n = points.shape[0]
    sides = np.empty(n, dtype=np.int64)
    # random sides, a function of the point and of the node's path from the root
    for s in range(n):
        sides[s] = 1 if uniform(key, tree, path, points[s]) < 0.5 else -1
    starts, own_names, present = own_labels(points, labels, place)
    none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    if present.shape[0] == 0:
        return np.ones(n, dtype=np.int64), none, nothing
    # the sides that rank their labels best (Section 4)
    ranking_partition(starts, own_names, present.shape[0], sides)
    positive = (sides > 0).sum()
    if positive == 0 or positive == n:
        return np.ones(n, dtype=np.int64), none, nothing
    costs = np.empty(n)
    for s in range(n):  # both sides weigh the same together
        costs[s] = cost * n / (positive if sides[s] > 0 else n - positive)
    # the separator: |w|_1 plus the log losses of the points on their sides, weighted by C
    own_starts, rows, own, named = _own_columns(points, features, bias, counts)
    weights, margins = l1_logistic(own_starts, rows, own, sides, costs)
    for s in range(n):
        sides[s] = 1 if margins[s] >= 0.0 else -1
    used = np.flatnonzero(weights)
    return sides, named[used], weights[used]

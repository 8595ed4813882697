r"""One tree of FastXML, compiled: nodes split by what ranks their labels best, separated by a sparse linear rule.

References
----------
.. [1] Prabhu, Varma. "FastXML: A Fast, Accurate and Stable Tree-classifier for eXtreme Multi-label Learning". KDD 2014.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.streams import uniform
from bestarm_studies.dpp_bbo.sparse_logistic import l1_logistic

SMALLEST_GAIN = 1e-6
MAX_ROUNDS = 100
NO_CHILD = -1


class SparseRows(NamedTuple):
    """A sparse matrix by rows: row i has ``columns[starts[i]:starts[i + 1]]``."""

    starts: IntArray
    columns: IntArray
    values: FloatArray


class LabelTree(NamedTuple):
    """A tree as arrays, one entry a node, the root first.

    Attributes
    ----------
    sizes : ndarray of int64
        Training points in the node.
    children : ndarray of int64, shape (n_nodes, 2)
        The nodes of the negative and the positive side, or -1.
    weight_starts, weight_features, weights : ndarray
        The separator of node v is in ``weights[weight_starts[v]:weight_starts[v + 1]]``.
    label_starts, labels, shares : ndarray
        Labels of node v, the most frequent first, and the share of its points that have each; empty for large nodes.
    """

    sizes: IntArray
    children: IntArray
    weight_starts: IntArray
    weight_features: IntArray
    weights: FloatArray
    label_starts: IntArray
    labels: IntArray
    shares: FloatArray


@njit(cache=True)
def ranking_partition(starts: IntArray, labels: IntArray, n_labels: int, sides: IntArray) -> float:
    r"""Improve a partition of points by the nDCG of the two label rankings that it implies ([1]_, Section 4).

    In turn, labels are ranked on either side by the sum of :math:`I(y_i)y_i`, and points go to the side whose ranking
    suits their labels better. A point that gains nothing stays.

    Parameters
    ----------
    starts, labels : ndarray of int64
        Labels of the points, compressed by rows, numbered from 0 to ``n_labels - 1``.
    n_labels : int
        Labels.
    sides : ndarray of int64, shape (n,)
        Sides ±1 to start from; they are improved in place.

    Returns
    -------
    float
        Mean nDCG of the last pair of rankings.
    """
    n = sides.shape[0]
    discounts, ideal = np.empty(n_labels + 1), np.zeros(n_labels + 2)
    for rank in range(n_labels + 1):
        discounts[rank] = 1.0 / np.log2(rank + 2.0)
        ideal[rank + 1] = ideal[rank] + discounts[rank]
    score = -np.inf
    for _ in range(MAX_ROUNDS):
        sums = np.zeros((2, n_labels))
        for i in range(n):
            side = 1 if sides[i] > 0 else 0
            count = starts[i + 1] - starts[i]
            for p in range(starts[i], starts[i + 1]):
                sums[side, labels[p]] += 1.0 / ideal[count]
        advantage, reached = np.zeros(n_labels), 0.0
        for side in range(2):
            order = np.argsort(-sums[side], kind="mergesort")
            for rank in range(n_labels):
                advantage[order[rank]] += discounts[rank] if side == 1 else -discounts[rank]
                reached += discounts[rank] * sums[side, order[rank]]
        for i in range(n):
            gain = 0.0
            for p in range(starts[i], starts[i + 1]):
                gain += advantage[labels[p]]
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
def _own_labels(points: IntArray, starts: IntArray, columns: IntArray, place: IntArray) -> tuple:  # type: ignore[type-arg]
    """Return the labels of some points compressed to those that occur, and which those are, in order."""
    n, total = points.shape[0], 0
    for i in points:
        total += starts[i + 1] - starts[i]
        for p in range(starts[i], starts[i + 1]):
            place[columns[p]] = 0
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
    for label in present:
        place[label] = -1
    return own_starts, own, present


@njit(cache=True)
def _own_columns(
    points: IntArray, starts: IntArray, columns: IntArray, values: FloatArray, bias: float, counts: IntArray
) -> tuple:  # type: ignore[type-arg]
    """Return the features of some points by columns, those that occur and the bias as the last."""
    n, n_features = points.shape[0], counts.shape[0]
    counts[:] = 0
    total = n
    for i in points:
        total += starts[i + 1] - starts[i]
        for p in range(starts[i], starts[i + 1]):
            counts[columns[p]] += 1
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
        at = own_starts[-2] + s
        rows[at], own[at] = s, bias
    named = np.empty(present.shape[0] + 1, dtype=np.int64)
    named[:-1], named[-1] = present, n_features
    return own_starts, rows, own, named


@njit(cache=True)
def _split(
    points: IntArray,
    x_starts: IntArray,
    x_columns: IntArray,
    x_values: FloatArray,
    y_starts: IntArray,
    y_columns: IntArray,
    counts: IntArray,
    place: IntArray,
    bias: float,
    cost: float,
    key: np.uint64,
    tree: int,
    node: int,
) -> tuple:  # type: ignore[type-arg]
    """Return the sides of a node's points and its separator; all sides are equal where no split was found."""
    n = points.shape[0]
    sides = np.empty(n, dtype=np.int64)
    for s in range(n):
        sides[s] = 1 if uniform(key, tree, node, points[s]) < 0.5 else -1
    starts, labels, present = _own_labels(points, y_starts, y_columns, place)
    none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    if present.shape[0] == 0:
        return np.ones(n, dtype=np.int64), none, nothing
    ranking_partition(starts, labels, present.shape[0], sides)
    positive = (sides > 0).sum()
    if positive == 0 or positive == n:
        return np.ones(n, dtype=np.int64), none, nothing
    costs = np.empty(n)
    for s in range(n):  # both sides weigh the same together
        costs[s] = cost * n / (positive if sides[s] > 0 else n - positive)
    own_starts, rows, own, named = _own_columns(points, x_starts, x_columns, x_values, bias, counts)
    weights, margins = l1_logistic(own_starts, rows, own, sides, costs)
    for s in range(n):
        sides[s] = 1 if margins[s] >= 0.0 else -1
    used = np.flatnonzero(weights)
    return sides, named[used], weights[used]


@njit(cache=True)
def _shares(
    points: IntArray, starts: IntArray, columns: IntArray, most: int, place: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return the most frequent labels of some points, and the share of the points that have each."""
    _, own, present = _own_labels(points, starts, columns, place)
    tally = np.zeros(present.shape[0])
    for label in own:
        tally[label] += 1.0
    order = np.argsort(-tally, kind="mergesort")[:most]
    return present[order], tally[order] / points.shape[0]


@njit(cache=True)
def _room(array, needed):  # type: ignore[no-untyped-def]
    """Return an array with at least so much room, a copy of this one where it has less."""
    if needed <= array.shape[0]:
        return array
    larger = np.empty(max(needed, 2 * array.shape[0]), dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger


@njit(cache=True, nogil=True)
def _grown(
    x_starts: IntArray,
    x_columns: IntArray,
    x_values: FloatArray,
    y_starts: IntArray,
    y_columns: IntArray,
    n_features: int,
    n_labels: int,
    bias: float,
    cost: float,
    max_leaf: int,
    most_labels: int,
    described: int,
    key: np.uint64,
    tree: int,
) -> tuple:  # type: ignore[type-arg]
    n = x_starts.shape[0] - 1
    order, begins, ends = np.arange(n), np.zeros(2 * n, dtype=np.int64), np.zeros(2 * n, dtype=np.int64)
    children = np.full((2 * n, 2), NO_CHILD, dtype=np.int64)
    counts, place = np.zeros(n_features, dtype=np.int64), np.full(n_labels, -1, dtype=np.int64)
    weight_starts, label_starts = np.zeros(2 * n + 1, dtype=np.int64), np.zeros(2 * n + 1, dtype=np.int64)
    features, weights = np.empty(1024, dtype=np.int64), np.empty(1024)
    labels, shares = np.empty(1024, dtype=np.int64), np.empty(1024)
    ends[0], n_nodes, node = n, 1, 0
    while node < n_nodes:
        begin, end = begins[node], ends[node]
        points = order[begin:end].copy()
        w_end, l_end, split = weight_starts[node], label_starts[node], False
        if end - begin > max_leaf:
            sides, used, found = _split(
                points, x_starts, x_columns, x_values, y_starts, y_columns, counts, place, bias, cost, key, tree, node
            )
            positive = (sides > 0).sum()
            split = 0 < positive < end - begin
            if split:
                features, weights = _room(features, w_end + used.shape[0]), _room(weights, w_end + used.shape[0])
                features[w_end : w_end + used.shape[0]], weights[w_end : w_end + used.shape[0]] = used, found
                w_end += used.shape[0]
                middle = end - positive
                order[begin:middle], order[middle:end] = points[sides < 0], points[sides > 0]
                children[node, 0], children[node, 1] = n_nodes, n_nodes + 1
                begins[n_nodes], ends[n_nodes] = begin, middle
                begins[n_nodes + 1], ends[n_nodes + 1] = middle, end
                n_nodes += 2
        if not split or end - begin <= described:
            own, parts = _shares(points, y_starts, y_columns, most_labels, place)
            labels, shares = _room(labels, l_end + own.shape[0]), _room(shares, l_end + own.shape[0])
            labels[l_end : l_end + own.shape[0]], shares[l_end : l_end + own.shape[0]] = own, parts
            l_end += own.shape[0]
        weight_starts[node + 1], label_starts[node + 1] = w_end, l_end
        node += 1
    w_end, l_end = weight_starts[n_nodes], label_starts[n_nodes]
    return (
        (ends - begins)[:n_nodes], children[:n_nodes].copy(), weight_starts[: n_nodes + 1].copy(),
        features[:w_end].copy(), weights[:w_end].copy(), label_starts[: n_nodes + 1].copy(), labels[:l_end].copy(),
        shares[:l_end].copy(),
    )  # fmt: skip


def grow_tree(
    features: SparseRows,
    labels: SparseRows,
    n_features: int,
    n_labels: int,
    *,
    bias: float,
    cost: float,
    max_leaf: int,
    most_labels: int,
    key: np.uint64,
    tree: int,
    described: int = 0,
) -> LabelTree:
    r"""Return one tree.

    Parameters
    ----------
    features, labels : SparseRows
        Training points, the same rows in both.
    n_features, n_labels : int
        Columns.
    bias : float
        Value of one more feature that every point has.
    cost : float
        :math:`C_\delta` is this over the share of the points on their side.
    max_leaf : int
        A node with no more points is a leaf.
    most_labels : int
        Labels kept of a node, the most frequent ones.
    key : uint64
        Key of the random sides that a node starts from, see `bestarm.streams`.
    tree : int
        Number of the tree.
    described : int
        Keep the labels of inner nodes with at most so many points as well, so that the tree can be cut later.
    """
    return LabelTree(
        *_grown(
            *features, labels.starts, labels.columns, n_features, n_labels, bias, cost, max_leaf, most_labels, described,
            key, tree,
        )
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _leaves(
    x_starts: IntArray,
    x_columns: IntArray,
    x_values: FloatArray,
    n_features: int,
    bias: float,
    cuts: IntArray,
    sizes: IntArray,
    children: IntArray,
    weight_starts: IntArray,
    weight_features: IntArray,
    weights: FloatArray,
) -> IntArray:
    n = x_starts.shape[0] - 1
    found = np.empty((cuts.shape[0], n), dtype=np.int64)
    dense = np.zeros(n_features + 1)
    dense[n_features] = bias
    for i in range(n):
        for p in range(x_starts[i], x_starts[i + 1]):
            dense[x_columns[p]] = x_values[p]
        node, cut = 0, cuts.shape[0] - 1
        while True:
            while cut >= 0 and sizes[node] <= cuts[cut]:
                found[cut, i] = node
                cut -= 1
            if children[node, 0] == NO_CHILD or cut < 0:
                break
            margin = 0.0
            for p in range(weight_starts[node], weight_starts[node + 1]):
                margin += weights[p] * dense[weight_features[p]]
            node = children[node, 1 if margin >= 0.0 else 0]
        for rest in range(cut + 1):
            found[rest, i] = node
        for p in range(x_starts[i], x_starts[i + 1]):
            dense[x_columns[p]] = 0.0
    return found


def leaves(tree: LabelTree, features: SparseRows, n_features: int, bias: float, cuts: IntArray) -> IntArray:
    """Return where points end if every node with at most ``cuts[c]`` points is a leaf, shape (n_cuts, n).

    Parameters
    ----------
    tree : LabelTree
        Grown with a ``max_leaf`` of at most ``cuts[0]`` and ``described`` at least ``cuts[-1]``.
    features : SparseRows
        Points.
    n_features, bias
        As the tree was grown.
    cuts : ndarray of int64
        Ascending.
    """
    return _leaves(
        *features, n_features, bias, cuts, tree.sizes, tree.children, tree.weight_starts, tree.weight_features,
        tree.weights,
    )  # fmt: skip


@njit(cache=True)
def add_shares(
    scores: FloatArray, nodes: IntArray, label_starts: IntArray, labels: IntArray, shares: FloatArray, most: int
) -> None:
    """Add to each point's scores the shares of the ``most`` most frequent labels of its node."""
    for i in range(nodes.shape[0]):
        begin = label_starts[nodes[i]]
        for p in range(begin, min(label_starts[nodes[i] + 1], begin + most)):
            scores[i, labels[p]] += shares[p]

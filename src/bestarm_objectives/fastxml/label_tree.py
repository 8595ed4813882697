"""One tree of FastXML, compiled: how it grows, how a node is split, and where points end.

A split is of sides that rank their labels best, then of a sparse linear rule.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.streams import uniform
from bestarm_objectives.fastxml.sparse_logistic import l1_logistic

SMALLEST_GAIN = 1e-6
MAX_ROUNDS = 100
NO_CHILD = -1
_PATH_FACTOR, _PATH_BITS = 6364136223846793005, (1 << 62) - 1


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
    by rows; ``sides`` ±1, shape (n,), are improved in place. The mean nDCG of the last pair of rankings is returned."""
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


class LabelTree(NamedTuple):
    """A tree as arrays, one entry a node, the root first."""

    sizes: IntArray  # training points in the node
    children: IntArray  # shape (n_nodes, 2): the nodes of the negative and the positive side, or -1
    # weight_starts, weight_features, weights: node v's separator: ``weights[weight_starts[v]:weight_starts[v + 1]]``
    weight_starts: IntArray
    weight_features: IntArray
    weights: FloatArray
    # label_starts, labels, shares: labels of node v, the most frequent first, and the share of its points that have
    # each; empty for large nodes
    label_starts: IntArray
    labels: IntArray
    shares: FloatArray


@njit(cache=True)
def _shares(points: IntArray, labels: SparseRows, most: int, place: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the most frequent labels of some points, and the share of the points that have each."""
    _, own, present = own_labels(points, labels, place)
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
def grow_tree(
    features: SparseRows,
    labels: SparseRows,
    shape: tuple[int, int],
    bias: float,
    cost: float,
    max_leaf: int,
    most_labels: int,
    described: int,
    key: np.uint64,
    tree: int,
) -> LabelTree:
    r"""Return one tree, grown breadth first.
    ``features`` and ``labels`` have the training points, the same rows in both; ``shape`` has the columns of both.
    ``bias`` is the value of one more feature that every point has, :math:`C_\delta` is ``cost`` over the share of the
    points on their side. A node with at most ``max_leaf`` points is a leaf; of its labels the ``most_labels`` most
    frequent are kept, and those of inner nodes with at most ``described`` points as well, so that the tree can be cut
    later. ``key`` is that of the random sides that a node starts from, see `bestarm.streams`."""
    n = features.starts.shape[0] - 1
    # node v has the points order[begins[v]:ends[v]]; nodes are a queue, children behind their parents
    order, begins, ends = np.arange(n), np.zeros(2 * n, dtype=np.int64), np.zeros(2 * n, dtype=np.int64)
    children = np.full((2 * n, 2), NO_CHILD, dtype=np.int64)
    paths = np.zeros(2 * n, dtype=np.int64)  # names a node by its way from the root, whatever else was grown before
    counts, place = np.zeros(shape[0], dtype=np.int64), np.full(shape[1], -1, dtype=np.int64)
    weight_starts, label_starts = np.zeros(2 * n + 1, dtype=np.int64), np.zeros(2 * n + 1, dtype=np.int64)
    used, weights = np.empty(1024, dtype=np.int64), np.empty(1024)
    kept, shares = np.empty(1024, dtype=np.int64), np.empty(1024)
    ends[0], n_nodes, node = n, 1, 0
    while node < n_nodes:
        begin, end = begins[node], ends[node]
        points = order[begin:end].copy()
        w_end, l_end, split = weight_starts[node], label_starts[node], False
        # separator and sides of the node (Section 4); without two sides it is a leaf
        if end - begin > max_leaf:
            sides, own, found = split_node(points, features, labels, counts, place, bias, cost, key, tree, paths[node])
            positive = (sides > 0).sum()
            split = 0 < positive < end - begin
            if split:
                # keep the separator
                used, weights = _room(used, w_end + own.shape[0]), _room(weights, w_end + own.shape[0])
                used[w_end : w_end + own.shape[0]], weights[w_end : w_end + own.shape[0]] = own, found
                w_end += own.shape[0]
                # the children share the parent's part of the order, the negative side first
                middle = end - positive
                order[begin:middle], order[middle:end] = points[sides < 0], points[sides > 0]
                children[node, 0], children[node, 1] = n_nodes, n_nodes + 1
                begins[n_nodes], ends[n_nodes] = begin, middle
                begins[n_nodes + 1], ends[n_nodes + 1] = middle, end
                for side in range(2):
                    paths[n_nodes + side] = (paths[node] * _PATH_FACTOR + 1 + side) & _PATH_BITS
                n_nodes += 2
        # a leaf, or a node at which the tree can be cut later: its most frequent labels
        if not split or end - begin <= described:
            own, found = _shares(points, labels, most_labels, place)
            kept, shares = _room(kept, l_end + own.shape[0]), _room(shares, l_end + own.shape[0])
            kept[l_end : l_end + own.shape[0]], shares[l_end : l_end + own.shape[0]] = own, found
            l_end += own.shape[0]
        weight_starts[node + 1], label_starts[node + 1] = w_end, l_end
        node += 1
    # without the room that was not needed
    w_end, l_end = weight_starts[n_nodes], label_starts[n_nodes]
    return LabelTree(
        (ends - begins)[:n_nodes],
        children[:n_nodes].copy(),
        weight_starts[: n_nodes + 1].copy(),
        used[:w_end].copy(),
        weights[:w_end].copy(),
        label_starts[: n_nodes + 1].copy(),
        kept[:l_end].copy(),
        shares[:l_end].copy(),
    )


@njit(cache=True, nogil=True)
def leaves(tree: LabelTree, features: SparseRows, n_features: int, bias: float, cuts: IntArray) -> IntArray:
    """Return where points end if every node with at most ``cuts[c]`` points is a leaf, shape (n_cuts, n).
    ``cuts`` are ascending. The tree was grown with a ``max_leaf`` of at most ``cuts[0]``, ``described`` at least
    ``cuts[-1]``, and the same ``n_features`` and ``bias``."""
    starts, columns, values = features
    n = starts.shape[0] - 1
    found = np.empty((cuts.shape[0], n), dtype=np.int64)
    dense = np.zeros(n_features + 1)
    dense[n_features] = bias
    for i in range(n):
        for p in range(starts[i], starts[i + 1]):
            dense[columns[p]] = values[p]
        node, cut = 0, cuts.shape[0] - 1
        while True:
            # with this cut the node is a leaf
            while cut >= 0 and tree.sizes[node] <= cuts[cut]:
                found[cut, i] = node
                cut -= 1
            if tree.children[node, 0] == NO_CHILD or cut < 0:
                break
            # w'x decides the side
            margin = 0.0
            for p in range(tree.weight_starts[node], tree.weight_starts[node + 1]):
                margin += tree.weights[p] * dense[tree.weight_features[p]]
            node = tree.children[node, 1 if margin >= 0.0 else 0]
        # with smaller cuts the point ends in the tree's own leaf
        for rest in range(cut + 1):
            found[rest, i] = node
        for p in range(starts[i], starts[i + 1]):
            dense[columns[p]] = 0.0
    return found


@njit(cache=True)
def add_shares(scores: FloatArray, nodes: IntArray, tree: LabelTree, most: int) -> None:
    """Add to each point's scores the shares of the ``most`` most frequent labels of its node."""
    for i in range(nodes.shape[0]):
        begin = tree.label_starts[nodes[i]]
        for p in range(begin, min(tree.label_starts[nodes[i] + 1], begin + most)):
            scores[i, tree.labels[p]] += tree.shares[p]

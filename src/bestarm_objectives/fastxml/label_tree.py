"""One tree of FastXML, compiled: how it grows, and where points end."""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm_objectives.fastxml.node_split import SparseRows, own_labels, split_node

NO_CHILD = -1
_PATH_FACTOR, _PATH_BITS = 6364136223846793005, (1 << 62) - 1


class LabelTree(NamedTuple):
    """A tree as arrays, one entry a node, the root first."""

    sizes: IntArray  # training points in the node
    children: IntArray  # shape (n_nodes, 2): the nodes of the negative and the positive side, or -1
    # weight_starts, weight_features, weights: the separator of node v is in ``weights[weight_starts[v]:weight_starts[v
    # + 1]]``
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
    later. ``key`` is that of the random sides that a node starts from, see `bestarm.streams`.
    """
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
    ``cuts[-1]``, and the same ``n_features`` and ``bias``.
    """
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

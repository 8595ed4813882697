r"""One tree of FastXML, compiled: how it grows, and where points end.

References
----------
.. [1] Prabhu, Varma. "FastXML: A Fast, Accurate and Stable Tree-classifier for eXtreme Multi-label Learning". KDD 2014.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm_objectives.fastxml.node_split import own_labels, split_node

NO_CHILD = -1
_PATH_FACTOR, _PATH_BITS = 6364136223846793005, (1 << 62) - 1


class SparseRows(NamedTuple):
    """A sparse matrix by rows: row i has ``columns[starts[i]:starts[i + 1]]``."""

    starts: IntArray
    columns: IntArray
    values: FloatArray


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
def _shares(
    points: IntArray, starts: IntArray, columns: IntArray, most: int, place: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return the most frequent labels of some points, and the share of the points that have each."""
    _, own, present = own_labels(points, starts, columns, place)
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
) -> tuple:
    """Grow a tree breadth first, and return the arrays of `LabelTree`."""
    n = x_starts.shape[0] - 1
    # node v has the points order[begins[v]:ends[v]]; nodes are a queue, children behind their parents
    order, begins, ends = np.arange(n), np.zeros(2 * n, dtype=np.int64), np.zeros(2 * n, dtype=np.int64)
    children = np.full((2 * n, 2), NO_CHILD, dtype=np.int64)
    paths = np.zeros(2 * n, dtype=np.int64)  # names a node by its way from the root, whatever else was grown before
    counts, place = np.zeros(n_features, dtype=np.int64), np.full(n_labels, -1, dtype=np.int64)
    weight_starts, label_starts = np.zeros(2 * n + 1, dtype=np.int64), np.zeros(2 * n + 1, dtype=np.int64)
    features, weights = np.empty(1024, dtype=np.int64), np.empty(1024)
    labels, shares = np.empty(1024, dtype=np.int64), np.empty(1024)
    ends[0], n_nodes, node = n, 1, 0
    while node < n_nodes:
        begin, end = begins[node], ends[node]
        points = order[begin:end].copy()
        w_end, l_end, split = weight_starts[node], label_starts[node], False
        # separator and sides of the node ([1]_, Section 4); without two sides it is a leaf
        if end - begin > max_leaf:
            sides, used, found = split_node(
                points,
                x_starts,
                x_columns,
                x_values,
                y_starts,
                y_columns,
                counts,
                place,
                bias,
                cost,
                key,
                tree,
                paths[node],
            )
            positive = (sides > 0).sum()
            split = 0 < positive < end - begin
            if split:
                # keep the separator
                features, weights = _room(features, w_end + used.shape[0]), _room(weights, w_end + used.shape[0])
                features[w_end : w_end + used.shape[0]], weights[w_end : w_end + used.shape[0]] = used, found
                w_end += used.shape[0]
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
            own, parts = _shares(points, y_starts, y_columns, most_labels, place)
            labels, shares = _room(labels, l_end + own.shape[0]), _room(shares, l_end + own.shape[0])
            labels[l_end : l_end + own.shape[0]], shares[l_end : l_end + own.shape[0]] = own, parts
            l_end += own.shape[0]
        weight_starts[node + 1], label_starts[node + 1] = w_end, l_end
        node += 1
    # without the room that was not needed
    w_end, l_end = weight_starts[n_nodes], label_starts[n_nodes]
    return (
        (ends - begins)[:n_nodes],
        children[:n_nodes].copy(),
        weight_starts[: n_nodes + 1].copy(),
        features[:w_end].copy(),
        weights[:w_end].copy(),
        label_starts[: n_nodes + 1].copy(),
        labels[:l_end].copy(),
        shares[:l_end].copy(),
    )


def grow_tree(
    features: SparseRows,
    labels: SparseRows,
    shape: tuple[int, int],
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

    ``features`` and ``labels`` have the training points, the same rows in both; ``shape`` has the columns of both.
    ``bias`` is the value of one more feature that every point has, :math:`C_\delta` is ``cost`` over the share of the
    points on their side. A node with at most ``max_leaf`` points is a leaf; of its labels the ``most_labels`` most
    frequent are kept, and those of inner nodes with at most ``described`` points as well, so that the tree can be cut
    later. ``key`` is that of the random sides that a node starts from, see `bestarm.streams`.
    """
    return LabelTree(
        *_grown(
            *features, labels.starts, labels.columns, *shape, bias, cost, max_leaf, most_labels, described, key, tree
        )
    )


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
    """Return where points end for every cut, shape (n_cuts, n)."""
    n = x_starts.shape[0] - 1
    found = np.empty((cuts.shape[0], n), dtype=np.int64)
    dense = np.zeros(n_features + 1)
    dense[n_features] = bias
    for i in range(n):
        for p in range(x_starts[i], x_starts[i + 1]):
            dense[x_columns[p]] = x_values[p]
        node, cut = 0, cuts.shape[0] - 1
        while True:
            # with this cut the node is a leaf
            while cut >= 0 and sizes[node] <= cuts[cut]:
                found[cut, i] = node
                cut -= 1
            if children[node, 0] == NO_CHILD or cut < 0:
                break
            # w'x decides the side
            margin = 0.0
            for p in range(weight_starts[node], weight_starts[node + 1]):
                margin += weights[p] * dense[weight_features[p]]
            node = children[node, 1 if margin >= 0.0 else 0]
        # with smaller cuts the point ends in the tree's own leaf
        for rest in range(cut + 1):
            found[rest, i] = node
        for p in range(x_starts[i], x_starts[i + 1]):
            dense[x_columns[p]] = 0.0
    return found


def leaves(tree: LabelTree, features: SparseRows, n_features: int, bias: float, cuts: IntArray) -> IntArray:
    """Return where points end if every node with at most ``cuts[c]`` points is a leaf, shape (n_cuts, n).

    ``cuts`` are ascending. The tree was grown with a ``max_leaf`` of at most ``cuts[0]``, ``described`` at least
    ``cuts[-1]``, and the same ``n_features`` and ``bias``.
    """
    return _leaves(
        *features,
        n_features,
        bias,
        cuts,
        tree.sizes,
        tree.children,
        tree.weight_starts,
        tree.weight_features,
        tree.weights,
    )


@njit(cache=True)
def add_shares(
    scores: FloatArray, nodes: IntArray, label_starts: IntArray, labels: IntArray, shares: FloatArray, most: int
) -> None:
    """Add to each point's scores the shares of the ``most`` most frequent labels of its node."""
    for i in range(nodes.shape[0]):
        begin = label_starts[nodes[i]]
        for p in range(begin, min(label_starts[nodes[i] + 1], begin + most)):
            scores[i, labels[p]] += shares[p]

"""A forest of extremely randomised trees for regression, whose random choices are named by their place.

References
----------
.. [1] Geurts, Ernst, Wehenkel. "Extremely Randomized Trees". Machine Learning 2006. Algorithm 1.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.streams import uniform


class Forest(NamedTuple):
    """Trees in flat arrays, one row each."""

    feature: IntArray  # what a node asks for; -1 of a leaf, (n_trees, n_nodes)
    threshold: FloatArray  # where it divides, (n_trees, n_nodes)
    value: FloatArray  # the mean reward in it, (n_trees, n_nodes)
    left: IntArray  # the node for smaller values; the other one follows it, (n_trees, n_nodes)


@njit(cache=True)
def grow(key: np.uint64, x: FloatArray, y: FloatArray, n_trees: int, n_tried: int, least: int) -> Forest:
    """Return a forest ([1]_): of some random features with random thresholds the one that divides rewards best.

    ``key``: of the random choices; ``x``, ``y`` (ndarray, shapes (n, d) and (n,)): features and rewards; ``n_trees``,
    ``n_tried``, ``least``: trees, features tried at a node, and rewards below which a node is a leaf."""
    n, d = x.shape
    room = 2 * n
    feature = np.full((n_trees, room), -1, dtype=np.int64)
    threshold, value = np.zeros((n_trees, room)), np.zeros((n_trees, room))
    left = np.zeros((n_trees, room), dtype=np.int64)
    for t in range(n_trees):
        order = np.arange(n)
        first, last = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        last[0], n_nodes, node, draw = n, 1, 0, 0
        while node < n_nodes:
            a, b = first[node], last[node]
            mean = 0.0
            for i in range(a, b):
                mean += y[order[i]]
            mean /= b - a
            value[t, node] = mean
            best = 1e-12
            if b - a >= least:
                for _ in range(n_tried):
                    c = int(uniform(key, t, draw, 0) * d)
                    low, high = np.inf, -np.inf
                    for i in range(a, b):
                        low, high = min(low, x[order[i], c]), max(high, x[order[i], c])
                    cut = low + uniform(key, t, draw, 1) * (high - low)
                    draw += 1
                    if high <= low:
                        continue
                    # the reduction of the sum of squares is that between the two sides
                    total, count = 0.0, 0
                    for i in range(a, b):
                        if x[order[i], c] <= cut:
                            total += y[order[i]] - mean
                            count += 1
                    if count == 0 or count == b - a:
                        continue
                    gain = total * total * (1.0 / count + 1.0 / (b - a - count))
                    if gain > best:
                        best, feature[t, node], threshold[t, node] = gain, c, cut
            c = feature[t, node]
            if c >= 0:
                # rewards of the left side first, in place
                i = a
                for j in range(a, b):
                    if x[order[j], c] <= threshold[t, node]:
                        order[i], order[j] = order[j], order[i]
                        i += 1
                left[t, node] = n_nodes
                first[n_nodes], last[n_nodes] = a, i
                first[n_nodes + 1], last[n_nodes + 1] = i, b
                n_nodes += 2
            node += 1
    return Forest(feature, threshold, value, left)


@njit(cache=True)
def forest_predictions(forest: Forest, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation over the trees at each point, shape (n,) each."""
    n_trees = len(forest.feature)
    mean, deviation = np.zeros(len(x)), np.zeros(len(x))
    for i in range(len(x)):
        total, squares = 0.0, 0.0
        for t in range(n_trees):
            node = 0
            while forest.feature[t, node] >= 0:
                right = x[i, forest.feature[t, node]] > forest.threshold[t, node]
                node = forest.left[t, node] + (1 if right else 0)
            total += forest.value[t, node]
            squares += forest.value[t, node] ** 2
        mean[i] = total / n_trees
        deviation[i] = np.sqrt(max(squares / n_trees - mean[i] ** 2, 0.0))
    return mean, deviation

"""A forest of extremely randomised trees: its nodes against their definition, and what it learns."""

import numpy as np

from bestarm.models.forest import forest_predictions, grow
from bestarm.streams import Streams

KEY = Streams.first(1).key("test")
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(60, 5))
Y = 3.0 * (X[:, 1] > 0.5) + X[:, 2]


def test_every_node_has_the_mean_of_what_falls_into_it():
    """And every division leaves something on both sides; leaves have few rewards or nothing to divide."""
    forest = grow(KEY, X, Y, 7, 3, 5)
    for t in range(7):
        todo = [(0, np.arange(60))]
        while todo:
            node, rows = todo.pop()
            np.testing.assert_allclose(forest.value[t, node], Y[rows].mean())
            c = forest.feature[t, node]
            if c < 0:
                assert len(rows) < 5 or np.ptp(Y[rows]) < 1.0
                continue
            small = X[rows, c] <= forest.threshold[t, node]
            assert 0 < small.sum() < len(rows)
            todo += [(forest.left[t, node], rows[small]), (forest.left[t, node] + 1, rows[~small])]


def test_predictions_are_means_over_the_trees():
    """Against a walk through each tree; equal for equal keys."""
    forest = grow(KEY, X, Y, 5, 3, 4)
    new = RNG.uniform(size=(9, 5))
    mean, deviation = forest_predictions(forest, new)
    for i, x in enumerate(new):
        values = []
        for t in range(5):
            node = 0
            while forest.feature[t, node] >= 0:
                node = forest.left[t, node] + int(x[forest.feature[t, node]] > forest.threshold[t, node])
            values.append(forest.value[t, node])
        np.testing.assert_allclose([mean[i], deviation[i]], [np.mean(values), np.std(values)], atol=1e-12)
    assert all((a == b).all() for a, b in zip(forest, grow(KEY, X, Y, 5, 3, 4), strict=True))


def test_it_learns_a_step():
    new = RNG.uniform(size=(500, 5))
    truth = 3.0 * (new[:, 1] > 0.5) + new[:, 2]
    mean, _ = forest_predictions(grow(KEY, X, Y, 200, 2, 5), new)
    assert ((mean - truth) ** 2).mean() < 0.35 * truth.var()

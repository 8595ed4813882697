"""The cluster heuristic: the example of the paper, k-means against SciPy's, budgets within and between clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusing
from scipy.cluster.vq import kmeans2

from bestarm.designs.cluster_allocation import cluster_counts, clusters, k_means
from bestarm.designs.rounding import uniform_counts
from bestarm.streams import Streams

SEED = 20261121
shapes = st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(1, 6))  # arms, features, values of a feature


def allocated(features, budget, n_clusters=None, live=None, n_rows=1, time=0):
    """Return the pulls of some replications of one set of arms."""
    streams = Streams.first(n_rows, seed=SEED, instance="clusters")
    alive = np.ones(len(features), dtype=bool) if live is None else live
    features, alive = np.broadcast_to(features, (n_rows, *features.shape)), np.broadcast_to(alive, (n_rows, len(alive)))
    names = {"key": streams.key("clusters"), "replications": streams.replications, "time": time}
    return cluster_counts(features, alive, np.full(n_rows, budget), n_clusters, **names)


def largest_leverage(features, pulls):
    return np.einsum("ik,kl,il->i", features, np.linalg.inv((features.T * pulls) @ features), features).max()


@pytest.mark.parametrize("n_arms", [8, 50])
def test_example_of_appendix_h(n_arms):
    """K arms along e1 and one along e2, 2 K pulls: one each, K for e2; the largest leverage falls from 1/2 to 1/K."""
    rng = np.random.default_rng(SEED)
    features = np.vstack([np.outer(1 + np.sqrt(0.001) * rng.standard_normal(n_arms), [1.0, 0.0]), [[0.0, 1.0]]])
    for n_clusters in (None, 2):
        (pulls,) = allocated(features, 2 * n_arms, n_clusters)
        np.testing.assert_array_equal(pulls, [1] * n_arms + [n_arms])
    assert largest_leverage(features, pulls) == pytest.approx(1 / n_arms, rel=0.2)
    streams = Streams.first(400, seed=SEED)
    everything, budgets = np.ones((400, n_arms + 1), dtype=bool), np.full(400, 2 * n_arms)
    uniform = uniform_counts(everything, budgets, streams.key("u"), streams.replications, 0)
    assert set(uniform[:, -1]) == {1, 2}  # two pulls of e2 with probability (K - 1) / (K + 1), else one
    share = (n_arms - 1) / (n_arms + 1)
    assert (uniform[:, -1] == 2).mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 400))
    for row in uniform[:20]:
        assert largest_leverage(features, row) == pytest.approx(1 / row[-1], rel=1e-9)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), shape=shapes, budget=st.integers(1, 60), n_clusters=st.integers(0, 15))
def test_budget_is_spent_on_live_arms(seed, shape, budget, n_clusters):
    """Exactly, also with duplicates, zero arms, and more clusters than distinct arms; or as many as the rank."""
    rng, (n_arms, d, n_values) = np.random.default_rng(seed), shape
    features = rng.integers(0, n_values, size=(n_arms, d)).astype(float)
    live = rng.random(n_arms) < 0.7
    live[rng.integers(n_arms)] = True
    (pulls,) = allocated(features, budget, n_clusters or None, live)
    assert pulls.sum() == budget
    assert (pulls[~live] == 0).all()
    assert (pulls >= 0).all()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4), budget=st.integers(1, 80)
)
def test_clear_clusters_share_evenly(seed, sizes, budget):
    """Budgets of clusters, and pulls within a cluster, differ by at most 1."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    features = 10 * np.eye(len(sizes) + 1)[group] + 0.1 * rng.standard_normal((len(group), len(sizes) + 1))
    (pulls,) = allocated(features, budget, len(sizes))
    of_groups = np.bincount(group, weights=pulls)
    assert np.ptp(of_groups) <= 1
    assert of_groups.sum() == budget
    for g in range(len(sizes)):
        assert np.ptp(pulls[group == g]) <= 1


def test_default_is_the_rank_of_the_live_arms():
    """Three groups in a plane, of which one is dead or not; the rank is 2 in six columns."""
    square = np.random.default_rng(SEED).standard_normal((5, 5))
    for n_clusters in (None, 1):  # as many clusters as arms, or one: the uniform allocation
        np.testing.assert_array_equal(allocated(square, 20, n_clusters)[0], 4)
    plane = np.linalg.qr(np.random.default_rng(SEED).standard_normal((6, 6)))[0][:2]
    features = np.repeat([[1.0, 0], [0, 1.0], [0.02, 1.0]], [4, 2, 3], axis=0) @ plane
    np.testing.assert_allclose(np.bincount([0] * 4 + [1] * 5, weights=allocated(features, 40)[0]), 20)
    (pulls,) = allocated(features, 40, live=np.arange(9) != 20)
    assert pulls[:4].sum() == 20
    (alone,) = allocated(features, 40, live=np.arange(9) < 4)
    np.testing.assert_array_equal(alone, [10] * 4 + [0] * 5)


def test_what_is_left_over_goes_to_random_clusters_and_arms():
    """Seven pulls for three clusters of two arms: an odd pull for one cluster; each arm has the same chance."""
    features = np.repeat(10 * np.eye(3), 2, axis=0) + 0.1 * np.eye(6, 3)
    n_rows = 6000
    pulls = allocated(features, 7, 3, n_rows=n_rows)
    of_clusters = pulls.reshape(n_rows, 3, 2).sum(axis=2)
    np.testing.assert_array_equal(np.sort(of_clusters, axis=1), np.tile([2, 2, 3], (n_rows, 1)))
    np.testing.assert_allclose((of_clusters == 3).mean(axis=0), 1 / 3, atol=4 * np.sqrt(2 / 9 / n_rows))
    np.testing.assert_allclose((pulls == 2).mean(axis=0), 1 / 6, atol=4 * np.sqrt(5 / 36 / n_rows))
    np.testing.assert_array_equal(allocated(features, 7, 3, n_rows=40), pulls[:40])
    assert not np.array_equal(allocated(features, 7, 3, n_rows=40, time=1), pulls[:40])


def inertia(x, labels):
    """Return the sum of squared distances to the means of the clusters."""
    return sum(((x[labels == c] - x[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels))


def test_lloyd_steps_against_scipy_and_an_empty_cluster_takes_the_farthest_arm():
    x, labels = np.array([[0.0], [0.1], [0.2], [5.0]]), np.empty(4, dtype=np.int64)
    assert k_means(x, np.array([[0.1], [100.0]]), labels) == pytest.approx(0.02)
    np.testing.assert_array_equal(labels, [0, 0, 0, 1])
    rng = np.random.default_rng(SEED)
    for _ in range(30):
        x = rng.standard_normal((25, 3))
        start = x[rng.choice(25, size=4, replace=False)]
        _, expected = kmeans2(x, start, iter=100, minit="matrix", missing="raise")
        labels, centres = np.empty(25, dtype=np.int64), start.copy()
        squared = k_means(x, centres, labels)
        np.testing.assert_array_equal(labels, expected)
        assert squared == pytest.approx(inertia(x, labels), rel=1e-12)


def test_clusters_are_as_tight_as_those_of_scipy():
    """Ten starts are on average no worse than SciPy's best of ten, and every cluster has an arm."""
    rng = np.random.default_rng(SEED)
    ours, theirs = [], []
    for replication in range(25):
        x = rng.standard_normal((30, 2))
        labels = clusters(x, 5, np.uint64(11), replication, 0, 60)
        np.testing.assert_array_equal(np.unique(labels), np.arange(5))
        ours.append(inertia(x, labels))
        starts = [kmeans2(x, 5, minit="++", iter=50, rng=rng, missing="raise")[1] for _ in range(10)]
        theirs.append(min(inertia(x, found) for found in starts))
    difference = np.array(ours) - theirs
    assert difference.mean() <= 2 * difference.std() / np.sqrt(25) + 1e-9


def test_small_clusters_have_the_same_chance_of_a_left_over_pull():
    features = np.vstack([[1.0, 0, 0] + 0.01 * np.eye(3)[np.arange(8) % 3] * np.arange(8)[:, None], np.eye(3)[1:]])
    pulls = allocated(features, 1, 3, n_rows=4000)
    shares = [pulls[:, :8].sum(axis=1).mean(), pulls[:, 8].mean(), pulls[:, 9].mean()]
    np.testing.assert_allclose(shares, 1 / 3, atol=4 * np.sqrt(2 / 9 / 4000))


@refusing(
    ({"budget": np.array([4, -1])}, "budget must be a whole number of at least 1, got -1 in row 1"),
    ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0; None is the rank"),
    ({"n_clusters": 1.5}, "n_clusters must be a whole number"),
    ({"features": np.ones((2, 4, 2))}, r"features must have shape \(2, 3, d\)"),
    ({"features": np.full((2, 3, 2), np.inf)}, "features must be finite"),
    ({"live": np.array([[True] * 3, [False] * 3])}, "row 1 has none"),
    ({"replications": np.arange(1)}, r"replications must have shape \(2,\)"),
)
def test_bad_input_is_refused(change):
    arguments = {"features": np.ones((2, 3, 2)), "live": np.ones((2, 3), dtype=bool), "budget": np.array([4, 4])}
    arguments |= {"n_clusters": None, "key": np.uint64(1), "replications": np.arange(2), "time": 0}
    cluster_counts(**arguments)
    cluster_counts(**(arguments | change))

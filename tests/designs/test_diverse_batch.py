"""Diverse batches: against direct log determinants, and what the printed kernel does to arms on a line."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from bestarm.designs.diverse_batch import diverse_batch, kernel_inputs
from bestarm.policies.batch_search import top_batch
from bestarm_plain.det_d import diverse_batch as page
from bestarm_plain.det_d import kernel_matrix

KERNELS = ("direction", "affine", "rbf")
CHOICES = list(product([0.01, 1.0, 10.0], KERNELS))


def one_batch(features, scores, size, diversity=1.0, kernel="direction", available=None, order=None) -> list[int]:
    n = len(scores)
    available = np.ones(n, dtype=bool) if available is None else available
    rows, order = np.zeros(1, dtype=np.int64), np.zeros(n) if order is None else order
    own = (features[None], rows, scores[None], available[None], order[None])
    return diverse_batch(*own, size, diversity, kernel)[0].tolist()


@settings(max_examples=60)
@given(st.integers(6, 14), st.integers(2, 4), st.integers(1, 5), st.sampled_from(CHOICES), st.integers(0, 10**6))
def test_greedy_choices_are_those_of_direct_determinants(n, d, size, choice, seed):
    diversity, kernel = choice
    rng = np.random.default_rng(seed)
    features, scores, available = rng.standard_normal((n, d)), rng.standard_normal(n), np.ones(n, dtype=bool)
    available[rng.permutation(n)[: n - 6]] = False
    found = one_batch(features, scores, size, diversity, kernel, available)
    left = np.flatnonzero(available).tolist()
    assert found == page(scores, left, size, K=kernel_matrix(features, kernel), lam_div=diversity)
    assert found[0] == max(left, key=lambda a: scores[a])


def test_replications_have_their_own_arms():
    rng = np.random.default_rng(0)
    features, scores = rng.standard_normal((2, 12, 3)), rng.standard_normal((3, 12))
    available, order, sets = rng.random((3, 12)) < 0.8, rng.random((3, 12)), np.array([1, 0, 1])
    found = diverse_batch(features, sets, scores, available, order, 4, 1.0, "rbf")
    for r in range(3):
        assert found[r].tolist() == one_batch(features[sets[r]], scores[r], 4, 1.0, "rbf", available[r], order[r])


def test_on_a_line_the_printed_kernel_sees_signs_alone():
    """The second arm is the best of the other sign, whatever the scores; any three arms have determinant 0."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-10, 10, (30, 1))
    for _ in range(20):
        scores = rng.standard_normal(30)
        first, second, third = one_batch(x, scores, 3)
        assert first == scores.argmax()
        other = np.flatnonzero(np.sign(x[:, 0]) != np.sign(x[first, 0]))
        assert second == other[scores[other].argmax()]
        rest = np.setdiff1d(np.arange(30), [first, second])
        assert third == rest[scores[rest].argmax()]
    matrix = kernel_matrix(x, "direction", jitter=0.0)
    assert set(np.round(np.unique(matrix), 12)) == {round(np.exp(-4.0), 12), 1.0}
    for batch in ([0, 1, 2], [3, 9, 20], [5, 6, 29]):
        assert abs(np.linalg.det(matrix[np.ix_(batch, batch)])) < 1e-15
    for kernel in ("affine", "rbf"):
        assert np.linalg.det(kernel_matrix(x, kernel, jitter=0.0)[np.ix_([0, 1, 2], [0, 1, 2])]) > 1e-9


def test_little_diversity_is_the_plain_batch_and_much_spreads():
    """Weight 1e-9: the largest scores. Weight 1e3, equal scores: far apart on a line."""
    rng = np.random.default_rng(3)
    features, scores = rng.standard_normal((20, 3)), rng.standard_normal(20)
    plain = top_batch(scores[None], np.ones((1, 20), dtype=bool), np.zeros((1, 20)), 5)[0].tolist()
    assert one_batch(features, scores, 5, 1e-9) == plain
    x = np.linspace(-1, 1, 21)[:, None]
    assert one_batch(x, 1e-6 * -((x[:, 0] - 1) ** 2), 3, 1e3, "rbf") == [20, 0, 10]


def test_ties_follow_the_draws_and_nan_comes_last():
    """Equal scores: the largest draw; arms without a score only when nothing else is left."""
    features, order = np.eye(4), np.array([0.1, 0.9, 0.5, 0.2])
    assert one_batch(features, np.zeros(4), 4, order=order) == [1, 2, 3, 0]
    assert one_batch(features, np.array([np.nan, 0.0, np.nan, -5.0]), 4, order=order) == [1, 3, 2, 0]
    assert one_batch(features, np.full(4, np.nan), 2, order=order) == [1, 2]
    assert one_batch(features, np.array([np.inf, 0.0, np.nan, -np.inf]), 3, order=order)[:2] == [0, 1]


def test_equal_arms_make_a_batch_all_the_same():
    """Twenty copies and an arm at the origin: the jitter keeps the determinant above 0, arms are distinct."""
    features = np.ones((21, 2))
    features[20] = 0.0
    for kernel in KERNELS:
        assert len(set(one_batch(features, np.linspace(0, 1, 21), 8, 1.0, kernel))) == 8


def test_kernel_inputs():
    """Unit vectors, unit vectors with a one, columns of mean 0 and standard deviation 1; constants stay finite."""
    features = np.column_stack([np.arange(5.0), np.full(5, 3.0)])
    np.testing.assert_allclose(np.linalg.norm(kernel_inputs(features, "direction"), axis=1), 1.0)
    affine = kernel_inputs(features, "affine")
    np.testing.assert_allclose(affine[:, :2] / affine[:, 2:], features)
    rbf = kernel_inputs(features, "rbf")
    np.testing.assert_allclose(rbf[:, 0], (np.arange(5) - 2) / np.sqrt(2))
    assert not rbf[:, 1].any()
    refuses(lambda: kernel_inputs(features, "linear"), "kernel must be one of direction, affine, rbf, got 'linear'")

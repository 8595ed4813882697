"""Least squares from counts and totals: against NumPy, and where V is singular."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.models.arm_estimates import least_squares_means

shapes = st.tuples(st.integers(1, 9), st.integers(1, 7), st.integers(1, 7))


def random_case(seed: int, n_replications: int, n_arms: int, d: int, rank: int):
    """Return features of a given rank, live arms, counts (some 0), totals."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_replications, n_arms, rank)) @ rng.standard_normal((n_replications, rank, d))
    live = rng.random((n_replications, n_arms)) < 0.8
    counts = rng.integers(0, 4, (n_replications, n_arms)) * live
    return features, live, counts, np.where(counts > 0, rng.standard_normal(live.shape) * counts, 0.0)


def by_pseudo_inverse(features, live, counts, totals):
    """Return the estimates through the pseudo-inverse of V, one replication after the other."""
    means = np.zeros(live.shape)
    for r in range(len(live)):
        v = (features[r].T * (counts[r] * ~np.isnan(totals[r]))) @ features[r]
        theta = np.linalg.pinv(v, rcond=1e-10, hermitian=True) @ features[r].T @ np.nan_to_num(totals[r])
        means[r] = np.where(live[r], features[r] @ theta, 0.0)
    return means


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), shape=shapes, scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_projection_equals_the_pseudo_inverse(seed, shape, scale):
    """Also where pulled arms span less than live ones, or none was pulled; the rank is relative to the longest arm."""
    features, live, counts, totals = random_case(seed, 3, *shape)
    features *= scale
    found = least_squares_means(features, np.arange(3), live, counts, totals)
    expected = by_pseudo_inverse(features, live, counts, totals)
    np.testing.assert_allclose(found, expected, atol=1e-7 * (1 + np.abs(expected).max()))


def test_failed_evaluations_and_dead_arms_are_left_out():
    """NaN totals are as if the arm had not been pulled; a dead arm neither teaches nor is predicted."""
    features, live, counts, totals = random_case(3, 5, 7, 3, 3)
    live[:, :2] = True, False
    counts[:, :2] = 2
    totals[:, :2] = np.nan, 100.0
    without = counts * [0, 0, 1, 1, 1, 1, 1]
    found = least_squares_means(features, np.arange(5), live, counts, totals)
    expected = least_squares_means(features, np.arange(5), live, without, np.nan_to_num(totals))
    np.testing.assert_array_equal(found, expected)
    assert (found[:, 1] == 0).all()


def test_replications_do_not_depend_on_those_before_them():
    """Neighbours with the same pulled arms share a basis; a set or an arm that differs must not."""
    rng = np.random.default_rng(4)
    features = rng.standard_normal((2, 5, 7))
    feature_set = np.array([0, 0, 1, 1, 0, 0])
    counts = rng.integers(1, 4, (6, 5))
    counts[3, 2] = counts[5, 0] = 0
    totals = rng.standard_normal((6, 5)) * counts
    live = np.ones((6, 5), dtype=bool)
    together = least_squares_means(features, feature_set, live, counts, totals)
    for r in range(6):
        alone = least_squares_means(features, feature_set[[r]], live[[r]], counts[[r]], totals[[r]])
        np.testing.assert_array_equal(together[[r]], alone)

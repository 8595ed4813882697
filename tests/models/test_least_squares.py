"""Least squares from counts and totals: against NumPy, in law, and where V is singular."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.models.arm_estimates import least_squares_means


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
        used = counts[r] * ~np.isnan(totals[r])
        v = (features[r].T * used) @ features[r]
        theta = np.linalg.pinv(v, rcond=1e-10, hermitian=True) @ features[r].T @ np.nan_to_num(totals[r])
        means[r] = np.where(live[r], features[r] @ theta, 0.0)
    return means


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n_arms=st.integers(1, 9), d=st.integers(1, 7), rank=st.integers(1, 7))
def test_projection_equals_the_pseudo_inverse(seed, n_arms, d, rank):
    """Also where the arms that were pulled span less than the live ones, or no arm was pulled."""
    features, live, counts, totals = random_case(seed, 3, n_arms, d, rank)
    found = least_squares_means(features, np.arange(3), live, counts, totals)
    expected = by_pseudo_inverse(features, live, counts, totals)
    np.testing.assert_allclose(found, expected, atol=1e-7 * (1 + np.abs(expected).max()))


def test_estimates_are_those_of_lstsq_pull_by_pull():
    """Repeating a row as often as it was pulled, with the average as reward, is ordinary least squares."""
    rng = np.random.default_rng(0)
    x, counts = rng.standard_normal((6, 3)), np.array([2, 1, 4, 3, 1, 2])
    totals = rng.standard_normal(6) * counts
    theta = np.linalg.lstsq(np.repeat(x, counts, axis=0), np.repeat(totals / counts, counts), rcond=None)[0]
    found = least_squares_means(x[None], np.zeros(1, dtype=int), np.ones((1, 6), bool), counts[None], totals[None])
    np.testing.assert_allclose(found[0], x @ theta, atol=1e-12)


def test_independent_arms_get_their_empirical_means():
    """Where rank and number of arms agree, no arm teaches of another, whatever the features."""
    rng = np.random.default_rng(1)
    x, counts, totals = rng.standard_normal((1, 4, 6)), np.array([[1, 5, 2, 3]]), rng.standard_normal((1, 4))
    found = least_squares_means(x, np.zeros(1, dtype=int), np.ones((1, 4), bool), counts, totals)
    np.testing.assert_allclose(found, totals / counts, atol=1e-12)


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


def test_estimates_have_the_law_of_least_squares():
    """theta-hat is N(theta, sigma^2 V^-1), so x theta-hat has variance sigma^2 |x|^2_{V^-1}."""
    rng = np.random.default_rng(4)
    x, theta, counts = rng.standard_normal((5, 3)), np.array([1.0, -0.5, 2.0]), np.array([3, 1, 2, 5, 1])
    sigma, n = 0.7, 4000
    totals = counts * (x @ theta) + sigma * np.sqrt(counts) * rng.standard_normal((n, 5))
    found = least_squares_means(x[None], np.zeros(n, dtype=int), np.ones((n, 5), bool), np.tile(counts, (n, 1)), totals)
    variance = sigma**2 * np.einsum("ki,ij,kj->k", x, np.linalg.inv((x.T * counts) @ x), x)
    assert np.abs((found.mean(axis=0) - x @ theta) / np.sqrt(variance / n)).max() < 4
    assert np.abs(found.var(axis=0) / variance - 1).max() < 5 * np.sqrt(2 / n)


TURN = np.linalg.qr(np.random.default_rng(2).standard_normal((5, 5)))[0]


@pytest.mark.parametrize("change", [TURN, 1e-6 * np.eye(5), 1e6 * np.eye(5)], ids=["rotation", "small", "large"])
def test_a_rotation_and_the_scale_of_the_features_do_not_matter(change):
    """The rank is judged relative to the longest arm."""
    features, live, counts, totals = random_case(5, 20, 8, 5, 4)
    first, second = (least_squares_means(f, np.arange(20), live, counts, totals) for f in (features, features @ change))
    np.testing.assert_allclose(first, second, atol=1e-9)


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

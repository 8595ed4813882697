"""Designs of single pairs: the compiled walk against HiGHS, and the authors' program with weights of at least 0."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bestarm.designs.l1_design import l1_design, l1_pairs, nonnegative_design, related_arms
from bestarm_studies.gse.instances import adaptive_instance, sphere_instance


def of_one_set(x, pairs):
    return l1_pairs(x[None], *related_arms(x[None]), np.insert(pairs, 0, 0, axis=1))


@settings(max_examples=60)
@given(n_arms=st.integers(2, 40), d=st.integers(1, 12), rank=st.integers(1, 12), seed=st.integers(0, 10**6))
def test_the_compiled_program_reaches_the_norm_that_highs_finds(n_arms, d, rank, seed):
    """Random arms, collinear or not, more features than arms or fewer; the weights write the difference."""
    rng = np.random.default_rng(seed)
    rank = min(rank, d)
    x = rng.standard_normal((n_arms, rank)) @ rng.standard_normal((rank, d))
    pairs = rng.integers(n_arms, size=(5, 2))
    for (b, c), weights in zip(pairs, of_one_set(x, pairs), strict=True):
        np.testing.assert_allclose(weights @ x, x[b] - x[c], atol=1e-7 * max(1.0, np.abs(x).max()))
        assert np.abs(weights).sum() == pytest.approx(np.abs(l1_design(x, int(b), int(c))).sum(), abs=1e-7)


@pytest.mark.parametrize("n_arms", [64, 128])
def test_large_instances_of_the_paper(n_arms):
    """The random and the adaptive instance, beyond 32 arms."""
    random = sphere_instance(n_arms).take(np.arange(1)).features[0]
    pairs = np.random.default_rng(0).integers(n_arms, size=(6, 2))
    for x in (random, adaptive_instance(n_arms).features):
        for (b, c), weights in zip(pairs, of_one_set(x, pairs), strict=True):
            np.testing.assert_allclose(weights @ x, x[b] - x[c], atol=1e-9)
            assert np.abs(weights).sum() == pytest.approx(np.abs(l1_design(x, int(b), int(c))).sum(), abs=1e-8)


def test_sets_of_arms_are_solved_as_if_alone():
    """Random arms, orthogonal ones, and arms of which some are in no relation with the others, in one call."""
    rng = np.random.default_rng(1)
    sets = np.stack([rng.standard_normal((7, 6)), np.eye(7, 6), adaptive_instance(7).features])
    pairs = np.array([[s, b, c] for s in range(3) for b, c in ((0, 6), (6, 1), (2, 5), (3, 3))])
    found = l1_pairs(sets, *related_arms(sets), pairs)
    for s in range(3):
        np.testing.assert_array_equal(found[4 * s : 4 * s + 4], of_one_set(sets[s], pairs[4 * s : 4 * s + 4, 1:]))
    np.testing.assert_array_equal(found[3::4], np.zeros((3, 7)))


def test_limits():
    """Independent arms, arms at the origin, no pair, and arms that do not exist."""
    np.testing.assert_array_equal(of_one_set(np.eye(3), np.array([[0, 2]])), [[1, 0, -1]])
    np.testing.assert_array_equal(of_one_set(np.zeros((3, 2)), np.array([[0, 2]])), [[0, 0, 0]])
    np.testing.assert_array_equal(of_one_set(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0, 1]])), [[1, 0]])
    assert of_one_set(np.ones((3, 2)), np.zeros((0, 2), dtype=int)).shape == (0, 3)
    with pytest.raises(ValueError, match=r"arms must lie between 0 and n_arms - 1 = 2, got \[0 3\]"):
        of_one_set(np.eye(3), np.array([[0, 3]]))


def test_the_authors_program_is_solved_where_it_has_a_solution():
    """Many arms in few dimensions; SLSQP against HiGHS with the same constraint."""
    x = sphere_instance(40, 4).take(np.arange(1)).features[0]
    for b, c in ((0, 1), (7, 3), (39, 20)):
        exact = linprog(np.ones(40), A_eq=x.T, b_eq=x[b] - x[c], bounds=(0, None))
        assert exact.success
        np.testing.assert_allclose(nonnegative_design(x, b, c), exact.x, atol=1e-6)


def test_the_authors_program_is_almost_uniform_on_the_adaptive_instance():
    """It has no solution there: a difference of two arms of the positive orthant is no sum of arms."""
    x = adaptive_instance(16).features
    for b, c in ((2, 3), (5, 1), (0, 1)):
        assert linprog(np.ones(16), A_eq=x.T, b_eq=x[b] - x[c], bounds=(0, None)).status == 2
        weights = nonnegative_design(x, b, c)
        share = weights / weights.sum()
        assert (share >= 0).all()
        assert (share > 0.5 / 16).sum() >= 13
        assert share.max() < 4.0 / 16

"""Designs of smallest l1 norm (Eq. 1 of the Top-m paper), of all or of single pairs: closed forms, laws, HiGHS."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from scipy.optimize import linprog

from bestarm.designs import l1_design as module
from bestarm.designs.l1_design import l1_design, l1_designs, l1_pairs, nonnegative_design, related_arms
from bestarm_studies.gse.instances import adaptive_instance, sphere_instance

KINDS = ["gaussian", "integers", "duplicates", "low_rank", "wide", "small_scale"]


def features_of(kind, seed, n_arms, n_features):
    """Return features that are easy (Gaussian) or awkward: ties, equal arms, collinear arms, tiny arms."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_arms, n_features))
    match kind:
        case "integers":
            x = rng.integers(-1, 2, (n_arms, n_features)).astype(float)
        case "duplicates":
            x[n_arms // 2 :] = rng.choice([-1, 0, 1], (n_arms - n_arms // 2, 1)) * x[: n_arms - n_arms // 2]
        case "low_rank":
            x = x[:, :1] @ rng.standard_normal((1, n_features))
        case "wide":
            x = rng.standard_normal((n_arms, n_arms + n_features))
        case "small_scale":
            x *= 1e-9 * 10.0 ** rng.uniform(-4, 0, n_features)
    return x


def test_designs_by_hand():
    """x = 1 and 3: the difference -2 costs 2/3 with the second arm alone, and 2 with e_1 - e_2."""
    np.testing.assert_allclose(l1_design(np.array([[1.0], [3.0]]), 0, 1), [0, -2 / 3], atol=1e-12)
    for stretch, expected in ((4.0, [0, 0, 0.25]), (0.25, [1, -1, 0])):  # weight 1/s costs 1/s, below 2 when s > 1/2
        features = np.array([[1.0, 0.0], [0.0, 1.0], [stretch, -stretch]])
        np.testing.assert_allclose(l1_design(features, 0, 1), expected, atol=1e-12)
        np.testing.assert_allclose(l1_designs(features).weights[0, 1], expected, atol=1e-12)


@pytest.mark.parametrize("n_features", [7, 8, 71])
def test_independent_arms_leave_no_choice(n_features):
    """K <= N Gaussian arms are independent, so w*(i, j) = e_i - e_j, exactly."""
    features = np.random.default_rng(3).standard_normal((7, n_features))
    weights, n_fallbacks = l1_designs(features)
    identity = np.eye(7)
    assert n_fallbacks == 0
    for i in range(7):
        for j in range(7):
            np.testing.assert_array_equal(weights[i, j], identity[i] - identity[j])
            np.testing.assert_array_equal(l1_design(features, i, j), weights[i, j])


@pytest.mark.parametrize(("n_arms", "n_features"), [(4, 3), (10, 1), (10, 5), (20, 10), (30, 15), (30, 29)])
def test_the_compiled_solver_agrees_with_highs_on_gaussian_arms(n_arms, n_features):
    """The optimum is almost surely unique, so weights agree and not only norms: 6 sizes, 3 draws, 25 pairs."""
    rng = np.random.default_rng(n_arms * 100 + n_features)
    for _ in range(3):
        features = rng.standard_normal((n_arms, n_features))
        weights, n_fallbacks = l1_designs(features)
        assert n_fallbacks == 0
        for b, c in rng.integers(0, n_arms, (25, 2)):
            judge = l1_design(features, b, c)
            assert np.abs(weights[b, c]).sum() == pytest.approx(np.abs(judge).sum(), abs=1e-8)
            np.testing.assert_allclose(weights[b, c], judge, atol=1e-8)


@settings(max_examples=40)
@given(st.sampled_from(KINDS), st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 6))
def test_designs_obey_the_laws_of_eq_1(kind, seed, n_arms, n_features):
    """Feasible, antisymmetric, no longer than e_b - e_c, as short as the judge's; the norms obey the triangle."""
    features = features_of(kind, seed, n_arms, n_features)
    weights = l1_designs(features).weights
    norms = np.abs(weights).sum(axis=2)
    differences = features[:, None, :] - features[None, :, :]
    np.testing.assert_allclose(weights @ features, differences, atol=1e-8 * max(np.abs(features).max(), 1e-300))
    np.testing.assert_array_equal(weights, -weights.transpose(1, 0, 2))
    assert norms.max() <= 2 + 1e-8
    assert (norms[:, None, :] <= norms[:, :, None] + norms.T[None, :, :] + 1e-8).all()
    for c in range(1, n_arms):
        assert np.abs(l1_design(features, 0, c)).sum() == pytest.approx(norms[0, c], abs=1e-8)
    assert not ((weights != 0) & (np.abs(weights) < 1e-9)).any()


def test_a_long_walk_does_not_drift():
    """4950 pairs and tens of thousands of pivots from one start: the last pairs are as exact as the first."""
    features = np.random.default_rng(11).standard_normal((100, 6))
    weights, n_fallbacks = l1_designs(features)
    assert n_fallbacks == 0
    np.testing.assert_allclose(weights @ features, features[:, None] - features[None, :], atol=1e-11)
    assert np.abs(weights[98, 99]).sum() == pytest.approx(np.abs(l1_design(features, 98, 99)).sum(), abs=1e-10)


def test_a_pair_without_a_certificate_goes_to_highs_and_is_counted(monkeypatch):
    """With a compiled solver that certifies nothing, all six pairs of four arms come from HiGHS."""
    features = np.random.default_rng(5).standard_normal((4, 2))
    expected = l1_designs(features).weights
    monkeypatch.setattr(module, "best_vertices", lambda x, pairs, weights, certified: None)
    weights, n_fallbacks = l1_designs(features)
    assert n_fallbacks == 6
    np.testing.assert_allclose(weights, expected, atol=1e-9)


def test_a_walk_from_arms_that_do_not_span_their_space_certifies_nothing():
    """The polytope is then unbounded; the solver says so instead of looping."""
    line = np.outer(np.arange(1.0, 5.0), [1.0, 0.0])
    pairs, certified = np.array([[0, 1], [2, 3]]), np.ones(2, dtype=bool)
    module.best_vertices(line, pairs, np.zeros((2, 4)), certified)
    assert not certified.any()


def test_nearly_equal_arms_are_solved_or_handed_over():
    """Pairs of arms 1e-9 apart are at the edge of double precision: norms must still agree with HiGHS to 1e-6."""
    rng = np.random.default_rng(8)
    features = rng.standard_normal((5, 3))
    features = np.vstack([features, features + 1e-9 * rng.standard_normal((5, 3))])
    norms = np.abs(l1_designs(features).weights).sum(axis=2)
    for c in range(1, 10):
        assert norms[0, c] == pytest.approx(np.abs(l1_design(features, 0, c)).sum(), abs=1e-6)


def test_a_thousand_arms_are_no_obstacle_for_one_pair():
    features = np.random.default_rng(2).standard_normal((1000, 20))
    weights = l1_design(features, 3, 700)
    np.testing.assert_allclose(weights @ features, features[3] - features[700], atol=1e-8)
    assert np.count_nonzero(weights) <= 20
    assert np.abs(weights).sum() <= 2 + 1e-12


def test_arms_at_the_origin_and_a_pair_of_one_arm_need_no_pull():
    assert not l1_designs(np.zeros((3, 2))).weights.any()
    assert not l1_design(np.zeros((3, 2)), 0, 1).any()
    assert not l1_design(np.array([[1.0], [2.0], [4.0]]), 1, 1).any()


@pytest.mark.parametrize("solve", [l1_designs, lambda features: l1_design(features, 0, 1)])
def test_features_that_are_not_finite_or_not_a_matrix_are_refused(solve):
    features = np.ones((4, 2))
    features[2, 1] = np.nan
    refuses(lambda: solve(features), r"features must be finite, got nan .*arm 2, feature 1.*impute")
    refuses(lambda: solve(np.ones((2, 4, 2))), r"\(n_arms, n_features\), got \(2, 4, 2\)")


@pytest.mark.parametrize("pair", [(0, 3), (-1, 0)])
def test_a_pair_that_does_not_exist_is_refused(pair):
    refuses(lambda: l1_design(np.array([[1.0], [2.0], [4.0]]), *pair), r"between 0 and n_arms - 1 = 2, got the pair")


def test_a_failure_of_highs_is_one_clear_error(monkeypatch):
    class Failure:
        success, message = False, "Solve error."

    monkeypatch.setattr(module, "linprog", lambda *args, **kwargs: Failure())
    with pytest.raises(RuntimeError, match=r"none for arms 0 and 2: Solve error\. Look for arms"):
        l1_design(np.array([[1.0], [2.0], [4.0]]), 0, 2)


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
    sets = np.stack([np.random.default_rng(1).standard_normal((7, 6)), np.eye(7, 6), adaptive_instance(7).features])
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

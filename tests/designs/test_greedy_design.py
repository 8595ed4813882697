"""The sequential G-allocation: against plain inversions, closed forms, invariances, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusing

from bestarm.designs.greedy_design import greedy_counts

SEED = 20261121


def one_row(features, budget, live=None, **options):
    alive = np.ones((1, len(features)), dtype=bool) if live is None else live[None]
    return greedy_counts(features[None], alive, np.array([budget]), **options)[0]


def naive(features, budget, regulariser=1.0, intercept=False):
    """Judge: invert A + x x' for every arm and every pull."""
    x = np.column_stack([np.ones(len(features)), features]) if intercept else features
    matrix, pulls = regulariser * np.eye(x.shape[1]), np.zeros(len(x), dtype=int)
    for _ in range(budget):
        worst = np.array([max(v @ np.linalg.inv(matrix + np.outer(u, u)) @ v for v in x) for u in x])
        chosen = min(np.flatnonzero(worst <= worst.min() * (1 + 1e-10)), key=lambda j: (pulls[j], j))
        pulls[chosen] += 1
        matrix += np.outer(x[chosen], x[chosen])
    return pulls


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    budget=st.integers(1, 30),
    regulariser=st.sampled_from([1.0, 0.01, 30.0]),
    intercept=st.booleans(),
)
def test_against_plain_inversions(seed, shape, budget, regulariser, intercept):
    """Arms in general position, more and fewer of them than features."""
    features = np.random.default_rng(seed).standard_normal(shape)
    pulls = one_row(features, budget, regulariser=regulariser, intercept=intercept)
    np.testing.assert_array_equal(pulls, naive(features, budget, regulariser, intercept))


@settings(max_examples=60)
@given(n_arms=st.integers(1, 9), budget=st.integers(1, 40), length=st.floats(0.01, 100), intercept=st.booleans())
def test_orthogonal_arms_share_the_budget_evenly(n_arms, budget, length, intercept):
    pulls = one_row(length * np.eye(n_arms), budget, intercept=intercept)
    np.testing.assert_array_equal(pulls, budget // n_arms + (np.arange(n_arms) < budget % n_arms))


def test_one_arm_gets_all_and_a_short_one_nothing():
    """Of two parallel arms only the long one is ever pulled: it tells more of both."""
    np.testing.assert_array_equal(one_row(np.array([[2.0, 1.0]]), 7), [7])
    np.testing.assert_array_equal(one_row(np.array([[1.0, 0], [3.0, 0]]), 5), [0, 5])


def excess(features, pulls):
    """Return n times the largest leverage, over its optimum d (Kiefer and Wolfowitz)."""
    v = (features.T * pulls) @ features
    return pulls.sum() * np.einsum("ik,kl,il->i", features, np.linalg.inv(v), features).max() / features.shape[1]


def test_long_budgets_do_not_reach_the_optimal_design():
    """A fact at a fixed seed: the excess over the optimum stalls, and uniform pulls can be better."""
    rng = np.random.default_rng(SEED)
    at_200, at_5000 = [], []
    for _ in range(20):
        features = rng.standard_normal((32, 10))
        at_200.append(excess(features, one_row(features, 200)))
        at_5000.append(excess(features, one_row(features, 5000)))
    assert min(at_200 + at_5000) >= 1.0
    assert np.median(at_5000) > 1.5
    assert np.median(at_5000) > 0.9 * np.median(at_200)
    assert excess(np.eye(4), one_row(np.eye(4), 400)) == pytest.approx(1.0)


def test_dead_arms_do_not_matter():
    rng = np.random.default_rng(SEED)
    features, live = rng.standard_normal((5, 9, 3)), rng.random((5, 9)) < 0.6
    live[:, 0] = True
    budget = np.array([3, 10, 11, 20, 1])
    pulls = greedy_counts(features, live, budget)
    np.testing.assert_array_equal(pulls.sum(axis=1), budget)
    for s in range(5):
        np.testing.assert_array_equal(pulls[s, live[s]], one_row(features[s, live[s]], budget[s]))
        assert (pulls[s, ~live[s]] == 0).all()
        np.testing.assert_array_equal(one_row(features[s], budget[s], live[s]), pulls[s])


def test_rounding_does_not_accumulate():
    """After many pulls the choices are still those of fresh inversions, also for collinear and zero arms."""
    rng = np.random.default_rng(SEED)
    features = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 4))
    features[5] = 0.0
    np.testing.assert_array_equal(one_row(features, 400), naive(features, 400))


@refusing(
    ({"budget": np.array([4, 0])}, "budget must be a whole number of at least 1, got 0 in row 1"),
    ({"regulariser": 0.0}, "regulariser must be positive.*got 0.0; try 1"),
    ({"regulariser": np.nan}, "regulariser must be positive"),
    ({"features": np.ones((2, 4, 2))}, r"features must have shape \(2, 3, d\), got \(2, 4, 2\)"),
    ({"features": np.full((2, 3, 2), np.nan)}, "features must be finite, got nan in row 0, arm 0"),
    ({"live": np.array([[True] * 3, [False] * 3])}, "row 1 has none"),
)
def test_bad_input_is_refused(change):
    arguments = {"features": np.ones((2, 3, 2)), "live": np.ones((2, 3), dtype=bool), "budget": np.array([4, 4])}
    greedy_counts(**arguments)
    greedy_counts(**(arguments | change))

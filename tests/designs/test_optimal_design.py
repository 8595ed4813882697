"""Optimal designs: the equivalence theorem, closed forms, independent judges, and where Algorithm 2 stalls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused, refuses

from bestarm.designs import optimal_design as design_steps
from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.designs.projection import coded_coordinates, span_basis


def unit_arms(seed: int, n_sets: int, n_arms: int, d: int, rank: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_sets, n_arms, rank or d))
    if rank is not None:
        x = x @ rng.standard_normal((n_sets, rank, d))
    return x / np.linalg.norm(x, axis=2, keepdims=True)


def leverages(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.einsum("ki,ij,kj->k", x, np.linalg.pinv((x.T * weights) @ x, rcond=1e-10, hermitian=True), x)


def everything(x: np.ndarray) -> np.ndarray:
    return np.ones(x.shape[:2], dtype=bool)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), n_arms=st.integers(2, 25), d=st.integers(1, 6), rank=st.integers(1, 6))
def test_kiefer_wolfowitz(seed, n_arms, d, rank):
    """At the optimum the largest leverage is the rank; for every design they average to it."""
    x = unit_arms(seed, 1, n_arms, d, rank)
    found = optimal_design(x, everything(x), DesignRule())
    g = leverages(x[0], found.weights[0])
    assert found.rank[0] == np.linalg.matrix_rank(x[0])
    assert found.converged[0]
    assert found.weights[0].sum() == pytest.approx(1.0)
    assert (found.weights >= 0).all()
    assert found.weights[0] @ g == pytest.approx(found.rank[0], abs=1e-8)
    assert found.rank[0] - 1e-8 <= g.max() <= 1.011 * found.rank[0]  # pruning tiny weights costs next to nothing


@pytest.mark.parametrize("start", ["uniform", "kumar-yildirim"])
def test_the_support_has_full_leverage(start):
    """With away steps no weight stays on an arm whose leverage is below the rank."""
    x = unit_arms(0, 20, 30, 5)
    found = optimal_design(x, everything(x), DesignRule(start=start, tolerance=1e-4, max_steps=20000))
    for s in range(20):
        assert leverages(x[s], found.weights[s])[found.weights[s] > 1e-3].min() > 5 * (1 - 0.05)


def test_independent_arms_have_the_uniform_design():
    """Without a step, whatever the rule; dead arms and arms at the origin get nothing."""
    x = unit_arms(1, 1, 6, 8)
    x[0, 5] = 0.0
    live = np.array([[True, True, False, True, True, True]])
    for steps in ("d-optimal", "frank-wolfe", "grid", "wynn"):
        found = optimal_design(x, live, DesignRule(steps))
        np.testing.assert_allclose(found.weights[0], [0.25, 0.25, 0, 0.25, 0.25, 0])
        assert (found.n_steps[0], found.rank[0]) == (0, 4)


def test_of_arms_on_one_line_the_farthest_has_all_the_weight():
    x = np.array([[1.0, -3.0, 2.0]])[..., None] * np.array([[[1.0]], [[0.5]]])
    for rank_1 in (x, np.concatenate([x, 2.0 * x], axis=2)):
        found = optimal_design(rank_1, everything(rank_1), DesignRule())
        np.testing.assert_array_equal(found.weights, [[0.0, 1.0, 0.0]] * 2)
        assert (found.leverage.round(12).tolist(), found.converged.all()) == ([1.0, 1.0], True)


def test_two_orthogonal_groups_get_half_each_and_arms_at_the_origin_nothing():
    """Three copies of one direction, one of another: 1/2 for each; where nothing can be learned the rank is 0."""
    x = np.array([[[1.0, 0], [1, 0], [1, 0], [0, 1]]])
    found = optimal_design(x, everything(x), DesignRule(tolerance=1e-4, max_steps=20000))
    assert found.weights[0, :3].sum() == pytest.approx(0.5, abs=1e-3)
    assert found.leverage[0] == pytest.approx(2.0, rel=1e-3)
    found = optimal_design(np.zeros((1, 3, 2)), np.array([[True, False, True]]), DesignRule())
    np.testing.assert_allclose(found.weights, [[0.5, 0, 0.5]])
    assert found.rank[0] == 0


def test_a_set_is_solved_as_if_it_were_alone():
    x = unit_arms(3, 6, 10, 3)
    live = np.random.default_rng(2).random((6, 10)) < 0.7
    live[:, :4] = True
    together = optimal_design(x, live, DesignRule())
    for s in range(6):
        alone = optimal_design(x[s : s + 1][:, live[s]], np.ones((1, live[s].sum()), bool), DesignRule())
        np.testing.assert_allclose(together.weights[s, live[s]], alone.weights[0], atol=1e-12)
        assert (together.weights[s, ~live[s]] == 0).all()


def one_design(seed: int, n: int = 7, d: int = 3):
    """Return arms, a random design, its inverse and leverages."""
    rng = np.random.default_rng(seed)
    z, weights = rng.standard_normal((n, d)), rng.dirichlet(np.ones(n))
    inverse, g = np.empty((d, d)), np.empty(n)
    design_steps.information_inverse(z, weights, inverse, g)
    return z, weights, inverse, g


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), step=st.floats(0.0, 0.95))
def test_leverages_after_a_step_have_the_closed_form(seed, step):
    """Against the inverse of the moved design; the vertex of the surrogate is the arm of the largest leverage."""
    z, weights, inverse, g = one_design(seed)
    s = int(np.argmax(g))
    c = z @ inverse @ z[s]
    assert np.argmax(np.abs(c)) == s  # Algorithm 2, line 4: the steepest coordinate is x_max itself
    moved = (1 - step) * weights + step * np.eye(7)[s]
    expected = leverages(z, moved)
    assert design_steps.largest_after(g, c, g[s], step) == pytest.approx(expected.max(), rel=1e-6)
    design_steps.move(z, weights, inverse, g, s, step, c)
    np.testing.assert_allclose(g, expected, rtol=1e-6)
    np.testing.assert_allclose(weights, moved, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_line_searches_find_their_minima(seed):
    """Golden section against a fine grid; the grid of the code against its own definition."""
    z, _, inverse, g = one_design(seed)
    s = int(np.argmax(g))
    c = z @ inverse @ z[s]
    values = np.array([design_steps.largest_after(g, c, g[s], t) for t in np.linspace(0, 0.999, 4001)])
    assert np.all(np.diff(values, 2) > -1e-6)  # convex
    assert design_steps.largest_after(g, c, g[s], design_steps.golden_section(g, c, g[s])) <= values.min() * (1 + 1e-6)
    coarse, _ = design_steps.best_on_grid(g, c, g[s])
    grid = 0.75 ** np.arange(1, 24)
    assert coarse == pytest.approx(grid[np.argmin([design_steps.largest_after(g, c, g[s], t) for t in grid])])


def test_the_determinant_never_falls():
    z = unit_arms(5, 1, 15, 4)[0]
    last = -np.inf
    for n_steps in range(1, 60, 4):
        weights = np.full(15, 1 / 15)
        design_steps.solve(z, weights, design_steps.D_OPTIMAL, 1e-9, n_steps)
        now = np.linalg.slogdet((z.T * weights) @ z)[1]
        assert now >= last - 1e-12
        last = now


def test_algorithm_2_stalls_and_the_step_on_the_determinant_does_not():
    """A fact of this paper: the exact line search on the largest leverage ends above 1.1 d on random arms."""
    for n_arms, d in ((8, 4), (16, 10), (32, 10), (128, 10)):
        x = unit_arms(7, 10, n_arms, d)
        rules = {steps: DesignRule(steps, max_steps=500) for steps in ("frank-wolfe", "grid", "d-optimal")}
        ratio = {steps: optimal_design(x, everything(x), rule) for steps, rule in rules.items()}
        assert not ratio["frank-wolfe"].converged.any()
        assert (ratio["frank-wolfe"].n_steps < 10).all()
        assert ratio["frank-wolfe"].leverage.mean() / d > 1.1
        assert ratio["grid"].leverage.mean() < ratio["frank-wolfe"].leverage.mean()
        assert (ratio["d-optimal"].leverage <= 1.0101 * d).all()


def test_kumar_and_yildirim_start_from_as_few_arms_as_the_rank():
    """They span everything; random directions are those of the replication."""
    z = unit_arms(8, 1, 40, 6)[0]
    first, again, other = (design_steps.kumar_yildirim(z, np.uint64(5), r) for r in (0, 0, 1))
    for weights in (first, other):
        assert ((weights > 0).sum(), np.linalg.matrix_rank(z[weights > 0])) == (6, 6)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_wynn_approaches_the_optimum_harmonically():
    x = unit_arms(9, 5, 20, 4)
    few, many = (optimal_design(x, everything(x), DesignRule("wynn", tolerance=1e-6, max_steps=n)) for n in (50, 4000))
    assert (many.leverage < few.leverage).all()
    assert (many.leverage < 4.01).all()


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 8), d=st.integers(1, 8), rank=st.integers(1, 8))
def test_the_basis_spans_the_arms(seed, n, d, rank):
    """Orthonormal, of the rank of the arms, and projecting onto it changes no arm."""
    x = unit_arms(seed, 1, n, d, rank)[0]
    basis = span_basis(x)
    assert basis.shape == (d, np.linalg.matrix_rank(x, tol=1e-9 * np.linalg.norm(x, axis=1).max()))
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    np.testing.assert_allclose(x @ basis @ basis.T, x, atol=1e-9)


def test_the_authors_projection_keeps_three_columns():
    """Full rank: nothing happens; else three, of which an old one stays where the rank is lower."""
    full = unit_arms(0, 1, 6, 4)[0]
    np.testing.assert_array_equal(coded_coordinates(full), full)
    five = unit_arms(1, 1, 5, 7)[0]
    kept = coded_coordinates(five)
    assert (kept.shape, np.linalg.svd(kept)[1]) == ((5, 3), pytest.approx(np.linalg.svd(five)[1][:3]))
    two = unit_arms(2, 1, 2, 6)[0]
    np.testing.assert_array_equal(coded_coordinates(two)[:, 2], two[:, 2])


test_rules_out_of_range_are_refused = refused(
    lambda settings: DesignRule(**settings),
    ({"steps": "newton"}, "steps must be one of frank-wolfe, grid, d-optimal, wynn, got 'newton'"),
    ({"start": "random"}, "start must be one of uniform, kumar-yildirim, got 'random'"),
    ({"tolerance": 0.0}, "tolerance must be positive, got 0.0"),
    ({"max_steps": 0}, "max_steps must be at least 1, got 0"),
)


def test_sets_without_arms_and_features_that_are_not_finite_are_refused():
    x = unit_arms(0, 2, 3, 2)
    dead = np.array([[True] * 3, [False] * 3])
    refuses(lambda: optimal_design(x, dead, DesignRule()), "live must mark at least one arm in every row, row 1")
    x[1, 2, 0] = np.nan
    refuses(lambda: optimal_design(x, everything(x), DesignRule()), "features must be finite, got nan in row 1, arm 2")

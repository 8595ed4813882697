"""Rounding of designs: exact budgets, the law of each method, bounds on the leverage, random remainders, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused, refusing
from scipy.linalg import fractional_matrix_power, sqrtm
from scipy.optimize import brentq

from bestarm.designs.rounding import round_design, swap, uniform_counts, whiten
from bestarm.streams import Streams

SEED = 20261121
designs = {"seed": st.integers(0, 2**32 - 1), "n_arms": st.integers(1, 12), "n_unused": st.integers(0, 5)}


def rounded(weights, budget, method="apportionment", *, n_rows=1, time=0, **options):
    """Round one design for some replications; features, if given, are those of one row."""
    streams = Streams.first(n_rows, seed=SEED, instance="rounding")
    if "features" in options:
        options["features"] = np.broadcast_to(options["features"], (n_rows, *options["features"].shape))
    weights, budget = np.broadcast_to(weights, (n_rows, len(weights))), np.full(n_rows, budget)
    return round_design(weights, budget, method, streams.key("round"), streams.replications, time, **options)


def random_design(seed: int, n_arms: int, n_unused: int = 0) -> np.ndarray:
    """Return weights in general position, some of them 0."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(rng.choice([0.2, 1.0, 20.0], size=n_arms)) + 1e-4
    weights[rng.choice(n_arms, size=min(n_unused, n_arms - 1), replace=False)] = 0.0
    return weights / weights.sum()


def adams(weights, budget):
    """Judge: raise the divisor rule one pull at a time, from one pull of every arm."""
    pulls = (weights > 0).astype(int)
    for _ in range(budget - pulls.sum()):
        pulls[np.argmin(np.where(weights > 0, pulls / np.where(weights > 0, weights, 1), np.inf))] += 1
    return pulls


@settings(max_examples=150)
@given(**designs, budget=st.integers(1, 300))
def test_apportionment_spends_the_budget_and_is_efficient(seed, n_arms, n_unused, budget):
    """Exact sum, the support and nothing else, and N_i / (n pi_i) >= 1 - (|S| - 1) / n (Pukelsheim and Rieder)."""
    weights = random_design(seed, n_arms, n_unused)
    used = weights > 0
    (pulls,) = rounded(weights, budget)
    assert pulls.sum() == budget
    assert (pulls[~used] == 0).all()
    if budget >= used.sum():
        assert (pulls[used] >= 1).all()
        assert (pulls[used] / (budget * weights[used])).min() >= 1 - (used.sum() - 1) / budget - 1e-9
        np.testing.assert_array_equal(pulls, adams(weights, budget))


def test_whole_quotas_are_kept():
    """Weights that are multiples of 1/n need no rounding, though 100 * 0.07 exceeds 7 in floating point."""
    # the worst case of the ceiling: an arm with next to all the weight, and six with next to none, n + 6 pulls
    assert rounded(np.array([1 - 6e-5] + [1e-5] * 6), 10, "ceiling").sum() == 16
    assert 100 * 0.07 > 7
    for hundredths in range(1, 100):
        whole = np.array([hundredths, 100 - hundredths])
        for method in ("apportionment", "ceiling"):
            np.testing.assert_array_equal(rounded(whole / 100, 100, method)[0], whole)


def test_a_budget_below_the_support_keeps_the_largest_weights():
    """One pull of each of the n largest; ties among them are broken evenly."""
    np.testing.assert_array_equal(rounded(np.array([0.1, 0.4, 0.0, 0.3, 0.2]), 2)[0], [0, 1, 0, 1, 0])
    pulls = rounded(np.array([0.4, 0.2, 0.2, 0.2]), 2, n_rows=6000)
    assert (pulls.sum(axis=1) == 2).all()
    assert (pulls[:, 0] == 1).all()
    np.testing.assert_allclose(pulls[:, 1:].mean(axis=0), 1 / 3, atol=4 * np.sqrt(2 / 9 / 6000))


def test_ties_are_broken_at_random():
    """Equal weights, up to their last digit: each arm gets the odd pull equally often, whichever way it is added."""
    for n_over in (1, 2, 3, 4):
        pulls = rounded(np.full(5, 0.2) + np.array([1, -1, 2, 0, -2]) * 1e-17, 15 + n_over, n_rows=6000)
        assert set(np.unique(pulls)) == {3, 4}
        share = n_over / 5
        np.testing.assert_allclose((pulls == 4).mean(axis=0), share, atol=4 * np.sqrt(share * (1 - share) / 6000))


@settings(max_examples=100)
@given(**designs, budget=st.integers(1, 300))
def test_ceiling_overspends_by_less_than_the_support(seed, n_arms, n_unused, budget):
    """ceil(n pi_i) each: at least the design's share, at most |S| - 1 pulls too many."""
    weights = random_design(seed, n_arms, n_unused)
    (pulls,) = rounded(weights, budget, "ceiling")
    assert 0 <= pulls.sum() - budget <= np.count_nonzero(weights) - 1
    assert (pulls >= budget * weights - 1e-6).all()
    assert (pulls < budget * weights + 1).all()
    np.testing.assert_array_equal(pulls > 0, weights > 0)


def test_multinomial_has_its_mean_and_covariance():
    """n pi and n (diag(pi) - pi pi'), within four standard errors; no pull off the support."""
    weights, budget, n_rows = np.array([0.5, 0.0, 0.3, 0.15, 0.05]), 12, 20000
    pulls = rounded(weights, budget, "multinomial", n_rows=n_rows)
    assert (pulls.sum(axis=1) == budget).all()
    assert (pulls[:, 1] == 0).all()
    covariance = budget * (np.diag(weights) - np.outer(weights, weights))
    most = 4 * np.sqrt(np.diag(covariance) / n_rows) + 1e-12
    np.testing.assert_array_less(np.abs(pulls.mean(axis=0) - budget * weights), most)
    products = np.einsum("ri,rj->rij", pulls - budget * weights, pulls - budget * weights)
    standard_errors = products.std(axis=0) / np.sqrt(n_rows)
    np.testing.assert_array_less(np.abs(products.mean(axis=0) - covariance), 4 * standard_errors + 1e-12)


def balance(features, weights, pulls):
    """Return lambda_min of sum N x~ x~', in features where n sum pi x~ x~' is the identity."""
    values, vectors = np.linalg.eigh(pulls.sum() * (features.T * weights) @ features)
    kept = values > 1e-9 * values.max()
    whitened = features @ vectors[:, kept] / np.sqrt(values[kept])
    return np.linalg.eigvalsh((whitened.T * pulls) @ whitened)[0]


def test_whitening():
    """The design has the identity, also for collinear features; the rank is that of the support."""
    rng = np.random.default_rng(SEED)
    features = rng.standard_normal((9, 3)) @ rng.standard_normal((3, 6))
    weights = random_design(4, 9)
    whitened = whiten(features, weights, 17)
    assert whitened.shape == (9, 3)
    np.testing.assert_allclose((whitened.T * (17 * weights)) @ whitened, np.eye(3), atol=1e-12)


def test_swaps_keep_their_promise():
    """lambda_min >= 1 - 3 epsilon for n >= 5 d / epsilon^2, from the apportionment and from the worst start."""
    rng = np.random.default_rng(SEED)
    for _ in range(40):
        d, epsilon = int(rng.integers(2, 6)), float(rng.choice([0.1, 0.2, 0.3]))
        features, weights = rng.standard_normal((15, d)), random_design(int(rng.integers(2**32)), 15, 4)
        budget = int(np.ceil(5 * d / epsilon**2))
        (pulls,) = rounded(weights, budget, "allen-zhu", features=features, epsilon=epsilon)
        assert pulls.sum() == budget
        assert balance(features, weights, pulls) >= 1 - 3 * epsilon
        one_arm = np.bincount([int(rng.choice(np.flatnonzero(weights)))], minlength=15) * budget
        used = weights > 0
        whitened = whiten(features[used], weights[used], budget)
        repaired = np.zeros(15, dtype=np.int64)
        repaired[used] = swap(whitened, one_arm[used], epsilon, np.arange(used.sum()))
        assert repaired.sum() == budget
        assert balance(features, weights, one_arm) < 1e-9
        assert balance(features, weights, repaired) >= 1 - 3 * epsilon


def naive_swap(features, weights, pulls, epsilon):
    """Judge: the same swaps with explicit matrix roots, c by a root finder, and a list of single pulls."""
    n, pulls = pulls.sum(), pulls.copy()
    whitened = features @ fractional_matrix_power(n * (features.T * weights) @ features, -0.5).real
    d = features.shape[1]
    alpha = np.sqrt(d) / epsilon
    for _ in range(int(np.ceil(n / epsilon))):
        z = (whitened.T * pulls) @ whitened
        smallest = np.linalg.eigvalsh(z)[0]
        if smallest >= max(1 - 3 * epsilon, 1e-9):
            return pulls
        c = brentq(
            lambda c, z=z: np.trace(np.linalg.matrix_power(np.linalg.inv(c * np.eye(d) + alpha * z), 2)) - 1,
            -alpha * smallest + 1e-9,
            np.sqrt(d) + 1e-9,
            xtol=1e-14,
        )
        a = np.linalg.matrix_power(np.linalg.inv(c * np.eye(d) + alpha * z), 2)
        value, weight = np.diag(whitened @ a @ whitened.T), 2 * alpha * np.diag(whitened @ sqrtm(a).real @ whitened.T)
        leaves = np.full(len(pulls), np.inf)
        may = (pulls > 0) & (weight < 1)
        leaves[may] = value[may] / (1 - weight[may])
        comes = np.where(weights > 0, value / (1 + weight), -np.inf)
        i, j = np.argmin(leaves), np.argmax(comes)
        if comes[j] <= leaves[i] * (1 + 1e-10):
            return pulls
        pulls[i] -= 1
        pulls[j] += 1
    return pulls


def test_swaps_against_the_naive_ones():
    """From the apportionment, and through many swaps from a random start."""
    rng = np.random.default_rng(SEED)
    n_changed, n_moved, n_edges = 0, 0, 0

    def agree(pulls, start, features, weights, epsilon):
        if np.array_equal(pulls, naive_swap(features, weights, start, epsilon)):
            return 0
        # balanced to the last digit, so that the processor's rounding decides whether swaps end there
        used = weights > 0
        whitened = whiten(features[used], weights[used], pulls.sum())
        assert np.linalg.eigvalsh((whitened.T * pulls[used]) @ whitened)[0] == pytest.approx(1 - 3 * epsilon, abs=1e-9)
        return 1

    for _ in range(40):
        d, n_arms = int(rng.integers(2, 5)), int(rng.integers(6, 12))
        features, weights = rng.standard_normal((n_arms, d)), random_design(int(rng.integers(2**32)), n_arms, 2)
        budget, epsilon = int(rng.integers(d + 1, 20)), float(rng.choice([0.05, 0.1]))
        (start,) = rounded(weights, budget)
        (pulls,) = rounded(weights, budget, "allen-zhu", features=features, epsilon=epsilon)
        n_edges += agree(pulls, start, features, weights, epsilon)
        n_changed += not np.array_equal(pulls, start)
        flat, budget = np.full(n_arms, 1 / n_arms), 40
        start = rng.multinomial(budget, rng.dirichlet(np.ones(n_arms)))
        pulls = swap(whiten(features, flat, budget), start, epsilon, np.arange(n_arms))
        n_edges += agree(pulls, start, features, flat, epsilon)
        n_moved += np.abs(pulls - start).sum() // 2
    assert n_changed >= 10
    assert n_moved >= 100
    assert n_edges <= 3  # of 80


@settings(max_examples=60)
@given(**designs, shape=st.tuples(st.integers(1, 6), st.integers(1, 6)), budget=st.integers(1, 60), e=st.integers(0, 2))
def test_swaps_never_unbalance(seed, n_arms, n_unused, shape, budget, e):
    """Exact budget on the support; at least the apportionment's lambda_min; collinear and zero features allowed."""
    rng, (d, rank), epsilon = np.random.default_rng(seed), shape, (0.02, 0.1, 1 / 3)[e]
    features = rng.standard_normal((n_arms, min(rank, d))) @ rng.standard_normal((min(rank, d), d))
    features[rng.integers(n_arms)] = 0.0
    weights = random_design(seed, n_arms, n_unused)
    (start,) = rounded(weights, budget)
    (pulls,) = rounded(weights, budget, "allen-zhu", features=features, epsilon=epsilon)
    assert pulls.sum() == budget
    assert (pulls >= 0).all()
    assert (pulls[weights == 0] == 0).all()
    if np.any(features[weights > 0]):
        assert balance(features, weights, pulls) >= balance(features, weights, start) - 1e-9


def test_swaps_repair_an_allocation_that_does_not_span():
    """Two pulls in one direction: at the loosest epsilon one moves to the other; what spans is left as it is."""
    features, weights = np.array([[1.0, 0], [1, 0], [0, 1]]), np.array([0.35, 0.35, 0.3])
    np.testing.assert_array_equal(rounded(weights, 2)[0], [1, 1, 0])
    (pulls,) = rounded(weights, 2, "allen-zhu", features=features)
    assert pulls[2] == 1
    np.testing.assert_array_equal(rounded(weights, 9, "allen-zhu", features=features), rounded(weights, 9))


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), n_arms=st.integers(1, 12), budget=st.integers(1, 100))
def test_uniform_spends_the_budget_on_live_arms(seed, n_arms, budget):
    """Floor or ceiling of n / |A| for live arms, 0 for the others."""
    live = np.random.default_rng(seed).random((3, n_arms)) < 0.6
    live[:, 0] = True
    streams = Streams.first(3, seed=SEED)
    pulls = uniform_counts(live, np.full(3, budget), streams.key("uniform"), streams.replications, 0)
    np.testing.assert_array_equal(pulls.sum(axis=1), budget)
    assert (pulls[~live] == 0).all()
    for row, alive in zip(pulls, live, strict=True):
        assert set(row[alive]) <= {budget // alive.sum(), -(-budget // alive.sum())}


def test_the_remainder_is_a_uniform_subset():
    """Two of five live arms: each of the ten pairs equally often (chi square, 9 degrees of freedom)."""
    live = np.array([True, False, True, True, True, True])
    streams = Streams.first(10000, seed=SEED, instance="remainder")
    rows, budgets = np.tile(live, (10000, 1)), np.full(10000, 12)
    pulls = uniform_counts(rows, budgets, streams.key("uniform"), streams.replications, 3)
    pairs, frequencies = np.unique(pulls[:, live] == 3, axis=0, return_counts=True)
    assert len(pairs) == 10
    assert ((frequencies - 1000) ** 2 / 1000).sum() < 27.9  # the 99.9% point


def test_draws_belong_to_the_replication_and_the_time():
    """A replication alone draws what it draws among others; another time or key draws anew."""
    streams = Streams.first(50, seed=SEED)
    key, rows, live = streams.key("uniform"), streams.replications, np.ones((50, 9), dtype=bool)
    weights, budget = np.full((50, 9), 1 / 9), np.full(50, 13)
    for allocate in (
        lambda rows, t, key: uniform_counts(live[: len(rows)], budget[: len(rows)], key, rows, t),
        lambda rows, t, key: round_design(weights[: len(rows)], budget[: len(rows)], "apportionment", key, rows, t),
        lambda rows, t, key: round_design(weights[: len(rows)], budget[: len(rows)], "multinomial", key, rows, t),
    ):
        together = allocate(rows, 1, key)
        np.testing.assert_array_equal(allocate(rows[30:33], 1, key), together[30:33])
        assert not np.array_equal(allocate(rows, 2, key), together)
        assert not np.array_equal(allocate(rows, 1, streams.key("another")), together)


@refusing(
    ({"budget": np.array([5, 0])}, "at least 1, got 0 in row 1; raise"),
    ({"budget": np.array([-2, 5])}, "at least 1, got -2 in row 0"),
    ({"budget": np.array([2.5, 5])}, "whole number of at least 1, got 2.5"),
    ({"budget": np.array([np.nan, 5])}, "got nan"),
    ({"budget": np.array([5])}, r"budget must have shape \(2,\)"),
    ({"weights": np.full((2, 4), 0.3)}, r"sum to 1 in every row, got 1.2 in row 0; divide"),
    ({"weights": np.array([[0.5, 0.5, 0, 0], [1.1, -0.1, 0, 0]])}, "not negative, got -0.1 in row 1, arm 1"),
    ({"weights": np.array([[0.5, 0.5, 0, 0], [np.nan, 1, 0, 0]])}, "finite and not negative, got nan in row 1"),
    ({"weights": np.full(4, 0.25)}, r"weights must have shape \(R, K\).*got \(4,\)"),
    ({"method": "nearest"}, "method must be one of apportionment.*got 'nearest'"),
    ({"method": "allen-zhu"}, "features is None; pass features"),
    ({"method": "allen-zhu", "features": np.ones((2, 3, 2))}, r"features must have shape \(2, 4, d\)"),
    ({"method": "allen-zhu", "features": np.full((2, 4, 2), np.inf)}, "features must be finite"),
    ({"epsilon": 0.4}, r"epsilon must lie in \(0, 1/3\], got 0.4"),
    ({"epsilon": 0.0}, "epsilon must lie in"),
    ({"replications": np.arange(3)}, r"replications must have shape \(2,\)"),
)
def test_bad_input_is_refused(change):
    arguments = {"weights": np.full((2, 4), 0.25), "budget": np.array([5, 5]), "method": "apportionment"}
    arguments |= {"key": np.uint64(1), "replications": np.arange(2), "time": 0}
    round_design(**arguments)
    round_design(**(arguments | change))


test_dead_arms_are_refused = refused(
    lambda live: uniform_counts(live, np.array([3, 3]), np.uint64(1), np.arange(2), 0),
    (np.array([[True, True], [False, False]]), "at least one arm in every row, row 1 has none"),
    (np.ones((2, 2)), "live must be a bool array"),
    (np.ones(2, dtype=bool), r"shape \(R, K\)"),
)

"""k-DPPs by enumeration on small sets: laws of all samplers, chains, the largest determinant, errors."""

from math import comb, factorial

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from bestarm.designs.k_dpp import greedy_map
from bestarm.designs.k_dpp_chains import Entries, explicit, run_chain, sample_chain
from bestarm.designs.k_dpp_exact import log_elementary, sample_exact
from bestarm.designs.k_dpp_mixing import down_up_steps, exchange_steps, greedy_deficit, sequential_deficit
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo import k_dpp_laws as laws

NONE = np.zeros(0, dtype=np.int64)


def some_kernel(n: int = 8, rank: int = 5, ridge: float = 0.3, seed: int = 0) -> np.ndarray:
    factor = np.random.default_rng(seed).standard_normal((n, rank))
    return ridge * np.eye(n) + factor @ factor.T


def p_value(found: np.ndarray, sets: np.ndarray, law: np.ndarray) -> float:
    """Return the p of a chi-squared test of samples against the law; rare sets are one cell."""
    places = {tuple(s): i for i, s in enumerate(sets.tolist())}
    counts = np.bincount([places[tuple(sorted(s))] for s in found.tolist()], minlength=len(sets)).astype(float)
    expected = law * len(found)
    rare = expected < 5
    counts, expected = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0
    return float(stats.chisquare(counts[kept], expected[kept] * counts[kept].sum() / expected[kept].sum()).pvalue)


SAMPLERS = {
    "eigen": lambda kernel, k, s: sample_exact(kernel, k, s),
    "mixture": lambda kernel, k, s: laws.sample_mixture(
        laws.low_rank((kernel - 0.3 * np.eye(len(kernel))) / 0.3), k, s
    ),
    "down-up": lambda kernel, k, s: sample_chain(kernel, k, s),
    "exchange": lambda kernel, k, s: sample_chain(kernel, k, s, "exchange", n_steps=250),
}


@pytest.mark.parametrize("k", [1, 3, 4])
@pytest.mark.parametrize("sample", SAMPLERS.values(), ids=SAMPLERS)
def test_samples_have_the_law_of_enumeration(sample, k):
    """12 000 samples of 3 out of 8, or of the 8 points; 100 000 of 4 out of 9, of which four directions are large."""
    kernel, n = (some_kernel(9, 4, 0.3, seed=5), 100_000) if k == 4 else (some_kernel(), 12_000)
    sets, law = laws.subset_law(kernel, k)
    found = sample(kernel, k, Streams.first(n))
    assert all(len(set(s)) == k for s in found[:100].tolist())
    assert p_value(found, sets, law) > 1e-3


def test_the_start_without_a_set_has_the_law_as_well():
    """Points added one after the other, then the steps that their bound asks for."""
    kernel = some_kernel()
    sets, law = laws.subset_law(kernel, 3)
    steps = down_up_steps(sequential_deficit(float(np.trace(kernel)), 0.3, 8, 3), 3, 0.01)
    own = (explicit(kernel), np.diag(kernel).copy(), NONE, 3, steps, False, Streams.first(1).key("here"))
    assert p_value(np.array([run_chain(*own, r, 0)[0] for r in range(12_000)]), sets, law) > 1e-3


def test_drawing_after_patience_has_the_law_as_well():
    """A trace that is all one direction: almost every proposal is rejected, so that all variances are used."""
    direction = np.linspace(1.0, 2.0, 7)
    kernel = np.eye(7) + 5e3 * np.outer(direction, direction)
    sets, law = laws.subset_law(kernel, 3)
    assert p_value(sample_chain(kernel, 3, Streams.first(12_000)), sets, law) > 1e-3


@pytest.mark.parametrize("chain", ["down-up", "exchange"])
@pytest.mark.parametrize("seed", range(4))
def test_chains_are_stationary_and_mix_within_their_bounds(chain, seed):
    """Transition matrices by enumeration: the law stays, detailed balance holds, 0.01 is reached in time."""
    n, k = (7, 3) if seed % 2 else (8, 2)
    kernel = some_kernel(n, 4, 10.0 ** (-seed), seed)
    moves, law = laws.transition_matrix(kernel, k, chain)
    np.testing.assert_allclose(law @ moves, law, atol=1e-12)
    flow = law[:, None] * moves
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)
    deficit = greedy_deficit(n, k)
    steps = down_up_steps(deficit, k, 0.01) if chain == "down-up" else exchange_steps(deficit, n, k, 0.01)
    sets = laws.subset_law(kernel, k)[0]
    start = int(np.flatnonzero((sets == np.sort(greedy_map(kernel, k)[0])).all(axis=1))[0])
    assert -np.log(law[start]) <= deficit
    far = laws.distances(moves, law, start, steps)
    assert far[-1] <= 0.01
    assert (np.diff(far) <= 1e-12).all()


def test_the_bound_of_the_sequential_start():
    """The relative entropy of points added one after the other is below its bound, by enumeration of orders."""
    kernel = some_kernel(6, 3, 0.5, 3)
    first = np.diag(kernel) / np.trace(kernel)
    sets, law = laws.subset_law(kernel, 2)
    own = np.zeros(len(sets))
    for place, (i, j) in enumerate(sets):
        for a, b in ((i, j), (j, i)):
            left = np.diag(kernel) - kernel[a] ** 2 / kernel[a, a]
            left[a] = 0.0
            own[place] += first[a] * left[b] / left.sum()
    assert own.sum() == pytest.approx(1.0)
    assert (own * np.log(own / law)).sum() <= sequential_deficit(float(np.trace(kernel)), 0.5, 6, 2)


def test_normalising_constants_agree():
    """e_k of the eigenvalues of I + M = the sum of determinants = the sum over j of e_j(M) C(n - j, k - j)."""
    kernel = some_kernel(7, 4, 1.0)
    values = np.linalg.eigvalsh(kernel)
    inner = np.maximum(values - 1.0, 0.0)
    for k in (1, 2, 4):
        whole = np.exp(laws.log_determinants(kernel, laws.subset_law(kernel, k)[0])).sum()
        assert np.exp(log_elementary(values, k)[k]) == pytest.approx(whole)
        parts = np.exp(log_elementary(inner, k)) * [comb(7 - j, k - j) for j in range(k + 1)]
        assert parts.sum() == pytest.approx(whole)
        np.testing.assert_allclose(laws.mixture_law(inner, 7, k), parts / whole, atol=1e-12)


def test_how_many_points_the_kernel_chose():
    """The mean of k - tr(L_S^-1) over the law is the mean of j of the mixture."""
    kernel = some_kernel(7, 4, 1.0)
    sets, law = laws.subset_law(kernel, 3)
    inner = np.maximum(np.linalg.eigvalsh(kernel) - 1.0, 0.0)
    assert law @ laws.informative(kernel, sets) == pytest.approx(laws.mixture_law(inner, 7, 3) @ np.arange(4))


@pytest.mark.parametrize("seed", range(8))
def test_greedy_and_exact_maximum(seed):
    """Greedy is the naive greedy and within (k!)^2 of the maximum, which branch and bound finds."""
    kernel = some_kernel(9, 6, 0.05, seed)
    sets, law = laws.subset_law(kernel, 4)
    naive: list[int] = []
    for _ in range(4):
        left = set(range(9)) - set(naive)
        naive.append(max(left, key=lambda j: laws.log_determinants(kernel, np.array([*naive, j]))))
    assert greedy_map(kernel, 4)[0].tolist() == naive
    best = sets[law.argmax()]
    np.testing.assert_array_equal(laws.max_determinant(kernel, 4), best)
    reached = laws.log_determinants(kernel, np.array(naive)) - laws.log_determinants(kernel, best)
    assert reached >= -2 * np.log(factorial(4))


def test_a_posterior_without_its_matrix_draws_the_same_sets():
    """Entries from whitened rows give the sets that the explicit matrix gives, draw by draw."""
    x, noise = np.random.default_rng(1).random((120, 2)), 0.02
    prior = 0.3 + 1.5 * np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(axis=-1) / 0.25**2)
    rows = np.linalg.solve(np.linalg.cholesky(prior[:15, :15] + noise * np.eye(15)), prior[:15])
    kernel = np.eye(120) + (prior - rows.T @ rows) / noise
    diagonal = np.diag(kernel).copy()
    entries = Entries(np.zeros((0, 0)), np.ascontiguousarray(x.T / 0.25), rows, 1.5, 0.3, 1.0 / noise, 1.0)
    key = Streams.first(1).key("here")
    for start, exchange in ((NONE, False), (greedy_map(kernel, 5)[0], False), (greedy_map(kernel, 5)[0], True)):
        for r in range(20):
            found, bad = run_chain(entries, diagonal, start, 5, 60, exchange, key, r, 0)
            same, _ = run_chain(explicit(kernel), diagonal, start, 5, 60, exchange, key, r, 0)
            np.testing.assert_array_equal(found, same)
            assert not bad


def test_inclusion_of_chains_and_exact_samples_on_more_points():
    """80 points, k = 6: inclusion probabilities by the down-up chain and exactly; 4.5 standard errors."""
    kernel, n = some_kernel(80, 12, 1.0, 2), 3000
    samples = (sample_chain(kernel, 6, Streams.first(n)), sample_exact(kernel, 6, Streams.first(n, seed=1)))
    first, second = (np.bincount(found.ravel(), minlength=80) / n for found in samples)
    assert (np.abs(first - second) < 4.5 * np.sqrt((first * (1 - first) + second * (1 - second)) / n + 1e-6)).all()


def test_replications_do_not_depend_on_their_block():
    """Row 2 of three is the sample of replication 2 alone; another item is another draw."""
    kernel, alone = some_kernel(30, 6), Streams(0, "", np.array([2]))
    for sample in (sample_exact, sample_chain):
        whole = sample(kernel, 4, Streams.first(3))
        np.testing.assert_array_equal(whole[2:], sample(kernel, 4, alone))
        assert (sample(kernel, 4, Streams.first(3), item=1) != whole).any()
    many = np.stack([some_kernel(30, 6, seed=s) for s in range(3)])
    whole = sample_chain(many, 4, Streams.first(3))
    np.testing.assert_array_equal(whole[2:], sample_chain(many[2:], 4, alone))


def test_the_whole_set():
    """k = n leaves one set."""
    for sample in (sample_exact, sample_chain):
        assert sorted(sample(some_kernel(5, 3), 5, Streams.first(1))[0].tolist()) == [0, 1, 2, 3, 4]


INDEFINITE = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])  # its 2 x 2 determinants are positive
test_bad_kernels_are_refused = refused(
    lambda call: call(Streams.first(1)),
    (lambda s: sample_exact(INDEFINITE, 2, s), "not positive semi-definite: .* -0.8.* Add jitter"),
    (lambda s: sample_exact(np.stack([np.eye(3), INDEFINITE]), 2, Streams.first(2)), "not positive semi-definite"),
    *[
        (call, "not positive semi-definite: its smallest eigenvalue is -0.8, its largest 1.9. Add jitter")
        for k in (2, 3)
        for call in (
            lambda s, k=k: sample_chain(INDEFINITE, k, s),
            lambda s, k=k: greedy_map(INDEFINITE, k),
            lambda s, k=k: greedy_map(np.stack([np.eye(3), INDEFINITE]), k),
            lambda s, k=k: laws.max_determinant(INDEFINITE, k),
            lambda s, k=k: laws.subset_law(INDEFINITE, k),
            lambda s, k=k: laws.low_rank(INDEFINITE),
        )
    ],
    (lambda s: greedy_map(np.eye(3), 2.0), "k must be a whole number from 1 to 3, .* got 2.0; give such an int"),
    (lambda s: sample_exact(np.eye(3), True, s), "k must be a whole number from 1 to 3, .* got True"),
    (lambda s: laws.subset_law(np.eye(3), "2"), "k must be a whole number from 1 to 3, .* got '2'"),
    (lambda s: laws.sample_mixture(np.ones((1, 3)), 2.0, s), "k must be a whole number from 1 to 3, .* got 2.0"),
    (lambda s: sample_chain(np.eye(3), 2, s, n_steps=-1), "n_steps must be a whole number of at least 0, got -1"),
    (lambda s: sample_chain(np.eye(3), 2, s, n_steps=1.5), "n_steps must be a whole number .* got 1.5; None takes"),
    (lambda s: greedy_map(np.empty((0, 0)), 1), r"kernel must have at least one point, got shape \(0, 0\)"),
    (lambda s: laws.max_determinant(np.eye(3), 4), "k must be a whole number from 1 to 3, the size of the kernel"),
    (lambda s: greedy_map(np.array([[np.inf]]), 1), "finite"),
    (lambda s: sample_exact(np.ones((4, 4)), 2, s), "exceeds the rank of the kernel, 1"),
    (lambda s: greedy_map(np.ones((4, 4)), 2), "only 1 points"),
    (lambda s: laws.subset_law(np.ones((4, 4)), 2), "exceeds the rank"),
    (lambda s: sample_chain(np.eye(3), 4, s), "k must be a whole number from 1 to 3"),
    (lambda s: sample_exact(np.eye(3), 0, s), "k must be"),
    (lambda s: greedy_map(np.array([[1.0, 0.5], [0.1, 1.0]]), 1), "symmetric"),
    (lambda s: greedy_map(np.zeros((2, 3)), 1), "shape"),
    (lambda s: sample_exact(np.zeros((3, 2, 2)), 1, s), "3 replications"),
    (lambda s: sample_chain(np.eye(3), 2, s, "gibbs"), "chain must be one of"),
    (lambda s: sample_chain(np.eye(3), 2, s, epsilon=2.0), "epsilon"),
    (lambda s: laws.sample_mixture(np.ones((1, 3)), 4, s), "k must be"),
    (lambda s: laws.subset_law(np.eye(200), 5), "to enumerate"),
)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_rounding_makes_no_kernel_indefinite(scale):
    """A kernel of rank 5 whose eigenvalues round to about -1e-16 is accepted in every unit; one of -1e-6 is refused."""
    base = np.random.default_rng(0).standard_normal((60, 5))
    kernel = scale * base @ base.T
    assert np.linalg.eigvalsh(kernel)[0] < 0
    assert len(set(greedy_map(kernel, 5)[0].tolist())) == 5
    np.testing.assert_allclose(laws.low_rank(kernel).T @ laws.low_rank(kernel), kernel, atol=1e-9 * scale)
    largest = np.linalg.eigvalsh(kernel)[-1]
    for call in (lambda k: greedy_map(k, 5), laws.low_rank):
        with pytest.raises(ValueError, match="not positive semi-definite: its smallest eigenvalue is"):
            call(kernel - 1e-6 * largest * np.eye(60))

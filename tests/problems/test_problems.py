"""Problems: instances of the Top-m paper, laws of the rewards, the drug data, refusals."""

import numpy as np
import pytest
from refusals import each_refused, refused, refuses
from scipy import stats

from bestarm.interface import Arms, Ask
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import available
from bestarm_objectives.drug.files import DRUGS
from bestarm_studies.linear_topm.drug_instance import DATA_FILES, RecordedRewards, drug_instance, stand_in_drug_instance
from bestarm_studies.linear_topm.instances import classic_instance, published_random_instance

SEED = 20261120
TABLE = RecordedRewards("table", np.eye(3), np.arange(15.0).reshape(5, 3))


def pull(problem, arms, counts=None, n_replications: int = 1, pulled=None) -> np.ndarray:
    """Return the sums of one request, the same arms in every replication."""
    arms = np.tile(np.asarray(arms, dtype=np.int64), (n_replications, 1))
    counts = np.ones_like(arms) if counts is None else np.tile(np.asarray(counts, dtype=np.int64), (n_replications, 1))
    pulled = np.zeros((n_replications, problem.arms.n_arms), dtype=np.int64) if pulled is None else pulled
    return problem.rewards(Ask(arms, counts), pulled, Streams.first(n_replications, seed=SEED, instance=problem.label))


@pytest.mark.parametrize(("n_arms", "n_best"), [(3, 1), (4, 1), (4, 2), (6, 3), (10, 8)])
@pytest.mark.parametrize("omega", [np.pi / 3, np.pi / 6, 0.1])
def test_classic_instance_has_the_means_and_norms_of_the_specification(n_arms, n_best, omega):
    """Means: m times 1, cos omega, zeros; N = K - 1; the largest norm is sqrt 2 for m >= 2, else 1."""
    problem = classic_instance(n_arms, n_best, omega)
    expected = np.concatenate([np.ones(n_best), [np.cos(omega)], np.zeros(n_arms - n_best - 1)])
    np.testing.assert_allclose(problem.means, [expected], atol=1e-15)
    assert problem.arms.features.shape == (n_arms, n_arms - 1)
    assert np.linalg.norm(problem.features, axis=1).max() == pytest.approx(np.sqrt(2) if n_best > 1 else 1)
    assert (np.linalg.norm(problem.theta), np.linalg.matrix_rank(problem.features)) == (1, n_arms - 1)
    assert len(np.unique(problem.features, axis=0)) == n_arms


def test_published_random_instance_is_the_authors_matrix():
    """K = 10, N = 5, spectral norm 1, column norms from 0.13 to 0.80, theta = e_1: the means are the first row."""
    problem = published_random_instance()
    assert problem.features.shape == (10, 5)
    assert np.linalg.norm(problem.features, 2) == pytest.approx(1, abs=1e-6)
    norms = np.linalg.norm(problem.features, axis=1)
    assert (norms.min(), norms.max()) == (pytest.approx(0.13, abs=0.01), pytest.approx(0.80, abs=0.01))
    np.testing.assert_array_equal(problem.means[0], problem.features[:, 0])
    np.testing.assert_array_equal(problem.features[[0, 9], [0, 4]], [0.18764220, 0.49145662])


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_sum_of_n_gaussian_rewards_has_its_exact_law(count):
    """N(n mean, n sigma^2): mean and variance within four standard errors, and Kolmogorov-Smirnov."""
    problem, n = classic_instance(4, 2, 0.5, sigma=0.7), 5000
    for total, mean in zip(pull(problem, [0, 2, 3], [count] * 3, n).T, problem.means[0, [0, 2, 3]], strict=True):
        scale = 0.7 * np.sqrt(count)
        assert abs(total.mean() - count * mean) < 4 * scale / np.sqrt(n)
        assert abs(total.var() - scale**2) < 4 * scale**2 * np.sqrt(2 / n)
        assert stats.kstest((total - count * mean) / scale, "norm").pvalue > 1e-3


def test_rewards_of_one_arm_in_a_row_are_independent():
    """Successive pulls of an arm, and pulls of two arms, are uncorrelated."""
    problem, n = classic_instance(3, 1, 0.5), 5000
    pulled = np.zeros((n, 3), dtype=np.int64)
    first = pull(problem, [0, 1], n_replications=n, pulled=pulled) - problem.means[0, :2]
    second = pull(problem, [0, 1], n_replications=n, pulled=pulled) - problem.means[0, :2]
    for x, y in ((first[:, 0], second[:, 0]), (first[:, 0], first[:, 1]), (first[:, 1], second[:, 0])):
        assert abs((x * y).mean()) < 4 * 0.25 / np.sqrt(n)


@pytest.mark.parametrize("problem", [classic_instance(4, 2, 0.5), TABLE], ids=lambda p: p.label)
def test_the_same_pull_has_the_same_noise_whatever_the_order(problem):
    """The second pull of arm 1 gives one number: alone, in a batch, before or after the other arms."""
    one_by_one, batch, backwards = {}, {}, {}
    for found, requests in (
        (one_by_one, [[0], [1], [1], [2], [0]]),
        (batch, [[1, 1, 0], [0, 2]]),
        (backwards, [[2], [1, 0], [0], [1]]),
    ):
        pulled = np.zeros((2, problem.arms.n_arms), dtype=np.int64)
        for request in requests:
            before = pulled[0].copy()
            for a, total in zip(request, pull(problem, request, n_replications=2, pulled=pulled)[1], strict=True):
                found[a, int(before[a])] = total
                before[a] += 1
    assert one_by_one == batch == backwards
    assert one_by_one[1, 0] != one_by_one[1, 1]


def test_noise_does_not_depend_on_its_scale():
    """Two values of sigma see the same noise, so they can be compared pull by pull."""
    loud, quiet = (classic_instance(4, 2, 0.5, sigma=sigma) for sigma in (1.0, 0.1))
    np.testing.assert_allclose(*[(pull(p, [0, 1, 2, 3]) - p.means) / p.sigma for p in (loud, quiet)], atol=1e-14)


def test_padding_costs_no_pull_and_gives_no_reward():
    """A count of 0 leaves the number of pulls alone and sums to nothing."""
    for problem in (classic_instance(4, 2, 0.5), TABLE):
        pulled = np.zeros((1, problem.arms.n_arms), dtype=np.int64)
        np.testing.assert_array_equal(pull(problem, [2, 1, 0], [0, 3, 0], pulled=pulled)[0] != 0, [False, True, False])
        assert pulled.sum() == pulled[0, 1] == 3


def test_recorded_rewards_are_drawn_with_equal_frequency():
    """Each of the five entries of a column with chance 1/5 (chi-square); the sum of n pulls adds n entries."""
    n = 5000
    values, counts = np.unique(pull(TABLE, [2], n_replications=n)[:, 0], return_counts=True)
    np.testing.assert_array_equal(values, TABLE.table[:, 2])
    assert stats.chisquare(counts).pvalue > 1e-3
    np.testing.assert_array_equal(TABLE.means, [TABLE.table.mean(axis=0)])
    pulled = np.zeros((n, 3), dtype=np.int64)
    summed = sum(pull(TABLE, [2], n_replications=n, pulled=pulled)[:, 0] for _ in range(4))
    np.testing.assert_array_equal(pull(TABLE, [2], [4], n_replications=n)[:, 0], summed)


def test_problems_with_their_own_arms_in_each_replication_are_taken_apart():
    """Means and rewards of a subset are those of its rows: own features, own theta, or both."""
    rng = np.random.default_rng(1)
    features, theta = rng.standard_normal((4, 3, 2)), rng.standard_normal((4, 2))
    streams = Streams.first(4, seed=SEED, instance="own")
    asked = Ask(np.tile(np.arange(3), (4, 1)), np.ones((4, 3), dtype=np.int64))
    kept = np.array([3, 1])
    for own in ((features, theta), (features[0], theta), (features, theta[0])):
        problem = LinearBandit("own", *own)
        rewards = problem.rewards(asked, np.zeros((4, 3), dtype=np.int64), streams)
        part = problem.take(kept)
        np.testing.assert_array_equal(part.means, problem.means[kept])
        some, fresh = Ask(asked.arms[kept], asked.counts[kept]), np.zeros((2, 3), dtype=np.int64)
        np.testing.assert_array_equal(part.rewards(some, fresh, streams.take(kept)), rewards[kept])


def test_features_that_are_not_finite_are_refused_with_value_place_and_remedy():
    features = np.ones((3, 4))
    features[1, 2] = np.nan
    refuses(lambda: Arms(features), r"got nan at index \(1, 2\) \(arm 1, feature 2\). Drop this arm or impute")
    features[1, 2] = -np.inf
    refuses(lambda: Arms(np.stack([np.ones((3, 4)), features])), r"got -inf at index \(1, 1, 2\) \(arm 1, feature 2\)")


test_impossible_classic_instances_are_refused = refused(
    lambda arguments: classic_instance(*arguments),
    ((4, 3, 0.5), "n_best must be between 1 and n_arms - 2 = 2, got 3"),
    ((4, 0, 0.5), "n_best must be between 1 and n_arms - 2 = 2, got 0"),
    ((4, 2, 0.0), r"omega must lie in \(0, pi/2\), got 0.0"),
    ((4, 2, 2.0), r"omega must lie in \(0, pi/2\), got 2.0"),
    ((4, 2, float("nan")), r"omega must lie in \(0, pi/2\), got nan"),
)

test_impossible_problems_are_refused = each_refused(
    (lambda: LinearBandit("x", np.eye(3), np.ones(2)), r"theta must have one entry per feature.*\(3, 3\).*\(2,\)"),
    (lambda: LinearBandit("x", np.eye(3), np.ones(3), 0.0), "sigma must be positive, got 0.0"),
    (lambda: LinearBandit("x", np.eye(3), np.ones(3), float("nan")), "sigma must be positive, got nan"),
    (lambda: RecordedRewards("x", np.eye(3), np.ones((5, 2))), r"one column per arm.*\(3, 3\).*\(5, 2\)"),
    (lambda: RecordedRewards("x", np.eye(3), np.ones(3)), r"one column per arm.*\(3, 3\).*\(3,\)"),
    (
        lambda: RecordedRewards("x", np.eye(2), np.array([[1.0, 2.0], [3.0, np.nan]])),
        "recorded rewards must be finite, got nan in row 1, arm 1",
    ),
)

test_arms_of_an_impossible_shape_are_refused = refused(
    lambda shape: Arms(np.ones(shape)),
    ((1, 3), r"at least 2 arms and 1 feature are needed, got shape \(1, 3\)"),
    ((3, 0), r"at least 2 arms and 1 feature are needed, got shape \(3, 0\)"),
    ((3,), r"features must have shape .*, got \(3,\)"),
    ((2, 2, 3, 3), r"features must have shape .*, got \(2, 2, 3, 3\)"),
)


def test_arms_without_structure_are_the_canonical_basis():
    """Any integer input becomes contiguous floats; sizes are read off."""
    arms = Arms.unstructured(4)
    np.testing.assert_array_equal(arms.features, np.eye(4))
    assert (arms.n_arms, arms.n_features) == (4, 4)
    arms = Arms(np.arange(12).reshape(3, 4)[:, ::2])
    assert arms.features.dtype == np.float64
    assert arms.features.flags.c_contiguous
    assert (arms.n_arms, arms.n_features) == (3, 2)


SPEC_MEANS = [0.396772, 0.392739, 0.491499, 0.484880, 0.398556, 0.477978, 0.381780, 0.465008, 0.481736, 0.382596]
SPEC_GRAM = """
.026444 -.081482 .249912 -.145360 -.277345 .171098 -.437589 -.465851 .389734
-.042556 -.101519 -.249976 -.043829 .196473 -.215990 -.020682 -.052193
.006928 -.108860 -.131136 -.010255 .422698 .224623 -.311841
-.071063 .020371 -.038574 -.096023 .040496 .139114
.065083 .052116 .202072 .176328 -.202088
-.163407 .116997 .225518 -.127011
-.158550 -.134526 -.012930
.484560 -.461300
-.589367
"""


@pytest.fixture
def real_drug_instance(monkeypatch) -> RecordedRewards:
    """Return the instance on the real data, without asking the network."""
    monkeypatch.setenv("BESTARM_OFFLINE", "1")
    if not available(*DATA_FILES):
        pytest.skip("drug-repurposing data are neither in data/raw nor in the mirror")
    return drug_instance()


def test_drug_instance_has_the_means_and_the_gap_of_the_paper(real_drug_instance):
    """The ten means of the specification; m = 5 with gap .066; anti-epileptic drugs are the best five."""
    means = real_drug_instance.means[0]
    np.testing.assert_allclose(np.sort(means), np.sort(SPEC_MEANS), atol=6e-7)
    ordered = np.sort(means)[::-1]
    assert ordered[4] - ordered[5] == pytest.approx(0.06645, abs=5e-6)
    assert set(np.argsort(-means)[:5]) == set(range(5))
    assert [drug.label for drug in DRUGS] == [1] * 5 + [-1] * 5
    spread = real_drug_instance.table.std(axis=0)
    assert spread.min() > 0.03
    assert spread.max() < 0.056


def test_drug_features_have_the_gram_matrix_of_the_specification(real_drug_instance):
    """Means say which arm is which; then the 45 products of the signatures must agree: features belong to rewards."""
    expected = np.eye(10)
    expected[np.triu_indices(10, 1)] = np.array(SPEC_GRAM.split(), dtype=float)
    expected = np.triu(expected) + np.triu(expected, 1).T
    order = [int(np.argmin(np.abs(real_drug_instance.means[0] - mean))) for mean in SPEC_MEANS]
    assert sorted(order) == list(range(10))
    features = real_drug_instance.features[order]
    assert features.shape == (10, 71)
    np.testing.assert_allclose(features @ features.T, expected, atol=6e-7)
    assert np.linalg.matrix_rank(features) == 10


def test_stand_in_drug_instance_has_the_schema_and_the_spread_of_the_real_one():
    """Same shapes, unit features, rewards in the unit interval, the first five arms best; another seed, other data."""
    problem = stand_in_drug_instance()
    assert (problem.features.shape, problem.table.shape) == ((10, 71), (18, 10))
    np.testing.assert_allclose(np.linalg.norm(problem.features, axis=1), 1)
    assert ((problem.table >= 0) & (problem.table <= 1)).all()
    assert (set(np.argsort(-problem.means[0])[:5]), problem.data) == (set(range(5)), "stand-in")
    np.testing.assert_array_equal(problem.table, stand_in_drug_instance().table)
    assert (problem.table != stand_in_drug_instance(seed=1).table).mean() > 0.9

"""BayesGap: against its page, closed forms, every deviation, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from judges import drive, same_runs
from judges import general as instance
from refusals import refused, refuses
from scipy import stats

from bestarm.policies.linear.bayes_gap import (
    BayesGap,
    estimated_hardness,
    exploration,
    largest_of_the_others,
    prior_gram,
)
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams, standard_normal
from bestarm_plain.bayes_gap import bayes_gap
from bestarm_plain.shared import argmax

SEED = 20261120
SIGMA = 0.8

PLAIN = BayesGap(50, SIGMA, prior_scale=2.0)
POLICIES = {
    "linear": PLAIN,
    "slack": replace(PLAIN, epsilon=0.3),
    "exponential": replace(PLAIN, kernel="exponential", lengthscale=1.5),
    "Matérn": replace(PLAIN, kernel="matern32", lengthscale=2.0),
    "empirical": replace(PLAIN, kernel="empirical"),
    "first pass": replace(PLAIN, initialise=True),
    "hardness": replace(PLAIN, inverse_square=False),
    "gaps below 0": replace(PLAIN, absolute_gaps=False, epsilon=0.3),
    "eigenvectors": replace(PLAIN, kernel="exponential", initialise=True, general_eigenvectors=True),
    "no root": replace(PLAIN, root=False),
    "variance": replace(PLAIN, variance_as_width=True),
    "squared distance": replace(PLAIN, kernel="exponential", squared_distance=True),
    "Gram matrix": replace(PLAIN, kernel="matern32", gram_as_features=True),
    "order": replace(PLAIN, ties_in_order=True),
    "linear as coded": PLAIN.as_coded(),
    "exponential as coded": replace(PLAIN, kernel="exponential", lengthscale=5.0).as_coded(),
    "Matérn as coded": replace(PLAIN, kernel="matern32", lengthscale=2.0).as_coded(),
    "only the first pass": replace(PLAIN, initialise=True, budget=5),
}
numbers = arrays(np.float64, st.integers(2, 7), elements=st.floats(-5, 5))


@pytest.mark.parametrize("name", POLICIES)
def test_pulls_and_answers_are_those_of_the_naive_algorithm(name):
    """Every deviation alone and all together, three replications, five arms in four dimensions."""
    problem, policy = instance(7, 5, 4), POLICIES[name]
    tied = policy.kernel in ("exponential", "matern32") and not policy.initialise and not policy.gram_as_features
    policy = replace(policy, ties_in_order=True) if tied else policy  # all arms have one prior variance
    same_runs(bayes_gap, policy, problem, Streams.first(3, seed=SEED, instance=problem.label), argmax=argmax)


def test_linear_kernel_with_more_features_than_arms():
    """And with features of each replication."""
    rng = np.random.default_rng(1)
    features, theta = rng.standard_normal((3, 4, 7)), rng.standard_normal((3, 7))
    streams = Streams.first(3, seed=SEED, instance="own")
    same_runs(bayes_gap, PLAIN, LinearBandit("own", features, theta, SIGMA), streams)


@given(values=numbers)
def test_largest_of_the_others(values):
    """Against the definition, ties included."""
    found = largest_of_the_others(values)
    np.testing.assert_array_equal(found, [np.delete(values, k).max() for k in range(len(values))])


@given(values=numbers, width=st.floats(0, 2), epsilon=st.floats(0.01, 1))
def test_hardness_with_certain_means_is_that_of_the_gaps(values, width, epsilon):
    """Width 0: H_eps of the gaps |max_{j != k} mean_j - mean_k|; a common width adds six of it inside the bars."""
    gaps = np.array([np.delete(values, k).max() - values[k] for k in range(len(values))])
    for w in (0.0, width):
        half = np.maximum((np.abs(gaps + 6 * w) + epsilon) / 2, epsilon)
        widths = np.full(len(values), w)
        assert estimated_hardness(values, widths, epsilon, True, True) == pytest.approx((half**-2.0).sum(), rel=1e-9)
        assert estimated_hardness(values, widths, epsilon, False, True) == pytest.approx(half.sum(), rel=1e-9)


def test_exploration_is_theorem_1():
    """By hand; 0 for a budget far below the number of arms, an infinite hardness, or none at all."""
    assert exploration(12.0, 0.75, True) == pytest.approx(2.0)
    assert (exploration(12.0, 0.75, False), exploration(-3.0, 1.0, True)) == (pytest.approx(4.0), 0.0)
    assert (exploration(5.0, np.inf, True), exploration(5.0, 0.0, True)) == (0.0, 0.0)
    assert estimated_hardness(np.zeros(2), np.zeros(2), 0.0, True, True) == np.inf
    for absolute, own in ((True, 1.05), (False, 0.1)):  # a gap of -2 counts 2 in absolute value, otherwise epsilon
        assert estimated_hardness(np.array([3.0, 1.0]), np.zeros(2), 0.1, False, absolute) == pytest.approx(own + 1.05)


def test_information_of_theorem_1():
    """(B - K) / sigma^2 + kappa / eta^2, kappa over arms away from the origin."""
    arms = LinearBandit("a", np.array([[2.0, 0], [0, 1], [0, 0]]), np.ones(2), 1.0).arms
    policy = BayesGap(13, 2.0, prior_scale=3.0)
    np.testing.assert_allclose(policy.start(arms, Streams.first(2, seed=SEED)).information, 10 / 4 + 1.25 / 9)
    turned = replace(policy, kernel="exponential").start(arms, Streams.first(2, seed=SEED))
    np.testing.assert_allclose(turned.information, 10 / 4 + 3 / 9)  # each arm has the variance 1


def test_posterior_of_independent_arms():
    """On the canonical basis, S / (n + sigma^2/eta^2) and sigma^2 / (n + sigma^2/eta^2)."""
    problem = LinearBandit("canonical", np.eye(4), np.array([1.0, 0.2, 0, -1]), SIGMA)
    streams = Streams.first(3, seed=SEED, instance="canonical")
    state = drive(BayesGap(40, SIGMA, prior_scale=1.7), problem, streams).state
    for r in range(3):
        for a in range(4):
            n = state.pulls[r, a]
            draws = (standard_normal(streams.key("noise"), r, a, number) for number in range(n))
            S = sum(problem.means[0, a] + SIGMA * draw for draw in draws)
            weight = n + SIGMA**2 / 1.7**2
            assert state.means[r, a] == pytest.approx(S / weight, abs=1e-12)
            assert SIGMA**2 * state.gram[r, a, a] == pytest.approx(SIGMA**2 / weight, rel=1e-10)


def test_first_arm_is_drawn_uniformly_where_all_are_alike():
    """Chi-square over 4000 replications; the first in order for the authors' code without its first pass."""
    problem = LinearBandit("canonical", np.eye(5), np.zeros(5), SIGMA)
    streams = Streams.first(4000, seed=SEED, instance="ties")
    first = [p[0] for p in drive(BayesGap(1, SIGMA), problem, streams).pulls]
    assert stats.chisquare(np.bincount(first, minlength=5)).pvalue > 1e-3
    assert drive(BayesGap(1, SIGMA, ties_in_order=True), problem, streams.take(np.arange(5))).pulls == [[0]] * 5


def test_authors_code_pulls_j_of_the_best_arm_first_where_both_are_known_alike():
    """After the first pass over independent arms every arm is known equally well; the next pull is of the leader."""
    problem = LinearBandit("canonical", np.eye(5), np.zeros(5), SIGMA)
    streams = Streams.first(40, seed=SEED, instance="leader")
    run = drive(BayesGap(6, SIGMA, initialise=True, ties_in_order=True), problem, streams)
    for r in range(40):
        assert run.pulls[r][5] == np.argmax([standard_normal(streams.key("noise"), r, a, 0) for a in range(5)])
    free = drive(BayesGap(6, SIGMA, initialise=True), problem, streams)
    assert 5 < sum(free.pulls[r][5] != run.pulls[r][5] for r in range(40)) < 35


def test_general_eigenvectors_break_the_symmetry_of_equal_arms():
    """Where eigenvalues repeat the covariance is not the kernel's any more; where none does it is."""
    equal, streams = LinearBandit("canonical", np.eye(16), np.zeros(16), 1.0).arms, Streams.first(1, seed=SEED)
    policy = BayesGap(30, 1.0, kernel="exponential", lengthscale=1000.0, squared_distance=True)
    plain, skewed = policy.start(equal, streams), replace(policy, general_eigenvectors=True).start(equal, streams)
    assert np.ptp(np.diag(plain.gram[0])) < 1e-12
    assert np.abs(skewed.gram - plain.gram).max() > 1e-4
    general = instance(3, 6, 4).arms
    same = replace(policy, general_eigenvectors=True, lengthscale=5.0).start(general, streams)
    np.testing.assert_allclose(same.gram, replace(policy, lengthscale=5.0).start(general, streams).gram, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "exponential", "rbf", "matern32", "matern52", "empirical"])
def test_prior_covariances_are_symmetric_and_positive(kernel):
    """For arms of each replication; of the stationary ones the diagonal is 1."""
    gram = prior_gram(np.random.default_rng(0).standard_normal((3, 6, 4)), kernel, 0.7)
    assert gram.shape == (3, 6, 6)
    np.testing.assert_allclose(gram, gram.transpose(0, 2, 1), atol=1e-14)
    assert np.linalg.eigvalsh(gram).min() > -1e-12
    if kernel == "empirical":  # of one feature it would be 0 divided by 0
        refuses(lambda: prior_gram(np.ones((3, 1)), kernel, 1.0), "needs at least 2 features")
    elif kernel != "linear":
        np.testing.assert_allclose(np.einsum("skk->sk", gram), 1.0)


def test_scale_of_the_rewards_does_not_matter():
    """Rewards, noise, prior and slack in other units: the same pulls."""
    problem = instance(9, 5, 3)
    scaled = LinearBandit(problem.label, problem.features, 8 * problem.theta, 8 * SIGMA)
    streams = Streams.first(5, seed=SEED, instance=problem.label)
    small, large = BayesGap(60, SIGMA, epsilon=0.1), BayesGap(60, 8 * SIGMA, prior_scale=8.0, epsilon=0.8)
    assert drive(small, problem, streams).pulls == drive(large, scaled, streams).pulls


def test_authors_preset_is_made_of_named_differences():
    """Switching each back gives the algorithm as written."""
    for kernel, as_features in (("linear", False), ("matern32", True), ("exponential", False)):
        written = BayesGap(20, 1.0, kernel=kernel)
        as_coded = written.as_coded()
        assert as_coded.gram_as_features == as_features
        assert as_coded.general_eigenvectors == (kernel == "exponential")
        off = "initialise variance_as_width squared_distance gram_as_features general_eigenvectors ties_in_order"
        flags = dict.fromkeys(off.split(), False) | dict.fromkeys(["inverse_square", "absolute_gaps", "root"], True)
        assert replace(as_coded, prior_scale=1.0, epsilon=1e-6, **flags) == written


test_bad_settings_are_refused = refused(
    lambda settings: BayesGap(**({"budget": 10, "sigma": 1.0} | settings)),
    ({"kernel": "cosine"}, "kernel must be one of linear"),
    ({"sigma": 0.0}, "sigma must be positive"),
    ({"prior_scale": np.inf}, "prior_scale must be finite"),
    ({"lengthscale": -1.0}, "lengthscale must be positive"),
    ({"epsilon": -0.1}, "epsilon must be at least 0"),
)

"""UCB-GLM: the estimate against statsmodels and SciPy, its page, closed forms, refusals."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import example, given, settings
from hypothesis import strategies as st
from judges import Bench, BernoulliBandit, drive, general, settings_of
from refusals import refused
from scipy import stats
from scipy.special import expit, logit

from bestarm.interface import Ask
from bestarm.models.regression import design, factorise, fit_logistic, log_likelihood
from bestarm.policies.linear.ucb_glm import UcbGlm, is_at_least, theoretical_alpha
from bestarm.streams import Streams
from bestarm_plain.ucb_glm import ucb_glm

SEED = 20261120
instance = partial(general, kind=BernoulliBandit)
SHAPES = {"seed": st.integers(0, 2**32 - 1), "n_arms": st.integers(1, 8), "d": st.integers(1, 6)}


def random_data(seed: int, n_arms: int, d: int, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, counts and successes, some arms without pulls."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most, size=n_arms).astype(float)
    return rng.standard_normal((n_arms, d)), counts, rng.binomial(counts.astype(int), 0.5).astype(float)


@settings(max_examples=60)
@example(seed=1952069435, n_arms=1, d=4, most=36, start=-30.0, ridge=3.0)  # whole Newton steps cycle
@example(seed=3013236045, n_arms=2, d=4, most=36, start=-10.427135212517229, ridge=3.0)
@given(**SHAPES, most=st.integers(1, 40), start=st.floats(-30, 30), ridge=st.sampled_from([1e-4, 0.1, 3.0]))
def test_estimate_is_the_stationary_point_from_any_start(seed, n_arms, d, most, start, ridge):
    x, counts, totals = random_data(seed, n_arms, d, most)
    theta, other = np.zeros(d), np.full(d, start)
    fit_logistic(x, counts, totals, ridge, theta)
    fit_logistic(x, counts, totals, ridge, other)
    gradient = x.T @ (totals - counts * expit(x @ theta)) - ridge * theta
    assert np.abs(gradient).max() < 1e-6 * max(1.0, counts.sum())
    np.testing.assert_allclose(other, theta, atol=1e-4 * (1 + np.abs(theta).max()))


def test_estimate_is_that_of_statsmodels():
    """Overlapping data, next to no ridge."""
    x, counts, _ = random_data(3, 12, 3, 40)
    totals = np.round(counts * expit(x @ [0.5, -1.0, 0.3]))
    theta = np.zeros(3)
    n_steps = fit_logistic(x, counts, totals, 1e-10, theta)
    used = counts > 0
    outcomes = np.column_stack([totals, counts - totals])[used]
    fitted = sm.GLM(outcomes, x[used], family=sm.families.Binomial()).fit(tol=1e-12)
    np.testing.assert_allclose(theta, fitted.params, atol=1e-7)
    assert n_steps < 12
    assert fit_logistic(x, counts, totals, 1e-10, theta) == 1  # a warm start at the solution


def test_independent_arms_have_their_logits_and_separated_ones_finite_estimates():
    """The saturated model: theta = logit(S / N) up to the ridge; successes or failures alone: finite, in order."""
    counts, totals = np.array([10.0, 20, 7, 4]), np.array([3.0, 15, 1, 2])
    theta = np.zeros(4)
    fit_logistic(np.eye(4), counts, totals, 1e-9, theta)
    np.testing.assert_allclose(theta, logit(totals / counts), atol=1e-6)
    theta = np.zeros(2)
    assert fit_logistic(np.eye(2), np.array([9.0, 9]), np.array([9.0, 0]), 1e-4, theta) < 50
    np.testing.assert_allclose(theta[0], -theta[1], rtol=1e-8)
    assert 5 < theta[0] < 15
    assert 9 * expit(-theta[0]) == pytest.approx(1e-4 * theta[0], rel=1e-6)


@settings(max_examples=60)
@given(**SHAPES, level=st.floats(0.01, 5))
def test_smallest_eigenvalue_is_compared_by_a_factorisation(seed, d, n_arms, level):
    """Against eigvalsh, away from the border; level 0 asks for full rank."""
    rng = np.random.default_rng(seed)
    x, weights = rng.standard_normal((n_arms, d)), rng.integers(0, 6, size=n_arms).astype(float)
    lower = design(x, weights, 0.0)
    full = (x.T * weights) @ x
    np.testing.assert_allclose(lower, np.tril(full), atol=1e-12)
    smallest = np.linalg.eigvalsh(full).min()
    if abs(smallest - level) > 1e-6:
        assert is_at_least(lower, level) == (smallest > level)
    if smallest > 1e-6 or smallest < 1e-12:
        assert is_at_least(lower, 0.0) == (smallest > 1e-6)
    factor = full + np.eye(d)
    assert factorise(factor)
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, full + np.eye(d), atol=1e-9)


def test_borders_and_the_likelihood_of_the_binomials():
    """V = I reaches 1; the likelihood is up to coefficients, which do not depend on theta, without overflow."""
    assert is_at_least(np.eye(3), 1.0)
    assert not is_at_least(np.diag([1.0, 1.0, 0.99]), 1.0)
    assert not is_at_least(np.zeros((2, 2)), 0.0)
    counts, totals = np.array([5.0, 8, 0]), np.array([2.0, 8, 0])
    z = np.array([0.3, -1.2, 4.0])
    expected = (totals * np.log(expit(z)) + (counts - totals) * np.log(expit(-z))).sum()
    assert log_likelihood(z, counts, totals, np.zeros(1), 0.0) == pytest.approx(expected)
    assert log_likelihood(np.array([900.0, -900, 0]), counts, totals, np.zeros(1), 0.0) == pytest.approx(-9900.0)


def page_of(policy: UcbGlm, problem: BernoulliBandit, streams: Streams) -> tuple[list[int], int]:
    """Return the pulls of the page for one replication, and how many of them were random."""
    bench, drawn = Bench(problem, streams, policy.label), []

    def random_arm(n_arms: int) -> int:
        drawn.append(int(n_arms * bench.draw(len(bench.history), 2 * n_arms)))
        return drawn[-1]

    ucb_glm(bench.x, bench.pull, **settings_of(policy, ucb_glm), random_arm=random_arm)
    return bench.history, len(drawn)


POLICIES = {
    "as written": UcbGlm(60),
    "small alpha": UcbGlm(60, alpha=0.3),
    "regularised": UcbGlm(60, alpha=1.0, regulariser=1.0, ridge=0.1),
    "longer opening": UcbGlm(60, alpha=1.0, least_eigenvalue=6.0),
    "no root": UcbGlm(60, alpha=1.0, root=False),
    "each arm": UcbGlm(60, alpha=1.0, opening="each_arm"),
    "as coded": UcbGlm(60).as_coded(),
}


@pytest.mark.parametrize("name", POLICIES)
def test_pulls_are_those_of_the_naive_algorithm(name):
    """Two replications; the answer is one of the most pulled arms."""
    problem, policy = instance(11, 6, 3), POLICIES[name]
    streams = Streams.first(2, seed=SEED, instance=problem.label)
    fast = drive(policy, problem, streams)
    for r in range(2):
        pulls, n_random = page_of(policy, problem, streams.take(np.array([r])))
        assert fast.pulls[r] == pulls
        numbers = np.bincount(pulls, minlength=6)
        assert numbers[fast.recommended[r, 0]] == numbers.max()
        assert n_random < 50
        assert (n_random > 2) == (policy.opening == "random" and policy.regulariser == 0)


def test_opening_is_uniform_over_the_arms_and_lasts_until_the_design_is_large_enough():
    """A level that is never reached: every pull is random (chi-square over 300 x 40 pulls)."""
    run = drive(UcbGlm(40, least_eigenvalue=1e9), instance(1, 5, 3), Streams.first(300, seed=SEED, instance="opening"))
    assert stats.chisquare(np.bincount(np.ravel(run.pulls), minlength=5)).pvalue > 1e-3


def test_arms_of_less_than_full_rank_are_taken_in_their_span():
    """More features than arms, and sets of different rank side by side, V of the authors' code included."""
    rng = np.random.default_rng(6)
    wide = rng.standard_normal((2, 4, 6))
    wide[1, 3] = wide[1, 0] + wide[1, 1]  # rank 3
    theta = rng.standard_normal((2, 6))
    streams = Streams.first(2, seed=SEED, instance="span")
    for policy in (UcbGlm(50, alpha=0.5), UcbGlm(50).as_coded()):
        run = drive(policy, BernoulliBandit("span", wide, theta), streams)
        np.testing.assert_array_equal(run.state.ranks, [4, 3])
        for r, rank in ((0, 4), (1, 3)):
            basis = np.linalg.svd(wide[r], full_matrices=False)[2][:rank]
            narrow = BernoulliBandit("span", wide[r] @ basis.T, basis @ theta[r])
            assert run.pulls[r] == page_of(policy, narrow, streams.take(np.array([r])))[0]


def test_lost_first_pass_is_made_up_by_random_pulls():
    """If all of the first evaluations fail there is no V to invert; the search goes on with random arms."""
    problem, policy = instance(2, 5, 3), UcbGlm(30).as_coded()
    streams = Streams.first(40, seed=SEED, instance="lost")
    state, pulled = policy.start(problem.arms, streams), np.zeros((40, 5), dtype=np.int64)
    asked = policy.ask(state)
    policy.tell(state, asked, np.full(asked.arms.shape, np.nan))
    assert set(policy.ask(state).arms[:, 0]) == set(range(5))
    while not policy.finished(state).all():
        asked = policy.ask(state)
        policy.tell(state, asked, problem.rewards(asked, pulled, streams))
    assert (state.pulls.sum(axis=1) == 25).all()
    assert ((state.pulls > 0).sum(axis=1) >= 3).all()


def test_equal_arms_tie():
    """Two copies of every arm: by symmetry each copy is pulled first equally often."""
    base = instance(3, 3, 3)
    problem = BernoulliBandit("twins", np.concatenate([base.features, base.features]), base.theta)
    run = drive(UcbGlm(40, alpha=1.0, opening="each_arm"), problem, Streams.first(400, seed=SEED, instance="twins"))
    assert stats.binomtest(int((np.array([p[6] for p in run.pulls]) < 3).sum()), 400).pvalue > 1e-3
    assert stats.binomtest(int((run.recommended[:, 0] < 3).sum()), 400).pvalue > 1e-3


def test_theoretical_alpha_and_named_differences():
    """d = 4, B = 100, delta = 0.05: 2 sqrt(2 ln 51 + ln 20); each difference switched back leaves nothing."""
    assert theoretical_alpha(4, 100, 0.05) == pytest.approx(2 * np.sqrt(2 * np.log(51) + np.log(20)))
    state = UcbGlm(100).start(instance(1, 6, 4).arms, Streams.first(3, seed=SEED))
    np.testing.assert_allclose(state.alpha, theoretical_alpha(4, 100, 0.05))
    as_coded = UcbGlm(20).as_coded()
    assert as_coded.alpha == 0.5
    assert replace(as_coded, alpha=None, opening="random", root=True, ties_in_order=False) == UcbGlm(20)


@pytest.mark.parametrize("reward", [-0.1, 1.5])
def test_rewards_outside_the_unit_interval_are_refused(reward):
    policy = UcbGlm(10)
    state = policy.start(instance(1, 4, 2).arms, Streams.first(1, seed=SEED))
    with pytest.raises(ValueError, match=rf"rewards in \[0, 1\], got a sum of {reward} from 1 pulls of arm 2"):
        policy.tell(state, Ask(np.array([[2]]), np.array([[1]])), np.array([[reward]]))


test_bad_settings_are_refused = refused(
    lambda settings: UcbGlm(10, **settings),
    ({"alpha": -1.0}, "alpha must be at least 0"),
    ({"delta": 1.0}, r"delta must lie in \(0, 1\)"),
    ({"opening": "none"}, "opening must be one of random, each_arm"),
    ({"ridge": 0.0}, "ridge must be positive"),
    ({"regulariser": -1.0}, "at least 0"),
)

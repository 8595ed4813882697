"""LinUCB, shared and disjoint: against its page, closed forms, limits; the design in arm space with many arms."""

from dataclasses import replace

import numpy as np
import pytest
from judges import drive, rows, same_pulls
from judges import general as instance
from refusals import refused
from scipy import stats

from bestarm.interface import Ask
from bestarm.policies.linear import arm_space, bayes_gap, lin_ucb
from bestarm.policies.linear.arm_space import ArmSpace
from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.gifa_round import learn as learn_plainly
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams, standard_normal
from bestarm_plain import lin_ucb as plain

SEED = 20261120
SIGMA = 0.8


def first(values, among=None):
    """Return the first of the largest values, which may differ by rounding."""
    return int(np.flatnonzero(values > values.max() - 1e-9)[0])


def judged(policy, problem, streams):
    return same_pulls(plain.lin_ucb, policy, problem, streams, alpha=policy.exploration, argmax=first)[0]


POLICIES = {
    "usual": LinUcb(60),
    "small alpha": LinUcb(60, alpha=0.5),
    "nearly greedy": LinUcb(40, alpha=0.05, regulariser=0.1),
    "other settings": LinUcb(60, alpha=3.0, regulariser=4.0),
    "disjoint alone": LinUcb(60, disjoint=True),
    "order alone": LinUcb(60, ties_in_order=True),
    "as coded": LinUcb(60).as_coded(),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize(("n_arms", "n_features"), [(7, 3), (4, 6)])
def test_pulls_are_those_of_the_naive_algorithm(name, n_arms, n_features):
    """Three replications; the answer is one of the most pulled arms."""
    problem, policy = instance(5, n_arms, n_features), POLICIES[name]
    fast = judged(policy, problem, Streams.first(3, seed=SEED, instance=problem.label))
    for pulls, (answer,) in zip(fast.pulls, fast.recommended, strict=True):
        numbers = np.bincount(pulls, minlength=n_arms)
        assert numbers[answer] == numbers.max()


def test_authors_code_takes_the_first_of_equal_arms():
    """On the canonical basis everything ties at the start, and the naive first arg max agrees to the end."""
    problem = LinearBandit("canonical", np.eye(5), np.array([0.0, 0, 1, 0, 0]), SIGMA)
    streams = Streams.first(3, seed=SEED, instance="canonical")
    for policy in (LinUcb(40).as_coded(), LinUcb(40, ties_in_order=True)):
        fast = judged(policy, problem, streams)
        for pulls, (answer,) in zip(fast.pulls, fast.recommended, strict=True):
            assert (pulls[0], answer) == (0, np.bincount(pulls, minlength=5).argmax())


def test_disjoint_estimates_have_a_closed_form():
    """Mean |x|^2 S / (1 + n |x|^2), variance |x|^2 / (1 + n |x|^2), from the arm's own rewards."""
    problem = instance(2, 5, 3)
    streams = Streams.first(2, seed=SEED, instance=problem.label)
    state = drive(LinUcb(80, alpha=2.0, disjoint=True), problem, streams).state
    squared = (problem.features**2).sum(axis=1)
    for r in range(2):
        for a in range(5):
            n = state.pulls[r, a]
            noise = [standard_normal(streams.key("noise"), r, a, i) for i in range(n)]
            S = n * problem.means[0, a] + SIGMA * sum(noise)
            assert state.means[r, a] == pytest.approx(squared[a] * S / (1 + n * squared[a]), abs=1e-12)
            assert state.variances[r, a] == pytest.approx(squared[a] / (1 + n * squared[a]), rel=1e-12)


def test_disjoint_and_shared_are_one_algorithm_on_orthogonal_arms():
    """Nothing can be shared there; same label, same ties."""
    problem = LinearBandit("orthogonal", np.diag(np.array([1.0, 0.7, 1.3, 1.0])), np.array([0.5, 0.2, 0.1, 0.4]), SIGMA)
    streams = Streams.first(10, seed=SEED, instance="orthogonal")
    one, other = (drive(LinUcb(100, disjoint=disjoint), problem, streams) for disjoint in (False, True))
    assert one.pulls == other.pulls
    np.testing.assert_array_equal(one.recommended, other.recommended)


def test_large_exploration_spreads_the_pulls_evenly():
    """On the canonical basis the bonus alone makes a round robin in random order, so all arms tie for the answer."""
    problem = LinearBandit("canonical", np.eye(4), np.array([1.0, 0, 0, 0]), SIGMA)
    run = drive(LinUcb(12, alpha=1e9), problem, Streams.first(2000, seed=SEED, instance="even"))
    pulls = np.array(run.pulls).reshape(2000, 3, 4)
    assert (np.sort(pulls, axis=2) == np.arange(4)).all()
    for k in range(4):
        assert stats.chisquare(np.bincount(pulls[:, 0, k], minlength=4)).pvalue > 1e-3
    assert stats.chisquare(np.bincount(run.recommended[:, 0], minlength=4)).pvalue > 1e-3


def test_exploration_factors_and_named_differences():
    """1 + sqrt(ln(2/delta)/2) by default, about 0.513 in the authors' code; differences switched back leave nothing."""
    assert LinUcb(10, delta=0.1).exploration == pytest.approx(1 + np.sqrt(np.log(20) / 2))
    assert LinUcb(10, alpha=0.7).exploration == 0.7
    assert LinUcb(10).as_coded().exploration == pytest.approx(0.51296, abs=1e-5)
    as_coded = LinUcb(10, alpha=0.3).as_coded()
    assert replace(as_coded, disjoint=False, ties_in_order=False, alpha=0.3) == LinUcb(10, alpha=0.3)


def test_sharing_what_arms_teach_of_each_other_pays():
    """Fewer pulls than arms, in three dimensions: the shared form finds a better arm (paired over 300 instances)."""
    rng = np.random.default_rng(1)
    features = rng.standard_normal((300, 60, 3))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    problem = LinearBandit("many arms", features, features[np.arange(300), rng.integers(60, size=300)], SIGMA)
    streams = Streams.first(300, seed=SEED, instance="many arms")
    runs = [drive(LinUcb(40, alpha=1.0, disjoint=disjoint), problem, streams) for disjoint in (False, True)]
    found = [np.take_along_axis(problem.means, run.recommended, axis=1)[:, 0] for run in runs]
    assert stats.ttest_rel(found[0], found[1], alternative="greater").pvalue < 1e-6


test_bad_settings_are_refused = refused(
    lambda settings: LinUcb(10, **settings),
    ({"alpha": -1.0}, "alpha must be at least 0"),
    ({"delta": 0.0}, r"delta must lie in \(0, 1\)"),
    ({"regulariser": 0.0}, "regulariser must be at least 1e-12, got 0.0"),
)


@pytest.mark.parametrize(("n_arms", "d", "distinct"), [(48, 10, 48), (60, 60, 60), (50, 4, 7), (47, 3, 47)])
def test_the_recursion_is_the_plain_one(n_arms, d, distinct):
    """Pulls of few arms and of many, several at a time, failed ones among them."""
    rng = np.random.default_rng(n_arms)
    x = rng.standard_normal((3, n_arms, d))
    gram = x @ x.transpose(0, 2, 1)
    plain, state = gram.copy(), ArmSpace(**arm_space.start(gram.copy()))
    means, pulls = np.zeros((3, n_arms)), np.zeros((3, n_arms), dtype=np.int64)
    fast_means, fast_pulls = means.copy(), pulls.copy()
    for _ in range(300):
        arms, counts = rng.integers(distinct, size=(3, 2)), rng.integers(4, size=(3, 2))
        totals = np.where(rng.random((3, 2)) < 0.1, np.nan, counts * rng.standard_normal((3, 2)))
        learn_plainly(plain, means, pulls, arms, counts, totals, True)
        arm_space.learn(state, fast_means, fast_pulls, Ask(arms, counts), totals)
    np.testing.assert_array_equal(fast_pulls, pulls)
    np.testing.assert_allclose(fast_means, means, atol=1e-8)
    np.testing.assert_allclose(arm_space.present(state), plain, atol=1e-8)
    np.testing.assert_allclose(state.variances, np.einsum("rkk->rk", plain), atol=1e-8)
    exact = x[0] @ np.linalg.inv(np.eye(d) + (x[0].T * pulls[0]) @ x[0]) @ x[0].T
    np.testing.assert_allclose(arm_space.present(state)[0], exact, atol=1e-8)


@pytest.mark.parametrize("policy", [LinUcb(500, alpha=1.0), BayesGap(500, 0.7), BayesGap(500, 0.7).as_coded()])
def test_searches_with_many_arms_are_those_of_the_plain_recursion(policy, monkeypatch):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((50, 6))
    problem = LinearBandit("many", x / np.linalg.norm(x, axis=1, keepdims=True), rng.standard_normal(6), 0.7)
    fast = rows(replace(policy), problem, Streams.first(20, instance="many"))
    monkeypatch.setattr(arm_space, "_MANY", 1000)
    plain = rows(replace(policy), problem, Streams.first(20, instance="many"))
    np.testing.assert_array_equal(fast["arm"], plain["arm"])
    assert {lin_ucb.arm_space, bayes_gap.arm_space} == {arm_space}

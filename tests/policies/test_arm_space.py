"""The design in arm space with many arms: against the plain recursion and the inverse, on the same pulls."""

from dataclasses import replace

import numpy as np
import pytest

from bestarm.interface import Ask
from bestarm.policies.linear import arm_space, bayes_gap, lin_ucb
from bestarm.policies.linear.arm_space import ArmSpace
from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.gifa_round import learn as learn_plainly
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct


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
    """The same recommended arms, run by run."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((50, 6))
    problem = LinearBandit("many", x / np.linalg.norm(x, axis=1, keepdims=True), rng.standard_normal(6), 0.7)
    metrics = {"correct": correct, "arm": lambda _, recommended: recommended[:, 0].astype(float)}

    def run():
        return simulate(replace(policy), problem, Streams.first(20, instance="many"), metrics=metrics)

    fast = run()
    monkeypatch.setattr(arm_space, "_MANY", 1000)
    plain = run()
    np.testing.assert_array_equal(fast["arm"], plain["arm"])
    assert {lin_ucb.arm_space, bayes_gap.arm_space} == {arm_space}

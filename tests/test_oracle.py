"""The best fixed design with fixed confidence: closed forms, a brute search, its bound, the oracle that tracks it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import each_refused

from benchmarks.oracle import OracleTracking, characteristic_time
from bestarm.policies.linear.gifa import MLinGape
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm.testing import check_policy
from bestarm_lab.metrics import correct
from bestarm_studies.linear_topm.instances import classic_instance


def time_of(x, means, n_best, sigma, weights):
    """Return the largest term over pairs, one by one."""
    order, inverse = np.argsort(-means), np.linalg.inv(x.T @ np.diag(weights) @ x)
    terms = []
    for i in order[:n_best]:
        for a in order[n_best:]:
            d = x[i] - x[a]
            terms.append(2 * sigma**2 * d @ inverse @ d / (means[i] - means[a]) ** 2)
    return max(terms)


def test_arms_without_structure():
    """Two share the pulls: T* = 8 sigma^2 / gap^2 (Garivier and Kaufmann 2016, Gaussian arms)."""
    found = characteristic_time(np.eye(2), np.array([1.0, 0.5]), 1, 0.5)
    assert 1.0 - 1e-9 <= found.time / (8 * 0.25 / 0.25) <= 1.02
    np.testing.assert_allclose(found.weights, 0.5, atol=0.05)
    # of K with equal gaps the best has sqrt(K - 1) times the weight of another: 2 sigma^2 (1 + sqrt(K - 1))^2 / gap^2
    n = 5
    found = characteristic_time(np.eye(n), np.eye(n)[2], 1, 1.0)
    assert 1.0 - 1e-9 <= found.time / (2 * (1 + np.sqrt(n - 1)) ** 2) <= 1.02
    assert found.weights[2] / found.weights[0] == pytest.approx(np.sqrt(n - 1), rel=0.2)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), n_best=st.integers(1, 3))
def test_no_design_of_many_is_better_than_the_bound(seed, n_best):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((6, 3))
    means = x @ rng.standard_normal(3)
    found = characteristic_time(x, means, n_best, 0.7)
    assert found.time == pytest.approx(time_of(x, means, n_best, 0.7, found.weights), rel=1e-9)
    tried = min(time_of(x, means, n_best, 0.7, w) for w in rng.dirichlet(np.ones(6), 500))
    near = np.abs(found.weights + 0.03 * rng.dirichlet(np.ones(6), 500))
    assert min(tried, *(time_of(x, means, n_best, 0.7, w / w.sum()) for w in near)) >= found.time / 1.02


def test_scales_as_it_must_and_ignores_directions_without_arms():
    bandit = classic_instance(4, 2, np.pi / 4)
    one = characteristic_time(bandit.features, bandit.means[0], 2, 1.0).time
    wide = np.hstack([bandit.features, bandit.features @ np.ones((3, 2))])
    assert characteristic_time(wide, 3.0 * bandit.means[0], 2, 2.0).time == pytest.approx(4.0 / 9.0 * one, rel=0.02)


test_what_an_oracle_cannot_know_is_refused = each_refused(
    (
        lambda: characteristic_time(np.eye(3), np.array([]), 1, 1.0),
        r"needs the true mean of each of 3 arms, got shape \(0,\)",
    ),
    (lambda: characteristic_time(np.eye(3), np.array([1.0, 1.0, 0.0]), 1, 1.0), "the 1 best arms must be unique"),
    (lambda: OracleTracking(n_best=2).start(classic_instance(4, 2, 1.0).arms, Streams.first(1)), "needs the true mean"),
)


def test_the_oracle_is_a_policy_that_tracks_its_design():
    x = np.random.default_rng(3).standard_normal((12, 3)) / 2.0
    check_policy(OracleTracking(n_best=2, means=tuple(x @ np.ones(3)), sigma=0.1))
    bandit = classic_instance(4, 2, np.pi / 4)
    given = {"n_best": 2, "sigma": bandit.sigma, "threshold": "heuristic"}
    policy = OracleTracking(means=tuple(bandit.means[0]), **given)
    state, pulled, streams = policy.start(bandit.arms, Streams.first(3)), bandit.arms.no_pulls(3), Streams.first(3)
    for _ in range(300):
        asked = policy.ask(state)
        policy.tell(state, asked, bandit.rewards(asked, pulled, streams))
        going = ~policy.finished(state)
        assert (np.abs(state.pulls - state.pulls.sum(axis=1, keepdims=True) * state.design)[going] < 2.0).all()


def test_the_oracle_needs_fewer_pulls_than_a_policy_and_no_fewer_than_the_bound():
    """At risk 0.05 the lower bound is T* kl(0.05, 0.95), for stopping rules with a proof, as that of Equation 2."""
    bandit, found = classic_instance(4, 2, np.pi / 4), {}
    given = {"n_best": 2, "sigma": bandit.sigma, "threshold": "eq2"}
    oracle = OracleTracking(means=tuple(bandit.means[0]), **given)
    for policy in (oracle, MLinGape(selection="largest_variance", **given)):
        rows = simulate(policy, bandit, Streams(1, bandit.label, np.arange(300)), metrics={"correct": correct})
        found[policy.label] = rows.pulls.mean()
        assert rows.correct.mean() > 0.95
    bound = characteristic_time(bandit.features, bandit.means[0], 2, bandit.sigma).time * 0.9 * np.log(19.0)
    assert bound < found["oracle"] < found["m-LinGapE"]

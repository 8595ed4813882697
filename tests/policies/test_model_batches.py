"""Batches ranked by a model: protocol, no arm twice, batches against their definition, what is at the bench."""

import numpy as np
import pytest
from refusals import each_refused
from scipy.special import ndtr

import bestarm
from bestarm.interface import Arms, Ask
from bestarm.models import smooth_gp
from bestarm.models.smooth_gp import UNIFORM, Believer
from bestarm.policies.model_batches import ForestBatches, GaussianBatches, NeighbourBatches, expected_quantile
from bestarm.streams import Streams

X = np.random.default_rng(0).standard_normal((60, 3))
F = -((X - 0.5) ** 2).sum(axis=1)
POLICIES = {
    "gp": GaussianBatches("GP", 4, 6),
    "hits": GaussianBatches("hits", 4, 6, score_by="hits"),
    "forest": ForestBatches("forest", 4, 6, trees=20),
    "neighbours": NeighbourBatches("neighbours", 4, 6),
}
EACH = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


def told(policy, places):
    state, arms = policy.start(Arms(X), Streams.first(1)), np.array([places])
    policy.tell(state, Ask(arms, np.ones_like(arms)), F[arms])
    return state


@EACH
def test_the_protocol_is_kept(policy):
    bestarm.check_policy(policy, Arms(X))


@EACH
def test_no_arm_comes_twice(policy):
    """A failure, the first of the second batch, uses its arm up."""
    state, seen = policy.start(Arms(X), Streams.first(1)), []
    for number in range(6):
        asked = policy.ask(state)
        totals = F[asked.arms]
        totals[0, 0] = np.nan if number == 1 else totals[0, 0]
        policy.tell(state, asked, totals)
        seen += asked.arms[0].tolist()
    assert len(set(seen)) == len(seen) == 24
    assert policy.finished(state).all()
    assert F[policy.recommend(state)[0, 0]] == F[[*seen[:4], *seen[5:]]].max()


def test_the_bound_is_taken_one_after_the_other():
    """Each place against the posterior with those before it known at their mean."""
    policy, state = POLICIES["gp"], told(POLICIES["gp"], range(20))
    believer, chosen = Believer(policy.posterior(state, 0), UNIFORM * X, 4), []
    for _ in range(4):
        bound = believer.means + policy.beta * np.sqrt(believer.variances)
        bound[[*range(20), *chosen]] = -np.inf
        chosen.append(int(bound.argmax()))
        believer.take(chosen[-1])
    assert policy.ask(state).arms[0].tolist() == chosen


@pytest.mark.parametrize("first", [800, 9], ids=["little known", "much known"])
def test_hits_are_the_largest_probabilities(first, monkeypatch):
    """Of a value above that which the model expects a share to have."""
    monkeypatch.setattr(smooth_gp, "_FIRST", first)
    policy, state = POLICIES["hits"], told(POLICIES["hits"], range(20))
    mean, deviation = policy.outputs(state, 0)
    chance = ndtr((mean - expected_quantile(mean, deviation, 0.05)) / deviation)
    assert chance.sum() == pytest.approx(3.0, abs=1e-6)
    assert set(policy.ask(state).arms[0]) == set(20 + np.argsort(-chance[20:])[:4])


def test_neighbours_are_weighted_by_their_distance():
    policy, state = POLICIES["neighbours"], told(POLICIES["neighbours"], range(20))
    mean, _ = policy.predicted(state)
    for a in (30, 59):
        distance = np.linalg.norm(X[:20] - X[a], axis=1)
        near = np.argsort(distance)[:10]
        weight = 1.0 / (distance[near] + 1e-6)
        assert mean[a] == pytest.approx((weight * F[near]).sum() / weight.sum())


@EACH
def test_what_is_pending_is_not_chosen(policy):
    """And a Gaussian process looks elsewhere; what was set aside is not chosen either."""
    state = told(policy, range(20))
    first = policy.ask(state).arms[0]
    policy.believe(state, first[:2])
    policy.set_aside(state, first[2:])
    assert not set(policy.ask(state).arms[0]) & set(first)


test_settings_that_are_refused = each_refused(
    (lambda: GaussianBatches("x", 0, 1), "batch must be at least 1, got 0"),
    (lambda: GaussianBatches("x", 1, 1, score_by="luck"), "score_by must be one of bound, hits, got 'luck'"),
    (lambda: GaussianBatches("x", 1, 1, beta=-1.0), "beta must be at least 0, got -1.0"),
    (lambda: GaussianBatches("x", 1, 1, share=1.0), r"share must lie in \(0, 1\), got 1.0"),
    (lambda: NeighbourBatches("x", 1, 1, neighbours=0), "neighbours must be at least 1"),
    (lambda: ForestBatches("x", 1, 1, least=1), "least must be at least 2"),
)

"""The lack-of-fit test: its closed form, its level where pulls were chosen by a policy, its power, the warning."""

import warnings

import numpy as np
import pytest
from hills import searched
from judges import experiment_a
from refusals import refuses
from scipy import stats

import bestarm
from bestarm.guards.protocol import Guarded
from bestarm.interface import Arms, Ask
from bestarm.lack_of_fit import LinearMisfit, linear_misfit, new_tally, note_rewards, tallied_misfit
from bestarm.policies.linear.gifa import Gifa, LinGifa, Lucb, MLinGape
from bestarm.policies.linear.mislid import MisLid
from bestarm.streams import Streams
from bestarm_studies.linear_topm.instances import published_random_instance

GIVEN = {"n_best": 3, "threshold": "heuristic"}


def test_it_is_the_f_statistic_of_the_textbook():
    """Against residual sums of squares of both models by least squares on single measurements."""
    rng = np.random.default_rng(1)
    x, arms = rng.standard_normal((6, 2)), np.repeat(np.arange(6), [3, 4, 2, 5, 1, 3])
    rewards = x[arms] @ [1.0, -1.0] + rng.standard_normal(len(arms))
    sums = [((rewards - d @ np.linalg.lstsq(d, rewards, rcond=None)[0]) ** 2).sum() for d in (x[arms], np.eye(6)[arms])]
    expected = (sums[0] - sums[1]) / 4 / (sums[1] / (len(arms) - 6))
    found = linear_misfit(x, arms, rewards)
    assert (found.statistic, found.degrees) == (pytest.approx(expected, rel=1e-9), (4, len(arms) - 6))
    assert found.p_value == pytest.approx(stats.f.sf(expected, 4, len(arms) - 6))
    shuffled = rng.permutation(len(arms))
    failed = np.append(rewards[shuffled], np.nan), np.append(arms[shuffled], 0)
    assert linear_misfit(x, failed[1], failed[0]).p_value == pytest.approx(found.p_value)


def test_totals_of_several_pulls_have_the_level_that_is_said():
    rng = np.random.default_rng(2)
    x, arms = rng.standard_normal((6, 2)), np.repeat(np.arange(6), 3)
    counts = rng.integers(1, 9, len(arms))
    totals = counts * (x[arms] @ [1.0, 2.0]) + np.sqrt(counts) * rng.standard_normal((2000, 18))
    assert stats.kstest([linear_misfit(x, arms, row, counts).p_value for row in totals], "uniform").pvalue > 0.001


def told(policy, bandit, runs, most=3000):
    """Return the answers, the p values at the end of each run, and which answers are wrong."""
    state, log = searched(policy, bandit, Streams(20261126, bandit.label, np.arange(runs)), most)
    tally = np.zeros((runs, bandit.arms.n_arms, 4))
    for asked, totals in log:
        note_rewards(tally, asked.arms, asked.counts, totals)
    wrong = ~np.isin(policy.recommend(state), np.argsort(-bandit.means[0])[: policy.n_best]).all(axis=1)
    return np.array([tallied_misfit(bandit.features, row).p_value for row in tally]), wrong


@pytest.mark.parametrize("policy", [MLinGape(sigma=0.5, **GIVEN), LinGifa(sigma=0.5, **GIVEN)], ids=lambda p: p.label)
def test_false_alarms_are_as_rare_as_said_where_a_policy_chose_the_pulls(policy):
    p, _ = told(policy, published_random_instance(), 800)
    for level in (0.05, 0.01, 0.001):
        assert (p < level).sum() <= stats.binom.ppf(0.999, len(p), level)


def test_wrong_answers_given_with_certainty_are_warned_of():
    """Experiment A at c = 5: recorded, 94.6% of LinGapE's answers are wrong."""
    p, wrong = told(MLinGape(sigma=1.0, regulariser=1.0, **GIVEN), experiment_a("A", 5.0), 300)
    assert wrong.mean() > 0.9
    assert (p[wrong] < 0.001).mean() > 0.97


def guarded_run(policy, deviation):
    """Tell a guarded policy of 6 arms with 2 features noisy rewards, and return the warnings of its recommendation."""
    rng = np.random.default_rng(4)
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [0.5, 0.5], [2.0, 1.0]])
    guarded = Guarded(policy)
    state = guarded.start(Arms(x), Streams.first(2))
    for _ in range(12):
        asked = guarded.ask(state)
        noise = 0.1 * rng.standard_normal(asked.arms.shape)
        guarded.tell(state, asked, (x[asked.arms] @ [1.0, 0.5] + deviation * (asked.arms == 4) + noise) * asked.counts)
        bestarm.forget_asked(state)
        every = np.tile(np.arange(6), (2, 1))
        noise = 0.1 * rng.standard_normal(every.shape)
        guarded.tell(state, Ask(every, np.ones_like(every)), x[every] @ [1.0, 0.5] + deviation * (every == 4) + noise)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        guarded.recommend(state)
    return [w for w in caught if issubclass(w.category, LinearMisfit)]


def test_a_guarded_linear_policy_warns_and_names_the_arm():
    policy = Gifa("m-LinGapE", 2, sigma=0.1, delta=1e-12)
    assert not guarded_run(policy, 0.0)
    (warning,) = guarded_run(policy, 1.0)
    assert "arm 4 is +" in str(warning.message)
    assert "take mislid or lucb" in str(warning.message)
    for other in (Lucb(2, sigma=0.1, delta=1e-12), MisLid(2, 1.0, sigma=0.1, delta=1e-12)):
        assert not guarded_run(other, 1.0)  # neither takes means as linear


def test_what_cannot_be_judged_has_p_1():
    x = np.eye(3)[:, :2]
    assert linear_misfit(x, [0, 1, 2], [1.0, 2.0, 3.0]).p_value == 1.0  # no replicate
    assert linear_misfit(x, [], []).arm == -1
    assert linear_misfit(x, [0, 0, 1, 1, 2, 2], [1.0, 1.0, 2.0, 2.0, 9.0, 9.0]).p_value == 1.0  # no noise
    refuses(lambda: linear_misfit(x, [0, 3], [1.0, 2.0]), r"arms must be rows of features, 0 to 2, got 0 to 3")


def test_policies_that_take_means_as_linear_are_looked_at_and_no_others():
    arms = Arms(np.random.default_rng(0).standard_normal((6, 2)))
    for name in ("p1_rage", "peace", "peace_live_arms", "static_g_optimal", "lin_ucb", "gse_lin", "od_linbai"):
        assert new_tally(getattr(bestarm, name)(60).policy, arms, 3).shape == (3, 6, 4), name
    assert new_tally(bestarm.oracle_allocation(60, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)).policy, arms, 3) is not None
    assert new_tally(bestarm.top_two(60, sigma=1.0).policy, arms, 3) is None  # own effects explain any means
    assert new_tally(bestarm.ucb_glm(60).policy, arms, 3) is None

"""LinGame: AdaHedge, the closest alternative, a naive judge in feature space, refusals."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from judges import drive, rows, same_runs
from refusals import refused
from scipy import stats
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax

from bestarm.interface import Ask
from bestarm.policies.linear.lingame import LinGame, adahedge_gap, adahedge_weights, closest_alternative
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams
from bestarm_lab.metrics import correct
from bestarm_plain.lin_game import lin_game
from bestarm_studies.linear_topm.instances import classic_instance

SEED = 20261120
SIGMA = 0.5
HARD = classic_instance(3, 1, 0.1)
EASY = classic_instance(3, 1, np.pi / 3)

losses = arrays(np.float64, st.integers(2, 6), elements=st.floats(-20, 20))


@given(total=losses, gap=st.floats(0.01, 100))
def test_adahedge_weights_are_a_softmax(total, gap):
    """Probabilities that favour small cumulative losses, also where they underflow."""
    weights = adahedge_weights(total, gap)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(weights, softmax(-np.log(len(total)) / gap * total), rtol=1e-9, atol=1e-12)


@given(total=losses, loss=losses, gap=st.floats(0.01, 100))
def test_mixability_gap_is_the_loss_minus_the_mix_loss(total, loss, gap):
    """Against logsumexp; never negative, never more than the range of the losses."""
    n = min(len(total), len(loss))
    total, loss = total[:n], loss[:n]
    found, eta = adahedge_gap(total, loss, gap), np.log(n) / gap
    expected = adahedge_weights(total, gap) @ loss + logsumexp(log_softmax(-eta * total) - eta * loss) / eta
    assert 0 <= found <= np.ptp(loss) + 1e-9
    assert found == pytest.approx(max(expected, 0), abs=1e-8)


def test_mixability_gap_of_a_weight_that_underflows():
    """The weight of the second action is e^-1000 = 0, and its loss is so low that it leads after this round."""
    gap, total, loss = np.log(2.0), np.array([0.0, 1000.0]), np.array([0.0, -1500.0])  # eta = 1
    assert adahedge_weights(total, gap)[1] == 0.0
    assert adahedge_gap(total, loss, gap) == pytest.approx(500.0)  # the mix loss falls from 0 to -500


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n_arms=st.integers(2, 5), n_features=st.integers(1, 3))
def test_closest_alternative_is_the_minimum_over_the_half_spaces(seed, n_arms, n_features):
    """Against a numerical minimisation, for each other arm, over the models in which it is at least as good."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((max(n_arms, n_features + 1), n_features))
    theta, weights = rng.standard_normal(n_features), rng.uniform(0.2, 2, len(x))
    means = x @ theta
    best = int(np.argmax(means))
    design = (x.T * weights) @ x
    arm, value, difference = closest_alternative(x, weights, means, best)

    def distance(model):
        return 0.5 * (theta - model) @ design @ (theta - model)

    minima = {}
    for a in range(len(x)):
        if a != best:
            d = x[a] - x[best]
            start = theta - d * (d @ theta) / (d @ d)  # in the half-space, not the minimum
            half = {"type": "ineq", "fun": lambda model, d=d: d @ model, "jac": lambda model, d=d: d}
            options = {"method": "SLSQP", "options": {"ftol": 1e-14, "maxiter": 500}}
            minima[a] = minimize(distance, start, jac=lambda m: design @ (m - theta), constraints=half, **options)
    nearest = min(minima, key=lambda a: minima[a].fun)
    assert value == pytest.approx(minima[nearest].fun, rel=1e-4, abs=1e-8)
    assert minima[arm].fun == pytest.approx(minima[nearest].fun, rel=1e-4, abs=1e-8)
    alternative = x @ theta - difference
    assert alternative[arm] == pytest.approx(alternative[best], abs=1e-9)  # on the border of the half-space
    np.testing.assert_allclose(difference, x @ (theta - minima[arm].x), atol=2e-3)


def assert_judged(policy: LinGame, problem: LinearBandit, n_replications: int, cap: int) -> int:
    """Compare the policy with its page, pull by pull; return how many stopped."""
    streams = Streams.first(n_replications, seed=SEED, instance=problem.label)
    return same_runs(lin_game, policy, problem, streams, max_pulls=cap)


@pytest.mark.parametrize("convention", ["as_written", "as_coded"])
def test_both_conventions_agree_with_the_naive_algorithm_on_the_hard_instance(convention):
    """K = 3, omega = 0.1: three replications, up to 3000 pulls."""
    assert_judged(LinGame() if convention == "as_written" else LinGame().as_coded(), HARD, 3, 3000)


def test_every_deviation_alone_agrees_with_the_naive_algorithm():
    """All 16 combinations of the named differences, on an instance on which they stop, two replications each."""
    names = ("tracking", "best_response", "noise_in_statistic", "squared_norm")
    stopped = 0
    for parts in product(("C", "D"), ("learner", "counts"), (True, False), (True, False)):
        stopped += assert_judged(LinGame(regulariser=0.3, **dict(zip(names, parts, strict=True))), EASY, 2, 400)
    assert stopped > 16


def test_arms_in_general_position_agree_with_the_naive_algorithm():
    """Six arms in three dimensions: C-tracking of the learner, as coded, and another noise."""
    rng = np.random.default_rng(4)
    problem = LinearBandit("general", rng.standard_normal((6, 3)), rng.standard_normal(3), 1.5)
    for policy in (LinGame(sigma=1.5), LinGame(sigma=1.5).as_coded()):
        assert_judged(policy, problem, 3, 300)


def test_more_features_than_arms_are_reduced_to_their_span():
    """A rotation into more dimensions changes nothing but rounding."""
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((7, 2)))[0].T
    wide = LinearBandit(EASY.label, EASY.features @ basis, EASY.theta @ basis, SIGMA)
    streams = Streams.first(10, seed=SEED, instance=EASY.label)
    assert drive(LinGame(), wide, streams).pulls == drive(LinGame(), EASY, streams).pulls


@pytest.mark.parametrize("convention", ["as_written", "as_coded"])
def test_best_arm_of_an_easy_instance_is_found(convention):
    """Errors over 100 replications compatible with delta; every replication stops."""
    policy = LinGame() if convention == "as_written" else LinGame().as_coded()
    frame = rows(policy, EASY, Streams.first(100, seed=SEED, instance=EASY.label))
    assert frame["stopped"].all()
    assert stats.binomtest(int((frame["correct"] == 0).sum()), 100, policy.delta, alternative="greater").pvalue > 1e-3


def test_taking_the_noise_for_twice_its_size_costs_pulls():
    """The authors' code takes sigma = 1 for 1/2: more pulls on the same noise (paired t-test of the logs)."""
    streams = Streams.first(40, seed=SEED, instance=EASY.label)
    right = rows(LinGame(), EASY, streams)["pulls"]
    wrong = rows(replace(LinGame(), noise_in_statistic=False), EASY, streams)["pulls"]
    assert stats.ttest_rel(np.log(right), np.log(wrong), alternative="less").pvalue < 1e-3


def test_failed_evaluations_teach_nothing():
    """A total of NaN leaves estimates and counts as they were."""
    policy = LinGame()
    state = policy.start(EASY.arms, Streams.first(1, seed=SEED))
    gram = state.gram.copy()
    policy.tell(state, policy.ask(state), np.array([[np.nan, np.nan, 0.5]]))
    np.testing.assert_array_equal(state.pulls, [[0, 0, 1]])
    policy.tell(state, Ask(np.array([[1]]), np.array([[1]])), np.array([[np.nan]]))
    np.testing.assert_array_equal(state.pulls, [[0, 0, 1]])
    assert (state.gram != gram).any()


def test_search_goes_on_when_every_first_evaluation_fails():
    """A laboratory whose first plate is lost still gets its answer."""

    class FirstPlateLost(LinearBandit):
        def rewards(self, asked, pulled, streams):
            first = pulled.sum() == 0
            totals = super().rewards(asked, pulled, streams)
            return np.full_like(totals, np.nan) if first else totals

    problem = FirstPlateLost(EASY.label, EASY.features, EASY.theta, SIGMA)
    run = drive(LinGame(), problem, Streams.first(5, seed=SEED, instance=EASY.label), 5000)
    assert run.stopped.all()
    assert correct(problem, run.recommended).all()


def test_as_coded_is_a_set_of_named_deviations():
    """D-tracking of the counts, regulariser (sigma/20)^2, no noise in the statistic, a norm that is not squared."""
    as_coded = LinGame(sigma=0.4).as_coded()
    assert (as_coded.tracking, as_coded.best_response) == ("D", "counts")
    assert as_coded.regulariser == pytest.approx(0.02**2)
    assert not as_coded.noise_in_statistic
    assert not as_coded.squared_norm
    assert as_coded.as_coded() == as_coded


test_impossible_settings_are_refused = refused(
    lambda settings: LinGame(**settings),
    ({"delta": 0.0}, r"delta must lie in \(0, 1\), got 0.0"),
    ({"delta": 1.5}, r"delta must lie in \(0, 1\), got 1.5"),
    ({"sigma": 0.0}, "sigma must be positive, got 0.0"),
    ({"regulariser": -1.0}, "regulariser must be at least 1e-12, got -1.0"),
    ({"tracking": "E"}, "tracking must be one of C, D, got 'E'"),
    ({"best_response": "weights"}, "best_response must be one of learner, counts, got 'weights'"),
    ({"threshold": "eq3"}, "threshold must be one of heuristic, eq2, lucb1, got 'eq3'"),
)


@pytest.mark.parametrize("best", [[0, 2], [1]])
def test_equal_arms_are_as_good_as_each_other(best):
    """Nothing can tell them apart, and nothing has to: whether or not they are the best, the game ends."""
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    problem = LinearBandit("equal arms", x, x[best[0]], SIGMA)
    run = drive(LinGame(), problem, Streams.first(10, seed=SEED, instance=problem.label), 5000)
    assert run.stopped.all()
    assert set(run.recommended[:, 0]) <= set(best)

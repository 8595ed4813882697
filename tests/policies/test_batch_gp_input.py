"""Bad input of batched Gaussian process search: what is refused, in one line, and what goes on all the same."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hills import run
from refusals import each_refused, refused, refuses, refusing

from bestarm.guards.protocol import Guarded, forget_asked
from bestarm.interface import Arms, Ask
from bestarm.models.finite_gp import FiniteGP
from bestarm.models.gp_hyper import GammaPriors
from bestarm.policies.gaussian.batch_gp import (
    BatchGP,
    b_est,
    est_dpp_max,
    est_dpp_sample,
    gp_bucb,
    lp_ucb,
    ucb_dpp_max,
    ucb_dpp_sample,
)
from bestarm.policies.gaussian.batch_rules import (
    Anywhere,
    DownUp,
    Draws,
    Eigen,
    EstimatedMaximum,
    ExactMap,
    Exchange,
    GreedyMap,
    Hallucinate,
    KDpp,
    Penalty,
    Uniform,
    UpperBound,
)
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.problems.box import Interval
from bestarm.problems.candidates import Candidates, latin_hypercube, maximise
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams

POINTS = np.random.default_rng(0).random((30, 2))
KNOWN = GPModel.frozen((0.3, 0.3), 1.0, 0.01)
SPACE = {"x": Interval(0.0, 1.0), "y": Interval(0.0, 1.0)}


def the_seven(batch: int, rounds: int, **settings) -> list[BatchGP]:
    """Return the searches of the paper's figures."""
    s = {"batch": batch, "rounds": rounds, "model": KNOWN} | settings
    return [make(**s) for make in (gp_bucb, b_est, ucb_dpp_max, est_dpp_max, ucb_dpp_sample, est_dpp_sample, lp_ucb)]


def others(batch: int, rounds: int) -> list[BatchGP]:
    """Return the controls and the other ways to fill a batch."""
    samplers = (GreedyMap(repeats=True), Uniform(), ExactMap(), Exchange(0.5), Eigen())
    rules = [*(KDpp(sampler=sampler) for sampler in samplers), Draws(), Anywhere()]
    return [BatchGP(str(rule), batch, rounds, rule, KNOWN) for rule in rules]


def search(policy: BatchGP, points: np.ndarray, values: np.ndarray):
    return run(policy, NoiselessArms("x", points, values[None]), Streams.first(1))[0]


@refusing(
    ({"batch": -1}, "batch must be at least 1, got -1"),
    ({"batch": 5.0}, "batch must be a whole number, got 5.0; give such an int"),
    ({"rounds": None}, "rounds must be a whole number, got None"),
    ({"model": {"noise": 0.1}}, "model must be a GPModel, got .*'noise': 0.1.*; write GPModel"),
    ({"rounds": 0}, "rounds must be at least 1, got 0"),
    ({"first": -1}, "first must be at least 0, got -1"),
    ({"recommends": "best"}, "recommends must be one of"),
    ({"rule": "dpp-sample"}, "rule must be Hallucinate, KDpp, Penalty, Draws or Anywhere, got 'dpp-sample'; write"),
    ({"rule": UpperBound()}, r"rule must be .* got UpperBound.*; write rule=Hallucinate\(\)"),
)
def test_settings_out_of_range_are_refused(settings):
    BatchGP(**{"label": "x", "batch": 2, "rounds": 2} | settings)


@refusing(
    (GPModel.frozen(0.0, 1.0, 0.1), "lengthscale must be one positive number, or 2 .* got 0.0"),
    (GPModel.frozen((1.0, 1.0, 1.0), 1.0, 0.1), "lengthscale must be one positive number, or 2"),
    (GPModel((0.5, 0.5), ard=False), r"one length-scale for all features is wanted \(ard is off\)"),
    (GPModel.frozen((0.3, np.nan), 1.0, 0.1), "lengthscale must be one positive number, or 2"),
    (GPModel.frozen(0.3, 1.0, 0.0), "noise must be positive and finite, got 0.0"),
    (GPModel.frozen(0.3, np.nan, 0.1), "signal must be positive and finite, got nan"),
    (GPModel.frozen(0.3, 1.0, 0.1, constant=-1.0), "constant must be at least 0"),
    (GPModel.frozen(0.3, 1.0, 0.1, scale=0.0), "scale must be positive and finite, got 0.0"),
    (GPModel.frozen("long", 1.0, 0.1), "lengthscale must be one positive number, or 2 .* got 'long'"),
    (GPModel.frozen(0.3, "a", 0.1), "signal must be positive and finite, got 'a'"),
)
def test_a_model_that_is_no_model_is_refused(model):
    """A hyper-parameter that is not positive ends the search at its start, without a warning before the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BatchGP("x", 2, 2, model=model).start(Arms(POINTS), Streams.first(1))


test_parts_out_of_range_are_refused = each_refused(
    (lambda: UpperBound("a"), "delta must be a number, got 'a'"),
    (lambda: EstimatedMaximum(1), "estimate must be one of ESTa, ESTn, got 1"),
    (lambda: DownUp(0.0), r"epsilon must lie in \(0, 1\), got 0.0"),
    (lambda: Exchange(1.0), r"epsilon must lie in \(0, 1\), got 1.0"),
    (lambda: GreedyMap("yes"), "repeats must be True or False, got 'yes'"),
    (lambda: UpperBound(beta_scale=0.0), "beta_scale must be positive, got 0.0"),
    (lambda: UpperBound(delta=1.0), r"delta must lie in \(0, 1\), got 1.0"),
    (lambda: Hallucinate(EstimatedMaximum(), by_evaluations=False), "by_evaluations is about t of UpperBound"),
    (lambda: Hallucinate("ucb"), "acquisition must be UpperBound or EstimatedMaximum, got 'ucb'; write"),
    (lambda: Hallucinate(inflation=float("inf")), "inflation must be finite, got inf"),
    (lambda: Hallucinate(two_stage=1), "two_stage must be True or False, got 1"),
    (lambda: Hallucinate(by_evaluations=None), "by_evaluations must be True or False, got None"),
    (lambda: KDpp(DownUp()), r"acquisition must be UpperBound or EstimatedMaximum, got DownUp\(epsilon=0.01\)"),
    (lambda: KDpp(sampler="gibbs"), "sampler must be DownUp, Exchange, Eigen, GreedyMap, ExactMap or Uniform, got"),
    (lambda: KDpp(region="contal"), "region must be one of as_written, as_coded, got 'contal'"),
    (lambda: KDpp(exclude_first="no"), "exclude_first must be True or False, got 'no'"),
    (lambda: Penalty("a"), r"penalty_width must be positive and finite, got 'a'; UpperBound\(\) takes it from beta"),
    (lambda: Penalty(-1.0), "penalty_width must be positive and finite, got -1.0"),
    (lambda: Penalty(float("nan")), "penalty_width must be positive and finite, got nan"),
    (lambda: Penalty(EstimatedMaximum()), "penalty_width must be positive and finite, got EstimatedMaximum"),
    (lambda: Draws(0), "n_features must be at least 1, got 0"),
)

test_settings_of_a_model_are_checked_when_it_is_made = each_refused(
    (lambda: GPModel(offset=np.nan), "offset must be finite, got nan; 0 models rewards as they are"),
    (lambda: GPModel(offset=-np.inf), "offset must be finite, got -inf"),
    (lambda: FiniteGP.start(Arms(POINTS), 1, 1, offset=np.nan), "offset must be finite, got nan"),
    (lambda: GPModel(fit="ml"), "fit must be one of frozen, map, slice, got 'ml'"),
    (lambda: GPModel(samples=0), "samples must be a whole number of at least 1, got 0"),
    (lambda: GPModel(growth=0.5), "growth must be at least 1"),
    (lambda: GPModel(starts=1.5), "starts must be a whole number of at least 1, got 1.5"),
    (lambda: GPModel(fit="slice", samples=1.5), "samples must be a whole number of at least 1, got 1.5"),
    (lambda: GPModel(burn_in=-1), "burn_in must be a whole number of at least 0, got -1"),
    (lambda: GPModel(growth="a"), "growth must be at least 1 .* got 'a'"),
    (lambda: GPModel(priors={}), "priors must be GammaPriors, got {}"),
    (lambda: GammaPriors(signal=(np.nan, 1.0)), "prior of signal must be positive and finite, got .nan, 1.0"),
    (lambda: GammaPriors(noise=(1.0, np.inf)), "prior of noise must be positive and finite"),
    (lambda: GammaPriors(noise=1.0), "prior of noise must be positive and finite, got 1.0"),
    (lambda: GammaPriors(noise_bounds=(np.nan, 1.0)), "bounds of noise must be two positive numbers in order"),
)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_candidates_that_are_not_finite_are_refused(bad):
    settings = ({"x": 0.1, "y": 0.2}, {"x": bad, "y": 0.3})
    refuses(lambda: Candidates(SPACE, settings), rf"arm 1: x must be of Interval.*, got {bad}; change one of the two")
    with pytest.raises(ValueError, match=rf"responses must be finite, got {bad} of arm 4; drop this arm"):
        NoiselessArms("x", POINTS, np.where(np.arange(30) == 4, bad, 0.0)[None])


def test_candidates_of_another_number_of_replications_are_refused():
    with pytest.raises(ValueError, match="features are those of 2 replications, but 1 are to be run; give one set"):
        BatchGP("x", 2, 2).start(Arms(np.stack([POINTS, POINTS])), Streams.first(1))


@pytest.mark.parametrize("policy", [*the_seven(7, 2), *others(7, 2)], ids=lambda p: p.label)
def test_a_batch_larger_than_the_number_of_arms_repeats_them(policy):
    """Four arms, batches of seven: k = 6 exceeds every region, so that arms are evaluated again."""
    state = search(policy, POINTS[:4], np.arange(4.0))
    assert state.n_known[0] == 1 + 2 * 7
    assert state.conditioned[0, :15].max() <= 3
    assert np.isfinite(state.means).all()


@pytest.mark.parametrize("model", [KNOWN, GPModel()], ids=["frozen", "map"])
@pytest.mark.parametrize(
    ("points", "values"),
    [
        (np.full((30, 2), 0.5), np.zeros(30)),
        (POINTS, np.full(30, 3.0)),
        (POINTS, 1e-200 * POINTS[:, 0]),
        (POINTS, 1e12 + POINTS[:, 0]),
    ],
    ids=["equal arms", "equal rewards", "tiny rewards", "rewards far from 0"],
)
def test_degenerate_candidates_and_rewards_end_with_numbers(points, values, model):
    """Nothing to tell apart is no error: the posterior is finite and an arm is recommended."""
    for policy in the_seven(3, 4):
        state = search(replace(policy, model=model), points, values)
        assert np.isfinite(state.means).all()
        assert np.isfinite(state.variances).all()
        assert 0 <= policy.recommend(state)[0, 0] < 30


def failing(x: float, y: float) -> float:
    """Return a peak at (0.8, 0.8), but raise for small x, and return NaN or infinity for small y."""
    if x < 0.2:
        raise RuntimeError("the licence has expired")
    if y < 0.15:
        return float("nan") if x < 0.6 else float("inf")
    return -((x - 0.8) ** 2) - (y - 0.8) ** 2


@pytest.mark.parametrize("model", [KNOWN, GPModel()], ids=["frozen", "map"])
@pytest.mark.parametrize("number", range(7), ids=[p.label for p in the_seven(1, 1)])
def test_one_point_of_a_batch_that_fails_is_marked_and_the_run_goes_on(number, model):
    """An exception, NaN and infinity: every batch is whole, each failure has its reason, the others teach."""
    best = maximise(failing, latin_hypercube(SPACE, 60, seed=3), the_seven(5, 5, model=model)[number], seed=1)
    table = best.table
    assert table.groupby("batch").size().tolist() == [1, 5, 5, 5, 5, 5]
    small = (table["x"] < 0.2) | (table["y"] < 0.15)
    assert 0 < small.sum() < len(table)
    np.testing.assert_array_equal(table["failure"] != "", small)
    np.testing.assert_array_equal(table["value"].isna(), small)
    assert set(table.loc[table["x"] < 0.2, "failure"]) <= {"RuntimeError: the licence has expired"}
    assert set(table.loc[small & (table["x"] >= 0.2), "failure"]) <= {"the value was nan", "the value was inf"}
    assert table["value"].max() > -0.1
    assert best.settings in table.loc[~small, ["x", "y"]].to_dict("records")


def cliff(x: float, y: float) -> float:
    """Return what grows towards settings that fail."""
    if x > 0.7:
        raise MemoryError("x is too large")
    return x - (y - 0.5) ** 2


@pytest.mark.parametrize("model", [KNOWN, GPModel()], ids=["frozen", "map"])
@pytest.mark.parametrize("number", range(7), ids=[p.label for p in the_seven(1, 1)])
def test_settings_that_fail_are_avoided_and_not_recommended(number, model):
    """Of 41 trials fewer fail than if they teach nothing; both recommend what was tried and worked, if anything did."""
    policy, candidates = the_seven(5, 8, model=model)[number], latin_hypercube(SPACE, 200, seed=3)
    found = {failed: maximise(cliff, candidates, policy, seed=1, failed=failed) for failed in ("worst", "skip")}
    for best in found.values():
        assert len(best.table) == 41
        np.testing.assert_array_equal(best.table["failure"] != "", best.table["x"] > 0.7)
        assert best.table["value"].isna().equals(best.table["x"] > 0.7)
        assert best.settings["x"] <= 0.7
        assert best.settings in best.table[["x", "y"]].to_dict("records")
    fails = {failed: int(best.table["value"].isna().sum()) for failed, best in found.items()}
    assert fails["worst"] <= 22
    assert fails["worst"] < fails["skip"]
    assert found["worst"].table["value"].max() > 0.6


class Told(BatchGP):
    """A search that notes what it is told."""

    def start(self, arms, streams):
        self.__dict__["totals"] = []
        return super().start(arms, streams)

    def tell(self, state, asked, totals):
        self.totals.append(totals.copy())
        super().tell(state, asked, totals)


def test_what_a_failed_trial_is_told_as():
    """NaN until something succeeded, then the smallest value so far, those of its own batch included; or NaN always."""
    values = [np.nan, np.nan, 3.0, np.nan, 1.0, np.nan, 2.0]
    candidates = latin_hypercube(SPACE, 20)
    for failed, expected in (("worst", [np.nan, 3, 3, 1, 1, 1, 2]), ("skip", values)):
        policy, answers = Told("told", 2, 3, Anywhere(), KNOWN), iter(values)
        best = maximise(lambda x, y, answers=answers: next(answers), candidates, policy, failed=failed)
        np.testing.assert_array_equal(np.concatenate([t[0] for t in policy.totals]), expected)
        np.testing.assert_array_equal(best.table["value"], values)
        assert (best.table["failure"] != "").tolist() == np.isnan(values).tolist()


def test_a_value_too_large_for_arithmetic_is_a_failed_trial():
    """Nothing of a search is lost: the trial says what to do, and what it is told as is no such value."""
    best = maximise(lambda x, y: 1e200 if x > 0.5 else x, latin_hypercube(SPACE, 40), gp_bucb(3, 4, model=KNOWN))
    assert set(best.table.loc[best.table["x"] > 0.5, "failure"]) == {"the value was 1e+200, beyond 1e+150: rescale"}
    assert best.settings["x"] <= 0.5


test_an_objective_that_never_works_ends_with_its_last_failure = refused(
    lambda objective: maximise(objective, latin_hypercube(SPACE, 20), BatchGP("x", 2, 2)),
    (lambda x, z: x, "unexpected keyword argument 'y'"),
    (lambda x, y: None, "NoneType"),
    (lambda x, y: "good", "could not convert string to float: 'good'"),
    (lambda x, y: np.array([x, y]), "TypeError"),
    (lambda x, y: 1j, "complex"),
    (3.0, "'float' object is not callable"),
    within="every trial failed, the last with: .*{}".format,
)


def begun():
    policy = Guarded(BatchGP("x", 2, 2, model=KNOWN))
    return policy, policy.start(Arms(POINTS), Streams.first(1))


def test_more_rewards_than_planned_are_refused_and_a_failure_is_counted():
    policy, state = begun()
    asked = policy.ask(state)
    six = np.ones((1, 6), dtype=np.int64)
    forget_asked(state)
    refuses(lambda: policy.tell(state, Ask(six, six), np.ones((1, 6))), "there is room for 5 rewards; start with more")
    assert (state.n_known[0], state.n_failed[0], state.round) == (0, 0, 0)
    policy.tell(state, asked, np.full((1, 1), np.nan))
    assert (state.n_known[0], state.n_failed[0]) == (0, 1)


def test_padding_may_name_any_arm():
    policy, state = begun()
    forget_asked(state)
    policy.tell(state, Ask(np.array([[-1, 5, 99]]), np.array([[0, 1, 0]])), np.array([[np.inf, 1.0, 1e200]]))
    assert (state.n_known[0], state.conditioned[0, 0]) == (1, 5)


def test_the_state_of_another_policy_has_no_room_for_the_batch():
    """Asked of a state that a smaller search started, before the first arms and later."""
    state = BatchGP("x", 2, 2, model=KNOWN).start(Arms(POINTS), Streams.first(1))
    message = "the state has room for 5 rewards, {} known; a batch of {} does not fit. Start with this policy."
    refuses(lambda: BatchGP("x", 2, 2, first=6, model=KNOWN).ask(state), re.escape(message.format(0, 6)))
    for policy in (*the_seven(40, 2), *others(40, 2)):
        own = replace(state)
        own.round = 1
        refuses(lambda policy=policy, own=own: policy.ask(own), re.escape(message.format(0, 40)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "UCB-DPP-SAMPLE"}, "policy must have start, ask, tell, finished, recommend, got 'UCB-DPP-SAMPLE'"),
        ({"policy": BatchGP}, "policy must have start, ask, .* got <class"),
        ({"candidates": SPACE}, "candidates must be Candidates, got .*; latin_hypercube.space, n. makes them"),
        ({"max_batches": 0}, "max_batches must be a whole number of at least 1, got 0"),
        ({"max_batches": 2.0}, "max_batches must be a whole number of at least 1, got 2.0"),
        ({"failed": "best"}, "failed must be one of worst, skip, got 'best'"),
    ],
)
def test_a_search_without_its_parts_is_refused_before_the_first_trial(settings, message):
    tried: list[float] = []
    given = {"candidates": latin_hypercube(SPACE, 20), "policy": BatchGP("x", 2, 2)} | settings
    refuses(lambda: maximise(lambda x, y: tried.append(x) or x, **given), message)
    assert not tried

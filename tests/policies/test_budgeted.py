"""Policies with a fixed budget: ties and budgets of all of them, LinGapE against its page and closed forms."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import BernoulliBandit, drive, rows, same_runs
from judges import general as instance
from refusals import each_refused, refuses
from scipy import stats

from bestarm.designs.l1_design import l1_design, nonnegative_design
from bestarm.interface import Arms, Ask
from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.budgeted import Budgeted, explicit_radius, lingape, lingape_greedy
from bestarm.policies.linear.fixed_budget import largest, most_pulled
from bestarm.policies.linear.gifa import LinGifa, Lucb, MLinGape
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.policies.linear.ucb_glm import UcbGlm
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams
from bestarm_plain import lingape as page

SEED = 20261120
SIGMA = 0.8


@dataclass(frozen=True)
class Relabelled:
    """A problem whose arm i is arm ``order[i]`` of another."""

    inner: LinearBandit
    order: np.ndarray

    @property
    def arms(self) -> Arms:
        return Arms(self.inner.features[..., self.order, :])

    def rewards(self, asked, pulled, streams):
        own = pulled[:, np.argsort(self.order)].copy()
        totals = self.inner.rewards(Ask(self.order[asked.arms], asked.counts), own, streams)
        pulled[:] = own[:, self.order]
        return totals


EVERY_POLICY = {
    "LinUCB": lambda budget: LinUcb(budget, alpha=1.0),
    "LinUCB as coded": lambda budget: LinUcb(budget).as_coded(),
    "BayesGap": lambda budget: BayesGap(budget, SIGMA),
    "BayesGap as coded": lambda budget: BayesGap(budget, SIGMA, kernel="matern32").as_coded(),
    "UCB-GLM": lambda budget: UcbGlm(budget, alpha=0.5),
    "UCB-GLM as coded": lambda budget: UcbGlm(budget).as_coded(),
    "LinGapE": lambda budget: lingape(budget, sigma=SIGMA, delta=0.4),
    "LinGapE-Greedy": lambda budget: lingape_greedy(budget, sigma=SIGMA, delta=0.4, stops_early=False),
    "LinGapE as coded": lambda budget: lingape_greedy(budget, sigma=SIGMA, delta=0.4).as_coded(),
}
PASS_FIRST = {"BayesGap as coded", "UCB-GLM as coded", "LinGapE", "LinGapE-Greedy", "LinGapE as coded"}
each_policy = pytest.mark.parametrize("name", EVERY_POLICY)


def problem_for(name: str, seed: int = 3) -> LinearBandit:
    return instance(seed, kind=BernoulliBandit if "GLM" in name else LinearBandit)


def test_ties_are_broken_uniformly_among_equal_arms():
    """Chi-square over 9000 choices among three of five; rounding does not untie, a real difference does."""
    values = np.array([0.3, 1.0, 1.0 + 2e-16, 0.9, 1.0 - 2e-16])
    allowed = np.ones(5, dtype=bool)
    counts = np.bincount([largest(values, allowed, False, np.uint64(7), r, 0, 0) for r in range(9000)], minlength=5)
    assert counts[[0, 3]].sum() == 0
    assert stats.chisquare(counts[[1, 2, 4]]).pvalue > 1e-3
    assert largest(values, allowed, True, np.uint64(7), 0, 0, 0) == 1
    allowed[1] = False
    assert largest(values, allowed, True, np.uint64(7), 0, 0, 0) == 2
    assert largest(np.array([1.0, 1.0 + 1e-8]), np.ones(2, dtype=bool), True, np.uint64(7), 0, 0, 0) == 1


def test_most_pulled_arm_is_drawn_among_the_most_pulled():
    """Uniform over the two that tie; the first of them in order."""
    pulls = np.tile([2, 5, 1, 5], (6000, 1))
    replications, spent = np.arange(6000), np.full(6000, 13)
    counts = np.bincount(most_pulled(pulls, False, np.uint64(3), replications, spent, 1)[:, 0], minlength=4)
    assert counts[[0, 2]].sum() == 0
    assert stats.binomtest(int(counts[1]), 6000).pvalue > 1e-3
    assert (most_pulled(pulls, True, np.uint64(3), replications, spent, 1) == 1).all()


@each_policy
def test_every_budget_is_spent_to_the_last_pull(name):
    """For every budget from the smallest on; the search ends by itself and not before."""
    problem, streams = problem_for(name), Streams.first(5, seed=SEED, instance="budgets")
    early = name == "LinGapE"
    for budget in range(6 if name in PASS_FIRST else 1, 25):
        frame = rows(EVERY_POLICY[name](budget), problem, streams)
        assert frame["stopped"].all()
        assert (frame["pulls"] <= budget).all() if early else (frame["pulls"] == budget).all()


@each_policy
def test_impossible_budgets_are_refused(name):
    """Where every arm is pulled once first, the budget must reach for it."""
    make = EVERY_POLICY[name]
    refuses(lambda: make(0), "budget must be a whole number of at least 1 .* got 0; raise it")
    refuses(lambda: make(-3), "budget must be a whole number of at least 1 .* got -3; raise it")
    refuses(lambda: make(7.5), r"budget must be a whole number, got 7\.5; give such an int")
    if name in PASS_FIRST:
        arms, streams = problem_for(name).arms, Streams.first(2, seed=SEED)
        refuses(lambda: make(5).start(arms, streams), r"at least 6 \(one pull of every arm\), got 5")


@each_policy
def test_the_order_of_the_arms_does_not_matter(name):
    """A permutation permutes the pulls, where no ties and no random openings are in play."""
    problem, order = problem_for(name, seed=8), np.array([4, 2, 0, 5, 1, 3])
    policy, streams = EVERY_POLICY[name](40), Streams.first(5, seed=SEED, instance="order")
    if name == "UCB-GLM":
        policy = replace(policy, opening="each_arm")
    if name == "LinGapE":  # the optimised rule often has equal weights on two arms
        policy = replace(policy, policy=replace(policy.policy, selection="greedy"))
    before, after = drive(policy, problem, streams), drive(policy, Relabelled(problem, order), streams)
    first = 6 if name in PASS_FIRST or name == "UCB-GLM" else 0
    for r in range(5):
        assert order[after.pulls[r]].tolist()[first:] == before.pulls[r][first:]


@each_policy
def test_a_rotation_of_the_features_does_not_matter(name):
    """Nor does an embedding into more dimensions."""
    problem, policy = problem_for(name, seed=9), EVERY_POLICY[name](40)
    if name == "LinGapE as coded":
        policy = replace(policy, radius="determinant", coded_radius=False)  # the explicit radius has d in it
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 3)))[0].T
    turned = type(problem)(problem.label, problem.features @ basis, problem.theta @ basis, SIGMA)
    streams = Streams.first(5, seed=SEED, instance="rotation")
    assert drive(policy, turned, streams).pulls == drive(policy, problem, streams).pulls


@each_policy
def test_failed_evaluations_cost_a_pull_padding_none_and_neither_teaches(name):
    """With rewards NaN throughout, the estimates stay as they were and the budget still ends the search."""
    problem, streams = problem_for(name), Streams.first(3, seed=SEED, instance="NaN")
    policy = EVERY_POLICY[name](9)
    state, n_pulls = policy.start(problem.arms, streams), 0
    before = {key: np.copy(getattr(state, key)) for key in ("gram", "means", "totals", "pulls") if hasattr(state, key)}
    for _ in range(20):
        asked = policy.ask(state)
        if policy.finished(state).all():
            break
        n_pulls += asked.counts.sum()
        wide = Ask(*(np.pad(part, ((0, 0), (0, 2))) for part in asked))  # arms asked zero times, whose total is none
        policy.tell(state, wide, np.where(wide.counts > 0, np.nan, 99.0))
    assert n_pulls == 27
    assert (state.spent == 9).all()
    for key, value in before.items():
        np.testing.assert_array_equal(getattr(state, key), value)
    recommended = policy.recommend(state)
    assert recommended.shape == (3, 1)
    assert ((recommended >= 0) & (recommended < 6)).all()


@each_policy
def test_the_best_arm_of_an_easy_problem_is_found(name):
    """At least 95 of 100 replications, each with its best arm at another place."""
    rng = np.random.default_rng(2)
    features = rng.standard_normal((100, 6, 3))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    best = rng.integers(6, size=100)
    theta = features[np.arange(100), best]
    features *= 0.5
    features[np.arange(100), best] *= 2.0  # far ahead of the others
    kind, scale = (BernoulliBandit, 4.0) if "GLM" in name else (LinearBandit, 1.0)
    problem = kind("easy", features, scale * theta, 0.3)
    frame = rows(EVERY_POLICY[name](150), problem, Streams.first(100, seed=SEED, instance="easy"))
    assert frame["correct"].mean() >= 0.95


LINGAPE = {
    "determinant": lingape_greedy(90, sigma=SIGMA, delta=0.1),
    "determinant, optimised": lingape(90, sigma=SIGMA, delta=0.1),
    "to the end": lingape(90, sigma=SIGMA, delta=0.9, stops_early=False),
    "greedy to the end": lingape_greedy(60, sigma=SIGMA, delta=0.9, norm_bound=2.0, stops_early=False),
    "other regulariser": lingape_greedy(90, sigma=SIGMA, delta=0.4, regulariser=0.2, norm_bound=0.5),
    "explicit": lingape_greedy(200, sigma=SIGMA, delta=0.4, radius="explicit"),
    "stale pair": lingape_greedy(150, sigma=SIGMA, delta=0.4, stale_pair=True),
    "own": lingape_greedy(90, sigma=SIGMA, delta=0.4, radius="own"),
    "radius alone": replace(lingape_greedy(200, sigma=SIGMA, delta=0.4, radius="explicit"), coded_radius=True),
    "as coded": lingape_greedy(200, sigma=SIGMA, delta=0.4).as_coded(),
    "as coded, optimised": lingape(200, sigma=SIGMA, delta=0.4).as_coded(),
}

SHAPES = [(5, 3), (7, 4), (4, 6)]
# independent arms with next to no regularisation tie up to rounding, which no judge can foresee
CASES = [(name, *shape) for name in LINGAPE for shape in (SHAPES[:2] if name.startswith("as coded") else SHAPES)]


@pytest.mark.parametrize(("name", "n_arms", "n_features"), CASES)
def test_lingape_agrees_with_the_naive_algorithm(name, n_arms, n_features):
    """Pull by pull and in its answer, three replications; fewer and more features than arms."""
    problem = instance(21, n_arms, n_features)
    streams = Streams.first(3, seed=SEED, instance=problem.label)
    design = nonnegative_design if LINGAPE[name].nonnegative_weights else l1_design
    same_runs(page.lingape, LINGAPE[name], problem, streams, design=design, choice=lambda n: n_arms + 2)


def test_some_lingape_runs_stop_early_and_some_at_the_budget():
    """Both ends occur in what the judge has seen; the radius follows the replications that go on, after pulls too."""
    problem = instance(21, 5, 3)
    streams = Streams.first(30, seed=SEED, instance=problem.label)
    frame = rows(LINGAPE["stale pair"], problem, streams.take(np.arange(16)))
    pulls = drive(LINGAPE["stale pair"], problem, streams.take(np.arange(16))).pulls
    assert frame["pulls"].tolist() == [len(p) for p in pulls]
    assert frame["pulls"].nunique() > 5
    frame = rows(LINGAPE["determinant"], problem, streams)
    assert 0 < (frame["pulls"] == 90).sum() < 30
    assert (rows(LINGAPE["to the end"], problem, streams)["pulls"] == 90).all()


def test_without_its_own_radius_and_a_large_budget_it_is_the_algorithm_itself():
    """Same pulls, same answer, same end as m-LinGapE for one arm."""
    problem = instance(4)
    streams = Streams.first(6, seed=SEED, instance=problem.label)
    plain = MLinGape(1, sigma=SIGMA, delta=0.3)
    limited, free = drive(Budgeted(plain, 10**6), problem, streams), drive(plain, problem, streams)
    assert limited.pulls == free.pulls
    assert limited.stopped.all()
    np.testing.assert_array_equal(limited.recommended, free.recommended)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), n_arms=st.integers(2, 6), n_features=st.integers(1, 7))
def test_log_volume_is_the_growth_of_the_determinant(seed, n_arms, n_features):
    """After a first pass with failures and some more rounds, against slogdet in feature space."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_arms, n_features))
    policy = lingape_greedy(n_arms + 5, regulariser=0.3, stops_early=False)
    state = policy.start(Arms(features), Streams.first(2, seed=SEED))
    for _ in range(5):
        asked = policy.ask(state)
        totals = rng.standard_normal(asked.arms.shape)
        policy.tell(state, asked, np.where(rng.random(totals.shape) < 0.3, np.nan, totals))
    for r in range(2):
        design = 0.3 * np.eye(n_features) + features.T @ np.diag(state.pulls[r]) @ features
        assert state.log_volume[r] == pytest.approx(np.linalg.slogdet(design)[1] - n_features * np.log(0.3), abs=1e-9)
    radius = np.sqrt(2 * np.log(n_arms**2 / 0.05) + state.log_volume) + np.sqrt(0.3) / 0.5
    np.testing.assert_allclose(state.threshold(1.0), radius)  # of the data with the last reward


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), n_features=st.integers(1, 6), rho=st.floats(0.01, 1.0))
def test_the_explicit_radius_is_the_larger_one(seed, n_features, rho):
    """det(A) / det(rho I) <= (1 + t L^2 / rho)^d: the determinant can only be smaller, for rho up to 1."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((5, n_features))
    N = rng.integers(0, 30, size=5)
    A = rho * np.eye(n_features) + features.T @ np.diag(N) @ features
    policy = lingape(10, sigma=SIGMA, regulariser=rho)
    radius = explicit_radius(Arms(features), policy.policy.delta, SIGMA, rho, 1.0)(float(N.sum()))
    pairs = 2 if n_features == 1 else 1  # for d = 1 the explicit form carries K^2 / delta only once under the root
    inside = 2 * np.log(25 / policy.policy.delta) + np.linalg.slogdet(A)[1] - n_features * np.log(rho)
    assert radius * SIGMA * np.sqrt(pairs) >= SIGMA * np.sqrt(inside) + np.sqrt(rho) - 1e-9


def test_presets():
    """LinGapE with the settings of Xu et al.; the one of the authors' code is named differences."""
    written = lingape(50, delta=0.4)
    assert (written.label, written.radius, written.stops_early) == ("LinGapE", "determinant", True)
    assert (written.policy.n_best, written.policy.selection, written.policy.regulariser) == (1, "optimised", 1.0)
    assert (lingape_greedy(50).label, lingape_greedy(50).policy.selection) == ("LinGapE-Greedy", "greedy")
    as_coded = written.as_coded()
    assert as_coded.policy.design_regulariser == 1e-8
    assert (as_coded.radius, as_coded.coded_radius, as_coded.stops_early) == ("explicit", True, False)
    assert as_coded.policy.norm_bound == 2.0
    assert as_coded.nonnegative_weights
    own = {"radius": "determinant", "stops_early": True, "coded_radius": False, "nonnegative_weights": False}
    assert replace(as_coded, policy=written.policy, **own) == written


def test_radius_of_the_authors_code():
    """K = 4, d = 2, t = 9, delta = 0.4, sigma = 3: by hand."""
    arms = Arms(np.array([[3.0, 0], [0, 1], [1, 1], [2, 0]]))
    as_coded = explicit_radius(arms, 0.4, 3.0, 1e-8, 2.0, as_coded=True)(9.0)
    assert 3.0 * as_coded == pytest.approx(9.0 * np.sqrt(2 * np.log(16 * 10 / 0.4e-8)) + 2e-4, rel=1e-12)
    written = explicit_radius(arms, 0.4, 3.0, 1.0, 2.0)(9.0)
    assert 3.0 * written == pytest.approx(3.0 * np.sqrt(2 * np.log(16 * 82 / 0.4)) + 2.0, rel=1e-12)


def test_a_round_that_exceeds_what_is_left_is_cut():
    """LUCB pulls two arms a round, of an odd rest the first; LinGIFA starts without data, so a single pull will do."""
    policy = Budgeted(Lucb(1, selection="both", sigma=SIGMA), 11)
    run = drive(policy, instance(), Streams.first(6, seed=SEED, instance="odd"))
    assert {len(p) for p in run.pulls} == {11}
    run = drive(Budgeted(LinGifa(1, sigma=SIGMA), 1), instance(), Streams.first(3, seed=SEED))
    assert [len(p) for p in run.pulls] == [1, 1, 1]


test_bad_settings_of_lingape_are_refused = each_refused(
    (lambda: Budgeted(Lucb(1), 20, radius="determinant"), "needs features"),
    (lambda: Budgeted(MLinGape(1), 20, radius="widest"), "radius must be one of own, determinant, explicit"),
    (lambda: Budgeted(MLinGape(1), 20, coded_radius=True), "deviation of radius 'explicit'"),
    (lambda: lingape(20, delta=1.5), r"delta must lie in \(0, 1\)"),
)

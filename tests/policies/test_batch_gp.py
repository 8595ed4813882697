"""Batched Gaussian process search: relations between policies, regions, failures, independence of replications."""

from dataclasses import replace

import numpy as np
import pytest
from hills import hills, run, searched
from refusals import refuses
from scipy import integrate, stats

from bestarm.designs.k_dpp import greedy_map
from bestarm.interface import Arms, Ask
from bestarm.policies.gaussian import batch_gp
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
from bestarm.policies.gaussian.gp_acquisition import est_width, estimate_maximum, maximum_by_integral, relevance_region
from bestarm.policies.gaussian.gp_state import LOG, GPModel, recommendations
from bestarm.policies.gaussian.local_penalty import log_softplus, mean_gradient
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import simple_regret
from bestarm_studies.dpp_bbo.k_dpp_laws import informative, log_determinants, max_determinant, subset_law

KNOWN = GPModel.frozen((0.3, 0.3), 1.0, 0.01)
BATCH, ROUNDS = 4, 3


def policies(batch: int = BATCH, rounds: int = ROUNDS, **settings) -> list[batch_gp.BatchGP]:
    s = {"model": KNOWN} | settings
    return [
        batch_gp.gp_bucb(batch, rounds, **s),
        batch_gp.gp_bucb(batch, rounds, label="two-stage", two_stage=True, inflation=float(np.exp(0.5)), **s),
        batch_gp.b_est(batch, rounds, **s),
        batch_gp.ucb_dpp_max(batch, rounds, **s),
        batch_gp.est_dpp_max(batch, rounds, **s),
        batch_gp.ucb_dpp_sample(batch, rounds, **s),
        batch_gp.est_dpp_sample(batch, rounds, estimate="ESTn", **s),
        batch_gp.lp_ucb(batch, rounds, **s),
        batch_gp.BatchGP("UCB-UNIFORM", batch, rounds, KDpp(sampler=Uniform()), **s),
        batch_gp.thompson(batch, rounds, **s),
        batch_gp.BatchGP("random", batch, rounds, Anywhere(), **s),
    ]


def sequential(acquisition, rounds: int, **settings) -> batch_gp.BatchGP:
    return batch_gp.BatchGP("sequential", 1, rounds, Hallucinate(acquisition), **settings)


def after(policy: batch_gp.BatchGP, rounds: int, problem: NoiselessArms | None = None):
    problem = problem or hills()
    return searched(policy, problem, Streams.first(len(problem.means), instance="hills"), rounds)[0]


@pytest.mark.parametrize("policy", policies(), ids=lambda p: p.label)
def test_rounds_and_recommendations(policy):
    """One common random arm, then T batches of B; a recommendation at any time; the end asks for nothing."""
    problem, streams = hills(), Streams.first(5, instance="hills")
    state, found = run(policy, problem, streams)
    assert [a.shape for a in found] == [(5, 1)] + [(5, BATCH)] * ROUNDS
    np.testing.assert_array_equal(found[0], run(policies()[0], problem, streams)[1][0])
    assert policy.ask(state).counts.sum() == 0
    for which in (policy.start(problem.arms, streams), state):
        assert policy.recommend(which).shape == (5, 1)
    means = recommendations(state)
    np.testing.assert_array_equal(means["mean"], state.means.argmax(axis=1))
    for r in range(5):
        seen = state.conditioned[r, : state.n_known[r]]
        assert means["observed mean"][r] == seen[state.means[r, seen].argmax()]
        assert means["observed reward"][r] == seen[state.rewards[r, : state.n_known[r]].argmax()]


@pytest.mark.parametrize("model", [KNOWN, GPModel(), GPModel(fit="slice", samples=2)], ids=["frozen", "map", "slice"])
@pytest.mark.parametrize("policy", policies(), ids=lambda p: p.label)
def test_replications_do_not_depend_on_their_block(policy, model):
    """Replications 1 and 3 alone, and in another order, do what they do among five."""
    policy, problem = replace(policy, model=model), hills()
    whole = run(policy, problem, Streams.first(5, instance="hills"))[1]
    for rows in (np.array([3]), np.array([3, 1])):
        for a, b in zip(whole, run(policy, problem.take(rows), Streams(0, "hills", rows))[1], strict=True):
            np.testing.assert_array_equal(a[rows], b)


@pytest.mark.parametrize("policy", policies(), ids=lambda p: p.label)
def test_asking_twice_is_asking_once(policy):
    """A batch asked for again is the same batch, and what was hallucinated first is forgotten."""
    state = after(policy, 2)
    first, variances = policy.ask(state).arms, state.variances.copy()
    np.testing.assert_array_equal(policy.ask(state).arms, first)
    np.testing.assert_allclose(state.variances, variances, atol=1e-12)


@pytest.mark.parametrize("policy", [*policies(), *policies(model=GPModel())], ids=lambda p: p.label)
def test_failed_evaluations(policy):
    """One of each batch fails, then a whole batch and in replication 0 everything: marked, never repeated, no end."""
    problem, streams = hills(), Streams.first(5, instance="hills")

    def fails(asked: Ask, turn: int):
        failed = np.zeros(asked.arms.shape, dtype=bool)
        failed[:, 0], failed[0] = turn > 0, True
        return failed | (turn == 2)

    state, found = run(policy, problem, streams, fails)
    assert len(found) == ROUNDS + 1
    np.testing.assert_array_equal(state.n_failed, [1 + BATCH * ROUNDS] + [1 + BATCH + 1] * 4)
    np.testing.assert_array_equal(state.n_known + state.n_failed, 1 + BATCH * ROUNDS)
    assert np.isfinite(state.means).all()
    assert np.isfinite(state.variances).all()
    assert (policy.recommend(state) < 60).all()


@pytest.mark.parametrize("acquisition", [UpperBound(), EstimatedMaximum()], ids=["ucb", "est"])
def test_batches_of_one_are_sequential(acquisition):
    problem, streams = hills(), Streams.first(5, instance="hills")
    expected = run(sequential(acquisition, 6, model=KNOWN), problem, streams)[1]
    for policy in policies(1, 6):
        if policy.acquisition is not None and policy.label != "two-stage":
            policy = replace(policy, label="of one", rule=replace(policy.rule, acquisition=acquisition))
            for a, b in zip(expected, run(policy, problem, streams)[1], strict=True):
                np.testing.assert_array_equal(a, b)


def test_est_is_ucb_with_its_width():
    """The arm with the least (m - mean) / deviation has the largest upper bound, which is m (Lemma 3.1)."""
    for policy in (sequential(EstimatedMaximum(), 9, model=KNOWN), batch_gp.b_est(1, 9, model=KNOWN)):
        state = after(policy, 5)
        means, variances = state.means, state.variances.copy()
        arms = policy.ask(state).arms[:, 0]
        maximum, width = state.log[:, LOG.index("maximum")], state.log[:, LOG.index("width")]
        for r in range(5):
            deviations = np.sqrt(variances[r])
            assert ((maximum[r] - means[r]) / deviations).argmin() == arms[r]
            assert (means[r] + width[r] * deviations).max() == pytest.approx(maximum[r])
            assert est_width(means[r], variances[r], maximum[r]) == pytest.approx(width[r])


def posterior_kernel(state, r: int, n_rows: int) -> np.ndarray:
    """Return I + K / noise after the first arm of a batch."""
    n_now, n_arms = state.n_rows[r], state.means.shape[1]
    state.n_rows[r] = n_rows
    kernel = np.eye(n_arms) + state.covariance(r, np.arange(n_arms)) / state.noise[r]
    state.n_rows[r] = n_now
    return kernel


@pytest.mark.parametrize("make", [batch_gp.ucb_dpp_max, batch_gp.est_dpp_max])
def test_greedy_maximisation_is_pure_exploration(make):
    """DPP-MAX = the largest conditional variance again and again = greedy on the explicit kernel; so is the log."""
    policy = make(BATCH, 5, model=KNOWN)
    state = after(policy, 3)
    before = [state.means, state.variances.copy()]
    n = state.n_known.copy()
    arms = policy.ask(state).arms
    explore = replace(policy, rule=replace(policy.rule, sampler=GreedyMap(repeats=True)))
    np.testing.assert_array_equal(explore.ask(state).arms, arms)
    for r in range(5):
        width = state.log[r, 0]
        reach = 2 * np.sqrt(2 * np.log(60 * 16 * np.pi**2 / 0.3)) if make is batch_gp.ucb_dpp_max else 2 * width
        region = relevance_region(before[0][r], before[1][r], width, reach)
        assert len(region) == state.log[r, LOG.index("region")]
        assert (before[0][r] + width * np.sqrt(before[1][r])).argmax() == arms[r, 0]
        kernel = posterior_kernel(state, r, n[r] + 1)
        np.testing.assert_array_equal(region[greedy_map(kernel[np.ix_(region, region)], BATCH - 1)[0]], arms[r, 1:])
        assert state.log[r, LOG.index("log_det")] == pytest.approx(float(log_determinants(kernel, arms[r, 1:])))
        assert state.log[r, LOG.index("informative")] == pytest.approx(float(informative(kernel, arms[r, 1:])))


def test_exact_maximisation_finds_the_largest_determinant():
    """On 60 arms; 500 are too many."""
    exact = batch_gp.BatchGP("exact", BATCH, 5, KDpp(sampler=ExactMap()), KNOWN)
    state = after(exact, 2)
    n = state.n_known.copy()
    arms = exact.ask(state).arms
    for r in range(5):
        kernel = posterior_kernel(state, r, n[r] + 1)
        np.testing.assert_array_equal(np.sort(arms[r, 1:]), max_determinant(kernel, BATCH - 1))
    refuses(lambda: after(exact, 2, hills(2, 500)), "too large")


@pytest.mark.parametrize("sampler", [DownUp(), Exchange(), Eigen()], ids=["chain", "exchange", "exact"])
def test_batches_have_the_law_of_the_k_dpp(sampler):
    """Sets of later arms in 3000 first batches against all 28 probabilities, given the first arm: p above 0.001."""
    n, n_arms = 3000, 8
    x = np.random.default_rng(3).random((n_arms, 2))
    problem = NoiselessArms("few", x, np.sin(5 * x[:, 0])[None])
    policy = batch_gp.ucb_dpp_sample(3, 1, model=KNOWN, first=0, sampler=sampler)
    state = policy.start(problem.arms, Streams.first(n))
    arms = policy.ask(state).arms
    assert (state.log[:, LOG.index("region")] == n_arms).all()
    drawn, distance, freedom = np.sort(arms[:, 1:], axis=1), 0.0, 0
    for first in np.unique(arms[:, 0]):
        mine = np.flatnonzero(arms[:, 0] == first)
        sets, law = subset_law(posterior_kernel(state, mine[0], 1), 2)
        counts, expected = np.array([(drawn[mine] == s).all(axis=1).sum() for s in sets]), law * len(mine)
        assert counts.sum() == len(mine)
        rare = expected < 5  # one cell
        counts, expected = (np.append(c[~rare], c[rare].sum()) for c in (counts, expected))
        distance += float(((counts - expected)[expected > 0] ** 2 / expected[expected > 0]).sum())
        freedom += int((expected > 0).sum()) - 1
    assert stats.chi2.sf(distance, freedom) > 1e-3


def test_regions_of_the_code_and_of_the_text():
    """That of the code lies in that of the text."""
    for make in (batch_gp.ucb_dpp_max, batch_gp.ucb_dpp_sample):
        sizes = []
        for policy in (make(BATCH, 5, model=KNOWN), make(BATCH, 5, model=KNOWN).as_coded()):
            again = after(policies()[0], 3)
            again.batch_key = Streams.first(1).key("one")
            policy.ask(again)
            sizes.append(again.log[:, LOG.index("region")])
        assert (sizes[1] <= sizes[0]).all()
        assert (sizes[1] < sizes[0]).any()


def test_a_small_region_is_taken_whole_and_filled_up():
    """A sharp posterior leaves fewer arms than a batch wants: all are taken, the rest repeats them, the log says so."""
    x = np.linspace(0, 1, 30)[:, None]
    problem = NoiselessArms("peak", x, np.exp(-200 * (x - 0.5) ** 2).T, 0.0)
    sharp = GPModel.frozen(0.2, 1.0, 1e-6)
    streams = Streams.first(3)
    for sampler in (GreedyMap(), DownUp(), Uniform(), ExactMap()):
        rule = KDpp(UpperBound(beta_scale=0.05), sampler, exclude_first=sampler == GreedyMap())
        state, found = run(batch_gp.BatchGP("few", 8, 8, rule, sharp), problem, streams)
        size, repeats = state.log[:, LOG.index("region")], state.log[:, LOG.index("repeats")]
        inside = size - rule.exclude_first * (size > 1)
        assert (size < 7).any()
        np.testing.assert_array_equal(repeats, np.maximum(7 - inside, 0))
        for r in np.flatnonzero(repeats > 0):
            assert len(set(found[-1][r, 1:])) == inside[r]


def test_exclude_first():
    """The first arm may be chosen again, unless it is excluded."""
    x = np.random.default_rng(0).random((14, 2))
    streams = Streams.first(200)
    for excluded in (False, True):
        own = batch_gp.BatchGP("uniform", 12, 1, KDpp(sampler=Uniform(), exclude_first=excluded), KNOWN, first=0)
        arms = own.ask(own.start(Arms(x), streams)).arms
        assert (arms[:, 1:] == arms[:, :1]).any() != excluded


@pytest.mark.parametrize(
    ("rule", "coded"),
    [
        (Hallucinate(two_stage=True, inflation=2.0), Hallucinate(UpperBound(np.exp(-3.0)), by_evaluations=False)),
        (Hallucinate(EstimatedMaximum("ESTn"), 2.0, two_stage=True), Hallucinate(EstimatedMaximum("ESTn"))),
        (KDpp(UpperBound(beta_scale=0.2), Exchange()), KDpp(UpperBound(np.exp(-3.0), 0.2), Exchange(), "as_coded")),
        (KDpp(EstimatedMaximum(), GreedyMap()), KDpp(EstimatedMaximum(), GreedyMap(), "as_coded")),
        (Penalty(UpperBound()), Penalty(2.0, penalty_as_coded=True)),
        (Draws(9), Draws(9)),
        (Anywhere(), Anywhere()),
    ],
    ids=str,
)
def test_the_form_of_the_code(rule, coded):
    """Each rule has the deviations that concern it; the code of the code is itself."""
    policy = batch_gp.BatchGP("x", 2, 3, rule, KNOWN)
    assert policy.as_coded() == replace(policy, rule=coded)
    assert policy.as_coded().as_coded() == policy.as_coded()


def test_widths_count_evaluations_or_batches():
    """GP-BUCB of the text: t counts evaluations; of Contal's software: batches, with delta exp(-3)."""
    policy = batch_gp.gp_bucb(BATCH, 5, model=KNOWN)
    for own, t, delta in ((policy, 5, 0.05), (policy.as_coded(), 2, np.exp(-3))):
        state = after(own, 2)
        own.ask(state)
        np.testing.assert_allclose(state.log[:, 0], np.sqrt(2 * np.log(60 * t**2 * np.pi**2 / (6 * delta))))


def test_the_first_stage_ends_when_little_can_be_learned():
    """Batches of largest variance while information of B - 1 more arms is above 1/2, at most five; then BUCB's."""
    policy = policies()[1]
    state = after(replace(policy, rounds=20), 1)
    assert state.first_stage.all()
    arms = policy.ask(state).arms
    again = after(replace(policy, rounds=20), 1)
    for r in range(5):
        for b in range(BATCH):
            pick = again.variances[r].argmax()
            assert pick == arms[r, b]
            again.condition(np.where(np.arange(5) == r, pick, 0)[:, None], (np.arange(5) == r)[:, None].astype(int))
    coarse = GPModel.frozen(0.3, 1.0, 100.0)  # noise so large that nothing can be learned
    slow = replace(policy, rounds=20, model=GPModel.frozen(0.01, 1.0, 1e-4))
    for own, rounds in ((replace(policy, model=coarse), 1), (slow, 7)):
        state = after(own, rounds)
        own.ask(state)
        assert not state.first_stage.any()


def test_estimates_of_the_maximum():
    """ESTn is the expected maximum of independent values and the best reward (quadrature, draws); both are bounded."""
    rng = np.random.default_rng(0)
    means, deviations = rng.standard_normal(20), rng.random(20) + 0.05
    best = 0.5
    tail = lambda w: 1.0 - np.exp(stats.norm.logcdf((w - means) / deviations).sum())  # noqa: E731
    exact = best + integrate.quad(tail, best, 12.0, limit=200)[0]
    assert maximum_by_integral(means, deviations, best) == pytest.approx(exact, abs=1e-3)
    draws = np.maximum((means + deviations * rng.standard_normal((200_000, 20))).max(axis=1), best)
    assert abs(draws.mean() - exact) < 4.5 * draws.std() / np.sqrt(200_000)
    approximate = best + np.sqrt(np.pi / 2) * np.sqrt(-0.5 / np.log(tail(best + 1.0))) * tail(best)
    assert estimate_maximum(means, deviations**2, best, False) == pytest.approx(approximate)
    for integral in (False, True):
        for variance in (1e-20, 1.0):
            found = estimate_maximum(means, np.full(20, variance), -50.0, integral)
            assert found > means.max()
            assert np.isfinite(found)


def test_local_penalty():
    """Gradient by differences; no arm twice when all is known. See also test_local_penalty.py."""
    rng = np.random.default_rng(0)
    seen, weights, scales = rng.random((6, 2)), rng.standard_normal(6), np.array([0.3, 0.6])

    def mean(x):
        return 1.3 * (weights * np.exp(-0.5 * (((x - seen) / scales) ** 2).sum(axis=1))).sum()

    x, gradient, ascent = np.array([0.4, 0.7]), np.empty(2), np.empty(2)
    squared = mean_gradient(x, seen, weights, scales, 1.3, gradient, ascent)
    h = 1e-5 * np.eye(2)
    np.testing.assert_allclose(gradient, [(mean(x + e) - mean(x - e)) / 2e-5 for e in h], rtol=1e-6)
    other = [mean_gradient(x + s * e, seen, weights, scales, 1.3, np.empty(2), np.empty(2)) for e in h for s in (1, -1)]
    np.testing.assert_allclose(ascent, [(other[0] - other[1]) / 2e-5, (other[2] - other[3]) / 2e-5], rtol=1e-5)
    assert squared == pytest.approx((gradient**2).sum())
    np.testing.assert_allclose(log_softplus(np.array([-50.0, 0.0, 50.0])), [-50, np.log(np.log(2)), np.log(50)])
    found = run(batch_gp.lp_ucb(BATCH, 5, model=KNOWN), hills(sigma=0.0), Streams.first(5))[1]
    assert all(len(set(batch)) == BATCH for arms in found[1:] for batch in arms)


def test_thompson_draws_have_the_posterior_as_law():
    """How often each of 8 arms is the maximiser, against exact draws; 4.5 standard errors and 0.03 for the features."""
    n, x = 1500, np.linspace(0, 1, 8)[:, None]
    problem = NoiselessArms("line", x, np.sin(3 * x).T, 0.1)
    policy = batch_gp.thompson(2, 2, model=GPModel.frozen(0.3, 1.0, 0.01), first=2, n_features=512)
    state = after(policy, 1, problem.take(np.zeros(1, dtype=int)))
    arms, rewards = state.conditioned[0, :2], state.rewards[:, :2]
    many = policy.start(problem.arms, Streams.first(n))
    policy.tell(many, Ask(np.tile(arms, (n, 1)), np.ones((n, 2), dtype=np.int64)), np.tile(rewards, (n, 1)))
    shares = np.bincount(policy.ask(many).arms[:, 1], minlength=8) / n
    draws = np.random.default_rng(0).multivariate_normal(many.means[0], many.covariance(0, np.arange(8)), 100_000)
    exact = np.bincount(draws.argmax(axis=1), minlength=8) / 100_000
    assert np.abs(shares - exact).max() < 4.5 * np.sqrt(0.25 / n) + 0.03


@pytest.mark.parametrize("model", [GPModel(), GPModel(growth=1.0, starts=3, constant=1.0), GPModel(ard=False)])
def test_searches_find_the_best_arm(model):
    """On a smooth function of 300 arms the median regret ends below that of random batches at the start."""
    problem, streams = hills(10, 300, 0.02), Streams.first(10, instance="hills")
    for policy in policies(5, 6, model=model)[:-1]:
        rows = simulate(policy, problem, streams, metrics={"regret": simple_regret}, every=1)
        median = rows.groupby("round")["regret"].median()
        assert median.iloc[-1] < 0.05 < median.iloc[1]


def test_ties_are_broken_at_random():
    """Before the first reward all arms are alike: the first arms of the replications differ."""
    policy = batch_gp.ucb_dpp_max(2, 1, model=KNOWN, first=0)
    arms = policy.ask(policy.start(Arms(np.random.default_rng(0).random((50, 2))), Streams.first(40))).arms
    assert len(set(arms[:, 0].tolist())) > 15

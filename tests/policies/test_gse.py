"""GSE and OD-LinBAI: against their pages on the same noise, their schedules, their budgets, and the theory's limits."""

from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import Bench, BernoulliBandit, same_runs
from judges import first_rows as run
from refusals import refused, refuses

from bestarm.designs.allocation import DESIGNS, AllocationRule
from bestarm.interface import Arms
from bestarm.policies.linear import elimination
from bestarm.policies.linear.gse import Gse, n_stages
from bestarm.policies.linear.od_linbai import OdLinBai, schedule
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams
from bestarm_plain import gse
from bestarm_plain.od_linbai import od_linbai
from bestarm_studies.gse.instances import adaptive_instance

ALLOCATIONS = ("uniform", "g-optimal", "frank-wolfe", "kumar-yildirim", "wynn", "greedy", "clusters")
SHAPES = {"n_arms": st.integers(2, 60), "d": st.integers(1, 10), "seed": st.integers(0, 1000)}


def sphere(seed: int, n_arms: int, d: int, sigma: float = 0.5, n_sets: int | None = None) -> LinearBandit:
    """Return a bandit with random unit arms, one set for all or one for each replication."""
    rng = np.random.default_rng(seed)
    shape = (n_arms, d) if n_sets is None else (n_sets, n_arms, d)
    x = rng.standard_normal(shape)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return LinearBandit(f"sphere {seed} {shape}", x, rng.standard_normal(d if n_sets is None else (n_sets, d)), sigma)


def by_library(policy: Gse):
    """Return, for a bench, the library's own allocations of a page's stages."""
    rule, row = AllocationRule(policy.allocation, policy.rounding), np.zeros(1, dtype=np.int64)

    def draws(bench: Bench):
        replications, stages = bench.streams.replications, count()

        def allocate(x, live, n, served):
            mask = np.isin(np.arange(len(x)), live)[None]
            return rule.counts(x[None], row, mask, np.array([n]), bench.ties, replications, next(stages))[0]

        return {"allocate": allocate}

    return draws


def with_orders(bench: Bench):
    return {"order": bench.orders()}


@pytest.mark.parametrize("allocation", ALLOCATIONS)
@pytest.mark.parametrize(("n_arms", "d", "budget", "eta"), [(12, 4, 90, 2), (7, 9, 50, 2), (20, 3, 100, 3)])
def test_gse_is_its_page_on_the_same_noise(allocation, n_arms, d, budget, eta):
    """Every allocation; replications that share the arms, and one set each."""
    policy = Gse(budget, allocation=allocation, eta=eta)
    for n_sets in (None, 6):
        problem = sphere(n_arms, n_arms, d, n_sets=n_sets)
        same_runs(gse.gse, policy, problem, Streams(0, problem.label, np.arange(6)), draws=by_library(policy))


PAGES = {
    "GSE-Lin": (Gse(96, allocation="g-optimal"), gse.gse, {}),
    "uniform": (Gse(96), gse.gse, {"allocate": gse.uniform}),
    "GSE with all rewards": (Gse(96, allocation="g-optimal", keeps_rewards=True), gse.gse, {}),
    "OD-LinBAI": (OdLinBai(96, allocation="g-optimal"), od_linbai, {}),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("n_arms", "d"), [(12, 4), (7, 9), (20, 3), (40, 6), (9, 2)])
def test_pages_with_their_own_designs_pull_the_same_arms(name, n_arms, d):
    """12 runs each; fewer and more features than arms."""
    (policy, page, others), problem = PAGES[name], sphere(n_arms, n_arms, d)
    same_runs(page, policy, problem, Streams(0, problem.label, np.arange(12)), draws=with_orders, **others)


def test_the_page_with_a_logistic_model_pulls_the_same_arms():
    """Rewards 0 and 1; 12 runs."""
    problem = sphere(3, 12, 4)
    problem = BernoulliBandit("logistic", problem.features, 2 * problem.theta)
    streams = Streams(0, problem.label, np.arange(12))
    same_runs(gse.gse, Gse(204, model="logistic", allocation="g-optimal"), problem, streams, draws=with_orders)


@settings(max_examples=40)
@given(**SHAPES, extra=st.integers(0, 60), eta=st.integers(2, 5), allocation=st.sampled_from(ALLOCATIONS))
def test_the_budget_is_kept_and_one_arm_is_left(n_arms, d, extra, eta, allocation, seed):
    """As written, for every allocation and any number of arms; s floor(B/s) pulls exactly."""
    s = n_stages(n_arms, eta)
    budget = s + extra
    policy, problem = Gse(budget, allocation=allocation, eta=eta), sphere(seed, n_arms, d)
    rows = run(policy, problem, 2)
    assert (rows["pulls"] == s * (budget // s)).all()
    assert rows["stopped"].all()


def test_stages_and_what_they_leave():
    """ceil(log_eta K) in whole numbers, where logarithms of floats go wrong; floor as coded."""
    assert [n_stages(k, 2) for k in (2, 3, 4, 5, 8, 9, 1024)] == [1, 2, 2, 3, 3, 4, 10]
    assert (n_stages(243, 3), n_stages(125, 5)) == (5, 3)
    budgets, sizes = Gse(25).schedule(24)
    assert (budgets.tolist(), sizes.tolist()) == ([5, 5, 5, 5, 5], [12, 6, 3, 2, 1])
    budgets, sizes = Gse(28).as_coded().schedule(24)
    assert budgets.tolist() == [5, 5, 6, 6, 6]
    assert sizes.tolist() == [12, 6, 3, 1, 1]  # the last stage never comes


def test_as_coded_loses_stages_and_overspends_by_rounding_up():
    """Facts of the authors' code: K = 3 uses half its budget; ceilings spend more than the stage's budget."""
    problem = sphere(0, 3, 2)
    assert (run(Gse(40, spends_remainder=True, rounds_down=True), problem, 5)["pulls"] == 20).all()
    problem = sphere(1, 64, 10)
    assert (run(Gse(100, allocation="g-optimal").as_coded(), problem, 5)["pulls"] > 150).all()
    assert (run(Gse(100, allocation="g-optimal"), problem, 5)["pulls"] == 96).all()


def test_independent_arms_make_every_allocation_sequential_halving():
    """Linearly independent arms and budgets that divide: uniform, G-optimal, Wynn and greedy are the same."""
    problem = LinearBandit("basis", np.eye(8), np.linspace(1, 0, 8), 1.0)
    policies = (Gse(8 * 3 * 5, label="GSE", allocation=a) for a in ("uniform", "g-optimal", "wynn", "greedy"))
    uniform, *others = (run(policy, problem, 200)["arm"] for policy in policies)
    for arms in others:
        np.testing.assert_array_equal(arms, uniform)


def test_more_budget_less_error_and_the_bound_holds():
    """Equation 3's bound, where it says something; error falls with B."""
    problem = sphere(4, 8, 4, sigma=1.0)
    gaps = np.sort(problem.means[0])[::-1]
    gap, errors = gaps[0] - gaps[1], []
    for budget in (60, 600, 6000):
        error = 1 - run(Gse(budget, allocation="g-optimal"), problem, 1000)["correct"].mean()
        bound = 4 * 3 * np.exp(-budget * gap**2 / (8 * 4 * 3))  # with the constant 8, which the proof supports
        assert error <= min(1.0, bound) + 1e-9
        errors.append(error)
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_nearly_noiseless_rewards_give_the_best_arm_and_duplicates_are_as_good(allocation):
    """Arms at the origin are predicted 0."""
    assert run(Gse(200, allocation=allocation), sphere(5, 16, 4, sigma=1e-6), 3)["correct"].all()
    duplicates = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    problem = LinearBandit("duplicates", duplicates, np.array([1.0, 0.3]), 0.05)
    assert run(Gse(60, allocation=allocation), problem, 20)["correct"].all()


def test_the_order_of_the_arms_does_not_matter_as_written():
    """On arms that nobody can tell apart every arm is recommended equally often; as coded the last is favoured."""
    problem = LinearBandit("equal", np.eye(4), np.zeros(4), 1e-12)
    for policy in (Gse(40), Gse(40, allocation="g-optimal"), OdLinBai(40)):
        frequencies = np.bincount(run(policy, problem, 2000)["arm"].astype(int), minlength=4) / 2000
        assert np.abs(frequencies - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / 2000)
    assert (run(Gse(40).as_coded(), LinearBandit("equal", np.eye(4), np.zeros(4), 1e-300), 50)["arm"] == 3).all()


def test_failed_evaluations_teach_nothing_and_cost_their_pulls():
    """An arm whose evaluations fail keeps the estimate that the others give it."""
    policy = Gse(40)
    state = policy.start(Arms(np.eye(4)), Streams.first(2))
    asked = policy.ask(state)
    policy.tell(state, asked, asked.counts * np.where(asked.arms == 1, np.nan, asked.arms.astype(float)))
    assert state.live.tolist() == [[False, False, True, True]] * 2
    assert (state.spent == 20).all()


def test_recommendation_is_valid_at_any_time_and_a_logistic_model_needs_rewards_of_0_or_1():
    """Before the first pull any arm, then the best of those left; one clear error from the first stage."""
    policy = Gse(20, model="logistic")
    state = policy.start(Arms(np.eye(4)), Streams.first(1))
    asked = policy.ask(state)
    halves = np.full(asked.arms.shape, 0.5)
    refuses(lambda: policy.tell(state, asked, halves), r"rewards of 0 or 1, got a total of 0\.5")
    policy = Gse(40)
    state = policy.start(Arms(np.eye(4)), Streams.first(500))
    assert set(policy.recommend(state)[:, 0]) == {0, 1, 2, 3}
    asked = policy.ask(state)
    policy.tell(state, asked, asked.counts * asked.arms.astype(float))
    assert (policy.recommend(state) == 3).all()


test_settings_out_of_range_are_refused = refused(
    lambda settings: Gse(**settings).start(Arms(np.eye(32)), Streams.first(1)),
    ({"budget": 4}, r"GSE: budget must be .* at least 5 \(one pull in each of 5 stages\), got 4"),
    (
        {"budget": 40, "projection": "as_coded", "keeps_rewards": True},
        "keeps_rewards needs projection 'span' or 'none'",
    ),
    ({"budget": 0}, "GSE: budget must be a whole number of at least 1"),
    ({"budget": 10, "eta": 1}, "eta must be at least 2, got 1"),
    ({"budget": 10, "model": "probit"}, "model must be one of linear, logistic, means, got 'probit'"),
    ({"budget": 10, "allocation": "best"}, "allocation must be one of uniform.*got 'best'"),
    ({"budget": 10, "rounding": "floor"}, "rounding must be one of apportionment.*got 'floor'"),
    ({"budget": 10, "projection": "half"}, "projection must be one of span, as_coded, none, got 'half'"),
    ({"budget": 10, "ridge": 0.0}, "ridge must be positive, got 0.0"),
)


def test_the_schedule_of_od_linbai():
    """m and the arms that each stage leaves, from the formula by hand."""
    assert schedule(64, 10, 500) == ((500 - 55 - (5 + 3 + 2)) / 4, [5, 3, 2, 1])
    assert (schedule(8, 10, 100), schedule(24, 2, 25)) == (((100 - 8 - 10) / 4, [5, 3, 2, 1]), (25 - 3, [1]))
    assert schedule(5, 1, 25) == (24, [1])
    assert schedule(64, 10, 100, as_coded=True) == (min((100 - 55 - 8) / 4, 25), [5, 3, 2, 1])
    assert schedule(8, 7, 160, as_coded=True, dimension=4) == ((160 - 8 - 4) / 3, [2, 1])


@pytest.mark.parametrize(("n_arms", "pulls"), [(8, 106), (16, 149), (32, 240)])
def test_the_leaked_schedule_of_od_linbai_spends_what_the_authors_code_spends(n_arms, pulls):
    """Two stages, with m of the true rank: 7 x 8 + 2 x 25, 15 x 5 + 2 x 37, 31 x 4 + 2 x 58 pulls."""
    rows = run(OdLinBai(20 * n_arms, schedule_dimension=4).as_coded(), adaptive_instance(n_arms), 100)
    assert (rows["pulls"] == pulls).all()


@settings(max_examples=40)
@given(**SHAPES, budget=st.integers(1, 400), exact=st.booleans(), allocation=st.sampled_from(list(DESIGNS)))
def test_od_linbai_never_overspends(n_arms, d, budget, exact, allocation, seed):
    """Whatever design is solved for, rounding up included."""
    problem = sphere(seed, n_arms, d)
    if exact and budget < 5:
        budget += 5
    rows = run(OdLinBai(budget, exact=exact, allocation=allocation), problem, 2)
    assert (rows["pulls"] <= budget).all()
    assert rows["stopped"].all()


def test_od_linbai_without_budget_for_a_stage_recommends_at_random_and_needs_weights():
    refuses(lambda: OdLinBai(10, allocation="uniform"), r"allocation must be one of g-optimal, .*got 'uniform'")
    rows = run(OdLinBai(20), sphere(0, 60, 10), 400)
    assert (rows["pulls"] == 0).all()
    assert rows["arm"].nunique() > 50


def test_the_authors_projection_remembers_what_it_dropped():
    """From the second stage on three columns are left; an arm that became the origin stays there."""
    problem = LinearBandit("basis", np.eye(16), np.linspace(1, 0, 16), 1.0)
    policy = Gse(16 * 40, projection="as_coded", ties_by_rank=True)
    streams = Streams.first(3, instance=problem.label)
    state, pulled = policy.start(problem.arms, streams), problem.arms.no_pulls(3)
    assert (state.n_columns == 16).all()
    zeros = np.zeros((3, 16), dtype=bool)
    for stage in range(4):
        asked = policy.ask(state)
        before = state.live.copy()
        policy.tell(state, asked, problem.rewards(asked, pulled, streams))
        assert (state.n_columns == (16 if stage == 0 else 3)).all()
        now = before & (np.abs(state.columns).max(axis=2) == 0)
        assert (now[zeros & before]).all()
        zeros |= now
    assert zeros.any()


def test_features_that_span_everything_are_left_alone():
    """Below full elimination the projection of the authors' code changes nothing, arm by arm."""
    problem = sphere(9, 32, 3)
    plain, as_coded = (run(Gse(320, projection=p), problem, 50) for p in ("span", "as_coded"))
    np.testing.assert_array_equal(plain["arm"], as_coded["arm"])


def kept(means, size: int, *, by_rank: bool, blank_in_order: bool = False, order=None, n: int = 400):
    """Return which arms a stage leaves and their new order, in n replications with the same estimates."""
    live, tiled = np.ones((n, len(means)), dtype=bool), np.tile(np.asarray(means, dtype=float), (n, 1))
    before = np.tile(np.arange(len(means)) if order is None else np.asarray(order), (n, 1))
    sizes, key = np.full(n, size), np.uint64(1)
    elimination.keep_largest(live, tiled, sizes, before, by_rank, blank_in_order, key, np.arange(n), 0)
    return live, before


def test_ties_as_written_are_broken_at_random():
    """Estimates that agree to ten digits, and a stage that taught nothing."""
    live, _ = kept([0.5, 1.0, 1.0 + 1e-12, 0.2], 1, by_rank=False)
    assert 140 < live[:, 1].sum() < 260
    assert (live[:, 1] ^ live[:, 2]).all()
    live, _ = kept(np.zeros(4), 1, by_rank=True)
    assert live.sum(axis=0).min() > 60


def test_ties_as_coded_are_broken_by_the_order_of_the_stage_before():
    """A stable sort, ascending, of which the last ones stay; estimates that differ by rounding are equal."""
    for means in ([0.5, 1.0, 1.0, 0.2], [0.5, 1.0, 1.0 - 1e-12, 0.2], [0.5, 1.0 - 1e-12, 1.0, 0.2]):
        assert kept(means, 1, by_rank=True)[0][:, 2].all()
        assert kept(means, 1, by_rank=True, order=[0, 2, 1, 3])[0][:, 1].all()
    live, order = kept(np.zeros(4), 2, by_rank=True, blank_in_order=True, order=[3, 0, 2, 1])
    assert (live == [True, False, True, False]).all()
    assert (order == [3, 0, 2, 1]).all()


@settings(max_examples=100)
@given(st.lists(st.sampled_from([-1.0, 0.5, 0.5 + 1e-13, 2.0, 3.0]), min_size=2, max_size=12), st.randoms())
def test_the_order_as_coded_is_that_of_a_stable_sort(means, random):
    """Against Python's sort of the list in the order of the stage before, with rounding taken off."""
    listed = list(range(len(means)))
    random.shuffle(listed)
    expected = sorted(listed, key=lambda a: round(means[a], 6))
    size = max(1, len(means) // 2)
    live, order = kept(means, size, by_rank=True, order=np.argsort(listed), n=1)
    assert sorted(expected[-size:]) == np.flatnonzero(live[0]).tolist()
    np.testing.assert_array_equal(order[0][expected], np.arange(len(means)))


def test_zero_arms_keep_their_share_in_the_authors_design_alone():
    """Three unit arms and five at the origin: 1/8 each, because the line search stalls at its uniform start."""
    x, live = np.vstack([np.eye(3), np.zeros((5, 3))])[None], np.ones((1, 8), dtype=bool)
    where, key, rows = np.zeros(1, dtype=np.int64), np.uint64(0), np.zeros(1, dtype=np.int64)
    for zero_arms, expected in ((False, [1 / 3] * 3 + [0] * 5), (True, [1 / 8] * 8)):
        rule = AllocationRule("coded-grid", "ceiling", zero_arms)
        np.testing.assert_allclose(rule.weights(x, where, live, key, rows)[0], expected)
    assert Gse(40, allocation="g-optimal").as_coded().zero_arms_keep_weight
    assert not Gse(40).as_coded().zero_arms_keep_weight


@pytest.mark.parametrize("keeps_rewards", [False, True])
def test_means_without_features_are_least_squares_on_the_canonical_basis(keeps_rewards):
    """Sequential halving: what features say plays no part."""
    basis = LinearBandit("basis", np.eye(8), np.linspace(1, 0, 8), 1.0)
    other = LinearBandit("basis", np.random.default_rng(0).standard_normal((8, 3)), np.zeros(3), 1.0)
    object.__setattr__(other, "means", basis.means)
    linear = run(Gse(8 * 5, keeps_rewards=keeps_rewards), basis, 300)
    halving = run(Gse(8 * 5, model="means", keeps_rewards=keeps_rewards), other, 300)
    np.testing.assert_array_equal(linear["arm"], halving["arm"])


def test_on_the_adaptive_instance_projection_and_ties_together_favour_the_best_arm():
    """A fact of the authors' code: the duel of two nearly equal arms becomes a tie that the stage before decides."""
    problem = adaptive_instance(8)
    alone = run(Gse(160, projection="as_coded"), problem, 1500)["correct"].mean()
    both = run(Gse(160, projection="as_coded", ties_by_rank=True), problem, 1500)["correct"].mean()
    assert alone < 0.45
    assert both > alone + 4.5 * np.sqrt(0.5 / 1500)

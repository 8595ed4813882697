"""Peace over all arms, P1-RAGE and fixed designs: loops as judges, the shares that others recorded, bad input."""

import numpy as np
import pytest
from hills import searched
from judges import general
from refusals import each_refused
from scipy import optimize, stats

import bestarm
from bestarm.designs.direction_design import live_designs, pairs, symmetric_width, width_design, xy_design
from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.designs.rounding import round_design
from bestarm.designs.width_design import normals
from bestarm.interface import Ask
from bestarm.policies.linear.od_linbai import OdLinBai, schedule
from bestarm.policies.linear.p1_rage import P1Rage
from bestarm.policies.linear.peace_all_arms import PeaceAllArms
from bestarm.policies.linear.static_design import OracleAllocation, StaticGOptimal
from bestarm.problems.linear_bandit import LinearBandit, soare_instance
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct
from bestarm_plain.peace import width
from bestarm_plain.shared import least_squares

KEY = np.uint64(11)
SOARE = soare_instance()


def problem(seed: int, n_arms: int = 9, d: int = 4) -> LinearBandit:
    return general(seed, n_arms, d, sigma=0.5)


def search(policy, bandit, n: int):
    """Return what was asked and told in each round of n replications, and the recommendation."""
    state, log = searched(policy, bandit, Streams.first(n, instance=bandit.label))
    return log, policy.recommend(state)[:, 0]


def by_arm(asked: Ask, totals, r: int, n_arms: int):
    counts, sums = np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms)
    for a, n, total in zip(asked.arms[r], asked.counts[r], totals[r], strict=True):
        if n > 0:
            counts[a], sums[a] = n, total
    return counts, sums


@pytest.mark.parametrize("seed", range(3))
def test_the_xy_design_is_within_its_tolerance_of_a_general_solver(seed):
    z = problem(seed).features
    directions, weights = pairs(z[:5]), np.empty(9)
    found = xy_design(z, directions, weights)

    def variances(w):
        return np.einsum("vi,ij,vj->v", directions, np.linalg.inv((z.T * w) @ z), directions)

    assert (found, weights.sum()) == (pytest.approx(variances(weights).max()), pytest.approx(1.0))
    # the epigraph form: the least t with every variance at most t
    start = np.append(np.full(9, 1 / 9), variances(np.full(9, 1 / 9)).max())
    rules = [
        {"type": "eq", "fun": lambda v: v[:9].sum() - 1},
        {"type": "ineq", "fun": lambda v: v[9] - variances(v[:9])},
    ]
    bounds, options = [(1e-6, 1)] * 9 + [(0, None)], {"maxiter": 500}
    judge = optimize.minimize(lambda v: v[9], start, bounds=bounds, constraints=rules, options=options)
    assert judge.success
    assert judge.fun * 0.999 <= found <= judge.fun * 1.021


def test_the_xy_design_of_one_arm_against_the_origin_is_that_of_the_smallest_l1_norm():
    """Elfving: for one direction v the optimum is the square of the least sum of |w| with v = sum_j w_j x_j."""
    rng = np.random.default_rng(5)
    z, v = rng.standard_normal((8, 3)), rng.standard_normal(3)
    found = xy_design(z, v[None], np.empty(8))
    judge = optimize.linprog(np.ones(16), A_eq=np.hstack([z.T, -z.T]), b_eq=v)
    assert judge.fun**2 * 0.999 <= found <= judge.fun**2 * 1.021


def test_the_gradient_and_the_value_of_the_symmetric_width():
    """Those of the width on the page, over draws and their negatives."""
    z, xi = problem(1).features, np.random.default_rng(2).standard_normal((6, 4))
    weights, gradient = np.random.default_rng(3).dirichlet(np.ones(9)), np.empty(9)
    value, slope = width(z, weights, z[:5], np.concatenate([xi, -xi]))
    assert symmetric_width(z, z[:5], weights, xi, gradient) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-10)


def test_the_width_design_is_near_the_optimum_of_a_general_solver():
    z = problem(4, 8, 3).features
    live, weights = np.arange(8) < 5, np.empty(8)
    found = width_design(z, live, KEY, 0.0, weights)
    xi = normals(KEY, 0, 0, 256, 3)
    sum_to_1, start = {"type": "eq", "fun": lambda w: w.sum() - 1}, np.full(8, 1 / 8)
    settings = {"bounds": [(1e-6, 1)] * 8, "constraints": sum_to_1, "options": {"maxiter": 300}}
    judge = optimize.minimize(
        lambda w: symmetric_width(z, z[live], np.maximum(w, 1e-9), xi, np.empty(8)), start, **settings
    )
    assert found <= judge.fun**2 * 1.02
    assert found == pytest.approx(symmetric_width(z, z[live], weights, xi, np.empty(8)) ** 2)


@pytest.mark.parametrize("seed", range(3))
def test_peace_is_a_loop_that_tries_every_prefix(seed):
    """One replication after the other; the width of every prefix in turn, where the policy bisects."""
    bandit, budget = problem(seed), 203
    log, recommended = search(PeaceAllArms(budget), bandit, 4)
    streams = Streams.first(4, instance=bandit.label)
    key, z = streams.key("ties of Peace"), [PeaceAllArms(budget).start(bandit.arms, streams).coordinates[0]]
    n_arms = len(bandit.features)

    def gamma(arms, limit=0.0):
        live = np.zeros(n_arms, dtype=np.bool_)
        live[arms] = True
        weights = np.empty(n_arms)
        return width_design(z[0], live, key, limit, weights), weights

    n_rounds = int(np.ceil(max(np.log2(gamma(np.arange(n_arms))[0]), 2)))
    assert len(log) == n_rounds
    for r in range(4):
        live, counts, sums = np.arange(n_arms), np.zeros(n_arms), np.zeros(n_arms)
        for t, (asked, totals) in enumerate(log):
            now, weights = gamma(live)
            n, total = by_arm(asked, totals, r, n_arms)
            share = round_design(weights[None], np.array([budget // n_rounds]), "apportionment", key, np.array([r]), t)
            np.testing.assert_array_equal(n, share[0])
            counts, sums = counts + n, sums + total
            means = bandit.features @ least_squares(bandit.features, counts, sums)
            order = live[np.argsort(-means[live])]
            if len(order) > 2:
                limit = max(1.0, np.ceil(now / 2))
                live = order[: max([1, *(k for k in range(2, len(order) + 1) if gamma(order[:k], limit)[0] <= limit)])]
        assert recommended[r] == max(live, key=lambda a: means[a])


@pytest.mark.parametrize("seed", range(3))
def test_p1_rage_is_a_loop_over_epochs_and_virtual_phases(seed):
    bandit, budget = problem(seed), 157
    log, recommended = search(P1Rage(budget), bandit, 4)
    streams, x = Streams.first(4, instance=bandit.label), bandit.features
    key, n_arms = streams.key("ties of P1-RAGE"), len(bandit.features)
    z, everything = PeaceAllArms(99).start(bandit.arms, streams).coordinates[0], np.ones((1, n_arms), dtype=np.bool_)
    g_optimal = optimal_design(x[None], everything, DesignRule("d-optimal")).weights[0]

    def pairwise(arms):
        weights = np.empty(n_arms)
        return xy_design(z, pairs(z[arms]), weights), weights

    n_epochs = int(np.ceil(np.log2(pairwise(np.arange(n_arms))[0])))
    assert len(log) == n_epochs
    for r in range(4):
        estimate, n_pulls = np.zeros(n_arms), 0
        for t, (asked, totals) in enumerate(log):
            phases, live = [], np.arange(n_arms)
            for i in range(1, 16):
                if len(live) == 1:
                    break
                phases.append(pairwise(live)[1])
                live = np.array([a for a in live if estimate.max() - estimate[a] <= 2.0**-i])
            design = 0.5 * g_optimal + 0.5 * np.mean(phases, axis=0)
            n = budget // n_epochs + (budget % n_epochs if t == n_epochs - 1 else 0)
            counts, sums = by_arm(asked, totals, r, n_arms)
            drawn = round_design(design[None], np.array([n]), "multinomial", key, np.array([r]), t)
            np.testing.assert_array_equal(counts, drawn[0])
            # each pull is weighed by the design of its epoch: x_a' (1/t) sum A^-1 x y
            estimate = (n_pulls * estimate + x @ np.linalg.inv((x.T * design) @ x) @ x.T @ sums) / (n_pulls + n)
            n_pulls += n
        assert recommended[r] == np.argmax(estimate)


def test_fixed_designs_pull_once_and_fit_least_squares():
    """The oracle's design against the epigraph form of its problem, both by a loop over replications."""
    bandit = problem(3)
    means = bandit.means[0]
    for policy in (StaticGOptimal(300), OracleAllocation(300, tuple(means))):
        log, recommended = search(policy, bandit, 5)
        assert len(log) == 1
        assert (log[0][0].counts.sum(axis=1) == 300).all()
        for r in range(5):
            counts, sums = by_arm(*log[0], r, 9)
            assert recommended[r] == np.argmax(bandit.features @ least_squares(bandit.features, counts, sums))
    best = int(np.argmax(means))
    others = [a for a in range(9) if a != best]
    directions = np.array([(bandit.features[best] - bandit.features[a]) / (means[best] - means[a]) for a in others])

    def hardness(w):
        inverse = np.linalg.inv((bandit.features.T * w) @ bandit.features)
        return np.einsum("vi,ij,vj->v", directions, inverse, directions).max()

    weights = OracleAllocation(300, tuple(means)).start(bandit.arms, Streams.first(1)).weights[0]
    assert hardness(weights + 1e-9) <= min(hardness(w) for w in np.random.default_rng(0).dirichlet(np.ones(9), 3000))


def test_rows_are_solved_once_for_each_kind():
    """Shared designs are those of each row alone, whatever the others are."""
    z, live = [problem(0).features], np.random.default_rng(1).random((20, 9)) < 0.6
    live[:, :2] = True
    for key in (None, KEY):
        together = live_designs(z, np.zeros(20, dtype=np.int64), live, key)
        for r in range(20):
            alone = live_designs(z, np.zeros(1, dtype=np.int64), live[r : r + 1], key)
            np.testing.assert_array_equal(together[0][r], alone[0][0])


def test_a_policy_that_keeps_all_rewards_keeps_its_contract():
    bestarm.check_policy(bestarm.gse_lin_all_rewards(80))


def share(policy, n: int) -> float:
    found = simulate(policy, SOARE, Streams.first(n, instance=SOARE.label), metrics={"correct": correct})
    assert (found["pulls"] <= policy.budget).all()
    return float(found["correct"].mean())


@pytest.mark.parametrize(("budget", "peace", "rage"), [(1010, 0.915, 0.947), (3010, 0.989, 0.997), (5010, 0.996, 1.0)])
def test_shares_on_soares_instance_are_those_that_others_recorded(budget, peace, rage):
    """FFTypeZero/bobw_linear, commit 6cf899c, plot_data: recorded shares; four standard errors of ours and 0.01."""
    for policy, recorded in ((PeaceAllArms(budget), peace), (P1Rage(budget), rage)):
        assert abs(share(policy, 2000) - recorded) < 0.01 + 4 * np.sqrt(recorded * (1 - recorded) / 2000)
    assert share(OracleAllocation(budget, tuple(SOARE.means[0])), 500) > 0.99


@pytest.mark.parametrize("budget", [1010, 3010, 5010])
def test_od_linbai_on_soares_instance_is_what_its_last_stage_can_tell(budget):
    """Two arms are left, with half of m pulls each: Phi(gap / sqrt(2 / ceil(m / 2))); .531, .554 and .570."""
    m, sizes = schedule(11, 10, budget)
    assert sizes == [5, 3, 2, 1]
    judge = stats.norm.cdf(2 * (1 - np.cos(0.1)) / np.sqrt(2 / np.ceil(m / 2)))
    assert abs(share(OdLinBai(budget), 20_000) - judge) < 4 * np.sqrt(judge * (1 - judge) / 20_000)


test_bad_input_is_refused_in_one_line = each_refused(
    (lambda: PeaceAllArms(0), "Peace: budget must be a whole number of at least 1"),
    (lambda: P1Rage(2).start(SOARE.arms, Streams.first(1)), r"P1-RAGE: budget .* at least 5 \(one pull in each of 5"),
    (lambda: PeaceAllArms(4).start(SOARE.arms, Streams.first(1)), r"Peace: .* at least 5 \(one pull in each of 5"),
    (lambda: StaticGOptimal(8).start(SOARE.arms, Streams.first(1)), r"of the \d+ arms of its design\), got 8; raise"),
    (lambda: OracleAllocation(9, ()), "oracle: means must be the true mean of each arm"),
    (lambda: OracleAllocation(9, None), "take static_g_optimal where they are unknown"),
    (lambda: OracleAllocation(9, (1.0, np.nan)), "means must be the true mean of each arm, finite"),
    (lambda: OracleAllocation(9, (1.0, 1.0)), "means must differ, got 1 for all arms"),
    (lambda: OracleAllocation(99, (1.0, 0.0)).start(SOARE.arms, Streams.first(1)), r"shape \(11,\) .* got \(1, 2\)"),
    (lambda: soare_instance(1), "n_features must be a whole number of at least 2, got 1"),
    (lambda: soare_instance(10, 2.0), r"omega must lie in \(0, pi/2\), got 2\.0"),
)


@pytest.mark.parametrize("policy", [PeaceAllArms(80), P1Rage(80), StaticGOptimal(80)], ids=lambda p: p.label)
def test_features_that_tell_nothing_are_refused_and_collinear_ones_are_not(policy):
    same = bestarm.Arms(np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"features must tell arms apart, but all 4 arms of set 0 are \[1\.0, 1\.0\]"):
        policy.start(same, Streams.first(1))
    x = np.random.default_rng(0).standard_normal((12, 2))
    bestarm.check_policy(policy, bestarm.Arms(np.hstack([x, x, np.ones((12, 1)) @ x[:1]])))

"""The checked analysis of DPP-BBO: formulas against their definitions, watched runs against dense posteriors."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from bestarm.policies.gaussian.batch_gp import BatchGP, est_dpp_sample, gp_bucb, ucb_dpp_sample
from bestarm.policies.gaussian.batch_rules import EstimatedMaximum, GreedyMap, KDpp, UpperBound
from bestarm.policies.gaussian.gp_acquisition import relevance_region, ucb_width
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.figures.values import COLUMNS
from bestarm_lab.study import load_study
from bestarm_plain.gaussian import posterior
from bestarm_studies.dpp_bbo.batches.laws import exploration_is_greedy
from bestarm_studies.dpp_bbo.checks import VALUES
from bestarm_studies.dpp_bbo.gp_bandits.checks import est_is_ucb
from bestarm_studies.dpp_bbo.gp_draws import batch_kernel, gp_draw_instance, kernel_matrix
from bestarm_studies.dpp_bbo.k_dpp_laws import log_determinants, subset_law
from bestarm_studies.dpp_bbo.moments import before_batch, relevance_regions
from bestarm_studies.dpp_bbo.series import KNOWN
from bestarm_studies.dpp_bbo.theory import confidence, entropy, information, lemmas, regret, sampling
from bestarm_studies.dpp_bbo.values import wide_table

SMALL = partial(gp_draw_instance, n_arms=40, lengthscale=0.15, sigma=0.1)
NOISE = 0.01


def smoke(name):
    computation = load_study("dpp_bbo").experiments[name]
    return computation.rows.func(**computation.settings_at("smoke"), seed=5)


def dense(problem, arms, rewards):
    """Mean and covariance of all arms given some rewards, by the definition."""
    return posterior(kernel_matrix(problem.features, 0.15), NOISE, arms, rewards)


def test_eigenvalues_are_those_of_the_operator():
    """They sum to k(x, x) = 1, and the largest agree with a dense quadrature; products in two dimensions."""
    found = information.kernel_eigenvalues(0.2)
    nodes, weights = np.polynomial.legendre.leggauss(100)
    matrix = np.sqrt(np.outer(weights, weights)) / 2 * np.exp(-0.5 * (np.subtract.outer(nodes, nodes) / 0.4) ** 2)
    np.testing.assert_allclose(found[:12], np.linalg.eigvalsh(matrix)[::-1][:12], rtol=1e-7)
    assert found.sum() == pytest.approx(1.0)
    both = information.operator_eigenvalues(0.2, 2)
    assert both.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(both[:2], [found[0] ** 2, found[0] * found[1]])


def test_slopes_of_the_information_pass_d():
    """On the interval with length-scale 0.2 they rise through 1.06 and 1.28, see the specification of the check."""
    eigenvalues = information.operator_eigenvalues(0.2, 1)
    for top, slope in ((1e4, 1.06), (1e7, 1.28), (1e12, 1.42)):
        sizes = np.array([top / 10, top])
        gains = information.information_gain(eigenvalues, sizes, NOISE)
        assert information.local_slopes(sizes, gains)[0] == pytest.approx(slope, abs=0.01)


def test_greedy_information_and_its_bound():
    """Gains are those of determinants, never rise, and e/(e - 1) times their sum covers the best set."""
    kernel = kernel_matrix(np.random.default_rng(1).random((10, 2)), 0.3)
    greedy = information.greedy_information(kernel, NOISE, 3)
    assert (np.diff(np.diff(greedy, prepend=0.0)) <= 1e-12).all()
    best = 0.5 * log_determinants(np.eye(10) + kernel / NOISE, np.array(list(combinations(range(10), 3)))).max()
    assert greedy[2] <= best + 1e-12 <= information.GREEDY * greedy[2]
    one = information.greedy_information(np.ones((1, 1)), 0.5, 4)  # repeats of one arm: half log(1 + n / noise)
    np.testing.assert_allclose(one, 0.5 * np.log1p(np.arange(1, 5) / 0.5))


def test_first_stage_leaves_at_most_the_level():
    kernel = kernel_matrix(np.random.default_rng(1).random((30, 1)), 0.4)
    n = regret.first_stage(kernel, 0.1, 4, 0.5)
    gains = np.diff(information.greedy_information(kernel, 0.1, n + 4), prepend=0.0)
    assert information.GREEDY * gains[n : n + 3].sum() <= 0.5 < information.GREEDY * gains[n - 1 : n + 2].sum()
    assert regret.first_stage(kernel, 0.1, 4, 1e-9, most=10) == -1


def test_first_step_against_draws():
    """The probability that the maximum of 50 normal values is the bound above the first of them."""
    draws = np.random.default_rng(0).standard_normal((40_000, 50))
    share = (draws.max(axis=1) - draws[:, 0] > np.sqrt(information.ucb_beta(50, 1, 0.1))).mean()
    found = regret.first_step_excess(50, 0.1, 2.0)
    assert abs(share - found) < 4 * np.sqrt(found / 40_000)
    assert regret.first_step_excess(400, 0.05, 2.0) > 0.05 > regret.first_step_excess(400, 0.05, 8.0)


def test_widths_and_constants():
    assert np.sqrt(information.ucb_beta(400, 7, 0.05)) == pytest.approx(ucb_width(400, 7, 0.05, 1.0))
    assert regret.inflation_of(1) == pytest.approx((4 / np.e) ** 2)
    table = regret.constants_table([1, 2], 5, 20, 400, 0.05)
    ucb, est = regret.needed_inflation(5, 20, 400, 0.05)
    for c, name in ((ucb, "log10_ucb"), (est, "log10_est")):
        np.testing.assert_allclose(table[name], table["log10_C"] - np.log10(c))
    assert est == pytest.approx(np.sqrt(18.0))
    noise = 0.3  # Theorem 3.3 at one evaluation of a single arm with the largest information
    bound = information.regret_bound(36.0, 1, 2.0, 0.5 * np.log1p(1 / noise), noise)
    assert bound == pytest.approx(np.sqrt(18.0) * 2.0)


def test_the_region_of_the_independent_arms_has_all_of_them():
    """So that the law of `independent_batch` is that of a batch of UCB-DPP-SAMPLE, which draws from the region."""
    variances, noise = np.repeat([1, 1 / 4, 1 / 400], [1, 1, 400]), 1 / 4
    first, _, law = lemmas.independent_batch(variances, noise)
    widths = [np.sqrt(information.ucb_beta(402, t, 0.05)) for t in (1, 2)]
    np.testing.assert_array_equal(relevance_region(np.zeros(402), variances, widths[0], 2 * widths[1]), np.arange(402))
    assert len(law) == 402
    assert (law > 0).all()
    assert first == int(np.argmax(widths[0] * np.sqrt(variances)))


def test_three_points_in_which_a_random_pair_beats_the_greedy_one():
    pairs = entropy.three_points(0.01, 0.1, 0.3, 0.5)
    assert pairs["probability"].sum() == pytest.approx(1.0)
    assert (pairs["probability"] * pairs["log det"]).sum() > pairs["log det"].iloc[0]


@pytest.mark.parametrize("acquisition", [UpperBound(), EstimatedMaximum("ESTn")], ids=["ucb", "est"])
def test_lemmas_of_a_run_against_dense_posteriors(acquisition):
    """Every column of one run of SAMPLE, from the arms and rewards alone."""
    policy = BatchGP("SAMPLE", 4, 4, KDpp(acquisition), KNOWN)
    problem = SMALL(replications=3)
    _, state = lemmas.watch(policy, problem, Streams.first(3, seed=2, instance=problem.label))
    found = lemmas.lemma_rows({"S": policy}, SMALL, 3, seed=2).set_index("replication").loc[1]
    arms, rewards, f = state.conditioned[1, :17], state.rewards[1, :17], problem.means[1]
    every = np.array([dense(problem, arms[:t], rewards[:t])[1][arms[t], arms[t]] for t in range(17)])
    s = np.sqrt(every[1:]).reshape(4, 4)
    r = (f.max() - f[arms[1:]]).reshape(4, 4)
    assert found["regret"] == pytest.approx(r.sum(), rel=1e-5)
    assert found["information"] == pytest.approx(0.5 * np.log1p(every / NOISE).sum(), rel=1e-5)
    assert found["lemma_6_4"] == pytest.approx(np.mean(s[1:, :1] > s[:-1, 1:] + 1e-9))
    assert found["lemma_6_5"] == pytest.approx(s[:, 0].sum() / s.mean(axis=1).sum(), rel=1e-5)
    assert found["lemma_6_7"] == pytest.approx((s[:, 0] ** 2).sum() / (s[:, 1:] ** 2).mean(axis=1).sum(), rel=1e-5)
    assert found["section_3_2"] == np.mean(r.sum(axis=1) > (s**2).sum(axis=1))
    if isinstance(acquisition, UpperBound):
        widths = [ucb_width(40, t, 0.05, 1.0) for t in range(1, 6)]
        assert found["step"] == pytest.approx(np.mean(r[:, 1:] > 2 * widths[3] * s[:, 1:]))
        error, outside = 0.0, []
        for t in range(4):
            mean, cov = dense(problem, arms[: 1 + 4 * t], rewards[: 1 + 4 * t])
            error = max(error, (np.abs(f - mean) / (widths[t] * np.sqrt(np.diag(cov)))).max())
            outside.append(f.argmax() not in relevance_region(mean, np.diag(cov), widths[t], 2 * widths[t + 1]))
        assert found["event_share"] == pytest.approx(error, rel=1e-4)
        assert found["optimum_outside"] == np.mean(outside)


def test_the_region_is_the_one_that_is_searched():
    policy = est_dpp_sample(3, 3, model=KNOWN)
    problem = SMALL(replications=2)
    sizes = []

    class Look:
        label = policy.label

        def __getattr__(self, name):
            return getattr(policy, name)

        def ask(self, state):
            asked = policy.ask(state)
            if state.n_rows[0] > state.n_known[0]:
                sizes.append((relevance_regions(policy, state).sum(axis=1), state.log[:, 2].copy()))
                assert (before_batch(state) >= state.variances).all()
            return asked

    simulate(Look(), problem, Streams.first(2, seed=1, instance=problem.label), metrics={})
    assert len(sizes) == 3
    for ours, theirs in sizes:
        np.testing.assert_array_equal(ours, theirs)


def test_lemma_6_4_holds_for_exploration_and_not_for_samples():
    most = BatchGP("UCB-DPP-MAX", 5, 6, KDpp(sampler=GreedyMap(repeats=True)), KNOWN)
    series = {"MAX": most, "SAMPLE": ucb_dpp_sample(5, 6, model=KNOWN)}
    means = lemmas.lemma_rows(series, SMALL, 20, seed=3).groupby("series")[["lemma_6_4", "lemma_6_6"]].max()
    assert means.loc["MAX", "lemma_6_4"] == 0.0
    assert means.loc["SAMPLE", "lemma_6_4"] > 0.1
    assert (means["lemma_6_6"] <= 1.0).all()


def test_lemma_6_1_is_a_sum_of_normal_tails():
    """Draws of 30 rounds leave the widths as often as the sum says; later rounds hardly count."""
    delta = 0.5
    widths = np.sqrt(2 * np.log(np.pi**2 * np.arange(1, 31) ** 2 / (6 * delta)))
    outside = (np.abs(np.random.default_rng(0).standard_normal((4000, 30))) > widths).mean(axis=0).sum()
    bound = lemmas.confidence_misses(delta)
    assert bound <= delta
    assert outside == pytest.approx(bound, abs=4 * np.sqrt(bound / 4000))


def test_samples_of_independent_arms_violate_lemma_6_4():
    """Arms of variance 4, 1 and, 400 times, 0.01: the sample is a small arm, and the next first arm never is."""
    variances, noise = np.repeat([4.0, 1.0, 0.01], [1, 1, 400]), 1.0
    rng, runs, width = np.random.default_rng(1), 2000, np.sqrt(information.ucb_beta(402, 2, 0.05))
    after = variances.copy()
    after[0] = 0.8
    violated = 0
    for _ in range(runs):
        truth = rng.normal(0.0, np.sqrt(variances))
        second = rng.choice(402, p=(1 + after) / (1 + after).sum())
        counts = np.bincount([0, second], minlength=402)
        sums = counts * truth + np.sqrt(counts) * rng.standard_normal(402)
        posterior = 1.0 / (1.0 / variances + counts / noise)
        following = int(np.argmax(posterior * sums + width * np.sqrt(posterior)))
        violated += int(np.sqrt(posterior[following]) > np.sqrt(after[second]))
    exact = lemmas.lemma_6_4_violated(variances, noise, 0.05)
    assert exact == pytest.approx(404 / 407.8, abs=1e-9)
    assert violated / runs == pytest.approx(exact, abs=4 * np.sqrt(0.01 / runs))
    settings = {"variances": [[4, 1], [1, 1], [0.01, 400]], "noise": 1, "delta": 0.05}
    assert lemmas.sample_violates(settings | {"at_least": 0.99}).holds
    assert not lemmas.sample_violates(settings | {"at_least": 0.995}).holds
    assert lemmas.lemma_6_4_violated(np.ones(50), noise, 0.05) == 0.0  # of equal arms none is small


def test_the_first_batch_violates_lemmas_6_5_and_6_7():
    """After one batch: 2 > (2 + 1) / 2 and 4 > 1, for MAX's later arm and for any other; equal arms keep both."""
    given = {"variances": [[4, 1], [1, 1]], "noise": 1}
    found = lemmas.first_batch_violates(given)
    assert found.holds
    assert found.text == "6.5: left side 2, right side at most 1.5; 6.7: left side 4, right side at most 1"
    assert not lemmas.first_batch_violates(given | {"variances": [[1, 3]]}).holds


def test_intervals_with_rewards_at_once_are_those_of_the_posterior():
    """The mean that follows every reward of the batch, and one run's errors by position, against dense posteriors."""
    policy, problem = gp_bucb(3, 2, model=KNOWN), SMALL(replications=2)
    streams = Streams.first(2, seed=4, instance=problem.label)
    observer = confidence.BatchIntervals(policy, problem.means)
    simulate(observer, problem, streams, metrics={})
    _, state = lemmas.watch(policy, problem, streams)
    arms, rewards, f = state.conditioned[0], state.rewards[0], problem.means[0]
    lines = iter(observer.found)
    for t in range(2):
        for b in range(3):
            n = 1 + 3 * t
            stale, _ = dense(problem, arms[:n], rewards[:n])
            mean, cov = dense(problem, arms[: n + b], rewards[: n + b])
            for expected in (stale, mean):
                assert next(lines)["squared"][0] == pytest.approx(((f - expected) ** 2 / np.diag(cov)).mean(), rel=1e-6)
    rows = confidence.coverage_rows(SMALL, 2, {3: policy}, seed=4)
    assert sorted(rows["position"].unique()) == [1, 2, 3]
    first = rows[rows["position"] == 1].pivot(index="replication", columns="series", values="squared")
    np.testing.assert_allclose(first["GP-BUCB"], first["rewards at once"])


def test_entropies_of_batches_against_enumeration():
    """log Z of a small region by all sets, and log det no larger than it."""
    problem = partial(SMALL, n_arms=12)
    rows = entropy.entropy_rows(ucb_dpp_sample(4, 2, model=KNOWN), problem, 2, seed=6)
    first = rows[(rows["batch"] == 1) & (rows["replication"] == 0)].iloc[0]
    functions = problem(replications=2)
    policy = ucb_dpp_sample(4, 2, model=KNOWN)
    _, state = lemmas.watch(policy, functions, Streams.first(2, seed=6, instance=functions.label))
    kernel = np.eye(12) + dense(functions, state.conditioned[0, :2], np.zeros(2))[1] / NOISE
    logs = log_determinants(kernel, subset_law(kernel, 3)[0])
    assert (first["region"], first["log_z"]) == (12, pytest.approx(np.logaddexp.reduce(logs)))
    assert first["log_det"] == pytest.approx(log_determinants(kernel, state.conditioned[0, 2:5]))
    assert first["greedy"] <= logs.max() + 1e-9


def test_joint_draws_have_the_posterior_s_maximum():
    """Against draws by the dense posterior covariance; ESTn is above them (Slepian)."""
    policy = est_dpp_sample(5, 2, model=KNOWN, estimate="ESTn")
    rows = confidence.maximum_rows(policy, SMALL, 1, (2,), 4000, seed=7).set_index("series")
    problem = SMALL(replications=1)
    _, state = lemmas.watch(policy, problem, Streams.first(1, seed=7, instance=problem.label))
    arms, rewards = state.conditioned[0, :6], state.rewards[0, :6]
    tops = np.random.default_rng(0).multivariate_normal(*dense(problem, arms, rewards), 4000).max(axis=1)
    joint, error = rows.loc["ESTn", "joint"], rows.loc["ESTn", "error"]
    assert abs(joint - tops.mean()) < 4 * np.hypot(error, tops.std() / np.sqrt(4000))
    assert rows.loc["ESTn", "estimate"] > joint


def test_small_sets_obey_the_identities():
    rows = entropy.set_rows(5, [(7, 3)], [0.1], seed=1)
    assert entropy.enumeration({"experiments": ["a"]}, {"a": rows}).holds
    assert not entropy.entropy_form({"experiments": ["a"]}, {"a": rows}).holds
    assert not entropy.enumeration({"experiments": ["a"]}, {"a": rows.assign(identity=0.1)}).holds
    assert np.linalg.eigvalsh(batch_kernel(30, 0.1, 1, 0))[0] >= 1.0 - 1e-9


def test_times_are_positive_and_one_for_each_cell():
    rows = sampling.sampling_times(1, [20], [2], 0.1)
    assert rows["series"].tolist() == ["exact", "exchange chain", "down-up chain"]
    assert (rows["seconds"] > 0).all()
    fast = rows.assign(seconds=[3.0, 1.0, 1.0])
    assert sampling.sampling_speed({"experiments": ["a"], "factor": 2.0}, {"a": fast}).holds
    assert not sampling.sampling_speed({"experiments": ["a"], "factor": 4.0}, {"a": fast}).holds


def test_determinants_of_batches_and_their_opposites():
    """Pure exploration is greedy and sums are log determinants; a gain or a sum that is off refutes them."""
    test = {"experiments": ["e"]}
    gains, sums = smoke("theory_exploration"), smoke("theory_chain_rule")
    assert exploration_is_greedy(test, {"e": gains}).holds
    assert not exploration_is_greedy(test, {"e": gains.assign(beyond=0.1)}).holds
    assert not exploration_is_greedy(test, {"e": gains.assign(repeats=True)}).informative
    assert information.chain_rule(test, {"e": sums}).holds
    assert not information.chain_rule(test, {"e": sums.assign(run_error=0.1)}).holds


def test_exact_statements_that_need_no_rows():
    identity = est_is_ucb({"posteriors": 50})
    assert (identity.holds, identity.informative) == (True, False)
    assert lemmas.chosen_arms_inside({"deltas": [0.05, 0.1]}).holds
    assert not confidence.hidden_arms({"sizes": [256, 8192]}).holds
    given = {"dimensions": [1, 2], "batch": 5, "rounds": 20, "n_arms": 400, "delta": 0.05}
    for decide, test, true, false in (
        (regret.first_step, {"n_arms": 400, "deltas": [0.1, 0.05]}, {"factor": 8}, {"factor": 2}),
        (information.information_rate, {"kernels": [[1, 0.2]]}, {"largest": 100}, {"largest": 1e4}),
        (regret.constants, given, {}, {"batch": 1, "dimensions": [0]}),
        (sampling.sampling_cost, {"sizes": [250, 4000], "ks": [9]}, {"factor": 100}, {"factor": 1000}),
    ):
        assert [decide(test | more).holds for more in (true, false)] == [True, False], decide


def test_decisions_on_rows_can_go_either_way():
    rows = pd.DataFrame({"series": ["A", "A", "B"], "value": [0.4, 0.9, 1.2]})
    test = {"experiments": ["a"], "column": "value", "level": 1.0}
    assert lemmas.never_above(test | {"series": ["A"]}, {"a": rows}).holds
    assert not lemmas.never_above(test | {"series": ["A", "B"]}, {"a": rows}).holds
    rarely = pd.DataFrame({"series": ["A"] * 20 + ["B"] * 20, "value": [2.0] + [0.0] * 37 + [2.0] * 2})
    found = lemmas.never_above(test | {"series": ["A"], "delta": 0.05}, {"a": rarely})
    assert found.holds
    assert not found.checked  # a run is beyond: nobody may read "no violation"
    assert not lemmas.never_above(test | {"series": ["A", "B"], "delta": 0.05}, {"a": rarely}).holds
    assert not lemmas.never_above(test | {"series": ["A"]}, {"a": rows.assign(value=np.nan)}).informative
    sets = pd.DataFrame({"greedy": [2.0, 3.0], "expected": [1.5, 3.5]})
    test_of_sets = {"experiments": ["a"]}
    assert entropy.mean_below_greedy(test_of_sets, {"a": sets.iloc[:1]}).holds
    assert not entropy.mean_below_greedy(test_of_sets, {"a": sets}).holds
    estimates = pd.DataFrame({"series": "ESTn", "estimate": [2.0, 1.0], "joint": [1.9, 1.1], "error": 0.05})
    test = {"experiments": ["a"], "series": "ESTn", "column": "joint"}
    assert confidence.estimate_above(test | {"errors": 3}, {"a": estimates}).holds
    assert not confidence.estimate_above(test, {"a": estimates}).holds


def test_bounds_of_runs_and_what_they_say():
    """A bound above the regret of the worst arms is not informative; one below it is."""
    base = {"series": "UCB-DPP-MAX", "replication": [0, 1], "regret": [100.0, 5000.0], "width": 5.0, "trivial": 400.0}
    test = {"experiments": ["a"], "series": ["UCB-DPP-MAX"], "theorem": "3.3", "delta": 0.05}
    runs = regret.bound_runs(pd.DataFrame(base))
    gain = information.draw_information(100)[-1]
    expected = np.sqrt(36 / np.log(101) * 100 * information.ucb_beta(400, 20, 0.05) * gain)
    np.testing.assert_allclose(runs["bound"], expected)
    for change, expected in (({}, False), ({"regret": [100.0, 200.0], "trivial": 1e4}, True)):
        decision = regret.regret_within(test, {"a": pd.DataFrame(base | change)})
        assert (decision.holds, decision.informative) == (expected, expected)


def test_a_first_stage_leaves_little_and_its_bound_is_theorem_3_2():
    """Regret of both stages adds up; the bound is C' times the sequential one plus twice the largest value an arm."""
    rows = smoke("theory_two_stage")
    assert (rows["first_stage"] % 5 == 0).all()
    assert (rows["evaluations"] == rows["first_stage"] + 100).all()
    assert (rows["first_regret"] < rows["regret"]).all()
    assert (rows["regret"] < rows["trivial"]).all()
    same = rows.pivot(index="replication", columns="series", values="first_regret")
    np.testing.assert_array_equal(same["GP-BUCB"], same["B-EST"])
    bounds = regret.two_stage_bounds(rows)["bound"]
    n = int(rows["evaluations"][0])
    sequential = np.sqrt(8 / np.log(101) * n * information.draw_information(n)[-1] * information.ucb_beta(400, n, 0.05))
    assert bounds[0] == pytest.approx(np.exp(2.0) * sequential + 2.0 * rows["largest"][0] * rows["first_stage"][0])
    test = {"experiments": ["a"], "series": ["GP-BUCB", "B-EST"], "theorem": "3.2", "delta": 0.05}
    assert regret.regret_within(test, {"a": rows}).holds
    assert not regret.regret_within(test, {"a": rows.assign(regret=1e9)}).holds


def test_theorem_3_4_is_refuted_by_entropies_alone():
    rows = pd.DataFrame({"replication": 0, "batch": np.arange(1, 21), "log_z": 20.0, "log_det": 0.0, "regret": 1.0})
    assert not entropy.sample_bound({"experiments": ["a"]}, {"a": rows}).holds
    assert entropy.sample_bound({"experiments": ["a"]}, {"a": rows.assign(log_z=5.0)}).holds
    values = entropy.entropy_values(rows, "laptop").set_index(["series", "x"])["value"]
    assert values["sum of entropies", 20] == pytest.approx(400.0)
    both = values["bracket as proved", 20] - values["bracket as printed", 20]
    assert both == pytest.approx((20 * 4 - 5) * np.log(400))


def test_every_figure_and_table_is_made_from_smoke_rows():
    rows = smoke("theory_lemmas")
    order = ["UCB-DPP-MAX", "UCB-DPP-SAMPLE"]
    made = {
        "lemmas": lemmas.lemma_values(rows, order, "smoke"),
        "bounds": regret.bound_values(rows, "smoke"),
        "steps": lemmas.share_values(rows, {"step": "step", "above": "above"}, order, "smoke"),
        "sets": entropy.set_values(smoke("theory_sets"), "smoke"),
        "entropy": entropy.entropy_values(smoke("theory_entropy"), "smoke"),
        "coverage": confidence.coverage_values(smoke("theory_coverage"), "smoke"),
        "maximum": confidence.maximum_values(smoke("theory_maximum"), "smoke"),
        "rate": information.rate_values("smoke", {1: 16}, most=256),
        "cost": sampling.cost_values(smoke("sampling_times"), (30,), (4, 9), "smoke"),
    }
    for name, values in made.items():
        assert list(values.columns) == COLUMNS, name
        assert values["value"].notna().all(), name
    lemmas.lemma_figure(made["lemmas"], order, title="a")
    confidence.confidence_figure(made["coverage"], made["maximum"], title="a")
    information.rate_figure(made["rate"], title="a")
    curve = pd.DataFrame({"series": "UCB-DPP-MAX", "replication": [0, 1], "round": 5, "total_regret": [3.0, 4.0]})
    values = regret.curve_values(curve, order, "smoke")
    assert set(values["series"]) == {"UCB-DPP-MAX", "Theorem 3.3", "worst arms"}
    regret.theorems_figure(values, order, made["entropy"], title="a")
    assert wide_table(made["bounds"], "{value:.3g}", index=("series", "x"))["mean regret"].notna().all()
    assert regret.horizon(1e9) <= 10


def test_distances_to_another_search_are_taken_run_by_run():
    lines = [(0, "A", 0.5), (0, "B", 0.2), (1, "A", 0.1), (1, "B", 0.4)]
    cell = pd.DataFrame(lines, columns=["replication", "series", "candidate_regret"])
    found = VALUES["distance_to"].of(cell, {"to": "B"})
    np.testing.assert_allclose(found["A"], [0.3, 0.3])
    np.testing.assert_allclose(found["B"], 0.0)

"""The checked analysis of GPOO, bounds against definitions, the observer against a plain run; and its experiments."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from bestarm.interface import Ask
from bestarm.kernels import Stationary
from bestarm.partition import Partition
from bestarm.policies.cells.gpoo import Gpoo
from bestarm.policies.cells.stooo import Stooo
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.study import load_study
from bestarm_plain.cells import Tree, posterior
from bestarm_studies.gpoo.aggregation.checks import VALUES
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.functions import prior_bandit, reward_function
from bestarm_studies.gpoo.paper_against_code.causes import gap_closed, gap_opened
from bestarm_studies.gpoo.regret.checks import first_budget
from bestarm_studies.gpoo.theory import average_feedback, checks
from bestarm_studies.gpoo.theory.assumptions import assumption_table, largest_slopes, lipschitz_scale, ranges
from bestarm_studies.gpoo.theory.event import EventObserver, event_rows
from bestarm_studies.gpoo.theory.rate import corollary_bounds, near_optimality, theorem_bound

F1 = partial(reward_function, name="f1")
EXPERIMENTS = load_study("gpoo").experiments


def parabola(curvature):
    return CellBandit("parabola", lambda x: 1.0 - curvature * (x[:, 0] - 0.5) ** 2, Partition())


def test_slopes_of_the_paper_s_functions():
    """The steepest point of each, and so where Assumption 3 holds with 14 x 2^-h."""
    slopes = {name: float(largest_slopes(reward_function(name))[0]) for name in ("f1", "f2", "f3")}
    np.testing.assert_allclose(list(slopes.values()), [11.3, 16.9, 84.9], atol=0.1)
    table = assumption_table({name: reward_function(name) for name in slopes}, 14.0, [1, 10]).set_index("function")
    assert table.loc["f2"].tolist() == ["16.9", "28.0 (holds)", "14.7 (fails)"]
    np.testing.assert_allclose(largest_slopes(parabola(3.0)), 3.0, rtol=1e-3)
    assert lipschitz_scale(2.0, 1) == 1.0


def test_near_optimality_of_a_parabola_is_one_half():
    """{f >= 1 - eps} has width 2 sqrt(eps/a), so balls of radius eta eps number eps^-1/2 / (eta sqrt a)."""
    dimension, constant = near_optimality(parabola(4.0), 0.05)
    assert dimension == pytest.approx(0.5, abs=0.03)
    assert constant == pytest.approx(1.0 / (0.05 * 2.0), rel=0.3)


def test_theorem_1_picks_the_first_depth_that_pays_for_the_budget():
    policy = Gpoo("GPOO", 1000, delta_scale=2.0)
    budgets = [100, 10_000, 1_000_000]
    found = theorem_bound(policy, budgets, 0.5, 3.0)
    for budget, bound in zip(budgets, found, strict=True):
        depth = round(np.log2(3.0 * 2.0 / bound))
        delta = 2.0 * 2.0 ** -np.arange(depth + 1)
        sums = np.cumsum(2 * 3.0 * (3 * delta) ** -0.5 * 0.01 / delta**2)
        target = budget / policy.beta_of(np.array(budget), 2)
        assert sums[-1] >= target
        assert depth == 0 or sums[-2] < target
    assert (np.diff(found) < 0).all()


def test_the_mended_corollary_follows_from_theorem_1_and_the_printed_one_does_not():
    """3 delta(h_N) never exceeds the mended bound; it exceeds the printed one."""
    policy = Gpoo("GPOO", 1000, delta_scale=2.0)
    budgets = np.unique(np.geomspace(50, 1e7, 60).astype(int)).tolist()
    theorem = theorem_bound(policy, budgets, 0.4, 5.0)
    printed, mended = corollary_bounds(policy, budgets, 0.4, 5.0)
    below_root = np.array(theorem) < 3 * 2.0  # at depth 0 the bound is delta's, not the sum's
    assert (np.array(theorem)[below_root] <= 2.0 * mended[below_root] * (1 + 1e-9)).all()
    assert (np.array(theorem) > printed).any()


def test_the_observer_changes_nothing_and_sees_the_largest_error():
    """Against a dense posterior of all cells in every round of one run."""
    problem = prior_bandit(3, 11, n_representatives=2)
    policy = Gpoo("GPOO", 12, max_depth=3, delta_scale=30.0)
    observer = EventObserver(policy, problem)
    streams = Streams.first(3, seed=11, instance=problem.label)
    assert simulate(observer, problem, streams, metrics={}, every=1)["pulls"].max() == 12
    r, cells = 1, list(range(15))
    partition, alone = problem.partition, problem.take(np.array([r]))
    one = streams.take(np.array([r]))
    state, tally = policy.start(partition, one), partition.no_pulls(1)
    seen, rewards, largest = [], [], 0.0
    truth = alone.cell_values(np.array([cells]))[0]
    for t in range(1, 13):
        asked = policy.ask(state)
        mean, variance = posterior(Tree(S=2), policy.kernel.K, 0.01, seen, rewards, cells)
        width = np.sqrt(policy.beta_of(np.array(t), 2) * variance)
        largest = max(largest, float((np.abs(mean - truth) / width).max()))
        reward = alone.rewards(Ask(asked.arms, asked.counts), tally, one)
        policy.tell(state, asked, reward)
        seen.append(int(asked.arms[0, 0]))
        rewards.append(reward[0, 0])
    assert observer.largest_share[r] == pytest.approx(largest, rel=1e-6)
    np.testing.assert_array_equal(observer.state.observed[r], state.observed[0])


def test_event_rows_obey_the_lemmas_where_the_event_holds():
    """Forty drawn functions: Lemma 3 and the mended Lemma 4 hold; Lemma 4 as printed fails at the root."""
    policy, problem = partial(Gpoo, "GPOO", 40, max_depth=5), partial(prior_bandit)
    rows = event_rows({"A": (policy, problem), "B": (partial(policy, beta="as_coded"), problem)}, 40, 3)
    held = rows[(rows["series"] == "A") & (rows["event_share"] <= 1.0)]
    assert len(held) >= 36
    assert held["optimality_share"].max() <= 1.0
    assert held["draws_share_mended"].max() <= 1.0
    assert held["draws_share"].min() > 1.0
    assert held["regret_share"].max() <= 1.0
    other = rows[rows["series"] == "B"]
    assert (other["event_share"] > 1.0).mean() > 0.9
    assert other.loc[other["event_share"] > 1.0, "optimality_share"].eq(0.0).all()


def test_drawn_functions_have_the_prior_s_moments_and_do_not_depend_on_their_number():
    problem = prior_bandit(600, 5, lengthscale=0.1)
    x = np.array([0.13, 0.131, 0.5])
    values = problem.evaluate(np.broadcast_to(x[:, None], (600, 3, 1)))
    expected = Stationary("rbf", 0.1, 0.1).K(x[:, None])
    spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / 600)
    assert (np.abs(np.cov(values.T) - expected) < 4.5 * spread).all()
    np.testing.assert_allclose(prior_bandit(3, 5, lengthscale=0.1).function.weights, problem.function.weights[:3])


def test_the_means_of_ave_stooo_are_followed():
    rows = average_feedback.mean_event_rows(F1, 30, 2, policy=Stooo("AVE-StoOO", 30, rule="average"), sigmas=[0.1, 0.5])
    means = rows.groupby("series")["event_share"].mean()
    assert means["σ = 0.5"] == pytest.approx(5 * means["σ = 0.1"], rel=0.2)
    assert (rows["event_share"] > 0).all()


def test_the_depth_of_theorem_3():
    """d = 0, C = 1, K = 2: the sum is 4 (1 + 4 + ... + 4^h) for δ = 2^-h, to be compared with N / log(N² / 0.1)."""
    policy = Stooo("AVE-StoOO", 80, rule="average", delta_scale=1.0)
    for budget, depth in ((20, 0), (80, 1), (400, 2), (5000, 3)):
        wanted = budget / np.log(budget**2 / 0.1)
        assert 4 * (4 ** (depth + 1) - 1) / 3 >= wanted
        assert depth == 0 or 4 * (4**depth - 1) / 3 < wanted
        assert average_feedback.theorem3_depth(policy, budget, 0.0, 1.0) == depth


def test_the_bound_of_theorem_3_is_kept_and_seldom_says_anything():
    rows = average_feedback.average_bound_rows(F1, 4, 2, sizes=(1, 10), budgets=(64, 1024), max_depth=10)
    assert len(rows) == 2 * 2 * 4
    np.testing.assert_allclose(rows["regret_share"], rows["regret"] / rows["bound"])
    assert rows["regret_share"].max() <= 1.0
    assert not rows["regret_binds"].any()
    assert rows["bound"].min() > float(ranges(reward_function("f1"))[0])
    table = average_feedback.average_table(rows)
    assert table["N"].tolist() == ["64", "1,024"] * 2
    assert set(table["bound is below the range of f"]) == {"no"}


def _shares(**columns):
    given = {"series": "A", "event_share": 0.5, "budget": 80, "share": 0.5, "binds": True}
    return pd.DataFrame(given | columns, range(4))


def test_a_bound_counts_where_it_binds():
    test = {"experiments": ["e"], "series": ["A"], "metric": "share", "binds": "binds"}
    assert checks.CHECKS["always"](test, {"e": _shares()}).holds
    beyond = _shares(share=[2.0, 0.1, 0.1, 0.1])
    assert not checks.CHECKS["always"](test, {"e": beyond}).holds
    never = checks.CHECKS["always"](test, {"e": _shares(binds=False)})
    assert not never.informative
    assert "below the range of f in 0 of 4 runs" in never.text
    assert checks.CHECKS["always"](test, {"e": beyond.assign(binds=[False, True, True, True])}).holds
    assert checks.CHECKS["always"](test | {"budget": 10}, {"e": beyond}).informative is False


def test_what_single_feedback_the_envelope_and_the_cost_rest_on():
    """Ordinary regression to rounding; no envelope above b; multiplications below N^4; and their opposites."""
    single = checks.single_feedback_rows(F1, 1, 3, policy=Gpoo("GPOO", 12))
    assert single["round"].tolist() == list(range(1, 13))
    leaves = checks.envelope_rows(F1, 2, 3, policy=Gpoo("GPOO", 12), sizes=(1, 4))
    assert leaves[["series", "replication"]].value_counts().max() == 1
    assert leaves["leaves"].min() > 12
    multiplications = checks.cost_rows(F1, 1, 3, budgets=(10, 20, 40))
    test, power = {"experiments": ["e"]}, {"experiments": ["e"], "power": 4.0}
    assert checks.CHECKS["single_feedback"](test, {"e": single}).holds
    assert not checks.CHECKS["single_feedback"](test, {"e": single.assign(difference=1e-3)}).holds
    assert checks.CHECKS["envelope"](test, {"e": leaves}).holds
    assert not checks.CHECKS["envelope"](test, {"e": leaves.assign(beyond=1)}).holds
    assert not checks.CHECKS["envelope"](test, {"e": leaves.assign(leaves=0)}).informative
    assert checks.CHECKS["cost"](power, {"e": multiplications}).holds
    assert not checks.CHECKS["cost"](power | {"power": 2.0}, {"e": multiplications}).holds


def test_k_and_s_are_settings_of_the_series():
    rows = pd.DataFrame({"series": ["K = 2, S = 1", "K = 5, S = 50"]})
    assert VALUES["arity"].of(rows, {}).tolist() == [2, 5]
    assert VALUES["size"].of(rows, {}).tolist() == [1, 50]


def test_a_budget_from_which_on_a_mean_stays_low():
    """A dip below the level does not count; a mean that is high at the end is not low before the next budget, 5."""
    budgets = np.array([1.0, 2.0, 3.0, 4.0])
    means = np.array([[9.0, 0.1, 9.0, 0.1], [0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 9.0], [9.0, 0.2, 0.1, 0.2]])
    np.testing.assert_array_equal(first_budget(means, budgets, {"level": 0.2}), [4.0, 1.0, 5.0, 2.0])


def test_what_closes_a_gap_and_what_opens_it():
    """Regrets 1 (slow), 0.8 (changed) and 0.5 (fast): the change closes 0.4 of the gap, or opens 0.6 of it."""
    lines = [(r, s, v) for r in range(3) for s, v in (("slow", 1.0), ("changed", 0.8), ("fast", 0.5))]
    rows = pd.DataFrame(lines, columns=["replication", "series", "regret"])
    test = {"of": "regret", "slow": "slow", "changed": "changed", "fast": "fast"}
    assert gap_closed(rows, test)["changed"].tolist() == pytest.approx([0.4] * 3)
    assert gap_opened(rows, test)["changed"].tolist() == pytest.approx([0.6] * 3)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_near_optimal_cells_against_the_partition(size):
    """Cells by the partition's own averages, balls by a search from the left."""
    problem, deepest, depth = reward_function("f1", n_representatives=size), 5, 4
    x = np.linspace(0.0, 1.0, 2 * size * 2**deepest + 1)
    values = problem.evaluate(x[:, None])
    cells = np.array([problem.partition.cell(depth, i) for i in range(2**depth)])
    for slack in (0.05, 0.3, 2.0):
        averages = problem.cell_values(cells[None])[0]
        found, balls = checks.near_optimal_cells(values, size, depth, deepest, slack)
        assert found == (averages >= values.max() - slack).sum()
        centres = [-1.0]
        for place in x[values >= values.max() - slack]:
            if place - centres[-1] >= 2.0**-depth / size - 1e-12:
                centres.append(place)
        assert balls == len(centres) - 1
    assert balls >= size * 2**depth  # every representative is one


def test_statements_that_a_computation_decides():
    """Azuma's bound needs the range 2 of fair signs; Lemma 2 and Proposition 2 hold."""
    assert checks.CHECKS["azuma"]({"longest": 40, "range": 2.0}, {}).holds
    assert not checks.CHECKS["azuma"]({"longest": 40, "range": 1.2}, {}).holds
    assert checks.CHECKS["lemma_2"]({"scale": 14, "sizes": [1, 2], "deepest": 7}, {}).holds
    assert not checks.CHECKS["lemma_2"]({"scale": 0.1, "sizes": [1], "deepest": 2}, {}).text.startswith("0 of 0")
    assert checks.CHECKS["proposition_2"]({"draws": 50}, {}).holds


@pytest.mark.parametrize("function", ["f1", "f2", "f3"])
def test_all_deviations_together_are_the_authors_code(function):
    """The audit's last step of each algorithm is that of the convention ``as_coded``, on the authors' function."""
    cells = {(c.series, c.budget): c for c in EXPERIMENTS[f"audit_{function}"].cells("smoke")}
    last = {key: cell for key, cell in cells.items() if key[0].endswith(" | all of these")}
    assert len({series for series, _ in last}) == 5
    for (series, budget), cell in last.items():
        first = cells[series.removesuffix(" | all of these"), budget]
        assert cell.policy == first.policy.as_coded()
        assert cell.build().design == first.build().as_coded().design


def test_every_run_of_a_figure_keeps_to_its_budget():
    """Series with a run for each budget have one for every budget of the other series."""
    cells = EXPERIMENTS["fig4_f1"].cells("laptop")
    for series in ("StoOO", "AVE-StoOO"):
        assert [c.budget for c in cells if c.series == series and c.convention == "as_coded"] == list(range(1, 81))
    assert {c.policy.budget for c in cells if c.budget is None} == {80}

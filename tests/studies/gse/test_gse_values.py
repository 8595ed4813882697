"""Values, tables and figures of the GSE paper, and how much of a gap changes close, on rows whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from frames import runs
from scipy import stats

from bestarm_lab.figures.values import COLUMNS, as_values, summarise
from bestarm_lab.study import load_study, load_styles
from bestarm_studies.gse.adaptive.figures import accuracy_with_difference
from bestarm_studies.gse.beyond.clusters import cluster_table, cluster_values
from bestarm_studies.gse.beyond.stages import effects_by_arms
from bestarm_studies.gse.gse_and_designs.designs import rounding_table, rounding_values
from bestarm_studies.gse.od_linbai.checks import first_stage, probability_of_losing
from bestarm_studies.gse.paper_against_code.effects import largest_effects, pulls_spent
from bestarm_studies.gse.problem.gaps import instance_figure, instance_gaps
from bestarm_studies.gse.problem.settings import best_settings, setting_curves, setting_table, setting_values
from bestarm_studies.gse.static.checks import over_static, static_accuracy
from bestarm_studies.gse.theory.error_bounds import bound_figure, bound_plot_values
from bestarm_studies.gse.values import ACCURACY, accuracy_differences, accuracy_effects, differences_from, per_arm
from bestarm_studies.gse.verdicts import gap as gaps


def rows_with(accuracies: dict[tuple[str, int, int], float], n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return rows of (series, n_arms, budget) with these accuracies; series of one cell share their luck."""
    rng, frames = np.random.default_rng(seed), []
    luck = {}
    for (series, n_arms, budget), p in accuracies.items():
        u = luck.setdefault((n_arms, budget), rng.random(n))
        correct = (np.where(rng.random(n) < 0.5, u, rng.random(n)) < p).astype(float)
        frames.append(runs({series: correct}, "correct", n_arms=n_arms, budget=budget, pulls=budget))
    return pd.concat(frames, ignore_index=True).assign(simple_regret=lambda rows: 1.0 - rows["correct"])


ROWS = rows_with({("A", 4, 40): 0.7, ("B", 4, 40): 0.7, ("A", 8, 80): 0.7, ("B", 8, 80): 0.5})


def test_accuracy_by_pulls_per_arm():
    values = summarise(per_arm(ROWS), ACCURACY, x="n_arms", panel="B/K = {per_arm:g}", profile="smoke")
    assert set(values["panel"]) == {"B/K = 10"}
    line = values[(values["series"] == "B") & (values["x"] == 8)].set_index("statistic")["value"]
    mine = ROWS[(ROWS["series"] == "B") & (ROWS["n_arms"] == 8)]["correct"].mean()
    assert (line["accuracy"], line["simple regret"], line["pulls"]) == pytest.approx((mine, 1 - mine, 80))


def test_differences_of_accuracy_are_paired():
    """The t-interval of the differences run by run, in each cell."""
    found = accuracy_differences(ROWS, "A", "B", x="n_arms", panel="B/K", profile="smoke").set_index("x")
    cell = ROWS[ROWS["n_arms"] == 8].pivot(index="replication", columns="series", values="correct")
    difference = cell["A"] - cell["B"]
    low, high = stats.t.interval(0.95, 399, difference.mean(), stats.sem(difference))
    assert found.loc[8, ["value", "low", "high"]].tolist() == pytest.approx([difference.mean(), low, high])
    assert (set(found["series"]), found["n"].tolist()) == ({"A minus B"}, [400, 400])


def test_differences_from_one_algorithm_are_named_by_the_others():
    layout = {"x": "n_arms", "panel": "B/K", "profile": "smoke"}
    found = differences_from(ROWS, "B", ["A"], **layout)
    wanted = accuracy_differences(ROWS, "A", "B", **layout)
    pd.testing.assert_frame_equal(found.drop(columns="series"), wanted.drop(columns="series"))
    assert set(found["series"]) == {"A"}


def test_the_best_setting_is_that_of_the_highest_mean_accuracy():
    """Averaged over the cells, each counting once."""
    rows = rows_with({("A | x", 4, 40): 0.9, ("A | x", 8, 80): 0.2, ("A | y", 4, 40): 0.7, ("A | y", 8, 80): 0.6})
    found = best_settings(rows, ["n_arms"])
    assert found.loc[found["chosen"], "setting"].tolist() == ["y"]


def test_a_figure_with_a_row_of_differences():
    values = summarise(ROWS, ACCURACY, x="n_arms", panel="one", profile="smoke")
    differences = accuracy_differences(ROWS, "A", "B", x="n_arms", panel="one", profile="smoke")
    above, below = accuracy_with_difference(values, differences, ["A", "B"], title="A is better").axes
    shown = [line for line in below.lines if line.get_label() == "A minus B"]
    np.testing.assert_allclose(shown[0].get_ydata(), differences["value"])
    assert "a guess, 1/K" in [line.get_label() for line in above.lines]


def test_each_algorithm_has_its_own_bound_and_zero_errors_are_open():
    """A bound has its algorithm's colour; no error in any run is an open marker at the interval's upper end."""
    load_styles("gse")
    lines = [(10, 0.1, 0.05, 0.2, 1000), (100, 0.0, 0.0, 0.004, 1000)]
    table = pd.DataFrame(lines, columns=["budget", "error", "low", "high", "n"])
    bounds = {"GSE-Log": [1.0, 0.5], "GSE-Log-FWG": [1.0, 0.1]}
    tables = [table.assign(series=series, bound=bound) for series, bound in bounds.items()]
    values = bound_plot_values({"logistic: Equation 5": pd.concat(tables)}, "smoke")
    (axis,) = bound_figure(as_values(values), title="T").axes
    ends = {line.get_color(): line.get_ydata()[-1] for line in axis.lines if len(line.get_xdata()) == 2}
    assert {0.5, 0.1} <= set(ends.values())
    assert [line.get_ydata().tolist() for line in axis.lines if line.get_markerfacecolor() == "white"] == [[0.004]] * 2


def test_a_gap_is_a_band_and_what_closes_it_are_marks():
    lines = [("GSE", "gap", 0.2), ("kept", "gap", 0.05), ("kept", "closed", 0.15), ("other", "closed", 0.0)]
    values = as_values(pd.DataFrame(lines, columns=["series", "statistic", "value"]), panel="all (3)", profile="smoke")
    values = values.assign(low=values["value"] - 0.01, high=values["value"] + 0.01)
    (axis,) = gaps.closing_figure(values, {"all (3)": "all"}, names={"kept": "Kept", "other": "Other"}, title="T").axes
    marks = next(line for line in axis.lines if line.get_label() == "closed by the change")
    assert marks.get_xdata().tolist() == [0.15, 0.0]
    assert next(line for line in axis.lines if line.get_label().startswith("the gap")).get_xdata() == [0.2, 0.2]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["Kept", "Other"]


def test_gaps_of_instances_are_drawn_from_the_smallest_to_the_largest_median():
    lines = [("a", "smallest median", 0.01), ("a", "largest median", 0.1), ("a", "largest of all", 0.5)]
    values = as_values(pd.DataFrame(lines, columns=["series", "statistic", "value"]), profile="smoke")
    (axis,) = instance_figure(values, {"a": "Figure A"}, title="T").axes
    assert [line.get_xdata().tolist() for line in axis.lines[:2]] == [[0.01, 0.1], [0.5]]


def test_first_stage_against_draws():
    """Copies have one estimate; the best arm is lost if those above it fill the places that are kept."""
    rng, dimension, copies, keep, gap, pulls = np.random.default_rng(0), 6, 2, 3, 0.5, 4.0
    estimates = rng.standard_normal((40_000, dimension)) / np.sqrt(pulls) + gap * (np.arange(dimension) == 0)
    above = copies * (estimates[:, 1:] > estimates[:, :1]).sum(axis=1)
    assert probability_of_losing(dimension, copies, keep, gap, pulls) == pytest.approx((above >= keep).mean(), abs=0.01)
    decision = first_stage({"dimension": 16, "budget": 640, "gap": 1, "copies": [1, 2, 4]})
    assert (decision.holds, decision.text.count("K = ")) == (True, 3)
    assert not first_stage({"dimension": 16, "budget": 640, "gap": 1, "copies": [4, 1]}).holds


def test_accuracy_of_equal_pulls_against_draws():
    rng, gap, variance, budget = np.random.default_rng(0), 1.0, 10.0, 320
    means = rng.standard_normal((40_000, 16)) * np.sqrt(variance * 16 / budget) + gap * (np.arange(16) == 0)
    accuracy = static_accuracy(gap, variance, budget)
    assert accuracy == pytest.approx((means.argmax(axis=1) == 0).mean(), abs=0.01)
    assert static_accuracy(0.0, variance, budget) == pytest.approx(1 / 16)
    rows = pd.DataFrame({"series": "GSE-Lin", "replication": [0, 1], "correct": [1, 0], "gap": gap, "budget": budget})
    assert list(over_static(rows, {"variance": variance})["GSE-Lin"]) == [1.0 - accuracy, -accuracy]


def outcomes(series: dict[str, float], n_arms: int = 8, n: int = 50) -> pd.DataFrame:
    """Return rows in which a share of the runs is correct, the first ones."""
    correct = {name: (np.arange(n) < share * n).astype(float) for name, share in series.items()}
    return runs(correct, "correct", n_arms=n_arms, budget=20 * n_arms, pulls=20.0 * n_arms)


def test_effects_are_those_of_each_number_of_arms():
    """A panel for each K that was run; the largest change comes first, whatever its sign."""
    rows = pd.concat([outcomes({"A": 0.5, "A | up": 0.6, "A | down": 0.1}, n_arms=k) for k in (8, 16)])
    found = accuracy_effects(rows, [8, 16, 32], name="test", profile="smoke")
    assert found["panel"].unique().tolist() == ["test, K = 8", "test, K = 16"]
    table = found.set_index(["panel", "x"])["value"]
    assert table["test, K = 8", ""] == pytest.approx(0.5)
    assert table["test, K = 16", "down"] == pytest.approx(-0.4)
    assert largest_effects(pd.concat([found, found.assign(panel="again")]), n=4)["difference"].tolist() == ["down"] * 4


def test_a_budget_that_was_not_run_is_the_largest_there_is():
    found = accuracy_effects(outcomes({"A": 0.5}), [8], name="test", profile="smoke", budget=7)
    assert found["value"].tolist() == [0.5]


def test_only_budgets_that_are_off_are_listed():
    """A share within the tolerance is empty."""
    rows = outcomes({"A": 0.5, "B | published schedule": 0.5})
    rows.loc[rows["series"] != "A", "pulls"] *= 1.25
    table = pulls_spent({"audit": rows})
    assert table.to_dict("records") == [{"audit": "audit", "series": "B | authors' schedule", "K = 8": "1.25"}]


def test_the_best_setting_is_bold_and_numbers_make_curves():
    """Settings in words have no place on an axis."""
    series = {"A | δ = 0.1": 0.5, "A | δ = 0.4": 0.6, "B | linear": 0.3}
    values = setting_values({"tune_static": outcomes(series)}, "smoke")
    assert setting_table(values)["accuracy"].tolist() == ["δ = 0.1: 0.500 · δ = 0.4: **0.600**", "linear: **0.300**"]
    curves = setting_curves(values)
    assert curves[["panel", "series", "x"]].to_numpy().tolist() == [["A", "static", 0.1], ["A", "static", 0.4]]


def test_rounded_designs_and_clusters():
    """Apportionment spends exactly what it is given; clusters give the lone arm half of the pulls."""
    values = rounding_values(np.random.default_rng(0).standard_normal((3, 8, 3)), [16], "smoke")
    assert set(COLUMNS) == set(values.columns)
    table = rounding_table(values).set_index("rounding")
    assert table.loc["apportionment", "spent"] == 16.0
    assert table.loc["ceiling", "spent"] >= 16.0
    clusters = cluster_table(cluster_values([8], 0, "smoke")).iloc[0]
    assert (clusters["clusters: pulls of the lone arm"], clusters["uniform: leverage"]) == ("8", "0.5000")


def test_gaps_of_the_adaptive_instance():
    """1 - cos 0.1 over the root of ten."""
    found = instance_gaps({"fig2": load_study("gse").experiments["fig2"]}, "smoke")
    assert set(COLUMNS) == set(found.columns)
    line = found.set_index("statistic")["value"]
    assert line["smallest median"] == pytest.approx((1 - np.cos(0.1)) / np.sqrt(10))
    assert line["largest of all"] == line["smallest median"]


def test_effects_become_curves_over_the_number_of_arms():
    rows = pd.concat([outcomes({"A": 0.5, "A | up": 0.6}, n_arms=k) for k in (8, 16)])
    curves = effects_by_arms(accuracy_effects(rows, [8, 16], name="test", profile="smoke"), "kind")
    assert curves[["panel", "series", "x"]].to_numpy().tolist() == [["kind", "up", 8], ["kind", "up", 16]]
    assert curves["value"].tolist() == pytest.approx([0.1, 0.1])


def cell(shares: dict[str, float], n: int = 100) -> gaps.Cell:
    """Return a cell in which series succeed in the first runs, and the series "rival" is the best rival."""
    runs = {name: pd.Series((np.arange(n) < share * n).astype(float)) for name, share in shares.items()}
    return gaps.Cell("adaptive", "synthetic", runs.pop("rival"), pd.DataFrame(runs))


def test_gap_and_what_closes_it_are_means_over_cells():
    """A gap of 0.4 and of 0.2; the change closes 0.2 of the one and opens the other by 0.1."""
    shares = {"rival": 0.8, "A": 0.4, "A | better": 0.6, "A | there": 0.4}
    cells = [cell(shares), cell({"rival": 0.7, "A": 0.5, "A | better": 0.4})]
    changes = {"better": "A | better", "not everywhere": "A | there"}
    values = gaps.gap_values({"both": cells, "none": []}, {"A": "A"}, changes, "smoke")
    assert values.set_index(["panel", "series", "statistic"])["value"].to_dict() == pytest.approx(
        {("both (2)", "A", "gap"): 0.3, ("both (2)", "better", "gap"): 0.25, ("both (2)", "better", "closed"): 0.05}
    )
    table = gaps.gap_table(values).set_index("closed by")["both (2)"]
    assert table["gap of A"].startswith("0.300 [")
    assert table["better"].startswith("0.050 [")
    assert table["better"].endswith(", 17%")


def test_only_runs_count_that_the_rival_has():
    """The change is worth 1 in the runs that the rival lacks, and nothing in the others."""
    runs = np.arange(40)
    table = pd.DataFrame({"A": 0.0, "A | late": (runs >= 20).astype(float)}, index=runs)
    one = gaps.Cell("adaptive", "synthetic", pd.Series(1.0, index=runs[:20]), table)
    values = gaps.gap_values({"one": [one]}, {"A": "A"}, {"late": "A | late"}, "smoke")
    values = values.set_index(["series", "statistic"])
    assert (values.loc[("late", "closed"), "value"], values.loc[("late", "gap"), "value"]) == (0.0, 1.0)
    assert (values["n"] == 20).all()


def test_cells_that_share_their_noise_are_not_independent():
    """The same draws twice say no more than once; other draws narrow the interval by the root of two."""
    rng = np.random.default_rng(0)
    one, other = (pd.Series(rng.standard_normal(2000)) for _ in range(2))
    mean, low, high = gaps.mean_over_cells([one])
    assert mean == pytest.approx(one.mean())
    assert high - mean == pytest.approx(stats.norm.ppf(0.975) * one.std() / np.sqrt(2000), rel=1e-3)
    assert gaps.mean_over_cells([one, one]) == pytest.approx((mean, low, high))
    _, low_apart, high_apart = gaps.mean_over_cells([one, other.set_axis(np.arange(2000, 4000))])
    assert (high_apart - low_apart) / (high - low) == pytest.approx(1 / np.sqrt(2), rel=0.05)


def test_intervals_cover_as_often_as_they_say():
    """Two cells with other numbers of runs that share half of their noise: 95% within three standard errors."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(1000):
        shared = rng.standard_normal(60)
        first = pd.Series(shared + rng.standard_normal(60))
        _, low, high = gaps.mean_over_cells([first, pd.Series((shared + rng.standard_normal(60))[:30])])
        covered += low < 0 < high
    assert abs(covered / 1000 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 1000) + 0.01  # normal quantiles at n = 30


def test_cells_are_those_that_the_claim_counts():
    """Of rows that have one cell of Figure 2, all other cells are left out; so is one in which both sides guess."""
    test = load_study("gse").claims["GSE-C1"].test
    n = np.arange(100)
    names = ["GSE-Lin", "LinUCB", "GSE-Lin | rewards kept"]
    rows = {name: pd.DataFrame({"convention": [], "gap": [], "n_arms": [], "budget": []}) for name in gaps.GROUPS}
    for shares, counted in (((0.3, 0.6, 0.5), 1), ((0.12, 0.13, 0.5), 0)):
        correct = {name: (n < 100 * share).astype(float) for name, share in zip(names, shares, strict=True)}
        here = runs(correct, "correct", n_arms=8, budget=80)
        other = here[here["series"] == "GSE-Lin"].assign(series="GSE-Lin-FWG | η = K")
        found = gaps.gap_cells(test, rows | {"fig2": here}, {"fig2": pd.concat([other, here])})
        assert len(found) == counted
        if counted:
            assert found[0].rival.mean() == pytest.approx(0.6)
            assert set(found[0].table) == {*names, "GSE-Lin-FWG | η = K"}

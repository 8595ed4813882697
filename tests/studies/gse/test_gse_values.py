"""Values and figures of the GSE paper, on rows whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bestarm_lab.figures.values import as_values, summarise
from bestarm_lab.study import load_styles
from bestarm_studies.gse.adaptive.figures import accuracy_with_difference
from bestarm_studies.gse.od_linbai.checks import first_stage, probability_of_losing
from bestarm_studies.gse.problem.gaps import instance_figure
from bestarm_studies.gse.problem.settings import best_settings
from bestarm_studies.gse.static.checks import over_static, static_accuracy
from bestarm_studies.gse.theory.error_bounds import bound_figure, bound_plot_values
from bestarm_studies.gse.values import ACCURACY, accuracy_differences, differences_from, per_arm
from bestarm_studies.gse.verdicts.gap import closing_figure


def rows_with(accuracies: dict[tuple[str, int, int], float], n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return rows of (series, n_arms, budget) with these accuracies; series of one cell share their luck."""
    rng, frames = np.random.default_rng(seed), []
    luck = {}
    for (series, n_arms, budget), p in accuracies.items():
        u = luck.setdefault((n_arms, budget), rng.random(n))
        correct = (np.where(rng.random(n) < 0.5, u, rng.random(n)) < p).astype(float)
        frame = pd.DataFrame({"replication": np.arange(n), "correct": correct, "simple_regret": 1.0 - correct})
        frames.append(frame.assign(series=series, n_arms=n_arms, budget=budget, pulls=budget))
    return pd.concat(frames, ignore_index=True).assign(convention="as_written", data="synthetic", key="k")


GRID = {("A", 4, 40): 0.7, ("B", 4, 40): 0.7, ("A", 8, 80): 0.7, ("B", 8, 80): 0.5}
ROWS = rows_with(GRID)


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
    tables = [
        pd.DataFrame(
            {
                "series": s,
                "budget": [10, 100],
                "error": [0.1, 0.0],
                "low": [0.05, 0.0],
                "high": [0.2, 0.004],
                "bound": bounds,
                "n": 1000,
            }
        )
        for s, bounds in (("GSE-Log", [1.0, 0.5]), ("GSE-Log-FWG", [1.0, 0.1]))
    ]
    values = bound_plot_values({"logistic: Equation 5": pd.concat(tables)}, "smoke")
    (axis,) = bound_figure(as_values(values), title="T").axes
    ends = {line.get_color(): line.get_ydata()[-1] for line in axis.lines if len(line.get_xdata()) == 2}
    assert {0.5, 0.1} <= set(ends.values())
    assert [line.get_ydata().tolist() for line in axis.lines if line.get_markerfacecolor() == "white"] == [[0.004]] * 2


def test_a_gap_is_a_band_and_what_closes_it_are_marks():
    lines = [("GSE", "gap", 0.2), ("kept", "gap", 0.05), ("kept", "closed", 0.15), ("other", "closed", 0.0)]
    values = as_values(pd.DataFrame(lines, columns=["series", "statistic", "value"]), panel="all (3)", profile="smoke")
    values = values.assign(low=values["value"] - 0.01, high=values["value"] + 0.01)
    figure = closing_figure(values, {"all (3)": "all"}, names={"kept": "Kept", "other": "Other"}, title="T")
    (axis,) = figure.axes
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
    found = probability_of_losing(dimension, copies, keep, gap, pulls)
    assert found == pytest.approx((above >= keep).mean(), abs=0.01)
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

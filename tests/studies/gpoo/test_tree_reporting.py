"""Trees as rows, and their pictures, on cases whose answer is known."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hills import searched

from bestarm.policies.cells.gpoo import Gpoo
from bestarm.streams import Streams
from bestarm_lab.figures.values import COLUMNS
from bestarm_studies.gpoo.aggregated_feedback.posteriors import cell_statistics, feedback_values
from bestarm_studies.gpoo.aggregated_gp import AggregatedGP, average_cells
from bestarm_studies.gpoo.aggregation.experiments import pattern_rows
from bestarm_studies.gpoo.aggregation.trees import tree_figure
from bestarm_studies.gpoo.functions import reward_function
from bestarm_studies.gpoo.paper_against_code.causes import precision_rows
from bestarm_studies.gpoo.tree_and_gpoo.cells import adaptive_tree_figure, quantities_figure
from bestarm_studies.gpoo.tree_and_gpoo.growth import breadth_first_values, growth_values
from bestarm_studies.gpoo.tree_and_gpoo.roadmap import roadmap_figure
from bestarm_studies.gpoo.trees import draw_tree, growth_rows, nodes_of, tree_rows, tree_values
from bestarm_studies.gpoo.values import function_values

PROBLEM = partial(reward_function, name="f2")
GPOO = Gpoo("GPOO", 20)
SEARCHES = {"GPOO (S = 1)": (GPOO, PROBLEM), "GPOO (S = 10)": (GPOO, partial(PROBLEM, n_representatives=10))}


@pytest.fixture(scope="module")
def trees():
    return tree_rows(SEARCHES, 1, 5, rounds=[8, 21], conventions=("as_written", "as_coded"), posterior=True)


def test_nodes_tell_what_algorithm_1_compares(trees):
    """b = mean + width + delta in a leaf, the largest b is chosen, and the posterior is the dense one."""
    nodes = trees[(trees["kind"] == "node") & (trees["convention"] == "as_written")]
    for _, mine in nodes.groupby(["series", "round"]):
        leaves = mine[mine["leaf"].astype(bool)]
        np.testing.assert_allclose(leaves["bound"], leaves["mean"] + leaves["width"] + leaves["delta"], atol=1e-12)
        assert leaves[leaves["chosen"].astype(bool)].iloc[0]["bound"] == pytest.approx(leaves["bound"].max(), abs=1e-8)
        assert mine["draws"].sum() == mine["round"].iloc[0] - 1


def test_the_posterior_of_f_is_that_of_the_model_used_alone(trees):
    bandit = reward_function("f2", n_representatives=10)
    mine = trees[(trees["series"] == "GPOO (S = 10)") & (trees["convention"] == "as_written") & (trees["round"] == 21)]
    seen = mine[mine["kind"] == "observation"]
    curve = mine[mine["kind"] == "posterior"]
    # the cells in order, from the run itself
    policy = Gpoo("GPOO", 20)
    state, _ = searched(policy, bandit, Streams(5, bandit.label, np.array([0])), 20)
    points, averaging = average_cells(bandit.partition, state.observed[0])
    found = AggregatedGP(policy.kernel, 0.01).fit(points, seen["mean"].to_numpy(), averaging)
    x = curve["low"].to_numpy()[:, None]
    np.testing.assert_allclose(found.predict(x)[0][0], curve["mean"], atol=1e-8)
    beta = policy.beta_of(np.array([20]), 2)[0]
    np.testing.assert_allclose(np.sqrt(beta * found.predict(x)[1][0]), curve["width"], atol=1e-6)


def test_tree_pictures_show_every_node_once(trees):
    values = tree_values(trees, "smoke")
    assert list(values.columns) == COLUMNS
    mine = values[(values["panel"] == "tree, t = 21") & (values["series"] == "GPOO (S = 1)")]
    mine = mine[mine["convention"] == "as_written"]
    nodes = nodes_of(mine)
    rows = trees[(trees["kind"] == "node") & (trees["round"] == 21) & (trees["series"] == "GPOO (S = 1)")]
    rows = rows[rows["convention"] == "as_written"]
    assert len(nodes) == len(rows)
    np.testing.assert_allclose(sorted(nodes["mean"]), sorted(rows["mean"].astype(float)))
    _, axis = plt.subplots()
    draw_tree(axis, mine)
    edges = [line for line in axis.lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "-"]
    assert len(edges) >= len(rows) - 1
    marks = [line for line in axis.lines if str(line.get_label()).startswith(("not eval", "evaluated"))]
    assert sum(len(line.get_xdata()) for line in marks) == len(rows)
    for made in (
        tree_figure(values[values["panel"].str.endswith("21")].query("convention == 'as_coded'"), title="T"),
        adaptive_tree_figure(mine, curve(), title="T"),
        quantities_figure([("t = 21", mine)], curve(), 2.0, title="T"),
        roadmap_figure(),
    ):
        made.canvas.draw()
        assert made.get_size_inches()[0] <= 8


def curve():
    values = function_values(reward_function("f2"), "f2", "as_written", "smoke")
    return values[values["statistic"] == "f"]


def test_growth_counts_leaves_and_breadth_first_runs():
    rows = growth_rows(SEARCHES, 4, 5, conventions=("as_written", "as_coded"))
    written = rows[(rows["convention"] == "as_written") & (rows["series"] == "GPOO (S = 1)")]
    assert (written["n_leaves"] == 1 + written["n_divided"]).all()
    assert written[written["round"] == 1]["n_leaves"].eq(1).all()
    values = growth_values(rows, "f2", "smoke").set_index(["convention", "series", "x"])["value"]
    last = written[written["round"] == written["round"].max()]
    assert values["as_written", "GPOO (S = 1)", last["round"].iloc[0]] == pytest.approx(last["deepest"].mean())
    first = breadth_first_values(rows, "smoke").set_index(["convention", "series", "x"])["value"]
    assert first["as_written", "GPOO (S = 1)", 7] == 4  # with delta = 14 the first seven are 0, 1, 1, 2, 2, 2, 2
    spoilt = written.assign(chosen_depth=written["chosen_depth"].where(written["round"] != 3, 0))
    assert breadth_first_values(spoilt, "smoke").set_index("x")["value"][7] == 0


def test_pattern_errors_are_distances_to_f_and_to_its_averages():
    """With much data and little noise the model is near f; the two errors differ by the smoothing."""
    many = {"A": (Gpoo("GPOO", 60, delta_scale=14.0), partial(PROBLEM, sigma=0.001))}
    rows = pattern_rows(many, 2, 5, budgets=[1, 60], width=0.03125)
    early, late = (rows[rows["budget"] == b] for b in (1, 60))
    assert late["error"].max() < 0.5 * early["error"].min()
    assert (late["error"] != late["smoothed_error"]).all()


def test_precision_is_of_the_nodes_that_a_tree_has(trees):
    """In the run whose nodes are written down the means over divided nodes and leaves are these."""
    rows = precision_rows(SEARCHES, 3, 5, budgets=[7, 20], conventions=("as_written", "as_coded"))
    found = rows[rows["replication"] == 0].set_index(["convention", "series", "budget"])
    nodes = trees[trees["kind"] == "node"].assign(error=lambda n: (n["mean"] - n["truth"]).abs())
    grouped = nodes.groupby(["convention", "series", "round", "leaf"])[["error", "sd"]].mean().reset_index()
    assert len(grouped) == len(found) == 16
    for node in grouped.itertuples():
        series = f"{'leaves' if node.leaf else 'divided nodes'} of {node.series}"
        line = found.loc[(node.convention, series, node.round - 1)]
        np.testing.assert_allclose(line[["error", "sd"]].astype(float), [node.error, node.sd])


def test_feedback_of_integrals_says_less():
    given, widths = (np.arange(7, 15), Gpoo("G", 1).kernel, Streams.first(1)), {}
    for name in ("average", "integral"):
        values = feedback_values(reward_function("f1", feedback=name), *given, name, "smoke")
        widths[name] = (values["high"] - values["low"]).mean()
    assert widths["average"] < 0.7 * widths["integral"]
    sizes = cell_statistics(Gpoo("G", 1).kernel, range(4), [1, 10], 0.1, "smoke").set_index(["series", "x"])["value"]
    assert sizes["S = 1", 0] == pytest.approx(np.sqrt(0.1))
    for h in range(4):
        np.testing.assert_allclose(sizes["integral", h], sizes["whole cell", h] / 2**h)

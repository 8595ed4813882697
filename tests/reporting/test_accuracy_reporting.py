"""Accuracy in cells: summaries, figures, and every test of claims on rows whose truth is known."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from bestarm.reporting.accuracy_claims import ACCURACY_TESTS, cells_of, describe_accuracy
from bestarm.reporting.accuracy_figures import accuracy_figure
from bestarm.reporting.accuracy_summaries import accuracy_table, best_settings, in_cells, summarise_accuracy
from bestarm.reporting.claim_tests import experiments_of
from bestarm.reporting.claims import evaluate


def rows_with(accuracies: dict[tuple[str, int, int], float], n: int = 800, seed: int = 0) -> pd.DataFrame:
    """Return rows of (series, n_arms, budget) with these accuracies; series of one cell share their luck."""
    rng, frames = np.random.default_rng(seed), []
    luck = {}
    for (series, n_arms, budget), p in accuracies.items():
        u = luck.setdefault((n_arms, budget), rng.random(n))
        mixed = np.where(rng.random(n) < 0.5, u, rng.random(n))
        correct = (mixed < p).astype(float)
        frames.append(
            pd.DataFrame(
                {
                    "convention": "as_written", "series": series, "n_arms": n_arms, "budget": budget,
                    "replication": np.arange(n), "correct": correct, "simple_regret": 1.0 - correct, "pulls": budget,
                    "data": "synthetic", "key": "k", "seconds": 1e-3,
                }
            )
        )  # fmt: skip
    return pd.concat(frames, ignore_index=True)


GRID = {("A", k, 10 * k): a for k, a in ((4, 0.7), (8, 0.7), (16, 0.7))} | {
    ("B", k, 10 * k): b for k, b in ((4, 0.7), (8, 0.55), (16, 0.4))
} | {("C", k, 10 * k): 0.5 for k in (4, 8, 16)}  # fmt: skip
ROWS = {"fig": rows_with(GRID)}


def verdict(test: dict, rows=None) -> tuple[str, float]:
    """Return the verdict on one claim and its effect."""
    claims = {"X": {"claim": "x", "where": "here", "test": test}}
    rows = rows or ROWS
    found = evaluate("gse", claims, rows, dict.fromkeys(rows, "laptop")).iloc[0]
    return found["verdict"], found["effect"]


CELLS = [{"experiment": "fig", "n_arms": [8, 16], "per_arm": 10}]
FIRST = [{"experiment": "fig", "n_arms": 4, "per_arm": 10}]
ENDS = [{"experiment": "fig", "n_arms": [4, 16], "per_arm": 10}]
ALL = [{"experiment": "fig", "n_arms": [4, 8, 16], "per_arm": 10}]
BEST = {"kind": "mostly_best", "cells": CELLS}
RANK = {"kind": "has_rank", "rank": 1, "among": ["A", "B", "C"], "cells": CELLS}


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ({"kind": "more_accurate", "left": "A", "right": "B", "cells": CELLS}, "reproduced"),
        ({"kind": "more_accurate", "left": "A", "right": ["B", "C"], "margin": 0.05, "cells": CELLS}, "reproduced"),
        ({"kind": "more_accurate", "left": "B", "right": "A", "cells": CELLS}, "contradicted"),
        ({"kind": "more_accurate", "left": "A", "right": "B", "margin": 0.5, "cells": CELLS}, "contradicted"),
        ({"kind": "as_accurate", "left": "A", "right": "B", "within": 0.1, "cells": FIRST}, "reproduced"),
        ({"kind": "as_accurate", "left": "A", "right": "B", "within": 0.1, "cells": CELLS}, "contradicted"),
        (BEST | {"name": "A", "left": "A", "right": ["B", "C"], "share": 0.9}, "reproduced"),
        (BEST | {"name": "C", "left": "C", "right": ["A", "B"], "share": 0.5}, "contradicted"),
        (RANK | {"series": "A", "share": 1.0}, "reproduced"),
        (RANK | {"series": "C", "share": 0.5}, "contradicted"),
        ({"kind": "contrast", "direction": "falls", "left": "B", "cells": ENDS}, "reproduced"),
        ({"kind": "contrast", "direction": "rises", "left": "B", "right": "A", "cells": ENDS}, "contradicted"),
        ({"kind": "trend", "along": "n_arms", "left": "A", "right": "B", "cells": ALL}, "reproduced"),
        ({"kind": "trend", "along": "n_arms", "left": "B", "right": "A", "cells": ALL}, "contradicted"),
    ],
)
def test_verdicts_where_the_truth_is_known(test, expected):
    """Each kind, both ways."""
    assert verdict(test)[0] == expected
    assert describe_accuracy(test)


def test_nothing_is_decided_without_a_difference():
    """Under the null hypothesis about one claim in twenty is decided either way."""
    decided = 0
    for seed in range(60):
        rows = {"fig": rows_with({("A", 4, 40): 0.5, ("B", 4, 40): 0.5}, n=200, seed=seed)}
        test = {
            "kind": "more_accurate",
            "left": "A",
            "right": "B",
            "cells": [{"experiment": "fig", "n_arms": 4, "per_arm": 10}],
        }
        decided += verdict(test, rows)[0] != "inconclusive"
    assert decided <= 14


def test_series_with_fewer_runs_are_compared_on_the_runs_they_share():
    """And counted with their own number of runs where wins are counted."""
    rows = {"fig": ROWS["fig"][(ROWS["fig"]["series"] != "B") | (ROWS["fig"]["replication"] < 300)]}
    assert verdict({"kind": "more_accurate", "left": "A", "right": "B", "cells": CELLS}, rows)[0] == "reproduced"
    won = {"kind": "mostly_best", "name": "A", "left": "A", "right": ["B", "C"], "share": 0.9, "cells": CELLS}
    assert verdict(won, rows)[0] == "reproduced"


def test_effects_are_differences_of_accuracy():
    """The interval of the deciding comparison contains the true difference."""
    claims = {
        "X": {
            "claim": "x",
            "where": "here",
            "test": {"kind": "more_accurate", "left": "A", "right": "B", "cells": CELLS[:1]},
        }
    }
    found = evaluate("gse", claims, ROWS, {"fig": "laptop"}).iloc[0]
    assert found["low"] < 0.15 < found["high"]
    assert "2 of 2 comparisons hold" in found["decided_by"]


def test_cells_and_their_errors():
    """Every combination of values; a cell or a series without rows is an error, not an empty success."""
    test = {"cells": [{"experiment": "fig", "n_arms": [4, 8], "per_arm": 10}]}
    assert [name for name, _ in cells_of(test, ROWS)] == [
        "fig: n_arms = 4, per_arm = 10",
        "fig: n_arms = 8, per_arm = 10",
    ]
    assert experiments_of(test) == ["fig"]
    with pytest.raises(ValueError, match=r"no rows in the cell fig: n_arms = 5"):
        list(cells_of({"cells": [{"experiment": "fig", "n_arms": 5}]}, ROWS))
    with pytest.raises(ValueError, match=r"none of the series D was run; there are: A, B, C"):
        ACCURACY_TESTS["more_accurate"]({"left": "D", "right": "A", "cells": CELLS}, ROWS)
    assert len(in_cells(ROWS["fig"], {"n_arms": [4], "series": "A"})) == 800


def test_summaries_are_frequencies_with_wilsons_interval():
    """One line for each cell and statistic."""
    values = summarise_accuracy(ROWS["fig"], "n_arms", "laptop", panel="per_arm")
    assert set(values["panel"]) == {"B/K = 10"}
    line = values[(values["series"] == "B") & (values["x"] == 8) & (values["statistic"] == "accuracy")].iloc[0]
    mine = in_cells(ROWS["fig"], {"series": "B", "n_arms": 8})["correct"]
    assert line["value"] == mine.mean()
    assert (line["low"], line["high"]) == pytest.approx(proportion_confint(int(mine.sum()), 800, method="wilson"))
    regret = values[(values["series"] == "B") & (values["x"] == 8) & (values["statistic"] == "simple regret")].iloc[0]
    assert regret["value"] == pytest.approx(1 - mine.mean())
    table = accuracy_table(values)
    assert table.shape == (3, 5)
    assert table["B/K = 10, 4"].str.contains("±").all()


def test_the_best_setting_is_that_of_the_highest_mean_accuracy():
    """Averaged over the cells, each counting once."""
    rows = rows_with({("A | x", 4, 40): 0.9, ("A | x", 8, 80): 0.2, ("A | y", 4, 40): 0.7, ("A | y", 8, 80): 0.6})
    found = best_settings(rows, ["n_arms"])
    assert found.loc[found["chosen"], "setting"].tolist() == ["y"]


def test_the_figure_shows_every_series_with_its_interval():
    """A panel for each budget, one line for each series, points at their places."""
    values = summarise_accuracy(ROWS["fig"], "n_arms", "laptop", panel="per_arm")
    figure = accuracy_figure(values, ["C", "A", "B", "absent"], xlabel="arms K", profile="laptop", chance=True)
    (axis,) = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["C", "A", "B"]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["4", "8", "16"]
    assert "n = 800" in axis.get_title() + axis.get_title(loc="left")
    drawn = axis.containers[1].lines[0].get_ydata()
    expected = values[(values["series"] == "A") & (values["statistic"] == "accuracy")].sort_values("x")["value"]
    np.testing.assert_allclose(drawn, expected)
    plt.close(figure)

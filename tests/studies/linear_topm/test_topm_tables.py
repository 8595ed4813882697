"""Tables beside the figures of the Top-m paper, and the values of its audit, on rows whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from bestarm_lab.claims.verdicts import VERDICTS
from bestarm_lab.figures.values import paired_effects
from bestarm_studies.linear_topm.paper_against_code.values import RATIO, moving, wrong_answers
from bestarm_studies.linear_topm.tables import exponent_table, growth_table, runs_table, verdict_counts
from bestarm_studies.linear_topm.values import Panel, error_values, sample_complexity_values


def rows(pulls, n=20, wrong=()):
    """Return runs in which each series always needs the same number of pulls; some series are wrong once."""
    frames = [
        pd.DataFrame({"series": s, "replication": np.arange(n), "pulls": p, "correct": 1.0}) for s, p in pulls.items()
    ]
    frame = pd.concat(frames, ignore_index=True).assign(convention="as_written", stopped=True, data="synthetic")
    frame.loc[frame["series"].isin(wrong) & (frame["replication"] == 0), "correct"] = 0.0
    return frame


def panel(letter, pulls):
    frame = rows(pulls)
    return Panel(letter, "one", "an instance", frame, sample_complexity_values(frame, letter, "smoke"))


def test_growth_is_the_ratio_of_the_means():
    table = growth_table(panel("a", {"UGapE": 10.0, "LinGame": 20.0}), panel("b", {"UGapE": 145.0, "LinGame": 20.0}))
    assert table.to_numpy().tolist() == [["UGapE", "14.5"], ["LinGame", "1.0"]]
    assert list(table.columns) == ["algorithm", "as written"]


def test_runs_are_counted_for_each_panel():
    table = runs_table([panel("a", {"UGapE": 10.0, "LinGame": 20.0})])
    assert table.to_numpy().tolist() == [["a", "an instance", 2, 20, "yes"]]


def test_exponents_are_written_with_their_intervals():
    slopes = pd.DataFrame({"series": ["A"], "slope": [-2.0], "low": [-2.1], "high": [-1.9], "p": [0.5], "n": [7]})
    assert exponent_table(slopes).to_numpy().tolist() == [["A", "-2.000 [-2.100, -1.900]", "0.500", 7]]


def test_changes_that_move_nothing_are_named_and_the_others_kept():
    """A change below the limit for every algorithm is named; below it for one only, its line is left out unnamed."""
    frame = rows({"A": 100.0, "A | x": 101.0, "A | y": 150.0, "B": 100.0, "B | y": 101.0}, wrong=["A | y"])
    ratios = paired_effects(frame, "pulls", statistic=RATIO, profile="smoke", panel="1(a)", log=True)
    errors = error_values(frame, "1(a)", "smoke")
    kept, named = moving(pd.concat([ratios, errors]))
    assert named == "x"
    assert kept[["series", "x"]].drop_duplicates().to_numpy().tolist() == [["A", ""], ["A", "y"], ["B", ""]]
    wrong = wrong_answers(errors)
    assert wrong[["algorithm", "change"]].to_numpy().tolist() == [["A", "y"]]
    assert wrong["wrong answers"].iloc[0].startswith("0.050")


def test_verdicts_are_counted_under_each_convention():
    verdicts = pd.DataFrame({"convention": ["as_written", "as_written", "as_coded"], "verdict": ["refuted"] * 3})
    table = verdict_counts(verdicts)
    assert table["refuted"].tolist() == pytest.approx([2, 1])
    assert list(table.columns) == ["run as", "refuted"]
    every = pd.DataFrame({"convention": "as_written", "verdict": VERDICTS})
    assert verdict_counts(every).iloc[0].tolist()[1:] == [1] * len(VERDICTS)  # none is left out, at the margin neither

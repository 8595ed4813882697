"""The score: headline claims by their comparisons, shares over a paper's claims, text against code."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bestarm_lab.notebooks.pages import REACH, disagreements, score_figure, score_values, shares


def record():
    """Return verdicts and comparisons of one study: two headlines, a detail, a control and an exact check."""
    lines = [
        ("A", "as_written", "headline", "", "undecided", "confirmed", 3, 1, 2, 0),
        ("A", "as_coded", "headline", "", "refuted", "refuted", 3, 0, 1, 2),
        ("B", "as_written", "headline", "", "undecided", np.nan, 1, 0, 1, 0),
        ("C", "as_written", "detail", "", "mixed", "undecided", 2, 1, 0, 1),
        ("C", "as_coded", "detail", "", "mixed", "undecided", 2, 1, 0, 1),
        ("A.a", "as_written", "", "control", "refuted", np.nan, 1, 0, 0, 1),
        ("T", "as_written", "headline", "", "confirmed", np.nan, np.nan, np.nan, np.nan, np.nan),
    ]
    names = ["id", "convention", "level", "ours", "verdict", "on_average", "comparisons", "for", "open", "against"]
    compared = [("A", "as_written", s, 100) for s in (0.2, 0.4, 0.6)] + [("A", "as_coded", -s, 100) for s in (0, 5, 9)]
    compared += [("B", "as_written", 0.1, 25)]
    comparisons = pd.DataFrame(compared, columns=["id", "convention", "strength", "n"])
    return {"s": pd.DataFrame(lines, columns=names)}, {"s": comparisons}


def test_a_headline_has_the_mean_of_its_comparisons_with_an_interval():
    verdicts, comparisons = record()
    table = score_values(verdicts, comparisons, {"A": "a is better", "B": "b", "T": "t"})
    assert table[["id", "convention"]].values.tolist() == [["A", "as_written"], ["A", "as_coded"], ["B", "as_written"]]
    first = table.iloc[0]
    assert (first["short"], first["value"]) == ("a is better", pytest.approx(0.4))
    assert first["high"] - first["value"] == pytest.approx(4.302653 * 0.2 / np.sqrt(3))  # t with two degrees of freedom
    alone = table.iloc[2]
    assert alone["high"] - alone["value"] == pytest.approx(2.063899 / 5.0)  # one comparison: that of its 25 runs


def test_shares_are_of_the_papers_own_claims_by_count_and_on_average():
    verdicts, _ = record()
    table = shares(verdicts).set_index(["convention", "by"])[["claims", "for", "open", "against"]]
    assert table.loc[("as_written", "count")].tolist() == pytest.approx([3, 0, 2 / 3, 1 / 3])
    assert table.loc[("as_written", "average")].tolist() == pytest.approx([3, 1 / 3, 2 / 3, 0])
    assert table.loc[("as_coded", "count")].tolist() == [2, 0, 0, 1]


def test_text_and_code_are_compared_where_both_were_run():
    verdicts, _ = record()
    assert disagreements(verdicts).to_dict("records") == [{"study": "s", "claims": 2, "differ": 1}]


def test_every_comparison_is_in_the_picture():
    verdicts, comparisons = record()
    values = score_values(verdicts, comparisons, {"A": "a", "B": "b"})
    figure = score_figure(values, comparisons, shares(verdicts), {"s": "S"})
    axis = figure.axes[0]
    ticks = [line for line in axis.lines if line.get_marker() == "|"]
    assert len(ticks) == 7
    assert all(abs(line.get_xdata()[0]) <= REACH for line in ticks)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a", "b"]
    bars = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert bars == ["text, 3 claims", "text, on average", "code, 2 claims", "code, on average"]
    plt.close(figure)

"""Comparison of a rebuild with what was there; tables as Markdown."""

import numpy as np
import pandas as pd

from bestarm.reporting.comparison import compare_folders, compare_values
from bestarm.reporting.section import markdown_table


def test_comparison_sorts_numbers_into_five_outcomes():
    """Equal, within half the wider interval, beyond, new and missing."""
    old = pd.DataFrame(
        {"panel": "a", "series": list("uvwx"), "x": np.nan, "statistic": "mean", "convention": "as_written",
         "value": [1.0, 2.0, 3.0, 4.0], "low": [0.5, 1.0, 2.9, 3.0], "high": [1.5, 3.0, 3.1, 5.0]}
    )  # fmt: skip
    new = old.assign(value=[1.0, 2.5, 3.5, 4.0], series=list("uvwy"))
    found = compare_values(old, new)
    assert found.groupby(level="series").first().to_dict() == {
        "u": "equal", "v": "within half the wider interval", "w": "beyond", "x": "missing", "y": "new"
    }  # fmt: skip


def test_comparison_of_folders_reports_numbers_and_changed_verdicts(tmp_path):
    """Figures are compared value by value; a changed verdict is named, an unchanged one is not."""
    values = {"panel": "a", "series": ["u"], "x": 1.0, "statistic": "m", "convention": "as_written", "value": [1.0]}
    for name, verdicts in {"old": ["confirmed", "refuted"], "new": ["undecided", "refuted"]}.items():
        figures, results = tmp_path / name / "figures" / "gse" / "01", tmp_path / name / "results" / "gse"
        figures.mkdir(parents=True)
        results.mkdir(parents=True)
        pd.DataFrame(values).assign(low=0.5, high=1.5).to_csv(figures / "fig01.csv", index=False)
        frame = pd.DataFrame({"id": ["C1", "C2"], "convention": "as_written", "verdict": verdicts})
        frame.to_csv(results / "verdicts.csv", index=False)
    counts, changed = compare_folders(tmp_path / "old", tmp_path / "new")
    assert counts["equal"].to_dict() == {"gse/01/fig01": 1}
    assert counts.drop(columns="equal").to_numpy().sum() == 0
    assert changed[["study", "id", "old", "new"]].to_numpy().tolist() == [["gse", "C1", "confirmed", "undecided"]]


def test_markdown_tables_keep_one_line_for_each_row():
    """A line break inside a cell would end the row."""
    assert markdown_table(pd.DataFrame({"a": ["x\ny"], "b": [1]})) == "| a | b |\n| --- | --- |\n| x y | 1 |\n"

"""Comparison of a rebuild with what was there; tables as Markdown."""

import numpy as np
import pandas as pd

from bestarm_lab.experiments.store import read_rows, write_rows
from bestarm_lab.lineage import UNKNOWN, record_processor, who_made
from bestarm_lab.notebooks import rebuild
from bestarm_lab.notebooks.rebuild import compare_folders, compare_rows, compare_values
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import RESULTS


def test_comparison_sorts_numbers_into_five_outcomes():
    numbers = {"value": [1.0, 2.0, 3.0, 4.0], "low": [0.5, 1.0, 2.9, 3.0], "high": [1.5, 3.0, 3.1, 5.0]}
    old = pd.DataFrame({"series": list("uvwx"), **numbers})
    old = old.assign(panel="a", x=np.nan, statistic="mean", convention="as_written")
    found = compare_values(old, old.assign(value=[1.0, 2.5, 3.5, 4.0], series=list("uvwy")))
    outcomes = ["equal", "within half the wider interval", "moved", "missing", "new"]
    assert found.groupby(level="series").first().to_dict() == dict(zip("uvwxy", outcomes, strict=True))


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


def test_rows_are_equal_within_rounding_or_moved():
    """By value; a last bit is rounding, a thousandth is not; keys are no values, and another shape has moved whole."""
    old = pd.DataFrame({"key": "a", "series": ["u", "v", "w"], "regret": [0.1, np.nan, 3.0], "pulls": [1, 2, 3]})
    new = old.assign(key="b", regret=[np.nextafter(0.1, 1.0), np.nan, 3.003], pulls=[1, 2, 4])
    assert compare_rows(old, new) == {"equal": 6, "within rounding": 1, "moved": 2}
    assert compare_rows(old, old.assign(key="b")) == {"equal": 9, "within rounding": 0, "moved": 0}
    assert compare_rows(old, new.iloc[:2]) == {"equal": 0, "within rounding": 0, "moved": 6}


def test_markdown_tables_keep_one_line_for_each_row():
    assert markdown_table(pd.DataFrame({"a": ["x\ny"], "b": [1]})) == "| a | b |\n| --- | --- |\n| x y | 1 |\n"


def test_a_rebuild_says_of_each_experiment_how_its_rows_agree_and_who_made_them(tmp_path, monkeypatch):
    """Rows set aside beside the committed ones: what moved is counted, and both processors are named."""
    for name in ("fig2", "order_f1"):
        (tmp_path / "results" / "gpoo").mkdir(parents=True, exist_ok=True)
        old = read_rows(RESULTS / "gpoo" / f"{name}.parquet", f"gpoo/{name}@laptop")
        if name == "order_f1":
            old.loc[0, "replication"] += 1
        write_rows(old, tmp_path / "results" / "gpoo" / f"{name}.parquet", f"gpoo/{name}@laptop")
    monkeypatch.setattr("bestarm_lab.lineage.PROCESSORS", tmp_path / "processors")
    record_processor("gpoo", "fig2", "laptop", old, None, "first")
    monkeypatch.setattr(rebuild, "who_made", lambda *which, **_: who_made(*which, folder=tmp_path / "processors"))
    table = rebuild.rows_table(tmp_path, ["gpoo"]).set_index("rows")
    assert table["moved"].to_dict() == {"gpoo/fig2": 0, "gpoo/order_f1": 1}
    assert table["within rounding"].sum() == 0
    assert (table["equal"] > 0).all()
    assert (table.loc["gpoo/fig2", "new"], table.loc["gpoo/order_f1", "new"]) == ("first", UNKNOWN)

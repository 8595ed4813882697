"""Lineage of rows: only equal laptop rows, computed anew, renew the rows at the paper's scale."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_experiments import SEED, experiment, rows_of

from bestarm_lab.experiments.scale import Scale
from bestarm_lab.experiments.store import read_made_by, read_rows, write_rows
from bestarm_lab.lineage import add_lines, compare, leads, made_by, read_lineage, renew, steps

SMALL = experiment(replications=4)
SMALL = replace(SMALL, profiles={**SMALL.profiles, "paper": Scale(8)})


def with_code(parts, code: str):
    return [replace(part, code=code) for part in parts]


def keyed(rows: pd.DataFrame, parts) -> pd.DataFrame:
    key = {(p.columns["convention"], p.columns["series"]): p.key for p in parts}
    return rows.assign(key=[key[cell] for cell in zip(rows["convention"], rows["series"], strict=True)])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return laptop and paper rows of a small experiment, with parts of a code that is called old, and of a new one."""
    store = tmp_path_factory.mktemp("store")
    parts = {p: SMALL.parts(p, SEED) for p in ("laptop", "paper")}
    whole = replace(SMALL, profiles={**SMALL.profiles, "laptop": Scale(8)})
    rows = {"laptop": rows_of(SMALL, store), "paper": rows_of(whole, store)}
    old = {p: with_code(parts[p], "old") for p in parts}
    new = {p: with_code(parts[p], "new") for p in parts}
    return {p: (keyed(rows[p], old[p]), old[p], keyed(rows[p], new[p]), new[p]) for p in parts}


def lineage_of(made, tmp_path, change=lambda rows: rows) -> pd.DataFrame:
    """Return the lineage after laptop rows were computed by new code."""
    before, old, after, new = made["laptop"]
    file = tmp_path / "lineage.csv"
    add_lines(file, steps("small", before, made_by(old), change(after), new, "a processor"))
    return read_lineage(file)


def test_equal_laptop_rows_renew_those_of_the_paper(made, tmp_path):
    lineage = lineage_of(made, tmp_path)
    assert list(lineage["result"]) == ["equal"] * 4
    assert set(zip(lineage["code_before"], lineage["code"], strict=True)) == {("old", "new")}
    before, old, after, new = made["paper"]
    rows, lines, refused = renew("small", before, made_by(old), new, lineage, "a processor")
    assert refused == []
    pd.testing.assert_frame_equal(rows, after)
    assert [line["rows"] for line in lines] == [8] * 4
    add_lines(tmp_path / "lineage.csv", lines)
    assert set(read_lineage(tmp_path / "lineage.csv")["result"]) == {"equal", "renewed"}
    again, none, refused = renew("small", rows, made_by(new), new, lineage, "a processor")
    assert again.equals(rows)
    assert none == refused == []


def test_one_moved_run_renews_nothing_of_its_series(made, tmp_path):
    def fault(rows):
        place = rows.index[(rows["series"] == "A") & (rows["convention"] == "as_written")][1]
        return rows.assign(pulls=rows["pulls"].where(rows.index != place, rows["pulls"] + 1))

    lineage = lineage_of(made, tmp_path, fault)
    assert sorted(lineage["result"]) == ["equal", "equal", "equal", "moved"]
    before, old, _, new = made["paper"]
    rows, lines, refused = renew("small", before, made_by(old), new, lineage, "a processor")
    assert refused == ["small, as_written · A: no equal laptop rows lead from the code of its rows to the present code"]
    assert (len(lines), set(rows.loc[rows["key"].isin([p.key for p in old]), "series"])) == (3, {"A"})


def test_rows_within_rounding_are_not_equal(made, tmp_path):
    lineage = lineage_of(made, tmp_path, lambda rows: rows.assign(correct=rows["correct"] * (1.0 + 1e-14)))
    assert "within 1e-12" in set(lineage["result"])
    before, old, _, new = made["paper"]
    _, _, refused = renew("small", before, made_by(old), new, lineage[lineage["result"] != "equal"], "a processor")
    assert len(refused) >= 1


def test_other_settings_are_never_renewed(made, tmp_path):
    """A profile that was changed makes other rows, whatever the laptop's do."""
    before, old, _, new = made["paper"]
    changed = [replace(part, settings="others") for part in new]
    _, lines, refused = renew("small", before, made_by(old), changed, lineage_of(made, tmp_path), "a processor")
    assert (lines, len(refused)) == ([], 4)
    assert "its settings are described anew" in refused[0]


def test_steps_lead_on_through_several_changes_and_no_further(made, tmp_path):
    _, _, _, new = made["paper"]
    lines = pd.DataFrame(
        [("old", "middle", "equal"), ("middle", "new", "equal"), ("new", "newest", "moved"), ("other", "old", "equal")],
        columns=["code_before", "code", "result"],
    ).assign(experiment="small", convention="as_written", series="A")
    part = next(p for p in new if (p.columns["convention"], p.columns["series"]) == ("as_written", "A"))
    assert leads(lines, part, "small", "old")
    assert leads(lines, part, "small", "other")
    assert not leads(lines, replace(part, code="newest"), "small", "old")
    assert not leads(lines, part, "another", "old")
    assert not leads(lines.assign(series="B"), part, "small", "old")


def test_what_made_rows_is_kept_in_their_file(made, tmp_path):
    rows, old, _, _ = made["laptop"]
    file = tmp_path / "rows.parquet"
    write_rows(rows, file, "small", made_by(old))
    assert read_made_by(file) == made_by(old)
    assert read_rows(file, "small").equals(rows)
    write_rows(rows, file, "small")
    assert read_made_by(file) == {}


def test_comparison_sees_every_kind_of_difference():
    rows = pd.DataFrame({"series": ["a", "b"], "x": [1.0, np.nan], "n": [1, 2], "key": ["k", "k"]})
    rows["leaf"] = pd.Series([True, None], dtype=object)
    assert compare(rows, rows.assign(key="other")) == "equal"
    assert compare(rows, rows.assign(x=[1.0 + 1e-14, np.nan])) == "within 1e-12"
    assert compare(rows, rows.iloc[::-1]) == "equal", "in another order"
    assert compare(rows, rows.assign(x=[np.nan, 1.0])) == "moved"
    for other in (
        rows.assign(x=[1.1, np.nan]),
        rows.assign(x=[1.0, 2.0]),
        rows.assign(n=[1, 3]),
        rows.assign(leaf=pd.Series([False, None], dtype=object)),
        rows.assign(leaf=pd.Series([True, True], dtype=object)),
        rows.assign(series=["a", "c"]),
        rows.iloc[:1],
        rows.drop(columns="n"),
    ):
        assert compare(rows, other) == "moved"

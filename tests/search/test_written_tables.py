"""Random tables as csv, pandas and spreadsheets of several countries write them: read equal, or refused."""

import csv
import io
import math
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bestarm import Search
from bestarm.search.candidates import Candidates

WORDS = ["Na", "None", "NA", "nan", "failed", "DMF", "1,4-dioxane", "a;b", "Pd/C", "é", "ratio", "true story", "N/A x"]
NAMES = ["007", "7", "1.10", "1.1", "A01", "NA", "nan", "1e3", "IFNγ", "b c", "x,y", "1-2", "None", "Na", "5%"]
GROUPS = {"German": (",", "."), "French": (",", "\u202f"), "Swiss": (".", "'"), "English": (".", ",")}
NUMBERS = st.one_of(
    st.integers(-3_000_000, 3_000_000).map(float),
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 3)),
    st.sampled_from([0.0, 1.25, 1.5, 0.001, 1250.0, 1.25e-7, 2e9]),
)
HOW = ["csv", "pandas", "pandas, German", "German", "French", "Swiss", "English"]


@st.composite
def tables(draw):
    """Return a table of numbers, words and gaps, whose columns are of one kind each."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=8, unique=True))
    columns = {}
    for label in draw(st.lists(st.sampled_from(["T, °C", "x", "c (mM)", "pH", "salt"]), min_size=1, unique=True)):
        gaps = draw(st.booleans())
        if label == "salt":
            values = st.sampled_from([*WORDS, None] if gaps else WORDS)
            column = draw(st.lists(values, min_size=len(names), max_size=len(names)))
            if not any(column):
                column[0] = "DMF"
        else:
            values = st.one_of(NUMBERS, st.just(math.nan)) if gaps else NUMBERS
            column = draw(st.lists(values, min_size=len(names), max_size=len(names)))
            column[0] = 1.5 if math.isnan(column[0]) else column[0]
        columns[label] = column
    kinds = {label: object if label == "salt" else float for label in columns}
    return pd.DataFrame(columns, index=pd.Index(names, name="name")).astype(kinds)


def number(value, decimal, group):
    """Return a number as a spreadsheet shows it: three decimals at most, thousands in groups."""
    if abs(value) < 1e-4 and value:
        return repr(value).replace(".", decimal)
    return f"{value:,.3f}".rstrip("0").rstrip(".").translate({ord(","): group, ord("."): decimal})


def cell(value, how, decimal, group):
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else repr(value) if how == "csv" else number(value, decimal, group)


def written(table, how):
    if how == "pandas":
        return table.to_csv()
    if how == "pandas, German":
        return table.to_csv(sep=";", decimal=",")
    decimal, group = GROUPS.get(how, (".", ""))
    file = io.StringIO()
    writer = csv.writer(file, delimiter="," if how in ("csv", "English") else ";")
    writer.writerow(["name", *table.columns])
    for name, row in table.iterrows():
        writer.writerow([name, *(cell(v, how, decimal, group) for v in row)])
    return file.getvalue()


def read(table, how, reader):
    """Return what a reader makes of the file of a table, None where it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_text(written(table, how), encoding="utf-8")
        try:
            return reader(path)
        except ValueError:
            return None


def same_number(found, own, how):
    """Return whether a number is the one of the table, as far as that was written."""
    own = own if how in ("csv", "pandas", "pandas, German") or abs(own) < 1e-4 else round(own, 3)
    return math.isclose(found, own, rel_tol=1e-12, abs_tol=1e-12)


def same(found: Candidates, table, how):
    """Check names, numbers (as far as they were written) and words; columns of gaps alone may be left out."""
    assert list(found.names) == list(table.index)
    for label in found.table.columns:
        for a, b in zip(found.table[label].tolist(), table[label].tolist(), strict=True):
            if label == "salt":
                assert a == b or (a is None and b != b), (label, a, b)
            else:
                assert (a != a) if b != b else same_number(a, b, how), (label, a, b)
    for label in set(table.columns) - set(found.table.columns):
        assert set(table[label].dropna()) <= {"NA", "nan"}, "nothing in it"


@pytest.mark.parametrize("how", HOW)
def test_files_are_read_as_they_were_written_or_refused(how):
    """Most are read: otherwise this would pass where everything is refused."""
    names = []

    @settings(max_examples=25, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(table=tables())
    def check(table):
        if (found := read(table, how, Candidates.of)) is not None:
            same(found, table, how)
            names.append(found.names)

    check()
    assert len(names) >= 12


@settings(max_examples=40, derandomize=True, suppress_health_check=list(HealthCheck))
@given(values=st.lists(st.one_of(NUMBERS, st.just(math.nan)), min_size=3, max_size=8), how=st.sampled_from(HOW))
def test_rewards_are_read_as_they_were_written_or_refused(values, how):
    names = NAMES[: len(values)]
    table = pd.DataFrame({"reward": values}, index=pd.Index(names, name="name"))
    search = Search(pd.DataFrame({"x": np.arange(len(NAMES))}, index=NAMES), "random")
    if read(table, how, lambda path: search.tell(path) or search) is None:
        return
    told = search.history.set_index("name")["reward"]
    assert list(told.index) == [name for name, v in zip(names, values, strict=True) if v == v]
    for name, value in told.items():
        assert same_number(value, table.loc[name, "reward"], how)

"""Tables of candidates by kinds of trouble: read as they were meant and said, or refused in one line."""

import decimal
import fractions

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from bestarm.search.candidates import Candidates, read_features
from bestarm.search.search import Search

LINE = pd.DataFrame({"x": np.linspace(0, 1, 12)}, index=[f"c{i}" for i in range(12)])


def read(folder, text, **settings):
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return Candidates.of(path, **settings)


def column(cells):
    return "name\tv\tx\n" + "".join(f"c{i}\t{cell}\t{i}\n" for i, cell in enumerate(cells))


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (("1x10^3", "2x10^3", "5x10^4"), "a power of ten"),
        (("10^3", "10^4", "10^-5 M"), "a power of ten"),
        (("10²", "10³", "10⁻⁴"), "a power of ten"),
        (("~5", "~60", "ca. 80"), "about a number"),
        (("1,00,000", "2,00,000"), "a number with commas"),
        (("١", "٢", "٣"), "a number in other digits"),
        (("１", "２"), "a number in other digits"),
        (("5±0.1", "6±0.2"), "a number with its error"),
        (("1/2", "1/4"), "a ratio"),
        (("20–30 °C", "30–40 °C"), "a range"),
        (("0:30:00", "1:00:00"), "a time"),
        (("2 h", "4 h", "overnight"), "among numbers such as '2 h'"),
        (("rt", "60", "80"), "among numbers such as '60'"),
        (("(5)", "60"), "among numbers such as '60'"),
        (("1 mM", "500 uM"), "several units"),
        (("1%", "2"), "several units"),
    ],
)
def test_texts_that_hold_numbers_are_refused_unless_they_are_words(cells, words, tmp_path):
    with pytest.raises(ValueError, match=words) as caught:
        read(tmp_path, column(cells))
    assert "\n" not in str(caught.value)
    assert len(read(tmp_path, column(cells), words=["v"]).columns) == len(cells) + 1


@pytest.mark.parametrize(
    "cells", [("Na", "K"), ("None", "XPhos"), ("-", "PPh3"), ("inf", "Al"), ("Na", "None"), ("NA", "x")]
)
def test_words_stay_words(cells, tmp_path):
    found = read(tmp_path, column([*cells, cells[0]]))
    assert found.table["v"].tolist() == [*cells, cells[0]]


def test_codes_with_zeros_are_said(tmp_path):
    assert read(tmp_path, column(["001", "010", "002"])).report == (
        "t.csv: column v: '001' read as a number; `words` keeps such texts as categories.",
    )


@pytest.mark.parametrize("text", ["a,1,2\nb,2,3\nc,3,4\n", "1.5,2\n2.5,3\n3,5\n", "DMF,20,0.1,5\nTHF,30,0.2,6\n"])
def test_a_file_without_a_header_is_refused(text, tmp_path):
    """Otherwise its first candidate would be lost; spectra and counted columns have numbers for headers."""
    refuses(lambda: read(tmp_path, text), "has numbers in place of a header; write one above it, such as name,x1,x2")
    for head in ("name,1,2", "sample,400,410,420", ",0,1", "0,1,2"):
        n = head.count(",") + 1
        rows = "\n".join(",".join([f"s{i}", *(str(i * j) for j in range(1, n))]) for i in range(3))
        assert len(read(tmp_path, f"{head}\n{rows}\n").names) == 3


def test_columns_of_results_by_other_words(tmp_path):
    for label in ("Yield (%)", "yield [%]", "Ausbeute", "rendement", "Ergebnis", "phenotype_percent"):
        assert read(tmp_path, f"name,x,{label}\na,1,50\nb,2,60\n").columns == ("x",), label
    found = read(tmp_path, "name,x,IC50\na,1,50\nb,2,60\n")
    assert found.report == ("t.csv: column IC50: taken for a feature; name it in `results` if it is a result.",)
    assert read(tmp_path, "name,x,IC50\na,1,50\nb,2,60\n", results=["IC50"]).columns == ("x",)


def test_names_that_are_there_twice_and_dates_among_genes(tmp_path):
    with pytest.raises(ValueError, match=r"names twice, in its index and in column 'name'; drop one of them"):
        Candidates.of(LINE.assign(name="q"))
    (tmp_path / "f.csv").write_text("gene,x\n1-Mar,1\nTP53,2\n")
    refuses(lambda: read_features(tmp_path / "f.csv", []), "'1-Mar' is no gene but a date")


def test_numbers_of_other_kinds():
    kinds = [decimal.Decimal("1.5"), fractions.Fraction(1, 4), 2, np.float32(0.5)] * 3
    assert Candidates.of(LINE.assign(s=kinds)).table["s"].tolist() == [1.5, 0.25, 2.0, 0.5] * 3
    search = Search(LINE, "random")
    search.tell(pd.DataFrame({"name": LINE.index, "reward": kinds}))
    assert search.history["reward"].tolist() == [1.5, 0.25, 2.0, 0.5] * 3


def test_what_is_told_again_is_said():
    search = Search(LINE, "random")

    def told(*rows):
        search.tell(pd.DataFrame(rows, columns=["name", "reward"]))
        return search.notes

    assert told(("c1", 1.0), ("c2", 2.0), ("c2", 2.5)) == ["c2: measured several times in the table."]
    assert told(("c1", 1.5)) == ["c1: measured before, and again now; replace=True corrects."]
    assert told(("c3", 3.0), ("c1", "not done")) == ["c1: not waiting, so that `not done` changes nothing."]
    assert told(("c3", "failed"), ("c2", 2.0), ("c2", 2.5)) == [
        "2 rows told before, 1 new.",
        "c3: failed in place of 3, a correction.",
    ]
    refuses(lambda: told(("c4", "1 ± 0.2")), r"the reward of c4 is '1 ± 0\.2'; give its error in a column of its own")

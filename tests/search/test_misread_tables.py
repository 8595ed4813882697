"""Tables that laboratories write and that were misread once: each is read as meant, or refused with what to do."""

import io
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from refusals import refuses, refusing
from small_screen import knowing

from bestarm import Candidates, Search
from bestarm.search.candidates import read_features
from bestarm.search.tables import read_wells

openpyxl = pytest.importorskip("openpyxl")
FORMATS = {
    "%": ("0%", "0.00 %", "%0", "[Red]0.0%;-0%", '0"%"', r"0\%"),  # of which all but two multiply by a hundred
    "mM": ('0.0" mM"', 'General" mM";@', "[$mM]0"),
    "€": ('#,##0.0\\ "€"', r"#,##0.00\ [$€-407];[Red]\-0", "[$€-2] 0.0", '_-"€"* #,##0.00_-'),
    "": ("#,##0.00", "0.00E+00", "_-* #,##0.00 _€_-", "# ?/?", '[<1]0" h";0" d"', '0,"k"', "0.0_);(0.0)"),
}
FOUR = pd.DataFrame({"x": np.arange(4.0)}, index=list("abcd"))
SALTS = [["Compound", "Salt"], ["c1", "HCl"], ["", ""], ["c2", "TFA"], ["c3", "HCl"]]
CELLS = ["1.5x10^3", "5 excluded", "1 < LOQ", "3 of 4", "10 to 20", "0x10", "2 min 30 s", "2O", "5 ?", "1D5", "1e5.5"]


@pytest.fixture
def file(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def book(tmp_path):
    def write(*sheets, **formats):
        with pd.ExcelWriter(tmp_path / "t.xlsx", engine="openpyxl") as writer:
            for n, rows in enumerate(sheets, 1):
                pd.DataFrame(rows).to_excel(writer, sheet_name=f"s{n}", header=False, index=False)
            for cell, form in formats.items():
                writer.sheets["s1"][cell].number_format = form
        return tmp_path / "t.xlsx"

    return write


def told(source, candidates=FOUR, **keywords):
    one = Search(candidates)
    one.tell(source, **keywords)
    return dict(one.history[["name", "reward"]].values.tolist()), one.notes


@pytest.mark.parametrize(
    ("text", "names", "columns"),
    [
        ("Probe;Temp;Zeit\nP1;20,5;1;\nP2;30,5;2;\n", ("P1", "P2"), ["Temp", "Zeit"]),  # a separator more in the rows
        ("name,x,y,\na,1,2\nb,2,3\n", ("a", "b"), ["x", "y"]),  # or in the header
        ("x\ty\na\t1\t2\nb\t3\t4\n", ("a", "b"), ["x", "y"]),  # R
        ("name|x\na|1,5\nb|2,5\n", ("a", "b"), ["x"]),
        ("name,mix\na,2;5\nb,3;6\n", ("a", "b"), ["mix"]),
        ("name,temp,yield_1,mean yield,% yield,Yield rep 3\na,20,1,2,3,4\nb,30,2,3,4,5\n", ("a", "b"), ["temp"]),
        ("name,temp,yield,Std Dev\na,20,1,.1\nb,30,2,.2\n", ("a", "b"), ["temp"]),
        ("name,solvent\na,DMF\nname,solvent\nb,THF\n", ("a", "b"), ["solvent"]),  # files one after the other
        ("Report, May\nname,solvent\na,DMF\nb,THF\n", ("a", "b"), ["solvent"]),
        ("Device,Tecan,\nOperator,Bob,\nname,x,y\na,1,2\nb,2,3\n", ("a", "b"), ["x", "y"]),
        ("RunOrder,name,x\n1,a,5\n2,b,7\n", ("a", "b"), ["x"]),
        ("Lfd. Nr.;name;x\n1;a;5\n2;b;7\n", ("a", "b"), ["x"]),
        ("Sample ID,x\n1,5\n2,7\n", ("1", "2"), ["x"]),
        ("fluid,x\n1,5\n2,7\n", ("0", "1"), ["fluid", "x"]),  # no number of the rows
        ("Druck;t\n1.000,5;1\n2.000,5;2\n", ("0", "1"), ["Druck", "t"]),
        ('name,t\na,"=""1.5"""\nb,"=""2.5"""\n', ("a", "b"), ["t"]),
        ("name,x\na,1\nb,2\n# exported, 2024\n", ("a", "b"), ["x"]),
        ("name,v\na,10uL\nb,20uL\n", ("a", "b"), ["v"]),
        ("name,place\na,A1\nb,A2\n", ("a", "b"), ["place"]),
        ("name,kind\na,1A\nb,1B\n", ("a", "b"), ["kind"]),
        ("<>,1,2,3\nA,.1,.2,.3\nB,.2,.3,.4\n", ("A", "B"), ["1", "2", "3"]),  # Tecan
        ("\ufeffname,x\na,1\u200b\n\ufeffname,x\nb,2\n", ("a", "b"), ["x"]),  # files one after the other
        ('name, "x, y", "z"\na, "1,5", "K"\nb, "2,5", "Na"\n', ("a", "b"), ["x, y", "z"]),
        ("name,s\na,K\nName,S\nb,Na\n", ("a", "b"), ["s"]),
        ("| name | s |\n|:-----|---|\n| a | K |\n| b | Na |\n", ("a", "b"), ["s"]),  # Markdown
        ("name,ratio A;B\na,1;2\nb,2;3\n", ("a", "b"), ["ratio A;B"]),
        ("Plate 3, run 7\ndose;x\n1;1\n2;2\n", ("0", "1"), ["dose", "x"]),
        ("sep=\t\nname\tx\na\t1\nb\t2\n", ("a", "b"), ["x"]),
        ("name,x\na,\u20135\nb,\u20105\n", ("a", "b"), ["x"]),  # dashes for a minus
    ],
)
def test_candidates_are_those_of_the_table(text, names, columns, file):
    found = Candidates.of(file(text))
    assert found.names == names
    assert list(found.table.columns) == columns


@refusing(
    ("compound,rpm\na,1,500\nb,2,000\nc,3,500\n", "a field more than the header, 'a,1,500', as commas within numbers"),
    ("name\tx\na,1\nb,2\nc,3\n", "has another separator than the rows"),
    ('name\tsolvent\tx\na\tDMF\t1\nb\t"\t2\nc\t"\t3\nd\tTHF\t4\n', "line 4: a quotation mark .* takes whole rows"),
    ("name,g\na,98\nb,140H\nc,3O\nd,101\n", "column 'g' of b is '140H' among numbers"),
    ("name,x\na,1.5\nb,2.5*\nc,3.5\n", "column 'x' of b is '2.5[*]' among numbers"),
    ("name,t\na,12h\nb,1d\n", "'12h' and '1d', several units|'1d' and '12h', several units"),
    ("name,t\na,o/n\nb,2d\nc,4d\n", "column 't' of a is 'o/n' among numbers"),
    ("DMF,1.5\nTHF,2.5\n", "the first row, DMF, 1.5, has numbers in place of a header"),
    ("name,x\na,1\nb,2\nEnd of data,\n", "End of data has nothing in any feature; fill in what is known"),
    ("name,x\na,1\nb,2\nMean,1.5\nSD,0.7\nCV%,47\n", "one of the last rows is called 'Mean'"),
    ("name;x\na;1\nb;2\nGesamtergebnis;3\n", "line 4: the last row is called 'Gesamtergebnis', as a spreadsheet's"),
    ("name,x,y\na,1,2\nb,2,3\n* by HPLC,,\n", "by HPLC has nothing in any feature"),
    ("name,t\na,2024/05/01\nb,2024/05/02\n", "a date"),
    ("name,t\na,13.05.2024 14:30\nb,14.05.2024 14:30\n", "a date"),
    ("name,t\na,5 May\nb,6 May\n", "a date"),
    ("name,t\na,9:00 AM\nb,10:30 AM\n", "a time"),
    ("name,t\na,00:01:30.5\nb,00:02:30.5\n", "a time"),
    ("name,t\na,pH 5.0\nb,pH 7.4\n", "a number with something before it"),
    ("name,t\na,'1.5\nb,'2.5\n", "a number with something before it"),
    ("name,t\na,2-fold\nb,4-fold\n", "a number with something after it"),
    ("name,t\na,1.23(4)\nb,1.34(5)\n", "a number with something after it"),
    ("name,t\na,1 1/2\nb,2 1/2\n", "a fraction"),
    ("\0name,x\na,1\nb,2\n", "the character U.0000"),
    ("name,x\nA,1\nB,<2\n", "column 'x' has '<2', a limit, which is no number .*; give the limit itself as a number"),
    ("name,s\n" + "".join(f"c{i},CC{'C' * i}O\n" for i in range(30)), "too many for a category; drop it, or give"),
    ("name,x\n,1\nB,2\n", "line 2: a candidate without a name; name it or delete the row"),
    ("name,reward\nA,1\nB,2\n", "has no feature, only the columns name, reward; add columns of numbers"),
    ("name,salt\na;K\nb;Na\n", "the header 'name,salt' has another separator than the rows"),
    ("name,s\na,K\n\nname,t\nc,X\n", "line 4: 'name' in the column 'name', as the header of a second table has"),
    ("name,dose,dose\u200b\na,1,2\nb,2,3\n", "'dose' is there twice, in column 3 again"),
    ("name,x\n#N/A,1\nb,2\n", "'#N/A' is no name but what a spreadsheet has made of one"),
    ("name,x\n1.23457E+15,1\nb,2\n", "'1.23457E[+]15' is no name but what a spreadsheet"),
    ("gene,x\n1-Mar,1\nb,2\n", "'1-Mar' is no gene but a date"),
    ("name,x\na,10k\nb,1M\n", "several units"),
    ("name,x\na,10k rpm\nb,500 rpm\n", "several units"),
    ("name,x\na,1_000\nb,2_000\n", "a number with underscores"),
    ("name,x\na,5x5 mm\nb,5x6 mm\n", "a product, .*; give two columns"),
    *((f"name,x\na,{w}1\nb,{w}10\n", "something before it") for w in ("T=", "pH: ", "day ", "R$ ", "US$")),
    ("name,x\na,1e\nb,2\n", "column 'x' of a is '1e' among numbers"),
)
def test_candidates_that_are_refused(text, file):
    Candidates.of(file(text))


MEANT_OTHERWISE = [
    (
        "name,x\ne\u0301,1\n\u00e9,2\n",
        "names that look alike: e\u0301 (2 characters, U+0301) and \u00e9 (1 character, ",
    ),
    (
        "name,x\nA1,1\n\u04101,2\nb,3\n",
        "names that look alike: A1 (2 characters) and \u04101 (2 characters, U+0410); ",
    ),
    ("name,x\nA1,1\nA01,2\n.5,3\n.05,4\n", "names that look alike: A1 (2 characters) and A01 (3 characters); "),
    ("name,s\na,KCl\nb,\uff2b\uff23l\n", "column s: words that look alike: KCl (3 characters) and \uff2b"),
    ("x,sample_id\n1,7\n2,8\n", "column sample_id: taken for a feature; call it name if it has the names."),
    ("name,x,isolated yield\na,1,2\nb,2,3\n", "column isolated yield: taken for a feature; name it in `results`"),
    ("name,x,pIC50\na,1,2\nb,2,3\n", "column pIC50: taken for a feature; name it in `results`"),
    (
        "name,date\na,20240501\nb,20240612\n",
        "column date: taken for a feature; leave it out if it has remarks or dates",
    ),
]


@pytest.mark.parametrize(("text", "said"), MEANT_OTHERWISE)
def test_what_may_be_meant_otherwise_is_said(text, said, file):
    assert any(f"t.csv: {said}" in sentence for sentence in Candidates.of(file(text)).report)


def test_spreadsheets_with_formats_and_texts_beside_numbers(book):
    """Percent signs, units and leading zeros are read as shown, wherever they stand in a format."""
    for unit, form in ((unit, form) for unit, forms in FORMATS.items() for form in forms):
        found = Candidates.of(book([["name", "x"], ["a", 1], ["b", 0.25]], B2=form, B3=form))
        values = [100.0, 25.0] if unit == "%" and form not in ('0"%"', r"0\%") else [1.0, 0.25]
        assert (found.table["x"].tolist(), found.units.get("x", "")) == (values, unit), form
        assert not unit or found.report == (f"t.xlsx: column x: numbers with the unit '{unit}', which was taken off.",)
    found = Candidates.of(book([["name", "x"], [12, 7], [7, 8]], A2="0000", A3='"CMP-"000', B2="000"))
    assert (found.names, found.table["x"].tolist()) == (("0012", "CMP-007"), [7.0, 8.0])
    rows = [["name", "x"], ["a", 0.5], ["b", 25]]
    for forms, words in (('0" mM"', "[$µM]0"), "'0.5 mM' and '25 µM'"), (("0%", "0"), "'25' and '50%'"):
        refuses(lambda f=forms: Candidates.of(book(rows, B2=f[0], B3=f[1])), f"column 'x' has {words}, several units")
    refuses(lambda: Candidates.of(book(rows, B2='"<"0')), "column 'x' has '<0.5', a limit, which is no number")
    for text in ("1.250", "0,5"):
        said = f"column 'x' has the text '{text}' beside numbers; its sign may stand before decimals or after thousands"
        refuses(lambda text=text: Candidates.of(book([*rows, ["c", 1250], ["d", text]])), said)
        refuses(lambda text=text: told(pd.DataFrame({"name": ["a", "b"], "reward": [1250, text]})), text)
    gaps = pd.Series(["1,5", np.nan, "2,5", pd.NA], dtype=object)  # which are no numbers
    assert told(pd.DataFrame({"name": list("abcd"), "reward": gaps}))[0] == {"a": 1.5, "c": 2.5}


def test_what_stands_above_a_table_or_beside_it(book, file):
    """In files of both kinds: left out and said, or refused; a cover sheet, and dates among words."""
    words, above = [["Ligand", "Salt", "T"], ["c1", "HCl", 1], ["c2", "TFA", 2], ["c3", "HCl", 3]], ["Plate", "P1"]
    for rows in ([above, above, [], *SALTS], [above, [], *words], [above, [], *(["", "", *row] for row in SALTS)]):
        rows = [[*row, *[""] * 4][:4] for row in rows]
        for source in (book(rows), file("\n".join(",".join(map(str, row)) for row in rows))):
            found = Candidates.of(source)
            assert (found.names, found.table["Salt"].tolist()) == (("c1", "c2", "c3"), ["HCl", "TFA", "HCl"])
            assert f"{source.name}: 'Plate P1' above the header, left out." in found.report
    assert Candidates.of(book([["Project", "X1"], above], SALTS)).report[0] == "t.xlsx: the sheet 's2' of 2 was read."
    rows = [["name", "reward", "", "Control", "SD"], ["a", 20, "", "DMSO", 10], ["b", 30, "", "pos", 5]]
    for source in (book(rows), file("\n".join(",".join(map(str, row)) for row in rows))):
        refuses(lambda source=source: told(source), "columns 'Control', 'SD' stand beside the table, behind an empty")
    dated = [["name", "x"], ["SEPT9", 1], [pd.Timestamp(2024, 3, 1), 2]]
    refuses(lambda: Candidates.of(book([["read me"]], dated)), "'s2': A3 is a date, 2024-03-01, in a column that has")


def test_what_is_added_without_a_unit_is_said_and_dates_in_any_dress_are_refused(file):
    one = Search(file("name,conc,salt\na,1 mM,1-3\nb,2 mM,K\nc,3 mM,K\n"), words=["salt"])
    one.add_candidates(file("name,conc,salt\nd,4000,1-3\n"))
    assert "column conc: without a unit in the new table, taken for mM." in one.candidates.report
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    refuses(lambda: Candidates.of(days.values[:, None]), "candidates are a file, a DataFrame or an array of numbers")
    made = pd.DataFrame({"t": pd.Categorical(days), "x": [1, 2]}, index=["a", "b"])
    refuses(lambda: Candidates.of(made), "column 't' has dates")
    refuses(lambda: Search(np.eye(3), aim=1e200), r"at most 1e\+150 in size; got 1e\+200")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("substance,reward,temp\na,0.5,20,\nb,0.7,30,\n", {"a": 0.5, "b": 0.7}),
        ("name,reward\na,5 m²/g\nb,7 m²/g\n", {"a": 5.0, "b": 7.0}),
        ("name,reward\na,3 min\n", {"a": 3.0}),
        ("reward,label\n0.5,c\n0.7,a\n", {"c": 0.5, "a": 0.7}),
    ],
)
def test_results_are_those_of_the_table(text, known, file):
    assert told(file(text))[0] == known


@refusing(
    ("substance,reward\na,1,5\nb,2,5\nc,12,0\n", "as commas within numbers make it"),
    ('name,reward,comment\na,1,"cloudy\nb,2,\nc,3,5" plate\nd,4,\n', "takes whole rows into one cell"),
    ("name,Reward (1),Reward (2)\na,5,7\n", "columns 'Reward .1.' and 'Reward .2.' may both be 'reward'"),
    *((f"name,reward\na,{cell}\n", f"the reward of a is '{re.escape(cell)}'; give the number alone") for cell in CELLS),
    ("name,reward\na,12qq\nb,7\n", "^the reward of a is '12qq'; give the number alone"),
    ("name,reward\na,15\nb,2O\n", "the reward of b is '2O'"),
)
def test_results_that_are_refused(text, file):
    told(file(text))


def test_names_are_in_the_column_that_has_candidates(file):
    """In files and frames, whatever stands first; where two columns may be meant, that is refused."""
    candidates = file("id,T\n" + "".join(f"{i},{20 + i * 7 % 5}\n" for i in range(1, 7)), "c.csv")
    assert told(file("run,id,reward\n11,3,0.5\n12,1,0.7\n"), candidates)[0] == {"3": 0.5, "1": 0.7}
    both = file("run,id,reward\n1,3,0.5\n2,1,0.7\n")
    refuses(lambda: told(both, candidates), "columns 'run' and 'id' both look like names")
    plates = file("well,plate,reward\nA1,1,0.5\nA2,1,0.7\n")  # a number that happens to be a candidate's
    refuses(lambda: told(plates, candidates), "A1, A2 are no candidates")
    refuses(lambda: told(pd.read_csv(plates)[["plate", "reward"]], candidates), "no column name")
    frame = pd.read_csv(io.StringIO("id,reward\n1,\n2,0.5\n3,0.9\n"))
    for table in (frame, frame.dropna(subset=["reward"])):  # whose index is no name
        assert told(table, candidates)[0] == {"2": 0.5, "3": 0.9}
    refuses(lambda: told(frame.rename(columns={"id": "x"}).assign(x=9.0), candidates), "no column name")


def test_errors_of_pandas_and_of_spreadsheets_are_errors():
    raw = pd.DataFrame({"name": list("aaabb"), "y": [1.0, 2, 3, 3, 5]})
    one = Search(FOUR)
    one.tell(raw.groupby("name")["y"].agg(["mean", "std", "count"]), results="mean")
    assert one.history["n"].tolist() == [3, 2]
    np.testing.assert_allclose(one.history["sem"], [3**-0.5, 1.0])
    two = Search(FOUR)
    two.tell(pd.DataFrame({"name": ["a"], "y": [1.0], "Std Dev": [0.3], "Std. Error": [0.1]}), results=["y"])
    assert two.history["sem"].tolist() == [0.1]
    refuses(lambda: told(pd.DataFrame({"name": ["a"], "y": [1.0]}), results=["y", "z"]), "results must name the column")


def test_a_name_or_a_feature_that_differs_is_refused():
    """Barcodes beyond 2^53, slips beside controls, truth values, words for numbers; words of digits are equal."""
    one = pd.DataFrame({"on": [True, False], "x": [1.0, 2.0], "code": ["1", "10"]}, index=["90071992547409931", "A1"])
    row = {"reward": [3.0]}
    refuses(lambda: told(pd.DataFrame({"name": [90071992547409930], **row}), one), "is no candidate")
    long = pd.DataFrame({"name": [float(2**53), np.nan], "reward": [3.0, np.nan]})
    refuses(lambda: told(long, one), "the name 9007199254740992 has lost digits, since it was read as a number; read")
    slip, control = (pd.DataFrame({"name": ["A1", name], "reward": [1.0, 2.0]}) for name in ("A01", "NTC"))
    refuses(lambda: told(slip, one, unknown="ignore"), "'A01' .* looks like 'A1'")
    assert told(control, one, unknown="ignore")[1] == ["1 row of no candidate, left out: NTC."]
    refuses(lambda: told(pd.DataFrame({"name": ["A1"], "on": [True], **row}), one), "feature 'on' of A1 is 1 in the")
    refuses(lambda: told(pd.DataFrame({"name": ["A1"], "x": ["two"], **row}), one), "feature 'x' of A1 is 'two'")
    digits = knowing(Search(one, words=["code"]), {"name": ["A1"], "code": [10], **row})
    assert digits.history["reward"].tolist() == [3.0]


def test_what_stands_beside_names_and_rewards_is_compared_or_said(file):
    """Features in another case of letters, units, columns that nobody uses, words alike, a hand-kept history."""
    table = pd.DataFrame({"dose": ["1 mM", "2 mM", "3 mM"], "salt": ["KCl", "kcl ", "NaCl"]}, index=list("abc"))
    one = Search(table, "gp")
    assert one.candidates.report[-1] == "column salt: words that look alike: KCl (3 characters) and kcl (3 characters)."
    for text, words in (
        ("name,Dose ,reward\na,9,1\n", "feature 'dose' of a is 9 in the table"),
        ("name,dose,reward\na,1 uM,1\n", "feature 'dose' of a is 1 μM in the table and 1 mM in the candidates"),
        ("name,reward (uM),sem\na,5,5 nM\n", "column 'sem' is in nM and the results in μM; give both"),
        ("name,reward,sd\na,5,5%\n", "column 'sd' is in % and the results in no unit; give both"),
    ):
        refuses(lambda text=text: one.tell(file(text)), words)
    refuses(lambda: one.tell(file("name,reward\na,5\n"), results="name"), "results names 'name', the column of names")
    one.tell(file("name,reward (uM),Count,comment\na,5,3,cloudy\n"))
    assert [note[:24] for note in one.notes] == ["column Count: taken for ", "column comment: not used"]
    refuses(lambda: one.tell(file("name,reward [nM]\nb,5\n")), "rewards are in nM, those told before in μM; give")
    one.tell(file("round,name,reward\n1,b,\n1,c,2\n"))
    assert [note.split(",")[0] for note in one.notes] == ["1 empty reward taken for failed", "rewards in no unit"]


def test_a_growing_list_takes_a_result_back():
    one = knowing(Search(FOUR), {"name": list("ab"), "reward": [1.0, 2.0]})
    one.tell(pd.DataFrame({"name": list("abc"), "reward": [1.0, "not done", 3.0]}))
    assert one.states.to_dict() == {"a": "measured", "b": "not done", "c": "measured", "d": "unmeasured"}
    assert one.notes == ["1 row told before, 1 new.", "b: not done in place of 2, a correction."]


def test_a_failed_control_is_no_row_of_units(file):
    one = Search(pd.DataFrame({"x": [1.0, 2, 3]}, index=["WT", "101", "102"]))
    one.tell(file("name,reward\nWT,fail\n101,5\n102,6\n"))
    assert one.states["WT"] == "failed"


def test_wells_of_a_screen(file):
    """Headers of genes, a replicate that was not done, a separator more, and two units."""
    assert read_wells(file("symbol,phenotype\nA,1,\nB,2,\n"), "", [])[:2] == (["A", "B"], [[1.0], [2.0]])
    names, wells, _ = read_wells(file("rank,Gene Symbol,r1,r2\n1,A,1.5,not done\n2,B,1.0,2.0\n"), "r1,r2", [])
    assert names == ["A", "B"]
    np.testing.assert_equal(wells, [[1.5, np.nan], [1.0, 2.0]])
    refuses(lambda: read_wells(file("TP53,1.5\nMYC,2\n"), "", []), "the first row, TP53, 1.5, has numbers")
    units = file("gene,r1,r2\nA,1 mM,1000 µM\nB,2 mM,2100 µM\n")
    refuses(lambda: read_wells(units, "r1,r2", []), "'r1' and 'r2' are replicates in different units, mM and μM")
    assert read_features(file("Entrez,Gene Symbol,f\n7157,TP53,.1\n4609,MYC,.2\n"), []).names == ("TP53", "MYC")
    refuses(lambda: read_features(file("Entrez,f\n7157,.1\n4609,.2\n"), []), "no column of genes; it has: Entrez, f")


@pytest.mark.parametrize("gene", ["01. Mrz", "1-Mar", "1-Mär", "01-mars", "MAR-01", "2024-03-01 00:00:00", "1-Mar-24"])
def test_genes_that_other_spreadsheets_spoilt(gene, file):
    refuses(lambda: read_features(file(f"gene;f\n{gene};1\nTP53;2\n"), []), f"{gene!r} is no gene but a date")


def test_excel_files_of_other_writers(book, tmp_path):
    """With a wrong size of the sheet, and with formulas that gave an empty text."""
    whole = book([["name", "x", "y"], ["a", 1, 2.5], ["b", 2, 3.5], ["c", 3, '=IF(1,"","")']])
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / "odd.xlsx", "w") as new:
        for name in old.namelist():
            text = old.read(name).replace(b'<dimension ref="A1:C4"', b'<dimension ref="A1:B3"')
            text = re.sub(rb'<c r="C4"><f>(.*?)</f><v ?/></c>', rb'<c r="C4" t="str"><f>\1</f><v></v></c>', text)
            new.writestr(name, text)
    found = Candidates.of(tmp_path / "odd.xlsx")
    assert found.names == ("a", "b", "c")
    np.testing.assert_array_equal(found.table["y"], [2.5, 3.5, np.nan])
    refuses(lambda: Candidates.of(whole), "the formula in C4 was never computed")


def test_sheets_that_are_hidden(book):
    made = openpyxl.load_workbook(path := book([["name", "v"], ["old", 1]], [["name", "v"], ["a", 0.5], ["b", 25]]))
    made["s1"].sheet_state = "hidden"
    made.save(path)
    assert Candidates.of(path).names == ("a", "b")


def test_lists_of_numbers_without_the_shape_of_a_table():
    refuses(lambda: Search([[1, 2], [3]]), "rows of candidates must have equally many numbers; write NaN")
    refuses(lambda: Search(pd.Series([1.0, 2])), r"must have shape \(n_arms, n_features\), got \(2,\); for one feature")


def test_an_index_of_several_levels_names_candidates_and_that_is_said():
    found = Candidates.of(pd.DataFrame({"x": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, "a"), (1, "b")])))
    assert found.names == ("(1, 'a')", "(1, 'b')")
    assert "names: texts of the levels of the index together" in found.report[0]


def test_a_separator_that_is_named_above_lines_that_end_as_on_old_machines(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"sep=;\rname;x\ra;1,5\rb;2\r")
    np.testing.assert_array_equal(Candidates.of(tmp_path / "t.csv").table["x"], [1.5, 2.0])


def test_a_table_of_names_alone_has_no_feature():
    refuses(lambda: Search(pd.DataFrame({"name": ["a", "b"]})), "has no feature, only the column name; add columns")
    refuses(lambda: Search(pd.DataFrame(index=["a", "b"])), "the table has no feature; add columns of numbers")

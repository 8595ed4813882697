"""Odd tables of candidates and of results: understood as meant and said, or refused in one line with the remedy."""

import decimal
import fractions
import io

import numpy as np
import pandas as pd
import pytest
from refusals import refused, refuses, refusing
from small_screen import knowing

import bestarm
from bestarm.search.candidates import Candidates
from bestarm.search.search import Search
from bestarm.search.search_files import candidate_parts, candidates_of

TABLE = pd.DataFrame(
    np.random.default_rng(0).uniform(size=(20, 2)), index=[f"c{i}" for i in range(20)], columns=["x", "y"]
).assign(salt=["KCl", "NaCl"] * 10)
LINE = pd.DataFrame({"x": np.linspace(0, 1, 12)}, index=[f"c{i}" for i in range(12)])


def told(table, **settings):
    search = Search(TABLE, "random")
    search.tell(table, **settings)
    return list(zip(search.history["name"], search.history["reward"], strict=True))


def frame(**columns):
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("name;reward\nc1;0,5\nc2;1,25\n", [("c1", 0.5), ("c2", 1.25)]),
        ("name;reward\nc1;1.000,5\n", [("c1", 1000.5)]),
        ("name,reward\nc1,50%\nc2,5%\n", [("c1", 50.0), ("c2", 5.0)]),
        ("name;reward\nc1;1,250\n", [("c1", 1.25)]),  # in a file with semicolons a comma is a decimal one
        ("sep=;\r\nname;reward\r\nc1;0,5\r\n", [("c1", 0.5)]),
        ("\ufeffname\treward\nc1\t0,5\n", [("c1", 0.5)]),
        ("name,reward,plate\n c1 , 2 ,P1\n\n,,\n", [("c1", 2.0)]),
        ("c,reward\nc1,1e-3\n", [("c1", 0.001)]),
        ("name,reward\n", []),
        ("name,reward\nc1,TRUE\nc2,False\nc3,\n", [("c1", 1.0), ("c2", 0.0)]),
        ("name,reward\nc1\u00a0,1.2E+03\n", [("c1", 1200.0)]),
    ],
)
def test_files_that_are_understood(text, wanted, tmp_path):
    (tmp_path / "r.csv").write_text(text, encoding="utf-8", newline="")
    assert told(tmp_path / "r.csv") == wanted


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        (frame(name=["c1 ", " c2"], reward=["1 ", " 2"]), [("c1", 1.0), ("c2", 2.0)]),
        (frame(name=["c1", None, ""], reward=[1.0, None, np.nan]), [("c1", 1.0)]),
        (frame(name=pd.Categorical(["c1"]), reward=[True]), [("c1", 1.0)]),
        (frame(name=["c1"], reward=["2,5"], x=TABLE["x"].tolist()[1:2]), [("c1", 2.5)]),
        (pd.read_csv(io.StringIO("name;reward\nc1;0,5\nc2;0,25\n"), sep=";"), [("c1", 0.5), ("c2", 0.25)]),
        (frame(name=["c1"], reward=[2.0], salt=["NaCl "], x=[f"{TABLE['x'].iloc[1]:.3f}"]), [("c1", 2.0)]),
    ],
)
def test_tables_that_are_understood(table, wanted):
    """Blanks around names, empty rows, other kinds of column, features as a spreadsheet rounds them."""
    assert (told(table), told(table.convert_dtypes(dtype_backend="pyarrow"))) == (wanted, wanted)
    assert told(frame(name=["c1", "c2"], reward=pd.array([1, None], dtype="Int64"))) == [("c1", 1.0)]
    assert np.isnan(told(frame(name=["c1", "c2"], reward=[1.0, "failed"]))[1][1])


@refusing(
    ("name,reward\nc1,<0.1\n", r"the reward of c1 is '<0\.1', beyond what can be measured; give the limit"),
    ("name;reward\nc1;>0,1\n", r"is '>0,1', beyond what can be measured; give the limit"),
    ('name,reward\nc1,"1,000"\n', "column 'reward' has '1,000', whose comma may stand before decimals or after"),
    ("name;reward\nc1;0,5\nc2;0.5\n", "has '0.5' and column 'reward' has '0,5', decimal points and decimal commas"),
    ("name,reward\nc1,50%\nc2,0.5\n", "'0.5' and '50%', several units; give numbers of one unit"),
    ("name,reward\nc1,1_2\n", "the reward of c1 is '1_2'; it must be a number, empty while"),
    ("name,reward\nc1,\nc2,\n", "no row of the table has a reward: all 2 are still to come"),
    ("name,reward\nc1,#DIV/0!\n", "no row of the table has a reward: all 1 are still to come"),
    ("name,reward\nc1,1\nTotal:,1\n", "line 3: the last row is called 'Total:', .* summary is; delete it"),
    ("name,reward\nc1,1\nNTC,1\n", "NTC is no candidate; .* or leave controls out, in tell by unknown='ignore'"),
    ("name,reward\nc1,1\nc2\n", "line 3: 1 fields where the header has 2; complete the row"),
    ("name,reward,reward 2\nc1,1,2\n", "two columns of rewards, reward and reward 2; keep one"),
    ("name,reward,Reward\nc1,1,2\n", "two columns of rewards, reward and Reward; keep one"),
    ("compound,yield\nc1,1\n", "no column reward; it has: compound, yield. Rename 'yield', which looks like it"),
    ("c1,1\n", "the table has no column reward; it has: c1, 1"),
    ("Sample,Reference,reward\nX1,c1,5\n", "X1 is no candidate"),
    ("Sample,Best,reward\nX1,c1,5\nX2,c1,6\n", "columns 'Best' and 'Sample' both look like names of candidates"),
    ('name,wells,reward\nc1,"1,2",1.250\n', "column 'reward' has '1.250', whose point may stand before decimals or"),
    ("name,relation,reward\nc1,=,1\nc2,>,10\n", "'relation' of c2 is '>'; a limit is no result; give it itself"),
    ("name,reward,Unit\nc1,1,mM\nc2,500,nM\n", "'Unit' of c2 is 'nM'; other results have another unit"),
    ("name,QC,reward\nc1,Failed,0\n", "'QC' of c1 is 'Failed'; write so in place of the result"),
    ("name,outlier,reward\nc1,TRUE,0\n", "'outlier' of c1 is 'TRUE'; leave such rows out, or write failed"),
    ("name,assay,reward\nc1,viab,1\nc1,tox,2\n", "'assay' of c1 is 'viab'; of which it has several; keep the rows"),
    ("name,reward,n\nc1,1,n=3\n", "'n=3', a number with something before it, .* no order; write it alone[.]$"),
    ("name,reward,SEM (mM)\nc1,1,2\n", r"column 'SEM \(mM\)' is in mM and the results in no unit"),
    ("name,reward\nc1,1\nNote: all twice,\n", "Note: all twice is no candidate"),
    ("name,X,reward\nc1,7,1\n", r"'x' of c1 is 7 in the table \(column 'X'\) .*; rename the column if it is another"),
    ("<html><table>", r"is JSON, XML or a page of the web, no table; save it as CSV"),
    ('[{"name": "c1"}]', "is JSON, XML or a page of the web, no table"),
    ("\x1f\x8b and more", "is a spreadsheet or an archive, no text"),
    ("", "is empty; it needs a header, such as name,reward"),
    ("PK\x03\x04 and more", r"is a spreadsheet or an archive, no text; save it as CSV \(UTF-8\)"),
)
def test_files_that_are_refused(text, tmp_path):
    (tmp_path / "r.csv").write_text(text, encoding="latin-1")
    told(tmp_path / "r.csv")


@pytest.mark.parametrize("header", ["Reference,reward,,Retest,Note", "Compound,reward,Sample,Retest,N (kg/ha)"])
def test_ordinary_columns_beside_results_are_harmless(header, tmp_path):
    (tmp_path / "r.csv").write_text(f"{header}\nc1,1,,not done,60\nc1,1,,not done,\n")
    assert told(tmp_path / "r.csv") == [("c1", 1.0)] * 2


def test_names_and_numbers_of_rows_in_other_columns(tmp_path):
    (tmp_path / "r.csv").write_text("Well,Sample,reward\nA1,c1,1\nA2,D-1,2\nA3,D-2,3\nA4,D-3,3\n")
    search = Search(TABLE, "gp")
    search.tell(tmp_path / "r.csv", unknown="ignore")
    (tmp_path / "n.csv").write_text("n,name,reward\n1,c2,5\n2,c3,6\n")
    search.tell(tmp_path / "n.csv")
    assert search.history.to_numpy()[:, 1:].tolist() == [["c1", 1.0], ["c2", 5.0], ["c3", 6.0]]
    table = TABLE.iloc[[3, 1, 2]].rename_axis("name").reset_index().assign(index=[3, 1, 2], Barcode=7)
    assert Candidates.of(table).report[:2] == (
        "column index: the numbers of the rows, left out.",
        "column Barcode: taken for a feature; leave it out if it numbers rows or plates.",
    )
    (tmp_path / "r.csv").write_text("name,reward\nD-1,1\n")
    refuses(
        lambda: search.tell(tmp_path / "r.csv", unknown="ignore"),
        "no row is of a candidate .D-1.; call their column `name`",
    )


def test_names_that_became_numbers_in_a_file(tmp_path):
    """As pandas writes them where one name is missing; a Parquet file tells, too."""
    search = Search(TABLE.set_axis([*map(str, range(19)), "1.50"]), "random")
    (tmp_path / "r.csv").write_text("name,reward\n1.0,5\n")
    search.tell(tmp_path / "r.csv")
    frame(name=[2.0, 1.5], reward=[6, 7]).to_parquet(tmp_path / "r.parquet")
    search.tell(tmp_path / "r.parquet")
    assert search.history["name"].tolist() == ["1", "2", "1.50"]


test_tables_that_are_refused = refused(
    lambda table: told(table),
    (frame(name=["c1", "c2"], reward=["1,250", "3"]), "'1,250', whose comma may stand before"),
    (frame(name=["c1"], reward=["1,250"], z=[0.5]), "'1,250', whose comma may stand before"),  # whatever floats are
    (pd.DataFrame([["c1", 1, 2]], columns=["name", "reward", "reward"]), "columns 'reward'"),
    (pd.DataFrame([["c1", "c2", 2]], columns=["name", "name", "reward"]), "two columns 'name'"),
    (frame(name=["c1"], reward=[10**400]), "is '10000000000000000000'; it must be at most 1e.150 in size"),
    (frame(name=["c1"], reward=[np.ones(2)]), r"must be a number, .* got '\[1\. 1\.\]'"),
    (frame(name=["c1"], reward=[1j]), "must be a number, .* got '1j'"),
    (frame(name=["c1"], reward=[pd.Timestamp("2026-01-01")]), "must be a number, .* got '2026-01-01"),
    (frame(name=["c1", None], reward=[1.0, 2.0]), r"the reward 2\.0 has no name; name it or delete the row"),
    (frame(name=["c1"], reward=[1.0], salt=["KCl"]), "feature 'salt' of c1 is 'KCl' in the table and 'NaCl' in the"),
    (frame(name=["c1"], reward=[1.0], x=[9.0]), r"feature 'x' of c1 is 9 in the table and 0\.\d+ in the candidates"),
    (frame(name=["c1"], rep1=[1.0], rep2=[2.0]), "no column reward; it has: name, rep1, rep2"),
    ("name,reward\nc1,1\n", "a table is read from a file, got its text; write it to one"),
    (pd.Series([1.0], index=["c1"]), "tell wants the table that ask returned, .* got Series"),
)

test_calls_that_are_refused = refused(
    lambda call: call(Search(TABLE, "random")),
    (lambda s: s.ask(0), "size must be a whole number of at least 1, got 0"),
    (lambda s: s.ask(2.5), "size must be a whole number of at least 1, got 2.5"),
    (lambda s: s.tell(frame(name=["c1"], reward=[1]), unknown="skip"), "unknown must be 'refuse' or"),
    (lambda s: s.exclude("c1"), r"names must be a list of names or a table, got 'c1'; write \['c1'\]"),
    (lambda s: s.exclude(["c99"]), "c99 is no candidate"),
    (lambda s: s.predict(0), "m must be a whole number of at least 1"),
    (lambda s: Search(TABLE, "gp_bucb", aim="up"), "aim must be one of max, min, both, or the number"),
    (lambda s: Search(TABLE, "gp_bucb", aim=np.nan), "aim must be one of .*; got nan"),
    (lambda s: Search(TABLE, "gp_bucb", hits=np.nan), "hits must be finite, got nan"),
    (lambda s: Search(TABLE, "hits", aim="min", threshold=-2.0), "threshold is of rewards to be large, not of the aim"),
    (lambda s: Search(TABLE, "gp_bucb", hits="many"), "hits must be a reward, a share such as '5%', or a list"),
    (lambda s: Search(TABLE, "gp_bucb", hits=["c99"]), "c99 is no candidate"),
    (lambda s: Search(TABLE, "gp_bucb", optimsm=1), "gp_bucb has no setting 'optimsm'; it has: "),
    (lambda s: Search(TABLE, bestarm.gp_bucb(2, 2), beta=1), "there is no setting 'beta'; settings are for a policy"),
    (lambda s: Search(bestarm.gp_bucb(2, 2), TABLE), "takes the candidates first: write Search"),
    (lambda s: Search(bestarm.Partition(), "gp_bucb"), "searches a table of candidates, got a Partition"),
    (lambda s: Search(TABLE, bestarm.m_lingape(2), aim="min"), "is sequential and maximises"),
    (lambda s: s.save(""), "a file is named by a text or a Path, got ''"),
    (lambda s: s.save("."), "is a folder; name a file in it"),
    (lambda s: Search.load(None), "a file is named by a text or a Path, got None"),
    (lambda s: setattr(s, "aim", "min"), "aim"),
    (lambda s: s.ask(2, pending=5), "pending must be a list of names or a table, got 5"),
    (lambda s: s.ask(2, pending=["c1", None]), "name 2 of pending is empty; leave it"),
    (lambda s: s.exclude(None), "names must be a list of names or a table, got None; give"),
    (lambda s: Search(TABLE, hits=True), "hits must be a reward, a share such as '5%', or a"),
    (lambda s: Search(TABLE, hits=list(TABLE.index)), "every candidate is a hit, so that there"),
    (lambda s: Search(pd.concat([TABLE, TABLE.iloc[:1].set_axis(["SUM"])])), "the table, row 21: the last row is"),
    (lambda s: Search(pd.concat([TABLE, TABLE[:2].set_axis(["Min.", "Max (n=3)"])])), "last rows is called 'Min.'"),
    (lambda s: Search(pd.concat([TABLE, TABLE[:1].set_axis(["Std. Dev. (n=3)"])])), "row 21: the last row is"),
    (lambda s: s.tell(TABLE, results="x"), r"the reward 'x' is a feature of .*; make the search with results=\['x'\]"),
    (lambda s: Search(frame(name=["a", "b"], **{"c (mM)": ["5 µM", "6 µM"]})), "has '5 µM', in another unit than its"),
    (
        lambda s: Search(TABLE.assign(x=[f"0,{i}5" for i in range(20)], z=["0.5"] * 20)),
        "column 'z' has '0.5' and column 'x' has '0,195', decimal points and decimal commas; write all numbers",
    ),
    (lambda s: Search(TABLE[["x"]] * 0.0), "every feature is the same for all candidates"),
    (lambda s: Search(TABLE, components=9), "components must be between 1 and 4"),
    error=(ValueError, AttributeError),
)


def test_lists_of_names_are_taken_as_they_come():
    search = Search(TABLE, "random")
    search.exclude(TABLE.iloc[:2])
    search.exclude(pd.Series(["c2 ", "c3"]))
    assert search.states.value_counts()["withdrawn"] == 4
    search.restore(frame(name=["c0"]))
    assert search.states["c0"] == "unmeasured"
    assert Search(TABLE, hits=pd.Index(["c1 ", "c2", "c1"]))._hits == ["c1", "c2"]
    numbered = TABLE.reset_index(drop=True).assign(id=range(1, len(TABLE) + 1))  # a feature, so that rows are numbered
    named = numbered[["id", "x", "y"]]  # by its first column, and not by the numbers of its rows
    for table, hits in ((numbered, ["0", "1"]), (named, ["1", "2"])):
        assert Search(table, hits=table[:2])._hits == Search(table, hits=Candidates.of(table).table[:2])._hits == hits


def test_numbers_of_rows_name_them_where_all_features_are_there():
    table = frame(T=[20.0, 30.0, 40.0], t=[1.0, 5.0, 3.0]).set_axis([11, 12, 13])
    search = knowing(Search(table, "random"), table[1:].assign(reward=[1.0, 2.0]))
    assert search.history["name"].tolist() == ["12", "13"]
    refuses(lambda: search.tell(table[["T"]].assign(reward=1.0)), "no column name; it has: T, reward. Call the column")


def test_an_empty_reward_of_what_waits_is_still_to_come_in_any_order_of_columns():
    search = Search(TABLE, "random")
    search.tell(search.ask(3).assign(round=1, reward=[1.0, None, None])[["round", "name", "reward"]])
    assert search.states.value_counts()["asked"] == 2


def test_one_candidate_can_be_added_by_a_file(tmp_path):
    search = Search(TABLE.assign(lot=7), "random")
    assert "1 feature the same for all candidates, left out (lot)." in search.candidates.report
    (tmp_path / "new.csv").write_text("name,x,y,salt,lot\nnew,0.1,0.2,LiCl,8\n")
    search.add_candidates(tmp_path / "new.csv")
    assert search.candidates.columns == ("x", "y", "salt=KCl", "salt=LiCl", "salt=NaCl", "lot")
    assert search.candidates.report == ("column salt: 3 words, a column of 0 and 1 for each.",)
    odd = Search(pd.DataFrame({"name": ["a", "b", "c"], "yield": [1, 2, 4], "Run": [4, 2, 3]}), results=[])
    odd.add_candidates(pd.DataFrame({"name": ["d"], "yield": [5], "Run": [1]}))  # whatever these look like alone
    assert odd.candidates.table.loc["d"].to_dict() == {"yield": 5.0, "Run": 1.0}
    assert "new" in set(search.ask(21)["name"])
    units = Search(frame(name=["a", "b"], c=["5 mM", "6 mM"]))
    refuses(lambda: units.add_candidates(frame(name=["d"], c=["7 µM"])), "has in the new table the unit 'μM' and in")


def test_units_are_kept_whatever_a_table_is_called(tmp_path):
    """Also in files of a search, of which older ones have them in a sentence of the report alone."""
    (tmp_path / "column 1.csv").write_text("name,c\na,5 mM\nb,6 mM\n")
    search = Search(tmp_path / "column 1.csv")
    search.save(tmp_path / "s.zip")
    assert search.candidates.units == Search.load(tmp_path / "s.zip").candidates.units == {"c": "mM"}
    meta, numbers = candidate_parts(Candidates.of(frame(name=["a", "b"], c=["5 mM", "6 mM"])))
    del meta["columns"][0]["unit"]
    assert candidates_of(meta, numbers).units == {"c": "mM"}


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
        (("1/2", "1/4", "70:30 v/v", "50:50 (v/v)"), "a ratio"),
        (("12:30", "9:05"), "a ratio or a time"),
        (("20–30 °C", "30–40 °C", "pH 6.5-7.5"), "a range"),
        (("0:30:00", "1:00:00"), "a time"),
        (("2 h", "4 h", "overnight"), "among numbers such as '2 h'"),
        (("rt", "60", "80"), "among numbers such as '60'"),
        (("(5)", "($3)", "60"), "a number in brackets"),
        (("5-", "60"), "or before its sign"),
        (("½", "¼"), "a fraction"),
        (("2x10-3", "3·10-4", "1×10⁻⁶", "2D5", "1,5 E-3", "2,5E -4"), "a power of ten"),
        (("CHF 5.-", "CHF 6.-"), "something before it"),
        *(((f"5{sign}", f"6{sign}"), "digits with signs") for sign in ("+", " (3)", " ?", "**", ".-")),
        (("5×7", "6 x 7 mm"), "a product"),
        (("1h30", "2 h 15 min", "1d 2h", "PT1H30M"), "a time"),
        (("1 day, 6:00:00", "2:00:00"), "a time"),
        (("01/2024", "2024-01", "March 5, 2024", "5th May 2024", "Tue 5 Mar 2024", "3-Mar"), "a date"),
        (("2024-05-01T12:30:00Z", "2024-05-02 12:30"), "a date"),
        (("0x1F", "0x2A"), "a hexadecimal number"),
        (("1 mM", "500 uM"), "several units"),
        (("1%", "2"), "several units"),
        (("500", "1k", "2k"), "'1k' and '500', several units"),
        (("5-fold", "2-fold"), "a number with something after it"),
    ],
)
def test_texts_that_hold_numbers_are_refused_unless_they_are_words(cells, words, tmp_path):
    refuses(lambda: read(tmp_path, column(cells)), words)
    assert len(read(tmp_path, column(cells), words=["v"]).columns) == len(cells) + 1


@pytest.mark.parametrize("words", ["Na K", "None XPhos", "- PPh3", "inf Al", "Na None", "NA x", "2-MeTHF 1-butanol"])
def test_words_stay_words(words, tmp_path):
    first, second = words.split()
    assert read(tmp_path, column([first, second, first])).table["v"].tolist() == [first, second, first]


def test_genes_beside_names_are_other_names_and_two_characters_of_micro_one_unit(tmp_path):
    text = "name,gene,compound,dose\n" + "".join(f"c{i},G{i},{i},{i} {'µμu'[i % 3]}M\n" for i in range(4))
    found = read(tmp_path, text)
    assert found.table.to_dict("list") == {"compound": [0.0, 1.0, 2.0, 3.0], "dose": [0.0, 1.0, 2.0, 3.0]}
    assert "t.csv: column gene: other names of the rows, all different, left out." in found.report


GRID = {"T": [20.0, 30.0, 40.0], "t": [5.0, 10.0, 15.0]}
LAYOUTS = {
    "units below the header": (["name,T,t", ",°C,min"], "'°C min' below the header, left out"),
    "units and a word for them": (["name,T,t", "unit,°C,"], "'unit °C' below the header, left out"),
    "merged cells above the header": ([",cond,cond", "name,T,t"], "'cond cond' above the header, left out"),
    "a comment among the rows": (["# May 5", "name,T,t", "# by hand"], "1 line of comment left out"),
    "thirty comments": ([*(f"# set {i}" for i in range(30)), "name,T,t"], "'# set 29' above the header, left out"),
    "a comment with all separators": (["name,T,t", "# by hand,,"], "1 line of comment left out"),
    "row numbers, saved twice": (["Unnamed: 0.1,name,T,t"], "column Unnamed: 0.1: the numbers of the rows, left out"),
    "identifiers beside names": (["Sample ID,name,T,t"], "column Sample ID: other names of the rows, all different"),
}


def a_book(*rows):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    return book


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_layouts_are_understood_and_said(kind, suffix, tmp_path):
    """In files of text (of Windows, too, as UTF-16) and of spreadsheets."""
    head, said = LAYOUTS[kind]
    more = "Unnamed" in kind or "name," in head[0][4:]
    rows = [
        [*([str(i if "Unnamed" in head[0] else 907 - i)] if more else []), "abc"[i], str(20 + 10 * i), str(5 + 5 * i)]
        for i in range(3)
    ]
    if suffix == ".csv":
        (tmp_path / "t.csv").write_bytes("\r\n".join([*head, *map(",".join, rows), ""]).encode("utf-16"))
    else:
        cells = [*(line.split(",") for line in head), *rows]
        a_book(*([cell or None for cell in row] for row in cells)).save(tmp_path / "t.xlsx")
    found = Candidates.of(tmp_path / f"t{suffix}")
    assert (found.names, found.table.to_dict("list")) == (("a", "b", "c"), GRID)
    assert any(said in sentence for sentence in found.report)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda sheet: sheet.cell(2, 2, "=1+1"), "the formula in B2 was never computed; save the file"),
        (lambda sheet: sheet.merge_cells("B2:B3"), "the cells B2:B3 are merged, which"),
    ],
)
def test_cells_that_only_look_empty_are_refused(change, message, tmp_path):
    book = a_book(["read me first"])
    sheet = book.create_sheet("data")
    for row in (["name", "x", "y"], ["a", 1, 2], ["b", 2, 3], ["c", None, 4]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    assert Candidates.of(tmp_path / "t.xlsx").report[0] == "t.xlsx: the sheet 'data' of 2 was read."
    change(sheet)
    book.save(tmp_path / "t.xlsx")
    refuses(lambda: Candidates.of(tmp_path / "t.xlsx"), message)


def test_numbers_of_a_spreadsheet_say_nothing_of_decimal_signs_in_texts(tmp_path):
    a_book(["name", "pH", "c"], ["a", 7.4, "1,25"], ["b", 7.1, "2,50"]).save(tmp_path / "t.xlsx")
    for source in (tmp_path / "t.xlsx", pd.read_excel(tmp_path / "t.xlsx")):
        assert Candidates.of(source).table["c"].tolist() == [1.25, 2.5]
    refuses(lambda: Candidates.of(frame(name=["a", "b"], pH=[7.4, 7.1], c=["1,250", "2,500"])), "whose comma may stand")
    table = frame(name=["a", "b"], x=["1,25", "2,50"])
    one = knowing(Search(table, "random"), table.assign(reward=[7.4, 7.1]))
    assert one.history["reward"].tolist() == [7.4, 7.1]


def test_hidden_rows_and_columns_are_read_and_said(tmp_path):
    book = a_book(["name", "x", "y", "z"], ["a", 1, 1, 1], ["b", 2, 1, 2], ["c", 3, 2, 1])
    book.active.row_dimensions[3].hidden = True
    book.active.column_dimensions.group("C", "D", hidden=True)
    book.save(tmp_path / "t.xlsx")
    candidates = Candidates.of(tmp_path / "t.xlsx")
    assert list(candidates.names) == ["a", "b", "c"]
    said = ("t.xlsx: 1 hidden row (3) read as if shown.", "t.xlsx: 2 hidden columns (3, 4) read as if shown.")
    assert candidates.report[:2] == said


@pytest.mark.parametrize("source", [None, {"x": [1, 2]}, [{"x": 1}], np.array([["a", 1]], dtype=object), object()])
def test_what_is_no_table_is_refused(source):
    refuses(lambda: Candidates.of(source), "candidates are a file, a DataFrame or an array of numbers, got a .*; write")


def test_tables_of_other_libraries_and_several_levels():
    """One word stands for a list of one column, but names are a list."""
    arrow = pytest.importorskip("pyarrow").Table.from_pandas(LINE.assign(s="1-2", z=LINE["x"] ** 2))
    found = Candidates.of(arrow, words="s", results="z")
    assert (found.names, found.columns) == (tuple(LINE.index), ("x", "s=1-2"))
    assert Candidates.of(LINE.set_axis(pd.MultiIndex.from_tuples([("dose", "mM")]), axis=1)).columns == ("dose mM",)
    refuses(lambda: Candidates.of(np.eye(2), names="ab"), "names must be a list of names or a table, got 'ab'")
    refuses(lambda: Candidates.of(LINE.assign(v=[np.ones(2)] * 12)), "column 'v' has a ndarray, no number and no word")
    lazy = type("Lazy", (), {"columns": ["x"], "__array__": lambda self, *_, **__: np.eye(2)})()
    refuses(lambda: Candidates.of(lazy), "a DataFrame or an array of numbers, got a Lazy; write")
    alike = Candidates.of(LINE.rename(index={"c0": "A b", "c1": "ab", "c2": "x\ny"}, columns={"x": "x\ny"}))
    assert (alike.names[2], alike.columns) == ("x y", ("x y",))
    said = ["names that look alike: A b (3 characters) and ab (2 characters); check that they are meant."]
    assert list(alike.report) == said


def test_codes_with_zeros_are_said(tmp_path):
    said = "t.csv: column v: '001' read as a number; `words` keeps such texts as categories."
    assert read(tmp_path, column(["001", "010", "002"])).report == (said,)


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
    said = "t.csv: column Notes: by Bob: taken for a feature; leave it out if it has remarks or dates."
    assert said in read(tmp_path, "name,x,Notes: by Bob\na,1,\nb,2,check\n").report


def test_names_that_are_there_twice_or_given(tmp_path):
    refuses(lambda: Candidates.of(LINE.assign(name="q")), "names twice, in its index and in column 'name'; drop one of")
    assert read(tmp_path, "x,y\n1,2\n3,5\n", names=["p", "q"]).names == ("p", "q"), "names of a file are used"


def test_numbers_of_other_kinds():
    for gap in (None, np.nan):  # of arrays of objects and of floats
        found = Candidates.of([[1, gap], [2, 3], [4, 5]])
        assert (found.values[0].tolist(), found.report) == ([1.0, 4.0], ("column x1: 1 gap set to the mean.",))
    kinds = [decimal.Decimal("1.5"), fractions.Fraction(1, 4), 2, np.float32(0.5)] * 3
    assert Candidates.of(LINE.assign(s=kinds)).table["s"].tolist() == [1.5, 0.25, 2.0, 0.5] * 3
    search = knowing(Search(LINE, "random"), {"name": LINE.index, "reward": kinds})
    assert search.history["reward"].tolist() == [1.5, 0.25, 2.0, 0.5] * 3


def test_what_is_told_again_is_said():
    search = Search(LINE, "random")

    def told(*rows):
        search.tell(pd.DataFrame(rows, columns=["name", "reward"]))
        return search.notes

    assert told(("c1", 1.0), ("c2", 2.0), ("c2", 2.5)) == ["c2: measured several times in the table."]
    assert told(("c1", 1.5)) == ["c1: measured before, and again now; replace=True corrects."]
    assert told(("c3", 3.0), ("c1", "not done")) == ["c1: not waiting, so that `not done` changes nothing."]
    said = ["2 rows told before, 1 new.", "c3: failed in place of 3, a correction."]
    assert told(("c3", "failed"), ("c2", 2.0), ("c2", 2.5)) == said
    refuses(lambda: told(("c4", "1 ± 0.2")), r"the reward of c4 is '1 ± 0\.2'; give its error in a column of its own")

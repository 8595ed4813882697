"""Tables as laboratories send them: understood as meant, or refused in one line with value, rule and remedy."""

import io

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from bestarm.search.search import Search

TABLE = pd.DataFrame(
    np.random.default_rng(0).uniform(size=(20, 2)), index=[f"c{i}" for i in range(20)], columns=["x", "y"]
).assign(salt=["KCl", "NaCl"] * 10)


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
        (pd.read_csv(io.StringIO("name;reward\nc1;0,5\nc2;0,25\n"), sep=";"), [("c1", 0.5), ("c2", 0.25)]),
        (frame(name=["c1"], reward=[2.0], salt=["NaCl "], x=[f"{TABLE['x'].iloc[1]:.3f}"]), [("c1", 2.0)]),
    ],
)
def test_tables_that_are_understood(table, wanted):
    """Blanks around names, empty rows, other kinds of column, features as a spreadsheet rounds them."""
    assert (told(table), told(table.convert_dtypes(dtype_backend="pyarrow"))) == (wanted, wanted)
    assert told(frame(name=["c1", "c2"], reward=pd.array([1, None], dtype="Int64"))) == [("c1", 1.0)]
    assert np.isnan(told(frame(name=["c1", "c2"], reward=[1.0, "failed"]))[1][1])


ODD = {
    "a limit": ("name,reward\nc1,<0.1\n", r"the reward of c1 is '<0\.1', beyond what can be measured; give the limit"),
    "a limit with a comma": ("name;reward\nc1;>0,1\n", r"is '>0,1', beyond what can be measured; give the limit"),
    "thousands": (
        'name,reward\nc1,"1,000"\n',
        "column 'reward' has '1,000', whose comma may stand before decimals or after thousands; give",
    ),
    "commas and points": (
        "name;reward\nc1;0,5\nc2;0.5\n",
        "has '0.5' and column 'reward' has '0,5', decimal points and decimal commas; write",
    ),
    "two units": ("name,reward\nc1,50%\nc2,0.5\n", "'0.5' and '50%', several units; give numbers of one unit"),
    "a slip": ("name,reward\nc1,1_2\n", "the reward of c1 is '1_2'; it must be a number, empty while"),
    "nothing filled in": ("name,reward\nc1,\nc2,\n", "no row of the table has a reward: all 2 are still to come"),
    "an error of a spreadsheet": (
        "name,reward\nc1,#DIV/0!\n",
        "no row of the table has a reward: all 1 are still to come",
    ),
    "a sum": ("name,reward\nc1,1\nTotal:,1\n", "line 3: the last row is called 'Total:', .* summary is; delete it"),
    "a control": ("name,reward\nc1,1\nNTC,1\n", "NTC is no candidate; .* or leave controls out by unknown='ignore'"),
    "half a row": ("name,reward\nc1,1\nc2\n", "line 3: 1 fields where the header has 2; complete the row"),
    "two columns": ("name,reward,reward 2\nc1,1,2\n", "two columns of rewards, reward and reward 2; keep one"),
    "another capital": ("name,reward,Reward\nc1,1,2\n", "two columns of rewards, reward and Reward; keep one"),
    "a word for results": (
        "compound,yield\nc1,1\n",
        "no column reward; it has: compound, yield. Rename 'yield', which looks like it, reward, or name it by tell",
    ),
    "no header": ("c1,1\n", "the table has no column reward; it has: c1, 1"),
    "a page of the web": ("<html><table>", r"is JSON, XML or a page of the web, no table; save it as CSV"),
    "JSON": ('[{"name": "c1"}]', "is JSON, XML or a page of the web, no table"),
    "a compressed file": ("\x1f\x8b and more", "is a spreadsheet or an archive, no text"),
    "nothing": ("", "is empty; it needs a header, such as name,reward"),
    "a spreadsheet": ("PK\x03\x04 and more", r"is a spreadsheet or an archive, no text; save it as CSV \(UTF-8\)"),
}


@pytest.mark.parametrize("name", ODD)
def test_files_that_are_refused(name, tmp_path):
    text, message = ODD[name]
    (tmp_path / "r.csv").write_text(text, encoding="latin-1")
    refuses(lambda: told(tmp_path / "r.csv"), message)


WRONG = {
    "ambiguous commas": (frame(name=["c1", "c2"], reward=["1,250", "3"]), "'1,250', whose comma may stand before"),
    "two columns of one name": (pd.DataFrame([["c1", 1, 2]], columns=["name", "reward", "reward"]), "columns 'reward'"),
    "two columns of names": (pd.DataFrame([["c1", "c2", 2]], columns=["name", "name", "reward"]), "two columns 'name'"),
    "a number of 400 digits": (
        frame(name=["c1"], reward=[10**400]),
        "is '10000000000000000000'; it must be at most 1e.150 in size",
    ),
    "arrays": (frame(name=["c1"], reward=[np.ones(2)]), r"must be a number, .* got '\[1\. 1\.\]'"),
    "complex": (frame(name=["c1"], reward=[1j]), "must be a number, .* got '1j'"),
    "dates": (frame(name=["c1"], reward=[pd.Timestamp("2026-01-01")]), "must be a number, .* got '2026-01-01"),
    "no name": (frame(name=["c1", None], reward=[1.0, 2.0]), r"the reward 2\.0 has no name; name it or delete the row"),
    "another salt": (
        frame(name=["c1"], reward=[1.0], salt=["KCl"]),
        "feature 'salt' of c1 is 'KCl' in the table and 'NaCl' in the candidates; put it back, or name",
    ),
    "another dose": (
        frame(name=["c1"], reward=[1.0], x=[9.0]),
        r"feature 'x' of c1 is 9 in the table and 0\.\d+ in the candidates; put it back, or name",
    ),
    "columns of replicates": (frame(name=["c1"], rep1=[1.0], rep2=[2.0]), "no column reward; it has: name, rep1, rep2"),
    "the text of a file": ("name,reward\nc1,1\n", "a table is read from a file, got its text; write it to one"),
    "a series": (pd.Series([1.0], index=["c1"]), "tell wants the table that ask returned, .* got Series"),
}


@pytest.mark.parametrize("name", WRONG)
def test_tables_that_are_refused(name):
    table, message = WRONG[name]
    refuses(lambda: told(table), message)


def test_names_that_became_numbers_in_a_file(tmp_path):
    """As pandas writes them where one name is missing; a Parquet file tells, too."""
    search = Search(TABLE.set_axis([*map(str, range(19)), "1.50"]), "random")
    (tmp_path / "r.csv").write_text("name,reward\n1.0,5\n")
    search.tell(tmp_path / "r.csv")
    frame(name=[2.0, 1.5], reward=[6, 7]).to_parquet(tmp_path / "r.parquet")
    search.tell(tmp_path / "r.parquet")
    assert search.history["name"].tolist() == ["1", "2", "1.50"]


CALLS = {
    "a number being measured": (lambda s: s.ask(2, pending=5), "pending must be a list of names or a table, got 5"),
    "a nameless one being measured": (lambda s: s.ask(2, pending=["c1", None]), "name 2 of pending is empty; leave it"),
    "nobody excluded": (lambda s: s.exclude(None), "names must be a list of names or a table, got None; give"),
    "one word not done": (lambda s: s.not_done("c1"), r"names must be a list of names or a table, got 'c1'; write"),
    "a truth value of hits": (lambda s: Search(TABLE, hits=True), "hits must be a reward, a share such as '5%', or a"),
    "everything is a hit": (lambda s: Search(TABLE, hits=list(TABLE.index)), "every candidate is a hit, so that there"),
    "a sum among candidates": (
        lambda s: Search(pd.concat([TABLE, TABLE.iloc[:1].set_axis(["SUM"])])),
        "the table: the last row is called 'SUM', as a spreadsheet's summary is; delete it",
    ),
    "commas and points among features": (
        lambda s: Search(TABLE.assign(x=[f"0,{i}5" for i in range(20)], z=["0.5"] * 20)),
        "column 'z' has '0.5' and column 'x' has '0,195', decimal points and decimal commas; write all numbers",
    ),
    "all candidates alike": (lambda s: Search(TABLE[["x"]] * 0.0), "every feature is the same for all candidates"),
    "more components than features": (lambda s: Search(TABLE, components=9), "components must be between 1 and 4"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_are_refused(name):
    call, message = CALLS[name]
    refuses(lambda: call(Search(TABLE, "random")), message)


def test_lists_of_names_are_taken_as_they_come():
    """Tables, columns, indices; blanks around names."""
    search = Search(TABLE, "random")
    search.exclude(TABLE.iloc[:2])
    search.exclude(pd.Series(["c2 ", "c3"]))
    assert search.states.value_counts()["withdrawn"] == 4
    search.restore(frame(name=["c0"]))
    assert search.states["c0"] == "unmeasured"
    assert Search(TABLE, hits=pd.Index(["c1 ", "c2", "c1"]))._hits == ["c1", "c2"]


def test_one_candidate_can_be_added_by_a_file(tmp_path):
    search = Search(TABLE.assign(lot=7), "random")
    assert "1 feature the same for all candidates, left out (lot)." in search.candidates.report
    (tmp_path / "new.csv").write_text("name,x,y,salt,lot\nnew,0.1,0.2,LiCl,8\n")
    search.add_candidates(tmp_path / "new.csv")
    assert search.candidates.columns == ("x", "y", "salt=KCl", "salt=LiCl", "salt=NaCl", "lot")
    assert search.candidates.report == ("column salt: 3 words, a column of 0 and 1 for each.",)
    assert "new" in set(search.ask(21)["name"])

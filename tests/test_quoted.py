"""What texts and titles say is what their rows say; a wrong number is shown, and written anew."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from refusals import refuses, refusing

from bestarm_lab import quoted
from bestarm_lab.study_packages import study_names

ENTRIES = [entry for study in study_names() for entry in quoted.quoted(study)]
SAID = 'accuracy is {:.3f}, and "{:word}" of'


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.study}/{entry.part}: {entry.text[:50]}")
def test_texts_and_titles_say_what_their_rows_say(entry):
    assert not entry.fault()
    misplaced = [query for query in entry.numbers + entry.holds if "is" in query.get("then", {})]
    assert not misplaced, "the answer stands beside then, not in it"


CELLS = [
    ["# Title 0.50\n", "\n", "With λ = 0.1 the accuracy is\n", '0.500, and "none" of 12,345.'],
    ["It is 0.500 in\n", "all."],
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A notebook as Jupyter writes it, a table of its figures and verdicts of its study."""
    cells = [{"cell_type": "markdown", "id": f"c{i}", "metadata": {}, "source": s} for i, s in enumerate(CELLS)]
    code = ['section.show("fig", "1 of 2")\n']
    cells.append({"cell_type": "code", "id": "c9", "metadata": {}, "outputs": [], "source": code})
    file = tmp_path / "s" / "01_a.ipynb"
    file.parent.mkdir()
    file.write_text(json.dumps({"cells": cells, "nbformat": 4}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    table = pd.DataFrame({"panel": "p", "series": ["a", "b", "b"], "x": [1, 1, 2], "value": [0.5, 0.25, 0.75]})
    (tmp_path / "s" / "01_a").mkdir()
    table["convention"] = ["as_written", "as_written", "as_coded"]
    table.to_csv(tmp_path / "s" / "01_a" / "fig.csv", index=False)
    for name in ("NOTEBOOKS", "FIGURES", "RESULTS"):
        monkeypatch.setattr(quoted, name, tmp_path)
    yield file
    quoted.texts_of.cache_clear()
    quoted.table_of.cache_clear()


def test_rows_that_do_not_decide_are_not_quoted(place):
    """Laptop rows beside those at the paper's own scale have other numbers than figures and verdicts."""
    (place.parent / "paper").mkdir()
    (place.parent / "paper" / "fig1.parquet").touch()
    refuses(lambda: quoted.table_of("s", "01_a", "fig1.parquet"), "s/fig1.parquet has .*; quote paper/fig1.parquet")


def entry(text, *numbers, figure="", holds=()):
    numbers, holds = (tuple({"from": "fig"} | q for q in queries) for queries in (numbers, holds))
    return quoted.Quoted("s", "01_a", text, figure, numbers, holds)


def test_a_wrong_number_is_shown_and_written_and_nothing_else_changes(place):
    before = place.read_text(encoding="utf-8")
    assert entry(SAID, {"series": "a"}, {"count": "value > 9"}).fault() == ""
    wrong = entry(SAID, {"series": "b"}, {"count": "value > 0"})
    assert wrong.fault() == f"s/01_a: {SAID}: 0.500 is now 0.250, none is now two"
    wrong.rewrite()
    assert wrong.fault() == ""
    assert place.read_text(encoding="utf-8") == before.replace('0.500, and \\"none\\"', '0.250, and \\"two\\"')


def test_retell_says_whether_all_is_right(place, monkeypatch, capsys):
    monkeypatch.setattr(quoted, "quoted", lambda study: [entry("It is {:.3f} in all", {"series": "b"})])
    assert [quoted.retell(["s"], write=write) for write in (False, True, False)] == [False, True, True]
    assert capsys.readouterr().out.count("0.500 is now 0.250") == 2


def test_a_title_is_shown_and_not_rewritten(place, monkeypatch, capsys):
    title = entry("{:.0f} of {:.0f}", {"count": "value > 0.3"}, {"count": "value > 0"}, figure="fig")
    assert title.fault() == ""
    assert title.fault(pd.read_csv(place.with_suffix("") / "fig.csv").assign(value=0))
    monkeypatch.setattr(quoted, "quoted", lambda study: [replace(title, numbers=title.numbers[::-1])])
    before = place.read_bytes()
    assert not quoted.retell(["s"], write=True)
    assert place.read_bytes() == before


@refusing(("accuracy was {:.3f}", "has 0 places"), ("{:.3f}", "has 5 places"))
def test_a_sentence_stands_at_one_place(text, place):
    entry(text, {"series": "a"}).fault()


@refusing(
    ({"serie": "a"}, "unknown column 'serie'.*'series'"),
    ({"series": "A"}, "no series 'A'; .*a"),
    ({"series": ["a", "c"], "alike": "value"}, "no series 'c'"),
    ({"panel": "p"}, "2 lines; name the values of one line only"),
    ({"alike": "value"}, "expected the same in all lines"),
    ({"max": "valeu"}, "valeu"),
    ({"from": "gif"}, "there is no gif.csv.*fig"),
)
def test_a_query_is_refused_with_what_is_wrong(query, place):
    entry("It is {:.3f} in", query).fault()


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ({"series": "b", "convention": "as_coded"}, 0.75),
        ({"series": "b", "convention": "both", "mean": "value"}, 0.5),
        ({"series": "a", "over": {"series": "b"}}, 2.0),
        ({"max": "value", "minus": {"min": "value"}}, 0.25),
        ({"wide": "series", "all": "a > b"}, True),
        ({"by": "x", "highest": "series", "then": {"list": "value"}}, ["a"]),
        ({"convention": "both", "series": "b", "rises": "value"}, True),
        ({"where": "series == 'b'", "share": "value > 0.3"}, 0.0),
    ],
)
def test_answers_of_queries(place, query, answer):
    assert entry("").ask({"from": "fig"} | query) == answer


@pytest.mark.parametrize(("wanted", "fault"), [("> 0.4", ""), ("0.4 to 0.6", ""), (0.5, ""), ("<= 0.4", "is 0.5")])
def test_what_must_hold(place, wanted, fault):
    assert fault in entry("", holds=[{"series": "a", "is": wanted}]).fault()
    assert bool(fault) == bool(entry("", holds=[{"series": "a", "is": wanted}]).fault())

"""One claim told anew: its comparisons, its verdict as committed, and filters that find the rows behind it."""

import re

import pandas as pd
from refusals import refuses

from bestarm_lab import command_line
from bestarm_lab.claims import report
from bestarm_lab.claims.cells import Quantity, Value
from bestarm_lab.claims.kinds import Difference
from bestarm_lab.claims.layout import Best, OtherCell, Part, Span
from bestarm_lab.claims.report import explain, find_claim, queries
from bestarm_lab.claims.statistics import Relation
from bestarm_lab.paths import ROOT
from bestarm_lab.results import read_verdicts


def test_a_claim_is_told_with_every_comparison_and_the_verdict_as_committed(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = explain("gpoo-c10")
    table = read_verdicts("gpoo").query("id == 'GPOO-C10'")
    assert text.startswith("GPOO-C10: On f3 average feedback")
    assert text.count("As committed in results/gpoo/verdicts.csv.") == len(table) == 2
    for _, line in table.iterrows():
        assert f"Test: {line['test']}" in text
        assert f"{line['effect']:.3g} [{line['low']:.3g}, {line['high']:.3g}]" in text
        assert f"adjusted over the paper's claims of level {line['level']} {line['p_adjusted']:.3g}" in text
        assert f"another statement: on average {line['on_average']}, {line['average']:.3g} [" in text
    assert len(re.findall(r"^ +(?:for|against|open) .* fig5: budget = \d+, GPOO", text, re.MULTILINE)) == 10
    pasted = re.findall(r"^ +(pd\.read_parquet.*)$", text, re.MULTILINE)
    assert len(pasted) == 2
    for expression, convention in zip(pasted, ("as_written", "as_coded"), strict=True):
        rows = eval(expression, {"pd": pd})
        assert set(rows["budget"]) == {10, 15, 20, 25, 30}
        assert set(rows["convention"]) == {convention}
        assert len(rows) == 2 * 5 * 500


def test_the_command_prints_a_claim(monkeypatch, capsys):
    monkeypatch.setattr(report, "explain", lambda claim: f"told {claim}")
    assert command_line.main(["verdict", "GPOO-C10"]) == 0
    assert capsys.readouterr().out == "told GPOO-C10\n"


def test_an_unknown_claim_is_refused_with_the_nearest_ones():
    assert find_claim("oae-c2A") == ("oae", "OAE-C2a")
    refuses(lambda: find_claim("GPO-C10"), r"^unknown claim 'GPO-C10'; the nearest ones are GPOO-C10, GPOO-C10b")
    refuses(lambda: find_claim("zzz"), "the nearest ones are none")


def test_counted_cells_and_exact_checks_are_told():
    rank = explain("GPOO-C13")
    assert len(re.findall(r"^ +(?:for|against|open) +\d+ \[\d+, \d+\] .* fig6: size", rank, re.MULTILINE)) == 8
    assert len(re.findall(r"^ +\d of 4 cells, between \d and \d$", rank, re.MULTILINE)) == 2
    assert "# and size in [1, 10] (S, representatives of a cell)" in rank
    exact = explain("GPOO-T2")
    assert "Check: always, with metric = " in exact
    assert "Rows: results/gpoo/theory_event.parquet" in exact


def test_filters_name_cells_sides_and_what_is_derived():
    rows = pd.DataFrame(
        {"series": ["a"], "replication": [0], "k": [1], "convention": ["as_written"], "wide_0.1": [2.0]}
    )
    part = Part((("e", {"k": [1, 2, Span(1, 9)], "wide_0.1": [2.0]}),), ((Best("highest", ("a", "b")), "c"),))
    test = Difference(quantity=Quantity("v"), parts=(part,), relation=Relation("above", 0.0))
    found = queries(test, "as_written", {"e": rows}, {"e": "results/s/e.parquet"})
    assert len(found) == 2
    assert found[0].startswith(
        'pd.read_parquet("results/s/e.parquet", columns=["convention", "k", "wide_0.1", "series"'
    )
    assert 'k in [1, 2] and `wide_0.1` == 2.0 and series in ["a", "b", "c"]' in found[0]
    assert "1 <= k <= 9" in found[1]
    value = Value("a value", lambda rows, settings: rows)
    other = Part((("e", {}),), (("a", None),), base=OtherCell({"k": 2}, "f"))
    derived = Difference(
        quantity=Quantity("v", {"of": "x"}, values={"v": value}), parts=(other,), relation=Relation("above")
    )
    found = queries(derived, "as_written", {"e": rows, "f": rows}, {"e": "e.parquet", "f": "f.parquet"})
    assert [text.split("(")[1].split(")")[0] for text in found[:2]] == ['"e.parquet"', '"f.parquet"']
    assert found[2].startswith("# v: a value")
    assert found[2].endswith("with of = x")

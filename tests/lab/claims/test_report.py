"""One claim told anew: its comparisons, its verdict as committed, and filters that find the rows behind it."""

import re
import subprocess
import sys
from functools import cache

import pandas as pd
import pytest
from refusals import refuses

from bestarm_lab import command_line
from bestarm_lab.claims import report
from bestarm_lab.claims.cells import Quantity, Value
from bestarm_lab.claims.layout import Best, OtherCell, Part, Span
from bestarm_lab.claims.report import explain, queries
from bestarm_lab.paths import ROOT
from bestarm_lab.results import read_comparisons, read_verdicts
from bestarm_lab.study_packages import claim_ids, find_claim, study_names


@pytest.mark.parametrize("anew", [False, True])
def test_a_claim_is_told_with_every_comparison_and_the_verdict_as_committed(anew, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = explain("gpoo-c10", anew=anew)
    table = read_verdicts("gpoo").query("id == 'GPOO-C10'")
    assert text.startswith("GPOO-C10: On f3 average feedback")
    assert text.count("As committed in results/gpoo/verdicts.csv") == len(table) == 2
    assert text.count("; anew by: bestarm verdict GPOO-C10 --anew") == 2 * (not anew)
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
        assert (set(rows["budget"]), set(rows["convention"])) == ({10, 15, 20, 25, 30}, {convention})
        assert len(rows) == 2 * 5 * 500


def test_the_command_prints_a_claim(monkeypatch, capsys):
    monkeypatch.setattr(report, "explain", lambda claim, anew: f"told {claim}{' anew' * anew}")
    assert command_line.main(["verdict", "GPOO-C10"]) == command_line.main(["verdict", "GPOO-C10", "--anew"]) == 0
    assert capsys.readouterr().out == "told GPOO-C10\ntold GPOO-C10 anew\n"


def test_what_is_committed_is_shown_without_a_study_and_what_takes_long_to_import():
    """Half a second of pandas stays; a study brings Torch, Numba, Matplotlib and the statistics of SciPy."""
    slow = ("torch", "numba", "matplotlib", "scipy.stats", "bestarm_lab.study", "bestarm_studies.oae.checks")
    code = f"main(['verdict', 'OAE-C1a'])\nprint([name for name in {slow} if name in sys.modules])"
    command = [sys.executable, "-c", f"import sys\nfrom bestarm.command_line import main\n{code}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout.startswith("OAE-C1a: ")
    assert shown.stdout.endswith("[]\n")


@pytest.mark.parametrize("study", study_names())
def test_every_claim_is_shown(study, monkeypatch):
    """With as many lines of comparisons as are committed; each file is read once."""
    monkeypatch.setattr(pd, "read_csv", cache(pd.read_csv))
    monkeypatch.setattr(report, "columns_of", cache(report.columns_of))
    lines = "\n".join(map(explain, claim_ids(study)))
    shown = re.findall(r"^ +(?:for|against|open) .* n = \d+, p = ", lines, re.MULTILINE)
    assert len(shown) == len(read_comparisons(study))


def test_an_unknown_claim_is_refused_with_the_nearest_ones():
    assert find_claim("oae-c2A") == ("oae", "OAE-C2a")
    refuses(lambda: find_claim("GPO-C10"), r"^unknown claim 'GPO-C10'; the nearest ones are GPOO-C10, GPOO-C10b")
    refuses(lambda: find_claim("zzz"), "none is like it")


def test_counted_cells_and_exact_checks_are_told():
    rank = explain("GPOO-C13", anew=True)
    assert len(re.findall(r"^ +(?:for|against|open) +\d+ \[\d+, \d+\] .* fig6: size", rank, re.MULTILINE)) == 8
    assert len(re.findall(r"^ +\d of 4 cells, between \d and \d \(claimed", rank, re.MULTILINE)) == 2
    assert "# and size in [1, 10] (S, representatives of a cell)" in rank
    assert "# and size in [1, 10] (a value of the study, which --anew names)" in explain("GPOO-C13")
    exact = explain("GPOO-T2")
    assert "Check: always, with metric = " in exact
    assert "Rows: results/gpoo/theory_event.parquet" in exact


def test_filters_name_cells_sides_and_what_is_derived():
    columns = ["series", "replication", "k", "convention", "wide_0.1"]
    part = Part((("e", {"k": [1, 2, Span(1, 9)], "wide_0.1": [2.0]}),), ((Best("highest", ("a", "b")), "c"),))
    found = queries([part], Quantity("v"), "as_written", {"e": [*columns, "v"]}, {"e": "results/s/e.parquet"})
    assert len(found) == 2
    start = 'pd.read_parquet("results/s/e.parquet", columns=["convention", "k", "wide_0.1", "series"'
    assert found[0].startswith(start)
    assert 'k in [1, 2] and `wide_0.1` == 2.0 and series in ["a", "b", "c"]' in found[0]
    assert "1 <= k <= 9" in found[1]
    value = Value("a value", lambda rows, settings: rows)
    other = Part((("e", {}),), (("a", None),), base=OtherCell({"k": 2}, "f"))
    derived, files = Quantity("v", {"of": "x"}, values={"v": value}), {"e": "e.parquet", "f": "f.parquet"}
    found = queries([other], derived, "as_written", dict.fromkeys(files, columns), files)
    assert [text.split("(")[1].split(")")[0] for text in found[:2]] == ['"e.parquet"', '"f.parquet"']
    assert found[2].startswith("# v: a value, by ")
    assert found[2].endswith("with of = x")

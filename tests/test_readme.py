"""The README and the pages: examples run, numbers are those of the verdicts, generated parts are current."""

import re
import subprocess
import sys

import pandas as pd
import pytest

import bestarm
from bestarm_lab.notebooks.pages import generated
from bestarm_lab.paths import ROOT
from bestarm_lab.results import read_verdicts

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = " ".join(README.split())
PAGES = sorted(p for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def effect(study: str, identity: str, convention: str) -> float:
    table = read_verdicts(study)
    assert table is not None
    line = table[(table["id"] == identity) & (table["convention"] == convention)]
    return float(line["effect"].iloc[0])


@pytest.mark.parametrize("page", ["README.md", "docs/own_arms.md"])
def test_python_blocks_run(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        assert len(block.strip().splitlines()) <= 18
        exec(compile(block, page, "exec"), {})
    found = capsys.readouterr().out
    assert "best arms: [0, 1]" in found
    if page == "docs/own_arms.md":
        assert "best candidate" in found
        assert "best of the table: [{'name': 'c" in found
        low, high = re.search(r"the best cell is \[(.*), (.*)\]", found).groups()
        assert float(low) - 0.1 <= 3.2 <= float(high) + 0.1


def test_a_policy_written_as_the_guide_says_passes(tmp_path):
    guide = (ROOT / "docs/adding_a_study.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "own.py").write_text(block, encoding="utf-8")
    run = subprocess.run([sys.executable, "own.py"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr


STORIES = [
    ("**3.04**", "linear_topm", "TOPM-C8", "as_written", "{:.2f}"),
    ("**0.88**", "linear_topm", "TOPM-C8.b", "as_written", "{:.2f}"),
    ("**10%**", "gpoo", "GPOO-C4", "as_coded", "{:.0%}"),
]


@pytest.mark.parametrize(("text", "study", "identity", "convention", "form"), STORIES)
def test_stories_quote_the_verdicts(text, study, identity, convention, form):
    assert text in README
    assert text.strip("*") == form.format(effect(study, identity, convention))


@pytest.mark.parametrize(("study", "identity"), [("dpp_bbo", "DPP-C1")])
def test_comparisons_that_hold(study, identity):
    table = read_verdicts(study)
    assert isinstance(table, pd.DataFrame)
    line = table[table["id"] == identity].iloc[0]
    assert f"**{line['for']:.0f} of {line['comparisons']:.0f}**" in PROSE


@pytest.mark.parametrize(
    ("study", "identity"),
    [
        ("gse", "GSE-C1"),
        ("gse", "GSE-C1.b"),
        ("gse", "GSE-C1.e"),
        ("oae", "OAE-C2a"),
        ("oae", "OAE-C2b"),
        ("oae", "OAE-C2f"),
        ("dpp_bbo", "DPP-C22"),
    ],
)
def test_cells_that_are_counted(study, identity):
    table = read_verdicts(study)
    assert isinstance(table, pd.DataFrame)
    counted = table[table["id"] == identity]["decided_by"].iloc[0].partition(" cells")[0]
    assert f"**{counted}**" in PROSE


def test_how_often_a_landscape_claim_stands():
    """Of the readings of every draw of the open choices; quantile and hills are the choices that matter most."""
    table = pd.read_csv(ROOT / "results/oae/stands.csv").set_index("claim")
    line = table.loc["OAE-C2a"]
    assert f"**{line['confirmed'] / line[['confirmed', 'refuted', 'open']].sum():.0%}** of readings" in PROSE
    assert {line["factor_1"], line["factor_2"]} == {"quantile", "hills"}


def test_dpp_bbo_is_worse_in_as_many_comparisons_as_it_says():
    table = read_verdicts("dpp_bbo")
    assert isinstance(table, pd.DataFrame)
    assert f"worse in **{table[table['id'] == 'DPP-C1'].iloc[0]['against']:.0f}**" in PROSE


def test_none_of_the_runs_is_none():
    assert "**none** of 500 runs" in PROSE
    assert effect("gpoo", "GPOO-C4", "as_written") == 0.0
    table = read_verdicts("gpoo")
    assert isinstance(table, pd.DataFrame)
    assert (table.loc[table["id"] == "GPOO-C4", "n"] == 500).all()


def test_the_readme_is_a_front_door():
    prose = re.sub(r"```.*?```|\|[^\n]*", "", README, flags=re.DOTALL)
    assert 600 <= len(prose.split()) <= 900


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_generated_pages_are_current():
    stale = [path.name for path, text in generated().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"bring them up to date by `bestarm pages`: {stale}"


def test_the_readme_says_how_its_examples_are_run():
    """`make setup` and how to get a shell, both before the first example in Python."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    places = [text.index(part) for part in ("make setup", "source .venv/bin/activate", "```python")]
    assert places == sorted(places)


def test_the_least_python_is_the_same_everywhere():
    """Where it is checked, declared and documented."""
    for name in ("Makefile", "README.md", "pyproject.toml", "docs/reproduce.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        found = set(re.findall(r"Python (3\.\d+(?:\.\d+)?) or newer|requires-python = \">=([\d.]+)\"", text))
        assert {a or b for a, b in found} == {"3.11.5"}
    assert "sys.version_info < (3, 11, 5)" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/own_arms.md"])
def test_tables_of_algorithms_name_public_constructors(page):
    """Every word in backquotes of a column of algorithms; at least one asks for batches, and says so."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|") and re.search(r"`(m_lingape|gp_bucb|mean_opt|gpoo)`", line)]
    assert len(rows) == 4
    for row in rows:
        cell = next(cell for cell in row.split("|") if "`" in cell)
        assert set(re.findall(r"`(\w+)`", cell)) <= set(bestarm.__all__)
    assert sum("batch" in row for row in rows) >= 2

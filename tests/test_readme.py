"""The README and the pages: examples run, numbers are those of the verdicts, generated parts are current."""

import re
import subprocess
import sys

import pandas as pd
import pytest
from refusals import refuses

import bestarm
from benchmarks import search_picture
from bestarm_lab.notebooks.pages import SCOREBOARD, WORDS_OF_SCORE, generated, named_claims, scoreboard_page
from bestarm_lab.paths import ROOT
from bestarm_lab.results import read_verdicts
from bestarm_lab.study_packages import study_names

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = " ".join(README.split())
PAGES = sorted(p for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_a_policy_written_as_the_guide_says_passes(tmp_path):
    guide = (ROOT / "docs/adding_a_study.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "own.py").write_text(block, encoding="utf-8")
    run = subprocess.run([sys.executable, "own.py"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def verdict(identity: str, convention: str) -> pd.Series:
    (line,) = (
        table[(table["id"] == identity) & (table["convention"] == convention)]
        for study in study_names()
        if identity in set((table := read_verdicts(study))["id"])
    )
    return line.iloc[0]


def runs(line: pd.Series) -> str:
    return f"{line['effect'] * line['n']:.0f} of {line['n']:.0f}"


def cells(line: pd.Series) -> str:
    return line["decided_by"].partition(" cells")[0]


def comparisons(line: pd.Series) -> str:
    return f"{line['for']:.0f} of {line['comparisons']:.0f}"


STORIES = [  # a fragment of the README, and what makes its numbers of a verdict
    ("needs **{}** times LinGame's pulls", "TOPM-C8", "as_written", lambda v: f"{v['effect']:.2f}"),
    ("at most **{}** times", "TOPM-C8.b", "as_written", lambda v: f"{v['effect']:.2f}"),
    ("**{}** runs end off the highest peak with constants derived here", "GPOO-C4", "as_written", runs),
    ("**{}** with those of the authors' code", "GPOO-C4", "as_coded", runs),
    ("within 0.02 of the best rival in **{}** settings", "GSE-C1", "as_written", cells),
    ("rewards of its earlier stages, in **{}**", "GSE-C1.e", "as_written", cells),
    ("faster than random batches in **{}** settings", "OAE-C2e", "as_written", cells),
    ("than the same search without optimism in **{}**", "OAE-C2f", "as_written", cells),
    ("better in **{}** comparisons", "DPP-C1", "as_written", comparisons),
    ("ignores features in {} comparisons", "TOPM-C32a", "as_written", comparisons),
    ("least regret in {} comparisons", "GPOO-C1", "as_written", comparisons),
    ("of `greedy` in {}", "OAE-C2f", "as_written", cells),
    ("and worse in **{}**", "DPP-C1", "as_written", lambda v: f"{v['against']:.0f}"),
]


@pytest.mark.parametrize(("fragment", "identity", "convention", "told"), STORIES)
def test_stories_quote_the_verdicts(fragment, identity, convention, told):
    said = fragment.format(told(verdict(identity, convention)))
    assert said in PROSE
    assert f"(docs/scoreboard.md#{identity})" in PROSE.partition(said)[2][:120]


def test_the_picture_is_of_searches_that_were_run():
    """The median search of 25 has the best after 32 experiments; the first one is the same when it is run again."""
    table = pd.read_csv(search_picture.FILE)
    best = search_picture.rewards().max()
    median = table.groupby("tried")["best"].median()
    assert table["run"].nunique() == 25
    assert median.index[median == best].min() == 32
    assert "the median search has the best of 240 conditions after 32" in PROSE
    first = table[(table["run"] == 0) & (table["tried"] <= 16)]["best"]
    assert search_picture.best_so_far(0, batches=2) == first.tolist()


def test_the_false_lemma_is_an_exact_check():
    line = verdict("DPP-C27e.a", "as_written")
    assert (line["kind"], line["verdict"]) == ("exact", "confirmed")


def test_runs_of_the_second_function_decide():
    assert all("fig4_f2" in verdict("GPOO-C4", c)["decided_by"] for c in ("as_written", "as_coded"))


def test_claims_of_the_readme_have_an_anchor():
    page = SCOREBOARD.read_text(encoding="utf-8")
    named = named_claims(README)
    assert len(named) >= 5
    assert all(f'<a id="{identity}"></a>' in page for identity in named)
    refuses(lambda: scoreboard_page(["GSE-C999"]), "leads to claims that no study has")


def test_the_score_is_a_sentence():
    """Shares of claims as written, and how many verdicts the code changes."""
    tables = [table[table["ours"].fillna("") == ""] for s in study_names() if (table := read_verdicts(s)) is not None]
    written = pd.concat([t[t["convention"] == "as_written"] for t in tables])
    confirmed = (written["verdict"] == "confirmed").mean()
    assert f"Of {len(written)} claims, run as the texts state them, {confirmed:.0%} are confirmed" in PROSE
    assert set(written["verdict"]) <= set(WORDS_OF_SCORE)


def test_nothing_generated_is_long():
    assert len(SCOREBOARD.read_text(encoding="utf-8").split()) <= 2000


def test_the_page_behind_the_readme_says_why_a_claim_fails():
    """One click from the README: the reason on the claim's card, or that the cause is not known."""
    page = SCOREBOARD.read_text(encoding="utf-8")
    lines = {name: page.partition(f'<a id="{name}"></a>')[2].partition("\n")[0] for name in named_claims(README)}
    assert "Why: Each stage of GSE drops the rewards of the stages before." in lines["GSE-C1"]
    assert "Why: The cause is not known." in lines["OAE-C2f"]
    fails = {i for i, line in lines.items() if re.search(r"\*\*(refuted|mixed)", line)}
    assert {i for i in fails if "Why: " not in lines[i]} <= {"GSE-C1.e"}  # a control, whose claim says why


def test_the_readme_is_a_front_door():
    shown = re.sub(r"```.*?```", "", README, flags=re.DOTALL)  # the table's words are counted, the example's are not
    assert 500 <= len(shown.split()) <= 650


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
    for name in ("Makefile", "README.md", "pyproject.toml", "docs/reproduce.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        found = set(re.findall(r"Python (3\.\d+(?:\.\d+)?) or newer|requires-python = \">=([\d.]+)\"", text))
        assert {a or b for a, b in found} == {"3.11.5"}
    assert "sys.version_info < (3, 11, 5)" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "n"), [("README.md", 4), ("docs/own_arms.md", 4)])
def test_tables_of_algorithms_name_public_constructors(page, n):
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|") and re.search(r"`(m_lingape|gp_bucb|mean_opt|gpoo)`", line)]
    assert len(rows) == n
    for row in rows:
        cell = next(cell for cell in row.split("|") if "`" in cell)
        assert set(re.findall(r"`(\w+)`", cell)) <= set(bestarm.__all__)

"""The generated pages: findings, verdicts, gallery, table of figures, and the score of the README."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.claims.verdicts import (
    CONVENTIONS,
    VERDICTS,
    counts_text,
    effect_text,
    scoreboard,
    verdict_table,
    verdict_text,
)
from bestarm_lab.notebooks.score import disagreements, score_figure, score_values, shares
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import FIGURES, ROOT
from bestarm_lab.results import read_comparisons, read_sensitivity, read_verdicts
from bestarm_lab.study import load_study, study_names

README = ROOT / "README.md"
DOCS = ROOT / "docs"


def all_verdicts() -> dict[str, pd.DataFrame]:
    """Return the table of verdicts of every study that has one."""
    found = {name: read_verdicts(name) for name in study_names()}
    return {name: table for name, table in found.items() if table is not None}


def scoreboard_table() -> str:
    """Return the scoreboard in Markdown: a paper's own claims by verdict, for its text and for its authors' code."""
    counts = scoreboard(all_verdicts())
    kinds = [v for v in VERDICTS if counts[v].sum()]
    differ = disagreements(all_verdicts()).set_index("study")
    head = ["claims of", "run as", "sentences", *kinds, "exact: holds", "fails", "text and code differ"]
    lines = ["| " + " | ".join(head) + " |", "| --- | --- |" + " --: |" * (len(head) - 2)]
    for _, line in counts.iterrows():
        study, coded = line["study"], line["convention"] == CONVENTIONS["as_coded"]
        paper = f"[{load_study(study).paper.abbreviation}](docs/verdicts_{study}.md)"
        both = f"{differ['differ'][study]} of {differ['claims'][study]}" if coded and study in differ.index else ""
        numbers = [str(line[key]) for key in ("sentences", *kinds, "holds", "fails")]
        lines.append("| " + " | ".join([paper, line["convention"], *numbers, both]) + " |")
    return "\n".join(lines)


def score() -> Figure:
    """Return the score figure of all studies."""
    verdicts = all_verdicts()
    comparisons = {name: table for name in verdicts if (table := read_comparisons(name)) is not None}
    studies = {name: load_study(name) for name in verdicts}
    shorts = {i: claim.short for study in studies.values() for i, claim in study.claims.items() if claim.short}
    overview = shares(verdicts)
    order = overview.groupby("study")["for"].mean().sort_values(ascending=False).index
    names = {name: studies[name].paper.abbreviation for name in order}
    return score_figure(score_values(verdicts, comparisons, shorts), comparisons, overview, names)


def findings() -> str:
    """Return the page of claims that are refuted, mixed, or decided otherwise for the text than for the code."""
    lines = [
        "# Findings",
        "",
        "Claims that are refuted or mixed, and claims on which a paper's text and its authors' code disagree. Each",
        "line gives how many comparisons are significantly for the claim, open and against it, the measured effects",
        "with intervals at the level that decides, and what was claimed. Written by `bestarm pages`.",
    ]
    for name, table in all_verdicts().items():
        study = load_study(name)
        lines += ["", f"## {study.paper.title}", "", study.paper.scale.strip(), ""]
        for _, mine in table[table["ours"].fillna("") == ""].groupby("id", sort=False):
            found = {str(line["convention"]): dict(line) for _, line in mine.iterrows()}
            words = {line["verdict"] for line in found.values()}
            if len(words) > 1 or words & {"refuted", "mixed"}:
                said = [_said(CONVENTIONS[c], v) for c, v in found.items()]
                first = next(iter(found.values()))
                link = f"[{first['id']}](../notebooks/{name}/{first['notebook']}.ipynb)"
                lines.append(f"* {first['claim']} ({link}) {'; '.join(said)}.")
    return "\n".join(lines) + "\n"


def _said(convention: str, line: dict[str, Any]) -> str:
    """Return a verdict in one phrase: word, counts of comparisons, effects."""
    counts = f" ({counts_text(line)})" if line["comparisons"] > 1 else ""
    return f"{convention}: **{verdict_text(line)}**{counts} {effect_text(line)}".strip()


def verdict_page(name: str) -> str:
    """Return the page of all verdicts on one study's claims."""
    study, table, other = load_study(name), all_verdicts()[name], read_sensitivity(name)
    lines = [f"# Verdicts: {study.paper.title}", "", study.paper.citation.strip(), ""]
    lines += ["For / open / against counts comparisons, by Holm within the claim. The effect is the mean over"]
    lines += ["comparisons with its 95% interval, then that of the comparison that decides, with its interval at the"]
    lines += ["level that decides.", "", verdict_table(table), "", "## How each claim is tested", ""]
    tests = table.drop_duplicates("id")[["id", "level", "quantifier", "where", "test", "caveat"]].fillna("")
    lines += [markdown_table(tests)]
    if other is not None and len(other):
        lines += ["## What a verdict becomes with other margins", ""]
        lines += [
            "With its margin halved and doubled, and with p-values adjusted by Holm in the place of Benjamini and"
        ]
        lines += ["Hochberg; only claims of the paper for which a word changes.", ""]
        theirs = set(table.loc[table["ours"].fillna("") == "", "id"])
        moves = pd.DataFrame(
            {k: (other[k] != "") & (other[k] != other["verdict"]) for k in ("halved", "doubled", "holm")}
        )
        lines += [markdown_table(other[other["id"].isin(theirs) & moves.any(axis=1)])]
    return "\n".join(lines)


def gallery() -> str:
    """Return the page of the pictures that show most, each with a link to its notebook."""
    lines = ["# Gallery", "", "A few figures of each study; `docs/figures.md` lists all. Written by `bestarm pages`."]
    for name in study_names():
        study = load_study(name)
        lines += ["", f"## {study.paper.title}"]
        for entry in study.paper.figures.values():
            picture = FIGURES / name / entry.notebook / f"{entry.file}.png"
            if entry.gallery and picture.is_file():
                link = f"../{picture.relative_to(ROOT).as_posix()}"
                notebook = f"../notebooks/{name}/{entry.notebook}.ipynb"
                lines += ["", f"[![{entry.alt}]({link})]({notebook})", "", f"*{entry.title}*"]
    return "\n".join(lines) + "\n"


def figure_table() -> str:
    """Return the page that leads from every figure and table to its notebook, its numbers and its command."""
    lines = ["# Figures and tables", "", "Every figure and table, the notebook that makes it, its numbers, and the"]
    lines += ["command that redraws it from committed rows. Written by `bestarm pages`.", ""]
    lines += ["| figure or table | notebook | numbers | redraw |", "| --- | --- | --- | --- |"]
    for name in study_names():
        titles = {(e.notebook, e.file): t for t, e in load_study(name).paper.figures.items()}
        for file in sorted((FIGURES / name).glob("*/*")):
            if file.suffix in (".png", ".md"):
                notebook, stem = file.parent.name, file.stem
                title = titles.get((notebook, stem), stem)
                numbers = file.with_suffix(".csv")
                csv = f"[csv](../{numbers.relative_to(ROOT).as_posix()})" if numbers.is_file() else ""
                shown = f"[{title}](../{file.relative_to(ROOT).as_posix()})"
                source = f"[{name}/{notebook}](../notebooks/{name}/{notebook}.ipynb)"
                lines.append(f"| {shown} | {source} | {csv} | `dvc repro -s -f {name}@{notebook}` |")
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {"findings.md": findings, "gallery.md": gallery, "figures.md": figure_table}
START, END = "<!-- scoreboard: written by bestarm pages -->\n", "<!-- end of scoreboard -->"


def generated() -> dict[Path, str]:
    """Return the text of every generated page, and of the README with its scoreboard rebuilt."""
    pages = {DOCS / name: make() for name, make in PAGES.items()}
    pages |= {DOCS / f"verdicts_{name}.md": verdict_page(name) for name in all_verdicts()}
    text = README.read_text(encoding="utf-8")
    if START not in text or END not in text:
        raise ValueError(f"README.md has no place for the scoreboard: {START.strip()!r} ... {END!r}.")
    before, _, rest = text.partition(START)
    return pages | {README: f"{before}{START}{scoreboard_table()}\n{END}{rest.partition(END)[2]}"}


def write_pages() -> None:
    """Bring every generated page up to date."""
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
    figure = score()
    figure.savefig(DOCS / "score.png", metadata={"Software": None})
    plt.close(figure)

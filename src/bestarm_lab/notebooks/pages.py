"""The generated pages: findings, verdicts, gallery, table of figures, and the scoreboard of the README."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.claims.verdicts import CONVENTIONS, VERDICTS, effect_text, scoreboard, verdict_table, verdict_text
from bestarm_lab.figures.appearance import use_style
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import FIGURES, ROOT
from bestarm_lab.results import read_verdicts
from bestarm_lab.study import load_study, study_names

README = ROOT / "README.md"
DOCS = ROOT / "docs"
COLOURS = {
    "confirmed": "#0072B2",
    "refuted": "#D55E00",
    "mixed": "#CC79A7",
    "undecided": "#BBBBBB",
    "not informative": "#E5E5E5",
    "not run": "#FFFFFF",
}
HATCHES = {"refuted": "///", "mixed": "xx"}
EDGES = {"not run": "#999999"}  # white bars need an outline


def all_verdicts() -> dict[str, pd.DataFrame]:
    """Return the table of verdicts of every study that has one."""
    found = {name: read_verdicts(name) for name in study_names()}
    return {name: table for name, table in found.items() if table is not None}


def scoreboard_table() -> str:
    """Return the scoreboard in Markdown: a paper's own claims by verdict, for its text and for its authors' code."""
    counts = scoreboard(all_verdicts())
    kinds = [v for v in VERDICTS if counts[v].sum()]
    titles = {name: load_study(name).paper.title for name in counts["study"].unique()}
    lines = ["| claims of | run as | " + " | ".join(kinds) + " |", "| --- | --- |" + " --: |" * len(kinds)]
    for _, line in counts.iterrows():
        numbers = " | ".join(str(line[v]) for v in kinds)
        lines.append(
            f"| [{titles[line['study']]}](docs/verdicts_{line['study']}.md) | {line['convention']} | {numbers} |"
        )
    return "\n".join(lines)


def scoreboard_figure() -> Figure:
    """Return the scoreboard as stacked bars."""
    use_style()
    counts = scoreboard(all_verdicts()).iloc[::-1]
    figure, axis = plt.subplots(figsize=(8.0, 1.0 + 0.34 * len(counts)), layout="constrained")
    names = {name: load_study(name).paper.abbreviation for name in counts["study"]}
    labels = [f"{names[s]}, {words}" for s, words in zip(counts["study"], counts["convention"], strict=True)]
    left = pd.Series(0, index=counts.index)
    for kind in VERDICTS:
        if counts[kind].sum():
            axis.barh(
                labels,
                counts[kind],
                left=left,
                color=COLOURS[kind],
                hatch=HATCHES.get(kind),
                edgecolor=EDGES.get(kind, "white"),
                lw=0.6,
                label=kind,
            )
            for place, (start, n) in enumerate(zip(left, counts[kind], strict=True)):
                if n > 2:
                    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
                    axis.text(start + n / 2, place, str(n), ha="center", va="center", fontsize=8, bbox=box)
            left = left + counts[kind]
    axis.set_xlabel("number of claims")
    axis.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=6, frameon=False, columnspacing=1.2, handlelength=1.4)
    return figure


def findings() -> str:
    """Return the page of claims that are refuted, mixed, or decided otherwise for the text than for the code."""
    lines = [
        "# Findings",
        "",
        "Claims that are refuted or mixed, and claims on which a paper's text and its authors' code disagree. Each",
        "line gives the measured effect with its 95% interval and what was claimed. Written by `bestarm pages`.",
    ]
    for name, table in all_verdicts().items():
        study = load_study(name)
        lines += ["", f"## {study.paper.title}", "", study.paper.scale.strip(), ""]
        for _, mine in table[table["ours"].fillna("") == ""].groupby("id", sort=False):
            found = {str(line["convention"]): dict(line) for _, line in mine.iterrows()}
            words = {line["verdict"] for line in found.values()}
            if len(words) > 1 or words & {"refuted", "mixed"}:
                said = [f"{CONVENTIONS[c]}: **{verdict_text(v)}** {effect_text(v)}".strip() for c, v in found.items()]
                first = next(iter(found.values()))
                link = f"[{first['id']}](../notebooks/{name}/{first['notebook']}.ipynb)"
                lines.append(f"* {first['claim']} ({link}) {'; '.join(said)}.")
    return "\n".join(lines) + "\n"


def verdict_page(name: str) -> str:
    """Return the page of all verdicts on one study's claims."""
    study, table = load_study(name), all_verdicts()[name]
    lines = [f"# Verdicts: {study.paper.title}", "", study.paper.citation.strip(), "", verdict_table(table)]
    lines += ["", "## How each claim is tested", ""]
    tests = table.drop_duplicates("id")[["id", "where", "test", "decided_by", "caveat"]].fillna("")
    return "\n".join(lines) + "\n" + markdown_table(tests)


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
    figure = scoreboard_figure()
    figure.savefig(DOCS / "scoreboard.png", metadata={"Software": None})
    plt.close(figure)

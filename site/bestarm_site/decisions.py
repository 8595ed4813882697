"""The pages of decisions: choices and differences from the paper as tables, each with the claims that it bears on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from bestarm_lab.notebooks.runner import notebooks_of
from bestarm_lab.paths import ROOT
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names
from bestarm_site.records import CLAIM, records
from bestarm_site.source import relinked, short_title

FOLDER = ROOT / "docs" / "decisions"
SHORT = {"house": "Decisions: the house", "own_arms": "Decisions: own arms"}  # for the sidebar
HEADING = re.compile(r"^## Differences from the paper\s*$", re.MULTILINE)
AFTER = re.compile(r"(?m)^#|\n\n(?!\d+\.| )")  # a heading or a paragraph after the list


class Difference(NamedTuple):
    """One difference between a notebook's runs and its paper, and what it changes, in the notebook's words."""

    text: str
    changes: str


def items(text: str, mark: str) -> list[str]:
    """Return the items of a list whose lines begin with a mark, each on one line."""
    found = re.split(rf"(?m)^{mark}\s+", text)[1:]
    return [" ".join(item.split()) for item in found]


def differences(notebook: Path) -> list[Difference]:
    """Return what a notebook lists as differences from the paper."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    found = []
    for cell in cells:
        parts = HEADING.split("".join(cell["source"])) if cell["cell_type"] == "markdown" else []
        for part in parts[1:]:
            for item in items(AFTER.split(part.strip())[0], r"\d+\."):
                text, _, changes = item.rpartition(" *(")
                whole = text and changes.endswith(")*")
                found.append(Difference(text, changes[:-2]) if whole else Difference(item, ""))
    return found


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in cells]) + "\n"


def named(text: str, study: str) -> str:
    """Return the claims of a study that a text names, with or without the letters before the number."""
    mine = {identity: r for identity, r in records().items() if r.study == study}
    prefix = next(iter(mine)).rpartition("-")[0] if mine else ""
    short = [f"{prefix}-{word}" for word in re.findall(r"(?<![\w.-])[A-Z]\d+[a-z]*(?:\.[a-z]+)?\b", text)]
    found = [match.group() for match in CLAIM.finditer(text)] + short
    return ", ".join(dict.fromkeys(identity for identity in found if identity in mine))


def choices(text: str, study: str) -> str:
    """Return a page of decisions with its lists as tables: a choice with its reason, and the claims that it names.

    Lists that hold a table of their own stay lists.
    """
    parts = []
    for part in re.split(r"(?m)^(?=## )", text):
        before, bullets = re.split(r"(?m)^(?=\* )", part, maxsplit=1) if re.search(r"(?m)^\* ", part) else (part, "")
        listed = [item for item in re.split(r"(?m)^(?=\* )", bullets) if item]
        rows, others = [], []
        for bullet in listed:
            if re.search(r"(?m)^\s+\|", bullet):
                others.append(bullet)
                continue
            (item,) = items(bullet.partition("\n\n")[0], r"\*")
            others += [rest] if (rest := bullet.partition("\n\n")[2]).strip() else []
            rows.append([item, named(item, study)])
        made = table(["choice, and why", "claims that it names"], rows) if rows else ""
        parts += [before, made + "\n" if made else "", *(f"{other.rstrip()}\n\n" for other in others)]
    return "".join(parts)


def page(study: str) -> str:
    """Return the page of one paper: where its notebooks differ from it, then what was decided and what changed."""
    file = FOLDER / f"{study}.md"
    body = file.read_text(encoding="utf-8").partition("\n")[2] if file.is_file() else ""
    listed = [(notebook, d) for notebook in notebooks_of(study) for d in differences(notebook)]
    lines = [f"# {load_study(study).paper.abbreviation}: decisions and differences", ""]
    lines += ["Where the runs differ from the paper, and where the paper is silent: what was chosen, and why.", ""]
    for title, deciding in (("Differences that change a verdict", True), ("Other differences", False)):
        rows = [
            [relinked(d.text, notebook), d.changes.removeprefix("changes "), _link(notebook)]
            for notebook, d in listed
            if d.changes.startswith("changes a verdict") == deciding
        ]
        head = ["the paper, and what runs here", "it changes", "where"]
        lines += [f"## {title}", "", table(head, rows) if rows else "None is listed.", ""]
    if body:
        lines += ["## Where the paper is silent", "", relinked(choices(body.strip(), study), file)]
    return "\n".join(lines) + "\n"


def _link(notebook: Path) -> str:
    return f"[{short_title(notebook)}](/{notebook.relative_to(ROOT).as_posix()})"


def pages() -> dict[str, str]:
    """Return every page of decisions: one a paper, and those of other subjects as they are written."""
    found = {f"docs/decisions/{study}.md": page(study) for study in study_names()}
    others = {file for file in FOLDER.glob("*.md") if file.stem not in study_names()}
    return found | {f.relative_to(ROOT).as_posix(): relinked(f.read_text(encoding="utf-8"), f) for f in others}

"""The page of what the papers print: every figure and table, ours of it, its data, and what became of its claims."""

from __future__ import annotations

from bestarm_lab.paper import Shown
from bestarm_lab.paths import ROOT
from bestarm_lab.study import load_study
from bestarm_site.cards import chips, figure_anchor
from bestarm_site.pages import studies
from bestarm_site.records import Record, of_study, printed_in
from bestarm_site.source import picture_of

TEXT = """# The papers' figures and tables

Every figure and table of the five papers, with ours of it and the verdicts on the claims that the paper makes there.
Where one of our pictures stands for several of a paper, it is listed with each of them.

*Complete*: made anew from the paper's own kind of data. *Part of the data*: from as much of them as is public.
*Replaced data*: the data are not public, and others stand in their place. *Redrawn*: a diagram, which has no numbers.
"""


def printed(study: str) -> dict[str, list[tuple[str, Shown]]]:
    """Return of each figure and table of a study's paper what is drawn of it here, by its title."""
    paper = load_study(study).paper
    found: dict[str, list[tuple[str, Shown]]] = {
        f"{kind} {number}": [] for kind, most in paper.prints.items() for number in range(1, most + 1)
    }
    for title, shown in paper.figures.items():
        for name in printed_in(title):
            found[name].append((title, shown))
    return found


def claims_on(study: str, name: str) -> list[Record]:
    """Return the paper's claims whose place names a figure or table."""
    return [claim for claim in of_study(study) if name in printed_in(claim.where)]


def page() -> str:
    """Return the page, a table for each paper."""
    lines = [TEXT]
    for study in studies():
        lines += [f"## {load_study(study).paper.title}", "", "| in the paper | here | status | claims |"]
        lines += ["| --- | --- | --- | --- |", *(_row(study, name, ours) for name, ours in printed(study).items()), ""]
    return "\n".join(lines)


def _row(study: str, name: str, ours: list[tuple[str, Shown]]) -> str:
    drawn = [_shown(study, title, entry) for title, entry in ours]
    status = ", ".join(dict.fromkeys(entry.status for _, entry in ours))
    claims = "<br>".join(f"{claim.id} {chips(claim, brief=True)}" for claim in claims_on(study, name)) or "none"
    return f"| **{name}** | {'<br>'.join(drawn)} | {status} | {claims} |"


def _shown(study: str, title: str, entry: Shown) -> str:
    """Return a picture of ours, small, and its title, both with a link to it."""
    page = f"/gallery_all/{study}.md#{figure_anchor(study, entry.notebook, entry.file)}"
    path = f"figures/{study}/{entry.notebook}/{entry.file}.png"
    words = (entry.title or title).replace("|", "\\|")
    picture = f"![{entry.alt or words}](/{picture_of(path)})<br>" if (ROOT / path).is_file() else ""
    return f"{picture}[{words}]({page})"

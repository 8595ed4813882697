"""Files of the repository as pages: notebooks and docs, with links to where their targets are shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from bestarm_lab.notebooks.pages import SCOREBOARD
from bestarm_lab.notebooks.runner import notebooks_of
from bestarm_lab.paths import ROOT

SHOWN_ELSEWHERE = {  # pages of docs that the site makes itself, and where
    SCOREBOARD.relative_to(ROOT).as_posix(): "claims/index.md",
    "README.md": "index.md",
    "site/pages/rows.md": "rows.md",
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
MADE_BY_PLOTTING = re.compile(
    r"\bsection\.(show|picture|figure)\(|\b\w*(panels|forest|plot|subplots|figure)\w*\(|plt\."
)
REPOSITORY = os.environ.get("BESTARM_REPOSITORY", "").rstrip("/")
REVISION = os.environ.get("BESTARM_REVISION", "main")


def docs_pages() -> list[Path]:
    """Return the pages of docs that people wrote."""
    return sorted(p for p in (ROOT / "docs").glob("*.md") if p != SCOREBOARD)


def in_repository(path: str) -> str:
    """Return the address of a file in the repository, or an empty string where none is known."""
    return f"{REPOSITORY}/blob/{REVISION}/{path}" if REPOSITORY else ""


def page_of(path: str) -> str | None:
    """Return the source of the page that shows a file of the repository, if there is one."""
    if path in SHOWN_ELSEWHERE:
        return SHOWN_ELSEWHERE[path]
    decisions = (ROOT / "docs" / "decisions").glob("*.md")
    if path in {p.relative_to(ROOT).as_posix() for p in [*docs_pages(), *decisions, *notebooks_of()]}:
        return path
    return None


def picture_of(path: str) -> str:
    """Return the picture that a page shows for a file of the repository: the SVG beside a PNG, where there is one."""
    drawn = Path(path).with_suffix(".svg")
    return drawn.as_posix() if path.endswith(".png") and (ROOT / drawn).is_file() else path


def relinked(text: str, file: Path) -> str:
    """Return Markdown with links to what the site shows, or to the repository; without either, the words alone."""
    folder = PurePosixPath(file.relative_to(ROOT).as_posix()).parent

    def replaced(match: re.Match[str]) -> str:
        picture, words, target, anchor = match.groups()
        words = LINK.sub(replaced, words)
        if not target or "://" in target or target.startswith("mailto:"):
            return f"{picture}[{words}]({target}{anchor or ''})"
        path = os.path.normpath(folder / target).replace(os.sep, "/")
        if picture:
            return f"![{words}](/{picture_of(path)})"
        if (page := page_of(path)) is not None:
            kept = (anchor or "") if page == path else ""  # pages of the site have anchors of their own
            return f"[{words}](/{page}{kept})"
        address = in_repository(path)
        return f"[{words}]({address}{anchor or ''})" if address else words

    return LINK.sub(replaced, text)


def notebook_page(file: Path) -> str:
    """Return a committed notebook as the site's page of it: relinked, with folded cells for parameters and plotting."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            cell["source"] = relinked(source, file)
        elif cell["cell_type"] == "code":
            fold(cell, source)
            for output in cell["outputs"]:
                _relink_output(output, lambda text: relinked(text, file))
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def fold(cell: dict[str, Any], source: str) -> None:
    """Hide the code of a cell that sets parameters, imports or draws; cells that compute by hand stay open."""
    tags = cell["metadata"].setdefault("tags", [])
    lines = [line for line in source.splitlines() if line and not line.startswith((" ", "#", ")"))]
    imports = bool(lines) and sum(line.startswith(("import ", "from ")) for line in lines) >= len(lines) / 2
    tables = bool(lines) and all("section." in line or "=" in line for line in lines) and "section.table(" in source
    folded = "parameters" in tags or imports or tables or MADE_BY_PLOTTING.search(source) is not None
    if (folded or "section.verdicts(" in source) and not {"hide-input", "hide-cell", "remove-input"} & set(tags):
        tags.append("hide-input")


def _relink_output(output: dict[str, Any], change: Callable[[str], str]) -> None:
    data = output.get("data", {})
    if "text/markdown" in data:
        data["text/markdown"] = change("".join(data["text/markdown"]))


def docs_page(file: Path) -> str:
    """Return a page of docs as the site's page of it."""
    return relinked(file.read_text(encoding="utf-8"), file)


SPELT = {  # words of file names that are written otherwise
    "fastxml": "FastXML",
    "genedisco": "GeneDisco",
    "gp": "GP",
    "gpoo": "GPOO",
    "gse": "GSE",
    "od linbai": "OD-LinBAI",
    "uci": "UCI",
}


def short_title(file: Path) -> str:
    """Return the name of a notebook or a page of docs for the sidebar, such as "03 Adaptive"."""
    number, _, rest = file.stem.partition("_")
    words = (rest if number.isdigit() else file.stem).replace("_", " ")
    words = words[:1].upper() + words[1:]
    for plain, spelt in SPELT.items():
        words = re.sub(rf"\b{plain}\b", spelt, words, flags=re.IGNORECASE)
    return f"{number} {words}" if number.isdigit() else words

"""Figures with rows of panels for text and for code: the same picture with the rows of one of the two alone.

A reader who switches between the two sees them in the same place. Only a figure is cut whose rows for the text stand
above those for the code, as many and as wide. Where the two are side by side or share panels, they are near already.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

from bestarm_lab.figures.styles import CONVENTIONS
from bestarm_site.narrow_figures import narrow_of

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ET.register_namespace("", SVG)
ET.register_namespace("xlink", XLINK)
GROUP, PATH, DEFS, TEXT = (f"{{{SVG}}}{name}" for name in ("g", "path", "defs", "text"))


@dataclass
class Row:
    """Panels beside each other.

    Attributes
    ----------
    top, bottom : float
        Edges of the panels in the picture.
    panels : list of ET.Element
    runs : set of str
        Conventions that are named within the panels.
    labelled : bool
        Whether something is written below a panel, such as the numbers of its axis.
    """

    top: float
    bottom: float
    panels: list[ET.Element] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)
    labelled: bool = False


def alone(picture: str, narrow: str) -> dict[str, str]:
    """Return a picture with the rows of each convention alone, by the convention; nothing where it cannot be cut.

    Which panel is of which convention is read in the narrow variant, whose letters are text.
    """
    root, names = ET.fromstring(picture), named(ET.fromstring(narrow))
    if _blocks(rows(root, names)) is None:
        return {}
    return {kept: _cut(picture, names, kept) for kept in CONVENTIONS}


def write_alone(drawn: Path, folder: Path, name: str) -> dict[str, list[str]]:
    """Write the pictures of each convention beside one on the site; return their names: wide, narrow."""
    narrow = narrow_of(drawn)
    if drawn.suffix != ".svg" or not narrow.is_file():
        return {}
    labels = narrow.read_text(encoding="utf-8")
    parts = {"": alone(drawn.read_text(encoding="utf-8"), labels), ".narrow": alone(labels, labels)}
    if not all(parts.values()):
        return {}
    names: dict[str, list[str]] = {}
    for kind, made in parts.items():
        for convention, text in made.items():
            file = folder / f"{Path(name).stem}.{convention}{kind}.svg"
            file.write_text(text, encoding="utf-8")
            names.setdefault(convention, []).append(file.name)
    return names


def named(narrow: ET.Element) -> dict[str, set[str]]:
    """Return the conventions that are named in each panel of a narrow picture, by the panel."""
    found = {}
    for panel in (g for g in narrow.iter(GROUP) if _is(g, "axes")):
        words = "\n".join("".join(text.itertext()) for text in panel.iter(TEXT))
        found[panel.get("id") or ""] = {convention for convention, name in CONVENTIONS.items() if name in words}
    return found


def rows(root: ET.Element, names: Mapping[str, set[str]]) -> list[Row]:
    """Return the rows of panels of a picture from top to bottom; a row without a name belongs to the one above."""
    panels = sorted(((*_edges(g), g) for g in root.iter(GROUP) if _is(g, "axes")), key=lambda panel: panel[0])
    found: list[Row] = []
    for (top, bottom), beside in groupby(panels, key=lambda panel: panel[:2]):
        row = Row(top, bottom)
        for *_, panel in beside:
            row.panels.append(panel)
            row.runs |= names.get(panel.get("id") or "", set())
            row.labelled |= any(y > bottom + 2 for y in _heights(panel))
        if not row.runs and found:
            row.runs = set(found[-1].runs)
        found.append(row)
    return found


def _blocks(found: list[Row]) -> dict[str, list[Row]] | None:
    """Return the rows of each convention, if those of the text stand above as many of the code; else nothing."""
    apart = all(above.bottom < below.top for above, below in pairwise(found))
    told = [row for row in found if row.runs]
    text, code = CONVENTIONS
    half = len(told) // 2
    if not apart or not half or [row.runs for row in told] != [{text}] * half + [{code}] * half:
        return None
    upper, lower = told[:half], told[half:]
    alike = all(len(a.panels) == len(b.panels) for a, b in zip(upper, lower, strict=True))
    as_high = abs((lower[-1].bottom - upper[-1].bottom) - (lower[0].top - upper[0].top)) < 0.5
    if not alike or not as_high or upper[-1].labelled != lower[-1].labelled:
        return None
    return {text: upper, code: lower}


def _cut(picture: str, names: Mapping[str, set[str]], kept: str) -> str:
    """Return a picture without the rows of the other convention; what stood below them moves up."""
    root = ET.fromstring(picture)
    blocks = _blocks(rows(root, names))
    assert blocks is not None
    upper, lower = blocks.values()
    by = lower[0].top - upper[0].top
    dropped, below = (lower, lower[-1].bottom) if next(iter(blocks)) == kept else (upper, lower[0].top)
    gone = {id(panel) for row in dropped for panel in row.panels}
    letters = ET.Element(DEFS)
    for parent in list(root.iter(GROUP)):
        for child in [g for g in parent if _is(g, "axes") or _is(g, "legend")]:
            if id(child) in gone:
                for definitions in child.iter(DEFS):
                    letters.extend(definitions)
                parent.remove(child)
            elif _edges(child)[0] >= below - 1 and not _is(parent, "axes"):
                child.set("transform", f"translate(0 {-by:.2f})")
    root.insert(0, letters)  # letters are defined where they are first drawn, and drawn again elsewhere
    left, top, width, height = (float(x) for x in (root.get("viewBox") or "").split())
    root.set("viewBox", f"{left:g} {top:g} {width:g} {height - by:.2f}")
    root.set("height", f"{height - by:.2f}pt")
    return ET.tostring(root, encoding="unicode") + "\n"


def _is(group: ET.Element, kind: str) -> bool:
    return group.tag == GROUP and re.fullmatch(rf"{kind}_\d+", group.get("id") or "") is not None


def _edges(group: ET.Element) -> tuple[float, float]:
    """Return the upper and lower edge of a panel or a legend, by the first path of it: its ground."""
    ground = next((path for path in group.iter(PATH) if path.get("d") and not path.get("id")), None)
    heights = (
        [float(y) for y in re.findall(r"[\d.-]+ ([\d.-]+)", ground.get("d") or "")] if ground is not None else [0.0]
    )
    return min(heights), max(heights)


def _heights(group: ET.Element) -> list[float]:
    """Return how far down each text of a panel stands."""
    drawn = [x.get("transform") or "" for g in group.iter(GROUP) if _is(g, "text") for x in g.iter(GROUP)]
    places = [found.group(1) for words in drawn if (found := re.match(r"translate\([\d.-]+ ([\d.-]+)\)", words))]
    return [float(y) for y in [*places, *(text.get("y") for text in group.iter(TEXT))] if y is not None]

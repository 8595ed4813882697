"""Pictures of finished figures: as a light SVG without pixels, and narrow, for a page as wide as a phone."""

import re
import textwrap
import warnings
from collections.abc import Sequence
from io import StringIO
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from bestarm_lab.figures.figures import headed, headings, legend_columns, wrapped

_COORDINATE = r"scale\([^)]*\)|-?\d+\.\d{3,}"
MOST_POINTS = 200  # a cloud with more is embedded as pixels: each point would be an element of its own
WIDTH = 4.0  # inches: at 390 pixels, letters of 8.5 points are as high as those of small print on a page
_LEAST = (1.2, 0.3)  # inches of a panel that can be read, without its labels
_LABELS = 0.75  # inches of a panel's heading, ticks and label of x
_LONG = 17  # letters of a label beside an axis
_TWO_LINES = 0.28  # inches between labels of two lines


def light_svg(figure: Figure, *, letters: str = "path") -> str:
    """Return a figure as SVG: clouds of points as pixels, coordinates in hundredths of a point, each style once.

    The same figure gives the same text. Ids and classes are the picture's own, so that it belongs into ``<img>``.
    Letters are drawn (``"path"``), or written in a font of the reader's (``"none"``), which takes half the room.
    """
    for cloud in figure.findobj(PathCollection):
        cloud.set_rasterized(np.shape(cloud.get_offsets())[0] > MOST_POINTS)
    written = StringIO()
    with plt.rc_context({"svg.fonttype": letters}):
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", written.getvalue(), flags=re.DOTALL)
    classes: dict[str, str] = {}
    text = re.sub(r' style="([^"]*)"', lambda m: f' class="{classes.setdefault(m[1], f"s{len(classes)}")}"', text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(_COORDINATE, _hundredths, tag[0]), text)  # not what is written
    text = _numbered(re.sub(r"\s*\n\s*", "\n", text))
    styles = "".join(f".{name}{{{style.replace(': ', ':').replace('; ', ';')}}}" for style, name in classes.items())
    return text.replace("<defs>", f"<style>{styles}</style>\n<defs>", 1).strip() + "\n"


def _numbered(text: str) -> str:
    """Return a picture whose ids are numbers in order: Matplotlib's hang on the last bit of what they name."""
    ids: dict[str, str] = {}
    hashed = r'(\bid="|#)((?:[a-zA-Z]|image)[0-9a-f]{10})\b(?=["\)])'
    return re.sub(hashed, lambda found: f"{found[1]}{ids.setdefault(found[2], f'i{len(ids)}')}", text)


def _hundredths(found: re.Match[str]) -> str:
    """Return a coordinate in hundredths; a scale, by which others are multiplied, as it is."""
    return found[0] if found[0].startswith("scale") else f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def narrow(figure: Figure) -> bool:
    """Lay a finished figure out anew, 4 inches wide, for good; return whether every panel has room (no diagram has)."""
    drawn = [axis for axis in figure.axes if axis.has_data() or axis.texts or axis.patches]  # else a grid's empty place
    if not figure.axes or not all(axis.axison for axis in drawn):
        return False
    heads = headings(figure)
    words = [" ".join(text.get_text().split()) for text in heads]
    for text in heads:
        text.remove()
    figure.draw_without_rendering()
    parts: list[Any] = list(figure.subfigs) or [figure]
    heights = [_stacked(part) for part in parts]
    if figure.subfigs:
        parts[0]._subplotspec.get_gridspec().set_height_ratios(heights)  # has no other name
    figure.set_size_inches(WIDTH, sum(heights))
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, 0.0, 1.0, 1.0))
    if words:
        headed(figure, *words[:2])
    with warnings.catch_warnings(record=True) as said:  # that labels leave nothing, and that nothing is laid out
        warnings.simplefilter("always")
        figure.draw_without_rendering()
        for axis in figure.axes:
            room = 14 * (WIDTH - axis.get_window_extent().x0 / figure.get_dpi())
            lines = axis.get_title("left").splitlines()
            axis.set_title("\n".join(part for line in lines for part in wrapped(line, room)), loc="left")
            if _collide(axis.get_xticklabels()):
                axis.tick_params(axis="x", labelrotation=90)
        figure.draw_without_rendering()
    if said:
        return False
    placed = [axis for axis in figure.axes if axis.get_subplotspec() is not None and axis.axison]
    return all(found >= least for axis in placed for found, least in zip(_inches(axis), _LEAST, strict=True))


def _stacked(part: Any) -> float:
    """Put the panels of a figure or of a part below one another; return the height that they need, in inches."""
    panels: dict[tuple[int, int, int], list[Axes]] = {}
    for axis in part.axes:
        place = axis.get_subplotspec()
        if place is not None and axis.axison:
            panels.setdefault((place.rowspan.start, place.colspan.start, id(place.get_gridspec())), []).append(axis)
    ordered = [panels[key] for key in sorted(panels, key=lambda key: key[:2])]
    heights = [_inches(panel[0])[1] + _LABELS for panel in ordered]
    places: list[Any] = [panel[0].get_subplotspec() for panel in ordered]
    for (axis, *_), place in zip(ordered, places, strict=True):
        in_row = [panel[0] for panel, other in zip(ordered, places, strict=True) if other.rowspan == place.rowspan]
        in_column = [panel[0] for panel, other in zip(ordered, places, strict=True) if other.colspan == place.colspan]
        above = in_column[: in_column.index(axis)]
        axis.set_ylabel(axis.get_ylabel() or in_row[0].get_ylabel())
        axis.set_xlabel(axis.get_xlabel() or in_column[-1].get_xlabel())
        if not axis.get_title("left"):
            titles = (other.get_title("left") for other in reversed(above))
            axis.set_title(next(filter(None, titles), ""), loc="left")
        axis.tick_params(labelbottom=True, labelleft=True)
        labels = [label.get_text() for label in axis.get_yticklabels()]
        room = _inches(axis)[1] / max(1, len(labels)) > _TWO_LINES
        if room and any(len(label) > _LONG for label in labels):
            axis.set_yticks(axis.get_yticks(), [textwrap.fill(label, _LONG) for label in labels])
    grid = part.add_gridspec(len(ordered), 1, height_ratios=heights)
    for k, panel in enumerate(ordered):
        for axis in panel:
            axis.set_subplotspec(grid[k])
    return sum(heights) + sum(_below(part, legend) for legend in list(part.legends))


def _below(part: Any, legend: Any) -> float:
    """Write the legend of a figure anew in as many columns as there is room for; return its height in inches."""
    labels, handles = [text.get_text() for text in legend.get_texts()], legend.legend_handles
    legend.remove()
    columns = legend_columns(labels, WIDTH)
    part.legend(handles, labels, loc="outside lower center", ncols=columns)
    return 0.18 * -(-len(labels) // columns) + 0.1


def _inches(axis: Axes) -> tuple[float, float]:
    box = axis.get_window_extent()
    return box.width / axis.figure.get_dpi(), box.height / axis.figure.get_dpi()


def _collide(labels: Sequence[Text]) -> bool:
    boxes = [label.get_window_extent() for label in labels if label.get_text() and label.get_rotation() == 0.0]
    boxes = sorted((box for box in boxes if box.width > 0.0), key=lambda box: box.x0)
    return any(left.x1 + 2.0 > right.x0 for left, right in pairwise(boxes))

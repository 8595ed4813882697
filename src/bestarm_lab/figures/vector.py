"""Pictures without pixels: a figure as a light SVG with a transparent ground."""

import re
from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

_COORDINATE = r"scale\([^)]*\)|-?\d+\.\d{3,}"
MOST_POINTS = 200  # a cloud with more is embedded as pixels: each point would be an element of its own


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

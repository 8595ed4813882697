"""Styles of algorithms, the same in every figure: one colour, one marker and one line style for each.

Each study has the styles of its algorithms in its module ``styles``; they are known once the study is loaded.
"""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bestarm_lab.experiments.series import algorithm_and_change


class Style(NamedTuple):
    """Colour, marker and line style."""

    colour: str
    marker: str
    line: Any = "-"


DOTS, DOTS_AND_DASHES = (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2, 1, 1.2))
OTHER = Style("0.45", "d")
GREYS = (Style("0.0", "o"), Style("0.2", "s", "--"), Style("0.38", "^", "-."), Style("0.57", "D", DOTS))
CONVENTIONS = {"as_written": "as written (paper's text)", "as_coded": "as coded (authors' code)"}

_KNOWN: dict[str, Style] = {}  # of the studies that are loaded


def register_styles(styles: Mapping[str, Style]) -> None:
    """Take in the styles of a study's algorithms; a ValueError names one that another study draws otherwise."""
    for name, style in styles.items():
        if _KNOWN.setdefault(name, style) != style:
            raise ValueError(f"{name} is drawn as {_KNOWN[name]} already, got {style}; give both studies one style.")


def style_of(label: str) -> Style:
    """Return the style of an algorithm of a loaded study, whatever follows in its label after a bar."""
    return _KNOWN.get(algorithm_and_change(label)[0], OTHER)


def display_label(label: str, width: int = 60) -> str:
    """Return an algorithm's label for a figure: wrapped, with the stopping rule as a formula."""
    text = textwrap.fill(label, width).replace("τ^LUCB", r"$\tau^{LUCB}$")
    return text.replace("τ^UGapE", r"$\tau^{UGapE}$").replace("10^4", "$10^4$")


def use_style() -> None:
    """Apply the project's Matplotlib style, found by absolute path."""
    import matplotlib.pyplot as plt

    plt.style.use(Path(__file__).with_name("bestarm.mplstyle"))

"""The look of algorithms, the same in every figure: one colour, one marker and one line style for each."""

from __future__ import annotations

import textwrap
from pathlib import Path

import matplotlib.pyplot as plt

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, GREYS, OTHER, Look, look

__all__ = ["CONVENTIONS", "DOTS", "DOTS_AND_DASHES", "GREYS", "OTHER", "Look", "display_label", "look", "use_style"]


CONVENTIONS = {"as_written": "as written (paper's text)", "as_coded": "as coded (authors' code)"}


def display_label(label: str, width: int = 60) -> str:
    """Return an algorithm's label for a figure: wrapped, with the stopping rule as a formula."""
    text = textwrap.fill(label, width).replace("τ^LUCB", r"$\tau^{LUCB}$")
    return text.replace("τ^UGapE", r"$\tau^{UGapE}$").replace("10^4", "$10^4$")


def use_style() -> None:
    """Apply the project's Matplotlib style, found by absolute path."""
    plt.style.use(Path(__file__).with_name("bestarm.mplstyle"))

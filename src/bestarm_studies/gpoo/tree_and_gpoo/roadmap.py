"""Figure 3: which statement of Section 4 rests on which."""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from bestarm_lab.figures.figures import wide

_BOXES = {
    "A1": (0.11, 0.86, "Assumption 1\nf is a draw of a GP"),
    "A2": (0.34, 0.86, "Assumption 2\nderivatives seldom large"),
    "A3": (0.58, 0.86, "Assumption 3\nδ(h) covers a cell"),
    "A4": (0.82, 0.86, "Assumption 4\ncells are well shaped"),
    "P1": (0.42, 0.66, "Proposition 1\nf is Lipschitz, likely"),
    "P2": (0.11, 0.46, "Proposition 2\nsd of a cell ≤ $\\sigma/\\sqrt{T}$"),
    "L1": (0.34, 0.46, "Lemma 1\nevent $\\xi$, probability\nat least $1-a-\\theta$"),
    "L3": (0.58, 0.46, "Lemma 3\nonly cells of I\nare divided"),
    "L2": (0.82, 0.46, "Lemma 2\nI has few cells\nat each depth"),
    "L4": (0.24, 0.24, "Lemma 4\na cell is drawn at most\n$\\beta\\sigma^2/\\delta^2$ times"),
    "T1": (0.58, 0.10, "Theorem 1\nregret ≤ $3\\delta(h_N)$"),
    "C1": (0.82, 0.10, "Corollary 1\nthe rate, if δ is\nexponential"),
}
_ARROWS = "A1>P2 A1>L1 A2>P1 P1>L1 L1>L3 A3>L3 A4>L2 L1>L4 P2>L4 L4>T1 L3>T1 L2>T1 T1>C1"


def roadmap_figure() -> Figure:
    """Return which statement of Section 4 rests on which: Figure 3, redrawn."""
    figure, axis = plt.subplots(figsize=wide(1, 5.0))
    axis.axis("off")
    axis.set(xlim=(-0.01, 0.945), ylim=(0.015, 0.945))
    width, height = 0.19, 0.15
    frames: dict[str, Any] = {"boxstyle": "round,pad=0.005", "ec": "black", "lw": 0.8, "zorder": 3}
    boxes = {}
    for name, (x, y, text) in _BOXES.items():
        colour = {"A": "#F3EDB5", "T": "#BFE3D6", "C": "#BFE3D6"}.get(name[0], "white")
        boxes[name] = FancyBboxPatch((x - width / 2, y - height / 2), width, height, fc=colour, **frames)
        axis.add_patch(boxes[name])
        axis.text(x, y, text, ha="center", va="center", fontsize=8, zorder=4)
    arrows: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 12, "color": "0.35", "zorder": 2}
    for arrow in _ARROWS.split():
        start, end = arrow.split(">")
        places = _BOXES[start][:2], _BOXES[end][:2]
        axis.add_patch(FancyArrowPatch(*places, patchA=boxes[start], patchB=boxes[end], **arrows))
    return figure

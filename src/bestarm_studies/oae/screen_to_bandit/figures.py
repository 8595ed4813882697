"""Figure 6 redrawn, and the groups with what other groups tell of them."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from bestarm_lab.figures.figures import wide
from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.cell_lines.contexts import GROUPS, GroupEffects


def group_table(effects: GroupEffects, likeness: pd.DataFrame) -> pd.DataFrame:
    """Return for each group its lines, how well the others tell of it, and the genes it needs most beyond others."""
    known = likeness.set_index("panel")
    lines = []
    for name in GROUPS:
        own = effects.own[:, effects.groups.index(name)]
        best = np.argsort(-own, kind="stable")[:3]
        line = {"group": name, "lines": f"{float(known['x'][name]):.0f}", "R²": f"{float(known['value'][name]):.2f}"}
        lines.append(line | {"largest own part": ", ".join(f"{effects.genes[i]} {own[i]:.2f}" for i in best)})
    return pd.DataFrame(lines)


def likeness_values_of_groups(likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return R2 of every group, x is its number of lines."""
    return as_values(likeness, statistic="R2", profile=profile)


def schematic() -> Figure:
    """Return Figure 6 redrawn: from signatures of one line to a search in another."""
    figure, axis = plt.subplots(figsize=wide(1, 3.6))
    axis.set(xlim=(0, 10), ylim=(0, 4.4))
    axis.set_axis_off()
    _box(axis, 0.1, 2.7, 1.9, 1.3, "VCAP signatures\n978 genes for each\nperturbation", "#DCE9F3")
    _box(axis, 2.7, 2.7, 2.0, 1.3, "encoder\n978, 1500, 300, 100", "#DCE9F3")
    _box(axis, 5.3, 2.7, 1.5, 1.3, "code\n100 numbers", "#CFE8DF")
    _box(axis, 7.5, 2.7, 2.3, 1.3, "decoder, for training\n100, 300, 1500, 978", "#EEEEEE")
    _box(axis, 0.1, 0.4, 1.9, 1.3, "target line\nHA1E, MCF7, A375\nor VCAP itself", "#F6E3D2")
    _box(axis, 2.7, 0.4, 2.0, 1.3, "reward\nmean of 23 genes of\nproliferation", "#F6E3D2")
    _box(axis, 5.3, 0.4, 1.5, 1.3, "arms\ncode, reward\nhidden", "#CFE8DF")
    _box(axis, 7.5, 0.4, 2.3, 1.3, "search: 20 batches\nof 50, a fresh network\nfor each", "#CFE8DF")
    for start, end in (
        ((2.0, 3.35), (2.7, 3.35)),
        ((4.7, 3.35), (5.3, 3.35)),
        ((6.8, 3.35), (7.5, 3.35)),
        ((2.0, 1.05), (2.7, 1.05)),
        ((4.7, 1.05), (5.3, 1.05)),
        ((6.05, 2.7), (6.05, 1.7)),
    ):
        axis.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "0.25", "lw": 1.3})
    axis.annotate("", (7.5, 1.3), (6.8, 1.3), arrowprops={"arrowstyle": "-|>", "color": "0.25", "lw": 1.3})
    axis.annotate("", (6.8, 0.75), (7.5, 0.75), arrowprops={"arrowstyle": "-|>", "color": "0.25", "lw": 1.3})
    axis.text(7.15, 1.42, "rewards", ha="center", size=8, color="0.25")
    axis.text(7.15, 0.5, "batch", ha="center", size=8, color="0.25")
    axis.text(6.2, 2.15, "the same perturbations", size=8, color="0.25", va="center")
    return figure


def _box(axis: Axes, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
    box = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.02,rounding_size=0.08", fc=colour, ec="0.3", lw=1)
    axis.add_patch(box)
    axis.text(x + width / 2, y + height / 2, text, ha="center", va="center", size=8.5)

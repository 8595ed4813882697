"""Accuracy against K, and one algorithm minus another below it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import draw_lines, headed, legend_below, runs_text, wide
from bestarm_lab.figures.styles import Style

KEPT_STYLES = {"GSE-Lin | rewards kept": Style("#0B3C6F", "D", "-.")}  # beside GSE-Lin itself


def accuracy_with_difference(
    values: pd.DataFrame,
    differences: pd.DataFrame,
    order: Sequence[str],
    *,
    title: str,
    setting: str = "",
    styles: Mapping[str, Style] | None = None,
) -> Figure:
    """Return accuracy against K in the upper row, a panel for each budget, and one algorithm minus another below."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(2, len(panels), figsize=wide(2, 2.3), squeeze=False, sharey="row", height_ratios=[3, 2])
    mine = values[values["statistic"] == "accuracy"]
    for (above, below), panel in zip(axes.T, panels, strict=True):
        there, by = mine[mine["panel"] == panel], differences[differences["panel"] == panel]
        draw_lines(above, there, order, places="even", possible=(0, 1), styles=styles)
        xs = np.array(sorted(there["x"].unique()))
        above.plot(range(len(xs)), 1.0 / xs, color="0.3", ls="--", lw=1.0, zorder=1, label="a guess, 1/K")
        black = {name: Style("#000000", "D") for name in by["series"]}
        draw_lines(below, by, list(dict.fromkeys(by["series"])), places="even", styles=black)
        below.axhline(0.0, color="0.3", ls="--", lw=1.0, zorder=1)
        above.set_title(panel)
        below.set_xlabel("arms K")
    axes[0, 0].set_ylabel("accuracy")
    axes[1, 0].set_ylabel("difference")
    legend_below(figure, order)
    return headed(figure, title, runs_text(mine["n"]), "bars: 95% intervals", setting)

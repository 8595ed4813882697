"""Accuracy against the number of arms, the gap, the budget or the dimension: one panel for each cell of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from bestarm.reporting.figures import APPEARANCE, CONVENTION_TITLES, OTHER
from bestarm.reporting.regret_figures import LINES

_SPREAD = 0.3  # of a step of the axis, from first to last series, so that intervals do not hide each other


def draw_accuracy(
    axis: Axes, values: pd.DataFrame, order: Sequence[str], *, statistic: str = "accuracy", places: Sequence[float] = ()
) -> Axes:
    """Draw a statistic of each series against x, at evenly spaced places, with 95% intervals.

    Parameters
    ----------
    axis : Axes
        Where to draw; its labels and legend are the caller's.
    values : DataFrame
        ``series, x, statistic, value, low, high``.
    order : sequence of str
        Series, in the order of the legend; those without values are left out.
    statistic : str
        Which.
    places : sequence of float
        Values of x from left to right; by default those of the values.
    """
    mine = values[values["statistic"] == statistic]
    where = list(places) or sorted(mine["x"].unique())
    shown = [label for label in order if label in set(mine["series"])]
    for number, label in enumerate(shown):
        line = mine[mine["series"] == label].sort_values("x")
        x = np.array([where.index(v) for v in line["x"]]) + _SPREAD * (number / max(len(shown) - 1, 1) - 0.5)
        middle = line["value"].to_numpy()
        reach = np.abs(np.array([middle - line["low"], line["high"] - middle]))
        colour, marker = APPEARANCE.get(label, OTHER)
        axis.errorbar(
            x, middle, yerr=reach, color=colour, ls=LINES[number % len(LINES)], marker=marker, ms=5, mec="black",
            mew=0.4, lw=1.3, elinewidth=0.8, label=label,
        )  # fmt: skip
    axis.xaxis.set_major_locator(FixedLocator(range(len(where))))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticklabels([f"{v:g}" for v in where], fontsize=8)
    return axis


def accuracy_figure(
    values: pd.DataFrame,
    order: Sequence[str],
    *,
    xlabel: str,
    profile: str,
    statistic: str = "accuracy",
    ylabel: str = "accuracy",
    chance: bool = False,
) -> Figure:
    """Return a row of panels for each convention.

    Parameters
    ----------
    values : DataFrame
        Plotted values with ``panel`` and ``convention``.
    order : sequence of str
        Series, in the order of the legend.
    xlabel, ylabel : str
        Of the axes.
    profile : str
        Scale, for the caption.
    statistic : str
        What is drawn.
    chance : bool
        Whether to mark 1/x, the accuracy of a guess among x arms.
    """
    conventions = [c for c in CONVENTION_TITLES if c in set(values["convention"])]
    panels = list(dict.fromkeys(values["panel"]))
    size = (max(7.0, 1.2 + 3.6 * len(panels)), 0.9 + 2.7 * len(conventions))
    shared = statistic == "accuracy"
    figure, axes = plt.subplots(len(conventions), len(panels), figsize=size, squeeze=False, sharey=shared)
    places = sorted(values["x"].unique())
    for row, convention in enumerate(conventions):
        for column, panel in enumerate(panels):
            axis = axes[row, column]
            mine = values[(values["panel"] == panel) & (values["convention"] == convention)]
            draw_accuracy(axis, mine, order, statistic=statistic, places=places)
            counts = mine.loc[mine["statistic"] == statistic, "n"]
            runs = f"n = {counts.max()}" if counts.nunique() == 1 else f"n = {counts.min()} to {counts.max()}"
            axis.set_title(f"{panel}, {CONVENTION_TITLES[convention]} ({runs})", fontsize=9)
            axis.set_xlabel(xlabel)
            if column == 0:
                axis.set_ylabel(ylabel)
            if chance:
                axis.plot(range(len(places)), [1.0 / v for v in places], color="0.6", lw=1, ls=(0, (1, 3)), zorder=0)
            if statistic == "accuracy":
                axis.set_ylim(-0.02, 1.02)
    found: dict[str, Any] = {}
    for axis in axes.flat:
        handles, labels = axis.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    ordered = [label for label in order if label in found]
    figure.legend(
        [found[label] for label in ordered], ordered, loc="outside lower center", fontsize=8,
        ncols=min(len(ordered), 2 * len(panels) + 1),
    )  # fmt: skip
    figure.suptitle(f"Bars: 95% intervals · {profile} profile", fontsize=8, x=0.99, ha="right")
    return figure

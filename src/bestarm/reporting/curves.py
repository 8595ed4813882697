"""Line plots and quantile plots with intervals. Functions take tidy frames and an axis, and compute no statistic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bestarm.reporting.figures import APPEARANCE, OTHER, display_label

# Variants of algorithms that the paper's own figures do not show
VARIANTS: dict[str, tuple[str, str]] = {
    "GPOO (S = 4)": ("#004C78", "p"),
    "m-LinGapE (greedy, no initialisation)": ("#56B4E9", "8"),
}
GREYS = (("0.0", "o"), ("0.45", "s"), ("0.7", "^"), ("0.85", "D"))


def appearance(label: str) -> tuple[str, str]:
    """Return the colour and the marker of an algorithm, the same in every figure of the project."""
    return APPEARANCE.get(label) or VARIANTS.get(label) or OTHER


def draw_curves(
    axis: Axes,
    values: pd.DataFrame,
    order: Sequence[str],
    *,
    looks: Mapping[str, tuple[str, str]] | None = None,
    shift: float = 0.0,
    joined: bool = True,
) -> Axes:
    """Draw one line with intervals for each series.

    Parameters
    ----------
    axis : Axes
        Where to draw; its scales, labels and legend are the caller's.
    values : DataFrame
        ``series, x, value, low, high``; x numbers, or words that become categories in their order.
    order : sequence of str
        Series, in the order of the legend.
    looks : mapping of str to (colour, marker), optional
        For series that are no algorithms.
    shift : float, default=0.0
        How far apart series stand at the same category, so that their intervals can be told apart.
    joined : bool, default=True
        Whether a line joins the points; categories are never joined.
    """
    words = not pd.api.types.is_numeric_dtype(values["x"])
    places = {x: k for k, x in enumerate(dict.fromkeys(values["x"]))}
    for number, label in enumerate(order):
        mine = values[values["series"] == label]
        colour, marker = (looks or {}).get(label) or appearance(label)
        x = mine["x"].map(places) + shift * (number - (len(order) - 1) / 2) if words else mine["x"]
        line = "-" if joined and not words else "none"
        reach = np.nan_to_num([mine["value"] - mine["low"], mine["high"] - mine["value"]])
        axis.errorbar(
            x.astype(float), mine["value"], yerr=np.maximum(reach, 0.0), color=colour, marker=marker, mec="black",
            mew=0.5, capsize=2, elinewidth=1.0, ls=line, label=display_label(label, 60),
        )  # fmt: skip
    if words:
        axis.set_xticks(range(len(places)), [str(x) for x in places])
        axis.set_xlim(-0.6, len(places) - 0.4)
    return axis


def draw_quantiles(axis: Axes, values: pd.DataFrame, order: Sequence[str]) -> Axes:
    """Draw the distribution of each series from its quantiles: 5% to 95% thin, the quartiles thick, the extreme open.

    Parameters
    ----------
    axis : Axes
        Where to draw; series stand from top to bottom.
    values : DataFrame
        ``series, statistic, value`` with the statistics ``5% quantile, q1, median, q3, 95% quantile, largest``.
    order : sequence of str
        Series from top to bottom.
    """
    table = values.set_index(["series", "statistic"])["value"]
    for place, label in enumerate(order):
        colour, marker = appearance(label)
        for low, high, width in (("5% quantile", "95% quantile", 1.2), ("q1", "q3", 4.5)):
            axis.plot([table[label, low], table[label, high]], [place] * 2, color=colour, lw=width, zorder=2)
        axis.plot(table[label, "median"], place, marker=marker, color=colour, mec="black", mew=0.7, ms=6, zorder=3)
        axis.plot(table[label, "largest"], place, marker="|", color="black", ms=8, zorder=3)
    axis.set_yticks(range(len(order)), [display_label(label, 32) for label in order])
    axis.set_ylim(len(order) - 0.4, -0.6)
    axis.grid(axis="x")
    return axis

"""The figures of the comparison of policies: a panel for each data set, a line for each policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks.what_to_use_comparison import CASES
from bestarm_lab.figures.figures import WIDTH, headed, runs_text

CHANCE = "chance (exact)"
_OURS, _OTHERS = ("o", "#0072B2"), ("D", "#D55E00")  # marker and colour
_LINE = 0.165  # inches
_NOT_RUN: dict[str, Any] = {"ha": "center", "va": "center", "size": 7, "color": "0.55"}


def policies_figure(
    values: pd.DataFrame,
    order: Sequence[str],
    *,
    others: Sequence[str] = (),
    title: str,
    setting: str,
    what: str,
    reference: float | None = None,
) -> Figure:
    """Return means or differences with their intervals, a panel for each data set, each with its own range.

    Parameters
    ----------
    values : DataFrame
        Columns of a figure's CSV; the panel is the data set, and chance is drawn as a line with a band.
    order : sequence of str
        Policies from top to bottom.
    others : sequence of str
        Those of them that are not this project's: orange diamonds.
    title, setting, what : str
        The finding, the setting, and the label of the axis.
    reference : float, optional
        Where a dashed line stands.
    """
    size = (WIDTH, 2 * (_LINE * len(order) + 0.55) + 0.2)
    figure, axes = plt.subplots(2, 3, figsize=size, sharey=True)
    for axis, case in zip(axes.flat, CASES, strict=True):
        mine = values[values["panel"] == case].set_index("series")
        if CHANCE in mine.index:
            law = mine.loc[CHANCE]
            axis.axvspan(law["low"], law["high"], color="0.9", lw=0, zorder=0)
            axis.axvline(law["value"], color="0.35", ls=":", lw=1.2, zorder=1)
        if reference is not None:
            axis.axvline(reference, color="0.3", ls="--", lw=0.9, zorder=1)
        for place, policy in enumerate(order):
            if policy not in mine.index:
                if reference is None:
                    axis.text(0.5, place, "not run", transform=axis.get_yaxis_transform(), **_NOT_RUN)
                continue
            marker, colour = _OTHERS if policy in others else _OURS
            line = mine.loc[policy]
            axis.plot([line["low"], line["high"]], [place] * 2, color="0.25", lw=1.3, zorder=2)
            axis.plot(line["value"], place, marker=marker, color=colour, mec="black", mew=0.5, ms=4.5, zorder=3)
        axis.set_yticks(range(len(order)), list(order))
        axis.set_ylim(len(order) - 0.4, -0.6)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="x", visible=True)
        axis.set_title(case)
        axis.xaxis.set_major_locator(MaxNLocator(4))
    for axis in axes[-1]:
        axis.set_xlabel(what)
    return headed(figure, title, "; ".join(filter(None, [runs_text(values["n"]), setting])))

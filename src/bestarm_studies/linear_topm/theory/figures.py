"""Figures about the theory of the Top-m paper: the event of its proofs, and the bound of its Theorem 2."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bestarm_lab.figures.figures import draw_quantiles, headed, legend_below, runs_text, wide
from bestarm_lab.figures.styles import display_label, style_of


def event_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the distributions of the largest error of a gap in units of its width, one panel for each instance.
    ``values``: see `bestarm_studies.linear_topm.theory.findings.event_values`; panels from left to right, then down."""
    panels = list(dict.fromkeys(values["panel"]))
    heights = [
        values[values["panel"].isin(pair)]["series"].nunique() for pair in zip(panels[::2], panels[1::2], strict=True)
    ]
    figure, axes = plt.subplots(
        len(heights),
        2,
        figsize=wide(1, 0.24 * sum(heights) + 0.75 * len(heights)),
        squeeze=False,
        sharex=True,
        height_ratios=heights,
    )
    for axis, panel in zip(axes.flat, panels, strict=True):
        mine = values[values["panel"] == panel]
        draw_quantiles(axis, mine, list(dict.fromkeys(mine["series"])))
        axis.axvline(1.0, color="0.3", ls="--", lw=1.0)
        axis.set_title(f"{panel} (n = {mine['n'].iloc[0]})")
        axis.set_xlim(0.0, 1.1 * values["value"].max())
    for axis in axes[-1]:
        axis.set_xlabel("largest error of a gap / its width")
    handles = [
        Line2D([], [], color="0.4", lw=1.2, label="5% to 95% of runs"),
        Line2D([], [], color="0.4", lw=4.5, label="quartiles"),
        Line2D([], [], color="0.4", marker="o", mec="black", ls="", label="median"),
        Line2D([], [], color="black", marker="|", ls="", ms=8, label="largest of all runs"),
        Line2D([], [], color="0.3", ls="--", lw=1.0, label="the event is lost"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return headed(figure, title, setting)


def _draw_pulls_and_bounds(axis: Axes, values: pd.DataFrame, rules: Sequence[str]) -> None:
    """Draw the mean sample complexity against the constant, each joined to its bound."""
    for rule in rules:
        colour, marker, _ = style_of(rule)
        mine = values[values["series"] == rule].pivot(index="x", columns="statistic", values="value")
        axis.vlines(mine.index, mine["mean"], mine["bound"], color=colour, lw=0.8, alpha=0.7, zorder=2)
        axis.plot(mine.index, mine["bound"], "_", color=colour, ms=9, mew=1.8, zorder=3)
        axis.plot(mine.index, mine["mean"], marker, color=colour, mec="black", mew=0.5, ls="", zorder=3)
        axis.plot([], [], marker, color=colour, mec="black", mew=0.5, ls="", label=display_label(rule))
    axis.plot([], [], "_", color="0.3", ms=9, mew=1.8, label="bound of Theorem 2")
    axis.set(xscale="log", yscale="log", xlabel="complexity constant H", ylabel="mean pulls")


def bound_figure(
    values: pd.DataFrame, rules: Sequence[str], headings: Mapping[str, str], *, title: str, setting: str = ""
) -> Figure:
    """Return the mean sample complexity below its bound, and how many times the bound exceeds a run.
    ``values``: of `bound_values`; ``rules``: series; ``headings``: panels, which are instances, from top to bottom."""
    figure, (left, right) = plt.subplots(1, 2, figsize=wide(1, 3.0))
    _draw_pulls_and_bounds(left, values, rules)
    left.set_title("pulls, and the bound above them")
    slack = values[values["statistic"] == "mean slack"].set_index(["series", "panel"])
    for rule, shift in zip(rules, (-0.14, 0.14), strict=True):
        colour, marker, _ = style_of(rule)
        mine = slack.loc[rule].reindex(list(headings))
        places = np.arange(len(headings)) + shift
        right.hlines(places, mine["low"], mine["high"], color=colour, lw=1.2, zorder=2)
        right.plot(mine["value"], places, marker, color=colour, mec="black", mew=0.5, ls="", zorder=3)
    right.set_yticks(range(len(headings)), list(headings.values()))
    right.set(ylim=(len(headings) - 0.5, -0.5), xlabel="bound / pulls of a run")
    right.set_xlim(left=0.0)
    right.grid(axis="y", visible=False)
    right.grid(axis="x", visible=True)
    right.set_title("how many times the bound exceeds a run")
    legend_below(figure)
    return headed(figure, title, runs_text(values["n"]), "bars: 95% intervals of the mean", setting)

"""Figures of the GSE paper that no other paper has: instances, designs and solvers, bounds, differences, a gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import draw_lines, headed, legend_below, line_panels, runs_text, wide
from bestarm_lab.figures.styles import DOTS, Style, style_of

SOLVER_STYLES = {
    "Algorithm 2, line search": Style("#7A3500", "P"),
    "authors' line search": Style("#C78615", "X", "--"),
    "determinant, away steps": Style("#0072B2", "s", "-."),
    "Wynn's steps": Style("#009E73", "^", DOTS),
}
INSTANCE_STYLES = {
    "static": Style("#D55E00", "P"),
    "adaptive": Style("#0072B2", "s", "--"),
    "sphere": Style("#009E73", "o"),
    "logistic": Style("#C0609A", "<", DOTS),
    "automobile": Style("#30267A", "d", "-."),
    "motor": Style("0.35", "^", "--"),
}
KEPT_STYLES = {"GSE-Lin | rewards kept": Style("#0B3C6F", "D", "-.")}  # beside GSE-Lin itself
STAGE_STYLES = {
    "η = 3": Style("#4A90D9", "o", "--"),
    "η = 4": Style("#0B3C6F", "s", "-."),
    "η = K": Style("#D55E00", "P"),
}
_BOUND_LINES = ("--", DOTS, "-.")


def accuracy_with_difference(
    values: pd.DataFrame,
    differences: pd.DataFrame,
    order: Sequence[str],
    *,
    title: str,
    setting: str = "",
    styles: Mapping[str, Style] | None = None,
) -> Figure:
    """Return accuracy against K in the upper row, a panel for each budget, and one algorithm minus another below.

    Parameters
    ----------
    values, differences : DataFrame
        Plotted values of one convention with the same panels; statistics "accuracy" and "difference".
    order : sequence of str
        Series.
    title, setting : str
        The finding; where and how.
    styles : mapping of str to Style, optional
        Of series that do not look like their algorithm.
    """
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
    return headed(figure, title, "; ".join(filter(None, [runs_text(mine["n"]), "bars: 95% intervals", setting])))


def allocation_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the arms in the plane, a panel for each design; a disc's area is the weight of its arm."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 3.0), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        mine = values[values["panel"] == panel].pivot(index=["series", "x"], columns="statistic", values="value")
        mine = mine.reset_index()
        axis.scatter(mine["x"], mine["second coordinate"], s=8, color="0.5", zorder=2)
        axis.scatter(
            mine["x"],
            mine["second coordinate"],
            s=1400 * mine["weight"],
            color="#0072B2",
            alpha=0.45,
            ec="black",
            lw=0.6,
            zorder=3,
        )
        axis.set_title(f"{panel}\nlargest leverage {mine['leverage'].max():.2f}")
        axis.set(xlabel="first feature")
        axis.margins(0.15)
        axis.set_aspect("equal", adjustable="datalim")
        axis.axhline(0.0, color="0.85", lw=0.8, zorder=0)
        axis.axvline(0.0, color="0.85", lw=0.8, zorder=0)
    axes[0, 0].set_ylabel("second feature")
    return headed(figure, title, setting)


def convergence_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the excess of the largest leverage against the steps, a panel for each size of problem."""
    shown = values.assign(**{name: values[name] - 1.0 for name in ("value", "low", "high")})
    return line_panels(
        shown,
        list(SOLVER_STYLES),
        title=title,
        setting=setting,
        statistic="largest leverage over rank",
        x="steps",
        y="largest leverage / rank - 1",
        marks="band",
        spread="range over sets of arms",
        log="xy",
        styles=SOLVER_STYLES,
    )


def bound_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return error frequencies with intervals, and each algorithm's own bounds in its colour, on logarithmic axes.

    A frequency of zero is an open marker at the upper limit of its interval.
    """
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 3.3), squeeze=False, sharey=True)
    for axis, panel in zip(axes[0], panels, strict=True):
        mine = values[values["panel"] == panel]
        error = mine[mine["statistic"] == "error"]
        order = list(dict.fromkeys(mine["series"]))
        draw_lines(axis, error, order, log="xy")
        names = [name for name in dict.fromkeys(mine["statistic"]) if name != "error"]
        for name, style in zip(names, _BOUND_LINES, strict=False):
            for series in order:
                line = mine[(mine["statistic"] == name) & (mine["series"] == series)].sort_values("x")
                axis.plot(line["x"], line["value"], color=style_of(series).colour, ls=style, lw=1.2, zorder=1)
            axis.plot([], [], color="0.3", ls=style, lw=1.2, label=f"{name}, in the algorithm's colour")
        axis.set(xscale="log", xlabel="budget B (pulls)", title=panel, ylim=(5e-5, 2.0))
    axes[0, 0].set_ylabel("probability of an error")
    legend_below(figure, list(dict.fromkeys(values["series"])))
    errors = values[values["statistic"] == "error"]
    words = [
        runs_text(errors["n"]),
        "bars: 95% intervals; open markers: no error in any run, at the upper limit",
        setting,
    ]
    return headed(figure, title, "; ".join(filter(None, words)))


def instance_figure(values: pd.DataFrame, names: Mapping[str, str], *, title: str, setting: str = "") -> Figure:
    """Return how large gaps are beside the noise: a line for each experiment, from `instance_gaps`.

    Parameters
    ----------
    values : DataFrame
        Series are experiments; statistics "smallest median", "largest median" and "largest of all".
    names : mapping of str to str
        Experiments from top to bottom, in words.
    title, setting : str
        The finding; where and how.
    """
    table = values.pivot(index="series", columns="statistic", values="value")
    figure, axis = plt.subplots(figsize=wide(1, 0.28 * len(names) + 1.0))
    labels = "median gap, over the cells of a figure", "largest gap of any instance"
    for place, name in enumerate(names):
        spans = table.loc[[name], ["smallest median", "largest median", "largest of all"]]
        low, high, largest = spans.to_numpy(dtype=np.float64)[0]
        axis.plot([low, high], [place] * 2, "o-", color="#0072B2", lw=5, ms=5, label=labels[0])
        axis.plot(largest, place, marker="|", ms=11, mew=1.6, color="black", ls="", label=labels[1])
    axis.axvline(1.0, color="0.3", ls="--", lw=1.0, zorder=1, label="the standard deviation of one reward")
    axis.set(xscale="log", xlabel="gap between the best two arms / standard deviation of one reward")
    axis.set_yticks(range(len(names)), list(names.values()))
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)
    legend_below(figure)
    return headed(figure, title, setting)


def closing_figure(
    values: pd.DataFrame, titles: Mapping[str, str], *, names: Mapping[str, str], title: str, setting: str = ""
) -> Figure:
    """Return what changes close of a gap: a column for each panel, a line for each change; a band is the gap.

    Parameters
    ----------
    values : DataFrame
        As `bestarm_studies.gse.gap.gap_values` makes them.
    titles : mapping of str to str
        Panels from left to right, and their headings.
    names : mapping of str to str
        Changes from top to bottom, in words.
    title, setting : str
        The finding; where and how.
    """
    figure, axes = plt.subplots(1, len(titles), figsize=wide(1, 0.3 * len(names) + 1.2), sharex=True, sharey=True)
    for axis, (panel, heading) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        mine = values[values["panel"] == panel]
        gaps, closed = (
            mine[mine["statistic"] == name].set_index("series")[["value", "low", "high"]] for name in ("gap", "closed")
        )
        gap, low, high = gaps[~gaps.index.isin(closed.index)].iloc[0]
        axis.axvspan(low, high, color="#D55E00", alpha=0.25, lw=0)
        axis.axvline(gap, color="#D55E00", lw=1.4, label="the gap to the best rival")
        axis.axvline(0.0, color="0.3", ls="--", lw=1.0, label="nothing closed")
        closed = closed.reindex(list(names))
        places = range(len(names))
        axis.hlines(places, closed["low"], closed["high"], color="0.25", lw=1.3, zorder=3)
        axis.plot(closed["value"], places, "o", color="#0072B2", ms=3.5, label="closed by the change", zorder=4)
        axis.set_title(f"{heading}\ngap {gap:.3f}")
        axis.set_xlabel("accuracy")
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="y", visible=False)
        axis.grid(axis="x", visible=True)
    axis.set_yticks(places, list(names.values()))
    axis.set_ylim(len(names) - 0.4, -0.6)
    legend_below(figure)
    return headed(figure, title, "; ".join(filter(None, [setting, "bars and bands: 95% intervals"])))

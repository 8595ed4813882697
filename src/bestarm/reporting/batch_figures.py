"""Figures of batch searches: quantile convergence, rewards over batches, training errors. No statistic is computed."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bestarm.reporting.batch_summaries import RANDOM_LAW
from bestarm.reporting.figures import display_label

# λ is a shade of the algorithm's colour; markers differ too, so that all can be told apart in grey
_ALGORITHMS = {
    "RandomBatch": ("0.55", "x"),
    "Greedy": ("#000000", "o"),
    "Ensemble-SeqB-NoiseY": ("#CC79A7", "<"),
    "Ensemble-SeqB": ("#56B4E9", "P"),
    "EnsembleNoiseY": ("#882255", "X"),
    "Ensemble": ("#0072B2", "s"),
}
_STRENGTHS: Mapping[str, tuple[str, str, str]] = {
    "MeanOpt": ("#EDBA55", "#E69F00", "#9A5B00"),
    "DetD": ("#A3D08F", "#6AA855", "#3C7A2B"),
    "SeqB": ("#6CC9AF", "#009E73", "#00563F"),
    "MaxOpt": ("#EF9A6F", "#D55E00", "#7A3500"),
    "HingePNorm": ("#AFA6DD", "#8478C9", "#463B8A"),
}
_MARKERS = {"0.001": "v", "0.01": "^", "0.1": "D"}
_DASHED = ("SeqB", "Ensemble-SeqB", "Ensemble-SeqB-NoiseY", "DetD")  # what differs from a plain batch
_CLASSES = {
    "linear": ("0.45", "x"),
    "NN 10-5": ("#E69F00", "o"),
    "NN 100-10": ("#0072B2", "s"),
    "NN 300-100": ("#882255", "^"),
}


def look(label: str) -> tuple[str, str]:
    """Return the colour and the marker of an algorithm or a class of networks, whatever follows after ``|``."""
    name = label.split(" | ", maxsplit=1)[0]
    if name in _CLASSES:
        return _CLASSES[name]
    if name in _ALGORITHMS:
        return _ALGORITHMS[name]
    algorithm, _, strength = name.partition(" ")
    if algorithm in _STRENGTHS and strength in _MARKERS:
        return _STRENGTHS[algorithm][list(_MARKERS).index(strength)], _MARKERS[strength]
    return ("#000000", "*") if name == "DetD 0" else ("0.2", "d")


def legend_label(label: str, beyond: Collection[str]) -> str:
    """Return a series' name in a legend, with a dagger if some of its fits passed 10^4."""
    return display_label(label, 40) + (" †" if label in beyond else "")


def draw_hits(axis: Axes, values: pd.DataFrame, order: Sequence[str], beyond: Collection[str] = ()) -> Axes:
    """Draw batches until a top arm against its quantile, the best to the right; random batches' exact law dotted."""
    mine = values[values["statistic"] == "batches"]
    exact = mine[mine["series"] == RANDOM_LAW]
    axis.plot(exact["x"], exact["value"], ls=":", color="0.55", lw=1.4, label=RANDOM_LAW, zorder=1)
    _draw_lines(axis, mine, order, beyond)
    axis.set_xscale("log")
    axis.set_xlim(mine["x"].max() * 1.25, mine["x"].min() / 1.25)
    axis.set_xticks(sorted(mine["x"].unique()), [f"{t:g}" for t in sorted(mine["x"].unique())])
    axis.minorticks_off()
    axis.set_ylim(bottom=0.0)
    return axis


def draw_over_batches(
    axis: Axes, values: pd.DataFrame, order: Sequence[str], statistic: str, beyond: Collection[str] = ()
) -> Axes:
    """Draw a statistic against the number of the batch, its interval as a band."""
    mine = values[values["statistic"] == statistic]
    for label in order:
        line = mine[mine["series"] == label]
        colour, marker = look(label)
        axis.fill_between(line["x"].astype(float), line["low"], line["high"], color=colour, alpha=0.15, lw=0)
        every = max(1, len(line) // 8)
        axis.plot(
            line["x"], line["value"], color=colour, marker=marker, markevery=every, mec="black", mew=0.4, ms=5,
            label=legend_label(label, beyond),
        )  # fmt: skip
    return axis


def draw_fits(axis: Axes, values: pd.DataFrame, order: Sequence[str]) -> Axes:
    """Draw training error over variance against the step, both logarithmic."""
    _draw_lines(axis, values, order)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.axhline(1.0, color="0.7", lw=0.8, zorder=0)
    return axis


def fits_figure(values: pd.DataFrame, title: str) -> Figure:
    """Return a figure with a panel for each set of arms: training error over variance, a line for each class."""
    names = list(dict.fromkeys(values["panel"]))
    classes = [c for c in _CLASSES if c in set(values["series"])]
    figure, axes = plt.subplots(1, len(names), figsize=(3.7 * len(names), 3.9), sharey=True, squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        draw_fits(axis, values[values["panel"] == name], classes)
        stand_in = " (stand-in data)" if (values.loc[values["panel"] == name, "data"] == "stand-in").any() else ""
        axis.set_title(name + stand_in)
        axis.set_xlabel("step of Adam")
    axes[0, 0].set_ylabel("training MSE / variance of the response\n(median and quartiles)")
    axes[0, 0].legend()
    figure.suptitle(title, fontsize=9)
    return figure


def _draw_lines(axis: Axes, values: pd.DataFrame, order: Sequence[str], beyond: Collection[str] = ()) -> None:
    for number, label in enumerate(order):
        line = values[values["series"] == label]
        colour, marker = look(label)
        reach = np.nan_to_num([line["value"] - line["low"], line["high"] - line["value"]])
        spread = 1.0 + 0.012 * (number - (len(order) - 1) / 2)  # so that intervals do not hide each other
        axis.errorbar(
            line["x"].astype(float) * spread, line["value"], yerr=np.maximum(reach, 0.0), color=colour, marker=marker,
            ls="--" if label.split(" ", maxsplit=1)[0] in _DASHED else "-",
            mec="black" if marker != "x" else colour, mew=0.5 if marker != "x" else 1.5, ms=5, capsize=2,
            elinewidth=1.0, label=legend_label(label, beyond),
        )  # fmt: skip


def panels(
    values: pd.DataFrame,
    columns: Mapping[str, Sequence[str]],
    *,
    statistics: Sequence[str] = ("batches",),
    title: str = "",
    width: float = 4.3,
) -> Figure:
    """Return a figure with a row for each panel of the values.

    Parameters
    ----------
    values : DataFrame
        Columns of a figure's CSV.
    columns : mapping of str to sequence of str
        Title of a column to the series drawn in it.
    statistics : sequence of str
        What each column draws: ``batches`` (against the quantile), else against the number of the batch.
    title : str
        Above all panels: profile, number of runs, what was cut. How runs without a top arm count, and what a dagger
        means, is added where it applies.
    width : float
        Inches of a panel.
    """
    names = list(dict.fromkeys(values["panel"]))
    places = [(name, place) for name in names for place in range(len(columns))]
    n_columns = 2 if len(columns) == 1 and len(names) > 1 else len(columns)
    n_rows = -(-len(places) // n_columns)
    alike = len(columns) > 1 and set(statistics) == {"batches"}
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(width * n_columns, 3.0 * n_rows + 0.9), squeeze=False,
        sharey="row" if alike else False,
    )  # fmt: skip
    beyond = set(values.loc[values["statistic"] == "runs beyond 10^4", "series"])
    for axis in axes.flat[len(places) :]:
        axis.set_axis_off()
    for axis, (name, place) in zip(axes.flat, places, strict=False):
        heading, order = list(columns.items())[place]
        mine, statistic = values[values["panel"] == name], statistics[min(place, len(statistics) - 1)]
        there = [s for s in order if s in set(mine["series"])]
        if statistic == "batches":
            draw_hits(axis, mine, there, beyond)
            axis.set(xlabel="top quantile τ", ylabel="batches until a top arm\n(mean, 95% interval)")
        else:
            draw_over_batches(axis, mine, there, statistic, beyond)
            axis.set(xlabel="batch", ylabel=f"{statistic}\n(mean, 95% interval)")
        stand_in = " · stand-in data" if (mine["data"] == "stand-in").any() else ""
        axis.set_title(f"{name}{': ' + heading if heading else ''}{stand_in}", fontsize=9)
    for axis in axes[-1] if len(columns) > 1 else axes[-1, :1]:
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=7)
    title += " · a run without a top arm counts as one batch more than there are" * ("batches" in statistics)
    title += " · † some fits passed 10⁴" * bool(beyond & {s for order in columns.values() for s in order})
    figure.suptitle(textwrap.fill(title, int(16 * width * n_columns / 1.4)), fontsize=8.5)
    return figure

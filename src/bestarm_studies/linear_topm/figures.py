"""Figures of the Top-m paper: sample complexities over single runs, arms in the plane, ratios of constants."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bestarm_lab.figures.figures import draw_lines, draw_quantiles, headed, legend_below, runs_text, wide
from bestarm_lab.figures.styles import CONVENTIONS, display_label, style_of
from bestarm_studies.linear_topm.values import Panel


def arms_figure(values: pd.DataFrame, *, title: str) -> Figure:
    """Return arms in the plane as arrows, each with its mean; the first feature is the direction of theta."""
    figure, axis = plt.subplots(figsize=(4.0, 2.9))
    for arm, (x, y, mean) in values.pivot(index="series", columns="statistic", values="value").iterrows():
        axis.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "lw": 1.6})
        axis.annotate(f"$x_{arm}$, mean {mean:.2f}", (x, y), textcoords="offset points", xytext=(4, 5))
    axis.set(xlim=(-0.1, 1.6), ylim=(-0.1, 1.2), aspect="equal")
    axis.set(xlabel="feature 1 (the direction of θ)", ylabel="feature 2")
    return headed(figure, title)


def draw_sample_complexity(axis: Axes, rows: pd.DataFrame, values: pd.DataFrame, order: Sequence[str]) -> Axes:
    """Draw the distribution of the sample complexity of each algorithm: boxes over individual outcomes.
    ``values``, of the same rows: ``mean``, ``error rate``, ``authors' mean``; ``order``: from top to bottom."""
    for position, label in enumerate(order):
        pulls = rows.loc[rows["series"] == label, "pulls"]
        spread = (np.arange(len(pulls)) * 0.6180339887) % 1.0 - 0.5  # even, and the same in every redrawing
        axis.scatter(pulls, position + 0.7 * spread, s=1.5, color="0.55", alpha=0.45, linewidths=0, zorder=1)
    sns.boxplot(
        data=rows,
        y="series",
        x="pulls",
        order=list(order),
        hue="series",
        legend=False,
        ax=axis,
        width=0.55,
        palette={label: style_of(label).colour for label in order},
        whis=(5, 95),
        showfliers=False,
        linewidth=1.0,
        boxprops={"alpha": 0.75, "zorder": 2},
    )
    table = values.set_index(["statistic", "series"])["value"]
    for position, label in enumerate(order):
        marker = style_of(label).marker
        axis.plot(table["mean", label], position, marker, ms=6, mfc="white", mec="black", mew=1.0, zorder=4)
        if ("authors' mean", label) in table.index:
            axis.plot([table["authors' mean", label]] * 2, [position - 0.42, position + 0.42], "k:", lw=1.8, zorder=5)
        error = f"{100 * table['error rate', label]:.1f}%"
        axis.text(1.01, position, error, transform=axis.get_yaxis_transform(), va="center", size=8)
    axis.text(1.01, -0.8, "errors", transform=axis.get_yaxis_transform(), va="center", size=8, color="0.35")
    axis.set_yticks(range(len(order)), [display_label(label, 32) for label in order])
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", visible=True)
    axis.set(ylabel="", xlabel="")
    return axis


def sample_complexity_figure(
    panels: Sequence[Panel], order: Sequence[Sequence[str]], *, title: str, close_up: bool = False
) -> Figure:
    """Return a figure with one row for each panel of the paper and one column for each convention.
    ``panels``, ``order``: in the paper's order; ``close_up``: pulls start below their smallest value, not at zero."""
    conventions = [c for c in CONVENTIONS if c in set(panels[0].rows["convention"])]
    heights = [0.22 * len(series) + 0.7 for series in order]
    size = wide(1, sum(heights) + 0.35)
    figure, axes = plt.subplots(
        len(panels), len(conventions), figsize=size, squeeze=False, sharex="row", sharey="row", height_ratios=heights
    )
    for (letter, _, heading, rows, values), row_axes, series in zip(panels, axes, order, strict=True):
        for convention, axis in zip(conventions, row_axes, strict=True):
            mine, numbers = (frame[frame["convention"] == convention] for frame in (rows, values))
            draw_sample_complexity(axis, mine, numbers, series)
            low, high = rows["pulls"].min(), rows["pulls"].max()
            axis.set_xlim(*((1.04 * low - 0.04 * high, 1.04 * high - 0.04 * low) if close_up else (0, 1.04 * high)))
            stand_in = " · stand-in data" if (rows["data"] == "stand-in").any() else ""
            first = f"({letter}) {heading}{stand_in}" if axis is row_axes[0] else ""
            axis.set_title(f"{first}\n{CONVENTIONS[convention]}")
            axis.locator_params(axis="x", nbins=5)
    for axis in axes[-1]:
        axis.set_xlabel("sample complexity (pulls)")
    recorded = any("authors' mean" in set(values["statistic"]) for *_, values in panels)
    handles = [
        Line2D([], [], marker="o", ls="", mfc="white", mec="black", label="mean"),
        Line2D([], [], marker=".", ls="", color="0.55", label="single runs"),
        *([Line2D([], [], color="black", ls=":", lw=1.8, label="mean recorded by the authors (n = 500)")] * recorded),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    runs = runs_text(pd.concat([values.loc[values["statistic"] == "mean", "n"] for *_, values in panels]))
    return headed(figure, title, runs, "boxes: quartiles, whiskers: 5% and 95% quantiles")


def real_figure(
    values: pd.DataFrame, order: Sequence[str], headings: Mapping[str, str], *, title: str, setting: str = ""
) -> Figure:
    """Return true means against linear predictions, and below them two statistics of the searches.
    ``values``: see `bestarm_studies.linear_topm.beyond.values.real_values`; ``order``: algorithms; ``headings``: of the
    panels ``a`` (true means), ``b`` (loss of the answer) and ``c`` (pulls)."""
    figure = plt.figure(figsize=wide(1, 5.4))
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.7])
    truth, loss, pulls = (figure.add_subplot(place) for place in (grid[0, 0], grid[0, 1], grid[1, :]))
    means = values[values["panel"] == "a"]
    truth.scatter(means["x"].astype(float), means["value"], s=14, color="#0072B2", edgecolor="black", linewidth=0.4)
    truth.axline((0.4, 0.4), slope=1, color="0.3", lw=0.8, ls="--")
    truth.set(xlabel="linear prediction (units of reward)", ylabel="true mean (exact)")
    for panel, axis, name in (("b", loss, "loss of the answer"), ("c", pulls, "mean pulls")):
        draw_lines(axis, values[values["panel"] == panel], order, possible=(0.0, None), log="y" * (panel == "c"))
        axis.set_ylabel(name)
    for panel, axis in zip("abc", (truth, loss, pulls), strict=True):
        mine = values[values["panel"] == panel]
        stand_in = " · stand-in data" if (mine["data"] == "stand-in").any() else ""
        axis.set_title(f"({panel}) {headings[panel]}{stand_in}")
    legend_below(figure, order)
    return headed(figure, title, runs_text(values.loc[values["panel"] != "a", "n"]), "bars: 95% intervals", setting)


def ratio_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the distributions of the ratio of two complexity constants, as written and as coded."""
    headings = {"as_written": "as written: columns, σ = 1/2", "as_coded": "as coded: spectral norm, σ = 1"}
    figure, axes = plt.subplots(1, 2, figsize=wide(1, 2.6), sharex=True, sharey=True)
    for axis, (convention, heading) in zip(axes, headings.items(), strict=True):
        mine = values[values["convention"] == convention]
        draw_quantiles(axis, mine, list(dict.fromkeys(mine["series"])))
        axis.axvline(1.0, color="0.3", ls="--", lw=1.0)
        axis.set(title=heading, xlabel="H(m-LinGapE (2)) / H(UGapE)")
    axes[0].set_xlim(0.0, 1.05 * values["value"].max())
    handles = [
        Line2D([], [], color="0.4", lw=4.5, label="quartiles"),
        Line2D([], [], color="0.4", lw=1.2, label="5% to 95%"),
        Line2D([], [], color="0.45", marker="d", mec="black", ls="", label="median"),
        Line2D([], [], color="black", marker="|", ls="", ms=8, label="largest"),
        Line2D([], [], color="0.3", ls="--", lw=1.0, label="equal constants"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return headed(figure, title, setting)

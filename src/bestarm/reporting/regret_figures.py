"""Regret against the budget, and heat maps of it. Functions take tidy values and an axis, and compute no statistic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bestarm.reporting.curves import appearance
from bestarm.reporting.figures import CONVENTION_TITLES

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 3)))


def draw_function(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw a reward function, ``statistic`` "f", with its optimum in red; as coded it is dashed."""
    for convention, mine in values.groupby("convention"):
        curve, best = (mine[mine["statistic"] == name] for name in ("f", "optimum"))
        colour, line = ("black", "-") if convention == "as_written" else ("0.45", "--")
        axis.plot(
            curve["x"].astype(float), curve["value"], color=colour, ls=line, label=CONVENTION_TITLES[str(convention)]
        )
        axis.plot(best["x"].astype(float), best["value"], "o", color="#C00000", mec="black", ms=6, zorder=4)
    axis.set(xlabel="x", ylabel="f(x)", xlim=(0, 1))
    if values["convention"].nunique() > 1:
        axis.set_ylim(top=1.3)
        axis.legend(fontsize=8, loc="upper center", ncols=2)
    return axis


def draw_regret(axis: Axes, values: pd.DataFrame, order: Sequence[str], *, band: str) -> Axes:
    """Draw mean regret against the budget with a band.

    Parameters
    ----------
    axis : Axes
        Where to draw; its labels and legend are the caller's.
    values : DataFrame
        ``series, x, statistic, value, low, high`` with the statistics "mean" and "standard deviation".
    order : sequence of str
        Series, in the order of the legend.
    band : {"interval", "standard deviation"}
        Half-width of the band: the 95% interval of the mean, or one standard deviation over runs.
    """
    for number, label in enumerate(order):
        mine = values[values["series"] == label]
        means = mine[mine["statistic"] == "mean"].sort_values("x")
        x, mean = means["x"].to_numpy(dtype=np.float64), means["value"].to_numpy()
        if band == "interval":
            low, high = means["low"].to_numpy(), means["high"].to_numpy()
        else:
            spread = mine[mine["statistic"] == "standard deviation"].sort_values("x")["value"].to_numpy()
            low, high = mean - spread, mean + spread
        colour, marker = appearance(label)
        every = max(1, len(x) // 8)
        axis.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
        axis.plot(
            x, mean, color=colour, ls=LINES[number % len(LINES)], marker=marker, ms=5, mec="black", mew=0.4, lw=1.4,
            markevery=(number % every, every), label=label,
        )  # fmt: skip
    return axis


def regret_figure(
    functions: Mapping[str, pd.DataFrame],
    values: pd.DataFrame,
    order: Sequence[str],
    *,
    band: str,
    profile: str,
    titles: Mapping[str, str],
    logarithmic: bool = False,
) -> Figure:
    """Return the reward functions (row 1) over the regret of each convention (rows below), one column for each panel.

    Parameters
    ----------
    functions : mapping of str to DataFrame
        Panel to `function_values`; empty for no such row.
    values : DataFrame
        Plotted values with ``panel`` and ``convention``.
    order : sequence of str
        Series.
    band, logarithmic
        See `draw_regret`; whether the regret's axis is logarithmic.
    profile : str
        Scale, for the caption.
    titles : mapping of str to str
        Panel to title.
    """
    conventions = [c for c in CONVENTION_TITLES if c in set(values["convention"])]
    n_rows = len(conventions) + bool(functions)
    figure, axes = plt.subplots(
        n_rows, len(titles), figsize=(5.2 * len(titles), 0.5 + 2.0 * bool(functions) + 3.1 * len(conventions)),
        squeeze=False, height_ratios=[2] * bool(functions) + [3] * len(conventions),
    )  # fmt: skip
    for column, (panel, title) in enumerate(titles.items()):
        if functions:
            draw_function(axes[0, column], functions[panel])
            axes[0, column].set_title(title)
        for row, convention in enumerate(conventions, start=bool(functions)):
            axis = axes[row, column]
            mine = values[(values["panel"] == panel) & (values["convention"] == convention)]
            draw_regret(axis, mine, order, band=band)
            n = int(mine["n"].max())
            axis.set(xlabel="budget N (evaluations)", title=f"{title}, {CONVENTION_TITLES[convention]}", xlim=(0, None))
            axis.set_ylabel(f"aggregated regret, mean, n = {n}")
            if logarithmic:
                axis.set_yscale("log")
            else:
                axis.set_ylim(-0.05, 1.0)
                axis.axhline(0.0, color="0.8", lw=0.8, zorder=0)
    handles, labels = axes[-1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(order), 1 + 2 * len(titles)), fontsize=8)
    words = "95% interval of the mean" if band == "interval" else "one standard deviation over runs"
    figure.suptitle(f"Band: {words} · {profile} profile", fontsize=8, x=0.99, ha="right")
    return figure


def grid_figure(values: pd.DataFrame, profile: str) -> Figure:
    """Return heat maps of the log mean regret over K and S: one column for each budget, one row for each convention.

    Every panel has its own range of colours, as in the paper.
    """
    conventions = [c for c in CONVENTION_TITLES if c in set(values["convention"])]
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(
        len(conventions), len(panels), figsize=(4.8 * len(panels), 3.6 * len(conventions)), squeeze=False
    )
    for row, convention in enumerate(conventions):
        for column, panel in enumerate(panels):
            mine = values[(values["panel"] == panel) & (values["convention"] == convention)]
            table = mine.pivot_table(index="x", columns="series", values="value").sort_index(ascending=False)
            table.columns = [c.removeprefix("K = ") for c in table.columns]
            sns.heatmap(
                table, ax=axes[row, column], cmap="viridis", annot=True, fmt=".2f", annot_kws={"size": 8},
                cbar_kws={"label": "log of mean aggregated regret"},
            )  # fmt: skip
            axes[row, column].set(
                xlabel="K (children)", ylabel="S (representatives)",
                title=f"{panel}, {CONVENTION_TITLES[convention]}, n = {int(mine['n'].max())}",
            )  # fmt: skip
            axes[row, column].tick_params(axis="y", rotation=0)
    figure.suptitle(f"{profile} profile; smaller is better", fontsize=8, x=0.99, ha="right")
    return figure

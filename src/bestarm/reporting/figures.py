"""One function per kind of figure. It takes tidy frames and an axis; it computes no statistic and saves nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

# Okabe and Ito's colours, which colour-blind readers can tell apart, in steps of lightness; one marker each for grey
APPEARANCE: dict[str, tuple[str, str]] = {
    "m-LinGapE (greedy)": ("#0072B2", "o"),
    "m-LinGapE (optimized)": ("#56B4E9", "s"),
    "m-LinGapE (largest var.)": ("#004C78", "p"),
    "LinGIFA (largest var.)": ("#009E73", "^"),
    "LinGIFA (τ^LUCB, largest var.)": ("#7FCEB9", "<"),
    "LinGIFA (greedy)": ("#00664A", "v"),
    "LinGIFA (τ^LUCB, greedy)": ("#B2E2D5", ">"),
    "LinGIFA (individual indices)": ("#F0E442", "D"),
    "LUCB (largest var.)": ("#D55E00", "P"),
    "LUCB (sampling both arms)": ("#A34800", "h"),
    "UGapE": ("#E69F00", "X"),
    "LinGame": ("#CC79A7", "*"),
    "GPOO (S = 1)": ("#0072B2", "s"),
    "GPOO (S = 10)": ("#56B4E9", "o"),
    "StoOO": ("#D55E00", "^"),
    "AVE-StoOO": ("#E69F00", "v"),
    "GPTree": ("#009E73", "D"),
    "GP-UCB on 64 cells": ("#CC79A7", "P"),
    "Uniform search with the GP": ("0.35", "X"),
    "Random search": ("0.65", "h"),
    "GSE-Lin": ("#56B4E9", "o"),
    "GSE-Lin-FWG": ("#0072B2", "s"),
    "GSE-Lin-Greedy": ("#004C78", "p"),
    "GSE-Lin-Wynn": ("#7FA8D9", "d"),
    "GSE-Log": ("#009E73", "^"),
    "GSE-Log-FWG": ("#00664A", "v"),
    "LinUCB": ("#E69F00", "X"),
    "UCB-GLM": ("#E69F00", "X"),
    "LinGapE": ("#D55E00", "P"),
    "LinGapE-Greedy": ("#A34800", "h"),
    "BayesGap-Lin": ("#E7B8D3", "<"),
    "BayesGap-exp": ("#CC79A7", "*"),
    "BayesGap-M": ("#8A4A70", ">"),
    "Peace": ("0.35", "D"),
    "OD-LinBAI": ("#F0E442", "^"),
}
OTHER = ("0.6", "d")
VERDICT_COLOURS = {
    "reproduced": "#BFE3D6",
    "holds": "#BFE3D6",
    "contradicted": "#F5C4A0",
    "fails": "#F5C4A0",
    "inconclusive": "#F3EDB5",
    "untested": "#E6E6E6",
}
CONVENTION_TITLES = {"as_written": "as written", "as_coded": "as coded"}


def use_style() -> None:
    """Apply the project's Matplotlib style, found by absolute path."""
    plt.style.use(Path(__file__).with_name("bestarm.mplstyle"))


def display_label(label: str, width: int = 13) -> str:
    """Return an algorithm's label for an axis: wrapped, with the stopping rule as a formula."""
    return textwrap.fill(label, width).replace("τ^LUCB", r"$\tau^{LUCB}$").replace("τ^UGapE", r"$\tau^{UGapE}$")


def draw_sample_complexity(axis: Axes, rows: pd.DataFrame, values: pd.DataFrame, order: Sequence[str]) -> Axes:
    """Draw the distribution of the sample complexity of each algorithm: boxes over individual outcomes.

    Parameters
    ----------
    axis : Axes
        Where to draw.
    rows : DataFrame
        One row per replication: ``series, pulls``.
    values : DataFrame
        Statistics of the same rows: ``mean`` with its interval, ``error rate``, and ``authors' mean`` if recorded.
    order : sequence of str
        Series from left to right, as in the paper.
    """
    colours = {label: APPEARANCE.get(label, OTHER)[0] for label in order}
    for position, label in enumerate(order):
        pulls = rows.loc[rows["series"] == label, "pulls"]
        spread = (np.arange(len(pulls)) * 0.6180339887) % 1.0 - 0.5  # even, and the same in every redrawing
        axis.scatter(position + 0.7 * spread, pulls, s=1.5, color="0.55", alpha=0.45, linewidths=0, zorder=1)
    sns.boxplot(
        data=rows, x="series", y="pulls", order=list(order), hue="series", palette=colours, legend=False, ax=axis,
        width=0.5, whis=(5, 95), showfliers=False, linewidth=1.0, boxprops={"alpha": 0.75, "zorder": 2},
    )  # fmt: skip
    table = values.set_index(["statistic", "series"])["value"]
    for position, label in enumerate(order):
        marker = APPEARANCE.get(label, OTHER)[1]
        axis.plot(
            position, table["mean", label], marker=marker, ms=6, mfc="white", mec="black", mew=1.0, ls="", zorder=4
        )
        if ("authors' mean", label) in table.index:
            axis.plot(
                [position - 0.4, position + 0.4], [table["authors' mean", label]] * 2, color="black", ls=":", zorder=5
            )
    axis.set_xticks(
        range(len(order)),
        [f"{display_label(label)}\nerror {100 * table['error rate', label]:.1f}%" for label in order],
    )
    axis.set(xlabel="", ylabel=f"sample complexity (pulls), n = {int(values['n'].max())}")
    return axis


def sample_complexity_figure(
    panels: Sequence[tuple[str, str, pd.DataFrame, pd.DataFrame]],
    order: Sequence[Sequence[str]],
    *,
    close_up: bool = False,
) -> Figure:
    """Return a figure with one row for each panel of the paper and one column for each convention.

    Parameters
    ----------
    panels : sequence of (letter, title, rows, values)
        Panels from top to bottom.
    order : sequence of sequence of str
        Series of each panel, in the paper's order.
    close_up : bool, default=False
        Whether the axis of the pulls starts below the smallest value, not at zero.
    """
    conventions = list(dict.fromkeys(panels[0][2]["convention"]))
    width = max(4.4, 0.78 * max(len(o) for o in order)) * len(conventions)
    figure, axes = plt.subplots(
        len(panels), len(conventions), figsize=(width, 3.5 * len(panels)), sharey="row", squeeze=False
    )
    for (letter, title, rows, values), row_axes, series in zip(panels, axes, order, strict=True):
        for convention, axis in zip(conventions, row_axes, strict=True):
            draw_sample_complexity(
                axis, rows[rows["convention"] == convention], values[values["convention"] == convention], series
            )
            stand_in = " · stand-in data" if (rows["data"] == "stand-in").any() else ""
            low, high = rows["pulls"].min(), rows["pulls"].max()
            axis.set_ylim(*((1.04 * low - 0.04 * high, 1.04 * high - 0.04 * low) if close_up else (0, 1.04 * high)))
            axis.set_title(f"({letter}) {title}\n{CONVENTION_TITLES[convention]}{stand_in}")
        for axis in row_axes[1:]:
            axis.set_ylabel("")
    profile = panels[0][3]["profile"].iloc[0]
    caption = (
        "box: quartiles; whiskers: 5% and 95% quantiles; open marker: mean; grey: single runs; "
        f"dotted: the authors' recorded mean (n = 500) · {profile} profile"
    )
    figure.supxlabel(textwrap.fill(caption, int(13 * width)), fontsize=8)
    return figure


def effect_text(line: pd.Series) -> str:
    """Return the effect of a verdict with its interval, or nothing for an arithmetic or untested claim."""
    if pd.isna(line["effect"]):
        return ""
    digits = "{:.0f}" if abs(line["effect"]) >= 100 else "{:.3f}"
    return f"{digits} [{digits}, {digits}]".format(line["effect"], line["low"], line["high"])


def verdict_figure(verdicts: pd.DataFrame) -> Figure:
    """Return the verdicts as a table: one row for each claim, one column for each convention that there is."""
    claims = verdicts.drop_duplicates("id")
    conventions = {c: title for c, title in CONVENTION_TITLES.items() if (verdicts["convention"] == c).any()}
    cells, colours = [], []
    for _, claim in claims.iterrows():
        mine = verdicts[verdicts["id"] == claim["id"]].set_index("convention")
        texts, shades = (
            [claim["id"], textwrap.fill(claim["claim"], 62 if len(conventions) > 1 else 84)],
            ["white", "white"],
        )
        for convention in conventions:
            if convention in mine.index:
                line = mine.loc[convention]
                texts.append(f"{line['verdict']}\n{effect_text(line)}".strip())
                shades.append(VERDICT_COLOURS[line["verdict"]])
            else:
                texts.append("—")
                shades.append("white")
        cells.append(texts)
        colours.append(shades)
    lines = [max(text.count("\n") + 1 for text in texts) for texts in cells]
    figure, axis = plt.subplots(figsize=(9.5, 0.19 * sum(lines) + 0.12 * len(lines) + 0.5))
    axis.axis("off")
    table = axis.table(
        cellText=cells, cellColours=colours, cellLoc="left", loc="upper left", bbox=Bbox.from_bounds(0, 0, 1, 1),
        colLabels=["claim", "in our words", *conventions.values()],
        colWidths=[0.11, 0.89 - 0.18 * len(conventions), *[0.18] * len(conventions)],
    )  # fmt: skip
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("0.8")
        cell.PAD = 0.02 if column == 1 else 0.1  # of the cell's width
        cell.set_height((1.4 if row == 0 else lines[row - 1] + 0.6) / (sum(lines) + 0.6 * len(lines) + 1.4))
    return figure

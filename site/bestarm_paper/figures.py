"""Figures of the paper, drawn from rows or taken from the committed ones, as text that an HTML page can hold."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bestarm_lab.figures.robustness import share_bars
from bestarm_lab.figures.styles import use_style
from bestarm_lab.notebooks.pages import REACH, score
from bestarm_lab.yaml_keys import nearest
from bestarm_paper.measures import SMALL_CHANGE, reading_shares, switches
from bestarm_paper.rows import STUDIES, Rows, abbreviation

COLOURS_OF_KINDS = (
    "#0072B2",
    "#D55E00",
    "#007A5A",
    "#AA4499",
    "#666666",
    "#8A6D00",
    "#000000",
)  # colours of kinds of causes


def drawn(rows: Rows, name: str) -> str:
    """Return a figure as the address of an image: drawn by its name, or a committed picture by its path.

    Raises
    ------
    ValueError
        For a figure that there is not.
    """
    if name in DRAWN:
        figure = DRAWN[name](rows)
        buffer = io.BytesIO()
        with plt.rc_context({"svg.hashsalt": name}):
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
        return _address("svg+xml", buffer.getvalue())
    file = rows.root / name
    if not file.is_file():
        raise ValueError(f"there is no figure {name!r}; {nearest(name, DRAWN)}, or the path of a picture.")
    return _address("png", file.read_bytes())


def _address(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def score_of_headlines(rows: Rows) -> Figure:
    """Draw headline claims with all their comparisons, and the shares of all comparisons of a paper."""
    return score()


def text_and_code(rows: Rows) -> Figure:
    """Draw for each claim run as both its mean distance from the margin as text and as code."""
    use_style()
    papers = [study for study in STUDIES if len(rows.both(study))]
    found = {study: _pairs(rows, study) for study in papers}
    widths = [len(table) for table in found.values()]
    figure, axes = plt.subplots(
        1, len(papers), figsize=(8.0, 3.4), sharey=True, layout="constrained", gridspec_kw={"width_ratios": widths}
    )
    for axis, (study, table) in zip(axes, found.items(), strict=True):
        x = np.arange(len(table))
        text, code = (table[run].clip(-REACH, REACH) for run in ("text", "code"))
        colours = np.where(table["parts"], "#D55E00", "0.7")
        axis.vlines(x, text, code, color=colours, lw=1.4, zorder=1)
        axis.plot(x, text, "o", ms=4.5, color="black", zorder=3)
        axis.plot(x, code, "o", ms=4.5, mfc="white", mec="black", zorder=2)
        axis.axhline(0.0, color="0.3", lw=0.9, ls="--", zorder=0)
        axis.set_title(f"{abbreviation(study)}, {len(table)} claims", loc="left", fontsize=9)
        axis.set_xticks([])
        axis.set_xlim(-0.8, len(table) - 0.2)
    axes[0].set_ylabel("distance from the margin\nstandard deviations of a run")
    handles = [
        Line2D([], [], marker="o", ls="", ms=4.5, color="black", label="paper's text"),
        Line2D([], [], marker="o", ls="", ms=4.5, mfc="white", mec="black", label="authors' code"),
        Line2D([], [], color="#D55E00", label="different verdicts"),
        Line2D([], [], color="0.7", label="the same verdict"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _pairs(rows: Rows, study: str) -> pd.DataFrame:
    """Return the claims of a paper that tests decide as both, by what they are as text."""
    both = rows.both(study).droplevel("study")
    mean = rows.comparisons.groupby(["id", "convention"])["strength"].mean().unstack("convention")
    table = mean.reindex(both.index).rename(columns={"as_written": "text", "as_coded": "code"})
    return table.assign(parts=both["as_written"] != both["as_coded"]).dropna().sort_values("text")


def causes(rows: Rows) -> Figure:
    """Draw the factor of every cause, by kind."""
    use_style()
    table = rows.causes.iloc[::-1].reset_index(drop=True)
    kinds = list(rows.causes["kind"].unique())
    figure, axis = plt.subplots(figsize=(8.0, 0.6 + 0.27 * len(table)), layout="constrained")
    for y, (_, line) in enumerate(table.iterrows()):
        colour = COLOURS_OF_KINDS[kinds.index(line["kind"])]
        axis.plot([1.0, line["value"]], [y, y], color=colour, lw=5, solid_capstyle="butt", alpha=0.35, zorder=1)
        if np.isfinite(line["low"]):
            axis.plot([line["low"], line["high"]], [y, y], color=colour, lw=1.4, zorder=2)
        axis.plot(line["value"], y, "o", ms=5, color=colour, zorder=3)
    names = [f"{abbreviation(s)}: {switch}" for s, switch in zip(table["study"], table["switch"], strict=True)]
    axis.set_yticks(range(len(table)), names, fontsize=8)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.set_xscale("log")
    ticks = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16]
    axis.set_xticks(ticks, ["⅛", "¼", "½", "1", "2", "4", "8", "16"])
    axis.minorticks_off()
    axis.axvline(1.0, color="0.3", lw=0.9, ls="--", zorder=0)
    axis.set_xlabel("factor by which the cause alone multiplies its quantity")
    handles = [Patch(fc=COLOURS_OF_KINDS[i], alpha=0.6, label=kind) for i, kind in enumerate(kinds)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def single_differences(rows: Rows) -> Figure:
    """Draw how much each single difference between text and code changes, sorted within each paper."""
    use_style()
    table = switches(rows)
    papers = [study for study in STUDIES if study in set(table["study"])]
    figure, axis = plt.subplots(figsize=(8.0, 3.2), layout="constrained")
    for study, marker, colour in zip(papers, ("o", "s", "^"), COLOURS_OF_KINDS, strict=False):
        fold = np.sort(table[table["study"] == study]["fold"])[::-1]
        share = (np.arange(len(fold)) + 0.5) / len(fold)
        label = f"{abbreviation(study)}, {len(fold)} measurements"
        axis.plot(share, fold, marker=marker, ms=3.5, lw=1.0, color=colour, label=label)
    axis.axhspan(1.0, SMALL_CHANGE, color="0.85", zorder=0, label=f"a change of {SMALL_CHANGE - 1:.0%} or less")
    axis.set_yscale("log")
    axis.set_yticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axis.minorticks_off()
    axis.set_xlim(0, 1)
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    axis.set_xlabel("single differences, the largest first")
    axis.set_ylabel("factor, at least 1")
    axis.legend(frameon=False)
    return figure


def readings(rows: Rows) -> Figure:
    """Draw in which shares of the drawn readings the claims of one paper are confirmed, open and refuted."""
    use_style()
    table = reading_shares(rows).sort_values("confirmed")
    figure, axis = plt.subplots(figsize=(8.0, 0.9 + 0.23 * len(table)), layout="constrained")
    share_bars(axis, table)
    axis.set_yticks(np.arange(len(table)), table.index)
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    axis.tick_params(axis="y", length=0, labelsize=8)
    axis.set_xlabel("readings of what the text leaves open")
    handles, _ = axis.get_legend_handles_labels()
    figure.legend(
        handles, ["confirmed", "open", "refuted or mixed"], loc="outside lower center", ncols=3, frameon=False
    )
    return figure


DRAWN: dict[str, Callable[[Rows], Figure]] = {
    "score": score_of_headlines,
    "text and code": text_and_code,
    "causes": causes,
    "single differences": single_differences,
    "readings": readings,
}

"""The figure of a replay: hits against batches, beside chance."""

import textwrap
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bestarm.search.replay import CHANCE

STYLE: Any = {
    "figure.constrained_layout.use": True, "figure.dpi": 110,
    "font.size": 8.5, "axes.titlesize": 9, "axes.labelsize": 8.5, "xtick.labelsize": 8, "ytick.labelsize": 8,
    "legend.fontsize": 8, "legend.frameon": False, "legend.handlelength": 2.8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.grid": True, "axes.grid.axis": "y", "grid.color": "0.9", "grid.linewidth": 0.6,
}  # fmt: skip
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#A34800", "#7B4FA3", "#4A90D9", "#7F7F00", "#C0398B")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
_DOTS = (0, (1, 1.2))
_LINES = ("-", "--", "-.", _DOTS)
_LINE: Any = {"lw": 1.4, "ms": 5, "mew": 0.4, "mec": "black", "zorder": 3}
_WIDTH, _HEIGHT = 8.0, 3.2  # inches
DPI = 140  # of the file


def hits_figure(table: pd.DataFrame, n_hits: int, batch: int, *, title: str = "", setting: str = "") -> Figure:
    """Return hits against batches, one line for each policy of a table of `replay` with its interval, and of chance."""
    order = list(dict.fromkeys(table["series"]))
    shown = table[table["statistic"] == "hits"]
    styles: dict[str, dict[str, Any]] = {CHANCE: {"color": "0.35", "ls": _DOTS}}
    for i, name in enumerate(name for name in order if name != CHANCE):
        styles[name] = {"color": _COLOURS[i % 8], "marker": _MARKERS[i % 8], "ls": _LINES[i % 4]}
    with matplotlib.rc_context(STYLE):
        figure = plt.figure(figsize=(_WIDTH, _HEIGHT))
        axis = figure.subplots()
        for number, name in enumerate(order):
            mine = shown[shown["series"] == name].sort_values("x")
            x, y, low, high = (mine[column].to_numpy(dtype=np.float64) for column in ("x", "value", "low", "high"))
            every = max(1, len(x) // 8)
            axis.plot(x, y, label=name, markevery=(number % every, every), **styles[name], **_LINE)
            alpha = 0.08 if len(order) > 4 else 0.18
            axis.fill_between(x, np.maximum(low, 0.0), high, color=styles[name]["color"], alpha=alpha, lw=0)
        axis.axhline(0.0, alpha=0.0)  # in view
        axis.set_xlabel("batch")
        axis.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        axis.set_ylabel("hits found")
        columns = int(_WIDTH / (0.062 * max(map(len, order)) + 0.62))
        figure.legend(loc="outside lower center", ncols=max(1, min(columns, len(order))))
        runs = shown["n"][shown["n"] > 1].astype(int)
        words = [f"n = {runs.max()} runs" if len(runs) else "", "bands: 95% intervals"]
        words.append(setting or "finished screen, dotted: the exact mean of random batches")
        title = title or f"Hits found by each batch of {batch} genes, of {n_hits}"
        _headed(figure, title, "; ".join(filter(None, words)))
    return figure


def _headed(figure: Figure, title: str, setting: str) -> None:
    """Write the finding and, smaller, the setting over the figure, which grows by their height."""
    finding, small = textwrap.wrap(title, int(11 * _WIDTH)), textwrap.wrap(setting, int(15 * _WIDTH))
    whole = _HEIGHT + (0.175 * len(finding) + 0.145 * len(small) + 0.12)
    figure.set_size_inches(_WIDTH, whole)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, 0.0, 1.0, _HEIGHT / whole))
    top = 1.0 - 0.05 / whole
    figure.text(0.008, top, "\n".join(finding), va="top", fontsize=10, fontweight="bold")
    below = top - (0.175 * len(finding) + 0.01) / whole
    figure.text(0.008, below, "\n".join(small), va="top", fontsize=8, color="0.25")

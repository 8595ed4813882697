"""Leaves of a search with their bounds: Figures 1 and 2."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bestarm_lab.figures.figures import headed, wide
from bestarm_studies.gpoo.trees import draw_tree, nodes_of

_DEPTHS = ("#004C78", "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#A34800", "#CC79A7", "0.4")


def draw_cells(axis: Axes, values: pd.DataFrame, curve: pd.DataFrame, *, envelope: float | None = None) -> Axes:
    """Draw what a search has found of every leaf: its mean, its width, and how much f may vary beyond.
    ``values``: a "tree" panel; ``curve``: f: ``x, value``; ``envelope``: L: draw, in orange, the smallest of
    :math:`f(x_s)+L|x-x_s|` over two representatives of each leaf."""
    nodes = nodes_of(values)
    leaves = nodes[nodes["leaf"] > 0]
    x, f = curve["x"].to_numpy(dtype=np.float64), curve["value"].to_numpy(dtype=np.float64)
    for _, leaf in leaves.iterrows():
        colour = _DEPTHS[int(leaf["depth"]) % len(_DEPTHS)]
        ends = [leaf["low"], leaf["high"]]
        low, high = leaf["mean"] - leaf["width"], leaf["mean"] + leaf["width"]
        axis.fill_between(ends, low, high, color=colour, alpha=0.5, lw=0)
        axis.fill_between(ends, high, leaf["bound"], color=colour, alpha=0.2, lw=0)
        axis.plot(ends, [leaf["mean"]] * 2, color="black", lw=2.6 if leaf["chosen"] > 0 else 1.4)
        axis.plot(ends, [leaf["truth"]] * 2, color="black", lw=1.0, ls="--")
        middle = 0.5 * (leaf["low"] + leaf["high"])
        axis.plot([middle] * 2, [high, high + leaf["delta"]], color="black", lw=2.2 if leaf["chosen"] > 0 else 0.9)
        if envelope is not None:
            inside = np.linspace(leaf["low"], leaf["high"], 41)
            quarter = (leaf["high"] - leaf["low"]) / 4.0
            points = np.array([leaf["low"] + quarter, leaf["high"] - quarter])
            bound = (np.interp(points, x, f)[:, None] + envelope * np.abs(inside - points[:, None])).min(axis=0)
            axis.plot(inside, bound, color="#C17C00", lw=1.3)
    axis.plot(x, f, color="#C00000", lw=1.2)
    axis.set(xlim=(0, 1), ylabel="reward")
    return axis


def _legend_of_cells(figure: Figure, *, envelope: bool) -> None:
    """Say what the marks of `draw_cells` are, in one legend under all panels."""
    handles: list[Any] = [
        Line2D([], [], color="#C00000", lw=1.2, label="f"),
        Line2D([], [], color="black", lw=1.4, label="posterior mean of a leaf (thick: chosen)"),
        Line2D([], [], color="black", lw=1.0, ls="--", label="true average of the leaf"),
        Patch(color="0.5", alpha=0.6, lw=0, label="confidence interval (CI)"),
        Patch(color="0.5", alpha=0.25, lw=0, label=r"up to the b-value, CI + $\delta(h)$"),
        Line2D([], [], color="black", lw=0.9, marker="|", label=r"$\delta(h)$"),
    ]
    if envelope:
        handles.append(Line2D([], [], color="#C17C00", lw=1.3, label="most that Assumption 3 lets f be"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def adaptive_tree_figure(values: pd.DataFrame, curve: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return a tree (above) over what it knows of its leaves (below): Figure 1."""
    figure, axes = plt.subplots(2, 1, figsize=wide(1, 6.0), sharex=True, height_ratios=[2, 3])
    draw_tree(axes[0], values)
    draw_cells(axes[1], values, curve)
    axes[0].legend(loc="upper left", bbox_to_anchor=(0.0, 1.16), ncols=3)
    axes[1].set_xlabel("x")
    _legend_of_cells(figure, envelope=False)
    return headed(figure, title, setting)


def quantities_figure(
    panels: Sequence[tuple[str, pd.DataFrame]], curve: pd.DataFrame, envelope: float, *, title: str, setting: str = ""
) -> Figure:
    """Return the quantities of Algorithm 1 in successive rounds, one panel a round: Figure 2.
    The chosen leaf is named by its depth and its place, both counted from 0, with its CI and its δ."""
    figure, axes = plt.subplots(len(panels), 1, figsize=wide(len(panels), 3.0), sharex=True, squeeze=False)
    for axis, (heading, values) in zip(axes[:, 0], panels, strict=True):
        draw_cells(axis, values, curve, envelope=envelope)
        axis.set_title(heading)
        for _, leaf in nodes_of(values).query("leaf > 0 and chosen > 0").iterrows():
            depth, place = int(leaf["depth"]), round(leaf["low"] / (leaf["high"] - leaf["low"]))
            text = f"cell ({depth}, {place}): CI {leaf['width']:.2f}, $\\delta$ {leaf['delta']:.3g}"
            ends = (leaf["x"], leaf["mean"]), (leaf["x"], axis.get_ylim()[1])
            line, box = {"arrowstyle": "-", "lw": 0.7, "color": "0.3"}, {"fc": "white", "ec": "0.7", "pad": 2}
            axis.annotate(text, *ends, ha="center", va="top", size=8, arrowprops=line, bbox=box)
    axes[-1, 0].set_xlabel("x")
    _legend_of_cells(figure, envelope=True)
    return headed(figure, title, setting)

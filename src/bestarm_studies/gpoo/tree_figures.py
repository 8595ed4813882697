"""Pictures of trees over a function, of the quantities in their cells, and of their growth.

Functions take tidy values (`tree_values`, `growth_values`) and an axis, and compute no statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch

from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.styles import CONVENTIONS
from bestarm_lab.figures.values import as_values, summarise

_DRAWS = (
    ("not evaluated", "#4A90D9", "o"),
    ("evaluated once", "#009E73", "s"),
    ("evaluated more than once", "#C00000", "^"),
)
_DEPTHS = ("#004C78", "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#A34800", "#CC79A7", "0.4")
_CURVES = (("mean", "posterior", "mean"), ("f", "posterior", "truth"), ("observation", "observation", "mean"))
_NODE = ("depth", "leaf", "draws", "mean", "width", "delta", "bound", "truth", "chosen")


def tree_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return trees as plotted values.

    Parameters
    ----------
    rows : DataFrame
        Rows of `bestarm_studies.gpoo.trees.tree_rows`.
    profile : str
        Scale of the run.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV. The panel names the round and what it shows: for "tree" x is the centre of a cell,
        low and high are its ends, and there is one row for each of ``depth, leaf, draws, mean, width, delta, bound,
        truth, chosen``; for "posterior" the statistics are ``mean`` with the band's ends, ``f`` and ``observation``.
    """
    frames = []
    nodes = rows[rows["kind"] == "node"]
    base = ["convention", "series", "round"]
    for name in _NODE:
        part = nodes[[*base, "low", "high", "replication"]].assign(
            statistic=name, value=nodes[name].astype(float), x=(nodes["low"] + nodes["high"]) / 2.0
        )
        frames.append(part.assign(panel="tree, t = " + part["round"].astype(str)))
    for name, kind, column in _CURVES:
        part = rows[rows["kind"] == kind]
        if part.empty:
            continue
        found = part[base].assign(statistic=name, value=part[column], x=part["low"])
        if name == "mean":
            found = found.assign(low=part["mean"] - part["width"], high=part["mean"] + part["width"])
        frames.append(found.assign(panel="posterior, t = " + found["round"].astype(str)))
    return as_values(pd.concat(frames, ignore_index=True), profile=profile)


def nodes_of(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each node of a "tree" panel: ``x, low, high`` and its quantities."""
    return values.pivot_table(index=["x", "low", "high"], columns="statistic", values="value").reset_index()


def draw_tree(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw a tree over its interval: depth downwards, the mark of a node by its evaluations."""
    nodes = nodes_of(values)
    for _, node in nodes[nodes["depth"] > 0].iterrows():
        above = nodes[nodes["depth"] == node["depth"] - 1]
        parent = above[(above["low"] <= node["x"]) & (above["high"] >= node["x"])].iloc[0]
        axis.plot([parent["x"], node["x"]], [parent["depth"], node["depth"]], color="0.7", lw=0.7, zorder=1)
    for k, (name, colour, marker) in enumerate(_DRAWS):
        mine = nodes[nodes["draws"].clip(upper=2) == k]
        look: dict[str, Any] = {"ls": "", "marker": marker, "color": colour, "mec": "black", "mew": 0.4, "ms": 4.5}
        axis.plot(mine["x"], mine["depth"], label=name, **look)
    deepest = int(nodes["depth"].max())
    axis.set(xlim=(0, 1), ylabel="depth h")
    axis.set_yticks(range(0, deepest + 1, 1 + deepest // 8))
    axis.set_ylim(deepest + 0.5, -0.5)
    return axis


def draw_posterior(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw f in red, the posterior mean with its band, and the observations at the centres of their cells."""
    mean, truth, seen = (values[values["statistic"] == name].sort_values("x") for name in ("mean", "f", "observation"))
    axis.fill_between(mean["x"].astype(float), mean["low"], mean["high"], color="#56B4E9", alpha=0.3, lw=0)
    axis.plot(mean["x"].astype(float), mean["value"], color="#0072B2", label="posterior mean")
    axis.plot(truth["x"].astype(float), truth["value"], color="#C00000", ls="--", lw=1.0, label="f")
    axis.plot(seen["x"].astype(float), seen["value"], ls="", marker="x", color="black", ms=4, label="observations")
    axis.set(xlim=(0, 1), xlabel="x", ylabel="f(x)")
    return axis


def tree_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return trees (above) and posteriors (below): a column for each series, a pair of rows for each convention."""
    conventions = [c for c in CONVENTIONS if c in set(values["convention"])]
    series = list(dict.fromkeys(values["series"]))
    figure, axes = plt.subplots(
        2 * len(conventions), len(series), figsize=wide(len(conventions), 4.2), squeeze=False, sharex=True, sharey="row"
    )
    for row, convention in enumerate(conventions):
        for column, label in enumerate(series):
            mine = values[(values["convention"] == convention) & (values["series"] == label)]
            above, below = axes[2 * row, column], axes[2 * row + 1, column]
            draw_tree(above, mine[mine["panel"].str.startswith("tree")])
            draw_posterior(below, mine[mine["panel"].str.startswith("posterior")])
            above.set_title(f"{label}\n{CONVENTIONS[convention]}")
        depths = values[(values["convention"] == convention) & (values["statistic"] == "depth")]["value"]
        axes[2 * row, 0].set_ylim(depths.max() + 0.5, -0.5)
    for axis in axes.flat:
        axis.label_outer()
    legend_below(figure)
    return headed(
        figure, title, "; ".join(filter(None, [r"one run each; band: $\beta_N^{1/2}$ standard deviations", setting]))
    )


def draw_cells(axis: Axes, values: pd.DataFrame, curve: pd.DataFrame, *, envelope: float | None = None) -> Axes:
    """Draw what a search has found of every leaf: its mean, its width, and how much f may vary beyond.

    Parameters
    ----------
    axis : Axes
        Where to draw.
    values : DataFrame
        A "tree" panel.
    curve : DataFrame
        f: ``x, value``.
    envelope : float, optional
        L: draw, in orange, the smallest of :math:`f(x_s)+L|x-x_s|` over two representatives of each leaf.
    """
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

    The chosen leaf is named by its depth and its place, both counted from 0, with its CI and its δ.
    """
    figure, axes = plt.subplots(len(panels), 1, figsize=wide(len(panels), 3.0), sharex=True, squeeze=False)
    for axis, (heading, values) in zip(axes[:, 0], panels, strict=True):
        draw_cells(axis, values, curve, envelope=envelope)
        axis.set_title(heading)
        for _, leaf in nodes_of(values).query("leaf > 0 and chosen > 0").iterrows():
            depth, place = int(leaf["depth"]), round(leaf["low"] / (leaf["high"] - leaf["low"]))
            text = f"cell ({depth}, {place}): CI {leaf['width']:.2f}, $\\delta$ {leaf['delta']:.3g}"
            top = axis.get_ylim()[1]
            axis.annotate(
                text,
                (leaf["x"], leaf["mean"]),
                (leaf["x"], top),
                ha="center",
                va="top",
                size=8,
                arrowprops={"arrowstyle": "-", "lw": 0.7, "color": "0.3"},
                bbox={"fc": "white", "ec": "0.7", "pad": 2},
            )
    axes[-1, 0].set_xlabel("x")
    _legend_of_cells(figure, envelope=True)
    return headed(figure, title, setting)


def growth_values(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return how trees grow: the mean depth of the deepest divided cell, "deepest", at each round, with 95% intervals.

    ``rows`` are those of `bestarm_studies.gpoo.trees.growth_rows`.
    """
    return summarise(rows, {"deepest": ("deepest", "mean")}, x="round", panel=panel, profile=profile)


def breadth_first_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return in how many runs the first evaluations fill the tree depth by depth, as plotted values; x is how many.

    That is: depths never decrease, and none is left before all of its cells were evaluated.
    """
    table = []
    for (convention, series), group in rows.groupby(["convention", "series"], sort=False):
        depths = group.pivot(index="replication", columns="round", values="chosen_depth").to_numpy()
        fresh = group.pivot(index="replication", columns="round", values="first_draw").to_numpy(dtype=bool)
        for n_first in (7, 15, 31):
            here, new = depths[:, :n_first], fresh[:, :n_first]
            filled = (np.diff(here, axis=1) >= 0).all(axis=1)
            for h in range(1, 6):
                filled &= (here.max(axis=1) <= h) | ((new & (here == h)).sum(axis=1) == 2**h)
            base = {"series": series, "x": n_first, "convention": convention, "n": len(depths)}
            table.append(base | {"value": int(filled.sum())})
    return as_values(pd.DataFrame(table), panel="f1", statistic="breadth-first runs", profile=profile)


def breadth_first_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `breadth_first_values` as text."""
    values = breadth_first_values(rows, "")
    text = [f"{int(v)} of {n}" for v, n in zip(values["value"], values["n"], strict=True)]
    head = values[["convention", "series"]].assign(evaluations=values["x"].astype(int))
    head["convention"] = head["convention"].str.replace("_", " ")
    return head.assign(**{"breadth-first runs": text})


_BOXES = {
    "A1": (0.11, 0.86, "Assumption 1\nf is a draw of a GP"),
    "A2": (0.34, 0.86, "Assumption 2\nderivatives seldom large"),
    "A3": (0.58, 0.86, "Assumption 3\nδ(h) covers a cell"),
    "A4": (0.82, 0.86, "Assumption 4\ncells are well shaped"),
    "P1": (0.42, 0.66, "Proposition 1\nf is Lipschitz, likely"),
    "P2": (0.11, 0.46, "Proposition 2\nsd of a cell ≤ $\\sigma/\\sqrt{T}$"),
    "L1": (0.34, 0.46, "Lemma 1\nevent $\\xi$, probability\nat least $1-a-\\theta$"),
    "L3": (0.58, 0.46, "Lemma 3\nonly cells of I\nare divided"),
    "L2": (0.82, 0.46, "Lemma 2\nI has few cells\nat each depth"),
    "L4": (0.24, 0.24, "Lemma 4\na cell is drawn at most\n$\\beta\\sigma^2/\\delta^2$ times"),
    "T1": (0.58, 0.10, "Theorem 1\nregret ≤ $3\\delta(h_N)$"),
    "C1": (0.82, 0.10, "Corollary 1\nthe rate, if δ is\nexponential"),
}
_ARROWS = "A1>P2 A1>L1 A2>P1 P1>L1 L1>L3 A3>L3 A4>L2 L1>L4 P2>L4 L4>T1 L3>T1 L2>T1 T1>C1"


def roadmap_figure() -> Figure:
    """Return which statement of Section 4 rests on which: Figure 3, redrawn."""
    figure, axis = plt.subplots(figsize=wide(1, 5.0))
    axis.axis("off")
    axis.set(xlim=(-0.01, 0.945), ylim=(0.015, 0.945))
    width, height = 0.19, 0.15
    frames: dict[str, Any] = {"boxstyle": "round,pad=0.005", "ec": "black", "lw": 0.8, "zorder": 3}
    boxes = {}
    for name, (x, y, text) in _BOXES.items():
        colour = {"A": "#F3EDB5", "T": "#BFE3D6", "C": "#BFE3D6"}.get(name[0], "white")
        boxes[name] = FancyBboxPatch((x - width / 2, y - height / 2), width, height, fc=colour, **frames)
        axis.add_patch(boxes[name])
        axis.text(x, y, text, ha="center", va="center", fontsize=8, zorder=4)
    arrows: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 12, "color": "0.35", "zorder": 2}
    for arrow in _ARROWS.split():
        start, end = arrow.split(">")
        places: dict[str, Any] = {
            "posA": _BOXES[start][:2],
            "posB": _BOXES[end][:2],
            "patchA": boxes[start],
            "patchB": boxes[end],
        }
        axis.add_patch(FancyArrowPatch(**places, **arrows))
    return figure

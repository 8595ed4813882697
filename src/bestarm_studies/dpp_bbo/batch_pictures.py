"""Pictures of batches: bounds on a line, penalised acquisitions, and arms in the plane.

Functions take the plotted values of `bestarm_studies.dpp_bbo.batch_values` and compute no statistic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.styles import DOTS, DOTS_AND_DASHES, Style
from bestarm_studies.dpp_bbo.batch_values import CODE, TEXT
from bestarm_studies.dpp_bbo.stacked import stacked

WIDTH_STYLES = {
    "UCB": Style("#0072B2", "s"),
    "EST, ESTa": Style("#D55E00", "^", "--"),
    "EST, ESTn": Style("#009E73", "o", "-."),
}
REGION_STYLES = {
    "UCB, as written": Style("#0072B2", "s"),
    "UCB, Contal's software": Style("#4B97E2", "D", "--"),
    "EST, as written": Style("#009E73", "o", "-."),
    "EST, Contal's software": Style("#5B9A48", "^", DOTS),
}
NOISE_STYLES = {
    "σ² = 0.01": Style("#0072B2", "s"),
    "σ² = 0.1": Style("#009E73", "o", "--"),
    "σ² = 1": Style("#C17C00", "^", "-."),
    "σ² = 10": Style("#882255", "D", DOTS_AND_DASHES),
}
STAGE_STYLES = {
    "5 observations": Style("0.0", "o"),
    "25 observations": Style("0.3", "s", "--"),
    "100 observations": Style("0.5", "^", "-."),
}
PROBLEM_STYLES = {
    "draws of the process": Style("#0072B2", "P"),
    "Cosines": Style("#D55E00", "v", "--"),
    "Branin-Hoo": Style("#009E73", "X", "-."),
}
_BAND, _SURFACE = "#56B4E9", "YlGnBu"
_REGION_ROWS = {TEXT: 0.045, CODE: 0.0}  # height above the floor of the axis, as a share of its range


def _of(values: pd.DataFrame, statistic: str) -> pd.DataFrame:
    return values[values["statistic"] == statistic]


def draw_bounds(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw one panel of `batch_values.bounds_values`: mean, bounds, f, arms, and the regions at the foot."""
    mean, truth = (_of(values, name).sort_values("x") for name in ("mean", "f"))
    x = mean["x"].to_numpy(dtype=np.float64)
    axis.fill_between(x, mean["low"], mean["high"], color=_BAND, alpha=0.3, lw=0)
    axis.plot(x, mean["value"], color="#0072B2", label="posterior mean")
    axis.plot(truth["x"], truth["value"], color="#C00000", ls="--", lw=1.0, label="f")
    seen, chosen, after = (_of(values, name) for name in ("observation", "chosen", "next arm"))
    axis.plot(seen["x"], seen["value"], ls="", marker="x", color="black", ms=5, label="observations")
    if len(chosen):
        style: dict[str, Any] = {"ls": "", "marker": "o", "mfc": "white", "mec": "black", "ms": 5}
        axis.plot(chosen["x"], chosen["value"], label="arms of the batch, hallucinated", **style)
    if len(after):
        axis.axvline(after["x"].iloc[0], color="0.5", lw=0.7, zorder=1)
        style = {"ls": "", "marker": "v", "color": "#E69F00", "mec": "black", "ms": 7, "mew": 0.6}
        axis.plot(after["x"], after["value"], label="next arm", **style)
    hoped = _of(values, "estimated maximum")
    if len(hoped):
        axis.plot(hoped["x"], hoped["value"], color="0.25", ls=DOTS, lw=1.2, label=r"estimated maximum $\hat m$")
    axis.set(xlim=(-0.03, 1.03), xlabel="x", ylabel="f(x)")
    axis.margins(y=0.08)
    return axis


def _draw_regions(axis: Axes, values: pd.DataFrame, low: float, high: float) -> None:
    """Draw the arms of either region as ticks below what is drawn, and the largest lower bound as a line."""
    styles = (("0.1", "upper"), ("#D55E00", "lower"))
    for (name, place), (colour, which) in zip(_REGION_ROWS.items(), styles, strict=True):
        mine = _of(values, name)
        if len(mine):
            axis.axhline(mine["value"].iloc[0], color="0.55", lw=0.8, zorder=1)
            height = np.full(len(mine), low - (0.09 - place) * (high - low))
            axis.plot(
                mine["x"], height, ls="", marker="|", color=colour, ms=5, mew=1.0, label=f"region, {name} ({which})"
            )
    axis.set_ylim(low - 0.13 * (high - low), high)


def bounds_figure(values: pd.DataFrame, *, title: str, setting: str = "", regions: bool = False) -> Figure:
    """Return panels of bounds, two in a row, in the order of the values, with or without the relevance regions."""
    panels = list(dict.fromkeys(values["panel"]))
    n_rows = -(-len(panels) // 2)
    figure, axes = plt.subplots(
        n_rows, 2, figsize=wide(n_rows, 3.0 if regions else 2.3), sharex=True, sharey=True, squeeze=False
    )
    for axis, panel in zip(axes.flat, panels, strict=True):
        draw_bounds(axis, values[values["panel"] == panel]).set_title(panel)
    low, high = axes[0, 0].get_ylim()
    for axis, panel in zip(axes.flat, panels, strict=True):
        if regions:
            _draw_regions(axis, values[values["panel"] == panel], low, high)
        axis.label_outer()
    legend_below(figure)
    return headed(figure, title, setting)


def draw_penalty(axis: Axes, values: pd.DataFrame, before: pd.DataFrame | None) -> Axes:
    """Draw one panel of `batch_values.penalty_values`, over the acquisition of the panel before as a thin line."""
    if before is not None:
        last = _of(before, "acquisition")
        axis.plot(last["x"], last["value"], color="0.55", lw=0.9, ls="--", label="before the last penalty")
    now, arm = _of(values, "acquisition"), _of(values, "next arm")
    axis.plot(now["x"], now["value"], color="#0072B2", label="acquisition with its penalties")
    style: dict[str, Any] = {"ls": "", "marker": "v", "color": "#E69F00", "mec": "black", "ms": 7, "mew": 0.6}
    axis.plot(arm["x"], arm["value"], label="next arm", **style)
    axis.set(xlim=(-0.03, 1.03), xlabel="x")
    return axis


def filling_figure(bounds: pd.DataFrame, penalties: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return how a batch is filled without its rewards: bounds that shrink above, penalised acquisitions below."""

    def above(part: Any) -> None:
        panels = list(dict.fromkeys(bounds["panel"]))
        axes = part.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, panel in zip(axes, panels, strict=True):
            draw_bounds(axis, bounds[bounds["panel"] == panel]).set_title(panel)
            axis.label_outer()
        legend_below(part)

    def below(part: Any) -> None:
        panels = list(dict.fromkeys(penalties["panel"]))
        axes = part.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        before = None
        for axis, panel in zip(axes, panels, strict=True):
            mine = penalties[penalties["panel"] == panel]
            draw_penalty(axis, mine, before).set_title(panel)
            before = mine
        axes[0].set(ylabel="acquisition", ylim=(0, 1.1 * float(_of(penalties, "acquisition")["value"].max())))
        legend_below(part)

    return stacked([(2.5, above), (2.3, below)], title=title, setting=setting)


def places_of(values: pd.DataFrame) -> pd.DataFrame:
    """Return the coordinates of every arm as a table: ``first coordinate, second coordinate``, by its number."""
    mine = values[values["statistic"].isin(["first coordinate", "second coordinate"])]
    return mine.pivot(index="x", columns="statistic", values="value")


def surface_of(values: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    """Return the deviations over the plane as a table: rows are second coordinates, columns first ones."""
    table = places.join(_of(values, "deviation").set_index("x")["value"])
    return table.pivot(index="second coordinate", columns="first coordinate", values="value")


def draw_plane(axis: Axes, values: pd.DataFrame, surface: pd.DataFrame, places: pd.DataFrame, top: float) -> Any:
    """Draw standard deviations with the observed arms and those of a batch, numbered; return the shading.

    Parameters
    ----------
    axis : Axes
        Where to draw.
    values : DataFrame
        One panel of `batch_values.plane_values`.
    surface : DataFrame
        Values that hold the deviations, those of the panel itself or others.
    places : DataFrame
        See `places_of`.
    top : float
        The deviation that has the darkest shade.
    """
    table = surface_of(surface, places)
    x, y = table.columns.to_numpy(dtype=np.float64), table.index.to_numpy(dtype=np.float64)
    shading = axis.pcolormesh(x, y, table.to_numpy(), vmin=0.0, vmax=top, cmap=_SURFACE, shading="nearest")
    seen, arms = _of(values, "observed")["x"], _of(values, "place").sort_values("value")
    across, up = places["first coordinate"], places["second coordinate"]
    axis.plot(across[seen], up[seen], ls="", marker="x", color="black", ms=4, mew=1.0)
    for arm, number in arms[["x", "value"]].to_numpy():
        box = {
            "boxstyle": "square,pad=0.2" if number == 1 else "circle,pad=0.15",
            "fc": "white",
            "ec": "black",
            "lw": 0.8,
        }
        axis.text(across[arm], up[arm], f"{number:.0f}", size=8, ha="center", va="center", bbox=box, zorder=4)
    axis.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
    axis.grid(False)
    return shading


def plane_figure(
    values: pd.DataFrame,
    rows: Mapping[str, Mapping[str, str]],
    *,
    title: str,
    setting: str = "",
    height: float = 2.7,
    unit: str = "standard deviation",
) -> Figure:
    """Return batches in the plane: a row of panels for each heading, with one shading for all.

    Parameters
    ----------
    values : DataFrame
        Panels of `batch_values.plane_values`. One without a surface of its own is drawn over that of the first panel,
        and one has the coordinates.
    rows : mapping of str to mapping of str to str
        Heading of a row to its panels, each with its title.
    title, setting, unit : str
        The finding, where and how, and what the shading is.
    height : float
        Of a row, in inches.
    """
    n_columns = max(map(len, rows.values()))
    figure, axes = plt.subplots(len(rows), n_columns, figsize=wide(len(rows), height), squeeze=False)
    first, places = values[values["panel"] == values["panel"].iloc[0]], places_of(values)
    top = float(_of(values, "deviation")["value"].max())
    for line, (heading, panels) in zip(axes, rows.items(), strict=True):
        for axis, (panel, name) in zip(line, panels.items(), strict=True):
            mine = values[values["panel"] == panel]
            own = bool(len(_of(mine, "deviation")))
            shading = draw_plane(axis, mine, mine if own else first, places, top)
            axis.set_title(name)
            axis.label_outer()
        line[0].set_ylabel(heading)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.08)
    figure.colorbar(shading, ax=list(axes.flat), label=unit, shrink=0.8, pad=0.01, aspect=30)
    marks = [
        Line2D([], [], ls="", marker="x", color="black", ms=4, label="observed"),
        Line2D([], [], ls="", marker="s", mfc="white", mec="black", ms=8, label="first arm of the batch"),
        Line2D([], [], ls="", marker="o", mfc="white", mec="black", ms=8, label="its other arms, in order"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3)
    return headed(figure, title, setting)

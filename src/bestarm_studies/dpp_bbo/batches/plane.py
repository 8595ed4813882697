"""Batches in the plane: arms, deviations, and what the arms of a batch leave."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bestarm_lab.figures.figures import headed, wide
from bestarm_lab.figures.values import as_values
from bestarm_studies.dpp_bbo.moments import Moment
from bestarm_studies.dpp_bbo.values import of_statistic


def plane_values(now: Moment, panel: str, profile: str, *, first: bool = False) -> pd.DataFrame:
    """Return a batch in the plane as plotted values of the first replication; x is the number of an arm.
    Statistics are ``observed`` (how often) and ``place`` of the arms of the batch, from 1; of the ``first`` panel of a
    figure ``first coordinate``, ``second coordinate`` and, before the batch, ``deviation`` of every arm, too."""
    state, arms = now.state, now.batch[0]
    points, seen = state.points[state.point_set[0]], np.flatnonzero(now.pulled[0])
    parts = {"observed": (seen, now.pulled[0, seen]), "place": (arms, np.arange(1, len(arms) + 1))}
    if first:
        every = np.arange(points.shape[1])
        parts |= {"first coordinate": (every, points[0]), "second coordinate": (every, points[1])}
        parts["deviation"] = (every, now.posterior()[1])
    frames = [pd.DataFrame({"statistic": name, "x": x, "value": y}) for name, (x, y) in parts.items()]
    return as_values(pd.concat(frames, ignore_index=True), panel=panel, series=now.policy.label, profile=profile)


def places_of(values: pd.DataFrame) -> pd.DataFrame:
    """Return the coordinates of every arm as a table: ``first coordinate, second coordinate``, by its number."""
    mine = values[values["statistic"].isin(["first coordinate", "second coordinate"])]
    return mine.pivot(index="x", columns="statistic", values="value")


def surface_of(values: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    """Return the deviations over the plane as a table: rows are second coordinates, columns first ones."""
    table = places.join(of_statistic(values, "deviation").set_index("x")["value"])
    return table.pivot(index="second coordinate", columns="first coordinate", values="value")


def draw_plane(axis: Axes, values: pd.DataFrame, surface: pd.DataFrame, places: pd.DataFrame, top: float) -> Any:
    """Draw standard deviations with the observed arms and those of a batch, numbered; return the shading."""
    table = surface_of(surface, places)
    x, y = table.columns.to_numpy(dtype=np.float64), table.index.to_numpy(dtype=np.float64)
    shading = axis.pcolormesh(x, y, table.to_numpy(), vmin=0.0, vmax=top, cmap="YlGnBu", shading="nearest")
    seen, arms = of_statistic(values, "observed")["x"], of_statistic(values, "place").sort_values("value")
    across, up = places["first coordinate"], places["second coordinate"]
    axis.plot(across[seen], up[seen], ls="", marker="x", color="black", ms=4, mew=1.0)
    for arm, number in arms[["x", "value"]].to_numpy():
        shape = "square,pad=0.2" if number == 1 else "circle,pad=0.15"
        box = {"boxstyle": shape, "fc": "white", "ec": "black", "lw": 0.8}
        axis.text(across[arm], up[arm], f"{number:.0f}", size=8, ha="center", va="center", bbox=box, zorder=4)
    axis.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
    axis.grid(False)
    return shading


def plane_figure(
    values: pd.DataFrame, rows: Mapping[str, Mapping[str, str]], *, title: str, setting: str = ""
) -> Figure:
    """Return batches in the plane: a row of panels for each heading, with one shading for all."""
    figure, axes = plt.subplots(len(rows), max(map(len, rows.values())), figsize=wide(len(rows), 2.7), squeeze=False)
    first, places = values[values["panel"] == values["panel"].iloc[0]], places_of(values)
    top = float(of_statistic(values, "deviation")["value"].max())
    for line, (heading, panels) in zip(axes, rows.items(), strict=True):
        for axis, (panel, name) in zip(line, panels.items(), strict=True):
            shading = draw_plane(axis, values[values["panel"] == panel], first, places, top)
            axis.set_title(name)
            axis.label_outer()
        line[0].set_ylabel(heading)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.08)
    figure.colorbar(shading, ax=list(axes.flat), label="standard deviation", shrink=0.8, pad=0.01, aspect=30)
    marks = [
        Line2D([], [], ls="", marker="x", color="black", ms=4, label="observed"),
        Line2D([], [], ls="", marker="s", mfc="white", mec="black", ms=8, label="first arm of the batch"),
        Line2D([], [], ls="", marker="o", mfc="white", mec="black", ms=8, label="its other arms, in order"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3)
    return headed(figure, title, setting)

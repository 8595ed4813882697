"""Figure 7 of the OAE paper: the four landscapes, with MeanOpt's model and its tried arms after some rounds."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape


def evolution_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the plotted values: every landscape's arms, and the first run's model and arms after each noted round.

    Parameters
    ----------
    rows : DataFrame
        Rows of `bestarm_studies.oae.evolution.evolution_rows`.
    profile : str
        Scale.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV; statistics ``response``, ``model`` and ``pulled``.
    """
    first = rows[(rows["statistic"] == "hills") & (rows["replication"] == 0)].set_index("round")["value"]
    frames = []
    for name in LANDSCAPES:
        arms = landscape(name).take(np.zeros(1, dtype=np.int64))
        table = {"x": arms.features[0, :, 0], "value": arms.means[0], "panel": name, "statistic": "response"}
        frames.append(pd.DataFrame(table).assign(series="arms"))
    for number, mine in rows[rows["statistic"].isin(["model", "pulled"])].groupby("round"):
        noted = mine[["x", "value", "statistic"]].assign(series=mine["series"])
        frames.append(noted.assign(panel=f"round {number}: {first[number]:g} of 4 hills"))
    return as_values(pd.concat(frames, ignore_index=True), profile=profile)


def evolution_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the figure: landscapes in the upper two rows, rounds in the lower two."""
    rounds = [p for p in dict.fromkeys(values["panel"]) if p.startswith("round")]
    truth = values[values["panel"] == "MultiValleyOneDimHole"]
    figure, axes = plt.subplots(4, 2, figsize=wide(4, 1.75), sharex=True)
    for axis, name in zip(axes[:2].flat, LANDSCAPES, strict=True):
        mine = values[values["panel"] == name]
        axis.scatter(mine["x"], mine["value"], s=3, color="0.35", linewidths=0)
        axis.set_title(name)
    for axis, name in zip(axes[2:].flat, rounds, strict=True):
        mine = values[values["panel"] == name]
        model, pulled = mine[mine["statistic"] == "model"], mine[mine["statistic"] == "pulled"]
        axis.scatter(truth["x"], truth["value"], s=3, color="0.7", linewidths=0, label="all arms")
        axis.plot(model["x"], model["value"], color="#0072B2", label="model")
        axis.plot(
            pulled["x"], pulled["value"], ls="", marker="D", ms=4, mfc="#E69F00", mec="black", mew=0.4, label="tried"
        )
        axis.set_title(f"MultiValleyOneDimHole, {name}")
    for row in axes:
        row[0].set_ylabel("response")
    for axis in axes[-1]:
        axis.set_xlabel("arm")
        axis.xaxis.set_major_locator(MultipleLocator(5))
    legend_below(figure)
    return headed(figure, title, setting)

"""Figure 7 of the OAE paper: the four landscapes, and what MeanOpt thinks and has tried after some rounds."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.reporting.summaries import COLUMNS
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
    values = pd.concat(frames, ignore_index=True).assign(n=1, convention="as_written", profile=profile)
    return values.assign(data="synthetic").reindex(columns=COLUMNS)


def evolution_figure(values: pd.DataFrame, profile: str) -> Figure:
    """Return the figure: landscapes above, rounds below."""
    rounds = [p for p in dict.fromkeys(values["panel"]) if p.startswith("round")]
    truth = values[values["panel"] == "MultiValleyOneDimHole"]
    figure, axes = plt.subplots(2, 4, figsize=(13, 5.4), sharex=True, squeeze=False)
    for axis, name in zip(axes[0], LANDSCAPES, strict=True):
        mine = values[values["panel"] == name]
        axis.scatter(mine["x"], mine["value"], s=3, color="0.35", linewidths=0)
        axis.set_title(name)
    for axis, name in zip(axes[1], rounds, strict=True):
        mine = values[values["panel"] == name]
        model, pulled = mine[mine["statistic"] == "model"], mine[mine["statistic"] == "pulled"]
        axis.scatter(truth["x"], truth["value"], s=2, color="0.75", linewidths=0, label="all arms")
        axis.plot(model["x"], model["value"], color="#0072B2", label="model")
        axis.plot(
            pulled["x"], pulled["value"], ls="", marker="D", ms=4, mfc="#E69F00", mec="black", mew=0.4, label="tried"
        )
        axis.set_title(name)
        axis.set_xlabel("arm")
    for row in axes:
        row[0].set_ylabel("response")
    axes[1, 0].legend(fontsize=7)
    steps = "5000 steps a fit" if profile != "smoke" else "few steps a fit"
    about = f"below: the first run of MeanOpt 0.001 with NN 10-5 on MultiValleyOneDimHole, {steps}"
    figure.suptitle(f"{about} · {profile} profile", fontsize=9)
    return figure

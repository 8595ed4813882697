"""The figure of robustness: shares of the readings in which a claim is confirmed, open and refuted, by what decides."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import headed, wide

COLOURS = {"confirmed": "#009E73", "open": "0.85", "refuted": "#E69F00"}
_STRONGEST = 1.0  # standard deviations of a run, from which on a cell is black


def robustness_figure(
    values: pd.DataFrame, words: Mapping[str, str], choices: Mapping[str, str], *, title: str, setting: str = ""
) -> Figure:
    """Draw for each claim how its readings are divided, and beside it the effect of each choice.

    ``values`` are of `bestarm_lab.claims.robustness.draw_values`. ``words`` has claims in a few words; one without them
    has its name alone. ``choices`` has every choice and its name in the figure; ``title`` is the finding.
    """
    readings = values[values["statistic"] == "readings"]
    counts = readings.pivot(index="panel", columns="series", values="value").loc[readings["panel"].unique()]
    size = wide(1, 1.3 + 0.27 * len(counts))
    figure, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=(1.0, 1.25))
    share_bars(left, counts)
    for place, n in enumerate(counts.sum(axis="columns")):
        left.text(1.02, place, f"{n:.0f}", va="center", fontsize=8)
    _effects(right, values[values["statistic"] == "difference"], list(counts.index), choices)
    left.set_yticks(np.arange(len(counts)), [f"{words[c]} ({c})" if c in words else c for c in counts.index])
    left.set_ylim(len(counts) - 0.45, -0.55)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    reading = (
        "left: readings of a claim by verdict, and their number; right: how far the levels of a choice are apart, in "
        "standard deviations of a run, where the interval excludes 0"
    )
    return headed(figure, title, setting, reading)


def share_bars(axis: Axes, counts: pd.DataFrame) -> None:
    """Draw a bar for each row of counts of verdicts, split into their shares."""
    at, start = np.arange(len(counts)), np.zeros(len(counts))
    shares = counts.div(counts.sum(axis="columns"), axis="index")
    for verdict, colour in COLOURS.items():
        width = shares[verdict].to_numpy(dtype=np.float64)
        axis.barh(at, width, left=start, height=0.78, color=colour, label=verdict)
        start = start + width
    axis.set(xlim=(0.0, 1.0), xlabel="share of the readings")
    axis.grid(visible=False)


def _effects(axis: Axes, values: pd.DataFrame, claims: list[str], choices: Mapping[str, str]) -> None:
    columns, clear = list(choices), values[values["low"] > 0.0]
    table = clear.pivot(index="panel", columns="series", values="value").reindex(index=claims, columns=columns)
    axis.imshow(table.fillna(0.0).to_numpy(dtype=np.float64), aspect="auto", cmap="Greys", vmin=0.0, vmax=_STRONGEST)
    for _, line in clear.iterrows():
        colour = "white" if line["value"] > 0.55 * _STRONGEST else "black"
        place = (columns.index(str(line["series"])), claims.index(str(line["panel"])))
        axis.text(*place, f"{line['value']:.1f}", ha="center", va="center", color=colour, fontsize=8)
    axis.set_xticks(np.arange(len(columns)), list(choices.values()), rotation=45, ha="right", rotation_mode="anchor")
    axis.set_xlabel("open choice")
    axis.tick_params(labelleft=False, left=False)
    axis.grid(visible=False)

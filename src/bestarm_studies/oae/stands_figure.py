"""A figure of what claims become in the draws of the open choices, and of what each choice is worth."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import headed, wide
from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.open_choices.open_design import CHOICES
from bestarm_studies.oae.stands import QUANTILE, VERDICTS, deciding_choices, differences

_COLOURS = {"confirmed": "#009E73", "open": "0.85", "refuted": "#E69F00"}
_SHORT = {"pool_minibatch": "pool", "learning_rate": "step size", "standardise": "features", "scale": "response"}
_STRONGEST = 1.0  # standard deviations of a run, from which on a cell is black


def stands_values(found: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return readings in the columns of a figure's CSV.

    Statistic ``readings`` is how many of a claim's readings have the verdict that ``series`` names, of ``n``;
    statistic ``difference`` is that of `differences` for the choice that ``series`` names, with its interval.
    """
    counts = found.groupby(["claim", "verdict"], sort=False).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0)
    n = counts.sum(axis=1)
    shares = counts.melt(ignore_index=False, var_name="series").reset_index(names="panel")
    shares = shares.assign(statistic="readings", n=shares["panel"].map(n))
    words = deciding_choices()
    worth = differences(found).rename(columns={"claim": "panel", "difference": "value"})
    draws = found.groupby("claim")["draw"].nunique()
    worth = worth.assign(statistic="difference", series=worth["choice"].map(words), n=worth["panel"].map(draws))
    return as_values(pd.concat([shares, worth[[*shares.columns, "low", "high"]]]), profile=profile)


def stands_figure(values: pd.DataFrame, words: Mapping[str, str], *, title: str, setting: str = "") -> Figure:
    """Draw for each claim how its readings are divided, and beside it what each choice is worth.

    Parameters
    ----------
    values : DataFrame
        Of `stands_values`.
    words : mapping of str to str
        A claim in a few words; one without them has its name alone.
    title, setting : str
        The finding; where and how.
    """
    claims = list(dict.fromkeys(values["panel"]))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=wide(1, 1.3 + 0.27 * len(claims)), sharey=True, width_ratios=(1.0, 1.25)
    )
    _shares(left, values[values["statistic"] == "readings"], claims)
    _worth(right, values[values["statistic"] == "difference"], claims)
    left.set_yticks(np.arange(len(claims)), [f"{words[c]} ({c})" if c in words else c for c in claims])
    left.set_ylim(len(claims) - 0.45, -0.55)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    reading = (
        "left: readings of a claim by verdict, and their number; right: how far the levels of a choice are apart, in "
        "standard deviations of a run, where the interval excludes 0"
    )
    return headed(figure, title, "; ".join(filter(None, [setting, reading])))


def stands_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `stands` as text, with what matters most in words."""
    compared = [f"{k} of {m}" for k, m in zip(table["comparisons"], table["of"], strict=True)]
    counts = table[["claim", "draws", "readings", "confirmed", "refuted", "open"]].assign(comparisons=compared)
    return counts.assign(**{"matters most": table["why_1"], "and then": table["why_2"]})


def _shares(axis: Axes, values: pd.DataFrame, claims: list[str]) -> None:
    at, start = np.arange(len(claims)), np.zeros(len(claims))
    n = values.groupby("panel")["n"].first().loc[claims].to_numpy(dtype=np.float64)
    for verdict in ("confirmed", "open", "refuted"):
        mine = values[values["series"] == verdict].set_index("panel")["value"].loc[claims].to_numpy(dtype=np.float64)
        axis.barh(at, mine / n, left=start, height=0.78, color=_COLOURS[verdict], label=verdict)
        start = start + mine / n
    for place, count in enumerate(n):
        axis.text(1.02, place, f"{count:.0f}", va="center", fontsize=8)
    axis.set_xlim(0.0, 1.0)
    axis.set_xlabel("share of the readings")
    axis.grid(visible=False)


def _worth(axis: Axes, values: pd.DataFrame, claims: list[str]) -> None:
    words = deciding_choices()
    names = {words[name]: _SHORT.get(name, name) for name in (*CHOICES, QUANTILE)}
    columns = list(names)
    clear = values.assign(value=values["value"].where(values["low"] > 0.0, 0.0))
    table = clear.pivot(index="panel", columns="series", values="value").reindex(index=claims, columns=columns)
    axis.imshow(table.fillna(0.0).to_numpy(dtype=np.float64), aspect="auto", cmap="Greys", vmin=0.0, vmax=_STRONGEST)
    for _, line in values[values["low"] > 0.0].iterrows():
        colour = "white" if line["value"] > 0.55 * _STRONGEST else "black"
        place = (columns.index(str(line["series"])), claims.index(str(line["panel"])))
        axis.text(*place, f"{line['value']:.1f}", ha="center", va="center", color=colour, fontsize=8)
    axis.set_xticks(np.arange(len(columns)), list(names.values()), rotation=45, ha="right", rotation_mode="anchor")
    axis.tick_params(labelleft=False, left=False)
    axis.grid(visible=False)

"""The figures of noisy pulls: a line for each policy, a dot for each case, drawn from the committed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from benchmarks import noisy_confidence, noisy_pulls, soare
from bestarm_lab.figures.figures import WIDTH, headed, runs_text
from bestarm_lab.figures.values import as_values, share_interval

ORACLE, RECORDED = "oracle", "share recorded by others"
KINDS = {"of this study": ("o", "#0072B2"), "added to compare": ("s", "#D55E00"), ORACLE: ("X", "black")}
RIVALS = (
    *("Top-two Thompson", "P1-RAGE", "Peace", "static G-optimal", "FC2FB of m-LinGapE"),
    *("MisLid", "MisLid, twice the level"),
)
NAMES = {  # policies for fixed confidence, as the study calls them
    "m_lingape greedy": "m-LinGapE (greedy)",
    "m_lingape optimised": "m-LinGapE (optimized)",
    "lingifa greedy": "LinGIFA (greedy)",
    "lingifa largest variance": "LinGIFA (largest var.)",
    "lucb": "LUCB (largest var.)",
    "ugape": "UGapE",
    "mislid level 0": "MisLid",
    "mislid": "MisLid",
    "mislid twice the level": "MisLid, twice the level",
    "oracle": ORACLE,
}
_LINE = 0.17  # inches


def budget_values(profile: str) -> pd.DataFrame:
    """Return shares on Soare's instance at two budgets, and scores in each family on the cases kept aside."""
    rows, frames = pd.read_csv(soare.RESULTS), []
    rows = rows[rows["policy"] != "LinGapE, defaults"]
    for budget in (1010, 3010):
        mine = rows[rows["budget"] == budget]
        low, high = share_interval(mine["correct"], mine["runs"])
        table = pd.DataFrame(
            {"series": mine["policy"], "value": mine["correct"] / mine["runs"], "low": low, "high": high}
        )
        frames.append(as_values(table.assign(n=mine["runs"]), panel=f"{budget} pulls", statistic="share correct"))
        others = pd.DataFrame({name: shares[:2] for name, shares in soare.RECORDED.items()}, index=[1010, 3010]).loc[
            budget
        ]
        told = others.rename_axis("series").rename("value").reset_index()
        frames.append(as_values(told, panel=f"{budget} pulls", statistic=RECORDED, n=21_000))
    scores = noisy_pulls.halves(pd.read_csv(noisy_pulls.RESULTS))[1].drop(columns=["mean", "worst", "rule"])
    told = scores.rename_axis("series").reset_index().melt("series", var_name="x").assign(n=1)
    frames.append(as_values(told, panel="families", statistic="score"))
    return pd.concat(frames, ignore_index=True).assign(profile=profile)


def confidence_values(profile: str) -> pd.DataFrame:
    """Return pulls over the oracle's and shares of wrong answers on each instance, linear or not."""
    rows = noisy_confidence.ratios(pd.read_csv(noisy_confidence.FILE))
    rows = rows.assign(
        series=rows["policy"].map(NAMES),
        x=rows["family"] + " " + rows["instance"].astype(str),
        n=rows["runs"].astype(int),
        kind=np.where(rows["family"] == "misspecified", "misspecified", "linear"),
    )
    oracle = rows[rows["policy"] == "oracle"].set_index("x")
    own, others = rows["pulls_se"] / rows["pulls"], (oracle["pulls_se"] / oracle["pulls"]).loc[rows["x"]].to_numpy()
    reach = np.exp(1.96 * np.where(rows["series"] == ORACLE, 0.0, np.hypot(own, others)))
    low, high = share_interval((rows["errors"] * rows["runs"]).round(), rows["runs"])
    both = {
        "pulls": rows.assign(value=rows["ratio"], low=rows["ratio"] / reach, high=rows["ratio"] * reach),
        "wrong": rows.assign(value=rows["errors"], low=low, high=high),
    }
    found = [as_values(table, panel=f"{name}, " + table["kind"], statistic=name) for name, table in both.items()]
    return pd.concat(found, ignore_index=True).assign(profile=profile)


def noisy_figure(
    values: pd.DataFrame,
    order: Sequence[str],
    panels: Mapping[str, tuple[str, str]],
    *,
    columns: int,
    title: str,
    setting: str,
    log: Sequence[str] = (),
    reference: Mapping[str, float] | None = None,
) -> Figure:
    """Return a line for each policy in each panel, with a dot and its interval for each case.

    Parameters
    ----------
    values : DataFrame
        Columns of a figure's CSV.
    order : sequence of str
        Policies from top to bottom.
    panels : mapping
        Panels in order, each with its heading and the label of its axis.
    columns : int
        Panels side by side.
    title, setting : str
        The finding, and the setting.
    log : sequence of str
        Panels with a logarithmic axis.
    reference : mapping, optional
        Where a dashed line stands in a panel.
    """
    n_rows = -(-len(panels) // columns)
    size = (WIDTH, n_rows * (_LINE * len(order) + 0.6) + 0.3)
    figure, axes = plt.subplots(n_rows, columns, figsize=size, sharey=True, squeeze=False)
    for axis, (panel, (heading, what)) in zip(axes.flat, panels.items(), strict=True):
        mine = values[values["panel"] == panel]
        for place, policy in enumerate(order):
            marker, colour = KINDS[ORACLE if policy.startswith(ORACLE) else list(KINDS)[policy in RIVALS]]
            lines = mine[mine["series"] == policy]
            if lines.empty:
                where: dict[str, Any] = {"transform": axis.get_yaxis_transform(), "ha": "center", "va": "center"}
                axis.text(0.5, place, "not run", size=8, color="0.45", **where)
            for line in lines.itertuples():
                if line.statistic == RECORDED:
                    axis.plot(line.value, place, "D", mfc="none", mec="black", ms=7, zorder=4)
                    continue
                axis.plot([line.low, line.high], [place] * 2, color="0.6", lw=1.2, zorder=2)
                axis.plot(line.value, place, marker, color=colour, mec="white", mew=0.4, ms=6, zorder=3)
        if panel in (reference or {}):
            axis.axvline((reference or {})[panel], color="0.3", ls="--", lw=0.9, zorder=1)
        if panel in log:
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(FixedLocator([0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_major_formatter("{x:g}")
        axis.set_yticks(range(len(order)), list(order))
        axis.set_ylim(len(order) - 0.4, -0.6)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="x", visible=True)
        axis.set(title=heading, xlabel=what)
    handles = [Line2D([], [], marker=m, color=c, mec="white", ls="", ms=6, label=k) for k, (m, c) in KINDS.items()]
    if RECORDED in set(values["statistic"]):
        handles.append(Line2D([], [], marker="D", mfc="none", mec="black", ls="", ms=7, label=RECORDED))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return headed(
        figure, title, "; ".join(filter(None, [runs_text(values.loc[values["statistic"] != RECORDED, "n"]), setting]))
    )

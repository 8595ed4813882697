"""Figure 5 of the Top-m paper: rewards of drugs, recorded and simulated, beside the baseline."""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bestarm_lab.figures.figures import headed, wide
from bestarm_studies.linear_topm.drug_simulator.values import ALL, BASELINE, CHOSEN, RECORDED, SIMULATED, TEN

KINDS = {1: ("anti-epileptic (AE)", "#009E73", "o"), -1: ("pro-convulsant (PC)", "#D55E00", "s")}
BASELINE_COLOUR = "#0072B2"
CHOICES = {TEN: ("#0072B2", "-"), ALL: ("0.45", ":"), CHOSEN: ("#CC79A7", "--")}


def hit_ratio_line(values: pd.DataFrame, series: str) -> str:
    """Return the hit ratios of one ranking as the paper prints them above its figure."""
    mine = values[(values["panel"] == "hit ratios") & (values["series"] == series)]
    ratios = [f"@{rank:.0f}={value:.2f}" for rank, value in zip(mine["x"], mine["value"], strict=True)]
    return "HR" + "  ".join(ratios)


def draw_rewards(axis: Axes, rows: pd.DataFrame, values: pd.DataFrame) -> Axes:
    """Draw the rewards of each drug: boxes, the patients of the first table as points, and the mean by its kind.
    ``rows``: ``series, label, replication, patient, reward``, drugs from left to right; ``values``: their ``mean``."""
    drugs = rows.drop_duplicates("series").set_index("series")["label"]
    sns.boxplot(
        data=rows,
        x="series",
        y="reward",
        order=list(drugs.index),
        color="0.93",
        width=0.6,
        whis=(5, 95),
        showfliers=False,
        linewidth=0.9,
        ax=axis,
        boxprops={"zorder": 1},
    )
    first = rows[rows["replication"] == rows["replication"].min()]
    means = values[values["statistic"] == "mean"].set_index("series")["value"]
    for position, (drug, label) in enumerate(zip(drugs.index, drugs, strict=True)):
        rewards = first.loc[first["series"] == drug, "reward"]
        spread = (np.arange(len(rewards)) * 0.6180339887) % 1.0 - 0.5
        axis.scatter(position + 0.5 * spread, rewards, s=7, color="0.45", linewidths=0, zorder=2)
        _, colour, marker = KINDS[label]
        axis.plot(position, means[drug], marker, ms=8, mfc=colour, mec="black", mew=0.7, ls="", zorder=3)
    axis.set_xticks(range(len(drugs)), list(drugs.index), rotation=45, ha="right")
    for text, label in zip(axis.get_xticklabels(), drugs, strict=True):
        text.set_color(KINDS[label][1])
    axis.set(xlabel="", ylabel="reward (cosine)")
    return axis


def draw_baselines(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw the baseline's score of each drug."""
    scores = values[values["statistic"] == "baseline"]["value"].to_numpy()
    axis.plot(range(len(scores)), scores, "D", color=BASELINE_COLOUR, ms=6, mec="black", mew=0.5)
    axis.tick_params(labelbottom=False)
    axis.set_ylabel("baseline\n(1 − cosine)", color=BASELINE_COLOUR)
    axis.margins(y=0.2)
    return axis


def draw_separation(axis: Axes, gaps: pd.DataFrame, recorded: float) -> Axes:
    """Draw the separation of the two kinds over simulated tables, one outline for each choice of drugs."""
    bins = np.linspace(min(gaps.to_numpy().min(), 0.0), max(gaps.to_numpy().max(), recorded), 60)
    handles = []
    for choice, (colour, style) in CHOICES.items():
        axis.hist(gaps[choice], bins=list(bins), histtype="step", color=colour, ls=style, lw=1.6)
        handles.append(Line2D([], [], color=colour, ls=style, label=textwrap.fill(choice, 24)))
    axis.axvline(recorded, color="black", lw=2.0)
    handles.append(Line2D([], [], color="black", lw=2.0, label="recorded table"))
    axis.legend(handles=handles, loc="upper right", bbox_to_anchor=(0.92, 1.0), fontsize=8)
    axis.set(xlabel="mean reward of AE minus PC", ylabel=f"simulated tables (of {len(gaps)})")
    axis.set_ylim(0, 1.35 * axis.get_ylim()[1])
    return axis


def reward_figure(rows: pd.DataFrame, values: pd.DataFrame, gaps: pd.DataFrame, *, title: str) -> Figure:
    """Return the figure: recorded rewards, simulated ones, and how far the two kinds of drugs lie apart.
    ``rows``, ``values``: of `reward_rows_of`, `reward_values`; ``gaps``: the `separation` of the simulated tables."""
    stand_in = " · stand-in data" if (rows["data"] == "stand-in").any() else ""
    figure = plt.figure(figsize=wide(1, 6.5))
    grid = figure.add_gridspec(3, 2, height_ratios=[1, 2.4, 2])
    panels = {"recorded": ("as_coded", RECORDED), "simulated": ("as_written", SIMULATED)}
    titles = {
        "recorded": f"(a) as recorded by the authors{stand_in}",
        "simulated": f"(b) as simulated here, {len(gaps)} tables{stand_in}",
    }
    low, high = rows["reward"].min(), rows["reward"].max()
    for column, (panel, (convention, series)) in enumerate(panels.items()):
        mine, numbers = rows[(rows["convention"] == convention) & rows["in_paper"]], values[values["panel"] == panel]
        lower = figure.add_subplot(grid[1, column])
        draw_rewards(lower, mine, numbers).set_ylim(low - 0.02, high + 0.02)
        upper = draw_baselines(figure.add_subplot(grid[0, column], sharex=lower), numbers)
        upper.set_title(
            f"{titles[panel]}\nscoring: {hit_ratio_line(values, series)}\nbaseline: {hit_ratio_line(values, BASELINE)}",
            fontsize=8,
        )
    recorded = values[(values["panel"] == "separation") & (values["convention"] == "as_coded")]["value"].iloc[0]
    draw_separation(figure.add_subplot(grid[2, :]), gaps, recorded).set_title(
        f"(c) do the scores separate the two kinds?{stand_in}"
    )
    handles = [Line2D([], [], ls="", color=c, marker=m, mec="black", label=k) for k, c, m in KINDS.values()]
    handles.append(Line2D([], [], ls="", color=BASELINE_COLOUR, marker="D", mec="black", label="baseline"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    words = (
        "boxes: quartiles over patients (in b also over tables), whiskers: 5% and 95% quantiles; large marker: mean; "
        "grey: the patients of one table; HR: hit ratio (in b the mean hit ratio of a table)"
    )
    return headed(figure, title, words)

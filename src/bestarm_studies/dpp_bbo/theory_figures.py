"""Figures of the analysis: regret below its bounds, lemmas, entropies, chains, information, intervals, costs."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bestarm_lab.figures.appearance import DOTS, Look
from bestarm_lab.figures.figures import draw_lines, draw_quantiles, headed, legend_below, line_panels, runs_text, wide

BOUND_LOOKS = {"Theorem 3.3": Look("0.2", "", "--"), "worst arms": Look("0.45", "", DOTS)}
TERM_LOOKS = {
    "information γ": Look("0.35", "s", DOTS),
    "sum of entropies": Look("#009E73", "^", "-."),
    "bracket as printed": Look("#D55E00", "o"),
    "bracket as proved": Look("#0072B2", "v", "--"),
}
SAMPLER_LOOKS = {
    "exact": Look("0.2", "o"),
    "exchange chain": Look("#D55E00", "s", "--"),
    "down-up chain": Look("#0072B2", "^", "-."),
}
TIMED = ("qLogNEI", "LP-UCB", "UCB-DPP-MAX", "UCB-DPP-SAMPLE")
RATE_LOOKS = {
    "eigenvalues, length-scale 0.2": Look("#0072B2", ""),
    "eigenvalues, length-scale 0.05": Look("#882255", "", "--"),
    "greedy sets, length-scale 0.2": Look("#C17C00", "o", DOTS),
}
COVERAGE_LOOKS = {
    "GP-BUCB, B = 5": Look("#C68301", "o"),
    "GP-BUCB, B = 10": Look("#895900", "s", "--"),
    "GP-BUCB, B = 20": Look("#3F2700", "^", "-."),
    "rewards at once, B = 20": Look("0.45", "", DOTS),
}
MAXIMUM_LOOKS = {
    "ESTa": Look("#D55E00", "s", "--"),
    "ESTn": Look("#0072B2", "o"),
    "joint draws": Look("#009E73", "^", "-."),
    "maximum of f": Look("0.2", "", DOTS),
}


def bounds_figure(values: pd.DataFrame, order: Sequence[str], *, title: str, setting: str = "") -> Figure:
    """Return mean cumulative regret against the number of batches, below the bounds, on a logarithmic axis."""
    return line_panels(
        values,
        [*order, *BOUND_LOOKS],
        statistic="regret",
        titles={"regret": ""},
        log="y",
        looks=BOUND_LOOKS,
        x="batches T",
        y="full cumulative regret",
        title=title,
        setting=setting,
        height=3.0,
    )


def lemma_figure(values: pd.DataFrame, order: Sequence[str], *, title: str, setting: str = "") -> Figure:
    """Return the distribution over runs of what each lemma says, a column for each lemma, a line for each series."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 0.32 * len(order) + 1.0), sharey=True)
    for axis, panel in zip(axes, panels, strict=True):
        draw_quantiles(axis, values[values["panel"] == panel], order)
        lemma, _, what = panel.partition(": ")
        axis.set(title=lemma, xlabel=what)
        axis.axvline(0.0 if what.startswith("share") else 1.0, color="black", ls="--", lw=1.0, zorder=1)
        axis.set_xlim(left=-0.03 if what.startswith("share") else 0.0)
    words = [runs_text(values["n"]), "thick: quartiles, thin: 5% to 95%, tick: largest; dashed: most that is claimed"]
    return headed(figure, title, "; ".join(filter(None, [*words, setting])))


def entropy_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the terms of Theorem 3.4's bracket and the bracket itself against the number of batches."""
    figure = line_panels(
        values,
        list(TERM_LOOKS),
        statistic="mean",
        titles={"Theorem 3.4": ""},
        looks=TERM_LOOKS,
        reference=0.0,
        reference_label="zero: less is impossible",
        x="batches T",
        y="nats",
        title=title,
        setting=setting,
        height=3.0,
    )
    figure.axes[0].xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def chains_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return distances to the k-DPP against steps, from the greedy set, with the stated steps as large open marks."""
    panels = list(dict.fromkeys(values["panel"]))
    chains = ["exchange chain", "down-up chain"]
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 2.7), sharey=True)
    for axis, panel in zip(axes, panels, strict=True):
        mine = values[values["panel"] == panel]
        draw_lines(axis, mine[mine["statistic"] == "greedy set"], chains, marks="none", log="xy", looks=SAMPLER_LOOKS)
        for chain in chains:
            stated = mine[(mine["statistic"] == "stated") & (mine["series"] == chain)]
            look = SAMPLER_LOOKS[chain]
            axis.plot(
                stated["x"],
                stated["value"],
                ls="none",
                marker=look.marker,
                ms=9,
                mfc="white",
                mec=look.colour,
                mew=1.6,
                label=f"stated steps, {chain}",
                zorder=4,
            )
        axis.axhline(0.01, color="0.3", ls="--", lw=1.0, zorder=1)
        axis.set(title=panel, xlabel="steps", ylim=(1e-4, 1.5))
    axes[0].set_ylabel("total variation")
    legend_below(figure)
    return headed(figure, title, "; ".join(filter(None, ["largest of all kernels", setting])))


def rate_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return local slopes of the information's logarithm with the claimed slope d and the older one, d + 1."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 2.8))
    for axis, panel in zip(axes, panels, strict=True):
        draw_lines(axis, values[values["panel"] == panel], list(RATE_LOOKS), marks="none", looks=RATE_LOOKS)
        d = int(panel.split()[-1])
        axis.axhline(d, color="0.2", ls="--", lw=1.0, label="d: Theorem 6.8", zorder=1)
        axis.axhline(d + 1, color="0.5", ls="-.", lw=1.0, label="d + 1: the older rate", zorder=1)
        axis.set(title=panel, xlabel="S", xscale="log", ylim=(0.5 * d, d + 1.15))
    axes[0].set_ylabel("local slope of log γ in log log S")
    legend_below(figure)
    return headed(figure, title, setting)


def coverage_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return errors in units of deviations, and missed intervals, by position in the batch."""
    return line_panels(
        values,
        list(COVERAGE_LOOKS),
        statistic={"squared": "squared", "missed": "missed", "inflation": "inflation"},
        titles={
            "squared": "mean squared error\nin units of the variance",
            "missed": "share of batches with\nan arm out of its interval",
            "inflation": "largest deviation over\nits value in the batch",
        },
        looks=COVERAGE_LOOKS,
        x="position in the batch",
        marks="band",
        title=title,
        setting=setting,
        possible={"missed": (0.0, None), "squared": (0.0, None), "inflation": (0.0, None)},
    )


def maximum_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return medians of the estimates of the maximum against the number of batches, on logarithmic axes."""
    figure = line_panels(
        values,
        list(MAXIMUM_LOOKS),
        statistic="median",
        titles={"maximum": ""},
        looks=MAXIMUM_LOOKS,
        log="xy",
        x="before batch",
        y="value",
        spread="quartiles",
        title=title,
        setting=setting,
        height=2.9,
    )
    figure.axes[0].set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    return figure


def cost_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return counted multiplications and measured seconds of one sample against the number of points."""
    panels = sorted(dict.fromkeys(values["panel"]), key=lambda panel: (panel.split(": ")[1], panel))
    return line_panels(
        values,
        list(SAMPLER_LOOKS),
        statistic="cost",
        titles={panel: panel for panel in panels},
        log="xy",
        looks=SAMPLER_LOOKS,
        marks="none",
        x="n",
        y={panel: panel.split(": ")[1] for panel in panels},
        wrap=2,
        share_y=False,
        title=title,
        setting=setting,
    )


def batch_times_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return measured seconds of one batch against the candidates, its size and the batches so far."""
    panels = list(dict.fromkeys(values["panel"]))
    words = {"B": "arms of a batch, B", "T": "batch T"}
    return line_panels(
        values,
        TIMED,
        statistic="seconds",
        titles=dict.fromkeys(panels, ""),
        log="xy",
        marks="none",
        x={panel: words.get(panel, panel) for panel in panels},
        y="seconds a batch",
        title=title,
        setting=setting,
        height=2.9,
    )

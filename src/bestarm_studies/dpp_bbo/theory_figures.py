"""Figures of the analysis: regret below its bounds, lemmas, entropies, chains, information, intervals, costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import draw_lines, draw_quantiles, headed, legend_below, line_panels, runs_text, wide
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_studies.dpp_bbo.stacked import stacked

BOUND_STYLES = {"Theorem 3.3": Style("0.2", "", "--"), "worst arms": Style("0.45", "", DOTS)}
TERM_STYLES = {
    "information γ": Style("0.35", "s", DOTS),
    "sum of entropies": Style("#009E73", "^", "-."),
    "bracket as printed": Style("#D55E00", "o"),
    "bracket as proved": Style("#0072B2", "v", "--"),
}
SAMPLER_STYLES = {
    "exact": Style("0.2", "o"),
    "exchange chain": Style("#D55E00", "s", "--"),
    "down-up chain": Style("#0072B2", "^", "-."),
}
TIMED = ("qLogNEI", "LP-UCB", "UCB-DPP-MAX", "UCB-DPP-SAMPLE")
RATE_STYLES = {
    "eigenvalues, length-scale 0.2": Style("#0072B2", ""),
    "eigenvalues, length-scale 0.05": Style("#882255", "", "--"),
    "greedy sets, length-scale 0.2": Style("#C17C00", "o", DOTS),
}
COVERAGE_STYLES = {
    "GP-BUCB, B = 5": Style("#C68301", "o"),
    "GP-BUCB, B = 10": Style("#895900", "s", "--"),
    "GP-BUCB, B = 20": Style("#3F2700", "^", "-."),
    "rewards at once, B = 20": Style("0.45", "", DOTS),
}
MAXIMUM_STYLES = {
    "ESTa": Style("#D55E00", "s", "--"),
    "ESTn": Style("#0072B2", "o"),
    "joint draws": Style("#009E73", "^", "-."),
    "maximum of f": Style("0.2", "", DOTS),
}


def theorems_figure(
    regrets: pd.DataFrame, order: Sequence[str], entropies: pd.DataFrame, *, title: str, setting: str = ""
) -> Figure:
    """Return what two theorems say against the number of batches: above, the mean cumulative regret below Theorem 3.3's
    bound, on a logarithmic axis; below, the terms of Theorem 3.4's bracket and the bracket itself.
    """

    def above(part: Any) -> None:
        line_panels(
            regrets,
            [*order, *BOUND_STYLES],
            figure=part,
            statistic="regret",
            titles={"regret": "Theorem 3.3"},
            log="y",
            styles=BOUND_STYLES,
            x="batches T",
            y="full cumulative regret",
            title="",
        )

    def below(part: Any) -> None:
        line_panels(
            entropies,
            list(TERM_STYLES),
            figure=part,
            statistic="mean",
            titles={"Theorem 3.4": "Theorem 3.4"},
            styles=TERM_STYLES,
            reference=0.0,
            reference_label="zero: less is impossible",
            x="batches T",
            y="nats",
            title="",
        )

    words = [runs_text(pd.concat([regrets["n"], entropies["n"]])), "bars: 95% intervals", setting]
    return stacked([(2.6, above), (2.6, below)], title=title, setting="; ".join(filter(None, words)))


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


def rate_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return local slopes of the information's logarithm with the claimed slope d and the older one, d + 1."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 2.8))
    for axis, panel in zip(axes, panels, strict=True):
        draw_lines(axis, values[values["panel"] == panel], list(RATE_STYLES), marks="none", styles=RATE_STYLES)
        d = int(panel.split()[-1])
        axis.axhline(d, color="0.2", ls="--", lw=1.0, label="d: Theorem 6.8", zorder=1)
        axis.axhline(d + 1, color="0.5", ls="-.", lw=1.0, label="d + 1: the older rate", zorder=1)
        axis.set(title=panel, xlabel="S", xscale="log", ylim=(0.5 * d, d + 1.15))
    axes[0].set_ylabel("local slope of log γ in log log S")
    legend_below(figure)
    return headed(figure, title, setting)


def confidence_figure(coverage: pd.DataFrame, maxima: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return how far what searches trust is right: above, errors in units of deviations and missed intervals by
    position in a batch of GP-BUCB; below, medians of EST's estimates of the maximum by batch, on logarithmic axes.
    """

    def above(part: Any) -> None:
        line_panels(
            coverage,
            list(COVERAGE_STYLES),
            figure=part,
            statistic={"squared": "squared", "missed": "missed", "inflation": "inflation"},
            titles={
                "squared": "mean squared error\nin units of the variance",
                "missed": "share of batches with\nan arm out of its interval",
                "inflation": "largest deviation over\nits value in the batch",
            },
            styles=COVERAGE_STYLES,
            x="position in the batch",
            marks="band",
            title="",
            possible={"missed": (0.0, None), "squared": (0.0, None), "inflation": (0.0, None)},
        )

    def below(part: Any) -> None:
        line_panels(
            maxima,
            list(MAXIMUM_STYLES),
            figure=part,
            statistic="median",
            titles={"maximum": "estimate of the maximum"},
            styles=MAXIMUM_STYLES,
            log="xy",
            x="before batch",
            y="value",
            title="",
        )
        part.axes[0].set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])

    counts = pd.concat([coverage["n"], maxima["n"]])
    words = [runs_text(counts), "bands: 95% intervals, bars: quartiles", setting]
    return stacked([(2.9, above), (2.7, below)], title=title, setting="; ".join(filter(None, words)))


def cost_figure(samples: pd.DataFrame, batches: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return counted multiplications and measured seconds of one sample against the number of points, and below them
    measured seconds of one batch against the candidates, its size and the batches so far.
    """
    kinds = list(dict.fromkeys(samples["panel"]))
    names = {"B": "arms of a batch, B", "T": "batch T"}

    def above(part: Any) -> None:
        line_panels(
            samples,
            list(SAMPLER_STYLES),
            figure=part,
            statistic="cost",
            titles={panel: panel.replace(": ", "\n") for panel in kinds},
            log="xy",
            styles=SAMPLER_STYLES,
            marks="none",
            x="points n",
            wrap=4,
            share_y=False,
            title="",
        )
        for axis in part.axes:
            axis.set_xticks([250, 1000, 4000], ["250", "1000", "4000"])

    def below(part: Any) -> None:
        panels = list(dict.fromkeys(batches["panel"]))
        line_panels(
            batches,
            TIMED,
            figure=part,
            statistic="seconds",
            titles=dict.fromkeys(panels, "one batch"),
            log="xy",
            marks="none",
            x={panel: names.get(panel, panel) for panel in panels},
            y="seconds",
            title="",
        )

    return stacked([(2.6, above), (2.6, below)], title=title, setting=setting)

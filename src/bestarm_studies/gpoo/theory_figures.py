"""Figures of the analysis: the event of Lemma 1, the posterior of a cell, and the rate of the regret."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import draw_quantiles, headed, line_panels, runs_text, wide
from bestarm_lab.figures.styles import DOTS, Style

BOUND_STYLES = {
    "Theorem 1": Style("0.0", "", "--"),
    "Corollary 1, mended": Style("0.3", "", DOTS),
    "Corollary 1, printed": Style("0.55", "", "-."),
}


def event_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the distribution over runs of the largest error in units of its width, one line for each series."""
    figure, axis = plt.subplots(figsize=wide(1, 2.2))
    draw_quantiles(axis, values, list(dict.fromkeys(values["series"])))
    axis.axvline(1.0, color="black", ls="--", lw=1.0)
    axis.set_xlabel("largest error of a run, in units of its width; dashed: the width itself")
    axis.set_xlim(left=0.0)
    words = [runs_text(values["n"]), "thick: quartiles, thin: 5% to 95%, tick: largest", setting]
    return headed(figure, title, "; ".join(filter(None, words)))


def rate_figure(
    values: pd.DataFrame, bounds: pd.DataFrame, *, titles: Mapping[str, str], title: str, setting: str = ""
) -> Figure:
    """Return mean regret against the budget with its interval below the bounds, one column for each function."""
    every = pd.concat([values[values["statistic"] == "mean"], bounds.assign(series=bounds["statistic"])])
    order = [*dict.fromkeys(values["series"]), *BOUND_STYLES]
    return line_panels(
        every.assign(statistic="regret"),
        order,
        statistic="regret",
        titles=titles,
        log="xy",
        styles=BOUND_STYLES,
        x="budget N (evaluations)",
        y="aggregated regret",
        title=title,
        setting=setting,
        height=3.0,
    )

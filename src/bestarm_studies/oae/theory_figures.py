"""Figures of the theory of OAE: regret of exact linear searches, and queries against lower bounds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bestarm.reporting.figures import draw_lines, headed, legend_below, line_panels, runs_text, wide
from bestarm.reporting.values import as_values, summarise
from bestarm_studies.oae.theory_checks import query_bounds

ORDER = ["Vanilla", "Seq", "DvD", "LogDet", "Greedy", "RandomBatch"]
ORDER += ["Explore then commit", "Guess with a trace", "Mixing, norm known"]


def regret_values(rows: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return the mean regret of exact linear searches, with 95% t-intervals, for each instance, d and b (x)."""
    panel, kinds = "{instance}, d = {n_features}", {"regret": ("regret", "mean")}
    return pd.concat(
        [summarise(frame, kinds, x="batch", panel=panel, profile=profile) for frame in rows.values()], ignore_index=True
    )


def regret_figure(values: pd.DataFrame, panels: list[str], *, title: str, setting: str = "") -> Figure:
    """Return regret against the size of a batch, both logarithmic, a panel for each instance and dimension."""
    return line_panels(
        values, ORDER, title=title, setting=setting, statistic="regret", x="batch size b", y="regret (mean)", log="xy",
        titles={panel: panel for panel in panels}, height=3.0,
    )  # fmt: skip


def query_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return mean queries over d until an arm is epsilon-optimal in a linear class, and both bounds; x is epsilon."""
    linear = rows[rows["item"] == "linear"]
    kinds = {"queries": ("queries", "mean")}
    found = summarise(linear, kinds, x="epsilon", panel="d = {n_features}", profile=profile)
    table = []
    for d, epsilon in linear[["n_features", "epsilon"]].drop_duplicates().itertuples(index=False):
        for kind in ("printed", "squared"):
            bound = float(query_bounds(np.array([d]), np.array([epsilon]), kind)[0])
            table.append({"panel": f"d = {d}", "series": kind, "x": epsilon, "value": bound})
    bounds = as_values(pd.DataFrame(table), statistic="bound", n=0, profile=profile)
    return pd.concat([found, bounds], ignore_index=True)


def query_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return queries over d against epsilon, a panel for each d, with the printed bound and the one its proof gives."""
    panels = sorted(dict.fromkeys(values["panel"]), key=lambda name: float(name.removeprefix("d = ")))
    n_rows = -(-len(panels) // 4)
    figure, axes = plt.subplots(n_rows, min(4, len(panels)), figsize=wide(n_rows, 2.3), squeeze=False, sharey=True)
    for axis, panel in zip(axes.flat, panels, strict=False):
        d = float(panel.removeprefix("d = "))
        mine = values[(values["panel"] == panel) & (values["statistic"] == "queries")]
        shown = mine.assign(**{name: mine[name] / d for name in ("value", "low", "high")})
        epsilon = np.linspace(0.0, 0.95, 200)
        printed, squared = (query_bounds(np.array(d), epsilon, kind) / d for kind in ("printed", "squared"))
        axis.plot(epsilon, printed, color="black", ls="--", lw=1.2, label="printed bound")
        axis.plot(epsilon, squared, color="0.35", ls=":", lw=1.6, label="bound that the proof supports")
        draw_lines(axis, shown, ORDER, joined=False)
        axis.set_title(f"$d = {d:g}$")
        axis.set_xlabel(r"$\epsilon$")
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for line in axes:
        line[0].set_ylabel("queries / d (mean)")
    legend_below(figure, ORDER)
    runs = runs_text(values.loc[values["statistic"] == "queries", "n"])
    words = [runs, "bars: 95% intervals; linear class on the unit ball", setting]
    return headed(figure, title, "; ".join(filter(None, words)))

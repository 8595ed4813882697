"""Figures of the theory of OAE: regret of exact linear searches, and queries against lower bounds."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.reporting.curves import draw_curves
from bestarm.reporting.summaries import COLUMNS, mean_interval
from bestarm_studies.oae.theory_checks import query_bounds

_LOOKS = {
    "Vanilla": ("#E69F00", "o"),
    "Seq": ("#009E73", "s"),
    "DvD": ("#7FB86B", "^"),
    "LogDet": ("#0072B2", "P"),
    "Greedy": ("#000000", "v"),
    "RandomBatch": ("0.55", "X"),
    "Explore then commit": ("#D55E00", "D"),
    "Guess with a trace": ("#0072B2", "s"),
    "Mixing, norm known": ("#882255", "^"),
}


def regret_values(rows: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return the mean regret of exact linear searches, with 95% t-intervals, for each instance, d and b (x)."""
    table = []
    for frame in rows.values():
        for (instance, series, d, b), mine in frame.groupby(["instance", "series", "n_features", "batch"], sort=False):
            mean, low, high = mean_interval(mine["regret"].astype(np.float64))
            line = {"panel": f"{instance}, d = {d}", "series": series, "x": b, "statistic": "regret", "n": len(mine)}
            line |= {"value": mean, "low": low, "high": high, "convention": "as_written", "profile": profile}
            table.append(line | {"data": "synthetic"})
    return pd.DataFrame(table).reindex(columns=COLUMNS)


def regret_figure(values: pd.DataFrame, panels: list[str], title: str) -> Figure:
    """Return regret against the size of a batch, both logarithmic, a panel for each instance and dimension."""
    figure, axes = plt.subplots(1, len(panels), figsize=(4.0 * len(panels), 3.6), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        mine = values[(values["panel"] == panel) & (values["value"] > 0)]
        draw_curves(axis, mine, [s for s in _LOOKS if s in set(mine["series"])], looks=_LOOKS)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_title(panel)
        axis.set_xlabel("batch size b")
    axes[0, 0].set_ylabel(f"regret (mean, 95% interval, n = {int(values['n'].max())})")
    axes[0, -1].legend(fontsize=7)
    figure.suptitle(title, fontsize=9)
    return figure


def query_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return mean queries over d until an arm is epsilon-optimal in a linear class, and both bounds; x is epsilon."""
    table = []
    linear = rows[rows["item"] == "linear"]
    for (series, d, epsilon), mine in linear.groupby(["series", "n_features", "epsilon"], sort=False):
        mean, low, high = mean_interval(mine["queries"].astype(np.float64))
        line = {"panel": f"d = {d}", "series": series, "x": epsilon, "statistic": "queries", "n": len(mine)}
        table.append(line | {"value": mean, "low": low, "high": high})
    for (d, epsilon), _ in linear.groupby(["n_features", "epsilon"], sort=False):
        for kind in ("printed", "squared"):
            bound = float(query_bounds(np.array([d]), np.array([epsilon]), kind)[0])
            table.append(
                {"panel": f"d = {d}", "series": kind, "x": epsilon, "statistic": "bound", "n": 0, "value": bound}
            )
    frame = pd.DataFrame(table).assign(convention="as_written", profile=profile, data="synthetic")
    return frame.reindex(columns=COLUMNS)


def query_figure(values: pd.DataFrame) -> Figure:
    """Return queries over d against epsilon, with the printed bound and the one that its proof supports."""
    d = values["panel"].str.removeprefix("d = ").astype(float)
    shown = values.assign(**{c: values[c] / d for c in ("value", "low", "high")})
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    epsilon = np.linspace(0.0, 0.95, 100)
    axis.plot(epsilon, 1 - epsilon, color="black", ls="--", lw=1.2, label="printed bound where ε ≥ 1/d: 1 - ε")
    axis.axhline(1.0, color="black", lw=0.9, label="printed bound where ε < 1/d: 1")
    axis.plot(epsilon, (1 - epsilon) ** 2, color="black", ls=":", lw=1.5, label="(1 - ε)², which the proof supports")
    mine = shown[shown["statistic"] == "queries"]
    draw_curves(axis, mine, [s for s in _LOOKS if s in set(mine["series"])], looks=_LOOKS, joined=False)
    small = mine[mine["x"] < 1.0 / mine["panel"].str.removeprefix("d = ").astype(float)]
    for _, line in small.loc[small.groupby(["panel", "x"], sort=False)["value"].idxmin()].iterrows():
        axis.annotate(
            line["panel"], (line["x"], line["value"]), xytext=(0, -11), textcoords="offset points", ha="center",
            fontsize=6,
        )  # fmt: skip
    axis.set_xlabel("ε")
    axis.set_ylabel("queries / d (mean, 95% interval)")
    axis.legend(fontsize=7)
    axis.set_title(
        f"linear class on the unit ball, n = {int(values['n'].max())}; d is written where ε < 1/d", fontsize=9
    )
    return figure

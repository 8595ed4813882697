"""Pictures of designs: where the pulls go, and how fast each solver gets to the optimum; errors beside their bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.interface import FloatArray
from bestarm.reporting.regret_figures import LINES
from bestarm.reporting.summaries import COLUMNS

SOLVERS: dict[str, DesignRule] = {
    "Algorithm 2, line search": DesignRule("frank-wolfe"),
    "published line search": DesignRule("grid"),
    "determinant, away steps": DesignRule("d-optimal", tolerance=1e-6),
    "Wynn's steps": DesignRule("wynn", tolerance=1e-6),
}
_COLOURS = ("#D55E00", "#E69F00", "#0072B2", "#009E73")
_MARKERS = ("P", "X", "s", "^")


def allocation_values(x: FloatArray, designs: Mapping[str, FloatArray], profile: str) -> pd.DataFrame:
    """Return the weights of designs over arms in the plane; the series is the arm, x its first coordinate."""
    frames = []
    for name, weights in designs.items():
        inverse = np.linalg.inv((x.T * weights) @ x)
        leverage = np.einsum("ki,ij,kj->k", x, inverse, x)
        labels = [f"arm {i}" for i in range(len(x))]
        for statistic, values in (("weight", weights), ("second coordinate", x[:, 1]), ("leverage", leverage)):
            frames.append(
                pd.DataFrame({"panel": name, "series": labels, "x": x[:, 0], "statistic": statistic, "value": values})
            )
    found = pd.concat(frames, ignore_index=True)
    return found.assign(n=1, convention="as_written", profile=profile, data="synthetic").reindex(columns=COLUMNS)


def allocation_figure(values: pd.DataFrame) -> Figure:
    """Return the arms in the plane, a panel for each design; a disc's area is the weight of its arm."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=(3.4 * len(panels), 3.9), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        mine = values[values["panel"] == panel].pivot(index=["series", "x"], columns="statistic", values="value")
        mine = mine.reset_index()
        axis.scatter(mine["x"], mine["second coordinate"], s=8, color="0.5", zorder=2)
        axis.scatter(
            mine["x"], mine["second coordinate"], s=1800 * mine["weight"], color="#0072B2", alpha=0.45, ec="black",
            lw=0.6, zorder=3,
        )  # fmt: skip
        axis.set_title(f"{panel}\nlargest leverage {mine['leverage'].max():.2f}", fontsize=9)
        axis.set(xlabel="first feature")
        axis.margins(0.15)
        axis.set_aspect("equal", adjustable="datalim")
        axis.axhline(0.0, color="0.85", lw=0.8, zorder=0)
        axis.axvline(0.0, color="0.85", lw=0.8, zorder=0)
    axes[0, 0].set_ylabel("second feature")
    return figure


def convergence_values(
    n_arms: int, n_features: int, n_sets: int, steps: Sequence[int], profile: str, seed: int
) -> pd.DataFrame:
    """Return the largest leverage over the rank after some steps of each solver, mean and range over random sets."""
    rng = np.random.default_rng([seed, n_arms, n_features])
    x = rng.standard_normal((n_sets, n_arms, n_features))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    table = []
    for name, rule in SOLVERS.items():
        for n_steps in steps:
            found = optimal_design(
                x, np.ones(x.shape[:2], dtype=np.bool_), DesignRule(rule.steps, rule.start, rule.tolerance, n_steps)
            )
            ratio = found.leverage / found.rank
            line = {"panel": f"K = {n_arms}, d = {n_features}", "series": name, "x": n_steps, "n": n_sets}
            line |= {"value": ratio.mean(), "low": ratio.min(), "high": ratio.max()}
            table.append(line | {"statistic": "largest leverage over rank"})
    found_values = pd.DataFrame(table)
    return found_values.assign(convention="as_written", profile=profile, data="synthetic").reindex(columns=COLUMNS)


def convergence_figure(values: pd.DataFrame) -> Figure:
    """Return the excess of the largest leverage against the steps, a panel for each size of problem."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.4), squeeze=False, sharey=True)
    for axis, panel in zip(axes[0], panels, strict=True):
        for number, name in enumerate(SOLVERS):
            mine = values[(values["panel"] == panel) & (values["series"] == name)].sort_values("x")
            x = mine["x"].to_numpy(dtype=np.float64)
            axis.fill_between(x, mine["low"] - 1.0, mine["high"] - 1.0, color=_COLOURS[number], alpha=0.15, lw=0)
            axis.plot(
                x, mine["value"] - 1.0, color=_COLOURS[number], marker=_MARKERS[number], ls=LINES[number], ms=4,
                mec="black", mew=0.4, label=name,
            )  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="steps", title=panel)
    axes[0, 0].set_ylabel("largest leverage / rank - 1")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    return figure


def bound_plot_values(bounds: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return errors and bounds as plotted values; the keys of ``bounds`` are "panel: name of the bound"."""
    frames = []
    for key, table in bounds.items():
        panel, _, name = key.partition(": ")
        base = table.assign(x=table["budget"], panel=panel, convention="as_written", profile=profile, data="synthetic")
        frames.append(base.assign(statistic="error", value=base["error"]))
        frames.append(base.assign(statistic=name, value=base["bound"], low=np.nan, high=np.nan))
    return pd.concat(frames, ignore_index=True).reindex(columns=COLUMNS).drop_duplicates()


def bound_figure(values: pd.DataFrame) -> Figure:
    """Return error frequencies with intervals and the printed bounds against the budget, on logarithmic axes."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.6), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        mine = values[values["panel"] == panel]
        for number, series in enumerate(mine["series"].unique()):
            error = mine[(mine["series"] == series) & (mine["statistic"] == "error")].sort_values("x")
            floor = 0.5 / error["n"]
            middle = np.maximum(error["value"], floor)
            reach = np.abs([middle - np.maximum(error["low"], floor), error["high"] - middle])
            axis.errorbar(
                error["x"] * (1.0 + 0.03 * number), middle, yerr=reach, color=_COLOURS[2 - 2 * number],
                marker=_MARKERS[2 - 2 * number], ls="-", ms=4, mec="black", mew=0.4, label=series,
            )  # fmt: skip
        names = [s for s in mine["statistic"].unique() if s != "error"]
        for number, name in enumerate(names):
            line = mine[(mine["statistic"] == name) & (mine["series"] == mine["series"].unique()[-1])].sort_values("x")
            axis.plot(line["x"], line["value"], color="0.3", ls=LINES[1 + number], lw=1.3, label=name)
        axis.set(xscale="log", yscale="log", xlabel="budget B (pulls)", title=panel, ylim=(1e-4, 2.0))
        axis.legend(fontsize=8, loc="lower left")
    axes[0, 0].set_ylabel("probability of an error")
    return figure

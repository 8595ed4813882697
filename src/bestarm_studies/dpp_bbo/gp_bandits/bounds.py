"""Bounds of UCB and EST on a line, and the styles of widths and regions."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.moments import _MAXIMUM, CODE, TEXT, Moment, regions
from bestarm_studies.dpp_bbo.values import of_statistic

WIDTH_STYLES = {
    "UCB": Style("#0072B2", "s"),
    "EST, ESTa": Style("#D55E00", "^", "--"),
    "EST, ESTn": Style("#009E73", "o", "-."),
}
REGION_STYLES = {
    "UCB, as written": Style("#0072B2", "s"),
    "UCB, Contal's software": Style("#4B97E2", "D", "--"),
    "EST, as written": Style("#009E73", "o", "-."),
    "EST, Contal's software": Style("#5B9A48", "^", DOTS),
}
# of each region the height above the floor of the axis, as a share of its range, its colour and its place
_REGION_ROWS = {TEXT: (0.045, "0.1", "upper"), CODE: (0.0, "#D55E00", "lower")}


def bounds_values(now: Moment, problem: CandidateArms, panel: str, profile: str) -> pd.DataFrame:
    """Return confidence bounds on a line, by which the first arm of a batch is chosen, as plotted values.
    The search has one replication, and its arms one feature, which is x. Statistics are ``mean`` with its bounds,
    ``f``, ``observation``, ``next arm`` (value: its upper bound), ``estimated maximum`` (EST), and the arms of both
    `regions` (value: the largest lower bound)."""
    x, state, arms = problem.features[..., 0].ravel(), now.state, now.batch[0]
    order, seen = np.argsort(x), state.conditioned[0, : state.n_known[0]]
    means, deviations = now.posterior()
    low, high = means - now.width() * deviations, means + now.width() * deviations
    parts = {
        "mean": (order, means, {"low": low[order], "high": high[order]}),
        "f": (order, problem.means[0], {}),
        "observation": (seen, None, {"value": state.rewards[0, : len(seen)]}),
        "next arm": (arms[:1], high, {}),
    }
    if np.isfinite(state.log[0, _MAXIMUM]):
        parts["estimated maximum"] = (order[[0, -1]], None, {"value": state.log[0, _MAXIMUM]})
    parts |= {name: (np.sort(inside), None, {"value": low.max()}) for name, inside in regions(now).items()}
    frames = [
        pd.DataFrame({"x": x[at], "statistic": name} | ({} if y is None else {"value": y[at]}) | others)
        for name, (at, y, others) in parts.items()
    ]
    return as_values(pd.concat(frames, ignore_index=True), panel=panel, series=now.policy.label, profile=profile)


def draw_bounds(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw one panel of `bounds_values`: mean, bounds, f, arms, and the regions at the foot."""
    mean, truth = (of_statistic(values, name).sort_values("x") for name in ("mean", "f"))
    x = mean["x"].to_numpy(dtype=np.float64)
    axis.fill_between(x, mean["low"], mean["high"], color="#56B4E9", alpha=0.3, lw=0)
    axis.plot(x, mean["value"], color="#0072B2", label="posterior mean")
    axis.plot(truth["x"], truth["value"], color="#C00000", ls="--", lw=1.0, label="f")
    seen, after = (of_statistic(values, name) for name in ("observation", "next arm"))
    axis.plot(seen["x"], seen["value"], ls="", marker="x", color="black", ms=5, label="observations")
    axis.axvline(after["x"].iloc[0], color="0.5", lw=0.7, zorder=1)
    style: dict[str, Any] = {"ls": "", "marker": "v", "color": "#E69F00", "mec": "black", "ms": 7, "mew": 0.6}
    axis.plot(after["x"], after["value"], label="next arm", **style)
    hoped = of_statistic(values, "estimated maximum")
    if len(hoped):
        axis.plot(hoped["x"], hoped["value"], color="0.25", ls=DOTS, lw=1.2, label=r"estimated maximum $\hat m$")
    axis.set(xlim=(-0.03, 1.03), xlabel="x", ylabel="f(x)")
    axis.margins(y=0.08)
    return axis


def _draw_regions(axis: Axes, values: pd.DataFrame, low: float, high: float) -> None:
    """Draw the arms of either region as ticks below what is drawn, and the largest lower bound as a line."""
    for name, (place, colour, which) in _REGION_ROWS.items():
        mine = of_statistic(values, name)
        if len(mine):
            axis.axhline(mine["value"].iloc[0], color="0.55", lw=0.8, zorder=1)
            height = np.full(len(mine), low - (0.09 - place) * (high - low))
            axis.plot(mine["x"], height, "|", color=colour, ms=5, mew=1.0, label=f"region, {name} ({which})")
    axis.set_ylim(low - 0.13 * (high - low), high)


def bounds_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return panels of bounds with the relevance regions, side by side, in the order of the values."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 3.0), sharex=True, sharey=True, squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        draw_bounds(axis, values[values["panel"] == panel]).set_title(panel)
    low, high = axes[0, 0].get_ylim()
    for axis, panel in zip(axes[0], panels, strict=True):
        _draw_regions(axis, values[values["panel"] == panel], low, high)
        axis.label_outer()
    legend_below(figure)
    return headed(figure, title, setting)

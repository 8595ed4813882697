"""Bounds of UCB and EST on a line, widths and regions, and how GP-BUCB and LP-UCB fill a batch.

LP-UCB: Gonzalez, Dai, Hennig and Lawrence, "Batch Bayesian Optimization via Local Penalization", AISTATS 2016.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bestarm.policies.gaussian.batch_rules import Penalty, UpperBound
from bestarm.policies.gaussian.local_penalty import N_TRIED, lipschitz_constant, log_softplus, mean_weights, penalise
from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.moments import _MAXIMUM, CODE, TEXT, Moment, regions
from bestarm_studies.dpp_bbo.stacked import stacked
from bestarm_studies.dpp_bbo.values import of_statistic


def bounds_values(now: Moment, problem: CandidateArms, panel: str, profile: str, b: int = 0) -> pd.DataFrame:
    """Return confidence bounds on a line, by which the arm after the first b of a batch is chosen, as plotted values.
    The search has one replication, and its arms one feature, which is x. Statistics are ``mean`` with its bounds,
    ``f``, ``observation``, ``chosen`` (the first b arms), ``next arm`` (value: its upper bound), ``estimated maximum``
    (EST), and, before the first arm, the arms of both `regions` (value: the largest lower bound)."""
    x, state, arms = problem.features[..., 0].ravel(), now.state, now.batch[0]
    order, seen = np.argsort(x), state.conditioned[0, : state.n_known[0]]
    means, deviations = now.posterior(b)
    low, high = means - now.width(b) * deviations, means + now.width(b) * deviations
    parts = {
        "mean": (order, means, {"low": low[order], "high": high[order]}),
        "f": (order, problem.means[0], {}),
        "observation": (seen, None, {"value": state.rewards[0, : len(seen)]}),
        "chosen": (arms[:b], means, {}),
        "next arm": (arms[b : b + 1], high, {}),
    }
    if np.isfinite(state.log[0, _MAXIMUM]):
        parts["estimated maximum"] = (order[[0, -1]], None, {"value": state.log[0, _MAXIMUM]})
    if b == 0:
        parts |= {name: (np.sort(inside), None, {"value": low.max()}) for name, inside in regions(now).items()}
    frames = [
        pd.DataFrame({"x": x[at], "statistic": name} | ({} if y is None else {"value": y[at]}) | others)
        for name, (at, y, others) in parts.items()
    ]
    return as_values(pd.concat(frames, ignore_index=True), panel=panel, series=now.policy.label, profile=profile)


def penalty_values(now: Moment, problem: CandidateArms, n_arms: int, profile: str) -> pd.DataFrame:
    r"""Return LP-UCB's penalised acquisition before each of some arms, as plotted values, on arms with one feature.
    Statistics: ``acquisition``, :math:`g(\mu+w\sigma)` times the penalties so far; ``next arm``, its maximiser; and
    ``Lipschitz constant``, in the panel of the first arm."""
    state, x = now.state, problem.features[..., 0].ravel()
    points, seen, order = state.points[state.point_set[0]], state.conditioned[0, : state.n_known[0]], np.argsort(x)
    means, deviations = now.posterior()
    scaled = (state.rewards[0, : len(seen)] - state.offset[0]) / state.scale[0]
    found = lipschitz_constant(
        points,
        np.ascontiguousarray(points[:, seen].T),
        mean_weights(state.rows[0], state.pivots[0], seen, scaled),
        state.lengthscales[0],
        state.signal[0],
        N_TRIED,
        state.batch_key,
        state.replications[0],
        state.round,
    )
    rule = now.policy.rule
    width = (
        now.width()
        if not isinstance(rule, Penalty) or isinstance(rule.penalty_width, UpperBound)
        else rule.penalty_width
    )
    scores = log_softplus(means + width * deviations)
    frames = [pd.DataFrame({"statistic": ["Lipschitz constant"], "value": found, "panel": "arm 1"})]
    for b in range(n_arms):
        arm = int(scores.argmax())
        curve = pd.DataFrame({"statistic": "acquisition", "x": x[order], "value": np.exp(scores[order])})
        chosen = pd.DataFrame({"statistic": ["next arm"], "x": x[arm], "value": np.exp(scores[arm])})
        frames.append(pd.concat([curve, chosen]).assign(panel=f"arm {b + 1}"))
        penalise(scores, points, arm, means[arm], max(float(deviations[arm]), 1e-8), found, scaled.max())
    return as_values(pd.concat(frames, ignore_index=True), series=now.policy.label, profile=profile)


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
_BAND = "#56B4E9"
_REGION_ROWS = {TEXT: 0.045, CODE: 0.0}  # height above the floor of the axis, as a share of its range


def draw_bounds(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw one panel of `bounds_values`: mean, bounds, f, arms, and the regions at the foot."""
    mean, truth = (of_statistic(values, name).sort_values("x") for name in ("mean", "f"))
    x = mean["x"].to_numpy(dtype=np.float64)
    axis.fill_between(x, mean["low"], mean["high"], color=_BAND, alpha=0.3, lw=0)
    axis.plot(x, mean["value"], color="#0072B2", label="posterior mean")
    axis.plot(truth["x"], truth["value"], color="#C00000", ls="--", lw=1.0, label="f")
    seen, chosen, after = (of_statistic(values, name) for name in ("observation", "chosen", "next arm"))
    axis.plot(seen["x"], seen["value"], ls="", marker="x", color="black", ms=5, label="observations")
    if len(chosen):
        style: dict[str, Any] = {"ls": "", "marker": "o", "mfc": "white", "mec": "black", "ms": 5}
        axis.plot(chosen["x"], chosen["value"], label="arms of the batch, hallucinated", **style)
    if len(after):
        axis.axvline(after["x"].iloc[0], color="0.5", lw=0.7, zorder=1)
        style = {"ls": "", "marker": "v", "color": "#E69F00", "mec": "black", "ms": 7, "mew": 0.6}
        axis.plot(after["x"], after["value"], label="next arm", **style)
    hoped = of_statistic(values, "estimated maximum")
    if len(hoped):
        axis.plot(hoped["x"], hoped["value"], color="0.25", ls=DOTS, lw=1.2, label=r"estimated maximum $\hat m$")
    axis.set(xlim=(-0.03, 1.03), xlabel="x", ylabel="f(x)")
    axis.margins(y=0.08)
    return axis


def _draw_regions(axis: Axes, values: pd.DataFrame, low: float, high: float) -> None:
    """Draw the arms of either region as ticks below what is drawn, and the largest lower bound as a line."""
    styles = (("0.1", "upper"), ("#D55E00", "lower"))
    for (name, place), (colour, which) in zip(_REGION_ROWS.items(), styles, strict=True):
        mine = of_statistic(values, name)
        if len(mine):
            axis.axhline(mine["value"].iloc[0], color="0.55", lw=0.8, zorder=1)
            height = np.full(len(mine), low - (0.09 - place) * (high - low))
            axis.plot(
                mine["x"], height, ls="", marker="|", color=colour, ms=5, mew=1.0, label=f"region, {name} ({which})"
            )
    axis.set_ylim(low - 0.13 * (high - low), high)


def bounds_figure(values: pd.DataFrame, *, title: str, setting: str = "", regions: bool = False) -> Figure:
    """Return panels of bounds, two in a row, in the order of the values, with or without the relevance regions."""
    panels = list(dict.fromkeys(values["panel"]))
    n_rows = -(-len(panels) // 2)
    figure, axes = plt.subplots(
        n_rows, 2, figsize=wide(n_rows, 3.0 if regions else 2.3), sharex=True, sharey=True, squeeze=False
    )
    for axis, panel in zip(axes.flat, panels, strict=True):
        draw_bounds(axis, values[values["panel"] == panel]).set_title(panel)
    low, high = axes[0, 0].get_ylim()
    for axis, panel in zip(axes.flat, panels, strict=True):
        if regions:
            _draw_regions(axis, values[values["panel"] == panel], low, high)
        axis.label_outer()
    legend_below(figure)
    return headed(figure, title, setting)


def draw_penalty(axis: Axes, values: pd.DataFrame, before: pd.DataFrame | None) -> Axes:
    """Draw one panel of `penalty_values`, over the acquisition of the panel before as a thin line."""
    if before is not None:
        last = of_statistic(before, "acquisition")
        axis.plot(last["x"], last["value"], color="0.55", lw=0.9, ls="--", label="before the last penalty")
    now, arm = of_statistic(values, "acquisition"), of_statistic(values, "next arm")
    axis.plot(now["x"], now["value"], color="#0072B2", label="acquisition with its penalties")
    style: dict[str, Any] = {"ls": "", "marker": "v", "color": "#E69F00", "mec": "black", "ms": 7, "mew": 0.6}
    axis.plot(arm["x"], arm["value"], label="next arm", **style)
    axis.set(xlim=(-0.03, 1.03), xlabel="x")
    return axis


def filling_figure(bounds: pd.DataFrame, penalties: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return how a batch is filled without its rewards: bounds that shrink above, penalised acquisitions below."""

    def above(figure: Any) -> None:
        panels = list(dict.fromkeys(bounds["panel"]))
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, panel in zip(axes, panels, strict=True):
            draw_bounds(axis, bounds[bounds["panel"] == panel]).set_title(panel)
            axis.label_outer()
        legend_below(figure)

    def below(figure: Any) -> None:
        panels = list(dict.fromkeys(penalties["panel"]))
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        before = None
        for axis, panel in zip(axes, panels, strict=True):
            mine = penalties[penalties["panel"] == panel]
            draw_penalty(axis, mine, before).set_title(panel)
            before = mine
        axes[0].set(ylabel="acquisition", ylim=(0, 1.1 * float(of_statistic(penalties, "acquisition")["value"].max())))
        legend_below(figure)

    return stacked([(2.5, above), (2.3, below)], title, setting)

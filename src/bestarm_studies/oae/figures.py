"""Figures of batch searches: when runs find a top arm, and how well classes of networks fit."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from bestarm_lab.experiments.experiment import Experiment, settings_of
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.figures.figures import draw_lines, headed, legend_below, runs_text, wide
from bestarm_lab.figures.styles import DOTS, display_label, style_of
from bestarm_studies.oae.first_hits import BEYOND, MAIN_TAU
from bestarm_studies.oae.values import RANDOM_LAW

_PAPER = {"steps": 5000, "rounds": 150, "members": 10}
PARTS = {"share": f"share of runs with a top-{100 * MAIN_TAU:g}% arm", "batches": "batches until a top arm (mean)"}
SHORT_PARTS = {"share": "share of runs", "batches": "batches until\na top arm"}


def scale_words(experiments: Sequence[tuple[Experiment, Profile]], series: Sequence[str]) -> str:
    """Return in words how long the networks of some series were trained, and over how many batches they searched."""
    words = cut_words(experiments, series, _PAPER)
    own = not any("(paper: " in word for word in words)
    return ("the paper's own scale: " if own else "") + ", ".join(words)


def cut_words(
    experiments: Sequence[tuple[Experiment, Profile]], series: Sequence[str], paper: Mapping[str, int]
) -> list[str]:
    """Return the least steps, batches and members of some series in words, beside those of the ``paper`` if cut."""
    cuts: dict[str, list[int]] = {}
    for experiment, profile in experiments:
        searched = [experiment.series[s] for s in series if s in experiment.series]
        policies = [getattr(one, "policy", one) for one in searched]
        settings = {**paper, **experiment.scale(profile).settings}
        for name in {k for policy in policies for k in settings_of(policy)} & paper.keys():
            cuts.setdefault(name, []).append(settings[name])
    texts = {"steps": "{} training steps", "rounds": "{} batches", "members": "ensembles of {}"}
    least = {name: min(cuts[name]) for name in texts if name in cuts}
    return [texts[n].format(k) + (f" (paper: {paper[n]})" if k < paper[n] else "") for n, k in least.items()]


def draw_share_found(axis: Axes, values: pd.DataFrame, order: Sequence[str]) -> Axes:
    """Draw the share of runs that have seen a top arm against the batch, and the exact law of random batches dotted."""
    mine = values[values["statistic"] == "share found"]
    over = mine.groupby("series", sort=False)["value"].shift() >= 1.0
    banded = mine.assign(low=mine["low"].mask(over), high=mine["high"].mask(over))
    banded = banded[mine["series"] != RANDOM_LAW]
    draw_lines(axis, banded, order, marks="band", possible=(0.0, 1.0), highlight=order)
    law = mine[mine["series"] == RANDOM_LAW]
    axis.plot(law["x"], law["value"], color="0.35", ls=DOTS, lw=1.6, label=RANDOM_LAW, zorder=2)
    ends = mine[(mine["x"] == mine["x"].max()) & (mine["value"] < 1.0) & mine["series"].isin(order)]
    ends = ends.sort_values("value")
    for (_, end), height in zip(ends.iterrows(), _apart(ends["value"].to_numpy(dtype=np.float64), 0.085), strict=True):
        colour, marker, _ = style_of(end["series"])
        edge, width = (colour, 1.2) if marker == "x" else ("black", 0.4)
        mark: dict[str, Any] = {"color": colour, "marker": marker, "ms": 4, "mec": edge, "mew": width}
        axis.plot(1.03, height, **mark, clip_on=False, transform=axis.transAxes)
        never = f"{end['n'] * (1.0 - end['value']):.0f} never"
        axis.text(1.06, height, never, transform=axis.transAxes, color=colour, size=8, va="center")
    return axis


def _apart(heights: np.ndarray, gap: float) -> np.ndarray:
    """Return increasing heights moved as little as needed to keep a distance and to stay between 0 and 1."""
    found = heights.copy()
    if not len(found):
        return found
    for i in range(1, len(found)):
        found[i] = max(found[i], found[i - 1] + gap)
    found = found - max(found[-1] - 1.0, 0.0)
    for i in range(len(found) - 2, -1, -1):
        found[i] = min(found[i], found[i + 1] - gap)
    return found


def draw_batches(axis: Axes, values: pd.DataFrame, order: Sequence[str]) -> Axes:
    """Draw batches until a top arm against its quantile, the best to the right.
    Open: some runs never found one and count as one batch more than there are; a circle surrounds a cross."""
    mine = values[values["statistic"] == "batches"]
    exact = mine[mine["series"] == RANDOM_LAW]
    axis.plot(exact["x"], exact["value"], color="0.35", ls=DOTS, lw=1.6, label=RANDOM_LAW, zorder=1)
    draw_lines(axis, mine[mine["series"] != RANDOM_LAW], order, log="x", highlight=order)
    lost = values[(values["statistic"] == "censored") & (values["value"] > 0)]
    for series, x in lost[["series", "x"]].itertuples(index=False):
        if series in order:
            found = mine[(mine["series"] == series) & (mine["x"] == x)]["value"]
            colour, marker, _ = style_of(series)
            marker, size, front = ("o", 6, 3.5) if marker == "x" else (marker, 5, 4)
            axis.plot([x], found, ls="", marker=marker, ms=size, mfc="white", mec=colour, mew=1.2, zorder=front)
    taus = sorted(mine["x"].dropna().unique())
    axis.set_xlim(taus[-1] * 1.25, taus[0] / 1.25)
    axis.set_xticks(taus, [f"{t:g}" for t in taus])
    axis.minorticks_off()
    _log_ticks(axis, (3, 10, 30, 100))
    _fit_batches(axis, mine, order)
    return axis


def _fit_batches(axis: Axes, values: pd.DataFrame, order: Sequence[str]) -> None:
    """Give an axis, and those that share it, the range of all batches with their intervals."""
    drawn = values[(values["statistic"] == "batches") & values["series"].isin([*order, RANDOM_LAW])]
    lowest, highest = (drawn[[end, "value"]].to_numpy(dtype=np.float64) for end in ("low", "high"))
    axis.set_ylim(0.85 * float(np.nanmin(lowest)), 1.15 * float(np.nanmax(highest)))


def hits_figure(
    values: pd.DataFrame,
    columns: Mapping[str, Sequence[str]],
    *,
    title: str,
    setting: str = "",
    parts: Sequence[str] = ("share", "batches"),
    height: float = 2.3,
) -> Figure:
    """Return when runs find a top arm: a row for each panel, a column for each group of series and part.
    ``columns``: heading to series, at most three columns in all; ``parts``: "share", batch by batch, and "batches",
    over quantiles; ``height``: of a row in inches."""
    panels = list(dict.fromkeys(values["panel"]))
    places = [(heading, order, part) for heading, order in columns.items() for part in parts]
    n_columns = len(places) if len(places) > 1 else min(2 if len(panels) <= 6 else 3, len(panels))  # three rows
    cells = [(panel, *place) for panel in panels for place in places]
    n_rows = -(-len(cells) // n_columns)
    compared: Literal["none", "row"] = "row" if len(columns) == n_columns else "none"  # one part, group beside group
    figure, axes = plt.subplots(n_rows, n_columns, figsize=wide(n_rows, height), squeeze=False, sharey=compared)
    for number, (axis, (panel, heading, order, part)) in enumerate(zip(axes.flat, cells, strict=False)):
        mine = values[values["panel"] == panel]
        (draw_share_found if part == "share" else draw_batches)(axis, mine, order)
        stand_in = " · stand-in data" if (mine["data"] == "stand-in").any() else ""
        name = ": ".join(filter(None, [panel, heading])) + stand_in
        axis.set_title(name.replace(", ", ",\n") if n_columns > 2 else name)
        axis.set_xlabel("batch" if part == "share" else "top quantile τ (the best to the right)")
        if part != cells[number - 1][3] or number % n_columns == 0:
            axis.set_ylabel(PARTS[part].replace("with a", "with\na").replace("until a top arm ", "until a top arm\n"))
    for axis in axes.flat[len(cells) :]:
        axis.set_axis_off()
    order = list(dict.fromkeys(s for one in columns.values() for s in one))
    return _headed_hits(figure, values, order, parts, title, setting)


def networks_figure(
    values: pd.DataFrame,
    order: Sequence[str],
    *,
    title: str,
    setting: str = "",
    part: str = "batches",
    height: float = 1.75,
) -> Figure:
    """Return when runs find a top arm: a row for each class of networks, a column for each set of arms.
    Panels are named "class: set"; the exact law of random batches is drawn; ``part`` is as in `hits_figure`."""
    names = [str(panel).split(": ") for panel in dict.fromkeys(values["panel"])]
    classes, sets = (list(dict.fromkeys(name[place] for name in names)) for place in (0, 1))
    size = wide(len(classes), height)
    figure, axes = plt.subplots(len(classes), len(sets), figsize=size, squeeze=False, sharex=True, sharey=True)
    draw = draw_share_found if part == "share" else draw_batches
    for network, row in zip(classes, axes, strict=True):
        for name, axis in zip(sets, row, strict=True):
            draw(axis, values[values["panel"] == f"{network}: {name}"], order)
        row[0].set_ylabel(f"{network}\n{SHORT_PARTS[part]}")
    for name, axis in zip(sets, axes[0], strict=True):
        axis.set_title(name)
    for axis in axes[-1]:
        axis.set_xlabel("batch" if part == "share" else "top τ in %")
        if part == "batches":
            axis.set_xticks(axis.get_xticks(), [f"{100 * tau:g}" for tau in axis.get_xticks()])
    if part == "batches":
        _fit_batches(axes[0, 0], values, order)
    return _headed_hits(figure, values, order, [part], title, setting)


def _log_ticks(axis: Axes, ticks: Sequence[float]) -> None:
    axis.set_yscale("log")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])


def two_lines(values: pd.DataFrame) -> dict[str, str]:
    """Return headings of panels that are named "class: set", on two lines."""
    return {panel: str(panel).replace(": ", "\n") for panel in dict.fromkeys(values["panel"])}


def _headed_hits(
    figure: Figure, values: pd.DataFrame, order: Sequence[str], parts: Sequence[str], title: str, setting: str
) -> Figure:
    beyond = set(values.loc[values["statistic"] == BEYOND, "series"])
    legend_below(figure, [*order, RANDOM_LAW])
    labels = {display_label(series) for series in beyond}
    for text in figure.legends[0].get_texts():
        if text.get_text() in labels:
            text.set_text(f"{text.get_text()} †")
    shown = values[values["series"].isin(order) & values["statistic"].isin(["share found", "batches"])]
    words = [runs_text(shown["n"])]
    words += ["bands: 95% intervals"] * ("share" in parts)
    words += [
        "bars: 95% bootstrap intervals; open or circled marker: some runs never found one and count as one batch "
        "more than there are"
    ] * ("batches" in parts)
    words += [setting, "† some fits gave outputs above $10^4$" if beyond & set(order) else ""]
    return headed(figure, title, *words)

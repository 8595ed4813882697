"""Forests: what each change is worth, one line for each, under a heading for each algorithm."""

import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from bestarm_lab.figures.figures import WIDTH, headed, runs_text
from bestarm_lab.figures.styles import CONVENTIONS, display_label, style_of
from bestarm_lab.figures.values import interval_text

LINE_HEIGHT = 0.17  # inches
RATIO_TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
NARROW_RATIO_TICKS = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 2.5]


class EffectScale(NamedTuple):
    """What effects are measured against; `forest` takes each of these by its name."""

    reference: float = 0.0  # reference, reference_label: where nothing changes, and what stands there
    reference_label: str = "as written"
    log: bool = False  # whether values are ratios, on a logarithmic axis


def forest_lines(values: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the lines of a forest from top to bottom as (series, name); a heading has no name."""
    lines: dict[str, dict[str, None]] = {}
    for series, name in zip(values["series"], values["x"], strict=True):
        lines.setdefault(series, {"": None})[name] = None
    return [(series, name) for series, named in lines.items() for name in named]


def unmoved(values: pd.DataFrame, reference: float) -> pd.DataFrame:
    """Return, as ``series, x``, the changes that change nothing in any panel."""
    still = np.isclose(values[["value", "low", "high"]], reference, rtol=0.0, atol=1e-12).all(axis=1)
    everywhere = pd.Series(still, index=values.index).groupby([values["series"], values["x"]], sort=False).all()
    found = everywhere[everywhere].index.to_frame(index=False)
    return found[found["x"] != ""]


def _draw_column(axis: Axes, values: pd.DataFrame, lines: list[tuple[str, str]], scale: EffectScale, key: str) -> None:
    """Draw the values of one panel, hollow where an interval includes the reference, which ``key`` names."""
    table = values.set_index(["series", "x"])[["value", "low", "high"]]
    for place, line in enumerate(lines):
        if line not in table.index:
            continue
        value, low, high = table.loc[[line]].to_numpy(dtype=np.float64)[0]
        if not line[1]:
            if not scale.log:
                box = {"fc": "white", "ec": "none", "pad": 0.5}
                text, where = f"{key}: {value:.3f}", axis.get_yaxis_transform()
                axis.text(0.02, place, text, transform=where, va="center", size=8, bbox=box)
            continue
        colour, marker, _ = style_of(line[0])
        axis.plot([low, high], [place] * 2, color="0.25", lw=1.3, solid_capstyle="butt", zorder=2)
        clear = low > scale.reference or high < scale.reference
        face: dict[str, Any] = {"mfc": colour, "mec": "black"} if clear else {"mfc": "white", "mec": colour}
        axis.plot(value, place, marker=marker, **face, mew=0.6 if clear else 1.2, ms=5, ls="", zorder=3)
    axis.axvline(scale.reference, color="0.3", lw=0.9, ls="--", zorder=1)
    axis.set_yticks(range(len(lines)), [f"   {name}" if name else display_label(series) for series, name in lines])
    axis.set_ylim(len(lines) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", visible=True)


def forest(
    values: pd.DataFrame,
    *,
    statistic: str,
    title: str,
    what: str,
    setting: str = "",
    titles: Mapping[str, str] | None = None,
    hide_unmoved: bool = True,
    better: str = "",
    share_x: bool = True,
    **scale: Any,
) -> Figure:
    """Return a forest: a column for each panel and convention.

    ``values`` has the columns of a figure's CSV, as `bestarm_lab.figures.values.paired_effects` makes them. ``title``
    is the finding, a sentence, ``setting`` where and how, written below it after n; ``what`` is the label of the axis.
    ``titles`` has the panels that are shown, in order, with their headings. Changes that change nothing anywhere are
    only named below the title, unless ``hide_unmoved`` is false. ``better`` ("", "lower" or "higher") is the better
    side of the reference; with ``share_x`` all columns have one range of x. ``scale`` are attributes of `EffectScale`.
    """
    measure = EffectScale(**scale)
    titles = titles or {str(panel): str(panel) for panel in dict.fromkeys(values["panel"])}
    mine = values[(values["statistic"] == statistic) & values["panel"].isin(list(titles))]
    still = unmoved(mine, measure.reference)
    if not hide_unmoved or len(still) == len(mine.loc[mine["x"] != "", ["series", "x"]].drop_duplicates()):
        still = still.iloc[:0]  # where nothing moves at all, as with two runs, all lines are shown
    shown = mine[~pd.MultiIndex.from_frame(mine[["series", "x"]]).isin(pd.MultiIndex.from_frame(still))]
    shown = shown[shown["series"].isin(shown.loc[shown["x"] != "", "series"])]
    conventions = [c for c in CONVENTIONS if c in set(shown["convention"])]
    columns = [(panel, c) for panel in titles for c in conventions]
    lines = forest_lines(shown)
    words_of = {c: textwrap.fill(CONVENTIONS[c], 64 // len(columns)) for c in conventions}
    size = (WIDTH, LINE_HEIGHT * len(lines) + 1.1)
    figure, axes = plt.subplots(1, len(columns), figsize=size, squeeze=False, sharex=share_x, sharey=True)
    for axis, (panel, convention) in zip(axes[0], columns, strict=True):
        part = shown[(shown["panel"] == panel) & (shown["convention"] == convention)]
        key = measure.reference_label.replace("as written", convention.replace("_", " "))
        _draw_column(axis, part, lines, measure, key)
        alone = part[part["x"] != ""] if len(columns) == 1 else part.iloc[:0]
        for _, line in alone.iterrows():
            place, text = lines.index((line["series"], line["x"])), interval_text(*line[["value", "low", "high"]])
            axis.text(1.02, place, text, transform=axis.get_yaxis_transform(), size=8, va="center")
        stand_in = "\nstand-in data" if (part["data"] == "stand-in").any() else ""
        axis.set_title(titles[panel] + (f"\n{words_of[convention]}" if len(conventions) > 1 else "") + stand_in)
        own = shown if share_x else part
        _range_of(axis, own[own["x"] != ""], measure, max(2, 12 // len(columns)))
    sides = {"lower": "better ←  → worse", "higher": "worse ←  → better"}
    what = textwrap.fill(" · ".join(filter(None, [what, sides.get(better, "")])), 90)
    dashed = Line2D([], [], color="0.3", lw=0.9, ls="--", label=measure.reference_label)
    style: dict[str, Any] = {"marker": "o", "color": "0.25", "mec": "black", "ms": 5}
    point = Line2D([], [], **style, mfc="0.6", label="effect with 95% interval")
    entries = [dashed, point, Line2D([], [], **style, mfc="white", label=f"interval includes {measure.reference:g}")]
    figure.legend(handles=entries, loc="outside lower center", ncols=3, title=what, title_fontsize="medium")
    for label, (_, name) in zip(axes[0, 0].get_yticklabels(), lines, strict=True):
        label.set(fontweight="normal" if name else "bold")
    named = [f"{series}: {', '.join(part['x'])}" for series, part in still.groupby("series", sort=False)]
    nothing = f"Nothing changes with {'; '.join(named)}." if named else ""
    small = "; ".join(filter(None, [runs_text(shown["n"]), setting]))
    return headed(figure, title, ". ".join(filter(None, [small, nothing])))


def _range_of(axis: Axes, values: pd.DataFrame, scale: EffectScale, ticks_at_most: int) -> None:
    low, high = min(values["low"].min(), scale.reference), max(values["high"].max(), scale.reference)
    if not scale.log:
        room = 0.04 * (high - low) or 0.1
        axis.set_xlim(low - room, high + room)
        axis.xaxis.set_major_locator(MaxNLocator(min(ticks_at_most, 4)))
        return
    room = (max(high, 1.1) / min(low, 0.9)) ** 0.05
    low, high = min(low, 0.9) / room, max(high, 1.1) * room
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    ticks = [t for t in (NARROW_RATIO_TICKS if high < 4 * low else RATIO_TICKS) if low <= t <= high]
    every = -(-len(ticks) // 6)
    axis.xaxis.set_major_locator(FixedLocator(ticks[ticks.index(1.0) % every :: every]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))

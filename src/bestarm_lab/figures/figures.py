"""Lines over plotted values: rows of panels are conventions, columns are panels, and a line is a series."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator

from bestarm_lab.figures.printed import apart, theirs_of
from bestarm_lab.figures.styles import CONVENTIONS, Style, display_label, style_of

WIDTH = 8.0  # inches
MOST_COLOURS = 8  # more series than a reader can follow; the others are grey
_OTHERS = "0.55"
_SPACING, _GROUP = 0.13, 0.8  # between markers of several series at one category, and at most of all; lines stay

# the paper's own values: larger than a series' marker, and hollow, so that one on the other is seen
_DIAMOND: dict[str, Any] = {"ls": "none", "marker": "D", "ms": 7, "mfc": "none", "mec": "0.25", "mew": 1.5, "zorder": 4}

Range = tuple[float | None, float | None]


class PanelStyle(NamedTuple):
    """How panels of lines are drawn; `line_panels` and `draw_lines` take each of these by its name.

    ``places, log, possible`` and ``reference`` may each be a mapping from panel to value.
    """

    # ``"interval"``, ``"band"``, ``"none"``, or ``"standard deviation"``: a band of the statistic of that name
    marks: str = "interval"
    spread: str = "95% intervals"  # what bars and bands are, in words
    # {"", "even"}: whether the values of x stand at equal distances. Words always do, and are never joined
    places: Any = ""
    # {"", "x", "y", "xy"}: logarithmic axes. With "y" a value of zero is an open marker at its upper limit
    log: Any = ""
    possible: Any = None  # range that values can have: intervals are clipped to it, and a panel shows it whole
    reference: Any = None  # a dashed line; ``reference_label`` is its entry in the legend
    reference_label: str = ""
    # series in colour where there are more than eight, the others grey; by default the first eight
    highlight: Sequence[str] = ()
    joined: bool = True  # whether points of a series are joined
    styles: Mapping[str, Style] | None = None  # for series that are no algorithms
    wrap: int = 0  # panels in a row, by default up to three
    height: float = 2.4  # of a row of panels, in inches
    share_y: bool = True  # whether all panels have the same y


_BY_PANEL = ("places", "log", "possible", "reference")  # what may be a mapping from panel to value


def wide(n_rows: int = 1, height: float = 2.6) -> tuple[float, float]:
    """Return the size of a figure with so many rows of panels."""
    return WIDTH, height * n_rows


def wrapped(text: str, letters: float) -> list[str]:
    """Return the lines of a text; formulas are not broken."""
    kept = re.sub(r"\$[^$]*\$", lambda formula: formula.group().replace(" ", "\0"), text)
    return [line.replace("\0", " ") for line in textwrap.wrap(kept, int(letters), break_on_hyphens=False)]


def headed(figure: Figure, title: str, *settings: str) -> Figure:
    """Write the finding and, smaller, the settings that are not empty over a figure, which grows by their height."""
    width, height = figure.get_size_inches()
    finding, small = wrapped(title, 11 * width), wrapped("; ".join(filter(None, settings)), 15 * width)
    head = 0.175 * len(finding) + 0.145 * len(small) + 0.12
    figure.set_size_inches(width, height + head)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, 0.0, 1.0, height / (height + head)))
    top = 1.0 - 0.05 / (height + head)
    figure.text(0.008, top, "\n".join(finding), va="top", fontsize=10, fontweight="bold")
    below = top - (0.175 * len(finding) + 0.01) / (height + head)
    figure.text(0.008, below, "\n".join(small), va="top", fontsize=8, color="0.25")
    return figure


def headings(figure: Figure) -> list[Text]:
    """Return the finding and the setting over a figure, where it has them."""
    return [text for text in figure.texts if text.get_verticalalignment() == "top"]


def legend_below(figure: Any, order: Sequence[str] = ()) -> None:
    """Write one legend under all panels; labels in the given order, then the others."""
    found: dict[str, Any] = {}
    for axis in figure.axes:
        found |= {b: a for a, b in zip(*axis.get_legend_handles_labels(), strict=True) if b not in found}
    labels = [label for label in map(display_label, order) if label in found]
    labels += [label for label in found if label not in labels]
    if labels:
        handles = [found[label] for label in labels]
        figure.legend(handles, labels, loc="outside lower center", ncols=legend_columns(labels, WIDTH))


def legend_columns(labels: Sequence[str], width: float) -> int:
    """Return in how many columns a legend with these labels has room, in so many inches."""
    return max(1, min(int(width / (0.062 * max(map(len, labels)) + 0.62)), len(labels)))


def runs_text(n: pd.Series) -> str:
    """Return how many runs stand behind each point, in words; nothing for exact values."""
    n = n[n > 1].astype(int)
    return "" if n.empty else f"n = {n.max()} runs" if n.nunique() == 1 else f"n = {n.min()} to {n.max()} runs"


def draw_lines(axis: Axes, values: pd.DataFrame, order: Sequence[str], **style_of_panel: Any) -> Axes:
    """Draw one line for each series, with its interval, in the attributes of a `PanelStyle`.

    ``values`` has one statistic: ``series, x, value, low, high``; rows of what the paper prints of it become hollow
    diamonds. ``order`` is that of the legend. Labels and legend are the caller's.
    """
    drawn_as = PanelStyle(**style_of_panel)
    log, possible = drawn_as.log, drawn_as.possible or (None, None)
    values, printed = apart(values)
    shown = [label for label in order if label in set(values["series"])]
    coloured = set(drawn_as.highlight) or set(shown[:MOST_COLOURS])
    words = not pd.api.types.is_numeric_dtype(values["x"])
    even = words or drawn_as.places == "even"
    xs = list(dict.fromkeys(values["x"])) if words else sorted(values["x"].dropna().unique())
    floor, ceiling = (float(sign * np.inf) if end is None else end for sign, end in zip((-1, 1), possible, strict=True))
    for number, label in enumerate(shown):
        mine = values[values["series"] == label]
        mine = mine if words else mine.sort_values("x")
        aside = words * min(_SPACING, _GROUP / len(shown)) * (number - (len(shown) - 1) / 2)
        x = _places(mine["x"], xs if even else None) + aside
        y, low, high = (mine[name].to_numpy(dtype=np.float64) for name in ("value", "low", "high"))
        low, high = np.clip(low, floor, ceiling), np.clip(high, floor, ceiling)
        zero = (y <= 0) & ("y" in log)
        y, low = np.where(zero, np.nan, y), np.where(zero, np.nan, low)
        own, grey = (drawn_as.styles or {}).get(label) or style_of(label), label not in coloured
        colour = _OTHERS if grey else own.colour
        style: dict[str, Any] = {"color": colour, "marker": own.marker or None, "zorder": 1.5 if grey else 3}
        style |= {"ms": 3.5 if grey else 5, "mew": 1.2 if own.marker == "x" else 0.4, "lw": 0.8 if grey else 1.4}
        style |= {} if own.marker == "x" else {"mec": colour if grey else "black"}
        line = own.line if drawn_as.joined and not words else "none"
        every = max(1, len(x) // 8)
        axis.plot(x, y, ls=line, markevery=(number % every, every), label=display_label(label), **style)
        if zero.any():
            axis.plot(x[zero], high[zero], ls="none", **style | {"mfc": "white", "mec": colour, "mew": 1.2})
        for end, top in zip(x[zero], high[zero], strict=True):
            axis.annotate("", (end, top * 0.55), (end, top), arrowprops={"arrowstyle": "->", "color": colour})
        if drawn_as.marks in ("band", "standard deviation"):
            axis.fill_between(x, low, high, color=colour, alpha=0.08 if grey or len(shown) > 4 else 0.18, lw=0)
        elif drawn_as.marks == "interval" and not grey:
            reach = np.nan_to_num(np.maximum([y - low, high - y], 0.0))
            axis.errorbar(x, y, yerr=reach, fmt="none", ecolor=colour, elinewidth=1.0, zorder=2.5)
        for theirs in (rows[rows["series"] == label] for rows in printed.values()):
            x = _places(theirs["x"], xs if even else None) + aside
            axis.plot(x, theirs["value"], **_DIAMOND | {"mec": colour})
    for entry in printed:
        axis.plot([], [], **_DIAMOND, label=entry)
    _scales(axis, xs, even=even, words=words, log=log, possible=possible)
    return axis


def _places(x: pd.Series, xs: Sequence[Any] | None) -> np.ndarray:
    """Return where values of x stand on the axis: at themselves, or at their number among all of them."""
    return np.array(x if xs is None else [xs.index(value) for value in x], dtype=np.float64)


def _scales(axis: Axes, xs: Sequence[Any], *, even: bool, words: bool, log: str, possible: Range) -> None:
    if even:
        width: Any = axis.get_figure()
        room = int(axis.get_position().width * width.get_size_inches()[0] / len(xs) / 0.07) if len(xs) else 1
        names = [textwrap.fill(str(x), max(room, 6), break_long_words=False) if words else f"{x:g}" for x in xs]
        axis.set_xticks(range(len(xs)), names)
        axis.set_xlim(-0.5, len(xs) - 0.5)
    elif "x" in log:
        axis.set_xscale("log")
        if len(xs) <= 8:
            axis.set_xticks(xs, [f"{x:g}" for x in xs])
            axis.xaxis.set_minor_locator(NullLocator())
    elif all(float(x).is_integer() for x in xs):  # a count
        axis.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    if "y" in log:
        axis.set_yscale("log")
        axis.yaxis.set_minor_formatter(NullFormatter())
        return
    low, high = possible
    if low is not None and high is not None:
        axis.set_ylim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    elif low is not None:
        axis.axhline(low, alpha=0.0)  # in view, while the upper end still follows the data


def line_panels(
    values: pd.DataFrame,
    order: Any,
    *,
    title: str,
    statistic: Any,
    setting: str = "",
    x: Any = "",
    y: Any = "",
    titles: Mapping[str, str] | None = None,
    figure: Any = None,
    **style: Any,
) -> Figure:
    """Return panels of lines: a row for each convention, a column for each panel, a line for each series.

    ``order, statistic, x`` and ``y`` may each be a mapping from panel to value. ``values`` has the columns of a
    figure's CSV, ``order`` the series in the order of the legend, those without values left out. ``title`` is the
    finding, a sentence, ``setting`` where and how, written below it after n. ``titles`` has the panels that are shown,
    in order, with their headings. With ``figure``, a SubFigure, it is drawn there, without the title. ``style`` are
    attributes of `PanelStyle`: marks, axes, reference, colours and sizes.
    """
    drawn_as = PanelStyle(**style)
    marks, spread = drawn_as.marks, drawn_as.spread
    titles = titles or {str(panel): str(panel) for panel in dict.fromkeys(values["panel"])}
    conventions = [c for c in CONVENTIONS if c in set(values["convention"])]
    columns = drawn_as.wrap or ((4 if len(conventions) > 1 else 2) if len(titles) == 4 else min(3, len(titles)))
    names = list(titles)
    rows = [(names[k : k + columns], c) for k in range(0, len(names), columns) for c in conventions]
    drawn = figure or plt.figure(figsize=wide(len(rows), drawn_as.height))
    by_panel = (statistic, y, drawn_as.log, drawn_as.possible)
    share = drawn_as.share_y and not any(isinstance(given, Mapping) for given in by_panel)
    axes = drawn.subplots(len(rows), columns, squeeze=False, sharey=share)
    counts, any_spread, labels = [], False, dict.fromkeys(order if not isinstance(order, Mapping) else ())
    for (panels, convention), line in zip(rows, axes, strict=True):
        for axis, panel in zip(line, panels, strict=False):
            mine = values[(values["panel"] == panel) & (values["convention"] == convention)]
            shown = mine[mine["statistic"] == _at(statistic, panel)]
            if marks == "standard deviation":
                wide_by = mine[mine["statistic"] == marks].set_index(["series", "x"])["value"]
                by = wide_by.reindex(pd.MultiIndex.from_frame(shown[["series", "x"]])).to_numpy()
                shown = shown.assign(low=shown["value"] - by, high=shown["value"] + by)
            series = _at(order, panel) or ()
            labels |= dict.fromkeys(series)
            theirs = theirs_of(values[values["panel"] == panel], _at(statistic, panel))
            here = drawn_as._replace(**{key: _at(getattr(drawn_as, key), panel) for key in _BY_PANEL})
            draw_lines(axis, pd.concat([shown, theirs]), series, **here._asdict())
            _draw_reference(axis, shown["x"], here)
            counts.append(shown["n"])
            any_spread |= bool((shown["high"] > shown["low"]).any())
            axis.set_title(titles[panel] + (" · stand-in data" if (mine["data"] == "stand-in").any() else ""))
            axis.set_xlabel(_at(x, panel))
            if axis is line[0] or not share:
                start = f"{CONVENTIONS[convention]}\n" if len(conventions) > 1 and axis is line[0] else ""
                axis.set_ylabel(start + _at(y, panel))
        for axis in line[len(panels) :]:
            axis.set_axis_off()
    legend_below(drawn, list(labels))
    if figure is None:
        kind = {"interval": "bars", "none": ""}.get(marks, "bands") if any_spread else ""
        spread = "one standard deviation over runs" if marks == "standard deviation" else spread
        headed(drawn, title, runs_text(pd.concat(counts)), f"{kind}: {spread}" if kind else "", setting)
    return drawn


def _at(given: Any, panel: str) -> Any:
    return given.get(panel, "") if isinstance(given, Mapping) else given


def _draw_reference(axis: Axes, x: pd.Series, drawn_as: PanelStyle) -> None:
    reference = drawn_as.reference
    if reference is None or reference == "":
        return
    style: dict[str, Any] = {"color": "0.3", "ls": "--", "lw": 1.0, "zorder": 1, "label": drawn_as.reference_label}
    if callable(reference):
        xs = np.array(sorted(x.dropna().unique()), dtype=np.float64)
        axis.plot(np.arange(len(xs)) if drawn_as.places == "even" else xs, [reference(v) for v in xs], **style)
    else:
        axis.axhline(reference, **style)


def draw_quantiles(axis: Axes, values: pd.DataFrame, order: Sequence[str]) -> Axes:
    """Draw the distribution of each series from its quantiles: 5% to 95% thin, the quartiles thick, the largest a tick.

    Series stand from top to bottom in ``order``; ``values`` has ``series, statistic, value`` with the statistics ``5%
    quantile, q1, median, q3, 95% quantile, largest``.
    """
    table = values.set_index(["series", "statistic"])["value"]
    for place, label in enumerate(order):
        colour, marker, _ = style_of(label)
        for low, high, width in (("5% quantile", "95% quantile", 1.2), ("q1", "q3", 4.5)):
            axis.plot([table[label, low], table[label, high]], [place] * 2, color=colour, lw=width, zorder=2)
        axis.plot(table[label, "median"], place, marker=marker, color=colour, mec="black", mew=0.7, ms=6, zorder=3)
        axis.plot(table[label, "largest"], place, marker="|", color="black", ms=8, zorder=3)
    axis.set_yticks(range(len(order)), [display_label(label, 32) for label in order])
    axis.set_ylim(len(order) - 0.4, -0.6)
    axis.grid(axis="x")
    return axis

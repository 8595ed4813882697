"""Figures of the GPOO paper that no other paper has: functions over regret, heat maps over K and S, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import WIDTH, draw_lines, headed, legend_below, line_panels, runs_text, wide
from bestarm_lab.figures.styles import CONVENTIONS, Style

SIZE_STYLES = {"S = 1": Style("#0072B2", "s"), "S = 10": Style("#4B97E2", "o", "--")}


def draw_function(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw a reward function, ``statistic`` "f", with its optimum in red; as coded it is dashed."""
    for convention, mine in values.groupby("convention", sort=False):
        curve, best = (mine[mine["statistic"] == name] for name in ("f", "optimum"))
        colour, line = ("black", "-") if convention == "as_written" else ("0.45", "--")
        label = str(convention).replace("_", " ")
        axis.plot(curve["x"].astype(float), curve["value"], color=colour, ls=line, label=label)
        axis.plot(best["x"].astype(float), best["value"], "o", color="#C00000", mec="black", ms=6, zorder=4)
    axis.set(xlim=(0, 1), xlabel="x", ylabel="f(x)")
    if values["convention"].nunique() > 1:
        axis.set_ylim(top=1.35)
        axis.legend(loc="upper center", ncols=2)
    return axis


def regret_figure(
    functions: Mapping[str, pd.DataFrame],
    values: pd.DataFrame,
    order: Sequence[str],
    *,
    title: str,
    titles: Mapping[str, str],
    setting: str = "",
    marks: str = "band",
) -> Figure:
    """Return the reward functions (row 1) over the regret of each convention (rows below), one column for each panel.

    Parameters
    ----------
    functions : mapping of str to DataFrame
        Panel to `bestarm_studies.gpoo.values.function_values`.
    values : DataFrame
        Plotted values with ``panel`` and ``convention``; statistics "mean" and "standard deviation".
    order : sequence of str
        Series.
    title, setting : str
        The finding; where and how.
    titles : mapping of str to str
        Panel to heading.
    marks : {"band", "standard deviation"}
        The band: the 95% interval of the mean, or one standard deviation over runs.
    """
    given = {
        "statistic": "mean",
        "x": "budget N (evaluations)",
        "y": "mean regret",
        "titles": titles,
        "marks": marks,
        "possible": (0.0, 1.0),
        "title": title,
        "wrap": len(titles),
    }
    n_rows = values["convention"].nunique()
    figure = plt.figure(figsize=(WIDTH, 1.7 + 2.6 * n_rows))
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.7, 2.6 * n_rows])
    above, below = parts
    for axis, (panel, heading) in zip(above.subplots(1, len(titles), squeeze=False)[0], titles.items(), strict=True):
        draw_function(axis, functions[panel]).set_title(heading)
    line_panels(values, order, figure=below, **given)  # type: ignore[arg-type]
    band = "one standard deviation over runs" if marks == "standard deviation" else "95% intervals"
    words = [runs_text(values["n"]), f"bands: {band}", setting]
    return headed(figure, title, "; ".join(filter(None, words)))


def grid_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return heat maps of the log mean regret over K and S: one column for each budget, one row for each convention.

    All panels have one range of colours; a frame marks the best K for each S.
    """
    conventions = [c for c in CONVENTIONS if c in set(values["convention"])]
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(
        len(conventions), len(panels), figsize=wide(len(conventions), 3.0), squeeze=False, sharex=True, sharey=True
    )
    low, high = values["value"].min(), values["value"].max()
    for row, convention in enumerate(conventions):
        for column, panel in enumerate(panels):
            mine = values[(values["panel"] == panel) & (values["convention"] == convention)]
            table = mine.pivot_table(index="x", columns="series", values="value").sort_index(ascending=False)
            table.columns = [c.removeprefix("K = ") for c in table.columns]
            axis = axes[row, column]
            sns.heatmap(
                table,
                ax=axis,
                cmap="viridis",
                annot=True,
                fmt=".2f",
                annot_kws={"size": 8},
                cbar=False,
                vmin=low,
                vmax=high,
            )
            for place, best in enumerate(np.argmin(table.to_numpy(), axis=1)):
                axis.add_patch(plt.Rectangle((best + 0.04, place + 0.05), 0.92, 0.9, fill=False, ec="#D55E00", lw=2))
            axis.set(xlabel="K (children)" if row == len(conventions) - 1 else "", title=panel)
            axis.set_ylabel(f"{CONVENTIONS[convention]}\nS (representatives)" if column == 0 else "")
            axis.tick_params(axis="y", rotation=0)
    bar = figure.colorbar(axes[0, 0].collections[0], ax=axes, shrink=0.7)
    bar.set_label("natural logarithm of the mean regret")
    words = [runs_text(values["n"]), "smaller is better; orange: the best K for each S", setting]
    return headed(figure, title, "; ".join(filter(None, words)))


def settings_figure(values: pd.DataFrame, *, title: str, setting: str = "", x: str = "") -> Figure:
    """Return regret against a setting: a column for each function, a row for each convention.

    A marker for each S, filled at the last budget and open at the first. Settings that are "name = number" stand on
    a logarithmic axis, joined by lines; others are categories.
    """
    conventions = [c for c in CONVENTIONS if c in set(values["convention"])]
    panels = list(dict.fromkeys(values["panel"]))
    budgets = sorted(values["statistic"].unique(), key=lambda text: int(text.split()[-1]))
    numbers = pd.to_numeric(values["x"].astype(str).str.extract(r"^\D*?([\d.]+)$")[0], errors="coerce")
    continuous = bool(numbers.notna().all()) and values["x"].nunique() > 2
    words = values["x"].astype(str).str.replace(r"14·(\d)\^-h", r"$14\\cdot\1^{-h}$", regex=True)
    shown = values.assign(x=numbers if continuous else words)
    shown = shown.assign(series=shown["series"] + ", " + shown["statistic"])
    order = [f"{size}, {budget}" for size in SIZE_STYLES for budget in budgets]
    styles = {
        f"{size}, {budget}": Style(colour, marker, "-" if budget == budgets[-1] else "--")
        for size, (colour, marker, _) in SIZE_STYLES.items()
        for budget in budgets
    }
    figure, axes = plt.subplots(
        len(conventions), len(panels), figsize=wide(len(conventions), 2.5), squeeze=False, sharey="row"
    )
    for row, convention in enumerate(conventions):
        for axis, panel in zip(axes[row], panels, strict=True):
            mine = shown[(shown["panel"] == panel) & (shown["convention"] == convention)]
            draw_lines(axis, mine, order, styles=styles, log="x" * continuous, possible=(0.0, None))
            for line in axis.lines:
                if str(line.get_label()).endswith(budgets[0]) and len(budgets) > 1:
                    line.set(markerfacecolor="white", markeredgecolor=line.get_color(), markeredgewidth=1.2)
            axis.set_title(panel)
            axis.set_xlabel(x if row == len(conventions) - 1 else "")
        axes[row, 0].set_ylabel(f"{CONVENTIONS[convention]}\nmean regret")
    legend_below(figure, order)
    return headed(figure, title, "; ".join(filter(None, [runs_text(values["n"]), "bars: 95% intervals", setting])))

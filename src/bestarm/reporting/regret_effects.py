"""What one change does to the regret: paired differences on the same noise, as a forest; regret against a setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy import stats

from bestarm.reporting.figures import APPEARANCE, CONVENTION_TITLES, OTHER
from bestarm.reporting.forest import LINE_HEIGHT, forest_lines
from bestarm.reporting.regret_claims import measure_text, values_of
from bestarm.reporting.summaries import COLUMNS, mean_interval


def regret_effects(
    rows: pd.DataFrame,
    panel: str,
    profile: str,
    measures: Sequence[Mapping[str, Any]],
    metric: str = "aggregated_regret",
) -> pd.DataFrame:
    """Return the effect of each change: the series "A | B" minus A, paired by replication, with 95% t-intervals.

    Parameters
    ----------
    rows : DataFrame
        Rows of an audit; the series without a bar are the references.
    panel, profile : str
        Instance; scale of the run.
    measures : sequence of mapping
        See `bestarm.reporting.regret_claims`; they become the statistic.
    metric : str
        Column.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV; the series is A, x is B; with x = "" the mean of A itself.
    """
    table = []
    for convention, group in rows.groupby("convention", sort=False):
        for label in group["series"].unique():
            base, _, change = label.partition(" | ")
            line = {"panel": panel, "series": base, "x": change, "convention": convention, "profile": profile}
            for measure in measures:
                values = values_of(group, label, metric, measure)
                if change:
                    values = values - values_of(group, base, metric, measure)
                mean, low, high = mean_interval(values)
                line |= {"statistic": measure_text(measure), "value": mean, "low": low, "high": high, "n": len(values)}
                table.append(line | {"data": group["data"].iloc[0]})
    return pd.DataFrame(table).reindex(columns=COLUMNS)


def draw_effects(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw one line for each change under a heading for each algorithm: its difference with its interval."""
    lines = forest_lines(values)
    for place, (series, name, row) in enumerate(lines):
        if row is None or not name:
            continue
        line = values.iloc[row]
        colour, marker = APPEARANCE.get(series, OTHER)
        axis.plot([line["low"], line["high"]], [place] * 2, color="0.25", lw=1.3, zorder=2)
        axis.plot(line["value"], place, marker=marker, color=colour, mec="black", mew=0.6, ms=5, ls="", zorder=3)
    axis.axvline(0.0, color="0.3", lw=0.9, ls="--", zorder=1)
    words = [
        f"   {name}" if name else f"{series}: {values.iloc[row]['value']:.3f}" if row is not None else series
        for series, name, row in lines
    ]
    axis.set_yticks(range(len(lines)), words, fontsize=7.5)
    for label, (_, name, _) in zip(axis.get_yticklabels(), lines, strict=True):
        label.set_fontweight("normal" if name else "bold")
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(len(lines) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", visible=True)
    return axis


def effects_figure(
    values: pd.DataFrame, statistic: str, titles: Mapping[str, str], *, quantity: str = "regret"
) -> Figure:
    """Return forests side by side, a column for each panel: differences of the mean of a quantity at one measure.

    The number beside an algorithm's name is its own mean.
    """
    mine = values[values["statistic"] == statistic]
    n_lines = max(len(forest_lines(mine[mine["panel"] == panel])) for panel in titles)
    n_columns = len(titles) if len(titles) <= 3 else 2
    n_rows = -(-len(titles) // n_columns)
    size = (4.4 * n_columns, n_rows * (LINE_HEIGHT * n_lines + 1.0))
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)
    for axis, (panel, title) in zip(axes.ravel(), titles.items(), strict=True):
        draw_effects(axis, mine[mine["panel"] == panel])
        axis.set_title(title)
        what = quantity if statistic == quantity else f"{quantity}, {statistic}"
        axis.set_xlabel(f"change of {what},\nwith 95% interval, n = {int(mine['n'].min())}")
        axis.xaxis.set_major_locator(MaxNLocator(5))
    figure.supxlabel(f"{mine['profile'].iloc[0]} profile", fontsize=8)
    return figure


def setting_values(
    rows: pd.DataFrame, panel: str, profile: str, budgets: Sequence[int], metric: str = "aggregated_regret"
) -> pd.DataFrame:
    """Return mean regret with 95% intervals at some budgets; series are "S = s, setting", split into series and x.

    The statistic is "N = budget".
    """
    chosen = rows[rows["budget"].isin(budgets)]
    found = chosen.groupby(["convention", "series", "budget"], sort=False)[metric].agg(["mean", "std", "size"])
    found = found.reset_index().rename(columns={"size": "n", "mean": "value"})
    reach = stats.t.ppf(0.975, np.maximum(found["n"] - 1, 1)) * found["std"] / np.sqrt(found["n"])
    parts = found["series"].str.split(", ", n=1, expand=True)
    found = found.assign(
        series=parts[0], x=parts[1], low=found["value"] - reach, high=found["value"] + reach,
        statistic="N = " + found["budget"].astype(str), panel=panel, profile=profile, data=rows["data"].iloc[0],
    )  # fmt: skip
    return found.reindex(columns=COLUMNS)


def draw_settings(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw regret at each setting: a marker for each S, filled at the last budget, open at the first."""
    places = {x: k for k, x in enumerate(dict.fromkeys(values["x"]))}
    looks = {"S = 1": ("#0072B2", "s"), "S = 10": ("#E69F00", "o")}
    budgets = sorted(values["statistic"].unique(), key=lambda text: int(text.split()[-1]))
    for number, (names, mine) in enumerate(values.groupby(["series", "statistic"], sort=False)):
        series, budget = (str(name) for name in names)
        colour, marker = looks.get(series, OTHER)
        x = mine["x"].map(places).to_numpy(dtype=np.float64) + 0.12 * (number - 1.5)
        face = colour if budget == budgets[-1] else "white"
        reach = np.maximum([mine["value"] - mine["low"], mine["high"] - mine["value"]], 0.0)
        axis.errorbar(
            x, mine["value"], yerr=np.nan_to_num(reach), ls="", marker=marker, color=colour, mfc=face, ms=5, capsize=2,
            elinewidth=1.0, label=f"{series}, {budget}",
        )  # fmt: skip
    axis.set_xticks(range(len(places)), list(places), rotation=30, ha="right", fontsize=7.5)
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
    return axis


def settings_figure(values: pd.DataFrame, title: str) -> Figure:
    """Return regret against a setting: a column for each function, a row for each convention."""
    conventions = [c for c in CONVENTION_TITLES if c in set(values["convention"])]
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(
        len(conventions), len(panels), figsize=(3.9 * len(panels) + 0.6, 2.9 * len(conventions) + 0.6), squeeze=False
    )
    for row, convention in enumerate(conventions):
        for column, panel in enumerate(panels):
            mine = values[(values["panel"] == panel) & (values["convention"] == convention)]
            axis = draw_settings(axes[row, column], mine)
            axis.set_title(f"{panel}, {CONVENTION_TITLES[convention]}")
            axis.set_ylabel(f"regret, mean and 95% interval, n = {int(mine['n'].max())}", fontsize=7.5)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, 2 * len(panels)), fontsize=8)
    figure.suptitle(f"{title} · {values['profile'].iloc[0]} profile", fontsize=9)
    return figure


def effects_table(values: pd.DataFrame, statistics: Sequence[str], change: str) -> pd.DataFrame:
    """Return as text each algorithm's regret as written and what a change adds, with 95% intervals."""
    lines = []
    for (panel, series), group in values.groupby(["panel", "series"], sort=False):
        for statistic in statistics:
            mine = group[group["statistic"] == statistic].set_index("x")
            if change not in mine.index:
                continue
            added = mine.loc[change]
            lines.append(
                {
                    "function": panel,
                    "algorithm": series,
                    "measure": statistic,
                    "as written": f"{float(mine['value'].loc['']):.3f}",
                    change: f"{added['value']:+.3f} [{added['low']:+.3f}, {added['high']:+.3f}]",
                }
            )
    return pd.DataFrame(lines)


def ranking_values(
    settings: pd.DataFrame, others: pd.DataFrame, rivals: Mapping[str, Sequence[str]], panel: str, profile: str
) -> pd.DataFrame:
    """Return how GPOO under each setting stands against other algorithms: paired differences of mean regret.

    Parameters
    ----------
    settings : DataFrame
        Rows whose series are "S = s, setting".
    others : DataFrame
        Rows of the other algorithms on the same function, hence on the same noise.
    rivals : mapping
        For each "S = s" the series of ``others`` that it is compared with.
    panel, profile : str
        Function; scale.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV: x is the setting, the series "S = s against rival", the statistic the measure; a
        value below 0 is in GPOO's favour.
    """
    budgets, table = set(settings["budget"]) & set(range(10, 81)), []
    measure = {"over": [10, 80]}
    for convention, mine in settings[settings["budget"].isin(budgets)].groupby("convention", sort=False):
        theirs = others[(others["convention"] == convention) & others["budget"].isin(budgets)]
        for label in mine["series"].unique():
            size, _, setting = label.partition(", ")
            for rival in rivals[size]:
                values = values_of(mine, label, "aggregated_regret", measure)
                mean, low, high = mean_interval(values - values_of(theirs, rival, "aggregated_regret", measure))
                line = {"panel": panel, "series": f"{size} against {rival}", "x": setting, "value": mean, "low": low}
                line |= {"high": high, "n": len(values), "convention": convention, "profile": profile}
                table.append(line | {"statistic": measure_text(measure), "data": "synthetic"})
    return pd.DataFrame(table).reindex(columns=COLUMNS)


def ranking_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return for each setting in how many comparisons GPOO is better, worse, or neither (95% interval)."""
    verdict = np.select([values["high"] < 0, values["low"] > 0], ["better", "worse"], "undecided")
    counts = pd.crosstab([values["convention"], values["x"]], verdict).reindex(columns=["better", "worse", "undecided"])
    order = values[["convention", "x"]].drop_duplicates()
    counts = counts.fillna(0).astype(int).reindex(pd.MultiIndex.from_frame(order))
    return counts.reset_index().rename(columns={"x": "setting"})

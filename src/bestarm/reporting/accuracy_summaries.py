"""Rows of fixed-budget searches to plotted values: the share of runs that find the best arm, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from bestarm.reporting.summaries import COLUMNS, mean_interval


def in_cells(rows: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of some cells.

    Parameters
    ----------
    rows : DataFrame
        With a column for each varied setting of the problem and ``budget``.
    where : mapping
        Setting to a value or a list of values; ``per_arm`` is the budget over ``n_arms``.
    """
    kept = np.ones(len(rows), dtype=np.bool_)
    for name, values in where.items():
        column = rows["budget"] / rows["n_arms"] if name == "per_arm" else rows[name]
        kept &= column.isin(values if isinstance(values, list) else [values]).to_numpy()
    return rows[kept]


def summarise_accuracy(rows: pd.DataFrame, x: str, profile: str, *, panel: str = "budget") -> pd.DataFrame:
    """Return accuracy with Wilson's 95% interval, and means of simple regret and pulls with t-intervals, by cell.

    Parameters
    ----------
    rows : DataFrame
        Rows with ``convention, series, replication, correct, simple_regret, pulls, data``, and the columns that ``x``
        and ``panel`` name.
    x : str
        The setting on the abscissa.
    profile : str
        Scale.
    panel : str
        What a panel is: a column, ``"per_arm"`` (budget over ``n_arms``), or a text that stands for itself.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV; statistics ``accuracy``, ``simple regret``, ``pulls``.
    """
    if panel == "per_arm":
        name = "B/K = " + (rows["budget"] / rows["n_arms"]).round(2).map("{:g}".format)
    elif panel in rows:
        name = f"{'B' if panel == 'budget' else panel} = " + rows[panel].map("{:g}".format)
    else:
        name = pd.Series(panel, index=rows.index)
    table = []
    groups = rows.assign(panel=name).groupby(["panel", "convention", "series", x], sort=False)
    for (where, convention, series, value), cell in groups:
        line = {"panel": where, "convention": convention, "series": series, "x": value, "profile": profile}
        line |= {"n": len(cell), "data": cell["data"].iloc[0]}
        k, n = int(cell["correct"].sum()), len(cell)
        low, high = proportion_confint(k, n, method="wilson")
        table.append(line | {"statistic": "accuracy", "value": k / n, "low": low, "high": high})
        for statistic, column in (("simple regret", "simple_regret"), ("pulls", "pulls")):
            mean, low, high = mean_interval(cell[column].astype(np.float64))
            table.append(line | {"statistic": statistic, "value": mean, "low": low, "high": high})
    return pd.DataFrame(table).reindex(columns=COLUMNS)


def accuracy_table(values: pd.DataFrame, statistic: str = "accuracy", decimals: int = 3) -> pd.DataFrame:
    """Return values with half-widths of their intervals as text: a row for each series, a column for each cell."""
    mine = values[values["statistic"] == statistic].copy()
    half = 0.5 * (mine["high"] - mine["low"])
    mine["text"] = [f"{v:.{decimals}f} ± {h:.{decimals}f}" for v, h in zip(mine["value"], half, strict=True)]
    mine["cell"] = mine["panel"] + ", " + mine["x"].map("{:g}".format)
    index = ["convention", "series"]
    table = mine.pivot(index=index, columns="cell", values="text")
    return table.reindex(mine.set_index(index).index.unique(), columns=mine["cell"].unique()).reset_index()


def best_settings(rows: pd.DataFrame, cells: Sequence[str]) -> pd.DataFrame:
    """Return, for each algorithm, which of its settings has the highest accuracy on the average over the cells.

    Series are called "A | setting"; the columns are ``series, setting, accuracy, chosen``.
    """
    means = rows.groupby(["series", *cells], sort=False)["correct"].mean().groupby("series", sort=False).mean()
    found = means.rename("accuracy").reset_index()
    found[["series", "setting"]] = found["series"].str.split(" | ", regex=False, expand=True)
    found["chosen"] = found["accuracy"] == found.groupby("series")["accuracy"].transform("max")
    return found[["series", "setting", "accuracy", "chosen"]]

"""Plotted values of several sections: reward functions, regret over budgets and its paired differences."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Rows
from bestarm_lab.figures.values import as_values, mean_interval, summarise, text_table
from bestarm_studies.gpoo.cell_bandit import CellBandit

BUDGETS = (10, 80)  # regrets are averaged between these where one number stands for a curve


def regret_of(metric: str) -> dict[str, tuple[str, str | float]]:
    """Return the statistics of a column of regrets: its mean and its standard deviation over runs."""
    return {"mean": (metric, "mean"), "standard deviation": (metric, "standard deviation")}


def function_values(problem: CellBandit, panel: str, convention: str, profile: str) -> pd.DataFrame:
    """Return a reward function on 401 points of its interval, and its best point, as plotted values."""
    x = np.linspace(problem.partition.lower[0], problem.partition.upper[0], 401)
    where, best = problem.best
    curve = pd.DataFrame({"x": x, "value": problem.evaluate(x[:, None]), "statistic": "f"})
    top = pd.DataFrame({"x": where[:, 0], "value": best, "statistic": "optimum"})
    found = pd.concat([curve, top], ignore_index=True)
    return as_values(found, panel=panel, series="f", convention=convention, profile=profile)


def regret_values(rows: Rows, profile: str, metrics: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return mean and standard deviation of a regret over budgets, one panel for each frame of rows.
    ``metrics`` maps panels to columns; by default every panel shows the aggregated regret."""
    found = []
    for panel, frame in rows.items():
        kinds = regret_of((metrics or {}).get(panel, "aggregated_regret"))
        found.append(summarise(frame, kinds, x="budget", panel=panel, profile=profile))
    return pd.concat(found, ignore_index=True)


def regret_table(values: pd.DataFrame, budgets: Sequence[int]) -> pd.DataFrame:
    """Return mean regrets at some budgets as text, with 95% intervals."""
    entry, index = "{value:.3f} [{low:.3f}, {high:.3f}]", ("panel", "convention", "series")
    return text_table(values[values["x"].isin(budgets)], "mean", entry, index=index, columns="N = {x:g}")


def difference_values(
    rows: Rows, lines: Mapping[str, tuple[str, str]], profile: str, metrics: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return paired differences of mean regret at every budget, with 95% intervals, one panel for each frame of rows.
    ``lines``: series to (left, right), left out where a convention lacks one; ``metrics``: as of `regret_values`."""
    table = []
    for panel, frame in rows.items():
        metric = (metrics or {}).get(panel, "aggregated_regret")
        for convention, mine in frame.groupby("convention", sort=False):
            wide = mine.pivot_table(index=["budget", "replication"], columns="series", values=metric)
            for series, (left, right) in lines.items():
                if not {left, right} <= set(wide):
                    continue
                for budget, runs in (wide[left] - wide[right]).dropna().groupby(level="budget"):
                    value, low, high = mean_interval(runs)
                    line = {"panel": panel, "series": series, "x": budget, "value": value, "low": low, "high": high}
                    table.append(line | {"n": len(runs), "convention": convention, "data": mine["data"].iloc[0]})
    return as_values(pd.DataFrame(table), statistic="difference", profile=profile)

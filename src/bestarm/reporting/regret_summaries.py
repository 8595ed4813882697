"""Rows of searches over budgets to plotted values: mean regret with its interval and spread at each budget."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.problems.cell_bandit import CellBandit
from bestarm.reporting.summaries import COLUMNS


def summarise_regret(
    rows: pd.DataFrame, panel: str, profile: str, *, metric: str = "aggregated_regret", n_runs: int | None = None
) -> pd.DataFrame:
    """Return mean with 95% t-interval and standard deviation of a metric at each budget.

    Parameters
    ----------
    rows : DataFrame
        Rows with the columns ``convention, series, replication, budget, data`` and the metric.
    panel, profile : str
        The panel's letter; the scale of the run.
    metric : str
        Which column.
    n_runs : int, optional
        Only the first so many replications, as many as the paper has.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV; x is the budget.
    """
    if n_runs is not None:
        rows = rows[rows["replication"] < n_runs]
    found = rows.groupby(["convention", "series", "budget"], sort=False)[metric].agg(["mean", "std", "size"])
    found = found.reset_index().rename(columns={"budget": "x", "size": "n"})
    reach = stats.t.ppf(0.975, np.maximum(found["n"] - 1, 1)) * found["std"] / np.sqrt(found["n"])
    base = found.assign(panel=panel, profile=profile, data=rows["data"].iloc[0])
    means = base.assign(statistic="mean", value=found["mean"], low=found["mean"] - reach, high=found["mean"] + reach)
    spreads = base.assign(statistic="standard deviation", value=found["std"])
    return pd.concat([means, spreads], ignore_index=True).reindex(columns=COLUMNS)


def function_values(problem: CellBandit, panel: str, convention: str, profile: str) -> pd.DataFrame:
    """Return a reward function on 401 points of its interval, and its best point, as plotted values."""
    x = np.linspace(problem.partition.lower[0], problem.partition.upper[0], 401)
    where, best = problem.best
    curve = pd.DataFrame({"x": x, "value": problem.evaluate(x[:, None]), "statistic": "f"})
    top = pd.DataFrame({"x": where[:, 0], "value": best, "statistic": "optimum"})
    found = pd.concat([curve, top], ignore_index=True)
    found = found.assign(panel=panel, series="f", n=1, convention=convention, profile=profile, data="synthetic")
    return found.reindex(columns=COLUMNS)


def summarise_grid(rows: pd.DataFrame, budgets: list[int], profile: str) -> pd.DataFrame:
    """Return the logarithm of the mean regret for each K and S, with the interval's ends on the same scale.

    The series are called "K = k, S = s"; the panel is the budget, x is S.
    """
    frames = []
    for budget in budgets:
        means = summarise_regret(rows[rows["budget"] == budget], f"N = {budget}", profile)
        means = means[means["statistic"] == "mean"].copy()
        means["x"] = means["series"].str.extract(r"S = (\d+)")[0].astype(int)
        means["series"] = means["series"].str.extract(r"(K = \d+)")[0]
        for column in ("value", "low", "high"):
            means[column] = np.log(means[column].clip(lower=1e-12))
        frames.append(means.assign(statistic="log mean"))
    return pd.concat(frames, ignore_index=True)


def regret_table(values: pd.DataFrame, budgets: list[int]) -> pd.DataFrame:
    """Return mean regrets with their 95% intervals as text: a row for each series, a column for each budget."""
    means = values[(values["statistic"] == "mean") & values["x"].isin(budgets)].copy()
    means["text"] = [
        f"{mean:.3f} [{low:.3f}, {high:.3f}]"
        for mean, low, high in zip(means["value"], means["low"], means["high"], strict=True)
    ]
    index = ["panel", "convention", "series"]
    table = means.pivot(index=index, columns="x", values="text").reindex(means.set_index(index).index.unique())
    table.columns = [f"N = {int(budget)}" for budget in table.columns]
    return table.reset_index()

"""Ranking of GPOO among the other algorithms under each setting."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm_lab.figures.values import as_values, mean_interval
from bestarm_studies.gpoo.values import BUDGETS

RIVALS = {"S = 1": ("StoOO", "GPTree"), "S = 10": ("AVE-StoOO", "GPTree")}  # of GPOO, for each S


def ranking_values(
    settings: pd.DataFrame, others: pd.DataFrame, rivals: Mapping[str, Sequence[str]], panel: str, profile: str
) -> pd.DataFrame:
    """Return how GPOO under each setting stands against other algorithms: paired differences of mean regret.
    Series of ``settings`` are "S = s, setting"; ``others`` are on the same noise; ``rivals``: for each "S = s" series
    of ``others``. x is the setting, the series "S = s against rival"; a value below 0 is in GPOO's favour."""
    budgets = sorted(set(settings["budget"]) & set(range(BUDGETS[0], BUDGETS[1] + 1)))
    both = pd.concat([settings, others])
    both = both[both["budget"].isin(budgets) & both["budget"].between(*BUDGETS)]
    means = both.groupby(["convention", "series", "replication"], sort=True)["aggregated_regret"].mean()
    table = []
    for convention, series in settings[["convention", "series"]].drop_duplicates().itertuples(index=False):
        size, _, setting = series.partition(", ")
        for rival in rivals[size]:
            difference = (means[convention, series] - means[convention, rival]).dropna()
            mean, low, high = mean_interval(difference)
            line = {"series": f"{size} against {rival}", "x": setting, "value": mean, "low": low, "high": high}
            table.append(line | {"n": len(difference), "convention": convention})
    name = "mean over N = {}-{}".format(*BUDGETS)
    return as_values(pd.DataFrame(table), panel=panel, statistic=name, profile=profile)


def ranking_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return for each setting in how many comparisons GPOO is better, worse, or neither (95% interval)."""
    verdict = np.select([values["high"] < 0, values["low"] > 0], ["better", "worse"], "undecided")
    counts = pd.crosstab([values["convention"], values["x"]], verdict).reindex(columns=["better", "worse", "undecided"])
    order = values[["convention", "x"]].drop_duplicates()
    counts = counts.fillna(0).astype(int).reindex(pd.MultiIndex.from_frame(order))
    table = counts.reset_index().rename(columns={"x": "setting"})
    return table.assign(convention=table["convention"].str.replace("_", " "))


def rankings(
    settings: Mapping[str, Mapping[str, pd.DataFrame]], others: Mapping[str, pd.DataFrame], profile: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `ranking_values` against `RIVALS` on every function, and `ranking_table` for each thing that is varied.
    ``settings``: what is varied to function to rows; ``others``: function to rows of the rivals."""
    values, tables = [], []
    for varied, rows in settings.items():
        mine = pd.concat([ranking_values(rows[f], others[f], RIVALS, f, profile) for f in rows], ignore_index=True)
        values.append(mine)
        tables.append(ranking_table(mine).assign(varied=varied))
    columns = ["varied", "convention", "setting", "better", "worse", "undecided"]
    return pd.concat(values, ignore_index=True), pd.concat(tables)[columns]

"""Rows of replications to the points of curves: one tidy row for each point, with its interval and its n."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from bestarm.reporting.section import Section
from bestarm.reporting.summaries import COLUMNS, mean_interval
from bestarm_studies.linear_topm.misspecified import MisspecifiedBandit


def run_family(section: Section, points: Mapping[str, float | str]) -> pd.DataFrame:
    """Return the rows of several experiments as one frame with the point of each as x."""
    return at_points({x: section.rows(name) for name, x in points.items()})


def split_series(rows: pd.DataFrame, symbol: str) -> pd.DataFrame:
    """Return rows whose series read ``name, symbol = number`` with the name as series and the number as x.

    Raises
    ------
    ValueError
        If a series does not read so.
    """
    parts = rows["series"].str.extract(rf"^(?P<series>.+), {symbol} = (?P<x>[\d.]+)$")
    if parts.isna().any(axis=None):
        wrong = rows.loc[parts["x"].isna(), "series"].iloc[0]
        raise ValueError(f"expected series such as 'name, {symbol} = 3', got {wrong!r}.")
    return rows.assign(series=parts["series"], x=parts["x"].astype(float))


def at_points(rows: Mapping[float | str, pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several experiments as one frame with the point of each as x."""
    return pd.concat([frame.assign(x=x) for x, frame in rows.items()], ignore_index=True)


def curve_values(
    rows: pd.DataFrame, column: str, statistic: str, panel: str, profile: str, *, frequency: bool = False
) -> pd.DataFrame:
    """Return the points of one panel: the mean of a column with its 95% interval, for each series and x.

    Parameters
    ----------
    rows : DataFrame
        ``convention, series, x, data`` and the column.
    column : str
        What is averaged.
    statistic : str
        Name of the statistic in the figure's CSV.
    panel, profile : str
        As in `bestarm.reporting.summaries`.
    frequency : bool, default=False
        Whether the column is one of zeros and ones, which gets Wilson's interval instead of the t-interval.
    """
    table = []
    for (convention, series, x), group in rows.groupby(["convention", "series", "x"], sort=False):
        outcomes = group[column].astype(float)
        mean, low, high = mean_interval(outcomes)
        if frequency:
            low, high = proportion_confint(int(outcomes.sum()), len(outcomes), method="wilson")
        table.append(
            {"panel": panel, "series": series, "x": x, "statistic": statistic, "value": mean, "low": low, "high": high,
             "n": len(group), "convention": convention, "profile": profile, "data": group["data"].iloc[0]}
        )  # fmt: skip
    return pd.DataFrame(table).reindex(columns=COLUMNS)


def prediction_values(problem: MisspecifiedBandit, panel: str, profile: str) -> pd.DataFrame:
    """Return the true mean of each arm, with its linear prediction as x."""
    values = pd.DataFrame({"x": problem.features @ problem.theta, "value": problem.means[0]})
    values["series"] = [f"arm {a}" for a in range(len(values))]
    return values.assign(
        panel=panel, statistic="true mean", n=1, convention="as_written", profile=profile, data=problem.data
    ).reindex(columns=COLUMNS)

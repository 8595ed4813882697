"""Rows of replications to plotted values: one tidy row for each statistic, with its interval and its n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

COLUMNS = ["panel", "series", "x", "statistic", "value", "low", "high", "n", "convention", "profile", "data"]
QUANTILES = {"5% quantile": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "95% quantile": 0.95}


def mean_interval(values: pd.Series) -> tuple[float, float, float]:
    """Return the mean of independent values and its 95% t-interval."""
    mean, n = float(values.mean()), len(values)
    reach = float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return mean, mean - reach, mean + reach


def summarise_sample_complexity(
    rows: pd.DataFrame, panel: str, profile: str, recorded: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Return the values of one panel of sample complexities, in the columns of a figure's CSV.

    Parameters
    ----------
    rows : DataFrame
        Final rows of an experiment: ``convention, series, replication, pulls, correct, stopped, data``.
    panel, profile : str
        The panel's letter in the paper; the scale of the run.
    recorded : mapping, optional
        ``n`` and, for each series, [mean, standard deviation, errors] of the authors' own runs.

    Returns
    -------
    DataFrame
        Mean with its 95% t-interval and quantiles of the pulls, error frequency with its 95% Wilson interval, number of
        runs that did not stop, and the authors' means with their 95% normal interval.
    """
    table: list[dict[str, Any]] = []
    for (convention, series), group in rows.groupby(["convention", "series"], sort=False):
        base = {"panel": panel, "series": series, "n": len(group), "convention": convention, "profile": profile}
        base["data"] = group["data"].iloc[0]
        pulls, errors = group["pulls"].astype(np.float64), int((1.0 - group["correct"]).sum())
        mean, low, high = mean_interval(pulls)
        table.append(base | {"statistic": "mean", "value": mean, "low": low, "high": high})
        table.append(base | {"statistic": "standard deviation", "value": pulls.std(ddof=1)})
        table += [base | {"statistic": name, "value": pulls.quantile(q)} for name, q in QUANTILES.items()]
        low, high = proportion_confint(errors, len(group), method="wilson")
        table.append(base | {"statistic": "error rate", "value": errors / len(group), "low": low, "high": high})
        table.append(base | {"statistic": "not stopped", "value": int((~group["stopped"]).sum())})
        if recorded and series in recorded and convention == "as_coded":
            theirs, spread, _ = recorded[str(series)]
            reach = 1.96 * spread / np.sqrt(recorded["n"])
            authors = {"statistic": "authors' mean", "value": theirs, "low": theirs - reach, "high": theirs + reach}
            table.append(base | authors | {"n": recorded["n"]})
    return pd.DataFrame(table).reindex(columns=COLUMNS)


def agreement_with_recorded(rows: pd.DataFrame, recorded: Mapping[str, Any]) -> pd.DataFrame:
    """Compare our as-published means with the authors' recorded ones: one z-test a series.

    Returns
    -------
    DataFrame
        ``series, ours, authors, ratio, z, p`` (two-sided, not yet adjusted for the number of tests).
    """
    table = []
    for series, group in rows[rows["convention"] == "as_coded"].groupby("series", sort=False):
        if series not in recorded:
            continue
        theirs, spread, _ = recorded[str(series)]
        pulls = group["pulls"].astype(np.float64)
        z = (pulls.mean() - theirs) / np.sqrt(pulls.var(ddof=1) / len(pulls) + spread**2 / recorded["n"])
        p = 2.0 * stats.norm.sf(abs(z))
        line = {
            "series": series,
            "ours": pulls.mean(),
            "authors": theirs,
            "ratio": pulls.mean() / theirs,
            "z": z,
            "p": p,
        }
        table.append(line)
    return pd.DataFrame(table)

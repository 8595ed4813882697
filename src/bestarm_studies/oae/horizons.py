"""Verdicts and means by how a search is counted: by the quantile, by the batches that are watched, by mean or median.

A run that never found a top arm counts as one batch more than there are, so that a mean over 150 batches is one over
this horizon. Here the same runs are read over fewer batches, and claims at other quantiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bestarm_lab.claims.choices import decided_alone
from bestarm_lab.claims.kinds import ClaimTest
from bestarm_lab.claims.records import Claim
from bestarm_lab.figures.values import as_values, share_interval
from bestarm_lab.paths import RESULTS
from bestarm_lab.results import verdict_rows
from bestarm_lab.study import load_study
from bestarm_studies.oae.checks import VALUES
from bestarm_studies.oae.experiments import BATCH
from bestarm_studies.oae.first_hits import (
    MAIN_TAU,
    comparable_runs,
    first_hits,
    random_mean,
    random_survival,
    until_found,
    without_broken,
)
from bestarm_studies.oae.values import RANDOM_LAW, bootstrap_interval

HORIZONS = (50, 150)
COUNTED = {"5%": "first_hit_5", "1%": "first_hit", "0.2%": "first_hit_02"}  # the claims' quantity at each quantile
QUANTILE_COLUMNS = ["claim", *COUNTED]
QUANTILES = RESULTS / "oae" / "quantiles.csv"


def horizon_values(sets: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return for each set and series how many batches a top-1% arm takes if only so many are watched.

    Parameters
    ----------
    sets : mapping of str to DataFrame
        Rows of searches with at least as many batches as the longest of `HORIZONS`.
    profile : str
        Scale.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV, x the horizon, 50 or 150 batches. Statistics ``batches``, the mean with runs that
        found none in time as one batch more than the horizon, with a 95% bootstrap interval; ``found``, the share of
        runs that found one in time, with Wilson's interval; ``median``, infinite where half of the runs found none.
        Those of random batches are of their exact law.
    """
    frames = []
    for panel, rows in sets.items():
        rows = comparable_runs(rows)
        if (last := int(rows["round"].max())) < max(HORIZONS):
            raise ValueError(f"{panel} has {last} batches, a horizon of {max(HORIZONS)} needs as many.")
        n_arms = int(rows["arm_count"].iloc[0])
        hits = first_hits(without_broken(until_found(rows)), MAIN_TAU)
        table: list[dict[str, Any]] = []
        for series, mine in hits.groupby(level="series", sort=False):
            first = mine["first"].where(~mine["censored"], np.inf).to_numpy(dtype=np.float64)
            for horizon in HORIZONS:
                seen = np.minimum(first, horizon + 1.0)
                line, found = {"series": series, "x": horizon, "n": len(first)}, int((first <= horizon).sum())
                table.append(line | _between("batches", float(seen.mean()), bootstrap_interval(seen)))
                table.append(line | _between("found", found / len(first), share_interval(found, len(first))))
                median = float(np.median(np.where(first <= horizon, first, np.inf)))
                table.append(line | {"statistic": "median", "value": median})
        for horizon in HORIZONS:
            law = {"series": RANDOM_LAW, "x": horizon, "n": 0}
            gone = random_survival(n_arms, MAIN_TAU, BATCH, horizon)
            table.append(law | {"statistic": "batches", "value": random_mean(n_arms, MAIN_TAU, BATCH, horizon)})
            table.append(law | {"statistic": "found", "value": 1.0 - float(gone[-1])})
            half = np.flatnonzero(gone <= 0.5)
            table.append(law | {"statistic": "median", "value": float(half[0]) if len(half) else np.inf})
        frames.append(as_values(pd.DataFrame(table), panel=panel, profile=profile, data=rows["data"].iloc[0]))
    return pd.concat(frames, ignore_index=True)


def _between(statistic: str, value: float, interval: tuple[float, float]) -> dict[str, Any]:
    return {"statistic": statistic, "value": value, "low": interval[0], "high": interval[1]}


def horizon_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `horizon_values` as text, a row for each set and series."""
    lines = []
    for (panel, series), mine in values.groupby(["panel", "series"], sort=False):
        line = {"set": panel, "series": series}
        for horizon in HORIZONS:
            at = mine[mine["x"] == horizon].set_index("statistic")
            mean = at.loc["batches"]
            line[f"mean over {horizon} batches"] = f"{mean['value']:.1f}" + (
                f" [{mean['low']:.1f}, {mean['high']:.1f}]" if np.isfinite(mean["low"]) else ""
            )
        numbers = mine.set_index(["statistic", "x"])["value"]
        median = numbers["median", max(HORIZONS)]
        line["median"] = f"{median:g}" if np.isfinite(median) else f"more than {max(HORIZONS)}"
        line |= {f"found by batch {horizon}": f"{100 * numbers['found', horizon]:.0f}%" for horizon in HORIZONS}
        lines.append(line)
    return pd.DataFrame(lines)


def at_quantiles(claims: Mapping[str, Claim], rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return what claims on batches until a top-1% arm become if another quantile is counted.

    Parameters
    ----------
    claims : mapping
        The study's claims; those on other quantities, and those of whose experiments there are no rows, are left out.
    rows : mapping of str to DataFrame
        Rows by the names of their experiments.

    Returns
    -------
    DataFrame
        ``claim`` and a verdict at each of the quantiles in `COUNTED`, each claim by itself, at 5% and unadjusted for
        the number of claims.
    """
    lines = []
    for identity, claim in claims.items():
        test = claim.test
        if not isinstance(test, ClaimTest) or test.quantity.name != "first_hit":
            continue
        if not all(e in rows for e in test.experiments()):
            continue
        line = {"claim": identity}
        for words, name in COUNTED.items():
            quantity = replace(test.quantity, values={test.quantity.name: VALUES[name]})
            read = replace(test, quantity=quantity)
            line[words], _ = decided_alone(read, rows)
        lines.append(line)
    return pd.DataFrame(lines, columns=QUANTILE_COLUMNS)


def write_quantiles() -> None:
    """Commit `at_quantiles` of the committed rows; a claim's card on the site has its line."""
    study = load_study("oae")
    _, larger = verdict_rows(study)
    at_quantiles(study.claims, larger).to_csv(QUANTILES, index=False, lineterminator="\n")

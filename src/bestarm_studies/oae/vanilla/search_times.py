"""Summaries of the time until a top arm is found: means over fewer and over all batches, medians, shares of runs.

A run that never found a top arm counts as one batch more than there are, so that a mean over 150 batches is one over
this horizon. Here the same runs are read over fewer batches, too.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm_lab.figures.values import as_values, share_interval
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


def horizon_values(sets: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return for each set and series how many batches a top-1% arm takes if only so many are watched.

    ``sets`` (mapping of str to DataFrame): rows of searches with at least as many batches as the longest of `HORIZONS`.
    Returns columns of a figure's CSV, x the horizon, 50 or 150 batches. Statistics ``batches``, the mean with runs that
    found none in time as one batch more than the horizon, with a 95% bootstrap interval; ``found``, the share of runs
    that found one in time, with Wilson's interval; ``median``, infinite where half of the runs found none. Those of
    random batches are of their exact law."""
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

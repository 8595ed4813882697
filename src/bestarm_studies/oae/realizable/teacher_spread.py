"""Searches of fitted responses, and their spread over teachers: runs with one of their own, runs that share one."""

from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.first_hits import first_hits, shared_rounds
from bestarm_studies.oae.values import by_set, search_values


def fitted_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return `search_values` of responses that a fitted network made; these are not called real data."""
    values = search_values({f"{name}, fitted": mine for name, mine in by_set(rows).items()}, profile)
    return values.assign(data=values["data"].replace("real", "fitted"))


FACTOR, SEARCHES = "factor of the standard deviation", "all searches"
_RESAMPLES = 4000


def spread_values(own: pd.DataFrame, one: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return by which factor batches until a top arm spread more over runs where each run has its own teacher.
    ``own`` are searches with a teacher for each run, ``one`` with one for all: mean and standard deviation of both, and
    the factor with a 95% bootstrap interval. The series `SEARCHES` is the geometric mean of the factors of all series
    except random batches."""
    table: list[dict[str, Any]] = []
    shared = by_set(one)
    for name, mine in by_set(own).items():
        numbers = [_numbers(rows) for rows in shared_rounds(mine, shared[name])]
        draws = [_deviations(one_kind) for one_kind in numbers]
        factors = {series: draws[0][series] / draws[1][series] for series in draws[0]}
        searches = [factors[series] for series in factors if series != "RandomBatch"]
        for kind, found in zip(("own teachers", "one teacher"), numbers, strict=True):
            for series, values in found.items():
                line = {"panel": name, "series": series, "n": values.shape[0]}
                table.append(line | {"statistic": f"mean, {kind}", "value": values.mean()})
                table.append(line | {"statistic": f"standard deviation, {kind}", "value": values.std(ddof=1)})
        n = numbers[0]["RandomBatch"].shape[0]
        for series, drawn in [*factors.items(), (SEARCHES, np.exp(np.log(searches).mean(axis=0)))]:
            low, high = np.quantile(drawn[1:], [0.025, 0.975])
            line = {"panel": name, "series": series, "n": n, "statistic": FACTOR}
            table.append(line | {"value": drawn[0], "low": low, "high": high})
    return as_values(pd.DataFrame(table), profile=profile, data="fitted")


def _numbers(rows: pd.DataFrame) -> dict[str, FloatArray]:
    """Return the batches until a top arm of each series, a value for each run in the order of runs."""
    found = first_hits(rows)["first"].unstack("series").sort_index()
    return {str(series): found[series].to_numpy(dtype=np.float64) for series in rows["series"].unique()}


def _deviations(numbers: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the standard deviation over runs of each series, then those of resampled runs, the same for all series."""
    n = len(next(iter(numbers.values())))
    drawn = np.random.default_rng(n).integers(0, n, (_RESAMPLES, n))
    rows = np.concatenate([np.arange(n)[None], drawn])
    # a resample of one value only has no spread; it is as rare as it is useless
    return {series: np.maximum(values[rows].std(axis=1, ddof=1), 1e-3) for series, values in numbers.items()}


def spread_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return as text, for each series and table, the mean with one teacher and with own ones, and the factor."""
    lines: dict[str, dict[str, str]] = {}
    for panel, series in values[["panel", "series"]].drop_duplicates().astype(str).itertuples(index=False):
        found = values[(values["panel"] == panel) & (values["series"] == series)].set_index("statistic")
        factor = found.loc[FACTOR]
        text = f"×{factor['value']:.2f} [{factor['low']:.2f}, {factor['high']:.2f}]"
        if "mean, own teachers" in found.index:
            means = [float(found["value"][f"mean, {kind}"]) for kind in ("one teacher", "own teachers")]
            text = f"{means[0]:.1f}, {means[1]:.1f}; {text}"
        lines.setdefault(series, {})[panel] = text
    ordered = sorted(lines, key=lambda series: series == SEARCHES)
    return pd.DataFrame({series: lines[series] for series in ordered}).T.rename_axis("series").reset_index()

"""Rows of replications to plotted values: one tidy row for each statistic, with its interval and its n."""

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from bestarm_lab.experiments.series import algorithm_and_change

COLUMNS = ["panel", "series", "x", "statistic", "value", "low", "high", "n", "convention", "profile", "data"]
QUANTILES = {"5% quantile": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "95% quantile": 0.95}
_KNOWN = {"convention": "as_written", "data": "synthetic"}  # what rows stand for that do not say

Lines = Mapping[str, Mapping[str, Sequence[str]]]


def mean_interval(values: pd.Series) -> tuple[float, float, float]:
    """Return the mean of independent values and its 95% t-interval."""
    mean, n = float(values.mean()), len(values)
    reach = float(special.stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return mean, mean - reach, mean + reach


def share_interval(k: Any, n: Any) -> tuple[Any, Any]:
    """Return Wilson's 95% interval of a share, or of several."""
    from statsmodels.stats.proportion import proportion_confint  # a third of a second

    low, high = proportion_confint(k, n, method="wilson")
    return low, high


def interval_text(value: float, low: float, high: float) -> str:
    """Return a value with its interval as text, or nothing if there is none."""
    if pd.isna(value):
        return ""
    digits = "{:.0f}" if abs(value) >= 100 else "{:.3f}"
    return f"{digits} [{digits}, {digits}]".format(value, low, high)


def as_values(table: pd.DataFrame, **constants: Any) -> pd.DataFrame:
    """Return a frame in the columns of a figure's CSV, with constant columns added.

    What neither has is one exact value (n = 1) of the synthetic problem as written.
    """
    missing = {name: value for name, value in (_KNOWN | {"n": 1}).items() if name not in table}
    return table.assign(**{**missing, **constants}).reindex(columns=COLUMNS)


def melted(table: pd.DataFrame, key: str, profile: str) -> pd.DataFrame:
    """Return a table of texts or numbers in the columns of a figure's CSV: one row for each entry."""
    tidy = table.melt(key, var_name="statistic").rename(columns={key: "series"})
    return tidy.assign(convention="as_written", profile=profile).reindex(columns=COLUMNS)


def summarise(
    rows: pd.DataFrame,
    statistics: Mapping[str, tuple[str, str | float]],
    *,
    profile: str,
    x: str | None = None,
    panel: str = "",
) -> pd.DataFrame:
    """Return statistics of rows over each panel, convention, series and x.

    ``rows`` has one row for each replication and point: ``series`` and the columns that the other parameters name;
    without ``convention`` they are as written, without ``data`` synthetic. ``statistics`` maps names to a column and
    what is made of it: ``"mean"`` with a 95% t-interval, ``"share"`` (of a column of zeros and ones) with Wilson's,
    ``"median"`` with the quartiles, ``"median of runs"`` with a 95% interval, ``"standard deviation"``, ``"count"`` (a
    sum), or a number for that quantile. ``x`` is the column of the abscissa, ``panel`` a text with columns in braces
    where panels differ, such as ``"B = {budget:g}"``. The result has the columns of a figure's CSV.
    """
    rows = rows.assign(**{name: value for name, value in _KNOWN.items() if name not in rows})
    fields = [name for _, name, _, _ in Formatter().parse(panel) if name]
    groups = rows.groupby(list(dict.fromkeys([*fields, "convention", "series", *([x] if x else [])])), sort=False)
    base = pd.DataFrame({"n": groups.size(), "data": groups["data"].first()}).reset_index()
    names = [panel.format(**dict(zip(fields, line, strict=True))) for line in base[fields].itertuples(index=False)]
    base = base.assign(panel=names, x=base[x] if x else np.nan, profile=profile)
    n = base["n"].to_numpy()
    found = {name: _statistic(groups[column], n, kind) for name, (column, kind) in statistics.items()}
    frames = [base.assign(statistic=name, **numbers) for name, numbers in found.items()]
    return pd.concat(frames, ignore_index=True).reindex(columns=COLUMNS)


def _statistic(groups: Any, n: np.ndarray, kind: str | float) -> dict[str, np.ndarray]:
    """Return ``value`` and, where the kind has one, ``low`` and ``high`` for each group of one column."""
    if kind == "mean":
        value = groups.mean().to_numpy(dtype=np.float64)
        reach = special.stdtrit(np.maximum(n - 1, 1), 0.975) * groups.std().to_numpy(dtype=np.float64) / np.sqrt(n)
        return {"value": value, "low": value - reach, "high": value + reach}
    if kind == "share":
        counts = groups.sum().to_numpy(dtype=np.float64)
        low, high = share_interval(counts, n)
        return {"value": counts / n, "low": low, "high": high}
    if kind in ("median", "median of runs"):  # the latter by order statistics, the binomial law by the normal one
        half = 0.25 if kind == "median" else 0.98 / np.sqrt(n.min())
        between = {"value": 0.5, "low": 0.5 - half, "high": 0.5 + half}
        return {name: groups.quantile(np.clip(q, 0.0, 1.0)).to_numpy() for name, q in between.items()}
    if kind in ("standard deviation", "count"):
        return {"value": (groups.sum() if kind == "count" else groups.std()).to_numpy()}
    if isinstance(kind, str):
        raise ValueError(
            f"unknown kind of statistic {kind!r}; expected mean, share, median, median of runs, count or a quantile."
        )
    return {"value": groups.quantile(kind).to_numpy()}


def single_changes(rows: pd.DataFrame) -> dict[str, dict[str, tuple[str, str]]]:
    """Return, for each algorithm A, its own line (without a name) and one for each series "A | change"."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for series in rows["series"].unique():
        group, name = algorithm_and_change(series)
        found.setdefault(group, {})[name] = (series, group)
    return found


def paired_effects(
    rows: pd.DataFrame,
    column: str,
    *,
    statistic: str,
    profile: str,
    panel: str = "",
    log: bool = False,
    lines: Lines | None = None,
) -> pd.DataFrame:
    """Return what each change is worth: paired differences, or ratios of means, with 95% intervals.

    ``rows`` has ``series, replication`` and the column. Rows of one replication are averaged first, so that several
    budgets give the mean over them; two series are compared on the replications that both have. With ``log`` the effect
    is the ratio of means, with an interval by the delta method on the log scale, else the difference of means, with a
    t-interval. ``lines`` maps group and name to (left series, right series), by default `single_changes`.

    The result has the columns of a figure's CSV; the series is the group and x the name. A series against itself is the
    reference: its own mean, or 1 for a ratio.
    """
    table = []
    rows = rows if "convention" in rows else rows.assign(convention="as_written")
    for convention, mine in rows.groupby("convention", sort=False):
        means = mine.groupby(["series", "replication"], sort=False)[column].mean().astype(np.float64)
        runs = {str(series): part.droplevel("series") for series, part in means.groupby(level="series", sort=False)}
        base = {"panel": panel, "statistic": statistic, "convention": convention, "profile": profile}
        base["data"] = mine["data"].iloc[0] if "data" in mine else "synthetic"
        for group, named in (lines or single_changes(mine)).items():
            for name, (left, right) in named.items():
                if missing := {left, right} - set(runs):
                    raise ValueError(f"no rows of {', '.join(sorted(missing))}; there are: {', '.join(runs)}.")
                ours, theirs = runs[left].align(runs[right], join="inner")
                value, low, high = _effect(ours, theirs, log=log, itself=left == right)
                line = {"series": group, "x": name, "value": value, "low": low, "high": high, "n": len(ours)}
                table.append(base | line)
    return pd.DataFrame(table).reindex(columns=COLUMNS)


def _effect(left: pd.Series, right: pd.Series, *, log: bool, itself: bool) -> tuple[float, float, float]:
    """Return the difference or the ratio of two means over the same replications, with its 95% interval."""
    if not log:
        return mean_interval(left if itself else left - right)
    influence = left / left.mean() - right / right.mean()
    reach = float(special.stdtrit(len(left) - 1, 0.975) * influence.std(ddof=1) / np.sqrt(len(left)))
    effect = float(np.log(left.mean() / right.mean()))
    return float(np.exp(effect)), float(np.exp(effect - reach)), float(np.exp(effect + reach))


def text_table(
    values: pd.DataFrame,
    statistic: str,
    entry: str = "{value:.3f} ± {half:.3f}",
    *,
    index: Sequence[str] = ("convention", "series"),
    columns: str = "{panel}, {x:g}",
) -> pd.DataFrame:
    """Return one statistic as a table of texts.

    The ``entry`` of a cell has ``value, low, high, n`` and ``half``, the half-width of the interval; ``index`` says
    what a row stands for, ``columns`` is the heading of a column, from the columns of the values.
    """
    mine = values[values["statistic"] == statistic]
    mine = mine.assign(half=0.5 * (mine["high"] - mine["low"]), convention=mine["convention"].str.replace("_", " "))
    lines: list[dict[str, Any]] = [{str(k): v for k, v in line.items()} for line in mine.to_dict("records")]
    mine = mine.assign(text=[entry.format(**line) for line in lines], cell=[columns.format(**line) for line in lines])
    table = mine.pivot(index=list(index), columns="cell", values="text")
    order = mine.set_index(list(index)).index.unique()
    return table.reindex(order, columns=mine["cell"].unique()).rename_axis(columns=None).reset_index()

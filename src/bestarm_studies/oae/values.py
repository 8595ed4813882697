"""Rows of batch searches to plotted values: batches until a top arm, their ratios, share found, rewards (E.1)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray, IntArray
from bestarm_lab.claims.statistics import log_ratio
from bestarm_lab.figures.values import as_values, paired_effects, share_interval, summarise
from bestarm_studies.oae.checks import first_hit
from bestarm_studies.oae.experiments import BATCH
from bestarm_studies.oae.first_hits import (
    BEYOND,
    MAIN_TAU,
    TAUS,
    comparable_runs,
    first_hits,
    marked_runs,
    random_mean,
    random_survival,
    until_found,
    whole_runs,
    without_broken,
)

RANDOM_LAW = "RandomBatch, exact law"
_RESAMPLES = 4000
BLOCK_ENDS = (5, 10, 20, 50, 100, 150)  # of batches over which rewards are averaged
Pairs = Mapping[str, tuple[str, str]]


def by_set(*tables: pd.DataFrame, series: Sequence[str] = ()) -> dict[str, pd.DataFrame]:
    """Return the rows of each set of arms (``name``, or the blog posts); all ``series``, or those that are named.
    A series that several tables have is taken from the first of them."""
    found: dict[str, list[pd.DataFrame]] = {}
    for rows in tables:
        named = rows if "name" in rows else rows.assign(name="BlogFeedback")
        named = named[named["series"].isin(series)] if series else named
        for name, mine in named.groupby("name", sort=False):
            there = {s for part in found.get(str(name), []) for s in part["series"].unique()}
            found.setdefault(str(name), []).append(mine[~mine["series"].isin(there)])
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}


def search_values(sets: Mapping[str, pd.DataFrame], profile: str, *, taus: Sequence[float] = TAUS) -> pd.DataFrame:
    """Return `batches_until_top` and `share_found` of each set, one panel a set."""
    frames = []
    for name, rows in sets.items():
        frames.append(batches_until_top(rows, name, profile, batch=BATCH, taus=taus))
        frames.append(share_found(rows, name, profile, batch=BATCH))
    return pd.concat(frames, ignore_index=True)


def batches_until_top(
    rows: pd.DataFrame, panel: str, profile: str, *, batch: int, taus: Sequence[float] = TAUS
) -> pd.DataFrame:
    """Return the mean number of batches until a top arm, for each quantile (x), and how many runs never saw one.
    Statistics are ``batches``, with a 95% bootstrap interval, which stays among the numbers of batches that there are,
    ``censored``, `BEYOND`, ``broken runs``, and the exact mean of random batches of ``batch`` arms as a series of its
    own. Batches and runs that not every series has are left out."""
    rows = comparable_runs(rows)
    n_arms, rounds = int(rows["arm_count"].iloc[0]), int(rows["round"].max())
    n_runs = rows.groupby("series", sort=False)["replication"].nunique().to_dict()
    rows = until_found(rows)
    kept, marks = without_broken(rows), marked_runs(rows)
    table: list[dict[str, Any]] = []
    for tau in taus:
        hits = first_hits(kept, tau)
        for series, mine in hits.groupby(level="series", sort=False):
            line = {"series": series, "x": tau, "n": len(mine)}
            low, high = bootstrap_interval(mine["first"].to_numpy(dtype=np.float64))
            table.append(line | {"statistic": "batches", "value": mine["first"].mean(), "low": low, "high": high})
            table.append(line | {"statistic": "censored", "value": int(mine["censored"].sum())})
        exact = {"series": RANDOM_LAW, "x": tau, "n": 0, "statistic": "batches"}
        table.append(exact | {"value": random_mean(n_arms, tau, batch, rounds)})
    for statistic, name in (("beyond", BEYOND), ("broken", "broken runs")):
        for label, k in marks[statistic].groupby(level="series", sort=False).sum().to_dict().items():
            if k:
                table.append({"series": label, "x": np.nan, "n": n_runs[label], "statistic": name, "value": k})
    return as_values(pd.DataFrame(table), panel=panel, profile=profile, data=rows["data"].iloc[0])


def bootstrap_interval(values: FloatArray) -> tuple[float, float]:
    """Return the 95% percentile interval of a mean; the same values give the same interval."""
    if len(values) < 2:
        return np.nan, np.nan
    low, high = np.quantile(values[_drawn(len(values))].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


@lru_cache(maxsize=4)
def _drawn(n: int) -> IntArray:
    return np.random.default_rng(n).integers(0, n, (_RESAMPLES, n))


def share_found(rows: pd.DataFrame, panel: str, profile: str, *, batch: int, tau: float = MAIN_TAU) -> pd.DataFrame:
    """Return ``share found``, the share of runs that have seen a top arm after each batch (x), and chance's law.
    Every run is watched to the last batch: the Kaplan-Meier curve is this share, and Wilson's interval holds."""
    rows = comparable_runs(rows)
    n_arms, rounds = int(rows["arm_count"].iloc[0]), int(rows["round"].max())
    hits = first_hits(without_broken(until_found(rows)), tau)
    table, numbers = [], np.arange(rounds + 1)
    for series, mine in hits.groupby(level="series", sort=False):
        found, n = mine["first"].to_numpy()[~mine["censored"]], len(mine)
        k = (found[:, None] <= numbers).sum(axis=0)
        low, high = (np.where(numbers, end, 0.0) for end in share_interval(k, n))
        table.append(pd.DataFrame({"series": series, "x": numbers, "value": k / n, "low": low, "high": high, "n": n}))
    law = 1.0 - random_survival(n_arms, tau, batch, rounds)
    table.append(pd.DataFrame({"series": RANDOM_LAW, "x": np.arange(len(law)), "value": law, "n": 0}))
    made = as_values(pd.concat(table, ignore_index=True), panel=panel, statistic="share found", profile=profile)
    return made.assign(data=rows["data"].iloc[0])


def hits_table(values: pd.DataFrame, tau: float = MAIN_TAU, *, sets_as_rows: bool = False) -> pd.DataFrame:
    """Return mean batches with their intervals, and censored runs, as text: series by panels, or ``sets_as_rows``.
    A dagger says that some runs' fits passed 10^4."""
    beyond = values[values["statistic"] == BEYOND].set_index(["panel", "series"]).index
    mine = values[np.isclose(values["x"].astype(float), tau)]
    censored = mine[mine["statistic"] == "censored"].set_index(["panel", "series"])["value"]
    lines: dict[str, dict[str, str]] = {}
    for _, line in mine[mine["statistic"] == "batches"].iterrows():
        lost = censored.get((line["panel"], line["series"]), 0)
        text = f"{line['value']:.1f}"
        if np.isfinite(line["low"]):
            text += f" [{line['low']:.1f}, {line['high']:.1f}]"
        text += f" ({int(lost)} of {line['n']} never)" if lost else ""
        text += " †" if (line["panel"], line["series"]) in beyond else ""
        lines.setdefault(str(line["series"]), {})[str(line["panel"])] = text
    table = pd.DataFrame(lines) if sets_as_rows else pd.DataFrame(lines).T
    return table.rename_axis("set" if sets_as_rows else "series").reset_index().fillna("")


def batch_ratios(sets: Mapping[str, pd.DataFrame], pairs: Pairs, profile: str, *, panel: str = "") -> pd.DataFrame:
    """Return ratios of the mean batches until a top-1% arm, with the 95% intervals of the claims' own test.
    x is the name of a set. ``pairs`` map headings to the series left and right of a ratio; those that a set does not
    have are left out. Both sides are compared over the runs that both have; random batches count by their exact law."""
    found = []
    for name, rows in sets.items():
        table, data = first_hit(rows, {}), rows["data"].iloc[0]
        for heading, (left, right) in pairs.items():
            if left in table and right in table:
                both = table[[left, right]].dropna()
                estimate = log_ratio(both[left], both[right], paired=True)
                value, (low, high) = np.exp(estimate.value), np.exp(estimate.interval(0.05))
                line = {"series": heading, "x": name, "value": value, "low": low, "high": high, "n": estimate.n}
                found.append(line | {"data": data})
    return as_values(pd.DataFrame(found), panel=panel, statistic="ratio", profile=profile)


def block_rewards(rows: pd.DataFrame, panel: str, profile: str, *, ends: Sequence[int] = BLOCK_ENDS) -> pd.DataFrame:
    """Return the mean reward of a batch over blocks of batches, and what it is above Greedy's in the same run.
    x is the last batch of a block, which begins after the one before; the first batch is random and left out.
    Statistics ``reward`` and ``gain in reward``, paired, with 95% t-intervals over `whole_runs`."""
    kept = whole_runs(without_broken(rows))
    kept = kept[kept["round"] > 1]
    blocks = pd.cut(kept["round"], [1, *ends], labels=list(ends)).astype("Int64")
    means = kept.assign(x=blocks).groupby(["series", "replication", "x"], sort=False)["reward"].mean().reset_index()
    frames = [summarise(means, {"reward": ("reward", "mean")}, x="x", panel=panel, profile=profile)]
    lines = {str(s): {"": (str(s), "Greedy")} for s in means["series"].unique() if s != "Greedy"}
    for end, block in means.groupby("x"):
        gains = paired_effects(block, "reward", statistic="gain in reward", profile=profile, panel=panel, lines=lines)
        frames.append(gains.assign(x=end))
    return pd.concat(frames, ignore_index=True)

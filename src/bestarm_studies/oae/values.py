"""Rows of batch searches to plotted values: batches until a top arm, share of runs that found one, rewards, tables.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Appendix E.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.claims.verdicts import VERDICTS
from bestarm_lab.figures.values import as_values, paired_effects, share_interval, summarise
from bestarm_studies.oae.divergence import BEYOND, marked_runs, without_broken
from bestarm_studies.oae.first_hits import (
    MAIN_TAU,
    TAUS,
    comparable_runs,
    first_hits,
    random_mean,
    random_survival,
    shared_rounds,
    until_found,
    whole_runs,
)
from bestarm_studies.oae.uci import UCI_SETS

RANDOM_LAW = "RandomBatch, exact law"
BLOCK_ENDS = (5, 10, 20, 50, 100, 150)
_RESAMPLES = 4000


def by_set(*tables: pd.DataFrame, series: Sequence[str] = ()) -> dict[str, pd.DataFrame]:
    """Return the rows of each set of arms; a series that several tables have is taken from the first of them.

    Parameters
    ----------
    *tables : DataFrame
        Rows of experiments with the column ``name``; those without it are the blog posts.
    series : sequence of str
        Which series; by default all.
    """
    found: dict[str, list[pd.DataFrame]] = {}
    for rows in tables:
        named = rows if "name" in rows else rows.assign(name="BlogFeedback")
        named = named[named["series"].isin(series)] if series else named
        for name, mine in named.groupby("name", sort=False):
            there = {s for part in found.get(str(name), []) for s in part["series"].unique()}
            found.setdefault(str(name), []).append(mine[~mine["series"].isin(there)])
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}


def search_values(
    sets: Mapping[str, pd.DataFrame], profile: str, *, batch: int = 3, taus: Sequence[float] = TAUS
) -> pd.DataFrame:
    """Return `batches_until_top` and `share_found` of each set, one panel a set."""
    frames = []
    for name, rows in sets.items():
        frames.append(batches_until_top(rows, name, profile, batch=batch, taus=taus))
        frames.append(share_found(rows, name, profile, batch=batch))
    return pd.concat(frames, ignore_index=True)


def batches_until_top(
    rows: pd.DataFrame, panel: str, profile: str, *, batch: int, taus: Sequence[float] = TAUS
) -> pd.DataFrame:
    """Return the mean number of batches until a top arm, for each quantile, and how many runs never saw one.

    Parameters
    ----------
    rows : DataFrame
        Rows of one problem, with the columns of `first_hits`, ``convention`` and ``data``; batches and runs that
        not every series has are left out.
    panel, profile : str
        The panel's name; the scale of the run.
    batch : int
        Arms in a batch, for the exact law of random batches.
    taus : sequence of float
        Quantiles, the abscissa.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV; statistics ``batches``, with a 95% bootstrap interval, which stays among the numbers
        of batches that there are, ``censored``, `BEYOND`, ``broken runs``, and the exact mean of random
        batches as a series of its own.
    """
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
    drawn = np.random.default_rng(len(values)).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def share_found(rows: pd.DataFrame, panel: str, profile: str, *, batch: int, tau: float = MAIN_TAU) -> pd.DataFrame:
    """Return the share of runs that have seen a top arm after each batch, and the exact law of random batches.

    Every run is watched to the last batch, so that the Kaplan-Meier curve is this share and Wilson's interval holds.

    Parameters
    ----------
    rows, panel, profile, batch
        As in `batches_until_top`.
    tau : float
        Quantile.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV; statistic ``share found``, x is the number of the batch, from 0.
    """
    rows = comparable_runs(rows)
    n_arms, rounds = int(rows["arm_count"].iloc[0]), int(rows["round"].max())
    hits = first_hits(without_broken(until_found(rows)), tau)
    table = []
    for series, mine in hits.groupby(level="series", sort=False):
        for number in range(rounds + 1):
            k, n = int(((mine["first"] <= number) & ~mine["censored"]).sum()), len(mine)
            low, high = share_interval(k, n) if number else (0.0, 0.0)
            table.append({"series": series, "x": number, "value": k / n, "low": low, "high": high, "n": n})
    law = 1.0 - random_survival(n_arms, tau, batch, rounds)
    table += [{"series": RANDOM_LAW, "x": number, "value": value, "n": 0} for number, value in enumerate(law)]
    made = as_values(pd.DataFrame(table), panel=panel, statistic="share found", profile=profile)
    return made.assign(data=rows["data"].iloc[0])


def reward_values(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return the mean reward of each batch and the mean relative regret of the best arm so far, with 95% t-intervals.

    x is the number of the batch; statistics ``reward`` and ``relative regret``; of `whole_runs`.
    """
    kept = whole_runs(without_broken(rows))
    kinds = {"reward": ("reward", "mean"), "relative regret": ("relative_regret", "mean")}
    return summarise(kept[kept["round"] > 0], kinds, x="round", panel=panel, profile=profile)


def reward_gains(
    rows: pd.DataFrame, panel: str, profile: str, *, over: str = "Greedy", ends: Sequence[int] = BLOCK_ENDS
) -> pd.DataFrame:
    """Return how much more a batch earns than one of ``over`` in the same run, in the mean over blocks of batches.

    x is the last batch of a block, which begins after the one before; the first batch is random and left out. Paired
    differences with 95% t-intervals, of `whole_runs`.
    """
    kept = whole_runs(without_broken(rows))
    frames = []
    for before, end in zip((1, *ends), ends, strict=False):
        block = kept[(kept["round"] > before) & (kept["round"] <= end)]
        if not block.empty:
            lines = {str(series): {"": (str(series), over)} for series in block["series"].unique() if series != over}
            found = paired_effects(
                block, "reward", statistic="gain in reward", profile=profile, panel=panel, lines=lines
            )
            frames.append(found.assign(x=end))
    return pd.concat(frames, ignore_index=True)


def objective_ratios(
    sets: Mapping[str, pd.DataFrame], objectives: Sequence[str], strengths: Sequence[float], profile: str
) -> pd.DataFrame:
    """Return the batches until a top-1% arm with an objective over those of MeanOpt with the same strength.

    Ratios of means over the runs that both have, with 95% intervals by the delta method; x is the strength.
    """
    frames = []
    for panel, rows in sets.items():
        (rows,) = shared_rounds(rows)
        hits = first_hits(without_broken(until_found(rows)))["first"].reset_index().assign(data=rows["data"].iloc[0])
        for strength in strengths:
            lines = {name: {"": (f"{name} {strength:g}", f"MeanOpt {strength:g}")} for name in objectives}
            found = paired_effects(
                hits, "first", statistic="ratio of batches", profile=profile, panel=panel, log=True, lines=lines
            )
            frames.append(found.assign(x=strength))
    return pd.concat(frames, ignore_index=True)


def fit_values(rows: pd.DataFrame, profile: str, rates: dict[str, float]) -> pd.DataFrame:
    """Return the median training error over the variance of the response, with its quartiles, step by step.

    Parameters
    ----------
    rows : DataFrame
        Rows of `bestarm_studies.oae.network_fits.fit_rows`.
    profile : str
        Scale.
    rates : dict
        The step size of each class; rows of others are left out.
    """
    mine = rows[rows["learning_rate"] == rows["series"].map(rates)]
    mine = mine.assign(ratio=mine["mse"] / mine["var"])
    return summarise(mine, {"median MSE / variance": ("ratio", "median")}, x="x", panel="{panel}", profile=profile)


def fitted_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return `search_values` of responses that a fitted network made; these are not called real data."""
    values = search_values({f"{name}, fitted": mine for name, mine in by_set(rows).items()}, profile)
    return values.assign(data=values["data"].replace("real", "fitted"))


def optimistic_shares(sets: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return in which share of the rounds the model promised for its batch at least what the best batch was worth.

    Statistic ``optimistic``; x is missing, n the number of rounds of all runs, each until it has found an arm of the
    smallest quantile.
    """
    frames = []
    for name, rows in sets.items():
        known = until_found(rows).dropna(subset="optimistic").assign(optimistic=lambda r: r["optimistic"].astype(float))
        frames.append(summarise(known, {"optimistic": ("optimistic", "mean")}, panel=name, profile=profile))
    return pd.concat(frames, ignore_index=True).assign(low=np.nan, high=np.nan)


def hills_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return how many runs had tried arms on 1, 2, 3 and 4 hills after each noted batch; x is the batch."""
    hills = rows[rows["statistic"] == "hills"]
    counts = hills.pivot_table(index="round", columns="value", values="replication", aggfunc="count", fill_value=0)
    counts = counts.reindex(columns=range(1, 5), fill_value=0).rename(columns="{:g} of 4 hills".format)
    table = counts.melt(ignore_index=False, var_name="series").reset_index(names="x")
    return as_values(table, statistic="runs", n=hills["replication"].nunique(), profile=profile)


def hits_table(values: pd.DataFrame, tau: float = MAIN_TAU, *, sets_as_rows: bool = False) -> pd.DataFrame:
    """Return mean batches with their intervals, and censored runs, as text: series by panels.

    A dagger says that some runs' fits passed 10^4.

    Parameters
    ----------
    values : DataFrame
        `batches_until_top` of some panels.
    tau : float
        Quantile.
    sets_as_rows : bool, default=False
        Whether a row stands for a panel and a column for a series.
    """
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


def size_table(problems: Mapping[str, NoiselessArms]) -> pd.DataFrame:
    """Return the printed and the actual numbers of rows and columns of some UCI sets, as text."""
    lines = []
    for name, problem in problems.items():
        printed, here = (" x ".join(map(str, size)) for size in (UCI_SETS[name].printed, problem.features.shape))
        lines.append({"set": name, "printed": printed, "here": here, "data": problem.data})
    return pd.DataFrame(lines)


def verdict_counts(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return how many of the paper's own claims have each verdict, by what they were decided on."""
    theirs = verdicts[verdicts["ours"].fillna("") == ""]
    scales = {"paper": "at the paper's own scale", "laptop": "at the reduced scale"}
    on = theirs["scale"].map(scales).where(theirs["kind"] == "test", "exactly (arithmetic, theorems)")
    on = on.mask(theirs["verdict"] == "not run", "not at all")
    counts = pd.crosstab(on, theirs["verdict"]).reindex(columns=[v for v in VERDICTS if v in set(theirs["verdict"])])
    return counts.rename_axis(columns=None).rename_axis("decided").reset_index()

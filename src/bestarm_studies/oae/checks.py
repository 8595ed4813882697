"""The values that claims of several sections compare, one for each run and series of a cell.

Runs in which a fit broke down enter no value; sides are compared over the batches that both have.
"""

from functools import partial

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Test, Value, side_values
from bestarm_studies.oae.first_hits import (
    MAIN_TAU,
    first_hits,
    random_mean,
    shared_rounds,
    until_found,
    whole_runs,
    with_top_share,
    without_broken,
)

LEAST_BATCHES = 20  # no search is ended before
RANDOM = "RandomBatch"
comparable = shared_rounds


def first_hit(rows: pd.DataFrame, test: Test, tau: float = MAIN_TAU) -> pd.DataFrame:
    """Return the batches until an arm of the top share ``tau``, one more than there are where none was found.
    Those of random batches are their mean by the exact law, in every run."""
    table = first_hits(without_broken(until_found(rows)), tau)["first"].unstack("series")
    if RANDOM in table:
        first = rows[rows["round"] == 1].iloc[0]
        table[RANDOM] = random_mean(int(first["arm_count"]), tau, int(first["pulls"]), int(rows["round"].max()))
    return table


def first_tried(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the batches until a top-1% arm was tried, whether it looked best or, with noise, did not."""
    if "tried" not in rows:  # without noise what was tried is known
        return first_hit(rows, test)
    best = rows.sort_values("round").groupby(["series", "replication"], sort=False)["tried"].cummin()
    return first_hit(rows.assign(rank=best), test)


def batch_limit(rows: pd.DataFrame) -> float:
    """Return what `first_hit` is of a run that found none: one more than there are batches."""
    return float(rows["round"].max()) + 1.0


def _mean(rows: pd.DataFrame, test: Test, column: str, after: int = 1) -> pd.DataFrame:
    """Return a column in the mean over the batches of whole runs, by default over all but the first, random one."""
    kept = whole_runs(without_broken(rows))
    kept = kept[kept["round"] > after]
    return kept.groupby(["replication", "series"], sort=False)[column].mean().unstack("series").astype(float)


def top_found(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the share of the top-0.2% arms that is found so far, in the mean over all batches but the first.
    That of random batches is its mean by the exact law, the share of all arms that are searched, in every run."""
    table = _mean(with_top_share(rows), test, "found")
    if RANDOM in table:
        first = rows[rows["round"] == 1].iloc[0]
        batches = np.arange(2, rows["round"].max() + 1)
        table[RANDOM] = float((first["pulls"] * batches).mean() / first["arm_count"])
    return table


def mean_distance(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the distance of two arms of a batch in the mean over the first batches but one, which every run has."""
    return _mean(rows[rows["round"] <= LEAST_BATCHES], test, "distance")


def gain(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, how much fewer batches ``of`` needs than ``over``: 1 minus the ratio of means."""
    table = first_hit(rows, test)
    left, right = (side_values(table, test[side]).iloc[:, 0].dropna() for side in ("of", "over"))
    both = left.index.intersection(right.index)
    left, right = left[both], right[both]
    ratio = left.mean() / right.mean()
    return (1.0 - ratio - (left - ratio * right) / right.mean()).to_frame("gain")


def misfit(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the training error after the last step over the variance of the responses."""
    last = rows[rows["x"] == rows["x"].max()].assign(misfit=lambda r: r["mse"] / r["var"])
    return last.pivot(index="replication", columns="series", values="misfit").astype(float)


_regret = partial(_mean, column="relative_regret", after=0)
VALUES: dict[str, Value] = {
    "first_hit": Value("batches until a top-1% arm", first_hit, comparable, limit=batch_limit),
    "first_hit_5": Value("batches until a top-5% arm", partial(first_hit, tau=0.05), comparable, limit=batch_limit),
    "first_hit_02": Value("batches until a top-0.2% arm", partial(first_hit, tau=0.002), comparable, limit=batch_limit),
    "first_tried": Value("batches until a top-1% arm is tried", first_tried, comparable, limit=batch_limit),
    "regret_area": Value("regret of the best arm so far over all batches", _regret, comparable),
    "mean_reward": Value("reward of all batches but the first", partial(_mean, column="reward"), comparable),
    "top_found": Value("share of the top-0.2% arms found, mean of batches 2 to the last", top_found, comparable),
    "mean_distance": Value("distance of two arms of a batch, batches 2 to 20", mean_distance, comparable),
    "gain": Value(
        "gain on another method in batches until a top-1% arm", gain, comparable, needs={"of": "side", "over": "side"}
    ),
    "misfit": Value("training error over variance", misfit),
}

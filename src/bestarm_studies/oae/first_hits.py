"""Rows of batch searches: when a run first sees a top arm, which batches and runs compare, random batches' exact law.

An unbounded objective leads to outputs beyond any response: a run is marked at ten thousand (Appendix E.1).
"""

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bestarm.interface import FloatArray
from bestarm_studies.oae.batch_observer import WHOLE_RUNS, n_good

BEYOND = "runs beyond 10^4"  # statistic: runs with a fit whose outputs passed 10^4
TAUS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
MAIN_TAU = 0.01
SMALLEST_TAU = min(TAUS)  # a search may end once it has found an arm of this quantile


def marked_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return which runs (``series, replication``) had a fit that diverged.
    ``beyond``: an output passed 10^4 in some round; ``broken``: a batch was chosen by outputs that are no numbers."""
    beyond = rows["diverged"] > 0
    broken = beyond & rows["optimistic"].isna()
    flags = pd.DataFrame({"beyond": beyond, "broken": broken})
    return flags.groupby([rows["series"], rows["replication"]], sort=False).any()


def without_broken(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one problem's runs without those in which a fit broke down; these enter no mean.
    Runs whose outputs passed 10^4 stay: without them those would be left in which optimism happened to stay small."""
    broken = marked_runs(rows)["broken"]
    runs = pd.MultiIndex.from_frame(rows[["series", "replication"]])
    return rows[~broken.reindex(runs).to_numpy(dtype=np.bool_)]


def shared_rounds(*tables: pd.DataFrame) -> list[pd.DataFrame]:
    """Return each table's rows up to the last batch that every series of all of them has.
    Methods that are given fewer batches would otherwise be counted as faster where they never find a top arm."""
    last = min(rows.groupby("series", sort=False)["round"].max().min() for rows in tables)
    return [rows[rows["round"] <= last] for rows in tables]


def comparable_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one problem's batches and runs that every series has."""
    (rows,) = shared_rounds(rows)
    runs = rows.groupby("replication")["series"].nunique()
    return rows[rows["replication"].isin(runs.index[runs == runs.max()])]


def first_hits(rows: pd.DataFrame, tau: float = MAIN_TAU) -> pd.DataFrame:
    """Return ``first``, the batch in which each run (``series, replication``) first saw an arm of the top ``tau``.
    It is one more than there are batches where it never was (``censored``). Ranks of round 0 do not count: a search
    just made, which the random design counts at once, has there that of an arm that nobody has seen."""
    if not SMALLEST_TAU <= tau <= 1.0:
        raise ValueError(f"tau must be between {SMALLEST_TAU}, at which a search may end, and 1; got {tau}.")
    good = n_good(tau, float(rows["arm_count"].iloc[0]))
    runs = [rows["series"], rows["replication"]]
    when = rows["round"].where((rows["rank"] <= good) & (rows["round"] > 0))
    found = pd.DataFrame({"first": when.groupby(runs, sort=False).min()})
    found["censored"] = found["first"].isna()
    last = rows["round"].groupby(runs, sort=False).max()
    found["first"] = found["first"].fillna(last + 1)
    return found


def with_top_share(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of whole runs of one problem with ``found``, the share of the top-0.2% arms in batches so far."""
    good = n_good(SMALLEST_TAU, float(rows["arm_count"].iloc[0]))
    batches = rows[rows["round"] > 0].sort_values("round", kind="stable")
    return batches.assign(found=batches.groupby(["series", "replication"], sort=False)["top"].cumsum() / good)


def until_found(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each run until it saw an arm of the smallest quantile, whether it was searched on or not."""
    good = n_good(SMALLEST_TAU, float(rows["arm_count"].iloc[0]))
    runs = [rows["series"], rows["replication"]]
    end = rows["round"].where(rows["rank"] <= good).groupby(runs, sort=False).transform("min")
    return rows[~(rows["round"] > end)]


def whole_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the runs that were searched to the last batch by design, not because they did not find.
    A series of which some runs ended counts with its first `WHOLE_RUNS`, if all of these were searched to the last
    batch, and else not at all: the runs that go on by themselves are the slow ones."""
    runs = [rows["series"], rows["replication"]]
    searched = rows["round"].where(rows["reward"].notna() & (rows["round"] > 0))
    whole = searched.groupby(runs, sort=False).transform("nunique") == rows["round"].max()
    first = rows["replication"] < WHOLE_RUNS
    by_series = pd.DataFrame({"all": whole, "first": whole | ~first}).groupby(rows["series"]).transform("all")
    return rows[by_series["all"] | (by_series["first"] & first)]


def random_survival(n_arms: int, tau: float, batch: int, rounds: int) -> FloatArray:
    """Return the exact probability that random batches have found no top arm after t = 0, ..., ``rounds`` batches."""
    good = n_good(tau, n_arms)
    pulls = np.minimum(batch * np.arange(rounds + 1), n_arms)
    left = n_arms - good - pulls
    with np.errstate(invalid="ignore"):
        log = gammaln(n_arms - good + 1) - gammaln(left + 1) - gammaln(n_arms + 1) + gammaln(n_arms - pulls + 1)
    return np.asarray(np.where(left >= 0, np.exp(log), 0.0))


def random_mean(n_arms: int, tau: float, batch: int, rounds: int) -> float:
    """Return the mean number of batches until random batches find a top arm, ``rounds + 1`` where they do not."""
    return float(random_survival(n_arms, tau, batch, rounds).sum())

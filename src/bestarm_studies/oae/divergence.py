"""Fits that diverge: the runs that have them, which of these enter no mean, their number and their length.

An unbounded objective leads to outputs beyond any response; ten thousand is where a run is marked.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

BEYOND = "runs beyond 10^4"  # statistic: runs with a fit whose outputs passed 10^4


def marked_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return which runs (``series, replication``) had a fit that diverged.
    ``beyond``: an output passed 10^4 in some round; ``broken``: a batch was chosen by outputs that are no numbers."""
    beyond = rows["diverged"] > 0
    broken = beyond & rows["optimistic"].isna()
    flags = pd.DataFrame({"beyond": beyond, "broken": broken})
    return flags.groupby([rows["series"], rows["replication"]], sort=False).any()


def without_broken(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one problem's runs without those in which a fit broke down; these enter no mean.
    Runs whose outputs passed 10^4 stay: an unbounded objective leads there, and to leave them out would keep the runs
    in which optimism happened to stay small."""
    broken = marked_runs(rows)["broken"]
    runs = pd.MultiIndex.from_frame(rows[["series", "replication"]])
    return rows[~broken.reindex(runs).to_numpy(dtype=np.bool_)]

"""Rewards of batches on tables, batch by batch."""

from __future__ import annotations

import pandas as pd

from bestarm_lab.figures.values import summarise
from bestarm_studies.oae.first_hits import whole_runs, without_broken


def reward_values(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return the mean reward of each batch and the mean relative regret of the best arm so far, with 95% t-intervals.
    x is the number of the batch; statistics ``reward`` and ``relative regret``; of `whole_runs`."""
    kept = whole_runs(without_broken(rows))
    kinds = {"reward": ("reward", "mean"), "relative regret": ("relative_regret", "mean")}
    return summarise(kept[kept["round"] > 0], kinds, x="round", panel=panel, profile=profile)

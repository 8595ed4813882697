"""Ratios of batches: what one search needs over another until it finds a top arm, as the claims compare them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bestarm_lab.claims.statistics import log_ratio
from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.checks import first_hit

Pairs = Mapping[str, tuple[str, str]]


def batch_ratios(sets: Mapping[str, pd.DataFrame], pairs: Pairs, profile: str, *, panel: str = "") -> pd.DataFrame:
    """Return ratios of the mean batches until a top-1% arm, with the 95% intervals of the claims' own test.
    x is the name of a set. ``pairs`` map headings to the series left and right of a ratio; those that a set does not
    have are left out. Both sides are compared over the runs that both have; random batches count by their exact law."""
    found = []
    for name, rows in sets.items():
        table = first_hit(rows, {})
        data = rows["data"].iloc[0]
        for heading, (left, right) in pairs.items():
            if left in table and right in table:
                both = table[[left, right]].dropna()
                estimate = log_ratio(both[left], both[right], paired=True)
                value, (low, high) = np.exp(estimate.value), np.exp(estimate.interval(0.05))
                line = {"series": heading, "x": name, "value": value, "low": low, "high": high, "n": estimate.n}
                found.append(line | {"data": data})
    return as_values(pd.DataFrame(found), panel=panel, statistic="ratio", profile=profile)

"""By how much the better SAMPLE search is ahead of the best of the others."""

from collections.abc import Mapping

import pandas as pd

from bestarm_lab.claims.cells import best_by_halves
from bestarm_lab.figures.values import paired_effects
from bestarm_studies.dpp_bbo.values import RIVALS, SEARCHES


def leads_of_sampling(panels: Mapping[str, Mapping[str, pd.DataFrame]], profile: str) -> pd.DataFrame:
    """Return by how much the better SAMPLE search is ahead of the best of the paper's others, with 95% intervals.
    The best of each side is chosen in one half of the runs and judged in the other, and the reverse: paired differences
    of the mean log10 regret; the series is the group, x the heading."""
    sides = {"SAMPLE": [name for name in SEARCHES if "SAMPLE" in name], "others": list(RIVALS)}
    found = []
    for group, named in panels.items():
        for heading, rows in named.items():
            runs = rows.groupby(["replication", "series"])["log_regret"].mean().unstack("series")
            best = pd.DataFrame({side: -best_by_halves(-runs[names].dropna()) for side, names in sides.items()})
            judged = best.melt(ignore_index=False, var_name="series", value_name="lowest").reset_index()
            judged["data"] = rows["data"].iloc[0]
            lines = {group: {heading: ("SAMPLE", "others")}}
            found.append(paired_effects(judged, "lowest", statistic="difference", profile=profile, lines=lines))
    return pd.concat(found, ignore_index=True)

"""Errors on arms that were not seen, by group."""

import pandas as pd

from bestarm_lab.figures.styles import Style
from bestarm_lab.figures.values import summarise

# from the group that the others tell least of to that of which they tell most: ever darker
GROUP_STYLES = tuple(
    Style(colour, marker)
    for colour, marker in zip(
        ("#B8A100", "#E07B39", "#C8447E", "#7B3FA0", "#2F5DA8", "#0B2A4A"), ("o", "s", "^", "D", "v", "P"), strict=True
    )
)


def held_out_values(rows: pd.DataFrame, likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the median error on arms that were not seen, over the variance, with quartiles; x is random batches.
    A series is a group, named with its R2; ``rows`` are of `batch_fit_rows`."""
    at = likeness.set_index("panel")["value"]
    groups = {name: f"{name} (R² {float(at[name]):.2f})" for name in rows["panel"].unique()}
    named = rows.assign(series=rows["panel"].map(groups))
    return summarise(named, {"error": ("test", "median")}, x="x", panel="NN 1500-300", profile=profile)

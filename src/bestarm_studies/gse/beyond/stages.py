"""Other η than 2: what fewer stages add to the accuracy."""

import numpy as np
import pandas as pd

from bestarm_lab.figures.styles import Style

STAGE_STYLES = {
    "η = 3": Style("#4A90D9", "o", "--"),
    "η = 4": Style("#0B3C6F", "s", "-."),
    "η = K": Style("#D55E00", "P"),
}


def effects_by_arms(values: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Return `accuracy_effects` of one algorithm as curves: a series for each change, x the number of arms K."""
    changes = values[values["x"] != ""]
    arms = changes["panel"].str.rpartition("K = ")[2].astype(np.int64)
    return changes.assign(panel=panel, series=changes["x"], x=arms)

"""Rows made by hand."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd


def runs(values: Mapping[str, Any], column: str = "value", **settings: Any) -> pd.DataFrame:
    """Return rows with a value for each run of some series, as written; ``settings`` are columns of all."""
    frames = [pd.DataFrame({"series": s, "replication": np.arange(len(x)), column: x}) for s, x in values.items()]
    return pd.concat(frames, ignore_index=True).assign(**{"convention": "as_written", "data": "synthetic", **settings})

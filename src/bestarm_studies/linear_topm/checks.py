"""Values that claims of several sections compare."""

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Test, Value


def wrong(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return 1 for a wrong answer and 0 for a right one, by run and series."""
    return 1.0 - rows.pivot(index="replication", columns="series", values="correct").astype(np.float64)


VALUES: dict[str, Value] = {"pulls": Value("sample complexity"), "wrong": Value("a wrong answer", wrong)}

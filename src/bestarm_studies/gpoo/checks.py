"""Values that claims of several sections compare."""

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Test, Value


def curve(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return a column of the rows by run, series and budget, at the budgets that the test names or at all."""
    inside = rows["budget"].isin(test["budgets"]) if "budgets" in test else rows["budget"] > 0
    return rows[inside].pivot(index="replication", columns=["series", "budget"], values=test["of"]).astype(np.float64)


VALUES: dict[str, Value] = {"off_peak": Value("an off-peak indicator")}

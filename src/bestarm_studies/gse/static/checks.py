"""Accuracy beside that of a static allocation, in closed form."""

import numpy as np
import pandas as pd
from scipy import integrate, stats

from bestarm_lab.claims.cells import Test, Value

N_ARMS = 16  # of the static instance


def static_accuracy(gap: float, variance: float, budget: int, n_arms: int = N_ARMS) -> float:
    """Return how likely the best of independent arms, a gap above all others, has the largest of their means.
    Each is pulled ``budget / n_arms`` times."""
    scaled = gap / np.sqrt(variance * n_arms / budget)
    found = integrate.quad(lambda z: stats.norm.pdf(z) * stats.norm.cdf(scaled + z) ** (n_arms - 1), -9.0, 9.0)
    return float(found[0])


def over_static(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return accuracy minus that of equal pulls of all arms, by run and series."""
    (gap,), (budget,) = rows["gap"].unique(), rows["budget"].unique()
    accuracy = rows.pivot(index="replication", columns="series", values="correct").astype(np.float64)
    return accuracy - static_accuracy(float(gap), float(test["variance"]), int(budget))


VALUES: dict[str, Value] = {
    "over_static": Value(
        "accuracy minus that of the optimal static allocation", over_static, needs={"variance": "number"}
    )
}

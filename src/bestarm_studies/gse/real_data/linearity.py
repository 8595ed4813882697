"""Linearity of the tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd


def linearity_table(problems: Mapping[str, Any]) -> pd.DataFrame:
    """Return how linear the targets of tables are: the share of variance that least squares explains."""
    lines = []
    for name, problem in problems.items():
        theta = np.linalg.lstsq(problem.features, problem.target, rcond=None)[0]
        left = problem.target - problem.features @ theta
        line = {"table": name, "rows": len(problem.target), "features": problem.features.shape[1]}
        line |= {"R²": f"{1 - left.var() / problem.target.var():.3f}", "largest miss": f"{np.abs(left).max():.3f}"}
        lines.append(line)
    return pd.DataFrame(lines)

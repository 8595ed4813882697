"""Slopes and ranges of functions, and where Assumption 3 holds (Section 4)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_studies.gpoo.cell_bandit import CellBandit

_SLOPE_POINTS = 4001


def largest_slopes(problem: CellBandit) -> FloatArray:
    """Return the largest slope of each function on [0, 1], shape (1 or R,), from differences on 4001 points."""
    return np.asarray(np.abs(np.diff(_values(problem), axis=1)).max(axis=1) * (_SLOPE_POINTS - 1))


def ranges(problem: CellBandit) -> FloatArray:
    """Return how much each function varies on [0, 1], shape (1 or R,): no regret is larger."""
    return np.asarray(np.ptp(_values(problem), axis=1))


def _values(problem: CellBandit) -> FloatArray:
    """Return each function on 4001 points of [0, 1], shape (1 or R, 4001)."""
    x = np.linspace(0.0, 1.0, _SLOPE_POINTS)
    if problem.has_own_functions:
        n_functions = len(problem.function.weights)  # type: ignore[attr-defined]
        return problem.evaluate(np.broadcast_to(x[:, None], (n_functions, len(x), 1)))
    return problem.evaluate(x[:, None])[None]


def lipschitz_scale(slope: float, n_representatives: int) -> float:
    r"""Return c of :math:`\delta(h)=c2^{-h}` such that Assumption 3 holds with L = ``slope``: :math:`L(1-1/2S)`."""
    return slope * (1.0 - 0.5 / n_representatives)


def assumption_table(problems: Mapping[str, CellBandit], scale: float, sizes: Sequence[int]) -> pd.DataFrame:
    r"""Return where Assumption 3 holds for :math:`\delta(h)=c2^{-h}`: the largest slope of f, and the slope it allows.
    A cell of width w has a point at distance :math:`w(1-1/2S)` from a representative, so :math:`L\leq c/(1-1/2S)`."""
    lines = []
    for name, problem in problems.items():
        slope = float(largest_slopes(problem)[0])
        line = {"function": name, "largest slope": f"{slope:.1f}"}
        for size in sizes:
            allowed = scale / (1.0 - 0.5 / size)
            line[f"S = {size}: at most"] = f"{allowed:.1f} ({'holds' if slope <= allowed else 'fails'})"
        lines.append(line)
    return pd.DataFrame(lines)

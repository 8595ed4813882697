"""The overall pattern of f: errors of the model against f and against f smoothed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.models.cell_posterior import predict_points
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.trees import Search, Searches, of_all


def pattern_rows(
    searches: Searches,
    replications: int,
    seed: int,
    *,
    budgets: Sequence[int],
    width: float,
    conventions: Sequence[str] = ("as_written",),
    workers: int = 1,
) -> pd.DataFrame:
    """Return how far the model's mean lies from f, and from f smoothed by a box, after some evaluations.
    ``budgets`` (sequence of int): after how many evaluations; ``width``: of the box that smooths f; it is cut at the
    ends of the interval. Returns ``convention, series, replication, budget``, and the root mean squared errors
    ``error`` and ``smoothed_error`` on 500 points."""
    return of_all(_pattern_of, searches, conventions, workers, replications, seed, budgets, width)


def _pattern_of(search: Search, replications: int, seed: int, budgets: Sequence[int], width: float) -> pd.DataFrame:
    bandit: Any = search.problem
    x = np.linspace(bandit.partition.lower[0], bandit.partition.upper[0], 500)
    truth = bandit.evaluate(x[:, None])
    low = np.maximum(x - width / 2, bandit.partition.lower[0])
    high = np.minimum(x + width / 2, bandit.partition.upper[0])
    smooth = bandit.function.average(low[:, None], high[:, None])

    def look(state: Any, problem: CellBandit) -> dict[str, Any] | None:
        if int(state.n_rounds[0]) not in budgets:
            return None
        means, _ = predict_points(state, x[:, None])
        return {
            "replication": state.replications,
            "budget": int(state.n_rounds[0]),
            "error": np.sqrt(((means - truth) ** 2).mean(axis=1)),
            "smoothed_error": np.sqrt(((means - smooth) ** 2).mean(axis=1)),
        }

    return search.watched(look, replications, seed)

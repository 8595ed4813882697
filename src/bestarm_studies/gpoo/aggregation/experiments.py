"""Experiments on f3: Figures 5 and 6, the rivals, and the overall pattern."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.models.cell_posterior import predict_points
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.series import Series
from bestarm_studies.gpoo import series
from bestarm_studies.gpoo.aggregation.children_and_representatives import CHILDREN_AND_REPRESENTATIVES
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.experiments import BOTH, CURVE, F3, RUNS, computed, search, two_feedbacks
from bestarm_studies.gpoo.trees import Search, Searches, of_all, tree_rows

RIVALS_ON_F3 = {
    "StoOO": Series(series.STOOO, budgets=series.TENS),
    "AVE-StoOO": series.stooo(series.TENS, 10, series.AVE_STOOO),
    "GPTree": series.GPTREE,
    "GPTree (S = 10)": series.GPTREE_AVERAGE,
}


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
    Errors are root mean squares on 500 points after ``budgets`` evaluations; the box (``width``) is cut at the ends."""
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


EXPERIMENTS: dict[str, Experiment | Computation] = {
    "fig5": search("Figure 5", F3, series.single_and_average(), CURVE, BOTH, every=1),
    "rivals_f3": search("The other searches on f3", F3, RIVALS_ON_F3, CURVE, BOTH, every=1),
    "fig6": search("Figure 6", F3, CHILDREN_AND_REPRESENTATIVES, CURVE, BOTH, every=25, paper=15_000),
    "fig5_trees": computed(
        "Figure 5",
        1,
        tree_rows,
        searches=two_feedbacks(F3),
        conventions=BOTH,
        rounds=(series.BUDGET + 1,),
        posterior=True,
    ),
    "pattern": computed(
        "The model's mean against f and against f smoothed",
        RUNS,
        pattern_rows,
        searches=two_feedbacks(F3),
        conventions=BOTH,
        budgets=(10, 25, 80),
        width=1 / 32,
    ),
}

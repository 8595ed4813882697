"""Precision of predictions of divided nodes and of leaves: the reason that the paper gives for what it returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import EXPANDED, LEAF
from bestarm_studies.gpoo.trees import Search, Searches, of_all


def precision_rows(
    searches: Searches,
    replications: int,
    seed: int,
    *,
    budgets: Sequence[int],
    conventions: Sequence[str] = ("as_written",),
    workers: int = 1,
) -> pd.DataFrame:
    """Return how far the model's means are from the true averages of divided nodes and of leaves in every run.
    Of a run's nodes of a kind after ``budgets``: means of ``error``, |posterior mean - true average|, and of ``sd``."""
    return of_all(_precision_of, searches, conventions, workers, replications, seed, budgets)


def _precision_of(search: Search, replications: int, seed: int, budgets: Sequence[int]) -> pd.DataFrame:
    def look(state: Any, problem: Any) -> pd.DataFrame | None:
        if int(state.n_rounds[0]) not in budgets:
            return None
        truth = problem.cell_values(np.where(state.status > 0, state.cells, state.cells[:, :1]))
        found = {"error": np.abs(state.means - truth), "sd": np.sqrt(np.maximum(state.variances, 0.0))}
        frames = [
            pd.DataFrame({name: values.mean(axis=1, where=state.status == status) for name, values in found.items()})
            .assign(replication=state.replications, budget=int(state.n_rounds[0]), nodes=nodes)
            for nodes, status in (("divided nodes", EXPANDED), ("leaves", LEAF))
        ]  # fmt: skip
        return pd.concat(frames, ignore_index=True)

    seen = search.watched(look, replications, seed)
    return seen.assign(series=seen.pop("nodes") + " of " + seen["series"])

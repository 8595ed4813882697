"""Searches without networks, as the paper has none: a Gaussian process, a forest and neighbours, in the same batches.

They say how good a number of batches is. Settings are the library's own, those that its command line had for the same
names, fixed before any search and not tuned; MeanOpt has three strengths, of which the best is shown.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bestarm.interface import IntArray
from bestarm.policies.batch_search import BatchSearch, BatchState
from bestarm.policies.model_batches import ForestBatches, GaussianBatches, ModelBatches, ModelState, NeighbourBatches
from bestarm_studies.oae.experiments import on_bikes, on_blogs, on_lines
from bestarm_studies.oae.series import FEW_RUNS, LINEAR, ROUNDS, Group


@dataclass(frozen=True)
class ModelSearch(BatchSearch):
    """Batches by a model of the library, each replication by itself, among arms that may be drawn anew for each.
    The first batch is that of every other search. Features are seen as searches with networks see them. The model's
    label, batch and rounds give way to those of the search."""

    model: ModelBatches = NeighbourBatches("neighbours", 1, 1)

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the model's batches, shape (R, size)."""
        model = replace(self.model, label=self.label, batch=self.batch, rounds=self.rounds)
        inputs = state.inputs.cpu().numpy().astype(np.float64)
        chosen = np.empty((len(state.best), size), dtype=np.int64)
        for r, features in enumerate(state.feature_set):
            row = slice(r, r + 1)
            known = ModelState(
                inputs[features], state.streams, state.replications[row], state.arms[row], state.rewards[row],
                state.n_observed[row], state.available[row], np.zeros_like(state.available[row]), state.round,
            )  # fmt: skip
            chosen[r] = model.choose(known, 0, size)
        return chosen


PLAIN: Group = {
    "GP 0.5": partial(ModelSearch, model=GaussianBatches("GP", 1, 1, beta=0.5)),
    "GP 2": partial(ModelSearch, model=GaussianBatches("GP", 1, 1, beta=2.0)),
    "Forest": partial(ModelSearch, model=ForestBatches("forest", 1, 1)),
    "Neighbours": partial(ModelSearch, model=NeighbourBatches("neighbours", 1, 1)),
}
EXPERIMENTS = {
    "plain_lines": on_lines("Landscapes, searches without networks", LINEAR, PLAIN, laptop_runs=FEW_RUNS),
    "plain_days": replace(
        on_bikes("Days of bicycle hires, searches without networks", LINEAR, PLAIN, rounds=ROUNDS),
        vary={"name": ["BikeSharingDay"]},
    ),
    "plain_hours": replace(
        on_bikes("Hours of bicycle hires, searches without networks", LINEAR, PLAIN, laptop_runs=FEW_RUNS),
        vary={"name": ["BikeSharingHour"]},
    ),
    "plain_blogs": on_blogs("Blog posts, searches without networks", LINEAR, PLAIN, rounds=50, laptop_runs=FEW_RUNS),
}

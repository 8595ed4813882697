"""An observer of batch searches: what a batch was worth, how spread out it was, and whether its model was optimistic.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Appendices
   D.2 and E.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bestarm.experiments.observe import Observed
from bestarm.interface import Arms, Ask, FiniteProblem, FloatArray, IntArray
from bestarm.policies.batch_search import BatchState
from bestarm.streams import Streams


@dataclass
class BatchObserver(Observed):
    """A batch search under observation; it makes the same choices.

    Parameters
    ----------
    policy : BatchSearch
        What searches; no replication may stop before another.
    problem : FiniteProblem
        What is searched.

    Attributes
    ----------
    rounds : list of dict
        For each round and replication: ``reward``, mean of the batch; ``distance``, mean distance of two of its arms in
        standardised features; ``optimistic``, whether the model's outputs over the batch add up to at least the best
        batch still to be had (NaN without a model); ``diverged``, whether a fit was.
    """

    columns: ClassVar[tuple[str, ...]] = ("reward", "distance", "optimistic", "diverged")

    problem: FiniteProblem
    rounds: list[dict[str, NDArray[Any]]] = field(default_factory=list)

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        """Start the policy."""
        self.rounds.clear()
        state: BatchState = super().start(arms, streams)
        return state

    def ask(self, state: BatchState) -> Ask:
        """Let the policy choose, and note what it hopes for."""
        before = state.available
        asked = super().ask(state)
        if asked.counts.any():
            rows, size = np.arange(len(before))[:, None], asked.arms.shape[1]
            means = np.broadcast_to(self.problem.means, before.shape)
            best = np.sort(np.where(before, means, -np.inf), axis=1)[:, -size:].sum(axis=1)
            hope = state.scores[rows, asked.arms].sum(axis=1)
            self.rounds.append(
                {
                    "reward": means[rows, asked.arms].mean(axis=1),
                    "distance": _mean_distance(state, asked.arms),
                    "optimistic": np.where(np.isnan(hope), np.nan, hope >= best),
                    "diverged": state.diverged.copy(),
                }
            )
        return asked

    def findings(self, replications: IntArray) -> pd.DataFrame:
        """Return a row for each replication and round after the first pull: ``replication, round`` and the findings."""
        frames = [
            pd.DataFrame({"replication": replications, "round": number} | {k: np.float32(v) for k, v in found.items()})
            for number, found in enumerate(self.rounds, start=1)
        ]
        return pd.concat(frames, ignore_index=True)


def _mean_distance(state: BatchState, arms: IntArray) -> FloatArray:
    """Return the mean Euclidean distance of two arms of each batch, NaN for batches of one."""
    n, size = arms.shape
    points = state.inputs[state.feature_set[:, None], arms].cpu().numpy().astype(np.float64)
    if size == 1:
        return np.full(n, np.nan)
    differences = points[:, :, None] - points[:, None]
    return np.asarray(np.linalg.norm(differences, axis=-1).sum(axis=(1, 2)) / (size * (size - 1)))

"""The course of a search by MeanOpt on a line: its model, the arms it has pulled, and the hills it has seen.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Figure 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from bestarm.interface import Ask, BoolArray, FloatArray
from bestarm.observe import Observed
from bestarm.policies.batch_search import BatchState
from bestarm.policies.oae import NetworkSearch
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_studies.oae.landscapes import Landscape

CENTRES = (-8.0, -3.0, 2.0, 7.0)


@dataclass
class Sketch(Observed):
    """A batch search whose model and arms are noted in some rounds."""

    rounds: tuple[int, ...]
    noted: dict[int, tuple[FloatArray, BoolArray]] = field(default_factory=dict)

    def tell(self, state: BatchState, asked: Ask, totals: FloatArray) -> None:
        """Update the policy, and note its last model and all arms pulled so far."""
        super().tell(state, asked, totals)
        if state.round in self.rounds:
            self.noted[state.round] = (state.scores.copy(), ~state.available)


def evolution_rows(
    problem: Callable[[], Landscape],
    policy: NetworkSearch,
    at: Sequence[int],
    replications: int,
    seed: int,
    *,
    steps: int | None = None,
    workers: int = 1,
) -> pd.DataFrame:
    """Return what a search on four hills has seen after some rounds.

    Parameters
    ----------
    problem : callable
        Makes the landscape.
    policy : NetworkSearch
        What searches it, for as many rounds as are wanted.
    at : sequence of int
        Rounds that are noted.
    replications, seed : int
        Runs; seed of the project.
    steps : int, optional
        Steps of a fit, in place of the policy's.
    workers : int
        Not used: all runs are one computation.

    Returns
    -------
    DataFrame
        ``convention, series, replication, round, statistic, x, value``. Statistic ``hills``: on how many of the four
        hills, within one width of their centres, an arm was pulled. Of the first run alone: ``model`` and ``pulled``,
        one row for each arm, and ``truth``.
    """
    law = problem()
    policy = replace(policy, rounds=max(at), steps=policy.steps if steps is None else steps)
    sketch = Sketch(policy, tuple(at))
    streams = Streams.first(replications, seed=seed, instance=law.label)
    arms = law.take(streams.replications)
    simulate(sketch, arms, streams, metrics={})
    x = arms.features[:, :, 0]
    near = np.abs(x[:, :, None] - np.array(CENTRES)) <= law.width
    order = np.argsort(x[0])
    frames = [pd.DataFrame({"replication": 0, "round": 0, "statistic": "truth", "x": x[0], "value": arms.means[0]})]
    for number, (scores, pulled) in sorted(sketch.noted.items()):
        hills = (near & pulled[:, :, None]).any(axis=1).sum(axis=1)
        table = {"replication": streams.replications, "statistic": "hills", "x": float(number), "value": hills}
        frames.append(pd.DataFrame(table).assign(round=number))
        model = {"replication": 0, "round": number, "statistic": "model", "x": x[0, order], "value": scores[0, order]}
        seen = np.flatnonzero(pulled[0])
        points = {
            "replication": 0,
            "round": number,
            "statistic": "pulled",
            "x": x[0, seen],
            "value": arms.means[0, seen],
        }
        frames += [pd.DataFrame(model), pd.DataFrame(points)]
    rows = pd.concat(frames, ignore_index=True)
    rows["value"] = rows["value"].astype(np.float64)
    return rows.assign(convention="as_written", series=policy.label)

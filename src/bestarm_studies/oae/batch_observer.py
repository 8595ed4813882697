"""An observer of batch searches: what a batch was worth, how spread out it was, and whether its model was optimistic.

It can also end a run that has found what every figure counts, so that later batches need not be searched (D.2, E.1).
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bestarm.interface import Arms, Ask, BoolArray, FiniteProblem, FloatArray, IntArray, take_rows
from bestarm.observe import Observed
from bestarm.policies.batch_search import BatchState
from bestarm.streams import Streams

WHOLE_RUNS = 25  # the paper's own number of runs


def n_good(tau: float, n_arms: float) -> int:
    """Return how many arms are in the top quantile: the smallest number that is at least tau times all, at least 1."""
    return max(1, int(np.ceil(tau * n_arms - 1e-9)))


@dataclass
class BatchObserver(Observed):
    """A batch search under observation, with the same choices; what may stop before another needs ``until``.
    A run is over once its recommended arm is among the share ``until`` of the arms (by default never) and ``least``
    batches are done; policies labelled in ``whole`` go on in their first `WHOLE_RUNS` replications. ``rounds`` has
    ``reward``, ``distance`` in standardised features, ``optimistic``, whether the model's outputs over the batch add up
    to at least the best batch left (NaN without a model), and ``diverged``."""

    columns: ClassVar[tuple[str, ...]] = ("reward", "distance", "optimistic", "diverged")

    problem: FiniteProblem
    until: float | None = None
    least: int = 0
    whole: Collection[str] = ()
    rounds: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    replications: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.until is not None and not 0.0 < self.until < 1.0:
            raise ValueError(f"until must be a quantile between 0 and 1, or None for whole runs; got {self.until}.")
        if self.least < 0:
            raise ValueError(f"least must be at least 0, got {self.least}.")

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        self.rounds.clear()
        self.replications = streams.replications
        state: BatchState = super().start(arms, streams)
        return state

    def ask(self, state: BatchState) -> Ask:
        """Let the policy choose for the runs that go on, and note what it hopes for."""
        on = ~self.finished(state)
        if self.until is None or on.all():
            return self._ask(state)
        nothing = np.zeros((len(on), self.policy.batch), dtype=np.int64)
        if not on.any():
            return Ask(nothing, nothing)
        some = take_rows(state, np.flatnonzero(on))
        asked = self._ask(some)
        state.scores[on], state.diverged[on] = some.scores, some.diverged
        arms, counts = nothing[:, : asked.arms.shape[1]], np.zeros_like(nothing[:, : asked.arms.shape[1]])
        arms[on], counts[on] = asked.arms, asked.counts
        return Ask(arms, counts)

    def _ask(self, state: BatchState) -> Ask:
        before = state.available
        asked = super().ask(state)
        if asked.counts.any():
            rows, size = np.arange(len(before))[:, None], asked.arms.shape[1]
            means = self._means(state)
            best = np.sort(np.where(before, means, -np.inf), axis=1)[:, -size:].sum(axis=1)
            hope = state.scores[rows, asked.arms].sum(axis=1)
            self.rounds.append(
                {
                    "replication": state.replications,
                    "reward": means[rows, asked.arms].mean(axis=1),
                    "distance": _mean_distance(state, asked.arms),
                    "optimistic": np.where(np.isnan(hope), np.nan, hope >= best),
                    "diverged": state.diverged.copy(),
                }
            )
        return asked

    def finished(self, state: BatchState) -> BoolArray:
        """Return which replications have stopped, or have found what is looked for."""
        over = super().finished(state)
        if self.until is None or state.round < max(self.least, 1):
            return over
        means = self._means(state)
        mine = means[np.arange(len(means)), state.best][:, None]
        found = 1 + (means > mine).sum(axis=1) <= n_good(self.until, means.shape[1])
        if self.policy.label in self.whole:
            found &= state.replications >= WHOLE_RUNS
        return np.asarray(over | found)

    def findings(self, replications: IntArray) -> pd.DataFrame:
        """Return a row for each replication and round after the first pull: ``replication, round`` and the findings."""
        frames = [
            pd.DataFrame({"replication": found["replication"], "round": number}).assign(
                **{name: np.float32(found[name]) for name in self.columns}
            )
            for number, found in enumerate(self.rounds, start=1)
        ]
        return pd.concat(frames, ignore_index=True)

    def closed(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows with one more for each run that ended once it had found: its last batch, with what is known.
        Rank and regret are those with which the run ended; rewards of batches that were not searched are missing."""
        if self.until is None:
            return rows
        last = rows.loc[rows.groupby("replication")["round"].idxmax()]
        n_arms = self.problem.means.shape[1]
        rounds = min(self.policy.rounds, -(-n_arms // self.policy.batch))
        early = last[last["round"] < rounds]
        end = early.assign(round=rounds, pulls=min(rounds * self.policy.batch, n_arms))
        end = end.assign(**{name: np.float32(np.nan) for name in self.columns})
        both = pd.concat([rows, end], ignore_index=True)
        return both.sort_values(["replication", "round"], ignore_index=True)

    def _means(self, state: BatchState) -> FloatArray:
        """Return the responses of the arms of the replications that are still searched."""
        means = self.problem.means
        if len(means) > 1:
            means = means[np.searchsorted(self.replications, state.replications)]
        return np.broadcast_to(means, state.available.shape)


def _mean_distance(state: BatchState, arms: IntArray) -> FloatArray:
    """Return the mean Euclidean distance of two arms of each batch, NaN for batches of one."""
    n, size = arms.shape
    points = state.inputs[state.feature_set[:, None], arms].cpu().numpy().astype(np.float64)
    if size == 1:
        return np.full(n, np.nan)
    differences = points[:, :, None] - points[:, None]
    return np.asarray(np.linalg.norm(differences, axis=-1).sum(axis=(1, 2)) / (size * (size - 1)))

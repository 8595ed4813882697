r"""An observer of batched searches: what a batch was worth, how spread out it was, and how its region looked."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.policies.gaussian.gp_state import LOG, BatchGPState, recommendations
from bestarm.streams import Streams

REFERENCE_SCALE = 0.2  # length-scale over the root of the dimension of the kernel by which all batches are compared
REFERENCE_NOISE = 0.01


@dataclass
class BatchObserver(Observed):
    """A batched search under observation, with the same choices; all replications stop together.
    ``rounds`` has for each round and replication the columns that ``site/pages/rows.md`` explains, and what
    `bestarm.policies.gaussian.gp_state.LOG` names, rounded to four digits."""

    columns: ClassVar[tuple[str, ...]] = (
        "total_regret",
        "best_regret",
        "by_observed_mean",
        "by_observed_reward",
        "distance",
        "nearest",
        "volume",
        "noise",
        "scale",
        *LOG,
    )

    problem: Any
    rounds: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    tried: list[IntArray] = field(default_factory=list)

    def start(self, arms: Arms, streams: Streams) -> BatchGPState:
        self.rounds.clear()
        self.tried.clear()
        state: BatchGPState = super().start(arms, streams)
        return state

    def tell(self, state: BatchGPState, asked: Ask, totals: FloatArray) -> None:
        """Update the policy, and note what its batch was worth."""
        n = len(asked.arms)
        log = state.log.copy()
        super().tell(state, asked, totals)
        points = state.points[state.point_set].transpose(0, 2, 1)
        means = np.broadcast_to(self.problem.means, (n, points.shape[1]))
        best = means.max(axis=1)

        def regret(arms: IntArray) -> FloatArray:
            return np.asarray(best[:, None] - np.take_along_axis(means, arms, axis=1))

        batch = np.take_along_axis(points, asked.arms[:, :, None], axis=1)
        before = np.concatenate(self.tried, axis=1) if self.tried else asked.arms[:, :0]
        self.tried.append(asked.arms)
        so_far = regret(np.concatenate([before, asked.arms], axis=1))
        others = {k: regret(v[:, None])[:, 0] for k, v in recommendations(state).items() if k != "mean"}
        found = {
            "total_regret": so_far.sum(axis=1),
            "best_regret": so_far.min(axis=1),
            "by_observed_mean": others["observed mean"],
            "by_observed_reward": others["observed reward"],
            "distance": _mean_distance(batch),
            "nearest": _mean_nearest(batch, np.take_along_axis(points, before[:, :, None], axis=1)),
            "volume": _volume(batch),
            "noise": state.noise,
            "scale": state.scale,
            **dict(zip(LOG, log.T, strict=True)),
        }
        self.rounds.append({name: _rounded(values).astype(np.float32) for name, values in found.items()})

    def findings(self, replications: IntArray) -> pd.DataFrame:
        """Return a row for each replication and round: ``replication, round`` and the findings."""
        frames = [
            pd.DataFrame({"replication": replications, "round": number} | found)
            for number, found in enumerate(self.rounds, start=1)
        ]
        return pd.concat(frames, ignore_index=True)


def _mean_distance(batch: FloatArray) -> FloatArray:
    """Return the mean distance of two arms of each batch, NaN for batches of one."""
    size = batch.shape[1]
    if size == 1:
        return np.full(len(batch), np.nan)
    distances = np.linalg.norm(batch[:, :, None] - batch[:, None], axis=-1)
    return np.asarray(distances.sum(axis=(1, 2)) / (size * (size - 1)))


def _mean_nearest(batch: FloatArray, before: FloatArray) -> FloatArray:
    """Return the mean distance of an arm of each batch to the nearest arm before, NaN where there is none."""
    if before.shape[1] == 0:
        return np.full(len(batch), np.nan)
    distances = np.linalg.norm(batch[:, :, None] - before[:, None], axis=-1)
    return np.asarray(distances.min(axis=2).mean(axis=1))


def _volume(batch: FloatArray) -> FloatArray:
    """Return the log determinant of the batch's matrix by a kernel that is the same for all searches."""
    scale = REFERENCE_SCALE * np.sqrt(batch.shape[2])
    squared = ((batch[:, :, None] - batch[:, None]) ** 2).sum(axis=-1)
    matrix = np.exp(-0.5 * squared / scale**2) + REFERENCE_NOISE * np.eye(batch.shape[1])
    return np.asarray(np.linalg.slogdet(matrix)[1])


def _rounded(values: FloatArray, digits: int = 4) -> FloatArray:
    """Return values with so many significant digits, so that rows stay small."""
    values = np.asarray(values, dtype=np.float64)
    size = np.where(np.isfinite(values) & (values != 0.0), np.abs(values), 1.0)
    unit = 10.0 ** (np.floor(np.log10(size)) - digits + 1)
    return np.round(values / unit) * unit

"""Finitely many candidates of a function whose maximum is known beyond them, and the regret of a recommendation."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.experiments.store import read_rows, seal
from bestarm_lab.paths import RESULTS

STUDY = "dpp_bbo"


@dataclass(frozen=True)
class CandidateArms(NoiselessArms):
    """Candidates at which a function may be evaluated, with Gaussian noise of standard deviation ``sigma``.
    ``optimum`` is :math:`f(x^*)` as far as it is known, by default the largest value of a candidate."""

    optimum: float = np.nan

    def __post_init__(self) -> None:
        super().__post_init__()
        largest = float(self.means.max())
        if np.isnan(self.optimum):
            object.__setattr__(self, "optimum", largest)
        if largest > self.optimum + 1e-9 * max(1.0, abs(self.optimum)):
            raise ValueError(f"{self.label}: a candidate has the value {largest}, more than optimum {self.optimum}.")

    def take(self, rows: IntArray) -> Self:
        """Return the problem for a subset of the replications."""
        sets = len(self.features) if self.features.ndim == 3 else len(self.means)
        if sets > 1 and len(rows) and rows.max() >= sets:
            raise ValueError(
                f"{self.label} has candidates for {sets} replications, replication {rows.max()} was asked for; "
                "make the instance with more replications."
            )
        return super().take(rows)


Maker = partial[CandidateArms]  # makes candidates for so many replications


def candidate_regret(problem: Any, recommended: IntArray) -> FloatArray:
    """Return f at the best candidate minus f at the recommended one."""
    means = np.broadcast_to(problem.means, (len(recommended), problem.means.shape[1]))
    return np.asarray(means.max(axis=1) - np.take_along_axis(means, recommended[:, :1], axis=1)[:, 0])


def stored_table(name: str, file: Path | None = None) -> tuple[pd.DataFrame, str]:
    """Return the rows (committed, or of ``file``) of the experiment ``name``, a table of evaluations, and their digest.
    The digest belongs into an instance's label, which is part of the key of every search on it."""
    rows = read_rows(file or RESULTS / STUDY / f"{name}.parquet", f"{STUDY}/{name}@laptop")
    if rows is None:
        raise DataUnavailable(f"the table of evaluations {name!r} of {STUDY} is not there; compute its rows first.")
    if (rows["data"] == "stand-in").any():
        raise DataUnavailable(f"the table of evaluations {name!r} of {STUDY} was computed on stand-in data.")
    return rows, seal(rows.drop(columns="key", errors="ignore"))[:8]

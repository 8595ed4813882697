"""Wall time of a pull against the size of the problem."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from bestarm.policies.linear.gifa import Gifa
from bestarm_lab.experiments.timing import microseconds_per_pull

Cells = Mapping[float, tuple[partial[Any], Mapping[str, Gifa]]]


def pull_times(
    cells: Cells, replications: int, side_by_side: int, rounds: int, seed: int, workers: int = 1
) -> pd.DataFrame:
    """Return the time of a pull of every algorithm in every cell, measured several times.
    ``cells``: point on the axis (K or N) → the instance's constructor and the algorithms; ``replications``:
    measurements, each on other runs; ``side_by_side``: runs that advance together; ``rounds``: rounds that are timed in
    each measurement; ``seed``, ``workers``: seed of the project; processes, of which one is used, since others would
    disturb the measurement. Returns columns ``convention, series, x, replication, microseconds``."""
    frames = []
    for x, (make, algorithms) in cells.items():
        problem = make()
        for series, algorithm in algorithms.items():
            found = microseconds_per_pull(
                replace(algorithm, label=series),
                problem,
                seed=seed,
                n_replications=side_by_side,
                n_rounds=rounds,
                n_repeats=replications,
            )
            frames.append(
                pd.DataFrame({"series": series, "x": x, "replication": range(replications), "microseconds": found})
            )
    rows = pd.concat(frames, ignore_index=True)
    rows.insert(0, "convention", "as_written")
    return rows

"""Runs under observation: the same loop and the same choices, with what the monitor found in every row.

In a ledger such an experiment reads ``rows: {make: monitored.monitored_rows, problem: ..., series: ...}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import joblib
import pandas as pd

from bestarm import metrics
from bestarm.experiments.construct import Convention, Series, construct, make_series
from bestarm.experiments.simulate import MAX_PULLS, simulate
from bestarm.interface import FiniteProblem
from bestarm.policies.gifa import Gifa
from bestarm.streams import Streams
from bestarm_studies.linear_topm.observer import FINDINGS, GifaMonitor, no_findings

METRICS = {"correct": metrics.correct, "simple_regret": metrics.simple_regret}


def parts(
    problem: Mapping[str, Any],
    series: Mapping[str, Mapping[str, Any]],
    every_series: Mapping[str, Any],
    conventions: Sequence[Convention] = ("as_written",),
) -> tuple[FiniteProblem, tuple[Series, ...]]:
    """Return the problem and the algorithms that a ledger's ``rows`` describe, as for ordinary experiments."""
    made = [
        one
        for convention in conventions
        for label, settings in series.items()
        for one in make_series(label, convention, {**every_series, **settings}, problem, {})
    ]
    return construct(dict(problem), "problems"), tuple(made)


def observe(policy: Gifa, problem: FiniteProblem, streams: Streams, max_pulls: int = MAX_PULLS) -> pd.DataFrame:
    """Return the final rows of some replications, as `simulate` does, with the findings as further columns."""
    findings = no_findings(len(streams.replications))
    frame = simulate(
        GifaMonitor(policy, problem.means, findings), problem, streams, metrics=METRICS, max_pulls=max_pulls
    )
    found = pd.DataFrame(findings, columns=list(FINDINGS)).assign(replication=streams.replications)
    return frame.merge(found, on="replication", validate="one_to_one")


def monitored_rows(
    problem: Mapping[str, Any],
    series: Mapping[str, Mapping[str, Any]],
    every_series: Mapping[str, Any],
    replications: int,
    seed: int,
    *,
    conventions: Sequence[Convention] = ("as_written",),
    workers: int = 1,
) -> pd.DataFrame:
    """Return the final rows of every algorithm on a problem, each under observation.

    Parameters
    ----------
    problem, series, every_series, conventions
        As in the ledger's ordinary experiments.
    replications : int
        Runs of each algorithm.
    seed : int
        Seed of the project.
    workers : int, default=1
        Processes; the rows do not depend on it.

    Returns
    -------
    DataFrame
        Columns ``convention, series, replication, round, pulls, stopped, correct, simple_regret`` and those of
        `bestarm_studies.linear_topm.observer.FINDINGS`.
    """
    instance, algorithms = parts(problem, series, every_series, conventions)
    streams = Streams.first(replications, seed=seed, instance=instance.label)
    # a process costs seconds to start
    found = joblib.Parallel(n_jobs=max(1, min(workers, len(algorithms))))(
        joblib.delayed(observe)(one.policy, instance, streams) for one in algorithms
    )
    frames = []
    for one, frame in zip(algorithms, found, strict=True):
        frame.insert(0, "series", one.label)
        frame.insert(0, "convention", one.convention)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)

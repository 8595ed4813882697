"""Run an experiment: every series, in blocks of replications, on all processors, resuming what is already there."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from bestarm import metrics
from bestarm.datasets.registry import checksums
from bestarm.experiments.code_hash import code_hash, syntax_digest
from bestarm.experiments.definitions import Experiment, Series
from bestarm.experiments.simulate import simulate
from bestarm.experiments.store import Store
from bestarm.streams import Streams

Progress = Callable[[int, int, float], None]

_COLUMNS = {"convention", "series", "replication", "round", "pulls", "stopped", "seconds", "data", "key"}


def data_files(experiment: Experiment) -> tuple[str, ...]:
    """Return the registered data files behind an experiment's problem; none for simulations and stand-ins."""
    if experiment.data != "real":
        return ()
    module = __import__(f"bestarm.problems.{experiment.problem_spec['make'].partition('.')[0]}", fromlist=["_"])
    return tuple(module.DATA_FILES)


def _observer(watch: str) -> Callable[[Any, Any], Any]:
    """Return the class ``module.Class`` of bestarm.policies that watches a policy on a problem."""
    module, _, name = watch.partition(".")
    return getattr(importlib.import_module(f"bestarm.policies.{module}"), name)


def _measured(experiment: Experiment) -> tuple[str, ...]:
    """Return the columns that an experiment adds to its rows: metrics, and what its observer finds."""
    if experiment.watch is None:
        return experiment.metrics
    module = importlib.import_module(f"bestarm.policies.{experiment.watch.partition('.')[0]}")
    return (*experiment.metrics, *module.FINDINGS)


def cell_key(experiment: Experiment, series: Series, seed: int) -> str:
    """Return what the rows of one series are a function of: its specification, the data, and the code it reaches."""
    problem_spec = series.problem_spec or experiment.problem_spec
    room = f"bestarm.problems.{problem_spec['make'].partition('.')[0]}"
    specification = {
        "problem": [problem_spec, series.convention if series.problem_deviates else "as_written"],
        "instance": instance_of(experiment, series),
        "data": checksums(*data_files(experiment)),
        "policy": [type(series.policy).__qualname__, asdict(series.policy)],  # type: ignore[call-overload]
        "metrics": {
            m: syntax_digest(textwrap.dedent(inspect.getsource(getattr(metrics, m)))) for m in experiment.metrics
        },
        "every": experiment.every,
        "max_pulls": experiment.max_pulls,
        "block_size": experiment.block_size,
        "seed": seed,
        "code": code_hash([type(series.policy).__module__, room, "bestarm.experiments.simulate"]),
    }
    if experiment.watch is not None:
        specification["watch"] = code_hash([f"bestarm.policies.{experiment.watch.partition('.')[0]}"])
    return hashlib.sha256(json.dumps(specification, sort_keys=True).encode()).hexdigest()[:32]


def instance_of(experiment: Experiment, series: Series) -> str:
    """Return the name of the instance, which keys the noise: series compared on one instance share it."""
    return experiment.problem.label if series.instance is None else series.instance


def _blocks(experiment: Experiment, series: Series) -> list[tuple[int, int]]:
    n, size = min(experiment.n_replications, series.n_replications or experiment.n_replications), experiment.block_size
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def _simulate_block(
    experiment: Experiment, series: Series, seed: int, store: Store, key: str, start: int, stop: int
) -> None:
    replications = np.arange(start, stop, dtype=np.int64)
    streams = Streams(seed, instance_of(experiment, series), replications)
    began = time.perf_counter()
    problem = (series.problem or experiment.problem).take(replications)
    policy: Any = series.policy
    if experiment.watch is not None:
        policy = _observer(experiment.watch)(policy, problem)
    frame = simulate(
        policy,
        problem,
        streams,
        metrics={name: getattr(metrics, name) for name in experiment.metrics},
        max_pulls=experiment.max_pulls,
        every=experiment.every if series.budget is None else None,
    )
    if experiment.watch is not None:
        frame = frame.merge(policy.findings(replications), "left", ["replication", "round"], validate="one_to_one")
    frame["seconds"] = (time.perf_counter() - began) / (stop - start)
    store.write(key, start, stop, frame)


def _reusable(
    committed: pd.DataFrame | None, key: str, start: int, stop: int, measured: tuple[str, ...]
) -> pd.DataFrame | None:
    """Return the committed rows of a block if they were made by this very specification and code."""
    if committed is None:
        return None
    rows = committed[(committed["key"] == key) & committed["replication"].between(start, stop - 1)]
    whole = rows["replication"].nunique() == stop - start
    wanted = [c for c in rows.columns if c in _COLUMNS or c in measured]
    rows = rows[wanted].drop(columns=["key", "convention", "series", "data"])
    rows = rows.drop_duplicates(["replication", "round"])
    return rows if whole else None


def n_workers() -> int:
    """Return ``$BESTARM_WORKERS``, by default the number of processors this process may use."""
    asked = int(os.environ.get("BESTARM_WORKERS", 0))
    return asked or joblib.cpu_count()


def run_experiment(
    experiment: Experiment,
    *,
    seed: int,
    store: Path,
    committed: pd.DataFrame | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return the rows of every series of an experiment, computing only the blocks that are nowhere yet.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    seed : int
        Seed of the project.
    store : Path
        Folder of finished blocks; a killed run loses at most the blocks in flight.
    committed : DataFrame, optional
        Final rows of an earlier run; reused where their key is still right.
    workers : int, optional
        Processes; the rows do not depend on it.
    progress : callable, optional
        Called with (blocks done, blocks in all, seconds left).

    Returns
    -------
    DataFrame
        One row for each convention, series, replication and recorded round: ``convention, series, replication, round,
        pulls, stopped``, the metrics, ``seconds`` (mean wall time of a replication), ``data``, ``key``. Where the
        regret is followed over budgets there is a column ``budget``: the pulls of an anytime policy so far, or the
        budget that a run was given. There is a column for each setting of the problem that the experiment varies, and
        one for each finding of its observer.
    """
    blocks = Store(store)
    cells = [(series, cell_key(experiment, series, seed)) for series in experiment.series]
    if committed is not None and not _COLUMNS.union(_measured(experiment)) <= set(committed.columns):
        committed = None
    # two series of equal key (a policy without deviations, in both conventions) are one computation
    jobs = {
        (key, start): (series, key, start, stop) for series, key in cells for start, stop in _blocks(experiment, series)
    }
    found: dict[tuple[str, int], pd.DataFrame] = {}
    todo: list[tuple[Series, str, int, int]] = []
    for series, key, start, stop in jobs.values():
        block = blocks.read(key, start, stop)
        if block is None:
            block = _reusable(committed, key, start, stop, _measured(experiment))
        if block is None:
            todo.append((series, key, start, stop))
        else:
            found[key, start] = block
    _compute(experiment, seed, blocks, todo, workers or n_workers(), progress)
    for _, key, start, stop in todo:
        block = blocks.read(key, start, stop)
        if block is None:
            raise OSError(f"block {blocks.path(key, start, stop)} vanished after it was written; is the disk failing?")
        found[key, start] = block
    frames: list[pd.DataFrame] = []
    for series, key in cells:
        rows = pd.concat([found[key, start] for start, _ in _blocks(experiment, series)], ignore_index=True)
        rows.insert(0, "series", series.label)
        rows.insert(0, "convention", series.convention)
        if experiment.every is not None or series.budget is not None:
            rows.insert(2, "budget", rows["pulls"] if series.budget is None else series.budget)
        for name in experiment.varied:
            rows.insert(2, name, series.cell[name])
        frames.append(rows.assign(data=experiment.data, key=key))
    return pd.concat(frames, ignore_index=True)


def _compute(
    experiment: Experiment,
    seed: int,
    blocks: Store,
    todo: list[tuple[Series, str, int, int]],
    workers: int,
    progress: Progress | None,
) -> None:
    if not todo:
        return
    # a process costs seconds to start, so a smoke run stays in this one
    workers = 1 if experiment.profile == "smoke" else max(1, min(workers, len(todo)))
    calls: list[Any] = [
        joblib.delayed(_simulate_block)(experiment, series, seed, blocks, key, start, stop)
        for series, key, start, stop in todo
    ]
    began = time.monotonic()
    with joblib.parallel_config(backend="loky" if workers > 1 else "sequential", n_jobs=workers):
        for done, _ in enumerate(joblib.Parallel(return_as="generator_unordered")(calls), start=1):
            if progress is not None:
                progress(done, len(calls), (time.monotonic() - began) / done * (len(calls) - done))

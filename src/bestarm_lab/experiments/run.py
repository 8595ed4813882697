"""Runs of experiments: in blocks of replications, on all processors, resuming what is already there."""

import logging
import os
import time
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import joblib
import pandas as pd

from bestarm_lab.experiments.cluster import on_cluster
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.keys import Part
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.experiments.store import Store

logger = logging.getLogger(__name__)

Progress = Callable[[int, int, float], None]


def n_workers() -> int:
    """Return ``$BESTARM_WORKERS``, by default the number of processors this process may use."""
    asked = os.environ.get("BESTARM_WORKERS") or "0"
    if not asked.isdecimal():
        raise ValueError(f"BESTARM_WORKERS must be a number of processes, 0 for all processors, got {asked!r}.")
    return int(asked) or joblib.cpu_count()


def make_rows(
    experiment: Experiment | Computation,
    profile: Profile,
    *,
    seed: int,
    store: Path,
    committed: pd.DataFrame | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
    spent: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """Return the rows of an experiment at a profile, computing only the blocks that are nowhere yet.

    Finished blocks lie in the folder ``store``, so that a killed run loses at most those in flight; ``committed`` rows
    are reused where their key is still right. Rows depend neither on the number of processes (``workers``) nor on the
    ``scheduler``, the address of Dask whose workers compute the blocks of searches (`bestarm_lab.experiments.cluster`).
    ``progress`` is called with blocks done, blocks in all and seconds left; ``spent`` once with the processor seconds
    of the blocks that were computed, if any were.

    Of a search there is one row for each convention, series, replication and recorded round: ``convention, series``, a
    column for each varied setting, ``budget`` where there are several, ``replication, round, pulls, stopped``, the
    metrics and the observer's findings, ``data``, ``key``. Of a computation: what its function returns, and ``key``.
    """
    parts = experiment.parts(profile, seed, workers)
    blocks = Store(store)
    known: dict[str, pd.DataFrame] = {}
    if committed is not None and "key" in committed:
        if _all_there(committed, parts):
            return committed
        known = _by_key(committed, parts)
    # two series of equal key (a policy without deviations, under both conventions) are one computation
    jobs = {(part.key, start, stop): (part, start, stop) for part in parts for start, stop in part.blocks()}
    found: dict[tuple[str, int, int], pd.DataFrame] = {}
    todo: list[tuple[Part, int, int]] = []
    for part, start, stop in jobs.values():
        block = blocks.read(part.key, start, stop)
        if block is None:
            block = _reusable(known.get(part.key), part, start, stop)
        if block is None:
            todo.append((part, start, stop))
        else:
            found[part.key, start, stop] = block
    alone = isinstance(experiment, Computation)  # a computation has processes of its own
    if scheduler and not alone:
        made = on_cluster(scheduler, todo, blocks)
    else:
        made = _in_processes(todo, blocks, 1 if alone else workers)
    seconds = _compute(made, len(todo), progress) if todo else 0.0
    if todo and spent is not None:
        spent(seconds)
    for part, start, stop in todo:
        if (block := blocks.read(part.key, start, stop)) is None:
            file = blocks.path(part.key, start, stop)
            raise OSError(f"block {file} vanished after it was written; is the disk failing?")
        found[part.key, start, stop] = block
    frames = [_with_columns([found[part.key, *block] for block in part.blocks()], part) for part in parts]
    return pd.concat(frames, ignore_index=True)


def stored_whole(experiment: Experiment | Computation, profile: Profile, seed: int, committed: pd.DataFrame) -> bool:
    """Return whether committed rows are all those of an experiment, made by its present specification and code."""
    return "key" in committed and _all_there(committed, experiment.parts(profile, seed))


def _all_there(committed: pd.DataFrame, parts: list[Part]) -> bool:
    """Return whether these rows are just those of the parts; looked up once for each key, not for each block."""
    columns = set(committed.columns)
    if any(not {*part.columns, *part.wanted} <= columns for part in parts):
        return False
    if not parts[0].columns:
        return len(committed) > 0 and bool((committed["key"] == parts[0].key).all())
    runs = committed.groupby(["convention", "series", "key"], sort=False, observed=True)["replication"].nunique()
    wanted: dict[Any, int] = {(p.columns["convention"], p.columns["series"], p.key): p.replications for p in parts}
    return len(runs) == len(wanted) and all(n == wanted.get(cell) for cell, n in runs.items())


def _by_key(committed: pd.DataFrame, parts: list[Part]) -> dict[str, pd.DataFrame]:
    """Return the rows of each key without the columns that its series add, those of one of its series."""
    wanted = {part.key: part for part in parts}
    found: dict[str, pd.DataFrame] = {}
    on = ["key"] + [c for c in ("convention", "series") if c in committed and parts[0].columns]
    for cell, places in committed.groupby(on, sort=False, observed=True).indices.items():
        key = str(cell[0] if isinstance(cell, tuple) else cell)
        part = wanted.get(key)
        if part is not None and key not in found and set(part.wanted) <= set(committed.columns):
            own = [c for c in committed.columns if c not in part.columns and c != "key"]
            rows = committed.iloc[places][own]
            if part.columns:  # columns of other series, or of another form of the experiment
                rows = rows[[c for c in own if c in part.wanted or c == "budget"]]
            found[key] = rows
    return found


def _reusable(known: pd.DataFrame | None, part: Part, start: int, stop: int) -> pd.DataFrame | None:
    if known is None:
        return None
    if not part.columns:
        return known
    rows = known[known["replication"].between(start, stop - 1)].drop_duplicates(["replication", "round"])
    return rows if rows["replication"].nunique() == stop - start else None


def _with_columns(blocks: list[pd.DataFrame], part: Part) -> pd.DataFrame:
    rows = pd.concat(blocks, ignore_index=True)
    for place, (name, value) in enumerate(part.columns.items()):
        rows.insert(place if name != "data" else len(rows.columns), name, value)
    return rows.assign(key=part.key)


def _compute(made: Generator[float, None, None], total: int, progress: Progress | None) -> float:
    """Compute blocks by taking them from an iterator, and return the processor seconds that they took."""
    began, seconds = time.monotonic(), 0.0
    with closing(made):
        for done, took in enumerate(made, start=1):
            seconds += took
            if progress is not None:
                progress(done, total, (time.monotonic() - began) / done * (total - done))
    return seconds


def _in_processes(todo: list[tuple[Part, int, int]], blocks: Store, workers: int) -> Generator[float, None, None]:
    """Compute and store blocks in processes of this machine, yielding the processor seconds of each."""
    workers = max(1, min(workers, len(todo)))  # a process costs seconds to start
    calls = [joblib.delayed(_compute_block)(part, start, stop, blocks) for part, start, stop in todo]
    with joblib.parallel_config(backend="loky" if workers > 1 else "sequential", n_jobs=workers):
        yield from joblib.Parallel(return_as="generator_unordered")(calls)


def _compute_block(part: Part, start: int, stop: int, blocks: Store) -> float:
    began = _processor_seconds()
    blocks.write(part.key, start, stop, part.compute(start, stop))
    return _processor_seconds() - began


def _processor_seconds() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system

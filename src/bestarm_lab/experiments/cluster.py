"""Blocks of rows on a Dask cluster: some worker computes a block, the process that asked for it stores it.

So a block is stored once or not at all, whatever happens to workers, and workers need no folder in common.
"""

import asyncio
import hashlib
import logging
import pickle
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pandas as pd

from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.experiments.keys import Part
from bestarm_lab.experiments.names import PACKAGES, SOURCE
from bestarm_lab.experiments.store import Store

logger = logging.getLogger(__name__)

TIMEOUT_S = 5.0


class ClusterFailed(ValueError):
    """A cluster does not answer, cannot compute the rows, or lost workers again and again; blocks made are kept."""


def on_cluster(address: str, todo: list[tuple[Part, int, int]], blocks: Store) -> Generator[float, None, None]:
    """Compute blocks on the workers of a Dask scheduler and store them here, yielding the processor seconds of each.

    A block, of ``todo`` (part, first replication, last but one), whose worker is lost is given to another one. Closing
    the iterator takes back what has not begun; a block that a worker is computing then goes on there to its end, and is
    not stored. Raises ClusterFailed if Dask is not installed, no scheduler answers at the address
    (``tcp://192.0.2.1:8786``), it is lost, a worker has other code, no data or several threads, or the workers of a
    block died more often than the scheduler allows.
    """
    try:
        from cloudpickle import dumps as pickled
        from distributed import CancelledError, Client, KilledWorker, as_completed
    except ImportError as error:
        raise ClusterFailed(
            f"rows are to be computed by the Dask scheduler at {address}, and Dask is not installed ({error}): install "
            "bestarm[cluster], or unset BESTARM_SCHEDULER to compute on this machine."
        ) from error
    _check_scheduler(address)
    with Client(address, timeout=TIMEOUT_S, set_as_default=False) as client:
        if not client.nthreads():
            logger.warning("the Dask scheduler at %s has no worker yet: waiting for the first one", address)
        begun = {
            client.submit(compute_block, pickled(part), start, stop, code_here(), pure=False): (part, start, stop)
            for part, start, stop in todo
        }
        for future in as_completed(list(begun), loop=client.loop):
            part, start, stop = begun.pop(future)  # a worker forgets the rows of a block once they are stored
            try:
                rows, seconds = future.result()
            except KilledWorker as error:
                raise ClusterFailed(
                    f"replications {start} to {stop - 1} of {part.columns or part.key} were given up, since every "
                    "worker that computed them died: look at the workers' logs, and give them more memory or time."
                ) from error
            except CancelledError as error:
                raise ClusterFailed(
                    f"the Dask scheduler at {address} was lost: start it again; finished blocks are kept."
                ) from error
            except (ImportError, DataUnavailable) as error:
                raise ClusterFailed(
                    f"a worker of the Dask scheduler at {address} lacks what the rows need ({error}): give every "
                    "worker the same commit, the same locks/requirements.lock and the data files, and start it again."
                ) from error
            blocks.write(part.key, start, stop, rows)
            yield seconds


def _check_scheduler(address: str) -> None:
    """Refuse an address at which no Dask scheduler answers; a `Client` that fails would hold the process for longer."""
    from distributed import Security, rpc

    async def kind() -> str:
        safety = Security().get_connection_args("client")
        async with rpc(address, timeout=TIMEOUT_S, connection_args=safety) as scheduler:
            identity = await asyncio.wait_for(scheduler.identity(), TIMEOUT_S)
        return str(identity["type"])

    try:
        with ThreadPoolExecutor(1) as thread:  # a notebook's own thread has a loop already
            found = thread.submit(asyncio.run, kind()).result()
        if found != "Scheduler":
            raise ValueError(f"a {found} answers")
    except Exception as error:  # a closed port, no number, or another program's port, whose answer Dask misreads
        raise ClusterFailed(
            f"no Dask scheduler answers at {address!r} within {TIMEOUT_S:g} s: start one, give its address as "
            "tcp://host:port, or unset BESTARM_SCHEDULER to compute on this machine."
        ) from error


def compute_block(part: bytes, start: int, stop: int, code: str) -> tuple[pd.DataFrame, float]:
    """Return the rows of a block and the processor seconds that they took: what a worker does.

    ``part`` is pickled, and read only after the code has been compared with `code_here` of the process that asks, whose
    keys say that rows are made by this code. Raises ClusterFailed if this worker has other code, or several threads:
    one thread per process is what the rows are made with.
    """
    from distributed import get_worker

    worker = get_worker()
    if code != code_here():
        raise ClusterFailed(
            f"the worker {worker.address} runs another version of bestarm ({code_here()[:8]}) than the process that "
            f"asks ({code[:8]}): bring both to the same commit and start the worker again."
        )
    if worker.state.nthreads != 1:
        raise ClusterFailed(
            f"the worker {worker.address} has {worker.state.nthreads} threads, and a block needs a process of its own: "
            "start it with --nthreads 1, and as many workers as processors."
        )
    began = time.thread_time()
    return pickle.loads(part).compute(start, stop), time.thread_time() - began


@cache
def code_here() -> str:
    """Return a hash of all source files of these packages, taken once in the life of a process, at its first block."""
    total = hashlib.sha256()
    for path in sorted(path for package in PACKAGES for path in (SOURCE / package).rglob("*.py")):
        total.update(f"{path.relative_to(SOURCE).as_posix()}\n".encode() + path.read_bytes())
    return total.hexdigest()

"""Processes that are killed or share a store, and disks that are full or read-only: the rows are the same at the end.

``pytest --kills 50 tests/lab/experiments/test_faults.py`` kills as often as that; by default a few times.
"""

import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from refusals import refuses
from small_experiments import SEED, equal, experiment, rows_and_blocks, rows_of

from bestarm.policies.linear.gifa import MLinGape

HERE = Path(__file__).parent
RUN = f"""
import sys
sys.path[:0] = {[str(HERE), str(HERE.parents[1])]!r}
from pathlib import Path
from test_faults import slow_experiment
from small_experiments import SEED
from bestarm_lab.experiments.run import make_rows
print("ready", flush=True)
make_rows(slow_experiment(), "laptop", seed=SEED, store=Path(sys.argv[1]), workers=int(sys.argv[2]))
print("done", flush=True)
"""


def slow_experiment():
    """Return an experiment of 40 blocks, each some ten milliseconds long."""
    return experiment(replications=40, block=2, series={"A": MLinGape(2, sigma=1.0), "B": MLinGape(2, sigma=0.9)})


def n_blocks() -> int:
    return len({(part.key, start) for part in slow_experiment().parts("laptop", SEED) for start, _ in part.blocks()})


def run(store: Path, workers: int = 1) -> subprocess.Popen:
    """Start a run in a process group of its own, and return it when it begins with the blocks."""
    command, pipe = [sys.executable, "-c", RUN, str(store), str(workers)], subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[pd.DataFrame, float]:
    """Return the rows, and the seconds that the blocks take."""
    began = time.monotonic()
    return rows_of(slow_experiment(), tmp_path_factory.mktemp("undisturbed")), time.monotonic() - began


@pytest.mark.slow
def test_random_kills_change_no_bit(tmp_path, undisturbed, kills):
    """SIGKILL to the whole group at random moments, some with two workers; then one run to the end."""
    rows, seconds = undisturbed
    moments = random.Random(SEED)
    for number in range(kills):
        process = run(tmp_path, workers=1 + number % 2)
        try:
            process.wait(timeout=moments.uniform(0.0, 1.5 * seconds / max(1, kills // 3)))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
        process.communicate()
    whole = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet") if not path.name.startswith(".")}
    found, made = rows_and_blocks(slow_experiment(), tmp_path)
    assert made == n_blocks() - len(whole), "the last run computes what was not there"
    assert all(path.stat().st_mtime_ns == when for path, when in whole.items())
    assert equal(found, rows)
    workers = sum(1 + number % 2 for number in range(kills))
    assert len(list(tmp_path.rglob("*.tmp"))) <= workers  # what each was writing when it was killed


@pytest.mark.slow
def test_two_processes_on_one_store_finish_with_the_right_rows(tmp_path, undisturbed):
    """At once on an empty store: both end well, no block is damaged, each is there once."""
    for process in [run(tmp_path), run(tmp_path)]:
        out, errors = process.communicate(timeout=300)
        assert (out, errors) == ("done\n", "")
    assert equal(rows_of(slow_experiment(), tmp_path), undisturbed[0])
    assert len(list(tmp_path.rglob("*.parquet"))) == n_blocks()


def test_a_disk_that_is_full_keeps_what_was_written(tmp_path, undisturbed):
    """No file may grow beyond a few bytes: one clear error, no partial file; with room again the run goes on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = len(list(tmp_path.rglob("*.parquet")))
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        words = r"cannot write results to .*parquet: .*Free the disk or choose another store"
        refuses(lambda: rows_of(slow_experiment(), tmp_path), words, OSError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(list(tmp_path.rglob("*.parquet"))) == before
    assert equal(rows_of(slow_experiment(), tmp_path), undisturbed[0])


@pytest.mark.parametrize("place", ["/proc/store", "/dev/null/store"])
def test_a_store_that_cannot_be_written_is_one_clear_error(place):
    if not Path("/proc").is_dir():
        pytest.skip("there is no /proc here")
    refuses(lambda: rows_of(slow_experiment(), Path(place)), r"cannot write results to|Not a directory", OSError)

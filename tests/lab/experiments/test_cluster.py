"""Rows on a Dask cluster over TCP: equal bits, lost workers, interruption, and what is refused."""

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from refusals import refuses
from small_experiments import bandit, experiment, rows_and_blocks, rows_of

from bestarm.policies.linear.gifa import Lucb
from bestarm_lab import command_line as cli
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.experiments.cluster import ClusterFailed
from bestarm_lab.experiments.names import SOURCE
from bestarm_lab.experiments.store import Store
from bestarm_lab.paths import rows_file
from bestarm_lab.study import load_study

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install bestarm[cluster]")

ONE_POLICY = {"series": {"LUCB": Lucb(2)}, "conventions": ("as_written",)}
local_cluster = partial(distributed.LocalCluster, protocol="tcp", dashboard_address=":0")


@pytest.fixture(scope="module")
def cluster():
    """Return two worker processes of one thread each, and their scheduler in this process."""
    with local_cluster(n_workers=2, threads_per_worker=1, processes=True, memory_limit=0) as local:
        yield local


def long_experiment():
    """Return an experiment of twelve blocks, each of about a tenth of a second."""
    return experiment(12, 1, problem=partial(bandit, n_arms=4, gap=0.5), **ONE_POLICY)


def only(problem):
    return experiment(1, 1, problem=problem, **ONE_POLICY)


@pytest.fixture
def written(monkeypatch):
    """Return a list of the blocks that this process stores."""
    blocks, write = [], Store.write

    def note(store, key, start, stop, frame):
        blocks.append((key, start, stop))
        write(store, key, start, stop, frame)

    monkeypatch.setattr(Store, "write", note)
    return blocks


def test_rows_of_an_experiment_have_the_bits_of_the_serial_run(cluster, tmp_path, written):
    """Figure 2a of the linear bandits at smoke scale: 18 blocks, each stored once, by this process."""
    figure, spent = load_study("linear_topm").experiment("fig2a"), []
    settings = {"profile": "smoke", "scheduler": cluster.scheduler_address, "spent": spent.append}
    found, blocks = rows_and_blocks(figure, tmp_path / "cluster", **settings)
    assert blocks == len(written) == len(set(written)) == 18
    assert spent[0] > 0
    assert found.equals(rows_of(figure, tmp_path / "serial", "smoke"))
    assert rows_and_blocks(figure, tmp_path / "cluster", **settings)[1] == 0


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(cluster, tmp_path, written):
    """kill -9 of a worker that is computing, once two blocks are there: its block is computed by another one."""
    killed = []

    def kill_one(done, total, seconds_left):
        if done == 2:
            computing = [n for n in cluster.workers.values() if cluster.scheduler.workers[n.worker_address].processing]
            killed.append(computing[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    rows = rows_of(long_experiment(), tmp_path / "a", scheduler=cluster.scheduler_address, progress=kill_one)
    assert len(killed) == 1
    assert len(written) == len(set(written)) == 12
    assert rows.equals(rows_of(long_experiment(), tmp_path / "b"))


def test_an_interrupted_run_keeps_finished_blocks_and_takes_back_the_others(cluster, tmp_path):
    """Ctrl-C after three blocks: three are stored, the scheduler forgets the rest, and the next run makes nine."""

    def interrupt(done, total, seconds_left):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows_of(long_experiment(), tmp_path / "a", scheduler=cluster.scheduler_address, progress=interrupt)
    assert len(list(tmp_path.rglob("*.parquet"))) == 3
    deadline = time.monotonic() + 20
    while cluster.scheduler.tasks:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    resumed, blocks = rows_and_blocks(long_experiment(), tmp_path / "a")
    assert blocks == 9
    assert resumed.equals(rows_of(long_experiment(), tmp_path / "b"))


def deadly(asker):
    """Return a bandit in the process that asks, and end any other one."""
    if os.getpid() != asker:
        os._exit(1)
    return bandit()


def failing(asker, error):
    if os.getpid() != asker:
        raise error("nobody has bandits.csv.")
    return bandit()


def refused(error, an_experiment, address, folder):
    refuses(lambda: rows_of(an_experiment, folder, scheduler=address), str(error), type(error))
    assert not list(folder.rglob("*.parquet"))


def test_a_scheduler_that_does_not_answer(tmp_path, monkeypatch, capsys):
    """The command ends soon (5 s, and what a busy machine adds) with one line and status 2; committed rows stay."""
    committed = rows_file("linear_topm", "fig2a", "laptop")
    before = committed.stat().st_mtime_ns
    monkeypatch.setenv("BESTARM_SCHEDULER", "tcp://127.0.0.1:1")
    monkeypatch.setenv("BESTARM_STORE", str(tmp_path))
    monkeypatch.setenv("BESTARM_FRESH", "1")
    began = time.monotonic()
    assert cli.main(["rows", "linear_topm", "--experiment", "fig2a"]) == 2
    assert time.monotonic() - began < 60
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("bestarm: no Dask scheduler answers at 'tcp://127.0.0.1:1' within 5 s: start one")
    assert committed.stat().st_mtime_ns == before
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("address", ["nothing", "http://127.0.0.1:8786", "tcp://127.0.0.1:port", "of a worker"])
def test_an_address_that_is_none(address, cluster, tmp_path):
    address = cluster.workers[0].worker_address if address == "of a worker" else address
    refused(ClusterFailed(f"no Dask scheduler answers at '{address}'"), experiment(), address, tmp_path)


def test_a_worker_with_other_code(tmp_path):
    """A worker on a copy of the sources in which one statement was added to one module."""
    copy = tmp_path / "src"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "bestarm" / "metrics.py").open("a", encoding="utf-8") as file:
        file.write("CHANGED = True\n")
    with local_cluster(n_workers=0) as empty:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        worker = subprocess.Popen(
            [sys.executable, "-m", "dask", "worker", empty.scheduler_address, *options],
            env=os.environ | {"PYTHONPATH": str(copy)},
            stderr=subprocess.DEVNULL,
        )
        try:
            words = r"the worker tcp://\S+ runs another version of bestarm .* bring both to the same commit"
            refused(ClusterFailed(words), experiment(), empty.scheduler_address, tmp_path / "store")
        finally:
            worker.kill()
            worker.wait()


def test_a_worker_of_several_threads(tmp_path):
    """Blocks in threads of one process would share what is one process's."""
    with local_cluster(n_workers=1, threads_per_worker=2, processes=False) as threads:
        words = r"the worker tcp://\S+ has 2 threads, .* start it with --nthreads 1"
        refused(ClusterFailed(words), experiment(), threads.scheduler_address, tmp_path)


def test_a_worker_that_lacks_a_module(cluster, tmp_path, monkeypatch):
    """The experiment is written in a module that only the process that asks can import."""
    source = "from small_experiments import bandit\ndef problem():\n    return bandit()\n"
    (tmp_path / "only_here.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    words = r"lacks what the rows need \(No module named 'only_here'\): give every worker the same commit"
    refused(ClusterFailed(words), only(partial(only_here.problem)), cluster.scheduler_address, tmp_path)


def test_a_worker_that_lacks_the_data(cluster, tmp_path):
    problem = partial(failing, asker=os.getpid(), error=DataUnavailable)
    words = r"lacks what the rows need \(nobody has bandits.csv.\): give every worker .* the data files"
    refused(ClusterFailed(words), only(problem), cluster.scheduler_address, tmp_path)


def test_an_error_in_a_block_is_raised_as_it_is(cluster, tmp_path):
    problem = partial(failing, asker=os.getpid(), error=KeyError)
    refused(KeyError("nobody has bandits.csv."), only(problem), cluster.scheduler_address, tmp_path)


@pytest.mark.slow
def test_a_block_that_ends_every_worker_is_given_up(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    words = "replications 0 to 0 of .*LUCB.* were given up, since every worker that computed them died"
    refused(ClusterFailed(words), only(partial(deadly, asker=os.getpid())), cluster.scheduler_address, tmp_path)

"""Making rows: blocks, workers, kills, damage, committed rows, equal keys."""

import logging
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_experiments import SEED, equal, experiment, rows_and_blocks, rows_of

from bestarm.policies.linear.gifa import Lucb, MLinGape
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.experiments.experiment import Series
from bestarm_lab.experiments.run import n_workers, stored_whole
from bestarm_lab.experiments.scale import Scale
from bestarm_lab.experiments.store import read_rows, write_rows
from bestarm_lab.metrics import correct

ONE_RUN = {"smoke": Scale(1), "laptop": Scale(1)}


def blocks_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


def test_rows_are_those_of_the_loop_in_order(tmp_path):
    """Series by series, replications in order, with convention, series, data and key; no wall times."""
    small = experiment()
    frame = rows_of(small, tmp_path)
    names = "convention series replication round pulls stopped correct simple_regret data key"
    assert list(frame.columns) == names.split()
    assert frame["convention"].tolist() == ["as_written"] * 16 + ["as_coded"] * 16
    assert frame["replication"].tolist() == [*range(8)] * 4
    for place, cell in enumerate(small.cells("laptop")):
        rows, problem = frame[8 * place : 8 * place + 8], cell.build()
        streams = Streams.first(8, seed=SEED, instance=problem.label)
        expected = simulate(cell.policy, problem, streams, metrics={"correct": correct})
        pd.testing.assert_frame_equal(rows[list(expected)].reset_index(drop=True), expected, check_exact=True)


@pytest.mark.slow
def test_one_worker_and_two_give_equal_bits(tmp_path):
    alone, two = (rows_of(experiment(), tmp_path / str(workers), workers=workers) for workers in (1, 2))
    assert alone.equals(two)


def test_the_number_of_workers_may_be_set(monkeypatch):
    monkeypatch.setenv("BESTARM_WORKERS", "3")
    assert n_workers() == 3
    monkeypatch.delenv("BESTARM_WORKERS")
    assert n_workers() >= 1


def test_block_size_changes_no_row_and_more_replications_none_before(tmp_path):
    """Blocks of 1, 3 and 100; from 4 to 12 replications two new blocks for each of four series."""
    frames = [rows_of(experiment(block=size), tmp_path) for size in (4, 1, 3, 100)]
    assert all(equal(frame, frames[0]) for frame in frames)
    few = rows_of(experiment(4), tmp_path / "more")
    many, blocks = rows_and_blocks(experiment(12), tmp_path / "more")
    assert blocks == 8
    assert few.equals(many[many["replication"] < 4].reset_index(drop=True))


def test_one_more_series_computes_only_its_own_blocks(tmp_path):
    rows_of(experiment(), tmp_path)
    policy = MLinGape(2, threshold="heuristic")
    larger = experiment(series={**experiment().series, "C": Lucb(2), "A | again": policy})
    assert rows_and_blocks(larger, tmp_path)[1] == 4
    assert rows_and_blocks(experiment(series={"new name": Series(policy, label="A")}), tmp_path)[1] == 0


def drawn() -> LinearBandit:
    rng = np.random.default_rng(0)
    return LinearBandit("own arms", rng.standard_normal((6, 4, 3)), rng.standard_normal((6, 3)))


def test_arms_of_each_replication_stay_with_it_in_every_block(tmp_path):
    frames = [rows_of(experiment(6, size, problem=partial(drawn), max_pulls=400), tmp_path) for size in (1, 2, 4, 6)]
    assert all(equal(frame, frames[0]) for frame in frames)


def test_equal_keys_are_computed_once_also_where_they_are_unequally_long(tmp_path):
    """A policy that has a version of its own for neither convention, and a series of fewer runs."""
    policy = MLinGape(2, threshold="heuristic")
    twice = experiment(series={"A": Series(policy.as_coded()), "A | short": Series(policy.as_coded(), replications=6)})
    frame, blocks = rows_and_blocks(twice, tmp_path / "a")
    assert (blocks, frame["key"].nunique()) == (3, 1)
    assert frame.groupby(["convention", "series"], sort=False).size().tolist() == [8, 6, 8, 6]
    for (_, series), rows in frame.groupby(["convention", "series"]):
        assert rows["replication"].tolist() == list(range(6 if "short" in series else 8))
    assert rows_of(twice, tmp_path / "b", committed=frame).equals(frame)


def test_a_damaged_block_is_reported_and_computed_again(tmp_path, caplog):
    """One warning that names the file; the other blocks are kept; equal rows; the block is whole afterwards."""
    before = rows_of(experiment(), tmp_path)
    block = blocks_in(tmp_path)[1]
    for spoil in (lambda: os.truncate(block, 100), lambda: block.write_bytes(blocks_in(tmp_path)[0].read_bytes())):
        spoil()
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            after, blocks = rows_and_blocks(experiment(), tmp_path)
        assert blocks == len(caplog.records) == 1
        assert caplog.records[0].levelname == "WARNING"
        assert str(block) in caplog.text
        assert after.equals(before)
        assert rows_and_blocks(experiment(), tmp_path)[1] == 0


def test_a_block_that_vanishes_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr("bestarm_lab.experiments.store.write_rows", lambda *_: None)
    refuses(lambda: rows_of(experiment(), tmp_path), "vanished after it was written", OSError)


def test_committed_rows_are_used_where_their_key_is_right(tmp_path):
    """All of them, so nothing is computed; the frame is equal, also through a file."""
    committed = rows_of(experiment(), tmp_path / "first")
    write_rows(committed, tmp_path / "rows.parquet", "fig")
    stored = read_rows(tmp_path / "rows.parquet", "fig")
    assert stored_whole(experiment(), "laptop", SEED, stored)
    assert not stored_whole(experiment(12), "laptop", SEED, stored)
    assert not stored_whole(experiment(), "laptop", SEED + 1, stored)
    assert rows_of(experiment(), tmp_path / "second", committed=stored).equals(committed)
    assert not (tmp_path / "second").exists()
    fewer = rows_of(experiment(4), tmp_path / "second", committed=stored)
    assert fewer.equals(committed[committed["replication"] < 4].reset_index(drop=True))


@pytest.mark.parametrize(
    ("spoil", "recomputed"),
    [
        (lambda rows: rows.assign(key="0" * 32), 8),
        (lambda rows: rows.drop(columns="key"), 8),
        (lambda rows: rows.drop(columns="simple_regret"), 8),
        (lambda rows: rows.drop(columns="round"), 8),
        (lambda rows: rows.assign(key=rows["key"].where(rows["convention"] == "as_written", "other")), 4),
        (lambda rows: rows[rows["replication"] != 2], 4),
        (lambda rows: rows[:0], 8),
    ],
    ids=["key", "no key", "no metric", "no round", "one key", "a row", "all rows"],
)
def test_committed_rows_are_not_used_otherwise(tmp_path, spoil, recomputed):
    """Another key, a missing column, or a block that is not whole: computed again."""
    committed = rows_of(experiment(), tmp_path / "first")
    lies = spoil(committed.assign(pulls=committed["pulls"] + 1))
    again, blocks = rows_and_blocks(experiment(), tmp_path / "second", committed=lies)
    assert (blocks, int((again["pulls"] == committed["pulls"]).sum())) == (recomputed, 4 * recomputed)


def test_committed_rows_are_looked_up_once_for_each_key(tmp_path):
    """A frame of 100 000 rows, 200 keys and 4 000 blocks, all there or all but one: seconds, not minutes."""
    grid = {"gap": [0.5 + k / 100 for k in range(200)]}
    series = {"A": MLinGape(2, threshold="heuristic")}
    large = experiment(500, 25, series=series, conventions=("as_written",), vary=grid, max_pulls=8)
    parts, rows = large.parts("laptop", SEED), rows_of(replace(large, profiles=ONE_RUN), tmp_path)
    of_cells = ((part, rows[rows["gap"] == part.columns["gap"]]) for part in parts)
    cells = [mine.iloc[[0] * 500].assign(key=part.key, replication=range(500)) for part, mine in of_cells]
    committed = pd.concat(cells, ignore_index=True)
    began = time.perf_counter()
    assert rows_of(large, tmp_path / "none", committed=committed) is committed
    assert not (tmp_path / "none").exists()
    but_one = committed[committed["replication"] + 1 < committed.index]
    assert rows_and_blocks(large, tmp_path / "one", committed=but_one)[1] == 20
    assert time.perf_counter() - began < 30  # a pass over the frame for each block takes minutes


def test_profiles_have_rows_of_their_own(tmp_path):
    whole = experiment(profiles={"smoke": Scale(2), "laptop": Scale(4), "paper": Scale(6)}, block=2)
    frames = {p: rows_of(whole, tmp_path, p) for p in ("smoke", "laptop", "paper")}
    assert [len(f) // 4 for f in frames.values()] == [2, 4, 6]
    paper = frames["paper"]
    assert frames["smoke"].equals(paper[paper["replication"] < 2].reset_index(drop=True))

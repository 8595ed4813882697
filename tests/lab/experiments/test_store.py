"""Rows on disk: whole or absent, never damaged in silence, never taken for others."""

import errno
import logging
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from refusals import raising, refuses
from small_experiments import SEED

from bestarm_lab import results
from bestarm_lab.experiments import store
from bestarm_lab.experiments.store import Store, read_rows, seal, write_rows


def some_rows(n: int = 60) -> pd.DataFrame:
    """Return rows with every kind of column that studies store."""
    rng = np.random.default_rng(SEED)
    return pd.DataFrame(
        {
            "convention": np.where(np.arange(n) < n // 2, "as_written", "as_coded"),
            "series": [f"algorithm {k % 3} | τ" for k in range(n)],
            "replication": np.arange(n, dtype=np.int16),
            "pulls": rng.integers(0, 10**9, n),
            "stopped": rng.random(n) < 0.5,
            "regret": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)),
            "panel": pd.Categorical(rng.choice(["a", "b"], n)),
            "note": [None if k % 7 == 0 else "text" for k in range(n)],
        }
    )


def test_rows_come_back_as_they_were_under_their_own_name_only(tmp_path, caplog):
    """Values, types and order; another name is refused, an absent file is silently None."""
    path, rows = tmp_path / "deep" / "fig.parquet", some_rows()
    write_rows(rows, path, "gse/fig")
    pd.testing.assert_frame_equal(read_rows(path, "gse/fig"), rows, check_exact=True)
    assert os.listdir(path.parent) == ["fig.parquet"]
    assert read_rows(tmp_path / "absent.parquet", "gse/fig") is None
    assert not caplog.records
    assert read_rows(path, "gse/other") is None
    assert str(path) in caplog.text


def test_a_file_without_a_seal_is_refused(tmp_path, caplog):
    some_rows().to_parquet(tmp_path / "fig.parquet")
    assert read_rows(tmp_path / "fig.parquet", "fig") is None
    assert "its seal differs" in caplog.text


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.assign(pulls=rows["pulls"].where(rows.index != 7, 1)),
        lambda rows: rows.assign(replication=rows["replication"].astype(np.int32)),
        lambda rows: rows.assign(series=rows["series"].where(rows.index != 7, "algorithm 2 | σ")),
        lambda rows: rows.assign(note=rows["note"].fillna("text")),
        lambda rows: rows.assign(stopped=~rows["stopped"]),
        lambda rows: rows.rename(columns={"pulls": "rounds"}),
        lambda rows: rows.drop(columns="note"),
        lambda rows: rows[::-1],
        lambda rows: rows[:-1],
        lambda rows: rows[list(rows.columns[::-1])],
    ],
)
def test_the_seal_knows_every_value_type_name_and_order(change):
    rows = some_rows()
    assert seal(change(rows)) != seal(rows)
    assert seal(rows.copy()) == seal(rows)


def flip(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_no_flipped_bit_changes_a_number_in_silence(tmp_path, caplog):
    """A hundred bits anywhere in the file, one at a time: the rows are equal, or refused with one warning."""
    path, rows = tmp_path / "fig.parquet", some_rows()
    write_rows(rows, path, "fig")
    content, rng = path.read_bytes(), np.random.default_rng(SEED)
    refused = 0
    for bit in rng.choice(8 * len(content), 100, replace=False):
        path.write_bytes(flip(content, int(bit)))
        caplog.clear()
        if (found := read_rows(path, "fig")) is None:
            refused += 1
            assert [record.levelname for record in caplog.records] == ["WARNING"], bit
        else:
            pd.testing.assert_frame_equal(found, rows, check_exact=True)
    assert refused > 20


@pytest.mark.parametrize("size", [0, 3, 100, -1, -9])
def test_a_truncated_file_is_refused(tmp_path, caplog, size):
    path = tmp_path / "fig.parquet"
    write_rows(some_rows(), path, "fig")
    os.truncate(path, size % path.stat().st_size)
    with caplog.at_level(logging.WARNING):
        assert read_rows(path, "fig") is None
    assert str(path) in caplog.text


def test_damaged_rows_at_the_papers_scale_are_no_reason_to_show_fewer_runs(tmp_path, monkeypatch):
    file = tmp_path / "fig2.parquet"
    file.write_bytes(b"PAR1")
    monkeypatch.setattr(results, "rows_file", lambda *names: file)
    refuses(lambda: results.published("gse", "fig2"), "is damaged, and fewer runs do not take the place of its rows")


def test_blocks_are_not_taken_for_one_another(tmp_path):
    """Key and range name a block, also where one file lies in the place of another."""
    blocks, rows = Store(tmp_path), pd.DataFrame({"replication": [0, 1]})
    blocks.write("ab12", 0, 4, rows)
    assert blocks.read("ab12", 0, 4)["replication"].tolist() == [0, 1]
    for other in (("ab12", 0, 5), ("ab12", 1, 4), ("ab13", 0, 4)):
        assert blocks.read(*other) is None
        place = blocks.path(*other)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(blocks.path("ab12", 0, 4).read_bytes())
        assert blocks.read(*other) is None


@pytest.mark.parametrize("failing", ["replace", "write_table", "mkdir"])
def test_a_full_disk_is_one_clear_error_and_keeps_what_was_there(tmp_path, monkeypatch, failing):
    """It names the file and the remedy, leaves nothing half-written, and the next write succeeds."""
    path, rows = tmp_path / "fig.parquet", some_rows()
    write_rows(rows[:5], path, "fig")
    target = {"replace": store.os, "write_table": pyarrow.parquet, "mkdir": Path}[failing]
    with monkeypatch.context() as patch:
        patch.setattr(target, failing, raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        with pytest.raises(OSError, match="No space left on device") as caught:
            write_rows(rows, path, "fig")
    assert caught.value.errno == errno.ENOSPC
    assert f"cannot write results to {path}" in str(caught.value)
    assert "Free the disk or choose another store" in str(caught.value)
    assert (os.listdir(tmp_path), len(read_rows(path, "fig"))) == (["fig.parquet"], 5)
    write_rows(rows, path, "fig")
    assert len(read_rows(path, "fig")) == len(rows)

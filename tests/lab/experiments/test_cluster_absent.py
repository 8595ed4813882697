"""Dask that is not installed; in a file of its own, since a cluster that still ends here needs the module."""

import sys

import pytest
from small_experiments import experiment, rows_of

from bestarm_lab.experiments.cluster import ClusterFailed


def test_dask_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterFailed, match=r"^rows are .* Dask is not installed .*: install bestarm\[cluster\]"):
        rows_of(experiment(), tmp_path, scheduler="tcp://127.0.0.1:8786")
    assert not list(tmp_path.rglob("*.parquet"))

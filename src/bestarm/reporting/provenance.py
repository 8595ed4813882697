"""How a figure was made, as a small JSON file beside it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import pandas as pd

from bestarm.experiments.computed import is_computed

PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib", "seaborn", "statsmodels")


def package_versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def describe_rows(paper: str, name: str, rows: pd.DataFrame) -> dict[str, Any]:
    """Return what the rows of one experiment were made by: keys, replications and seconds of simulation."""
    # a search notes the time of a whole run beside each of its rounds, a computation shares its time out over its rows
    timed = rows if is_computed(paper, name) else rows.drop_duplicates(["key", "replication"])
    cells = rows.drop_duplicates(["convention", "series"])
    return {
        "keys": {f"{c} · {s}": k for c, s, k in zip(cells["convention"], cells["series"], cells["key"], strict=True)},
        "replications": int(rows["replication"].nunique()),
        "data": str(rows["data"].iloc[0]),
        "simulation_seconds": round(float(timed["seconds"].sum()), 1),
    }


def provenance(
    paper: str, figure: str, *, seed: int, profile: str, rows: Mapping[str, pd.DataFrame], data: Mapping[str, str]
) -> dict[str, Any]:
    """Return the provenance of a figure or table as a JSON-ready dictionary."""
    return {
        "paper": paper,
        "figure": figure,
        "seed": seed,
        "profile": profile,
        "experiments": {name: describe_rows(paper, name, frame) for name, frame in rows.items()},
        "outcomes": [f"results/{paper}/{name}.parquet" for name in rows],
        "data_sha256": dict(data),
        "versions": package_versions(),
    }

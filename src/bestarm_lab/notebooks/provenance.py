"""Provenance of a figure: the keys of its rows, the data, the seed and the versions of what made it."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import pandas as pd

PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib", "seaborn", "statsmodels")


def describe_rows(rows: pd.DataFrame) -> dict[str, Any]:
    """Return what the rows of one experiment were made by: keys, replications and kind of data."""
    named = [c for c in ("convention", "series") if c in rows]
    cells = rows.drop_duplicates([*named, "key"])
    keys: dict[str, list[str]] = {}
    for line in cells[[*named, "key"]].itertuples(index=False):
        keys.setdefault(" · ".join(line[:-1]), []).append(line[-1][:12])
    return {
        "keys": {
            name: found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"
            for name, found in keys.items()
        },
        "replications": int(rows["replication"].nunique()),
        "data": str(rows["data"].iloc[0]),
    }


def provenance(
    study: str, figure: str, *, seed: int, profile: str, rows: Mapping[str, pd.DataFrame], data: Mapping[str, str]
) -> dict[str, Any]:
    """Return the provenance of a figure or table as a JSON-ready dictionary."""
    return {
        "study": study,
        "figure": figure,
        "seed": seed,
        "profile": profile,
        "experiments": {name: describe_rows(frame) for name, frame in rows.items()},
        "rows": [f"results/{study}/{name}.parquet" for name in rows],
        "data_sha256": dict(data),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }

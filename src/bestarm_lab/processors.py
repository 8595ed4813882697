"""Processors behind rows: a line for each experiment in ``data/processors/``, beside rows, keys and stages."""

import ctypes
import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from llvmlite import binding

from bestarm_lab.paths import DATA

PROCESSORS = DATA / "processors"
COLUMNS = ["experiment", "profile", "processor", "parts"]
UNKNOWN = "not recorded"
ALL = "all"
_SHORT = 12  # of a key, as in the provenance of figures


@cache
def processor_name() -> str:
    """Return the processor's name, its kind as LLVM calls it, and whose products of matrices NumPy takes."""
    found = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    name = found[0] if found else platform.processor() or platform.machine()
    core = _core_of_openblas()
    return f"{name} ({binding.get_host_cpu_name()})" + (f", OpenBLAS {core}" if core else "")


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _core_of_openblas() -> str | None:
    """Return which kernels NumPy's own OpenBLAS chose, or None where NumPy has another library."""
    package = Path(np.__file__).parent
    for file in sorted([*package.with_name("numpy.libs").glob("*openblas*"), *package.glob(".dylibs/*openblas*")]):
        for name in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename"):
            try:
                function = getattr(ctypes.CDLL(str(file)), name)
            except (OSError, AttributeError):
                continue
            function.restype = ctypes.c_char_p
            return str(function().decode())
    return None


def processors_of(study: str, folder: Path = PROCESSORS) -> pd.DataFrame:
    """Return the lines of a study, see ``COLUMNS``; none where nothing was recorded."""
    file = folder / f"{study}.csv"
    return pd.read_csv(file, dtype=str) if file.is_file() else pd.DataFrame(columns=COLUMNS, dtype=str)


def record_processor(
    study: str,
    experiment: str,
    profile: str,
    rows: pd.DataFrame,
    before: pd.DataFrame | None,
    *,
    processor: str | None = None,
    folder: Path = PROCESSORS,
) -> None:
    """Write down which processor made the parts (keys) of an experiment's rows; nothing is written if nothing is new.

    ``before`` are the rows that were taken over where keys are equal, None if all were made anew; what is new was made
    by ``processor``, by default that of this process. The lines are kept in ``folder``.
    """
    keys = _keys(rows)
    kept = keys & _keys(before)
    if kept == keys:
        return
    lines = processors_of(study, folder)
    own = (lines["experiment"] == experiment) & (lines["profile"] == profile)
    earlier = _by_key(lines[own], kept)
    made = {key: earlier.get(key, UNKNOWN) if key in kept else processor or processor_name() for key in sorted(keys)}
    names = sorted(set(made.values()))
    new = [
        (experiment, profile, name, ALL if len(names) == 1 else " ".join(k for k in made if made[k] == name))
        for name in names
    ]
    lines = pd.concat([lines[~own], pd.DataFrame(new, columns=COLUMNS)], ignore_index=True)
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{study}.csv.{os.getpid()}.tmp"
    lines.sort_values(COLUMNS).to_csv(temporary, index=False, lineterminator="\n")
    os.replace(temporary, folder / f"{study}.csv")


def _keys(rows: pd.DataFrame | None) -> set[str]:
    return set() if rows is None or "key" not in rows else {str(key)[:_SHORT] for key in rows["key"].unique()}


def _by_key(lines: pd.DataFrame, keys: set[str]) -> Mapping[str, str]:
    """Return the processor of each key that lines name, of all these keys where a line says so."""
    return {
        key: name
        for name, parts in lines[["processor", "parts"]].itertuples(index=False)
        for key in (keys if parts == ALL else parts.split())
    }


def who_made(study: str, experiment: str, profile: str = "laptop", folder: Path = PROCESSORS) -> str:
    """Return the processors of an experiment's rows in a few words."""
    lines = processors_of(study, folder)
    own = lines[(lines["experiment"] == experiment) & (lines["profile"] == profile)]
    return " and ".join(own["processor"]) or UNKNOWN

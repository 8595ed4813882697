"""The lineage of committed rows: which processor and code made them, and which code has been shown to make the same.

Whenever rows of the laptop profile are computed anew under another key, they are compared with the committed ones, and
a line for each series goes to ``results/<study>/lineage.csv``. Rows at the paper's own scale, which cost core-hours,
may then be renewed: where their settings are the same, and where lines of equal rows lead from the code that made them
to the present code, they receive the present key, and a line of their own.

Processors have a line for each experiment in ``data/processors/``, beside rows, keys and stages.
"""

import ctypes
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from llvmlite import binding

from bestarm.search.atomic_files import write_atomically
from bestarm_lab.experiments.keys import Part
from bestarm_lab.experiments.store import MadeBy
from bestarm_lab.paths import DATA

STEP = ["experiment", "profile", "convention", "series", "code_before", "code"]
COLUMNS = [*STEP, "parts", "rows", "result", "processor"]
EQUAL, CLOSE, MOVED, RENEWED = "equal", "within 1e-12", "moved", "renewed"
RENAMED = "renamed"  # the code before, with names replaced in its syntax trees, has the hash of the code
_NEAR = 1e-12  # relative to the largest number of a column
PROCESSORS = DATA / "processors"
PROCESSOR_COLUMNS = ["experiment", "profile", "processor", "parts"]
UNKNOWN = "not recorded"
ALL = "all"
_SHORT = 12  # of a key, as in the provenance of figures


def made_by(parts: Iterable[Part]) -> MadeBy:
    """Return the hashes of settings and of code behind the key of each part."""
    return {part.key: (part.settings, part.code) for part in parts}


def compare(before: pd.DataFrame, after: pd.DataFrame) -> str:
    """Return whether rows without their keys are equal bit by bit, within rounding, or moved; in whatever order."""
    a, b = (frame.drop(columns="key") for frame in (before, after))
    if list(a.columns) != list(b.columns) or len(a) != len(b):
        return MOVED
    found = _compare(a, b)
    # how many networks are fitted at once depends on the processor's vectors, and so does the order of their rows
    return found if found != MOVED else _compare(_in_order(a), _in_order(b))


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows sorted by what names them, then by their numbers."""
    names = [str(c) for c in rows if not pd.api.types.is_float_dtype(rows[c])]
    numbers = [str(c) for c in rows if c not in names]
    return rows.sort_values([*names, *numbers], key=lambda c: c.astype(str) if c.dtype == object else c)


def _compare(a: pd.DataFrame, b: pd.DataFrame) -> str:
    found = EQUAL
    for name in a.columns:
        x, y = a[name].to_numpy(), b[name].to_numpy()
        if pd.api.types.is_float_dtype(a[name]) and pd.api.types.is_float_dtype(b[name]):
            if np.array_equal(x, y, equal_nan=True):
                continue
            size = float(np.nanmax(np.abs(x[np.isfinite(x)]), initial=0.0))
            if not np.allclose(x, y, rtol=0.0, atol=_NEAR * max(size, 1e-300), equal_nan=True):
                return MOVED
            found = CLOSE
        elif not ((x == y) | (a[name].isna() & b[name].isna())).all():  # None is not equal to itself in pandas
            return MOVED
    return found


def steps(
    name: str, before: pd.DataFrame, known: MadeBy, after: pd.DataFrame, parts: Sequence[Part], processor: str
) -> list[dict[str, Any]]:
    """Return a line for each series whose code has another hash than that of its committed rows.

    ``before`` and ``known`` are committed rows of the experiment and what is behind their keys; ``after`` and ``parts``
    the rows computed anew, of the laptop profile, and their parts; ``processor`` is what computed them.
    """
    named = [c for c in ("convention", "series") if c in after]
    code = {part.key: part.code for part in parts}
    lines = []
    for cell, rows in after.groupby(named, sort=False, observed=True) if named else [((), after)]:
        of = dict(zip(named, cell, strict=True))
        old = before
        for column, value in of.items():
            old = old[old[column] == value] if column in old else old.iloc[:0]
        codes_before = {known[key][1] for key in old["key"].unique() if key in known}
        codes = {code[key] for key in rows["key"].unique()}
        if len(old) == 0 or len(codes_before) != 1 or len(codes) != 1 or codes == codes_before:
            continue
        line = {"experiment": name, "profile": "laptop", "convention": "", "series": ""} | of
        line |= {"code_before": codes_before.pop(), "code": codes.pop(), "parts": rows["key"].nunique()}
        lines.append(line | {"rows": len(rows), "result": compare(old, rows), "processor": processor})
    return lines


def read_lineage(file: Path) -> pd.DataFrame:
    """Return the lines of a study's lineage, none where there is no file."""
    return pd.read_csv(file, keep_default_na=False) if file.is_file() else pd.DataFrame(columns=COLUMNS)


def add_lines(file: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Add lines to a study's lineage; the same step of code is there once, as it was found last."""
    if not lines:
        return
    table = pd.concat([read_lineage(file), pd.DataFrame(lines, columns=COLUMNS)]).astype({"parts": int, "rows": int})
    table.drop_duplicates(STEP, keep="last").to_csv(file, index=False, lineterminator="\n")


def leads(lineage: pd.DataFrame, part: Part, name: str, code: str) -> bool:
    """Return whether lines of equal laptop rows of this series lead from some code to that of a part."""
    of = lineage[(lineage["experiment"] == name) & lineage["result"].isin((EQUAL, RENAMED))]
    for column in ("convention", "series"):
        of = of[of[column] == part.columns.get(column, "")]
    reached = {code}
    while new := set(of.loc[of["code_before"].isin(reached), "code"]) - reached:
        reached |= new
    return part.code in reached


def renew(
    name: str, rows: pd.DataFrame, known: MadeBy, parts: Sequence[Part], lineage: pd.DataFrame, processor: str
) -> tuple[pd.DataFrame, list[dict[str, Any]], list[str]]:
    """Return committed rows with the present keys where they may be renewed.

    ``rows`` and ``known`` are committed rows at the paper's own scale and what is behind their keys, ``parts`` the
    present parts at that scale, ``lineage`` that of the study. Beside the rows there are a line for each renewed
    series, and for each that cannot be renewed why.
    """
    keys = rows["key"].to_numpy(dtype=object).copy()
    there = set(keys)
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    refused: dict[str, None] = {}
    for part in parts:
        if part.key in there:
            continue
        here = np.ones(len(rows), dtype=bool)
        for column, value in part.columns.items():
            if column != "data":
                here &= (rows[column] == value).to_numpy() if column in rows else False
        old = set(rows["key"].to_numpy()[here])
        title = " · ".join(str(part.columns[c]) for c in ("convention", "series") if c in part.columns) or name
        if len(old) != 1:
            refused[f"{name}, {title}: there are no rows to renew"] = None
            continue
        settings, code = known.get(old.pop(), ("", ""))
        if settings != part.settings:
            refused[f"{name}, {title}: its settings are described anew; compute it by --profile paper"] = None
        elif not leads(lineage, part, name, code):
            refused[f"{name}, {title}: no equal laptop rows lead from the code of its rows to the present code"] = None
        else:
            keys[here] = part.key
            of = (part.columns.get("convention", ""), part.columns.get("series", ""), code)
            new = {"experiment": name, "profile": "paper", "convention": of[0], "series": of[1], "code_before": code}
            new |= {"code": part.code, "parts": 0, "rows": 0, "result": RENEWED, "processor": processor}
            line = lines.setdefault(of, new)
            line["parts"] += 1
            line["rows"] += int(here.sum())
    return rows.assign(key=keys), list(lines.values()), list(refused)


@cache
def processor_name() -> str:
    """Return the processor's name, its kind as LLVM calls it, and whose products of matrices NumPy takes."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    name = found[0] if found else platform.processor() or platform.machine()
    core = _core_of_openblas()
    return f"{name} ({binding.get_host_cpu_name()})" + (f", OpenBLAS {core}" if core else "")


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
    """Return the lines of a study, see ``PROCESSOR_COLUMNS``; none where nothing was recorded."""
    file = folder / f"{study}.csv"
    return pd.read_csv(file, dtype=str) if file.is_file() else pd.DataFrame(columns=PROCESSOR_COLUMNS, dtype=str)


def record_processor(
    study: str, experiment: str, profile: str, rows: pd.DataFrame, before: pd.DataFrame | None, processor: str
) -> None:
    """Write down which processor made the parts (keys) of an experiment's rows; nothing is written if nothing is new.

    ``before`` are the rows taken over where keys are equal, None if all were made anew, as the others by ``processor``.
    """
    keys = _keys(rows)
    kept = keys & _keys(before)
    if kept == keys:
        return
    lines = processors_of(study, PROCESSORS)
    own = (lines["experiment"] == experiment) & (lines["profile"] == profile)
    earlier = _by_key(lines[own], kept)
    made = {key: earlier.get(key, UNKNOWN) if key in kept else processor for key in sorted(keys)}
    names = sorted(set(made.values()))
    new = [
        (experiment, profile, name, ALL if len(names) == 1 else " ".join(k for k in made if made[k] == name))
        for name in names
    ]
    lines = pd.concat([lines[~own], pd.DataFrame(new, columns=PROCESSOR_COLUMNS)], ignore_index=True)
    PROCESSORS.mkdir(parents=True, exist_ok=True)
    text = lines.sort_values(PROCESSOR_COLUMNS).to_csv(index=False, lineterminator="\n")
    write_atomically(PROCESSORS / f"{study}.csv", text.encode())


def _keys(rows: pd.DataFrame | None) -> set[str]:
    return set() if rows is None or "key" not in rows else {str(key)[:_SHORT] for key in rows["key"].unique()}


def _by_key(lines: pd.DataFrame, keys: set[str]) -> Mapping[str, str]:
    """Return the processor of each key that lines name, of all these keys where a line says so."""
    return {
        key: name
        for name, parts in lines[["processor", "parts"]].itertuples(index=False)
        for key in (keys if parts == ALL else parts.split())
    }


def who_made(study: str, experiment: str, folder: Path = PROCESSORS) -> str:
    """Return the processors of an experiment's laptop rows in a few words."""
    lines = processors_of(study, folder)
    own = lines[(lines["experiment"] == experiment) & (lines["profile"] == "laptop")]
    return " and ".join(own["processor"]) or UNKNOWN

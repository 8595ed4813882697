"""Files of a search: a format that outlives versions, checked when it is read, and never taken from somebody else.

A file is a ZIP archive with ``search.json`` (the log), ``numbers.npy`` (numeric features) and, for a sequential policy,
``state.npz`` (see `bestarm.search.state_files`). ``docs/search_files.md`` has every field. Files of earlier formats are
migrated when they are read; those of later ones are refused.
"""

import hashlib
import io
import json
import math
import re
import uuid
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm import __version__
from bestarm.guards.protocol import Guarded, unguarded
from bestarm.interface import Arms
from bestarm.partition import Partition
from bestarm.search.atomic_files import checked_path, saved_content, write_atomically, writing
from bestarm.search.candidates import Candidates
from bestarm.search.choices import Choice, checked_policy
from bestarm.search.errors import Reading, error_of, reading
from bestarm.search.next_batch import decides_from_data
from bestarm.search.number_texts import plain_unit
from bestarm.search.rounds import as_json, number_of, of_json
from bestarm.search.state_files import DAMAGED, Saved, another_policy, describe, in_words, packed, read, restore
from bestarm.search.tables import counted

FORMAT = 5  # 4 without errors of measurements, 3 where no policy took over; 1 and 2 were NPZ files of the state alone
_LOG, NUMBERS, _STATE = "search.json", "numbers.npy", "state.npz"
_OLD = "meta.npy"
_UNIT = re.compile(r"column (.*): numbers with the unit ['\"](.*)['\"], which")  # where files of before have units


def save_search(search: Any, path: str | Path, overwrite: bool) -> None:
    """Write a search, see `Search.save`."""
    path = checked_path(path)
    path = path.resolve() if path.is_symlink() else path
    own, known = search._saved.setdefault("id", uuid.uuid4().hex), search._saved.setdefault("files", [])
    with writing(path):
        before = path.read_bytes() if path.exists() else None
        held, generation, has = ("", 0, "") if before is None else _held(before)
        if before is not None and not overwrite and hashlib.sha256(before).digest() not in known:
            if held == own:
                what = f"was saved by somebody else since this search was loaded or saved (it is number {generation})"
                raise ValueError(f"{path} {what}; load it, tell it what is new here, or save under another name.")
            if has:
                raise ValueError(f"{path} holds {has}; choose another name, or write save(path, overwrite=True).")
        generation = 1 + max(generation if held == own else 0, search._saved.get("generation", 0))
        write_atomically(path, content := content_of(search, own, generation))
        known.append(hashlib.sha256(content).digest())
        search._saved["generation"] = generation


def _held(content: bytes) -> tuple[str, int, str]:
    """Return which search a file holds, how often it was saved, and what it would lose in words, if anything."""
    try:
        meta = json.loads(parts_of(content)[_LOG])
        what = {"measurements": "measurement", "rounds": "batch", "withdrawn": "exclusion"}
        has = [f"another search, with {counted(len(meta[k]), one)}" for k, one in what.items() if meta.get(k)]
        return str(meta["id"]), int(meta["generation"]), has[0] if has else ""
    except DAMAGED:
        return "no search", 0, "what is no search, or is damaged"


def content_of(search: Any, own: str, generation: int) -> bytes:
    sequential = search._sequential
    rows = (sequential or search._status).rows
    with_errors = any(isinstance(v, Reading) for _, _, v in rows) or any(each.errors for each in search.rounds)
    version = FORMAT if with_errors else 4 if sequential is None and search._since else 3
    meta: dict[str, Any] = {"format": version, "version": __version__, "id": own, "generation": generation}
    meta |= {"aim": search.aim, "seed": search.seed, "components": search.components, "hits": search._hits}
    meta["measurements"] = [
        [number, name, *(None if math.isnan(v) else v for v in (float(value), *errors))]
        for number, name, value in rows
        for errors in (error_of(value) if isinstance(value, Reading) else (),)
    ]
    meta |= {"unit": search._unit} if search._unit else {}
    parts: dict[str, bytes] = {}
    if isinstance(search._candidates, Candidates):
        meta["candidates"], parts[NUMBERS] = candidate_parts(search._candidates)
    if sequential is None:
        choice = search._choice
        meta["policy"] = choice.described() if isinstance(choice, Choice) else {"policy": describe(choice.policy)}
        meta["rounds"] = [as_json(each) for each in search._rounds]
        meta["waiting"] = {name: int(n) for name, n in search._status.waiting.items() if n}
        meta["not_done"], meta["withdrawn"] = list(search._status.not_done), list(search._status.withdrawn)
        meta["whole_batch_waits"] = search._status.whole_batch_waits
        meta |= {"since": search._since} if search._since else {}
    else:
        parts[_STATE] = packed(sequential.state)
        meta["policy"] = {"policy": describe(sequential.policy.policy)}
    parts[_LOG] = as_text(meta)
    return archive_of(parts)


def as_text(meta: Any) -> bytes:
    return (json.dumps(meta, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def archive_of(parts: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive, equal for equal parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in sorted(parts):
            archive.writestr(zipfile.ZipInfo(name), parts[name], zipfile.ZIP_DEFLATED)
    return file.getvalue()


def parts_of(content: bytes) -> dict[str, bytes]:
    """Return the parts of an archive, whose check sums are compared; for anything else one of `DAMAGED` is raised."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def candidate_parts(candidates: Candidates) -> tuple[dict[str, Any], bytes]:
    """Return names and columns as JSON can hold them, and the numeric columns, shape (n, k), as an NPY file."""
    columns: list[dict[str, Any]] = []
    for label, column in candidates.table.items():
        words = [None if word is None else str(word) for word in column] if column.dtype != np.float64 else None
        kind: dict[str, Any] = {"kind": "number"} if words is None else {"kind": "word", "words": words}
        unit = candidates.units.get(str(label))
        columns.append({"name": str(label), **kind, **({"unit": unit} if unit else {})})
    file = io.BytesIO()
    numbers = candidates.table.select_dtypes(np.float64).to_numpy(dtype=np.float64)
    np.save(file, np.ascontiguousarray(numbers), allow_pickle=False)
    return {"names": list(candidates.names), "columns": columns, "report": list(candidates.report)}, file.getvalue()


def candidates_of(meta: Any, content: bytes) -> Candidates:
    """Return candidates from what `candidate_parts` gave; for anything else one of `DAMAGED` is raised."""
    numbers = np.load(io.BytesIO(content), allow_pickle=False)
    names, columns = meta["names"], meta["columns"]
    words = [column["words"] for column in columns if column["kind"] == "word"]
    if (
        not all(isinstance(name, str) for name in names)
        or any(column["kind"] not in ("number", "word") for column in columns)
        or any(len(each) != len(names) for each in words)
        or not all(word is None or isinstance(word, str) for each in words for word in each)
        or len({column["name"] for column in columns}) < len(columns)
        or numbers.dtype != np.float64
        or numbers.shape != (len(names), len(columns) - len(words))
        or np.isinf(numbers).any()
    ):
        raise ValueError
    numeric = iter(numbers.T)
    table = {
        c["name"]: next(numeric) if c["kind"] == "number" else pd.Series(c["words"], dtype="object") for c in columns
    }
    frame, report = pd.DataFrame(table, index=range(len(names))), tuple(map(str, meta["report"]))
    units = {column["name"]: str(column["unit"]) for column in columns if "unit" in column}
    units = units or {label: plain_unit(unit) for label, unit in _UNIT.findall("\n".join(report))}
    return Candidates(tuple(names), frame, report, units)


def load_search(cls: Any, path: str | Path, policy: Any) -> Any:
    """Return the search in a file, see `Search.load`."""
    path, content = saved_content(path)
    try:
        parts = parts_of(content)
        meta = {"format": 2} if _OLD in parts else json.loads(parts[_LOG])
        if not isinstance(meta["format"], int):
            raise TypeError
    except DAMAGED:
        raise ValueError(f"{path} is no saved search, or it is damaged; take another copy of it.") from None
    if meta["format"] > FORMAT:
        rule = f"this bestarm ({__version__}) reads up to {FORMAT}; install bestarm {meta.get('version')} or later"
        raise ValueError(f"{path} has format {meta['format']}, {rule}.")
    try:
        if _OLD in parts:
            search = _of_format_2(cls, path, content)
        else:
            search = _sequential_of(cls, path, meta, parts) if _STATE in parts else _pool_of(cls, meta, parts)
    except DAMAGED as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        said = f" ({error})" if isinstance(error, ValueError) and str(error) and "\n" not in str(error) else ""
        raise ValueError(f"{path} is damaged, or was changed by hand{said}; take another copy of it.") from None
    if policy is not None:
        _check_policy(path, search, policy)
    search._saved["files"], search._unit = [hashlib.sha256(content).digest()], str(meta.get("unit", ""))
    if _OLD not in parts:
        search._saved["id"], search._saved["generation"], _ = _held(content)
    return search


def _check_policy(path: Path, search: Any, policy: Any) -> None:
    if isinstance(search.policy, Choice) and policy == search.policy.name:
        return
    both = search.policy, checked_policy(policy, {})
    held, wanted = (each if isinstance(each, Choice) else describe(unguarded(each)) for each in both)
    if held != wanted:
        said = [f"Choice({w.name})" if isinstance(w, Choice) else in_words(w) for w in (held, wanted)]
        raise another_policy(path, *said)


def _rows_of(meta: Any, names: set[str] | None, most: int) -> list[tuple[int, str, float]]:
    rows = []
    for number, name, value, *errors in meta["measurements"]:
        if not isinstance(number, int) or not 0 <= number <= most or not isinstance(name, str):
            raise ValueError(f"measurement {[number, name, value]} has no round or no name")
        if names is not None and name not in names:
            raise ValueError(f"{name!r} was measured, which is no candidate")
        rows.append((number, name, reading(number_of(value), *map(number_of, errors))))
    return rows


def _pool_of(cls: Any, meta: Any, parts: dict[str, bytes]) -> Any:
    described = meta["policy"]
    own = isinstance(described["policy"], dict)
    policy = Guarded(restore(described["policy"])) if own else Choice.of(described)
    candidates = candidates_of(meta["candidates"], parts[NUMBERS])
    search = cls(candidates, policy, **{name: meta[name] for name in ("aim", "seed", "hits", "components")})
    if search._choice is None:
        raise ValueError("its policy needs a state, which is missing")
    names = set(candidates.names)
    search._rounds = [of_json(each) for each in meta["rounds"]]
    for number, each in enumerate(search._rounds, start=1):
        each.check_known(names)
        if each.number != number or not 0 < (each.n_candidates or len(names)) <= len(names):
            raise ValueError(f"round {number} is missing or about other candidates")
    status = search._status
    for number, name, value in _rows_of(meta, names, len(search._rounds)):
        status.add(number, name, value)
    if any(not isinstance(n, int) or n < 1 for n in meta["waiting"].values()):
        raise ValueError("what waits has no number")
    status.waiting = Counter(meta["waiting"])
    status.not_done, status.withdrawn = dict.fromkeys(meta["not_done"]), dict.fromkeys(meta["withdrawn"])
    if odd := {*status.waiting, *status.not_done, *status.withdrawn} - names:
        raise ValueError(f"{sorted(odd)[0]!r} is no candidate")
    search._since = meta.get("since", 0)
    if not isinstance(search._since, int) or not 0 <= search._since <= len(search._rounds):
        raise ValueError("the batch since which its policy chooses is not there")
    status.whole_batch_waits = meta["whole_batch_waits"] is True and bool(search._rounds)
    return search


def _sequential_of(cls: Any, path: Path, meta: Any, parts: dict[str, bytes]) -> Any:
    saved, _ = read(path, parts[_STATE])
    if describe(saved.policy.policy) != meta["policy"]["policy"] or len(saved.state.replications) != 1:
        raise ValueError("its state is not that of its policy")
    candidates = candidates_of(meta["candidates"], parts[NUMBERS]) if "candidates" in meta else None
    return _continued(cls, saved, candidates, _rows_of(meta, None, 10**9), meta["seed"])


def _continued(
    cls: Any, saved: Saved, candidates: Candidates | None, rows: list[tuple[int, str, float]], seed: int
) -> Any:
    arms = saved.state.arms
    found: Any = arms if isinstance(arms, Partition) else candidates
    if found is None or (candidates is not None and not np.array_equal(candidates.values, arms.features)):
        raise ValueError("its candidates are not those of its state")
    search = cls(found, saved.policy, seed=seed)
    if search._sequential is None:
        raise ValueError("its policy has no state")
    if candidates is not None and (odd := {name for _, name, _ in rows} - set(candidates.names)):
        raise ValueError(f"{sorted(odd)[0]!r} was measured, which is no candidate")
    sequential = search._sequential
    sequential.state, sequential.policy = saved.state, saved.policy
    sequential.rows, sequential.round = rows, max((number for number, _, _ in rows), default=0)
    return search


def _of_format_2(cls: Any, path: Path, content: bytes) -> Any:
    """Return a search from a file of format 2: a state, with names and history as a note."""
    saved, notes = read(path, content)
    if (kept := notes.get("search")) is None:
        raise ValueError(f"{path} holds the state of a policy, not a Search; read it by bestarm.load.")
    rows = [
        (int(n), str(name), number_of(None if value != value else value))
        for n, name, value in zip(*kept["history"], strict=True)
    ]
    arms, seed, candidates = saved.state.arms, int(saved.state.streams.seed), None
    if isinstance(arms, Arms):
        frame = pd.DataFrame(arms.features, columns=[str(c) for c in kept["columns"]])
        candidates = Candidates(tuple(map(str, kept["names"])), frame)
    if candidates is None or not decides_from_data(saved.policy.policy):
        return _continued(cls, saved, candidates, rows, seed)
    search = cls(candidates, saved.policy, seed=seed)
    _replay_into(search, saved, rows)
    return search


def _replay_into(search: Any, saved: Saved, rows: list[tuple[int, str, float]]) -> None:
    """Write the log of a search by what a file of format 2 knows, so that it goes on to the last bit."""
    inner, names = saved.state.inner, search._candidates.names
    # the history has the order of the tables that were told, the state that of its batches, in which it was told
    told = inner.arms[0, : inner.n_observed[0]] if hasattr(inner, "n_observed") else inner.conditioned[0]
    order: dict[str, list[int]] = {}
    for place, arm in enumerate(told):
        order.setdefault(names[arm], []).append(place)
    for number in range(1, max((n for n, _, _ in rows), default=0) + 1):
        batch = [(name, value) for n, name, value in rows if n == number]
        places = [order[name].pop(0) if order.get(name) and value == value else len(told) for name, value in batch]
        batch = [pair for _, pair in sorted(zip(places, batch, strict=True), key=lambda item: item[0])]
        _append(search, [name for name, _ in batch])
        for name, value in batch:
            search._status.add(number, name, value)
    search._status.waiting.clear()
    search._status.whole_batch_waits = False
    if (request := saved.state.request) is not None:
        _append(search, [names[arm] for arm in np.repeat(request.arms[0], request.counts[0])])


def _append(search: Any, batch: list[str]) -> None:
    """Log a batch of which nothing but its names is known."""
    _, new, revised = search._chunks()
    search._log_round(search._plan(max(len(batch), 1)), batch, new, revised)

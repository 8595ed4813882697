"""Files of a search: a format that outlives versions, checked when it is read, and never taken from somebody else.

A file is a ZIP archive with ``search.json`` (the log, readable by any program), ``numbers.npy`` (numeric features, one
column each) and, for a policy that needs its own order, ``state.npz`` (see `bestarm.search.saving`). There is no pickle
in it. Its format has a number of its own. Files of earlier formats are migrated when they are read; those of later ones
are refused. ``docs/search_files.md`` has every field.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import uuid
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm import __version__
from bestarm.guards.protocol import Guarded
from bestarm.interface import Arms
from bestarm.partition import Partition
from bestarm.search.arguments import checked_policy
from bestarm.search.candidates import Candidates
from bestarm.search.choices import Choice
from bestarm.search.deciding import decides_from_data
from bestarm.search.rounds import as_json, check_known, number_of, of_json
from bestarm.search.saving import DAMAGED, Saved, _words, describe, packed, read, restore
from bestarm.search.whole import checked_path, write_whole, writing

FORMAT = 3  # 1 and 2 were NPZ files of the state alone, in which a search was a note
_LOG, _NUMBERS, _STATE = "search.json", "numbers.npy", "state.npz"
_OLD = "meta.npy"
_STAMP = (1980, 1, 1, 0, 0, 0)  # equal searches have equal files


def save_search(search: Any, path: str | Path, overwrite: bool) -> None:
    """Write a search, see `Search.save`."""
    path = checked_path(path)
    place = str(path.resolve())
    own = search._saved.setdefault("id", uuid.uuid4().hex)
    with writing(path):
        there = _identity(path) if path.exists() else None
        if there is not None and not overwrite and there != search._saved.get(place):
            _refuse_to_replace(path, there, own)
        generation = 1 + max(there[1] if there and there[0] == own else 0, search._saved.get("generation", 0))
        write_whole(path, content_of(search, own, generation))
        search._saved[place], search._saved["generation"] = (own, generation), generation


def _refuse_to_replace(path: Path, there: tuple[str, int], own: str) -> None:
    if there[0] == own:
        raise ValueError(
            f"{path} was saved by somebody else since this search was loaded or saved (it is number {there[1]}); load "
            "it, tell it what is new here, or save under another name."
        )
    n = _measured(path)
    if n != 0:
        what = "what is no search, or is damaged" if n is None else f"another search, with {n} measurements"
        raise ValueError(f"{path} holds {what}; choose another name, or write save(path, overwrite=True).")


def content_of(search: Any, own: str, generation: int) -> bytes:
    """Return the content of a file."""
    strict = search._strict
    meta: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "id": own,
        "generation": generation,
        "aim": search.aim,
        "seed": search.seed,
        "components": search.components,
        "hits": search._hits,
        "measurements": [
            [number, name, None if math.isnan(value) else value]
            for number, name, value in (search._book.rows if strict is None else strict.history)
        ],
    }
    candidates = search._candidates if strict is None else strict.candidates
    parts: dict[str, bytes] = {}
    if candidates is not None:
        meta["candidates"], numbers = candidates_as_json(candidates)
        parts[_NUMBERS] = _npy(numbers)
    if strict is None:
        choice = search._choice
        meta["policy"] = choice.described() if isinstance(choice, Choice) else {"policy": describe(choice.policy)}
        meta["rounds"] = [as_json(each) for each in search._rounds]
        meta["waiting"] = {name: int(n) for name, n in search._book.waiting.items() if n}
        meta["not_done"], meta["withdrawn"] = list(search._book.undone), list(search._book.withdrawn)
        meta["whole_batch_waits"] = search._book.whole
    else:
        parts[_STATE] = packed(strict.state)
        meta["policy"] = {"policy": describe(strict.policy.policy)}
    parts[_LOG] = (json.dumps(meta, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in sorted(parts):
            archive.writestr(zipfile.ZipInfo(name, _STAMP), parts[name], zipfile.ZIP_DEFLATED)
    return file.getvalue()


def candidates_as_json(candidates: Candidates) -> tuple[dict[str, Any], Any]:
    """Return names and columns as JSON can hold them, and the numeric columns, shape (n, k)."""
    columns: list[dict[str, Any]] = []
    numeric = []
    for label in candidates.table.columns:
        column = candidates.table[label]
        if column.dtype == np.float64:
            columns.append({"name": str(label), "kind": "number"})
            numeric.append(label)
        else:
            words = [None if word is None else str(word) for word in column]
            columns.append({"name": str(label), "kind": "word", "words": words})
    numbers = candidates.table[numeric].to_numpy(dtype=np.float64)
    meta = {"names": list(candidates.names), "columns": columns, "report": list(candidates.report)}
    return meta, np.ascontiguousarray(numbers)


def candidates_of(meta: Any, numbers: Any) -> Candidates:
    """Return candidates from what `candidates_as_json` gave.

    Raises
    ------
    KeyError, TypeError, ValueError
        For anything else.
    """
    names = meta["names"]
    if not all(isinstance(name, str) for name in names) or numbers.dtype != np.float64 or numbers.ndim != 2:
        raise ValueError
    n_numeric = sum(column["kind"] == "number" for column in meta["columns"])
    if numbers.shape != (len(names), n_numeric) or np.isinf(numbers).any():
        raise ValueError
    table, place = {}, 0
    for column in meta["columns"]:
        if column["kind"] == "number":
            table[column["name"]] = pd.Series(numbers[:, place])
            place += 1
        elif column["kind"] == "word" and len(column["words"]) == len(names):
            if not all(word is None or isinstance(word, str) for word in column["words"]):
                raise ValueError
            table[column["name"]] = pd.Series(column["words"], dtype=object)
        else:
            raise ValueError
    if len(table) != len(meta["columns"]):
        raise ValueError
    frame = pd.DataFrame(table, index=range(len(names)))
    return Candidates(tuple(names), frame, tuple(map(str, meta["report"])))


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _parts(path: Path) -> dict[str, bytes]:
    """Return the parts of an archive, whose check sums are compared.

    Raises
    ------
    Exception
        One of `DAMAGED`.
    """
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _identity(path: Path) -> tuple[str, int]:
    """Return which search a file holds and how often it was saved; of an earlier format its checksum."""
    try:
        with zipfile.ZipFile(path) as archive:
            if _LOG in archive.namelist():
                meta = json.loads(archive.read(_LOG))
                return str(meta["id"]), int(meta["generation"])
    except DAMAGED:
        pass
    return hashlib.sha256(path.read_bytes()).hexdigest(), 0


def _measured(path: Path) -> int | None:
    """Return how many measurements a file holds, None where it is no search."""
    try:
        with zipfile.ZipFile(path) as archive:
            return len(json.loads(archive.read(_LOG))["measurements"])
    except DAMAGED:
        return None


def load_search(cls: Any, path: str | Path, policy: Any) -> Any:
    """Return the search in a file, see `Search.load`."""
    path = checked_path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no saved search {path}.")
    identity = _identity(path)
    try:
        parts = _parts(path)
    except DAMAGED:
        raise _no_search(path) from None
    if _LOG in parts:
        search = _of_parts(cls, path, parts)
    elif _OLD in parts:
        search = _of_format_2(cls, path)
    else:
        raise _no_search(path)
    _check_policy(path, search, policy)
    search._saved[str(path.resolve())] = identity
    if _LOG in parts:
        search._saved["id"], search._saved["generation"] = identity
    return search


def _no_search(path: Path) -> ValueError:
    return ValueError(f"{path} is no saved search, or it is damaged; take another copy of it.")


def _check_policy(path: Path, search: Any, policy: Any) -> None:
    if policy is None:
        return
    wanted, held = (
        policy if isinstance(policy, Choice) else describe(policy.policy if isinstance(policy, Guarded) else policy)
        for policy in (checked_policy(policy, {}), search.policy)
    )
    if held != wanted:
        said = [f"Choice({w.name})" if isinstance(w, Choice) else _words(w) for w in (held, wanted)]
        raise ValueError(
            f"{path} holds a search by {said[0]}, not by {said[1]}; load it without a policy, or with that one."
        )


def _of_parts(cls: Any, path: Path, parts: dict[str, bytes]) -> Any:
    """Return a search from the parts of a file of this format."""
    try:
        meta = json.loads(parts[_LOG])
        number = meta["format"]
        if not isinstance(number, int):
            raise TypeError
    except DAMAGED:
        raise _no_search(path) from None
    if number > FORMAT:
        raise ValueError(
            f"{path} has format {number}, this bestarm ({__version__}) reads up to {FORMAT}; install bestarm "
            f"{meta.get('version')} or later."
        )
    try:
        if _STATE in parts:
            return _strict_of(cls, path, meta, parts)
        return _free_of(cls, meta, parts)
    except DAMAGED as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        said = f" ({error})" if isinstance(error, ValueError) and str(error) and "\n" not in str(error) else ""
        raise ValueError(f"{path} is damaged, or was changed by hand{said}; take another copy of it.") from None


def _numbers_in(parts: dict[str, bytes]) -> Any:
    return np.load(io.BytesIO(parts[_NUMBERS]), allow_pickle=False)


def _rows_of(meta: Any, names: set[str] | None, most: int) -> list[tuple[int, str, float]]:
    rows = []
    for number, name, value in meta["measurements"]:
        if not isinstance(number, int) or not 0 <= number <= most or not isinstance(name, str):
            raise ValueError(f"measurement {[number, name, value]} has no round or no name")
        if names is not None and name not in names:
            raise ValueError(f"{name!r} was measured, which is no candidate")
        rows.append((number, name, number_of(value)))
    return rows


def _free_of(cls: Any, meta: Any, parts: dict[str, bytes]) -> Any:
    described = meta["policy"]
    own = isinstance(described["policy"], dict)
    policy = Guarded(restore(described["policy"])) if own else Choice.of(described)
    candidates = candidates_of(meta["candidates"], _numbers_in(parts))
    search = cls(
        candidates, policy, aim=meta["aim"], seed=meta["seed"], hits=meta["hits"], components=meta["components"]
    )
    if search._choice is None:
        raise ValueError("its policy needs a state, which is missing")
    names = set(candidates.names)
    search._rounds = [of_json(each) for each in meta["rounds"]]
    for number, each in enumerate(search._rounds, start=1):
        check_known(each, names)
        if each.number != number or not 0 < (each.n_candidates or len(names)) <= len(names):
            raise ValueError(f"round {number} is missing or about other candidates")
    book = search._book
    for number, name, value in _rows_of(meta, names, len(search._rounds)):
        book.add(number, name, value)
    if any(not isinstance(n, int) or n < 1 for n in meta["waiting"].values()):
        raise ValueError("what waits has no number")
    book.waiting = Counter(meta["waiting"])
    book.undone, book.withdrawn = dict.fromkeys(meta["not_done"]), dict.fromkeys(meta["withdrawn"])
    if odd := {*book.waiting, *book.undone, *book.withdrawn} - names:
        raise ValueError(f"{sorted(odd)[0]!r} is no candidate")
    book.whole = meta["whole_batch_waits"] is True and bool(search._rounds)
    return search


def _strict_of(cls: Any, path: Path, meta: Any, parts: dict[str, bytes]) -> Any:
    saved, _ = read(path, None, parts[_STATE])
    if describe(saved.policy.policy) != meta["policy"]["policy"] or len(saved.state.replications) != 1:
        raise ValueError("its state is not that of its policy")
    candidates = candidates_of(meta["candidates"], _numbers_in(parts)) if "candidates" in meta else None
    return _strict(cls, saved, candidates, _rows_of(meta, None, 10**9), meta["seed"])


def _strict(
    cls: Any, saved: Saved, candidates: Candidates | None, rows: list[tuple[int, str, float]], seed: int
) -> Any:
    arms = saved.state.arms
    found: Any = arms if isinstance(arms, Partition) else candidates
    if found is None or (candidates is not None and not np.array_equal(candidates.values, arms.features)):
        raise ValueError("its candidates are not those of its state")
    search = cls(found, saved.policy, seed=seed)
    if search._strict is None:
        raise ValueError("its policy has no state")
    if candidates is not None and (odd := {name for _, name, _ in rows} - set(candidates.names)):
        raise ValueError(f"{sorted(odd)[0]!r} was measured, which is no candidate")
    strict = search._strict
    strict.state, strict.policy = saved.state, saved.policy
    strict.history, strict.round = rows, max((number for number, _, _ in rows), default=0)
    return search


def _of_format_2(cls: Any, path: Path) -> Any:
    """Return a search from a file of format 2: a state, with names and history as a note."""
    saved, notes = read(path)
    kept = notes.get("search")
    if kept is None:
        raise ValueError(f"{path} holds the state of a policy, not a Search; read it by bestarm.load.")
    try:
        numbers, labels, rewards = kept["history"]
        rows = [
            (int(n), str(name), number_of(None if value != value else value))
            for n, name, value in zip(numbers, labels, rewards, strict=True)
        ]
        arms, seed = saved.state.arms, int(saved.state.streams.seed)
        candidates = None
        if isinstance(arms, Arms):
            frame = pd.DataFrame(arms.features, columns=[str(c) for c in kept["columns"]])
            candidates = Candidates(tuple(map(str, kept["names"])), frame)
        if candidates is None or not decides_from_data(saved.policy.policy):
            return _strict(cls, saved, candidates, rows, seed)
        search = cls(candidates, saved.policy, seed=seed)
        _replay_into(search, saved, rows)
    except DAMAGED as error:
        said = f" ({error})" if isinstance(error, ValueError) and str(error) else ""
        raise ValueError(f"{path} is damaged, or was changed by hand{said}; take another copy of it.") from None
    return search


def _replay_into(search: Any, saved: Saved, rows: list[tuple[int, str, float]]) -> None:
    """Write the log of a search by what a file of format 2 knows, so that it goes on to the last bit.

    The history has the order of the tables that were told, the policy was told in the order of its batches: that of
    the arms in its state.
    """
    inner, names = saved.state.inner, search._candidates.names
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
            search._book.add(number, name, value)
    search._book.waiting.clear()
    search._book.whole = False
    request = saved.state.request
    if request is not None:
        _append(search, [names[arm] for arm in np.repeat(request.arms[0], request.counts[0])])


def _append(search: Any, batch: list[str]) -> None:
    """Log a batch of which nothing but its names is known."""
    _, new, revised = search._chunks()
    search._log_round(search._plan(max(len(batch), 1)), batch, new, revised)

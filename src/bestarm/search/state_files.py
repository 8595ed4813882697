"""Exact save and restore of a policy's state: a search goes on to the last bit.

A file is one NPZ: the arrays of the state, and a JSON text with the policy's settings, the arms, the random streams and
the request that waits for its rewards. There is no pickle in it, so that a file from somebody else can be read safely.
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bestarm import __version__
from bestarm.guards.protocol import Guarded, GuardedState, guarded_state, unguarded
from bestarm.interface import Arms, State
from bestarm.models.cell_kernel import CellKernel
from bestarm.models.finite_gp import FiniteGP
from bestarm.presets import plain_class
from bestarm.search.atomic_files import checked_path, saved_content, write_file
from bestarm.streams import Streams

FORMAT = 2
_POLICIES, _FAMILIES = "bestarm.policies", ("linear", "gaussian", "networks", "cells")  # a file names no family
_META, _FAILURES = "meta", "in_vain"  # as files of this format have them
# of zipfile, zlib, NumPy and JSON on a file that is no NPZ, or one with any byte changed
DAMAGED: tuple[type[Exception], ...] = (ValueError, LookupError, OSError, EOFError, TypeError, AttributeError)
DAMAGED += (RuntimeError, MemoryError, SyntaxError, zipfile.BadZipFile, zlib.error)
_CACHE = ("_keys", "_used", "_values", "n_computed")  # of a `CellKernel`
_ROOM = ("rows", "pivots")  # of a `FiniteGP`, in use up to ``n_rows``


class Saved(NamedTuple):
    """A policy and its state, as `load` returns them."""

    policy: Guarded
    state: GuardedState


def save(state: State, path: str | Path) -> None:
    """Write a state to a file, so that it is either whole or as it was before.

    It is what ``start`` of a policy made by a public constructor, or `load`, returned. A policy without guards, which
    does not know its settings, or one with a setting that is no plain record, is a ValueError.
    """
    write_file(checked_path(path), packed(state))


def packed(state: State) -> bytes:
    """Return the content of a file with a state, see `save`."""
    found = guarded_state(state)
    meta: dict[str, Any] = {"format": FORMAT, "version": __version__, "policy": describe(found.policy)}
    meta |= {"streams": {"seed": found.streams.seed, "instance": found.streams.instance}, "scalars": {}}
    meta |= {"told": found.told, "open": found.open, "notes": {}}  # where format 2 of a search has names and history
    arrays: dict[str, Any] = {"replications": found.streams.replications}
    if isinstance(found.arms, Arms):
        arrays["features"] = found.arms.features
    else:
        meta["arms"] = describe(found.arms)
    arrays["learned"], arrays[_FAILURES] = found.learned, found.failures_in_a_row
    if found.tally is not None:
        arrays["tally"] = found.tally
    if found.request is not None:
        arrays["waiting.arms"], arrays["waiting.counts"] = found.request
    for f, name, holder in _fields(found.inner):
        if isinstance(value := getattr(holder, f.name), np.ndarray):
            arrays[f"state.{name}"] = _written(holder, f.name, value)
        elif isinstance(value, bool | int | float | np.generic):
            meta["scalars"][name] = value.item() if isinstance(value, np.generic) else value
        elif isinstance(value, CellKernel):  # which of several equal pairs was computed first decides the last bits
            for kept in _CACHE:
                arrays[f"cache.{kept}"] = np.asarray(getattr(value, kept))
    arrays[_META] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def load(path: str | Path, policy: Any = None) -> Saved:
    """Return the policy and the state in a file that `save` wrote; the search goes on as if it had never stopped.

    With a policy, the file must hold that one. A file that is not there is a FileNotFoundError; one that is damaged, of
    a later format, by a policy with other settings, or with a state that this version's policy has not, a ValueError.
    """
    return read(*saved_content(path), policy)[0]


def read(path: Path, content: bytes, policy: Any = None) -> tuple[Saved, dict[str, Any]]:
    """Return what `load` returns of the content of a file, and the notes."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays[_META].tobytes())
        if {"format", "version", "policy", "streams", "scalars", "told", "open", "notes"} - set(meta):
            raise ValueError
    except DAMAGED:
        raise ValueError(f"{path} is no saved search, or it is damaged; take another copy of it.") from None
    if meta["format"] != FORMAT:
        rule = f"this is {__version__} with format {FORMAT}; install that version"
        raise ValueError(f"{path} was written by bestarm {meta['version']} in format {meta['format']}, {rule}.")
    policy = unguarded(policy)
    if policy is not None and describe(policy) != describe(restore(meta["policy"])):
        raise another_policy(path, in_words(meta["policy"]), in_words(describe(policy)))
    found = Guarded(restore(meta["policy"]))
    arms = restore(meta["arms"]) if "arms" in meta else Arms(arrays["features"])
    replications = _array(path, arrays, "replications", np.zeros(1, np.int64))
    streams = Streams(meta["streams"]["seed"], meta["streams"]["instance"], replications)
    state = found.start(arms, streams)
    for f, name, holder in _fields(state.inner):
        if isinstance(fresh := getattr(holder, f.name), np.ndarray):
            setattr(holder, f.name, _array(path, arrays, f"state.{name}", fresh))
        elif isinstance(fresh, bool | int | float | np.generic):
            if name not in meta["scalars"]:
                raise _damaged(path, name)
            setattr(holder, f.name, type(fresh)(meta["scalars"][name]))
        elif isinstance(fresh, CellKernel):
            for cached in _CACHE:
                kept = _array(path, arrays, f"cache.{cached}", np.asarray(getattr(fresh, cached)))
                setattr(fresh, cached, kept if kept.ndim else int(kept))
        elif f.metadata.get("nested"):  # the fields before it say which stage it is of
            holder.resume()
    state.learned = _array(path, arrays, "learned", state.learned)
    state.failures_in_a_row = _array(path, arrays, _FAILURES, state.failures_in_a_row)
    if state.tally is not None and "tally" in arrays:  # files of versions up to 0.2 have none
        state.tally = _array(path, arrays, "tally", state.tally)
    state.asked_arms, state.asked_counts = _request(path, arrays, len(streams.replications), state.n_arms)
    state.told, state.open = meta["told"], meta["open"]
    return Saved(found, state), meta["notes"]


def _fields(state: Any, prefix: str = "") -> Iterator[tuple[Any, str, Any]]:
    """Yield each field of a state, its name in a file and its holder; after a nested state, the fields of that."""
    for f in fields(state):
        yield f, prefix + f.name, state
        if f.metadata.get("nested"):
            yield from _fields(getattr(state, f.name), f"{prefix}{f.name}.")


def _written(state: Any, name: str, value: Any) -> Any:
    """Return an array with 0 in place of what was never written, which is memory of any content."""
    if not (isinstance(state, FiniteGP) and name in _ROOM):
        return value
    used = np.arange(value.shape[1]) < state.n_rows[:, None]
    return np.where(used.reshape(used.shape + (1,) * (value.ndim - 2)), value, 0.0)


def _array(path: str | Path, arrays: dict[str, Any], name: str, like: Any) -> Any:
    """Return an array of a file, refusing one of another kind than a fresh state has."""
    if (kept := arrays.get(name)) is None or kept.dtype != like.dtype or kept.ndim != like.ndim:
        raise _damaged(path, name)
    n = len(arrays["replications"])
    longer = all(size >= least for size, least in zip(kept.shape, like.shape, strict=True))  # some states grow
    if not longer or (kept.ndim and like.shape[0] == n and len(kept) != n):
        raise _damaged(path, name)
    return kept


def _request(path: str | Path, arrays: dict[str, Any], n: int, n_arms: int) -> tuple[Any, Any]:
    """Return what waits for its rewards, refusing arms that do not exist."""
    arms: Any = arrays.get("waiting.arms")
    counts: Any = arrays.get("waiting.counts")
    if arms is None and counts is None:
        return None, None
    there = arms is not None and counts is not None and arms.dtype == counts.dtype == np.int64
    alike = there and arms.shape == counts.shape and arms.ndim == 2 and len(arms) == n
    if not alike or ((arms < 0) | (arms >= n_arms) | (counts < 0)).any():
        raise _damaged(path, "waiting")
    return arms, counts


def _damaged(path: str | Path, name: str) -> ValueError:
    rule = f"{name} is missing or of another kind; take another copy of it"
    return ValueError(f"{path} is damaged, or of a version whose policy had another state: {rule}.")


def another_policy(path: Path, held: str, wanted: str) -> ValueError:
    """Return what refuses a file that holds a search by another policy."""
    return ValueError(f"{path} holds a search by {held}, not by {wanted}; load it without a policy, or with that one.")


def describe(value: Any) -> Any:
    """Return a setting in a form that JSON can hold and `restore` reads; records of this library are named."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return {"tuple": [describe(part) for part in value]}
    cls = plain_class(type(value))
    if is_dataclass(value) and cls.__module__.startswith("bestarm."):
        settings = {f.name: describe(getattr(value, f.name)) for f in fields(cls) if f.init}
        module = re.sub(rf"^{_POLICIES}\.({'|'.join(_FAMILIES)})\.", f"{_POLICIES}.", cls.__module__)
        return {"record": f"{module}:{cls.__qualname__}", "settings": settings}
    if hasattr(value, "start"):
        remedy = "files hold policies of bestarm alone; keep the search's history, or a pickle that only you read"
        raise ValueError(f"a {cls.__name__} cannot be saved: {remedy}.")
    raise ValueError(f"a {cls.__name__} cannot be saved; use plain settings, for a kernel bestarm.kernels.Stationary.")


def restore(described: Any) -> Any:
    """Return a setting from its description; only records of this library are made."""
    if not isinstance(described, dict):
        return described
    if "tuple" in described:
        return tuple(restore(part) for part in described["tuple"])
    module, _, name = str(described.get("record")).partition(":")
    if not module.startswith("bestarm."):
        raise ValueError(f"a saved search holds records of bestarm only, got {module!r}; do not trust this file.")
    package, _, last = module.rpartition(".")
    places = [module, *(f"{_POLICIES}.{family}.{last}" for family in _FAMILIES if package == _POLICIES)]
    try:
        cls = getattr(import_module(next(filter(find_spec, places), module)), name)
    except (ImportError, AttributeError):
        raise ValueError(f"this version of bestarm has no {name} in {module}; load the file with its own.") from None
    if not (isinstance(cls, type) and is_dataclass(cls)):
        raise ValueError(f"{name} in {module} is no record of settings; do not trust this file.")
    return cls(**dict(_renamed(key, restore(value)) for key, value in described["settings"].items()))


def _renamed(key: str, value: Any) -> tuple[str, Any]:
    """Return a setting by its present name: versions up to 0.1 called the authors' code "published"."""
    if isinstance(value, str) and key != "label":
        value = re.sub(r"\bpublished-", "coded-", re.sub(r"(?<![^\W_])published$", "as_coded", value))
    return key.replace("published_", "coded_"), value


def in_words(described: Any) -> str:
    if not isinstance(described, dict):
        return repr(described)
    if "tuple" in described:
        return "(" + ", ".join(map(in_words, described["tuple"])) + ")"
    settings = ", ".join(f"{key}={in_words(value)}" for key, value in described["settings"].items())
    return f"{described['record'].partition(':')[2]}({settings})"

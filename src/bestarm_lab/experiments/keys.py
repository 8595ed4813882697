"""Parts, the unit that is stored, and their keys: hashes of a description of what made their rows.

A key depends on settings, data, seed and code (`bestarm_lab.experiments.definitions`), never on the names of modules.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.presets import plain_class


def qualified(value: Any) -> str:
    """Return the name of a function or class without its module: a move changes no key."""
    return str(value.__qualname__)


def describe(value: Any) -> Any:
    """Return settings as JSON can hold them, without the places of their classes; a preset is described as its base."""
    if isinstance(value, partial):
        return [qualified(value.func), describe(value.args), describe(value.keywords)]
    if is_dataclass(value) and not isinstance(value, type):
        return [qualified(plain_class(type(value))), {f.name: describe(getattr(value, f.name)) for f in fields(value)}]
    if isinstance(value, Mapping):
        return {str(k): describe(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple | range):
        return [describe(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    if callable(value):
        return qualified(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a setting cannot be a {type(value).__name__}: {value!r}.")


def data_files(problem: partial[Any], data: str) -> tuple[str, ...]:
    """Return the registered files behind a problem on real data: ``DATA_FILES`` of its constructor's module."""
    if data != "real":
        return ()
    return tuple(inspect.getmodule(problem.func).DATA_FILES)  # type: ignore[union-attr]


def digest(value: Any) -> str:
    """Return the key of a description: a hash of its JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Part:
    """What is computed and stored under one key: one series in one cell, or a whole computation."""

    settings: str  # settings, code: hashes of the specification (settings, data, seed), and of the code that runs
    code: str
    columns: dict[str, Any]  # columns that are the same in all of its rows, ``convention`` and ``series`` first
    replications: int  # replications, block: runs, and runs in one block (a unit of work, of storage and of loss)
    block: int
    # from the first and the last replication but one to rows with a column ``replication``
    compute: Callable[[int, int], pd.DataFrame]
    wanted: tuple[str, ...] = ()  # columns that stored rows must have

    @property
    def key(self) -> str:
        """Hash of everything that the rows depend on: their name in the store and in files."""
        return digest([self.settings, self.code])

    def blocks(self) -> list[tuple[int, int]]:
        """Return the first and the last replication but one of every block."""
        n = self.replications
        return [(start, min(start + self.block, n)) for start in range(0, n, self.block)]

"""Keys of stored rows: hashes of a description of what made them, so that current rows are known.

A key depends on settings, data, seed and code (`bestarm_lab.experiments.definitions`), never on the names of modules:
a move makes no rows stale.
"""

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from bestarm.presets import plain_class


def qualified(value: Any) -> str:
    """Return the name of a function or class without its module: a move changes no key."""
    return str(value.__qualname__)


def describe(value: Any) -> Any:
    """Return settings in a form that JSON can hold and that does not depend on where their classes are defined.

    A preset is its base with other defaults, so that it is described as that.
    """
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

"""Keys of stored rows: what they were made by and of, described so that a hash of it says whether they are current.

A key depends on settings, data, seed and code, never on the names of modules, so that a move makes no rows stale.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from bestarm.experiments.code_hash import syntax_digest


def qualified(value: Any) -> str:
    """Return the name of a function or class without its module: a move changes no key."""
    return str(value.__qualname__)


def describe(value: Any) -> Any:
    """Return settings in a form that JSON can hold and that does not depend on where their classes are defined."""
    if isinstance(value, partial):
        return [qualified(value.func), describe(value.args), describe(value.keywords)]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__qualname__, {f.name: describe(getattr(value, f.name)) for f in fields(value)}]
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


def modules_of(value: Any) -> set[str]:
    """Return the modules of every function, class and dataclass in some settings."""
    if isinstance(value, partial):
        return modules_of([value.func, value.args, value.keywords])
    if isinstance(value, Mapping):
        return set().union(*(modules_of(v) for v in value.values()))
    if isinstance(value, list | tuple):
        return set().union(*(modules_of(v) for v in value))
    if is_dataclass(value) and not isinstance(value, type):
        return {type(value).__module__}.union(*(modules_of(getattr(value, f.name)) for f in fields(value)))
    return {value.__module__} if callable(value) else set()


def data_files(problem: partial[Any], data: str) -> tuple[str, ...]:
    """Return the registered files behind a problem on real data: ``DATA_FILES`` of its constructor's module."""
    if data != "real":
        return ()
    return tuple(inspect.getmodule(problem.func).DATA_FILES)  # type: ignore[union-attr]


def function_digest(function: Callable[..., Any]) -> str:
    """Return a hash of what one function does, without what it calls."""
    return syntax_digest(textwrap.dedent(inspect.getsource(function)))


def metric_modules(metrics: Iterable[Callable[..., Any]]) -> set[str]:
    """Return the modules of metrics that may call others; those of `bestarm.metrics` call nothing."""
    return {m.__module__ for m in metrics} - {"bestarm.metrics"}


def digest(value: Any) -> str:
    """Return the key of a description: a hash of its JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]

"""Checks of numbers given as settings."""

import operator
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

LARGEST_FEATURE = 1e75  # products of two features are still far from overflow


def is_whole(value: Any) -> bool:
    """Return whether a setting is an integer; a float that happens to be whole and a truth value are none."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Return whether a setting is a real number; NaN and infinity are."""
    return isinstance(value, Real)


def check_whole(name: str, value: Any, least: int | None = None) -> None:
    """Refuse what is no whole number, or below the least one.

    Raises ValueError with the name, the value and the rule."""
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_) or (least is not None and value < least):
        bound = "" if least is None else f" of at least {least}"
        raise ValueError(f"{name} must be a whole number{bound}, got {value!r}; give such an int.")


def check_settings(record: Any, *, positive: Sequence[str] = (), shares: Sequence[str] = (), **least: float) -> None:
    """Refuse settings of a frozen record that its annotations do not allow; the first line of its ``__post_init__``.

    Whole numbers are whole, numbers finite, words among those of a ``Literal``; rules of the record's own follow.
    Raises ValueError with the name of the setting, the value and the rule.

    Parameters
    ----------
    record : dataclass
        The record that is being made. A subclass that calls the ``__post_init__`` of its base is checked by that.
    positive, shares : sequence of str
        Names of numbers that must be above 0, and of those, such as risks, that must lie between 0 and 1.
    **least : float
        Least values of settings by name, where the record itself has no rule.
    """
    cls: Any = type(record)
    kinds = _kinds(cls)
    for name, known in kinds.items():
        _check_value(name, getattr(record, name), known, least.get(name))
    for name in (*positive, *shares):
        value, kind = getattr(record, name), kinds.get(name)  # none of a part that a preset fixes
        if value is None or kind is None:
            continue
        otherwise = ", or None" if kind.may_be_none else ""
        if not value > 0:
            rule = "be positive" if name in positive else "lie in (0, 1)"
            raise ValueError(f"{name} must {rule}, got {value}; give a number above 0{otherwise}.")
        if name in shares and value >= 1:
            raise ValueError(f"{name} must lie in (0, 1), got {value}; give a number below 1{otherwise}.")


class _Kind(NamedTuple):
    """What an annotation allows: ``int``, ``float``, ``bool``, ``str``, ``ints``, ``word`` or ``any``."""

    name: str
    may_be_none: bool
    words: tuple[Any, ...] = ()


def _kind(hint: Any) -> _Kind:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    optional, options = type(None) in options, tuple(o for o in options if o is not type(None))
    if len(options) > 1:
        return _Kind("any", optional)
    if get_origin(options[0]) is Literal:
        return _Kind("word", optional, get_args(options[0]))
    names = {int: "int", float: "float", bool: "bool", str: "str", tuple[int, ...]: "ints"}
    return _Kind(names.get(options[0], "any"), optional)


@cache
def _kinds(cls: Any) -> dict[str, _Kind]:
    """Return what the annotations of a dataclass allow; read once for each class."""
    known = get_type_hints(cls)
    return {f.name: _kind(known[f.name]) for f in fields(cls) if f.init}


def _check_value(name: str, value: Any, kind: _Kind, least: float | None) -> None:
    """Refuse a setting of another kind than its annotation, a number that is not finite, and one below the least."""
    if value is None and kind.may_be_none:
        return
    if kind.name == "bool" and not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    if kind.name == "str" and not isinstance(value, str):
        raise ValueError(f"{name} must be a word, got {value!r}.")
    if kind.name == "word" and not (isinstance(value, str) and value in kind.words):
        raise ValueError(f"{name} must be one of {', '.join(map(str, kind.words))}, got {value!r}.")
    if kind.name == "float":
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be a number, got {value!r}; give a float.")
        if not np.isfinite(float(value)):
            raise ValueError(f"{name} must be finite, got {value}; give a finite number.")
        if abs(float(value)) > 1e150:  # whose square is infinite
            raise ValueError(f"{name} must be at most 1e+150 in size, got {value}; rescale.")
    if kind.name == "int":
        check_whole(name, value)
    if kind.name == "ints":
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            raise ValueError(f"{name} must be whole numbers, got {value!r}; give a tuple such as (10, 5).")
        for part in value:
            check_whole(f"{name}: each", part, 1)
    if least is not None and value is not None and value < least:
        otherwise = ", or give None" if kind.may_be_none else ""
        raise ValueError(f"{name} must be at least {least:g}, got {value}; raise it{otherwise}.")


def check_kernel(kernel: Any) -> None:
    """Refuse settings of a kernel that leave out its variance or length-scale, or have others.

    Raises ValueError with what is missing or unknown."""
    if not isinstance(kernel, Mapping) and not hasattr(kernel, "K"):
        remedy = 'write {"variance": 1.0, "lengthscale": 0.1}'
        raise ValueError(f"a kernel is a mapping of settings or has a method K, got {kernel!r}; {remedy}.")
    needed = {"variance", "lengthscale"}
    if isinstance(kernel, Mapping) and not needed <= set(kernel) <= needed | {"family"}:
        given = ", ".join(map(str, kernel)) or "nothing"
        raise ValueError(f"a kernel needs variance and lengthscale, and may have a family; got {given}.")


def check_features(features: Any) -> None:
    """Refuse features that are no real numbers, or so large that their products overflow.

    Raises ValueError with the kind of what was given, or the value and the arm."""
    try:
        found = np.asarray(features)
    except ValueError:
        raise ValueError("features must be a table of numbers, but its rows differ in length; complete them.") from None
    if found.dtype.kind not in "biuf":
        try:
            if found.dtype.kind == "c":
                raise TypeError
            found = found.astype(np.float64)
        except (TypeError, ValueError):
            kind = "complex numbers" if found.dtype.kind == "c" else "values that are not all numbers"
            raise ValueError(f"features must be real numbers, got {kind}; encode categories as 0 and 1.") from None
    low, high = float(found.min(initial=0)), float(found.max(initial=0))  # quick
    inside = -LARGEST_FEATURE <= low <= high <= LARGEST_FEATURE  # false of NaN
    if not inside and (large := np.isfinite(found) & (np.abs(found.astype(np.float64)) > LARGEST_FEATURE)).any():
        place = np.argwhere(large)[0]
        got = f"got {found[tuple(place)]:.3g} of arm {place[-2] if len(place) > 1 else place[0]}; rescale them"
        raise ValueError(f"features must be at most {LARGEST_FEATURE:g} in size, {got}.")

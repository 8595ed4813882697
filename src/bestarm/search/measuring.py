"""Tables of measurements as they come back from a laboratory, checked row by row before anything is learned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import BoolArray, FloatArray
from bestarm.models.finite_gp import LARGEST_REWARD
from bestarm.search.candidates import Candidates
from bestarm.search.reader import FAILED, NOT_DONE, Notes, label_of, listed, name_column, read_rows

_NAMES = ("name", "arm", "gene", "candidate")
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_LIMIT = re.compile(r"[<>≤≥]=?\s*[+-]?[\d.,]+")
_PER_RANGE = 0.01  # of a feature's range, by which a told table may differ: spreadsheets round


@dataclass(frozen=True)
class Told:
    """Measurements, one a row.

    Attributes
    ----------
    names : list of str
        What was measured.
    values : ndarray, shape (n,)
        Rewards; NaN where it failed.
    done : ndarray of bool, shape (n,)
        Whether it was tried at all.
    """

    names: list[str]
    values: FloatArray
    done: BoolArray


def measurements(table: Any, candidates: Candidates | None = None) -> Told:
    """Return what a table says, with a column (or the index) of names and a column ``reward``.

    Parameters
    ----------
    table : DataFrame, str or Path
        Or a CSV file. A reward that is empty, NA, NaN or ``failed`` is a measurement that failed, ``not done`` one
        that was not tried. Rows without name and reward are left out.
    candidates : Candidates, optional
        Whose features are compared with those in the table.

    Raises
    ------
    ValueError
        For another kind of table, missing columns, two columns of rewards, a reward that is no number, or features
        that are not those of the candidate, in one line with value, rule and remedy.
    """
    file = isinstance(table, str | Path)
    if file:
        rows = read_rows(Path(table), Notes())
        _, header = next(rows)
        table = pd.DataFrame([parts for _, parts in rows], columns=header)
        if "reward" in table and not set(_NAMES) & set(header):
            table = table.rename(columns={header[name_column(header)]: "name"})
    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"tell wants the table that ask returned, rewards filled in, got {type(table).__name__}.")
    column = next((c for c in _NAMES if c in table), None)
    if column is None and table.index.name is None and isinstance(table.index, pd.RangeIndex) and len(table):
        missing = " and ".join(["name"] + ["reward"] * ("reward" not in table))
        raise ValueError(f"the table has no column {missing}; it has: {', '.join(map(str, table.columns))}.")
    if "reward" not in table:
        given = ", ".join(map(str, table.columns))
        raise ValueError(f"the table has no column reward; it has: {given}.")
    rewards = [str(c) for c in table.columns if re.match(r"rewards?([ _.]?\d+)?$", str(c), re.IGNORECASE)]
    if len(rewards) > 1:
        raise ValueError(
            f"the table has two columns of rewards, {' and '.join(rewards[:2])}; keep one, or give measurements again "
            "as rows."
        )
    if twice := [str(c) for c in table.columns[table.columns.duplicated()]]:
        raise ValueError(f"the table has two columns {twice[0]!r}; keep one.")
    labels = [label_of(label) for label in (table.index if column is None else table[column])]
    texts = [_clean(value) for value in table["reward"]]
    kept = [i for i, (label, text) in enumerate(zip(labels, texts, strict=True)) if label or text not in ("", "nan")]
    if nameless := [texts[i] for i in kept if not labels[i]]:
        raise ValueError(f"the reward {nameless[0]} has no name; name it or delete the row.")
    names = [labels[i] for i in kept]
    values = _rewards(names, [texts[i] for i in kept], commas=not file)  # the reader has read those of files
    done = np.array([texts[i].lower() not in NOT_DONE for i in kept], dtype=np.bool_)
    if candidates is not None:
        _check_features(table.iloc[kept], names, candidates)
    return Told(names, values, done)


def _clean(value: Any) -> str:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    is_float = isinstance(value, float | np.floating | np.integer) or (isinstance(value, int) and abs(value) < 10**300)
    return repr(float(value)) if is_float else " ".join(str(value).split())


def _rewards(names: Sequence[str], texts: Sequence[str], commas: bool) -> FloatArray:
    commas = commas and not any("." in text for text in texts if not text.lower().islower())
    with_comma = [text for text in texts if _COMMA.fullmatch(text)]
    if commas and with_comma and all(_THOUSANDS.fullmatch(text) for text in with_comma):
        raise ValueError(
            f"a reward is written {with_comma[0]!r}, whose comma may stand before decimals or after thousands; give "
            "numbers with decimal points."
        )
    found = np.full(len(texts), np.nan)
    for i, (name, text) in enumerate(zip(names, texts, strict=True)):
        if text.lower() in FAILED or text.lower() in NOT_DONE:
            continue
        try:
            found[i] = float(text.replace(",", ".") if commas and _COMMA.fullmatch(text) else text)
        except ValueError:
            if _LIMIT.fullmatch(text):
                raise ValueError(
                    f"the reward of {name} is {text!r}, beyond what can be measured; give the limit itself as a "
                    "number, or leave it empty, which counts as failed."
                ) from None
            raise ValueError(
                f"a reward must be a number, or empty where it failed, got {text!r} for {name}; correct it."
            ) from None
        if np.isinf(found[i]):
            raise ValueError(f"rewards must be numbers, or empty where it failed, got an infinite one for {name}.")
        if abs(found[i]) > LARGEST_REWARD:
            raise ValueError(f"rewards must be at most {LARGEST_REWARD:g} in size, got {text} for {name}; rescale.")
    return found


def _check_features(table: pd.DataFrame, names: Sequence[str], candidates: Candidates) -> None:
    """Refuse features in a told table that are not those of the candidate, beyond the rounding of spreadsheets."""
    place = {name: i for i, name in enumerate(candidates.names)}
    for label in candidates.table.columns:
        if label not in table:
            continue
        own = candidates.table[label].to_numpy()
        if candidates.table[label].dtype != np.float64:
            for name, word in zip(names, map(_clean, table[label]), strict=True):
                if name in place and word and word != _clean(own[place[name]]):
                    raise _other_feature(label, name, repr(word), repr(own[place[name]]))
            continue
        reach = _PER_RANGE * (np.nanmax(own) - np.nanmin(own))
        found = pd.to_numeric(table[label].map(lambda v: str(v).replace(",", ".")), errors="coerce").to_numpy()
        for name, value in zip(names, found, strict=True):
            if name in place and abs(value - own[place[name]]) > max(reach, 1e-6 * abs(own[place[name]])):
                raise _other_feature(label, name, f"{value:g}", f"{own[place[name]]:g}")


def _other_feature(label: str, name: str, found: str, own: str) -> ValueError:
    return ValueError(
        f"feature {label!r} of {name} is {found} in the table and {own} in the candidates; put it back, or name what "
        "was measured otherwise and give it to add_candidates."
    )


def names_in(names: Any, what: str) -> list[str]:
    """Return names of candidates from a list, or a table with a column (or the index) of names.

    Raises
    ------
    ValueError
        For a single name, or what holds none.
    """
    if isinstance(names, pd.DataFrame):
        column = next((c for c in _NAMES if c in names), None)
        names = names.index if column is None else names[column]
    if isinstance(names, str):
        raise ValueError(f"{what} must be a list of names or a table, got {names!r}; write [{names!r}].")
    if not isinstance(names, Iterable):
        raise ValueError(f"{what} must be a list of names or a table, got {names!r}; give the names in a list.")
    found = [label_of(name) for name in names]
    if "" in found:
        raise ValueError(f"name {1 + found.index('')} of {what} is empty; leave it out.")
    return found


def unknown_names(names: Sequence[str], there: Any) -> None:
    """Refuse measurements of what is no candidate.

    Raises
    ------
    ValueError
        With the names.
    """
    if unknown := [name for name in dict.fromkeys(names) if name not in there]:
        raise ValueError(
            f"{listed(unknown)} is no candidate; correct the name, give it to add_candidates, or leave controls out by "
            "unknown='ignore'."
        )

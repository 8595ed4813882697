"""Tables of measurements as they come back from a laboratory, checked row by row before anything is learned."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    if isinstance(table, str | Path):
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
    if more := [str(c) for c in table.columns if c != "reward" and re.match(r"rewards?([ _.]?\d+)?$", str(c))]:
        raise ValueError(
            f"the table has two columns of rewards, reward and {more[0]}; keep one, or give measurements again as rows."
        )
    labels = [label_of(label) for label in (table.index if column is None else table[column])]
    texts = [_clean(value) for value in table["reward"]]
    kept = [i for i, (label, text) in enumerate(zip(labels, texts, strict=True)) if label or text not in ("", "nan")]
    if nameless := [texts[i] for i in kept if not labels[i]]:
        raise ValueError(f"the reward {nameless[0]} has no name; name it or delete the row.")
    names = [labels[i] for i in kept]
    values = _rewards(names, [texts[i] for i in kept])
    done = np.array([texts[i].lower() not in NOT_DONE for i in kept], dtype=np.bool_)
    if candidates is not None:
        _check_features(table.iloc[kept], names, candidates)
    return Told(names, values, done)


def _clean(value: Any) -> str:
    if value is None or value is pd.NA or value != value:
        return ""
    return repr(float(value)) if isinstance(value, int | float | np.number) else str(value).strip()


def _rewards(names: Sequence[str], texts: Sequence[str]) -> FloatArray:
    commas = not any("." in text for text in texts if not text.lower().islower())
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
        if label not in table or candidates.table[label].dtype != np.float64:
            continue
        own = candidates.table[label].to_numpy()
        reach = _PER_RANGE * (np.nanmax(own) - np.nanmin(own))
        found = pd.to_numeric(table[label].map(lambda v: str(v).replace(",", ".")), errors="coerce").to_numpy()
        for name, value in zip(names, found, strict=True):
            if name in place and abs(value - own[place[name]]) > max(reach, 1e-6 * abs(own[place[name]])):
                raise ValueError(
                    f"feature {label!r} of {name} is {value:g} in the table and {own[place[name]]:g} in the "
                    "candidates; put it back, or name what was measured otherwise and give it to add_candidates."
                )


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

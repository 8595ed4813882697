"""Numbers that a text quotes: the value of a table's only line; misspelt names are refused with the nearest one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm_lab.yaml_keys import nearest


def read_table(file: Path) -> pd.DataFrame:
    """Return a table.

    Raises
    ------
    ValueError
        If there is none of this name, with the nearest one in its folder.
    """
    if not file.is_file():
        stems = [found.stem for found in sorted(file.parent.glob("*.csv"))]
        raise ValueError(f"there is no {file.name} in {file.parent}; {nearest(file.stem, stems)}.")
    return pd.read_csv(file)


def only_line(table: pd.DataFrame, name: str, line: Mapping[str, Any]) -> pd.Series:
    """Return the only line of a table that has these values; an empty text is a missing value.

    Parameters
    ----------
    table : DataFrame
        With any columns.
    name : str
        Of the table, for messages.
    line : mapping
        Values by column: texts are compared as texts, numbers up to rounding.

    Raises
    ------
    ValueError
        For a column that is not there or a text that it does not have, with the nearest one; for no line or several.
    """
    for column, wanted in line.items():
        refuse_unknown_column(table, name, column)
        if isinstance(wanted, str):
            texts = table[column].fillna("").astype(str)
            if wanted not in set(texts):
                raise ValueError(f"{name} has no {column} {wanted!r}; {nearest(wanted, texts.unique())}.")
            table = table[texts == wanted]
        else:
            table = table[np.isclose(table[column].astype(float), wanted)]
    if len(table) != 1:
        raise ValueError(f"{name}: {len(table)} lines of {dict(line)}; name the values of one line only.")
    return table.iloc[0]


def refuse_unknown_column(table: pd.DataFrame, name: str, column: str) -> None:
    """Refuse a column that a table does not have, with the nearest one."""
    if column not in table:
        raise ValueError(f"{name} has no column {column!r}; {nearest(column, list(table.columns))}.")


def only_value(file: Path, line: Mapping[str, Any], column: str = "value") -> float:
    """Return the number in the only line of a file's table that has these values, see `only_line`."""
    table = read_table(file)
    refuse_unknown_column(table, file.name, column)
    return float(only_line(table, file.name, line)[column])

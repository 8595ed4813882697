"""Readers of the five UCI tables in which every row is an arm.

References
----------
.. [1] Fanaee-T, Gama. "Event labeling combining ensemble detectors and background knowledge". 2013 (Bike Sharing).
.. [2] Becker, Kohavi. "Adult". UCI Machine Learning Repository, 1996.
.. [3] Moro, Cortez, Rita. "A data-driven approach to predict the success of bank telemarketing". 2014 (Bank Marketing).
.. [4] Buza. "Feedback prediction for blogs". 2014 (BlogFeedback).
.. [5] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023.
   Appendix E.1.2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray
from bestarm_lab.datasets.tables import ArmTable

_ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
_BLOG_COLUMNS = 281
_BIKE_PARTS = ["casual", "registered"]


def _table(path: Path, columns: int | list[str], *, words: bool = True, **options: object) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, na_values=[""], **options)  # type: ignore[call-overload]
    except (ValueError, OSError, pd.errors.ParserError) as error:
        raise ValueError(f"{path}: expected a table of separated values, found something else ({error}).") from error
    if isinstance(columns, int):
        if len(table.columns) != columns:
            raise ValueError(f"{path}: expected {columns} columns, found {len(table.columns)}; is the file whole?")
    elif missing := [c for c in columns if c not in table]:
        raise ValueError(f"{path}: no column {', '.join(missing)}; it has: {', '.join(map(str, table.columns))}.")
    if table.isna().to_numpy().any():
        row, column = (int(i) for i in np.argwhere(table.isna().to_numpy())[0])
        raise ValueError(f"{path}: row {row} has no value in column {table.columns[column]!r}; is the file whole?")
    if not words and (texts := [c for c in table if not pd.api.types.is_numeric_dtype(table[c])]):
        wrong = pd.to_numeric(table[texts[0]], errors="coerce").isna()
        row = int(wrong.to_numpy().argmax())
        raise ValueError(f"{path}: expected a number in row {row}, column {texts[0]}, got {table[texts[0]][row]!r}.")
    return table


def standard(values: FloatArray) -> FloatArray:
    """Return columns with mean 0 and standard deviation 1; a constant column becomes 0."""
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _arm_table(features: pd.DataFrame, target: FloatArray) -> ArmTable:
    """Standardise the numbers, and give a 0/1 column to each value of a word."""
    words = [c for c in features if not pd.api.types.is_numeric_dtype(features[c])]
    numbers = features.drop(columns=words)
    encoded = pd.get_dummies(features[words], dtype=np.float64) if words else pd.DataFrame(index=features.index)
    values = np.concatenate([standard(numbers.to_numpy(np.float64)), encoded.to_numpy(np.float64)], axis=1)
    return ArmTable(values, target, (*map(str, numbers.columns), *map(str, encoded.columns)))


@says_which_file
def read_bike_sharing(path: Path, *, parts_of_target: bool = False) -> ArmTable:
    """Read days or hours of a bicycle hire ([1]_); the target is the number of bicycles, calendar words stay numbers.

    Parameters
    ----------
    path : Path
        ``day.csv`` or ``hour.csv``.
    parts_of_target : bool
        Keep the columns ``casual`` and ``registered``, whose sum is the target. Thirteen columns, as [5]_
        prints for the days, are only had this way.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    table = _table(path, ["instant", "dteday", *_BIKE_PARTS, "cnt"])
    dropped = ["instant", "dteday", "cnt", *([] if parts_of_target else _BIKE_PARTS)]
    return _arm_table(table.drop(columns=dropped), table["cnt"].to_numpy(np.float64))


@says_which_file
def read_adult(path: Path) -> ArmTable:
    """Read people of a census ([2]_); the target is 1 for an income above 50,000 dollars.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    table = _table(path, len(_ADULT_COLUMNS), header=None, names=None, skipinitialspace=True, keep_default_na=False)
    table.columns = pd.Index(_ADULT_COLUMNS)
    return _arm_table(table.drop(columns="income"), np.asarray(table["income"] == ">50K", dtype=np.float64))


@says_which_file
def read_bank_marketing(path: Path) -> ArmTable:
    """Read telephone calls of a bank ([3]_); the target is 1 if the client subscribed.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    table = _table(path, ["age", "job", "duration", "nr.employed", "y"], sep=";", keep_default_na=False)
    return _arm_table(table.drop(columns="y"), np.asarray(table["y"] == "yes", dtype=np.float64))


@says_which_file
def read_blog_feedback(path: Path) -> ArmTable:
    """Read blog posts ([4]_); the target is the number of comments in the next 24 hours.

    The first row is left out: [5]_ prints 52,396 rows of 52,397, which is what remains if it is taken for a header.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    table = _table(path, _BLOG_COLUMNS, words=False, header=None, skiprows=1)
    values = table.to_numpy(np.float64)
    names = tuple(f"attribute {i + 1}" for i in range(_BLOG_COLUMNS - 1))
    return ArmTable(standard(values[:, :-1]), values[:, -1], names)

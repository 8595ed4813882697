"""Readers of tables in which a row is an arm: cars with their prices, measurements of an electric motor.

References
----------
.. [1] Schlimmer. "Automobile". UCI Machine Learning Repository, 1987.
.. [2] Kirchgässner, Wallscheid, Böcker. "Electric Motor Temperature". Kaggle, 2019, version 1.
.. [3] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Appendix E.2.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray

CAR_FEATURES = {11: "width", 13: "curb-weight", 16: "engine-size", 23: "city-mpg", 24: "highway-mpg"}
_CAR_PRICE = 25
_CAR_COLUMNS = 26

MOTOR_COLUMNS = (
    "ambient",
    "coolant",
    "u_d",
    "u_q",
    "motor_speed",
    "torque",
    "i_d",
    "i_q",
    "pm",
    "stator_yoke",
    "stator_tooth",
    "stator_winding",
)


@dataclass(frozen=True)
class ArmTable:
    """Rows that can be arms."""

    features: FloatArray  # shape (n_rows, n_features): features as in the file
    target: FloatArray  # shape (n_rows,): what is to be maximised, as in the file
    names: tuple[str, ...]  # names of the features
    n_imputed: int = 0  # targets that were missing and are the mean of the others


def _read(path: Path, n_columns: int, *, header: int | None, columns: list[int] | list[str]) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, header=header, na_values="?")
    except (ValueError, OSError, pd.errors.ParserError) as error:
        raise ValueError(
            f"{path}: expected a table of comma-separated values, found something else ({error})."
        ) from error
    if len(table.columns) != n_columns:
        raise ValueError(f"{path}: expected {n_columns} columns, found {len(table.columns)}; is the file whole?")
    missing = [c for c in columns if c not in table.columns]
    if missing:
        raise ValueError(
            f"{path}: no column {', '.join(map(str, missing))}; it has: {', '.join(map(str, table.columns))}."
        )
    numbers = table[columns].apply(pd.to_numeric, errors="coerce")
    wrong = numbers.isna() & table[columns].notna()
    if wrong.to_numpy().any():
        row, column = (int(i) for i in np.argwhere(wrong.to_numpy())[0])
        found = table[columns].iloc[row, column]
        raise ValueError(f"{path}: expected a number in row {row}, column {columns[column]}, got {found!r}.")
    return numbers


@says_which_file
def read_automobile(path: Path) -> ArmTable:
    """Read cars with five features and prices in dollars ([1]_); a missing price is the mean of the others."""
    table = _read(path, _CAR_COLUMNS, header=None, columns=[*CAR_FEATURES, _CAR_PRICE])
    features, price = table[list(CAR_FEATURES)], table[_CAR_PRICE]
    if features.isna().to_numpy().any():
        raise ValueError(f"{path}: a feature of car {int(features.isna().any(axis=1).argmax())} is missing.")
    filled = price.fillna(price.mean())
    return ArmTable(
        features.to_numpy(np.float64),
        filled.to_numpy(np.float64),
        tuple(CAR_FEATURES.values()),
        int(price.isna().sum()),
    )


@says_which_file
def read_electric_motor(path: Path, target: str) -> ArmTable:
    """Read measurements of a motor ([2]_), standardised; the other eleven columns are the features.

    The registered file, which may be packed (``.gz``), is a sample of about 1.5% of the 998,070 rows that [3]_ speaks
    of. ``target`` is one of ``MOTOR_COLUMNS``: the code of [3]_ takes ``motor_speed``, its text a temperature, such as
    ``pm``. Raises ValueError if the target is unknown or the file is damaged.
    """
    if target not in MOTOR_COLUMNS:
        raise ValueError(f"target must be one of {', '.join(MOTOR_COLUMNS)}, got {target!r}.")
    table = _read(path, len(MOTOR_COLUMNS) + 1, header=0, columns=list(MOTOR_COLUMNS))
    if table.isna().to_numpy().any():
        raise ValueError(f"{path}: a value of row {int(table.isna().any(axis=1).argmax())} is missing.")
    names = tuple(c for c in MOTOR_COLUMNS if c != target)
    return ArmTable(table[list(names)].to_numpy(np.float64), table[target].to_numpy(np.float64), names)

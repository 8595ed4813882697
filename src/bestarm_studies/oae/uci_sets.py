"""Rows of UCI tables as arms, whose largest response is sought; each is seen without noise, once (Appendix E.1)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.datasets.registry import fetch
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
    """Read days or hours of a bicycle hire; the target is the number of bicycles, calendar words stay numbers.
    ``parts_of_target`` keeps the columns ``casual`` and ``registered``, whose sum is the target: thirteen columns, as
    the paper prints for the days, are only had this way."""
    table = _table(path, ["instant", "dteday", *_BIKE_PARTS, "cnt"])
    dropped = ["instant", "dteday", "cnt", *([] if parts_of_target else _BIKE_PARTS)]
    return _arm_table(table.drop(columns=dropped), table["cnt"].to_numpy(np.float64))


@says_which_file
def read_adult(path: Path) -> ArmTable:
    """Read people of a census; the target is 1 for an income above 50,000 dollars."""
    table = _table(path, len(_ADULT_COLUMNS), header=None, names=None, skipinitialspace=True, keep_default_na=False)
    table.columns = pd.Index(_ADULT_COLUMNS)
    return _arm_table(table.drop(columns="income"), np.asarray(table["income"] == ">50K", dtype=np.float64))


@says_which_file
def read_bank_marketing(path: Path) -> ArmTable:
    """Read telephone calls of a bank; the target is 1 if the client subscribed."""
    table = _table(path, ["age", "job", "duration", "nr.employed", "y"], sep=";", keep_default_na=False)
    return _arm_table(table.drop(columns="y"), np.asarray(table["y"] == "yes", dtype=np.float64))


@says_which_file
def read_blog_feedback(path: Path) -> ArmTable:
    """Read blog posts; the target is the number of comments in the next 24 hours.
    The first row is left out: the paper prints 52,396 rows of 52,397, which remain if it is taken for a header."""
    table = _table(path, _BLOG_COLUMNS, words=False, header=None, skiprows=1)
    values = table.to_numpy(np.float64)
    names = tuple(f"attribute {i + 1}" for i in range(_BLOG_COLUMNS - 1))
    return ArmTable(standard(values[:, :-1]), values[:, -1], names)


DATA_FILES = ("adult", "bank-marketing", "bike-sharing-day", "bike-sharing-hour", "blog-feedback")


@dataclass(frozen=True)
class UciSet:
    """One of the paper's data sets: its file, the rows kept, and the size printed in the paper."""

    file: str
    n_rows: int
    printed: tuple[int, int]
    n_features: int


UCI_SETS = {
    "BikeSharingDay": UciSet("bike-sharing-day", 731 - 73, (658, 13), 11),
    "BikeSharingHour": UciSet("bike-sharing-hour", 17379 - 1737, (15642, 13), 12),
    "BlogFeedback": UciSet("blog-feedback", 52396, (52396, 280), 280),
    "Adult": UciSet("adult", 32561, (32561, 119), 108),
    "Bank": UciSet("bank-marketing", 32950, (32950, 60), 63),
}


def read_uci(name: str, *, parts_of_target: bool = False) -> ArmTable:
    """Return all rows of a data set, standardised; ``parts_of_target`` as in `read_bike_sharing`."""
    check_name(name, parts_of_target=parts_of_target)
    path = fetch(UCI_SETS[name].file)
    if name.startswith("Bike"):
        return read_bike_sharing(path, parts_of_target=parts_of_target)
    return {"Adult": read_adult, "Bank": read_bank_marketing, "BlogFeedback": read_blog_feedback}[name](path)


def check_name(name: str, *, parts_of_target: bool) -> None:
    """Raise if there is no such data set, or its target has no parts."""
    if name not in UCI_SETS:
        raise ValueError(f"name must be one of {', '.join(UCI_SETS)}, got {name!r}.")
    if parts_of_target and not name.startswith("Bike"):
        raise ValueError(f"parts_of_target is for the two bicycle sets, {name} has no such columns.")


def uci_instance(name: str, parts_of_target: bool = False, n_arms: int | None = None, seed: int = 0) -> NoiselessArms:
    """Return a UCI table as arms; the response has mean 0 and standard deviation 1 over all arms.
    ``parts_of_target`` keeps the two columns of the bicycle sets whose sum is the response; ``n_arms`` is a random
    subset, by default as many as the paper prints. `stand_in_uci_instance` has the same schema."""
    table = read_uci(name, parts_of_target=parts_of_target)
    kept = UCI_SETS[name].n_rows if n_arms is None else n_arms
    if not 2 <= kept <= len(table.target):
        raise ValueError(f"n_arms must be between 2 and the {len(table.target)} rows of {name}, got {kept}.")
    rows = np.sort(np.random.default_rng(seed).permutation(len(table.target))[:kept])
    label = f"{name}{' with parts of the target' * parts_of_target}{f' K={kept}' * (n_arms is not None)}"
    return NoiselessArms(label, table.features[rows], standard(table.target[rows])[None], data="real")


def stand_in_uci_instance(
    name: str, parts_of_target: bool = False, n_arms: int | None = None, seed: int = 0
) -> NoiselessArms:
    """Return random arms with a smooth response, of the schema of a data set but at most 2000 rows."""
    check_name(name, parts_of_target=parts_of_target)
    about = UCI_SETS[name]
    rng = np.random.default_rng([about.n_rows, seed])
    kept = min(about.n_rows, 2000) if n_arms is None else n_arms
    features = rng.standard_normal((kept, about.n_features + 2 * parts_of_target))
    response = features[:, 0] + np.tanh(features[:, 1] * features[:, 2]) + 0.3 * features[:, 3] ** 2
    return NoiselessArms(f"{name} stand-in", features, standard(response)[None], data="stand-in")

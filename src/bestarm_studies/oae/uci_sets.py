"""Rows of UCI tables as arms, whose largest response is sought; each is seen without noise, once (Appendix E.1).

The response is that of the table or a network's fit to it, so that a class of networks contains the truth. Each run
then has a network of its own, its teacher: runs stay independent, and an interval over runs covers the teacher. This is
the one kind of problem that needs a model: its response is one. Of the paper: Appendices E.1.2 and G.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray, IntArray
from bestarm.models.fused_fit import fit_fused as fit_networks
from bestarm.models.fused_predict import predict_fused as predict
from bestarm.models.mlp_fit import FitData, Training
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import fetch
from bestarm_lab.datasets.tables import ArmTable
from bestarm_studies.oae.landscapes import DrawnArms

_ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
_BLOG_COLUMNS = 281
_BIKE_PARTS = ["casual", "registered"]
DATA_FILES = ("adult", "bank-marketing", "bike-sharing-day", "bike-sharing-hour", "blog-feedback")
_ATTEMPTS = 10


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


def teacher_responses(table: NoiselessArms, training: Training, replications: IntArray) -> FloatArray:
    """Return the standardised outputs of one network for each replication, fitted to all arms, shape (R, n_arms).
    Initial weights and minibatches are named by the replication, so that its network does not depend on the others. A
    network whose units have all died has a constant output; its replication alone takes the next initial weights."""
    n = table.means.shape[1]
    nothing, everything = np.zeros(1, dtype=np.int64), np.arange(n, dtype=np.int64)[None]
    features = torch.tensor(table.features, dtype=torch.float32, device=training.device)[None]
    key = Streams.first(1, instance=table.label).key("teachers")
    found = np.empty((len(replications), n))
    left = np.arange(len(replications))
    for attempt in range(_ATTEMPTS):
        names = np.stack([replications[left], np.full(len(left), attempt)], axis=1)
        row, targets = np.zeros(len(left), dtype=np.int64), np.broadcast_to(table.means, (len(left), n))
        data = FitData(features, nothing, everything, np.full(1, n), everything[:, :0], nothing, row, targets)
        outputs = predict(training, data, fit_networks(training, data, np.zeros(len(left)), key, names))
        alive = np.array([np.isfinite(mine).all() and mine.std() > 1e-3 for mine in outputs], dtype=np.bool_)
        for place, mine in zip(left[alive], outputs[alive], strict=True):  # one by one: sums in one order for any block
            found[place] = standard(mine)
        left = left[~alive]
        if len(left) == 0:
            return found
    raise RuntimeError(
        f"{_ATTEMPTS} networks fitted to {table.label} for replication {replications[left[0]]} were all constant; "
        "lower the learning rate."
    )


@dataclass(frozen=True)
class FittedArms(DrawnArms):
    """A table whose response is a network's fit to the real one, another network for each replication."""

    table: NoiselessArms
    training: Training

    @property
    def label(self) -> str:
        """Name of the law."""
        return f"{self.table.label} fitted by {'-'.join(map(str, self.training.hidden)) or 'linear'}"

    @property
    def data(self) -> str:
        """Where the response comes from that is fitted."""
        return self.table.data

    def take(self, replications: IntArray) -> NoiselessArms:
        """Return the arms with the responses of some replications, by their identities."""
        means = teacher_responses(self.table, self.training, np.asarray(replications, dtype=np.int64))
        return replace(self.table, label=self.label, means=means)


def fitted_instance(name: str, hidden: Sequence[int], steps: int = 5000, learning_rate: float = 0.01) -> FittedArms:
    """Return a UCI table whose response is a network's fit to the real response (Appendix E.1.2).
    ``hidden``, ``steps`` and ``learning_rate`` are the teacher's; `stand_in_fitted_instance` has the same schema."""
    return FittedArms(uci_instance(name), Training(tuple(hidden), steps, learning_rate))


def stand_in_fitted_instance(
    name: str, hidden: Sequence[int], steps: int = 5000, learning_rate: float = 0.01
) -> FittedArms:
    """Return a stand-in table whose response is a network's fit."""
    return FittedArms(stand_in_uci_instance(name), Training(tuple(hidden), steps, learning_rate))

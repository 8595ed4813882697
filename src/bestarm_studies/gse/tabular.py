"""Bandits whose arms are rows of a table, new ones for each replication; the target is nearly linear (Appendix E.2)."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numba import njit

from bestarm.interface import Arms, FloatArray, IntArray
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams, uniform
from bestarm_lab.datasets.registry import fetch
from bestarm_lab.datasets.tables import CAR_FEATURES, MOTOR_COLUMNS, ArmTable, read_automobile, read_electric_motor
from bestarm_lab.metrics import correct as any_best
from bestarm_studies.gse.instances import check_sizes

DATA_FILES = ("automobile", "electric-motor-sample")


@dataclass(frozen=True)
class TabularBandit(LinearBandit):
    """A bandit with given means ``target``, shape (R, n_arms), whatever the features; ``theta`` plays no part.
    ``only_first_best``: of several best arms only the first counts as correct."""

    target: FloatArray | None = None
    only_first_best: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is None or self.target.shape != self.features.shape[:2]:
            raise ValueError(f"target must have one entry per arm of features of shape {self.features.shape}.")
        # the kernel of LinearBandit reads `means`; a cached property would be the linear prediction
        object.__setattr__(self, "means", self.target)

    def take(self, rows: IntArray) -> Self:
        """Return the problem for a subset of the replications."""
        assert self.target is not None
        return replace(self, features=self.features[rows], theta=self.theta[rows], target=self.target[rows])


def correct(problem: Any, recommended: IntArray) -> FloatArray:
    """Return 1 where the recommended arm is a best one, or the first best one if the problem counts no other."""
    if not getattr(problem, "only_first_best", False):
        return any_best(problem, recommended)
    return np.asarray(recommended[:, 0] == problem.means.argmax(axis=1), dtype=np.float64)


@njit(cache=True)
def _rows(key: np.uint64, replications: IntArray, n_arms: int, n_rows: int, again: bool) -> IntArray:
    """Return random rows for every replication, with or without replacement."""
    found = np.empty((len(replications), n_arms), dtype=np.int64)
    for r in range(len(replications)):
        if again:
            for a in range(n_arms):
                found[r, a] = int(n_rows * uniform(key, replications[r], a, 0))
        else:
            draws = np.array([uniform(key, replications[r], row, 1) for row in range(n_rows)])
            found[r] = np.argsort(draws)[:n_arms]
    return found


@dataclass(frozen=True)
class TabularInstances:
    """Bandits on random rows of a table, other rows for each replication; `take` draws them.
    The label keys the rows; features, shape (n_rows, n_features), and the target are scaled to [0, 1].
    ``with_replacement``: a row can be drawn twice, as coded. Duplicates of the best row are as good, except, a
    *deviation*, with ``only_first_best``."""

    label: str
    features: FloatArray
    target: FloatArray
    n_arms: int
    sigma: float
    with_replacement: bool = True
    only_first_best: bool = False
    seed: int = 0
    data: str = "real"

    def as_coded(self) -> "TabularInstances":
        """Return the law with the way in which the authors' code counts what is correct."""
        return replace(self, only_first_best=True)

    @property
    def arms(self) -> Arms:
        """Refuse: which arms there are depends on the replication."""
        raise ValueError(f"{self.label}: arms differ by replication; call problem.take(streams.replications) first.")

    def take(self, replications: IntArray) -> TabularBandit:
        """Return the instances of some replications, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        chosen = _rows(streams.key("rows"), streams.replications, self.n_arms, len(self.target), self.with_replacement)
        nothing = np.zeros((len(chosen), self.features.shape[1]))
        return TabularBandit(
            self.label, self.features[chosen], nothing, self.sigma, self.target[chosen], self.only_first_best
        )


def scaled(values: FloatArray) -> FloatArray:
    """Return columns scaled to [0, 1] by their extremes; a constant column becomes 0."""
    low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray((values - low) / np.where(high > low, high - low, 1.0))


def _instances(
    label: str,
    table: ArmTable,
    n_arms: int,
    variance: float,
    with_replacement: bool,
    only_first_best: bool,
    seed: int,
    data: str,
) -> TabularInstances:
    check_sizes(n_arms, table.features.shape[1], variance)
    if not with_replacement and n_arms > len(table.target):
        raise ValueError(f"n_arms must be at most the {len(table.target)} rows of the table, got {n_arms}.")
    law = f"{label} K={n_arms} variance={variance:g}{'' if with_replacement else ' distinct'}"
    return TabularInstances(
        law + " stand-in" * (data == "stand-in"),
        scaled(table.features),
        scaled(table.target),
        n_arms,
        variance**0.5,
        with_replacement,
        only_first_best,
        seed,
        data,
    )


def automobile_instance(
    n_arms: int, variance: float = 0.1, with_replacement: bool = True, seed: int = 0, only_first_best: bool = False
) -> TabularInstances:
    """Return cars: which is the most expensive (Figure 5a)? `stand_in_automobile_instance` has the same schema.
    The price is scaled to [0, 1] with the features, as in the authors' code, so a variance of 0.1 is large."""
    table = read_automobile(fetch("automobile"))
    return _instances("automobile", table, n_arms, variance, with_replacement, only_first_best, seed, "real")


def electric_motor_instance(
    n_arms: int,
    target: str = "motor_speed",
    variance: float = 0.1,
    with_replacement: bool = True,
    seed: int = 0,
    only_first_best: bool = False,
) -> TabularInstances:
    """Return measurements of a motor: which has the highest speed, or temperature (Figure 5b)?
    The table is a sample of about 1.5% of the rows; `stand_in_electric_motor_instance` has the same schema."""
    table = read_electric_motor(fetch("electric-motor-sample"), target)
    return _instances(
        f"electric motor {target}", table, n_arms, variance, with_replacement, only_first_best, seed, "real"
    )


def _stand_in(n_rows: int, names: tuple[str, ...]) -> ArmTable:
    rng = np.random.default_rng([n_rows, len(names)])
    features = rng.uniform(size=(n_rows, len(names)))
    target = features @ rng.uniform(0.0, 1.0, len(names)) + 0.3 * (features[:, 0] - 0.5) ** 2
    return ArmTable(features, target, names)


def stand_in_automobile_instance(
    n_arms: int, variance: float = 0.1, with_replacement: bool = True, seed: int = 0, only_first_best: bool = False
) -> TabularInstances:
    """Return random rows with a slightly quadratic target, of the schema of the cars."""
    table = _stand_in(205, tuple(CAR_FEATURES.values()))
    return _instances("automobile", table, n_arms, variance, with_replacement, only_first_best, seed, "stand-in")


def stand_in_electric_motor_instance(
    n_arms: int,
    target: str = "motor_speed",
    variance: float = 0.1,
    with_replacement: bool = True,
    seed: int = 0,
    only_first_best: bool = False,
) -> TabularInstances:
    """Return random rows with a slightly quadratic target, of the schema of the motor."""
    table = _stand_in(5000, tuple(c for c in MOTOR_COLUMNS if c != target))
    return _instances(
        f"electric motor {target}", table, n_arms, variance, with_replacement, only_first_best, seed, "stand-in"
    )

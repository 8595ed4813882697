"""Searches by sequential policies, which must be told exactly what they asked before they ask again."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd

from bestarm.guards.protocol import Guarded, waiting
from bestarm.interface import Arms, Ask
from bestarm.partition import Partition
from bestarm.search.candidates import Candidates
from bestarm.search.errors import Reading
from bestarm.search.tables import Measurements, listed
from bestarm.streams import Streams


class SequentialSearch:
    """The state of one search, asked and told by tables."""

    def __init__(self, policy: Guarded, candidates: Candidates | Partition, seed: int) -> None:
        self.policy = policy
        self.cells = candidates if isinstance(candidates, Partition) else None
        self.candidates = None if isinstance(candidates, Partition) else candidates
        found: Any = candidates if isinstance(candidates, Partition) else Arms(candidates.values)
        self.state = policy.start(found, Streams.first(1, seed=seed))
        self.rows: list[tuple[int, str, float]] = []
        self.round = 0

    @property
    def finished(self) -> bool:
        return bool(self.policy.finished(self.state).all())

    def ask(self) -> pd.DataFrame:
        """Return what to measure next; the same until it is told, empty at the end."""
        if (asked := waiting(self.state)) is None and not self.finished:
            with self._whole():
                asked = self.policy.ask(self.state)
            asked = None if self.finished else asked
        if asked is None:
            return self.table(np.zeros(0, np.int64), np.zeros(0, np.int64))
        return self.table(asked.arms[0], asked.counts[0])

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Take a step wholly or, where it is interrupted, not at all."""
        before = deepcopy(self.state)
        try:
            yield
        except BaseException:
            self.state = before
            raise

    def tell(self, told: Measurements) -> None:
        if told.to_come:
            remedy = "fill them in, or write failed"
            raise ValueError(f"{len(told.to_come)} rewards are empty, and {self.policy.label} is sequential; {remedy}.")
        if any(isinstance(value, Reading) for value in told.values):
            raise ValueError(f"{self.policy.label} cannot weigh rewards by sem, sd or n; leave those columns out.")
        if not all(told.done):
            raise ValueError(f"{self.policy.label} is sequential, so that nothing can be 'not done'; measure it.")
        if (asked := waiting(self.state)) is None:
            if len(told.names) == 0:
                return
            again = "these rewards were told already; ask for the next ones first."
            raise ValueError(again if self.rows else "nothing was asked yet; call ask first.")
        arms, counts = asked.arms[0], asked.counts[0]
        self._check_names(told.names, arms, counts)
        left: dict[str, list[float]] = {}
        for name, reward in zip(told.names, told.values, strict=True):
            left.setdefault(name, []).append(float(reward))
        done, totals = np.zeros(len(arms), np.int64), np.zeros(len(arms))
        for place in np.flatnonzero(counts):
            name, count = self.name(int(arms[place])), counts[place]
            values, left[name] = np.array(left[name][:count]), left[name][count:]
            known = values[~np.isnan(values)]
            done[place] = len(known) or count
            totals[place] = known.sum() if len(known) else np.nan
        with self._whole():
            self.policy.tell(self.state, Ask(asked.arms, done[None]), totals[None])
        self.round += 1
        self.rows += [(self.round, n, float(v)) for n, v in zip(told.names, told.values, strict=True)]

    def best(self) -> pd.DataFrame:
        arms = self.policy.recommend(self.state)[0]
        return self.table(arms, np.ones_like(arms)).drop(columns=["pull", "reward"])

    def name(self, arm: int) -> str:
        return str(arm) if self.candidates is None else self.candidates.names[arm]

    def _check_names(self, told: Sequence[str], arms: Any, counts: Any) -> None:
        """Refuse measurements of other arms, or of other numbers, than were asked."""
        wanted, given = Counter(map(self.name, np.repeat(arms, counts).tolist())), Counter(told)
        own = f"{self.policy.label} is sequential"
        if unknown := [name for name in given if name not in wanted]:
            raise ValueError(f"{listed(unknown)} was not asked for, and {own}; tell what the last ask returned.")
        if missing := [name for name in wanted if name not in given]:
            remedy = "add the rows, with the reward `failed` where it failed"
            raise ValueError(f"the rewards of {listed(missing)} are missing, and {own}; {remedy}.")
        for name, count in wanted.items():
            if given[name] != count:
                remedy = f"and {own}; give one row for each, with the reward `failed` where it failed"
                raise ValueError(f"{name} has {given[name]} rows where {count} measurements were asked, {remedy}.")

    def table(self, arms: Any, counts: Any) -> pd.DataFrame:
        pulled = np.repeat(arms, counts)
        table = pd.DataFrame({"name": pd.Series([self.name(int(arm)) for arm in pulled], dtype=object)})
        table["pull"] = table.groupby("name").cumcount() + 1
        if self.cells is not None:
            low, high = self.cells.bounds(pulled)
            for axis in range(self.cells.n_dimensions):
                table[f"lower_{axis}"], table[f"upper_{axis}"] = low[:, axis], high[:, axis]
        elif self.candidates is not None:
            table = pd.concat([table, self.candidates.shown(pulled)], axis=1)
        table["reward"] = pd.Series([None] * len(pulled), dtype=object)
        return table

"""A search for people who have a table of candidates and want to know what to measure next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm.guards.protocol import Guarded, waiting
from bestarm.interface import Arms, Ask
from bestarm.partition import Partition
from bestarm.search.saving import read, save
from bestarm.settings import check_whole
from bestarm.streams import Streams


class Search:
    """One search: `ask` returns a table of what to measure, `tell` takes it back with the rewards filled in.

    Parameters
    ----------
    policy : Policy
        How to search, say ``bestarm.mean_opt(batch=8, rounds=5, optimism=0.01)``.
    arms : DataFrame, array, Arms or Partition
        What can be measured. Of a table the index has the names of the candidates and each column is a feature, a
        number; of an array, shape (n_arms, n_features), the rows are numbered; of a partition the arms are its cells.
    names : sequence of str, optional
        Names of the arms, where they are not the index of a table.
    seed : int
        Seed of the policy's random choices.

    Raises
    ------
    ValueError
        For names that repeat, a feature that is no number, or arms that the policy cannot search.

    Attributes
    ----------
    policy, state : Guarded, GuardedState
        For arrays, with one replication.
    history : DataFrame
        All measurements told, in order: ``round, arm, reward``.
    """

    def __init__(self, policy: Any, arms: Any, *, names: Sequence[Any] | None = None, seed: int = 0) -> None:
        for method in ("start", "ask", "tell", "finished", "recommend"):
            if isinstance(policy, type) or not hasattr(policy, method):
                raise ValueError(f"policy must have {method}, got {policy!r}; make one by a constructor of bestarm.")
        check_whole("seed", seed, 0)
        found, labels, self._features = _as_arms(arms, names)
        self._names = labels
        self.policy = policy if isinstance(policy, Guarded) else Guarded(policy)
        self.state = self.policy.start(found, Streams.first(1, seed=seed))
        self._cells = found if isinstance(found, Partition) else None
        self._told: list[pd.DataFrame] = []
        self._round = 0

    @property
    def finished(self) -> bool:
        """Whether the search has ended: it is sure, or its budget, rounds or arms are spent."""
        return bool(self.policy.finished(self.state).all())

    @property
    def history(self) -> pd.DataFrame:
        """All measurements told so far, in order: ``round, arm, reward``; a reward that is NaN failed."""
        if not self._told:
            return pd.DataFrame({"round": [], "arm": [], "reward": []}).astype({"round": int, "arm": object})
        return pd.concat(self._told, ignore_index=True)

    def ask(self) -> pd.DataFrame:
        """Return what to measure next, one row for each measurement; the same until it is told, empty at the end.

        Returns
        -------
        DataFrame
            Columns ``arm`` (name), ``pull`` (1, 2, ... where an arm is to be measured several times), the features (of
            a cell the corners of its box), and ``reward``, to be filled in.
        """
        asked = waiting(self.state)
        if asked is None:
            if self.finished:
                return self._table(np.zeros(0, np.int64), np.zeros(0, np.int64))
            asked = self.policy.ask(self.state)
            if self.finished:
                return self._table(np.zeros(0, np.int64), np.zeros(0, np.int64))
        return self._table(asked.arms[0], asked.counts[0])

    def tell(self, table: pd.DataFrame) -> None:
        """Learn the rewards of what was asked, from a table with the columns ``arm`` and ``reward``.

        The order of the rows and other columns do not matter. A reward that is empty is a measurement that failed;
        where only some of an arm's measurements failed, the others count.

        Raises
        ------
        ValueError
            For rewards of other arms or of more or fewer measurements than were asked, or that are no numbers.
        """
        if not isinstance(table, pd.DataFrame):
            raise ValueError(f"tell wants the table that ask returned, rewards filled in, got {type(table).__name__}.")
        if missing := [c for c in ("arm", "reward") if c not in table]:
            given = ", ".join(map(str, table.columns))
            raise ValueError(f"the table has no column {' and '.join(missing)}; it has: {given}.")
        asked = waiting(self.state)
        if asked is None:
            if len(table) == 0:
                return
            raise ValueError(
                "these rewards were told already; ask for the next ones first."
                if self._told
                else "nothing was asked yet; call ask first."
            )
        arms, counts = asked.arms[0], asked.counts[0]
        rewards = _numbers(table["reward"])
        self._check_names(table["arm"], arms, counts)
        left: dict[str, list[float]] = {}
        for name, reward in zip(table["arm"].map(str), rewards, strict=True):
            left.setdefault(name, []).append(float(reward))
        done, totals = np.zeros(len(arms), np.int64), np.full(len(arms), np.nan)
        for place, (arm, count) in enumerate(zip(arms, counts, strict=True)):
            if count == 0:
                done[place], totals[place] = 0, 0.0
                continue
            name = self._name(int(arm))
            values, left[name] = np.array(left[name][:count]), left[name][count:]
            known = values[~np.isnan(values)]
            done[place] = len(known) or count
            totals[place] = known.sum() if len(known) else np.nan
        self.policy.tell(self.state, Ask(asked.arms, done[None]), totals[None])
        self._round += 1
        kept = pd.DataFrame({"round": self._round, "arm": table["arm"].map(str).to_numpy(), "reward": rewards})
        self._told.append(kept)

    def best(self) -> pd.DataFrame:
        """Return the best arms so far with their features, one row for each; best of their kind only if `finished`."""
        arms = self.policy.recommend(self.state)[0]
        return self._table(arms, np.ones_like(arms)).drop(columns=["pull", "reward"])

    def save(self, path: str | Path) -> None:
        """Write the search to a file, from which `Search.load` goes on; see `bestarm.save`."""
        history = self.history
        notes = {
            "names": self._names,
            "columns": None if self._features is None else list(map(str, self._features.columns)),
            "history": [history["round"].tolist(), history["arm"].tolist(), history["reward"].tolist()],
        }
        save(self.state, path, notes={"search": notes})

    @classmethod
    def load(cls, path: str | Path, policy: Any = None) -> Search:
        """Return the search in a file.

        Parameters
        ----------
        path : str or Path
            File that `save` wrote.
        policy : Policy, optional
            What the file must hold; by default whatever it holds.

        Raises
        ------
        FileNotFoundError, ValueError
            As `bestarm.load`; if the file holds a state that no `Search` wrote.
        """
        saved, notes = read(path, policy)
        kept = notes.get("search")
        if kept is None:
            raise ValueError(f"{path} holds the state of a policy, not a Search; read it by bestarm.load.")
        self = cls.__new__(cls)
        self.policy, self.state, self._names = saved.policy, saved.state, kept["names"]
        arms = saved.state.arms
        self._cells = arms if isinstance(arms, Partition) else None
        self._features = None if self._cells else pd.DataFrame(arms.features, columns=kept["columns"])
        rounds, arms_told, rewards = kept["history"]
        told = pd.DataFrame({"round": rounds, "arm": arms_told, "reward": np.array(rewards, dtype=np.float64)})
        self._told = [told] if len(told) else []
        self._round = max(rounds, default=0)
        return self

    def _name(self, arm: int) -> str:
        return str(arm) if self._names is None else self._names[arm]

    def _check_names(self, told: pd.Series[Any], arms: Any, counts: Any) -> None:
        """Refuse measurements of other arms, or of other numbers, than were asked."""
        wanted: dict[str, int] = {}
        for arm, count in zip(arms, counts, strict=True):
            if count:
                wanted[self._name(int(arm))] = wanted.get(self._name(int(arm)), 0) + int(count)
        given: dict[str, int] = {}
        for name in told.map(str):
            given[name] = given.get(name, 0) + 1
        if unknown := [name for name in given if name not in wanted]:
            raise ValueError(f"{_listed(unknown)} was not asked for; tell what the last ask returned.")
        if missing := [name for name in wanted if name not in given]:
            raise ValueError(
                f"the rewards of {_listed(missing)} are missing; add the rows, with an empty reward where it failed."
            )
        for name, count in wanted.items():
            if given[name] != count:
                raise ValueError(
                    f"{name} has {given[name]} rows where {count} measurements were asked; give one row for each, with "
                    "an empty reward where it failed."
                )

    def _table(self, arms: Any, counts: Any) -> pd.DataFrame:
        pulled = np.repeat(arms, counts)
        names = [self._name(int(arm)) for arm in pulled]
        table = pd.DataFrame({"arm": pd.Series(names, dtype=object)})
        table["pull"] = table.groupby("arm").cumcount() + 1
        if self._cells is not None:
            low, high = self._cells.bounds(pulled)
            for axis in range(self._cells.n_dimensions):
                table[f"lower_{axis}"], table[f"upper_{axis}"] = low[:, axis], high[:, axis]
        elif self._features is not None:
            for name in self._features.columns:
                table[name] = self._features[name].to_numpy()[pulled]
        table["reward"] = np.full(len(pulled), np.nan)
        return table


def _as_arms(arms: Any, names: Sequence[Any] | None) -> tuple[Any, list[str] | None, pd.DataFrame | None]:
    """Return arms, their names (None of cells), and their features as a table."""
    if isinstance(arms, Partition):
        if names is not None:
            raise ValueError("the cells of a partition have numbers, no names; leave names out.")
        return arms, None, None
    if isinstance(arms, pd.DataFrame):
        for column in arms.columns:
            if not (pd.api.types.is_numeric_dtype(arms[column]) or pd.api.types.is_bool_dtype(arms[column])):
                raise ValueError(
                    f"column {column!r} is no feature, since it has values that are not numbers; drop it, encode it, "
                    "or make it the index if it names the candidates."
                )
        found = Arms(arms.to_numpy(dtype=np.float64))
        labels = list(map(str, arms.index)) if names is None else list(map(str, names))
        columns = list(map(str, arms.columns))
    else:
        found = arms if isinstance(arms, Arms) else Arms(arms)
        labels = list(map(str, range(found.n_arms) if names is None else names))
        columns = [f"x{j}" for j in range(found.n_features)]
    if found.features.ndim == 3:
        raise ValueError("a Search is one experiment: features must have shape (n_arms, n_features); give one set.")
    if len(labels) != found.n_arms:
        raise ValueError(f"there are {found.n_arms} arms and {len(labels)} names; give one name for each.")
    if twice := pd.Series(labels)[pd.Series(labels).duplicated()].tolist():
        raise ValueError(f"{_listed(twice)} names more than one arm; make the names different.")
    taken = {"arm", "pull", "reward"} & set(columns)
    if taken:
        raise ValueError(f"a feature cannot be called {', '.join(sorted(taken))}, a column of ask; rename it.")
    return found, labels, pd.DataFrame(found.features, columns=columns)


def _numbers(values: pd.Series[Any]) -> Any:
    found = pd.to_numeric(values, errors="coerce")
    wrong = values[found.isna() & values.notna() & (values.map(lambda v: str(v).strip()) != "")]
    if len(wrong):
        raise ValueError(f"a reward must be a number, or empty where it failed, got {wrong.iloc[0]!r}; correct it.")
    return found.to_numpy(dtype=np.float64)


def _listed(names: Sequence[str]) -> str:
    """Return a few names in words."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

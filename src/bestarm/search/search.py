"""A search for people who have a table of candidates and want to know what to measure next."""

from __future__ import annotations

import logging
import math
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bestarm import __version__
from bestarm.guards.protocol import Guarded, NothingLearned
from bestarm.interface import FloatArray, IntArray
from bestarm.partition import Partition
from bestarm.search import explaining
from bestarm.search.candidates import Candidates
from bestarm.search.choices import Choice
from bestarm.search.deciding import Memory, Own, Plan, chosen, decides_from_data, mean_of, rebuilt, told_state
from bestarm.search.measuring import measurements, unknown_names
from bestarm.search.reader import listed
from bestarm.search.rounds import (
    Chunk,
    Round,
    Suggestion,
    aim_of,
    check_known,
    chunks_of,
    newly_told,
    revisions,
    reward,
)
from bestarm.search.strict import Strict
from bestarm.settings import check_whole

DEFAULT = "forest"  # by the rule in docs/what_to_use.md
UNMEASURED, ASKED, MEASURED, FAILED, NOT_DONE, WITHDRAWN = STATES = (
    "unmeasured", "asked", "measured", "failed", "not done", "withdrawn",
)  # fmt: skip
_log = logging.getLogger("bestarm.search")


def unguarded(policy: Any) -> Any:
    """Return a policy without the checks at the door."""
    return policy.policy if isinstance(policy, Guarded) else policy


class Search:
    """One search among candidates: `tell` it what was measured, `ask` it what to measure next.

    With a policy that decides from data alone (every one that has a name, and the batch policies of the constructors
    with networks, linear functions or Gaussian processes) the search is a function of a table of measurements: any of
    them can be told at any time, in parts, again, or corrected, and any number can be asked for, with others at the
    bench. A policy that needs its own order (`bestarm.m_lingape`, `bestarm.gse_lin`, `bestarm.gpoo`, ...) is told
    exactly what it asked for, and says so.

    Parameters
    ----------
    candidates : str, Path, DataFrame, array, Candidates or Partition
        What can be measured: a CSV or Parquet file, a table whose index has the names and each column describes the
        candidates, numbers alone, or cells. See `bestarm.Candidates` for what is made of words and gaps.
    policy : str or Policy, optional
        How to search: a name, see ``bestarm.search.choices.SUMMARIES``, or what a constructor returned, say
        ``bestarm.mean_opt(batch=8, rounds=5, optimism=0.01)``. A name sees standardised features and scaled rewards
        and asks for nothing twice; a constructor's policy sees both as they are.
    aim : {"max", "min", "both"} or float, default "max"
        Whether rewards should be large, small, large in size, or near a number.
    seed : int, default 0
        Seed of the policy's random choices.
    hits : float, str or sequence of str, optional
        What counts as a hit: a reward from which on, a share of the candidates such as ``"5%"``, or their names. The
        policy ``hits`` takes its share from the latter two.
    names : sequence of str, optional
        Names of the candidates, where they are not in the table.
    components : int, default 0
        For a policy by name: principal components in the place of the features; 0 keeps the features.
    **settings
        Of a policy by name, say ``optimism=0.1``.

    Raises
    ------
    ValueError
        For candidates, a policy or a setting that cannot be used, in one line with value, rule and remedy.

    Examples
    --------
    >>> search = Search(np.random.default_rng(0).uniform(size=(50, 2)), policy="random", seed=1)
    >>> batch = search.ask(3)
    >>> batch["reward"] = [0.2, 0.5, None]  # the third one failed
    >>> search.tell(batch)
    >>> search.states.value_counts().to_dict()
    {'unmeasured': 47, 'measured': 2, 'failed': 1}
    """

    def __init__(
        self,
        candidates: Any,
        policy: Any = None,
        *,
        aim: str | float = "max",
        seed: int = 0,
        hits: float | str | Sequence[str] | None = None,
        names: Sequence[Any] | None = None,
        components: int = 0,
        **settings: Any,
    ) -> None:
        if hasattr(candidates, "ask") and hasattr(candidates, "start"):
            raise ValueError("a Search takes the candidates first: write Search(candidates, policy).")
        check_whole("seed", seed, 0)
        self._lock = threading.RLock()
        self._strict: Strict | None = None
        self._choice: Choice | Own | None = None
        self._saved: dict[str, Any] = {}
        policy = self._checked_policy(policy, settings)
        if isinstance(candidates, Partition) and names is not None:
            raise ValueError("the cells of a partition have numbers, no names; leave names out.")
        if isinstance(policy, Choice) or (
            not isinstance(candidates, Partition) and decides_from_data(unguarded(policy))
        ):
            if isinstance(candidates, Partition):
                raise ValueError(f"{policy.name} searches a table of candidates, got a Partition; take bestarm.gpoo.")
            self._choice = policy if isinstance(policy, Choice) else Own(unguarded(policy))
        guarded: Any = policy if isinstance(policy, Guarded | Choice) else Guarded(policy)
        self.policy = guarded
        self.aim, self.seed, self.components = aim_of(aim), int(seed), components
        found = candidates if isinstance(candidates, Partition) else Candidates.of(candidates, names)
        self._hits = self._checked_hits(hits, found)
        if isinstance(policy, Choice) and policy.name == "hits" and isinstance(self._hits, str | list):
            assert isinstance(found, Candidates)
            share = (
                float(self._hits.strip()[:-1]) / 100.0
                if isinstance(self._hits, str)
                else len(self._hits) / len(found.names)
            )
            if "share" not in policy.settings and share < 1.0:
                self._choice = self.policy = Choice("hits", {**policy.settings, "share": share}, policy.scaled)
        if self._choice is None:
            if self.aim != "max":
                raise ValueError(f"{guarded.label} needs its own order and maximises; tell rewards to be maximised.")
            self._strict = Strict(guarded, found, self.seed)
            return
        assert isinstance(found, Candidates)
        self._candidates = found
        self._begin()

    def _begin(self) -> None:
        """Set all that is learned to nothing."""
        self._place = {name: i for i, name in enumerate(self._candidates.names)}
        self._rows: list[tuple[int, str, float]] = []
        self._values: dict[str, list[float]] = {}
        self._rounds: list[Round] = []
        self._waiting: Counter[str] = Counter()
        self._undone: dict[str, None] = {}
        self._withdrawn: dict[str, None] = {}
        self._fresh = False  # whether the last batch waits as a whole
        self._last_told: Any = None
        self._memory = Memory()
        self._views: dict[Any, FloatArray] = {}

    @staticmethod
    def _checked_policy(policy: Any, settings: Mapping[str, Any]) -> Any:
        if policy is None:
            policy = DEFAULT
        if isinstance(policy, str):
            return Choice(policy, settings)
        if settings:
            raise ValueError(f"there is no setting {next(iter(settings))!r}; settings are for a policy by its name.")
        if isinstance(policy, Choice):
            return policy
        for method in ("start", "ask", "tell", "finished", "recommend"):
            if isinstance(policy, type) or not hasattr(policy, method):
                raise ValueError(f"policy must have {method}, got {policy!r}; make one by a constructor of bestarm.")
        return policy

    def _checked_hits(self, hits: Any, candidates: Any) -> Any:
        if hits is None:
            return None
        if isinstance(hits, str):
            share = hits.strip().removesuffix("%")
            try:
                value = float(share) / 100.0
            except ValueError:
                value = math.nan
            if not (hits.strip().endswith("%") and 0.0 < value < 1.0):
                raise ValueError(f"hits must be a reward, a share such as '5%', or a list of names; got {hits!r}.")
            return hits
        if isinstance(hits, int | float | np.number) and not isinstance(hits, bool):
            if not math.isfinite(hits):
                raise ValueError(f"hits must be finite, got {hits}; give the reward from which on it is a hit.")
            return float(hits)
        labels = [str(name) for name in hits]
        if not labels:
            raise ValueError("hits is an empty list; give names, a reward or a share such as '5%'.")
        if isinstance(candidates, Candidates):
            unknown_names(labels, set(candidates.names))
        return labels

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        del kept["_lock"]
        if self._choice is not None:
            kept["_memory"], kept["_views"] = Memory(), {}
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        if self._strict is not None:
            return f"Search by {self.policy.label}, {self._strict.round} rounds told"
        counts = ", ".join(f"{n} {state}" for state, n in self.states.value_counts().items())
        assert self._choice is not None
        return f"Search by {self._choice.name} among {len(self._candidates.names)} candidates: {counts}"

    # what is there

    @property
    def candidates(self) -> Candidates:
        """The candidates, with a report of what was done to their table."""
        if self._strict is None:
            return self._candidates
        if self._strict.candidates is None:
            raise ValueError("the cells of a partition are no table of candidates.")
        return self._strict.candidates

    @property
    def state(self) -> Any:
        """The policy's own state."""
        if self._strict is not None:
            return self._strict.state
        with self._lock:
            return self._told(self._plan(1))[1]

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The log: every batch with all that decided it."""
        return tuple(self._rounds) if self._strict is None else ()

    @property
    def history(self) -> pd.DataFrame:
        """All measurements told so far, in order: ``round, name, reward``; a reward that is NaN failed.

        The round is that of the last batch asked for before, 0 for what was known before the search.
        """
        rows = self._rows if self._strict is None else self._strict.history
        table = pd.DataFrame(rows, columns=["round", "name", "reward"])
        return table.astype({"round": np.int64, "name": object, "reward": np.float64})

    @property
    def states(self) -> pd.Series[str]:
        """State of each candidate by name: unmeasured, asked, measured, failed, not done or withdrawn."""
        if self._strict is not None:
            raise self._own_order("has no states of candidates")
        with self._lock:
            names = self._candidates.names
            return pd.Series({name: self._state_of(name) for name in names}, name="state", dtype=object)

    def _state_of(self, name: str) -> str:
        if name in self._withdrawn:
            return WITHDRAWN
        if self._waiting[name]:
            return ASKED
        if name in self._values:
            return MEASURED if mean_of(self._values[name]) == mean_of(self._values[name]) else FAILED
        return NOT_DONE if name in self._undone else UNMEASURED

    @property
    def pending(self) -> list[str]:
        """Names that were asked for and not told."""
        return [name for name in self._candidates.names if self._waiting[name]] if self._strict is None else []

    @property
    def finished(self) -> bool:
        """Whether the search has ended: it is sure, or its budget, rounds or candidates are spent."""
        if self._strict is not None:
            return self._strict.finished
        with self._lock:
            if not self._left():
                return True
            if not isinstance(self._choice, Own):
                return False
            own = self._choice.policy
            return len(self._chunks()[0]) >= own.rounds + (getattr(own, "first", 0) > 0 if self._repeats else 0)

    @property
    def _repeats(self) -> bool:
        return isinstance(self._choice, Own) and self._choice.repeats

    def _left(self) -> bool:
        """Return whether a candidate could be asked for or told of."""
        if self._repeats:
            return any(name not in self._withdrawn for name in self._candidates.names)
        return any(name not in self._values and name not in self._withdrawn for name in self._candidates.names)

    # asking and telling

    def ask(self, size: int | None = None, *, pending: Any = None) -> pd.DataFrame:
        """Return what to measure next as a table, ``reward`` to be filled in.

        Without a size it is what waits for its rewards; where nothing waits, a batch as large as the policy's own, or
        as the last one, or of one. With a size it is the batch that waits, if it has that size and nothing was told
        since, so that the same line run twice asks once; otherwise a new batch, while all that was asked and not told
        is taken to be at the bench.

        Parameters
        ----------
        size : int, optional
            How many; fewer where fewer candidates are left.
        pending : sequence of str or DataFrame, optional
            What is at the bench now, by name: the batch is a new one beside it. What was asked, not told, and is not
            in this list is not done, and goes back to the candidates that can be chosen.

        Returns
        -------
        DataFrame
            Columns ``name``, the candidate's own, and ``reward``; empty at the end. For a policy that needs its own
            order further ``pull`` (1, 2, ... where an arm is to be measured several times).

        Raises
        ------
        ValueError
            For a size below 1, pending names that are no candidates, or a size of a policy that needs its own order.
        """
        with self._lock:
            if self._strict is not None:
                if size is not None or pending is not None:
                    raise self._own_order("decides itself how much it asks for; write ask()")
                return self._strict.ask()
            if size is not None:
                check_whole("size", size, 1)
            if pending is not None:
                self._set_pending(pending)
            elif size is None and +self._waiting:
                return self._table(self._in_order(self._waiting))
            elif self._fresh and size is not None and size == self._rounds[-1].settings["batch"]:
                return self._table(self._rounds[-1].names)
            if size is None and self.finished:
                return self._table([])
            return self._table(self._next(self._size(size)).names)

    def _in_order(self, waiting: Mapping[str, int]) -> list[str]:
        """Return what waits in the order in which it was asked."""
        left, found = Counter(waiting), []
        for each in self._rounds:
            for name in each.names:
                if left[name] > 0:
                    left[name] -= 1
                    found.append(name)
        return found + [name for name, n in left.items() for _ in range(n)]

    def _size(self, size: int | None) -> int:
        if size is not None:
            return int(size)
        if isinstance(self._choice, Own):
            own = self._choice.policy
            first = getattr(own, "first", 0) if self._repeats else 0
            return int(first if first and not self._values else own.batch)
        return int(self._rounds[-1].settings["batch"]) if self._rounds else 1

    def _set_pending(self, pending: Any) -> None:
        """Take what is at the bench from the caller; the rest of what was asked was not done."""
        if isinstance(pending, pd.DataFrame):
            column = next((c for c in ("name", "arm") if c in pending), None)
            pending = pending.index if column is None else pending[column]
        if isinstance(pending, str):
            raise ValueError(f"pending must be a list of names or a table, got {pending!r}; write [{pending!r}].")
        wanted = Counter(str(name).strip() for name in pending)
        unknown_names(list(wanted), self._place)
        self._undone |= dict.fromkeys(name for name in self._waiting if not wanted[name] and self._waiting[name])
        self._waiting = wanted

    def _next(self, size: int) -> Round:
        """Make the next round, log it and return it."""
        plan = self._plan(size)
        chunks, new, revised = self._chunks()
        blocked = [name for name in self._candidates.names if name in self._withdrawn]
        there = [name for name in self._candidates.names if self._waiting[name]]
        places = chosen(
            plan,
            self._view(plan),
            chunks,
            n_asked=len(self._rounds),
            withdrawn=self._places(blocked),
            pending=self._places(there),
            memory=self._memory,
        )
        names = [self._candidates.names[a] for a in places]
        made = Round(
            number=len(self._rounds) + 1,
            settings=plan.described(),
            features=self._candidates.digest,
            told=tuple(new),
            revised=revised,
            suggested=tuple(map(Suggestion, names)),
            version=__version__,
            n_candidates=len(self._candidates.names),
            pending=tuple(there),
            withdrawn=tuple(blocked),
        )
        self._rounds.append(made)
        self._waiting.update(names)
        for name in names:
            self._undone.pop(name, None)
        self._fresh = bool(names)
        _log.info("round %d: %d asked, %d known", made.number, len(names), len(self._values))
        return made

    def tell(self, table: Any, *, replace: bool = False, again: bool = False, unknown: str = "refuse") -> None:
        """Learn measurements, asked for or not, from a table with the columns ``name`` and ``reward``.

        The order of the rows and other columns do not matter; the index may hold the names. A reward that is empty,
        ``NA`` or ``failed`` is a measurement that failed; ``not done`` one that never ran, whose candidate can be
        chosen again. A candidate that is told more than once was measured more than once. What was asked and is not
        in the table goes on waiting.

        Parameters
        ----------
        table : DataFrame, str or Path
            Or a CSV file.
        replace : bool
            Whether these measurements take the place of those told before of the same candidates: a correction.
        again : bool
            Whether a table that is equal to the last one holds new measurements; otherwise it is refused.
        unknown : {"refuse", "ignore"}
            What to do with names that are no candidates, such as controls.

        Raises
        ------
        ValueError
            For a table that cannot be understood, in one line; nothing of it is learned then.
        """
        with self._lock:
            if self._strict is not None:
                if replace or again or unknown != "refuse":
                    raise self._own_order("is told what it asked for; write tell(table)")
                self._strict.tell(table)
                return
            if unknown not in ("refuse", "ignore"):
                raise ValueError(f"unknown must be 'refuse' or 'ignore', got {unknown!r}.")
            told = measurements(table, self._candidates)
            if unknown == "refuse":
                unknown_names(told.names, self._place)
            rows = [
                (name, float(value), bool(done))
                for name, value, done in zip(told.names, told.values, told.done, strict=True)
                if name in self._place
            ]
            mark = sorted((name, repr(value), done) for name, value, done in rows)
            if (
                rows
                and not (again or replace)
                and mark == self._last_told
                and not any(self._waiting[name] for name, _, _ in rows)
            ):
                raise ValueError(
                    "these rewards were told already; ask for the next ones, or write tell(table, again=True) if "
                    "everything was measured again with the same results."
                )
            if replace:
                gone = {name for name, _, done in rows if done}
                self._rows = [row for row in self._rows if row[1] not in gone]
                for name in gone:
                    self._values.pop(name, None)
            for name, value, done in rows:
                if not done:
                    if self._waiting.pop(name, 0):
                        self._undone[name] = None
                    continue
                self._values.setdefault(name, []).append(value)
                self._rows.append((len(self._rounds), name, value))
                self._undone.pop(name, None)
                self._waiting[name] = max(self._waiting[name] - 1, 0)
            self._waiting = +self._waiting
            if rows:
                self._fresh, self._last_told = False, mark
            _log.info("%d measurements told, %d candidates known", len(rows), len(self._values))

    def not_done(self, names: Iterable[str] | None = None) -> None:
        """Say what was asked and will not be measured: it can be chosen again. By default all that waits."""
        with self._lock:
            self._need_table("takes back nothing that it asked for")
            found = list(self._waiting) if names is None else [str(name) for name in names]
            unknown_names(found, self._place)
            for name in found:
                if self._waiting.pop(name, 0):
                    self._undone[name] = None
                    self._fresh = False

    def exclude(self, names: Iterable[str]) -> None:
        """Withdraw candidates: they are not chosen any more; what was measured of them still counts."""
        self._mark(names, True)

    def restore(self, names: Iterable[str]) -> None:
        """Take withdrawn candidates back."""
        self._mark(names, False)

    def _mark(self, names: Iterable[str], withdrawn: bool) -> None:
        with self._lock:
            self._need_table("has a fixed list of arms")
            if isinstance(names, str):
                raise ValueError(f"names must be a list, got {names!r}; write [{names!r}].")
            found = [str(name) for name in names]
            unknown_names(found, self._place)
            if not withdrawn and (odd := [name for name in found if name not in self._withdrawn]):
                raise ValueError(f"{listed(odd)} was not excluded, so it cannot be restored; see `states`.")
            for name in found:
                if withdrawn:
                    self._withdrawn[name] = None
                    self._waiting.pop(name, None)
                else:
                    self._withdrawn.pop(name)
                self._fresh = False

    def add_candidates(self, more: Any, names: Sequence[Any] | None = None) -> None:
        """Add candidates, with the same columns as the others; batches asked before stay as they were."""
        with self._lock:
            self._need_table("has a fixed list of arms")
            self._candidates = self._candidates.joined(Candidates.of(more, names))
            self._place = {name: i for i, name in enumerate(self._candidates.names)}
            self._views, self._fresh = {}, False

    def resume(
        self,
        rounds: Sequence[Round],
        measured: Mapping[str, Sequence[float]],
        pending: Sequence[str] = (),
        withdrawn: Sequence[str] = (),
    ) -> None:
        """Go on from a log, with all that is known today.

        Parameters
        ----------
        rounds : sequence of Round
            The log.
        measured : mapping of str to sequence of float
            All measurements of each candidate, whether in the log or not.
        pending, withdrawn : sequence of str
            What is at the bench, and what cannot be chosen.

        Raises
        ------
        ValueError
            For names that are no candidates.
        """
        with self._lock:
            self._need_table("goes on from a file alone")
            for each in rounds:
                check_known(each, set(self._place))
            unknown_names([*measured, *pending, *withdrawn], self._place)
            self._begin()
            self._rounds = list(rounds)
            self._values = {name: list(values) for name, values in measured.items()}
            self._rows = [(len(rounds), name, value) for name, values in measured.items() for value in values]
            self._waiting, self._withdrawn = Counter(pending), dict.fromkeys(withdrawn)

    # what is known

    def best(self, n: int = 1) -> pd.DataFrame:
        """Return the best candidates so far, one row for each; best of their kind only if `finished`.

        Parameters
        ----------
        n : int
            How many of those measured, by their mean reward. A constructor's policy recommends one of its own.
        """
        with self._lock:
            if self._strict is not None:
                return self._strict.best()
            check_whole("n", n, 1)
            means = {name: mean_of(values) for name, values in self._values.items()}
            good = sorted((name for name in means if means[name] == means[name]), key=self._place.__getitem__)
            good.sort(key=lambda name: -reward(means[name], self.aim))
            if self._values and not good:
                warnings.warn(
                    f"{self._choice.name if self._choice else ''}: nothing was learned, since every measurement "
                    "failed; tell rewards that are numbers.",
                    NothingLearned,
                    stacklevel=2,
                )
            if isinstance(self._choice, Own) and n == 1 and good:
                policy, state = self._told(self._plan(1))
                good = [self._candidates.names[int(policy.recommend(state)[0, 0])]]
            table = self._table(good[:n]).drop(columns="reward")
            return table.assign(value=[means.get(name, math.nan) for name in good[:n]])

    def predict(self, m: int = 1) -> pd.DataFrame:
        """Return what the policy's model says of every candidate.

        Parameters
        ----------
        m : int
            Of the probability of being among the best m.

        Returns
        -------
        DataFrame
            One row for each candidate: ``name, state, value`` (mean of its measurements), ``mean`` and ``deviation``
            of the prediction, in units of the reward (for the aim ``both`` of its size, for a target of its distance),
            ``best`` (probability of being among the best m, from normal draws that are independent given mean and
            deviation), and with ``hits`` the probability ``hit``. A Gaussian process has its own mean and deviation, a
            linear function the centre and half-width of what is plausible; networks are explained by five of them.

        Raises
        ------
        ValueError
            While nothing is known, or for a policy that needs its own order.
        """
        with self._lock:
            self._need_table("predicts nothing")
            check_whole("m", m, 1)
            prediction = self._prediction()
            if prediction is None:
                raise ValueError("nothing can be predicted before a reward is told; tell a table of measurements.")
            mean, deviation = prediction
            names = self._candidates.names
            table = pd.DataFrame(
                {
                    "name": pd.Series(list(names), dtype=object),
                    "state": self.states.to_numpy(),
                    "value": [mean_of(self._values.get(name, ())) for name in names],
                    "mean": explaining.shown_prediction(mean, self.aim),
                    "deviation": deviation,
                    "best": explaining.chances_of_the_best(mean, deviation, m, self.seed),
                }
            )
            if self._hits is not None:
                table["hit"] = ndtr((mean - self._threshold(prediction)) / np.maximum(deviation, 1e-300))
            return table

    def why(self) -> pd.DataFrame:
        """Return why each candidate of the last batch is in it, by what was known when it was asked.

        Returns
        -------
        DataFrame
            ``name, predicted, uncertainty, novelty, nearest, rank, why``, see `bestarm.search.rounds.Suggestion`.
        """
        with self._lock:
            self._need_table("gives no reasons")
            if not self._rounds:
                raise ValueError("nothing was asked yet; call ask first.")
            if not self._rounds[-1].suggested[:1] or not self._rounds[-1].suggested[0].why:
                self._rounds[-1] = self.explained(self._rounds[-1])
            return pd.DataFrame([vars(s) for s in self._rounds[-1].suggested], columns=list(Suggestion.__annotations__))

    def explained(self, last: Round) -> Round:
        """Return a round of the log with the reasons of its batch."""
        plan = self._plan_of(last)
        some = self._candidates.first(last.n_candidates or len(self._candidates.names))
        before = self._rounds[: last.number - 1]
        chunks = chunks_of(before, last.told, last.revised, some.names)
        view = self._view(plan) if some is self._candidates else plan.features(some)
        policy, state = told_state(plan, view, chunks, self._memory)
        measured = np.unique(np.concatenate([chunk.places for chunk in chunks])) if chunks else np.zeros(0, np.int64)
        found = explaining.explained(
            plan,
            some.names,
            view if isinstance(plan.choice, Choice) else some.scores(),
            self._places(last.names),
            explaining.prediction_of(policy, state),
            measured,
        )
        return replace(last, suggested=tuple(found))

    def check(self) -> list[str]:
        """Make every batch of the log anew and return a line for each that is another one; empty if all agree."""
        with self._lock:
            self._need_table("keeps no log of batches")
            again = rebuilt(self._rounds, self._candidates, self._plan_of)
            return [
                f"round {each.number}: {listed(each.names)} in the log, {listed(names)} made anew"
                for each, names in zip(self._rounds, again, strict=True)
                if each.names != names
            ]

    # files

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the search to a file, whole or not at all, from which `Search.load` goes on.

        Parameters
        ----------
        path : str or Path
            See `docs/search_files.md` for what is in it.
        overwrite : bool
            Whether a file with another search, or one that was saved by somebody else since this one was loaded, is
            replaced.

        Raises
        ------
        ValueError
            For such a file without ``overwrite``, or a policy that no file can hold.
        OSError
            Where the file cannot be written; what was there stays.
        """
        from bestarm.search.files import save_search

        with self._lock:
            save_search(self, path, overwrite)

    @classmethod
    def load(cls, path: str | Path, policy: Any = None) -> Search:
        """Return the search in a file, whichever version of bestarm wrote it.

        Parameters
        ----------
        path : str or Path
            File that `save` wrote.
        policy : Policy or str, optional
            What the file must hold; by default whatever it holds.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no file, or it is damaged, holds no search, or one by another policy.
        """
        from bestarm.search.files import load_search

        return load_search(cls, path, policy)

    # within

    def _own_order(self, what: str) -> ValueError:
        return ValueError(f"{self.policy.label} needs its own order, so that it {what}.")

    def _need_table(self, what: str) -> None:
        if self._strict is not None:
            raise self._own_order(what)

    def _plan(self, size: int) -> Plan:
        assert self._choice is not None
        return Plan(self._choice, size, self.seed, self.aim, self.components)

    def _plan_of(self, last: Round) -> Plan:
        if isinstance(self._choice, Own):  # of another library, which a description cannot make
            return self._plan(int(last.settings["batch"]))
        return Plan.of(last.settings)

    def _view(self, plan: Plan) -> FloatArray:
        """Return the features that a plan sees, the same array each time."""
        key = (isinstance(plan.choice, Own), plan.components)
        if key not in self._views:
            self._views = {key: plan.features(self._candidates)}
        return self._views[key]

    def _places(self, names: Iterable[str]) -> IntArray:
        return np.array([self._place[name] for name in names], dtype=np.int64)

    def _chunks(self) -> tuple[list[Chunk], list[tuple[str, float]], dict[str, tuple[float, ...]]]:
        """Return what was told round by round, what is new since the last round, and what was corrected."""
        values = self._plan(1).values(self._values)
        new = newly_told(self._rounds, values, self._candidates.names)
        revised = revisions(self._rounds, values)
        return chunks_of(self._rounds, new, revised, self._candidates.names), new, revised

    def _told(self, plan: Plan) -> tuple[Any, Any]:
        return told_state(plan, self._view(plan), self._chunks()[0], self._memory)

    def _prediction(self) -> tuple[FloatArray, FloatArray] | None:
        return explaining.prediction_of(*self._told(self._plan(1)))

    def _threshold(self, prediction: tuple[FloatArray, FloatArray]) -> float:
        """Return the reward from which a candidate is a hit; of a share, that above which the model expects so many."""
        if isinstance(self._hits, float):
            return reward(self._hits, self.aim)
        mean, deviation = prediction
        n = len(mean)
        wanted = len(self._hits) if isinstance(self._hits, list) else float(self._hits.strip()[:-1]) / 100.0 * n
        low, high = float((mean - 10.0 * deviation).min()), float((mean + 10.0 * deviation).max())
        for _ in range(100):
            middle = 0.5 * (low + high)
            above = ndtr((mean - middle) / np.maximum(deviation, 1e-300)).sum()
            low, high = (middle, high) if above > wanted else (low, middle)
        return 0.5 * (low + high)

    def _table(self, names: Sequence[str]) -> pd.DataFrame:
        table = pd.DataFrame({"name": pd.Series(list(names), dtype=object)})
        table = pd.concat([table, self._candidates.shown(self._places(names))], axis=1)
        table["reward"] = np.full(len(names), np.nan)
        return table

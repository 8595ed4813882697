"""A search for people who have a table of candidates and want to know what to measure next."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bestarm import __version__
from bestarm.guards.protocol import Guarded, NothingLearned, unguarded
from bestarm.interface import FloatArray
from bestarm.partition import Partition
from bestarm.policies.model_batches import expected_quantile
from bestarm.search import explanations, next_batch
from bestarm.search.any_size import learns_from
from bestarm.search.candidates import Candidates
from bestarm.search.choices import Choice, checked_policy
from bestarm.search.errors import Reading, error_of, mean_of
from bestarm.search.left import Left, checked_hits, left_of, share_of
from bestarm.search.next_batch import CustomPolicy, Plan, ReplayCache, replayed_state
from bestarm.search.progress import noted
from bestarm.search.rounds import CandidateStatus, Chunk, Round, Suggestion, Told, Values, aim_of, of_prediction, reward
from bestarm.search.sequential import SequentialSearch
from bestarm.search.table_files import read_table
from bestarm.search.tables import Measurements, counted, listed, measurements, unknown_names
from bestarm.settings import check_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_log = logging.getLogger("bestarm.search")


class Search:
    """One search among candidates: `tell` it what was measured, `ask` it what to measure next.

    With a policy that decides from data alone (every one that has a name, and the batch policies of the constructors
    with networks, linear functions or Gaussian processes) the search is a function of a table of measurements: any of
    them can be told at any time, in parts, again, or corrected, and any number can be asked for, with others pending. A
    sequential policy (`bestarm.m_lingape`, `bestarm.gse_lin`, `bestarm.gpoo`, ...) must be told exactly what it asked
    for, and says so. What cannot be used is a ValueError, in one line with value, rule and remedy.

    Parameters
    ----------
    candidates : str, Path, DataFrame, array, Candidates or Partition
        What can be measured: a file, a table whose index has the names and each column describes the candidates,
        numbers alone, or cells. See `bestarm.Candidates` for what is made of words and gaps.
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
    names, results, words : sequence of str, optional
        As of `bestarm.Candidates.of`: names that are not in the table, columns of results, and of words.
    components : int, default 0
        For a policy by name: principal components in place of the features; 0 keeps the features.
    **settings
        Of a policy by name, say ``optimism=0.1``.

    Examples
    --------
    >>> search = Search(np.random.default_rng(0).uniform(size=(50, 2)), policy="random", seed=1)
    >>> batch = search.ask(3)
    >>> batch["reward"] = [0.2, "failed", None]  # the third one is still to come
    >>> search.tell(batch)
    >>> search.states.value_counts().to_dict()
    {'unmeasured': 47, 'measured': 1, 'failed': 1, 'asked': 1}
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
        results: Sequence[str] | None = None,
        words: Sequence[str] = (),
        components: int = 0,
        **settings: Any,
    ) -> None:
        if hasattr(candidates, "ask") and hasattr(candidates, "start"):
            raise ValueError("a Search takes the candidates first: write Search(candidates, policy).")
        check_whole("seed", seed, 0)
        self._lock = threading.RLock()
        self._sequential: SequentialSearch | None = None
        self._choice: Any = None  # a Choice or a CustomPolicy; None for a sequential policy
        self._saved: dict[str, Any] = {}
        self._unit = ""  # of the rewards that were told
        self.notes: list[str] = []  # what was decided about the table that was told last
        policy = checked_policy(policy, settings)
        if isinstance(policy, Choice) and "threshold" in settings and aim_of(aim) != "max":
            raise ValueError(f"threshold is of rewards to be large, not of the aim {aim!r}; write hits= in its place.")
        cells = isinstance(candidates, Partition)
        if cells and names is not None:
            raise ValueError("the cells of a partition have numbers, no names; leave names out.")
        if cells and isinstance(policy, Choice):
            raise ValueError(f"{policy.name} searches a table of candidates, got a Partition; take bestarm.gpoo.")
        if isinstance(policy, Choice):
            self._choice = policy
        elif not cells and next_batch.decides_from_data(unguarded(policy)):
            self._choice = CustomPolicy(unguarded(policy))
        guarded: Any = policy if isinstance(policy, Guarded | Choice) else Guarded(policy)
        self.policy = guarded
        self._aim, self.seed = aim_of(aim), int(seed)
        self.components = components.item() if isinstance(components, np.generic) else components  # as JSON has it
        found = candidates if cells else Candidates.of(candidates, names, results=results, words=words)
        self._candidates: Any = found
        self._hits = checked_hits(hits, found)
        if self._choice is None:
            if self.aim != "max":
                raise ValueError(f"{guarded.label} is sequential and maximises; tell rewards to be maximised.")
            if hits is not None:
                raise ValueError(f"{guarded.label} is sequential and predicts no hits; leave hits out.")
            self._sequential = SequentialSearch(guarded, found, self.seed)
            return
        if isinstance(policy, Choice):
            threshold = reward(self._hits, self.aim) if isinstance(self._hits, float) else None
            share = share_of(self._hits, len(found.names))
            self._choice = self.policy = policy.aimed_at(share=share, threshold=threshold)
        self._begin()
        self._view(self._plan(1))  # refuses features, or components, by which nothing can be told apart

    def _begin(self) -> None:
        """Set all that is learned to nothing."""
        self._status = CandidateStatus()
        self._rounds: list[Round] = []
        self._cache = ReplayCache()
        self._views: dict[Any, FloatArray] = {}
        self._left_before: tuple[Any, Left] | None = None  # what `left` said last
        self._since = 0  # batches asked for before the policy took over

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__ | {"_cache": ReplayCache(), "_views": {}}
        del kept["_lock"]
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        if self._sequential is not None:
            return f"Search by {self.policy.label}, {self._sequential.round} rounds told"
        counts = ", ".join(f"{n} {state}" for state, n in self.states.value_counts().items())
        return f"Search by {self._choice.name} among {len(self._candidates.names)} candidates: {counts}"

    # what is there

    @property
    def aim(self) -> str | float:
        """What is looked for: ``max``, ``min``, ``both`` or a number."""
        return self._aim

    @property
    def candidates(self) -> Candidates:
        """The candidates, with a report of what was done to their table."""
        if isinstance(self._candidates, Partition):
            raise ValueError("the cells of a partition are no table of candidates.")
        return self._candidates

    @property
    def state(self) -> Any:
        """The policy's own state."""
        if self._sequential is not None:
            return self._sequential.state
        with self._lock:
            return self._replayed()[1]

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The log: every batch with all that decided it."""
        return tuple(self._rounds) if self._sequential is None else ()

    @property
    def history(self) -> pd.DataFrame:
        """All measurements told so far, in order: ``round, name, reward``; a reward that is NaN failed.

        The round is that of the last batch asked for before, 0 for what was known before the search. Where errors were
        told there are ``sem`` and ``n``, too.
        """
        rows = (self._sequential or self._status).rows
        table = pd.DataFrame(rows, columns=["round", "name", "reward"])
        if any(isinstance(value, Reading) for _, _, value in rows):
            table[["sem", "n"]] = np.array([error_of(value) for _, _, value in rows])
            table["n"] = table["n"].astype(np.int64)
        return table.astype({"round": np.int64, "name": object, "reward": np.float64})

    @property
    def states(self) -> pd.Series[str]:
        """State of each candidate by name: unmeasured, asked, measured, failed, not done or withdrawn."""
        with self._locked("has no states of candidates"):
            states = {name: self._status.state_of(name) for name in self._candidates.names}
            return pd.Series(states, name="state", dtype=object)

    @property
    def pending(self) -> list[str]:
        """Names that were asked for and not told."""
        if self._sequential is not None:
            return []
        return [name for name in self._candidates.names if self._status.waiting[name]]

    @property
    def finished(self) -> bool:
        """Whether the search has ended: it is sure, or its budget, rounds or candidates are spent."""
        if self._sequential is not None:
            return self._sequential.finished
        with self._lock:
            own = self._plan(1).choice
            if {*self._status.withdrawn, *(() if own.repeats else self._status.values)} >= set(self._candidates.names):
                return True
            return isinstance(own, CustomPolicy) and len(self._chunks()[0]) >= own.policy.rounds + (own.first > 0)

    # asking and telling

    def ask(self, size: int | None = None, *, pending: Any = None) -> pd.DataFrame:
        """Return what to measure next as a table, ``reward`` to be filled in.

        Without a size it is what waits for its rewards; where nothing waits, a batch as large as the policy's own, or
        as the last one, or of one. With a size it is the batch that waits, if it has that size and nothing was told
        since, so that the same line run twice asks once; otherwise a new batch, while all that was asked and not told
        is taken to be pending.

        Parameters
        ----------
        size : int, optional
            How many, at least 1; fewer where fewer candidates are left. A sequential policy has its own size.
        pending : sequence of str or DataFrame, optional
            What is being measured now, by name: the batch is a new one beside it. What was asked, not told, and is not
            in this list is not done, and goes back to the candidates that can be chosen.

        Returns
        -------
        DataFrame
            Columns ``name``, the candidate's own, and ``reward``; empty at the end. For a sequential policy
            further ``pull`` (1, 2, ... where an arm is to be measured several times).
        """
        with self._lock:
            if self._sequential is not None:
                if size is not None or pending is not None:
                    raise self._refusal("decides itself how much it asks for; write ask()")
                return self._sequential.ask()
            if size is not None:
                check_whole("size", size, 1)
            if pending is not None:
                self._status.set_pending(self._candidates.names_from(pending, "pending"))
            elif size is None and +self._status.waiting:
                return self._table(self._status.in_order(self._rounds))
            elif self._status.whole_batch_waits and size is not None and size == self._rounds[-1].settings["batch"]:
                return self._table(self._rounds[-1].names)
            return self._table([] if size is None and self.finished else self._next(self._size(size)))

    def _size(self, size: int | None) -> int:
        if size is not None:
            return int(size)
        if isinstance(self._choice, CustomPolicy):
            return (0 if self._status.values else self._choice.first) or int(self._choice.policy.batch)
        return int(self._rounds[-1].settings["batch"]) if self._rounds else 1

    def _next(self, size: int) -> list[str]:
        """Return the next batch, and log its round unless nothing is left."""
        plan = self._plan(size)
        chunks, new, revised = self._chunks()
        blocked = [name for name in self._candidates.names if name in self._status.withdrawn]
        there = self.pending
        with noted(f"choosing batch {len(self._rounds) + 1}"):
            view, n, cache = self._view(plan), len(self._rounds) - self._since, self._cache
            gone, waits = self._candidates.places(blocked), self._candidates.places(there)
            places = next_batch.choose_batch(plan, view, chunks, n_asked=n, withdrawn=gone, pending=waits, cache=cache)
        if not (names := [self._candidates.names[a] for a in places]):
            self._status.whole_batch_waits = False
            return []
        made = self._log_round(plan, names, new, revised, pending=there, withdrawn=blocked)
        _log.info("round %d: %d asked, %d known", made.number, len(names), len(self._status.values))
        return names

    def _log_round(
        self, plan: Plan, names: Sequence[str], new: Told, revised: Any, pending: Any = (), withdrawn: Any = ()
    ) -> Round:
        """Log a batch and all that decided it, and return the round."""
        batch, digest = tuple(map(Suggestion, names)), self._candidates.digest
        kept: dict[str, Any] = {"pending": tuple(pending), "withdrawn": tuple(withdrawn), "version": __version__}
        kept |= {"n_candidates": len(self._candidates.names), "errors": plan.errors(self._status.values)}
        made = Round(len(self._rounds) + 1, plan.described(), digest, tuple(new), revised, batch, **kept)
        self._rounds.append(made)
        self._status.ask(names)
        return made

    def tell(
        self,
        table: Any,
        *,
        replace: bool = False,
        again: bool = False,
        unknown: str = "refuse",
        results: str | None = None,
    ) -> None:
        """Learn measurements, asked for or not, from a table or file with the columns ``name`` and ``reward``.

        The order of the rows and other columns do not matter; the index may hold the names. A reward that is empty is
        still to come; ``failed`` is a measurement without a result, ``not done`` one that never ran, whose candidate
        can be chosen again. A candidate that is told more than once was measured more than once. What was asked and is
        not in the table goes on waiting. A list that grows can be told again and again: what it has of old is known, a
        value that changed is a correction. What was decided is in `notes`. Of a table that cannot be understood, a
        ValueError in one line, nothing is learned.

        Columns ``sem`` (standard error of the reward as a mean), ``sd`` (of one measurement) and ``n`` (measurements
        behind the reward, by default 1) are used by the policies ``gp`` and ``hits``, and refused by others.

        Parameters
        ----------
        replace : bool
            Whether these measurements take the place of those told before of the same candidates: a correction.
        again : bool
            Whether everything in the table was measured anew, even with the values that are known.
        unknown : {"refuse", "ignore"}
            What to do with names that are no candidates, such as controls.
        results : str, optional
            The column of rewards, if it is not called ``reward``.
        """
        with self._lock:
            sequential = self._sequential
            if sequential is not None and (replace or again or unknown != "refuse"):
                raise self._refusal("takes no corrections; write tell(table)")
            if unknown not in ("refuse", "ignore"):
                raise ValueError(f"unknown must be 'refuse' or 'ignore', got {unknown!r}.")
            if isinstance(self._candidates, Candidates):
                waits = () if sequential is not None else +self._status.waiting
                told = measurements(table, self._candidates.names, results, self._candidates.table.columns, waits)
                self._candidates.compare(told.names, told.columns, told.decimal)
            else:
                told = measurements(table, None, results)
            units = self._units_of(told)
            if sequential is not None:
                sequential.tell(told)
                self.notes, self._unit = [*told.notes, *units], told.unit or self._unit
                return
            unknown_names([*told.names, *told.to_come], self._candidates.place, alike=unknown == "ignore")
            every = zip(told.names, told.values, told.done, strict=True)
            rows = [row for row in every if row[0] in self._candidates.place]
            ignored = [name for name in told.names if name not in self._candidates.place]
            if told.names and not rows:
                raise ValueError(f"no row is of a candidate ({listed(told.names)}); call their column `name`.")
            self._check_errors(value for _, value, _ in rows)
            before = bool(self._some_learned(known=True))
            status = self._status.copy()  # so that all of the table is learned, or nothing
            said = status.tell(len(self._rounds), rows, replace, again)
            said += units
            self._status, self._unit = status, told.unit or self._unit
            if ignored:
                names = listed([*dict.fromkeys(ignored)])
                said.append(f"{counted(len(ignored), 'row')} of no candidate, left out: {names}.")
            if told.to_come:
                said.append(f"{counted(len(told.to_come), 'row')} without a reward, still to come.")
            self.notes = [*told.notes, *said, *self._some_learned(before)]
            _log.info("%d measurements told, %d candidates known", len(rows), len(self._status.values))

    def _units_of(self, told: Measurements) -> list[str]:
        """Return a sentence if rewards may be in another unit than those before, and refuse them if they are."""
        units = f"{told.unit or 'no unit'}, those told before in {self._unit or 'none that is known'}"
        one = told.unit != self._unit and "%" in (told.unit, self._unit) and "" in (told.unit, self._unit)
        before = (self._sequential or self._status).rows and not np.isnan(told.values).all()
        if (one and before) or (told.unit and self._unit not in ("", told.unit)):
            raise ValueError(f"rewards are in {units}; give them in one unit.")
        return [f"rewards in {units}; check that they are alike."] if before and told.unit != self._unit else []

    def not_done(self, names: Iterable[str] | None = None) -> None:
        """Say what was asked and will not be measured: it can be chosen again. By default all that waits."""
        with self._locked("takes back nothing that it asked for"):
            found = list(self._status.waiting) if names is None else self._candidates.names_from(names, "names")
            self._status.mark_not_done(found)

    def exclude(self, names: Iterable[str]) -> None:
        """Withdraw candidates: they are not chosen any more; what was measured of them still counts."""
        with self._locked("has a fixed list of arms"):
            self._status.withdraw(self._candidates.names_from(names, "names"))

    def restore(self, names: Iterable[str]) -> None:
        """Take withdrawn candidates back."""
        with self._locked("has a fixed list of arms"):
            found = self._candidates.names_from(names, "names")
            if odd := [name for name in found if name not in self._status.withdrawn]:
                raise ValueError(f"{listed(odd)} was not excluded, so it cannot be restored; see `states`.")
            self._status.restore(dict.fromkeys(found))

    def add_candidates(self, more: Any, names: Sequence[Any] | None = None) -> None:
        """Add candidates, with the same columns as the others; batches asked before stay as they were."""
        with self._locked("has a fixed list of arms"):
            known = self._candidates.table.select_dtypes(exclude=np.float64).columns
            notes: list[str] = []
            if (table := read_table(more, notes)) is None:
                made = Candidates.of(more, names)
            else:
                words = [column for column in table.header if column in known]
                made = Candidates.of_table(table, notes, names, words=words, features=[*self._candidates.table])
            self._candidates = self._candidates.joined(made)
            self._views, self._status.whole_batch_waits = {}, False

    def with_policy(self, policy: Any, **settings: Any) -> Search:
        """Return this search under another policy: the same candidates, measurements, log, and what waits.

        From its next batch on it does, to the last bit, what a new search by that policy does that is told all that is
        known then in one table. What waits is pending: ``ask(size)`` gives a new batch beside it. This search stays as
        it is. A policy that must be told what it asked cannot take over: a ValueError.
        """
        with self._locked("keeps its policy"):
            own = self._choice
            if self._rounds and isinstance(own, CustomPolicy) and isinstance(own.described()["policy"], str):
                raise ValueError(f"{own.name} is of another library; begin a new Search and tell it `history`.")
            if fixed := {"aim", "seed", "hits", "components"} & settings.keys():
                raise ValueError(f"{sorted(fixed)[0]} stays that of the search; for another, begin a new Search.")
            aims: Any = {"aim": self.aim, "seed": self.seed, "hits": self._hits, "components": self.components}
            made = type(self)(self._candidates, policy, **aims, **settings)
            if made._sequential is not None:
                raise made._refusal("cannot take over a search; take a policy by its name, such as gp")
            made._check_errors(value for _, _, value in self._status.rows)
            made._status, made._rounds = self._status.copy(), list(self._rounds)
            made._status.whole_batch_waits, made._since = False, len(self._rounds)
            made._saved, made.notes, made._unit = deepcopy(self._saved), made._some_learned(), self._unit
            return made

    def resume(
        self, rounds: Sequence[Round], measured: Values, pending: Sequence[str] = (), withdrawn: Sequence[str] = ()
    ) -> None:
        """Go on from a log, with all measurements of each candidate known today, whether in the log or not.

        Pending candidates are being measured, those withdrawn cannot be chosen.
        """
        with self._locked("goes on from a file alone"):
            known = set(self._candidates.names)
            for each in rounds:
                each.check_known(known)
            unknown_names([*measured, *pending, *withdrawn], self._candidates.place)
            self._begin()
            self._rounds = list(rounds)
            first = {name: each.number - 1 for each in reversed(rounds) for name, _ in each.told}
            for name, values in measured.items():
                self._status.values[name] = []
                for value in values:
                    self._status.add(first.get(name, len(rounds)), name, value)
            self._status.withdraw(withdrawn)
            self._status.set_pending(pending)

    # what is known

    def best(self, n: int = 1) -> pd.DataFrame:
        """Return the n best candidates measured so far by their mean reward; best of their kind only if `finished`.

        For n = 1 a constructor's policy recommends one of its own.
        """
        with self._lock:
            if self._sequential is not None:
                return self._sequential.best()
            check_whole("n", n, 1)
            means = self._status.means()
            good = self._ranked(means)
            if self._status.values and not good:
                said = "nothing was learned, since every measurement failed; tell rewards that are numbers."
                warnings.warn(f"{self._choice.name}: {said}", NothingLearned, stacklevel=2)
            if isinstance(self._choice, CustomPolicy) and n == 1 and good:
                policy, state = self._replayed()
                good = [self._candidates.names[int(policy.recommend(state)[0, 0])]]
            table = self._table(good[:n]).drop(columns="reward")
            return table.assign(value=[means.get(name, math.nan) for name in good[:n]])

    def _ranked(self, means: Mapping[str, float]) -> list[str]:
        """Return what was measured by its mean reward, the best first."""
        good = sorted((name for name in means if means[name] == means[name]), key=self._candidates.place.__getitem__)
        good.sort(key=lambda name: -reward(means[name], self.aim))
        return good

    def predict(self, m: int = 1) -> pd.DataFrame:
        """Return what the policy's model says of every candidate; a ValueError while nothing is known.

        Returns
        -------
        DataFrame
            One row for each candidate: ``name, state, value`` (mean of its measurements), ``mean`` and ``deviation``
            of the prediction, in units of the reward (for the aim ``both`` of its size, for a target of its distance),
            ``best`` (probability of being among the best m, from normal draws that are independent given mean and
            deviation), and with ``hits`` the probability ``hit``. A Gaussian process has its own mean and deviation, a
            linear function the centre and half-width of what is plausible; networks are explained by five of them.
        """
        with self._locked("predicts nothing"), noted("predicting all candidates"):
            check_whole("m", m, 1)
            if (prediction := explanations.prediction_of(*self._replayed())) is None:
                raise ValueError("nothing can be predicted before a reward is told; tell a table of measurements.")
            mean, deviation = prediction
            names = self._candidates.names
            columns = {
                "name": pd.Series(list(names), dtype=object),
                "state": self.states.to_numpy(),
                "value": [mean_of(self._status.values.get(name, ())) for name in names],
                "mean": of_prediction(mean, self.aim),
                "deviation": deviation,
                "best": explanations.chances_of_the_best(mean, deviation, m, self.seed),
            }
            table = pd.DataFrame(columns)
            if (hits := self._hits) is not None:
                share = share_of(hits, len(mean)) or 0.0  # the reward above which the model expects so many
                least = reward(hits, self.aim) if isinstance(hits, float) else expected_quantile(mean, deviation, share)
                table["hit"] = ndtr((mean - least) / np.maximum(deviation, 1e-300))
            return table

    def left(self, hits: float | str | Sequence[str] | None = None, *, draws: int = 1000) -> Left:
        """Return how many hits are probably left, and how probable it is that the best candidate has been measured.

        Draws from the policy's own posterior, at least 100, of more than 20,000 candidates fewer than asked for, say
        what measurements of all other candidates would give, together; of ``gp`` and ``hits`` they are off as the
        measurements (of the random first batch alone, if these are 64) are off what all others predict of them, and
        whether the best was measured is NaN where these predictions explain less than half of the variance. ``hits``
        says what counts, as of `Search`, by default what the search has, or the best 5%; names count as their share. A
        policy without a posterior (trees, neighbours, linear functions, networks, random batches) does not know, and
        says so. For how far to trust it see ``docs/what_to_use.md``.
        """
        with self._locked("has no such posterior"), noted("what is left"):
            return left_of(self, hits, draws)

    def why(self) -> pd.DataFrame:
        """Return why each candidate of the last batch is in it, by what was known when it was asked.

        Columns ``name, predicted, uncertainty, novelty, nearest, rank, why``, see `bestarm.search.rounds.Suggestion`.
        """
        with self._locked("gives no reasons"), noted("explaining the batch"):
            if not self._rounds:
                raise ValueError("nothing was asked yet; call ask first.")
            if not self._rounds[-1].suggested[:1] or not self._rounds[-1].suggested[0].why:
                self._rounds[-1] = self.explained(self._rounds[-1])
            return pd.DataFrame([vars(s) for s in self._rounds[-1].suggested], columns=list(Suggestion.__annotations__))

    def explained(self, last: Round) -> Round:
        """Return a round of the log with the reasons of its batch."""
        plan = self._plan_of(last)
        some = self._candidates.first(last.n_candidates or len(self._candidates.names))
        chunks = plan.chunks(self._rounds[: last.number - 1], last.told, last.revised, some, last.errors)
        view = self._view(plan) if some is self._candidates else plan.features(some)
        evenly = np.linspace(0, len(view) - 1, min(len(view), 1000)).astype(np.int64)  # for what is usual
        places = np.union1d(some.places(last.names), evenly)
        prediction = explanations.prediction_of(*replayed_state(plan, view, chunks, self._cache), places)
        scores = view if isinstance(plan.choice, Choice) else some.scores()
        found = explanations.suggestions(plan, some, scores, last, chunks, prediction)
        return dataclasses.replace(last, suggested=tuple(found))

    def check(self) -> list[str]:
        """Make every batch of the log anew and return a line for each that is another one; empty if all agree."""
        with self._locked("keeps no log of batches"), noted("making every batch anew"):
            again = next_batch.recomputed_batches(self._rounds, self._candidates, self._plan_of)
            return [
                f"round {each.number}: {listed(each.names)} in the log, {listed(names)} made anew"
                for each, names in zip(self._rounds, again, strict=True)
                if each.names != names
            ]

    # something to look at

    def plot(
        self, panels: str | Sequence[str] = (), *, features: Sequence[str] = (), refits: int | None = None
    ) -> Figure:
        """Return a Matplotlib figure of the search; it takes the extra ``bestarm[plot]``, and a result.

        Parameters
        ----------
        panels : str or sequence of str
            ``best`` (the best so far, beside random orders of the same results and of all candidates), ``predicted``
            (measured candidates against a refit without each), ``map`` (all candidates by prediction) and
            ``importance`` (of features for the predictions); by default all four.
        features : sequence of str
            Two features for the map; by default the two that explain most of the predictions, and beyond
            ten features the first two principal components.
        refits : int, optional
            How many candidates are left out at most, 0 for none; by default 30, 8 by networks, down to 3 or 0 in
            tables with many features.
        """
        from bestarm.search import plots

        with self._locked("has no plots"), noted("the figure"):
            check_whole("refits", 0 if refits is None else refits, 0)
            return plots.plot(self, panels, features=features, refits=refits)

    def report(self, path: str | Path, *, refits: int | None = None) -> None:
        """Write one HTML page that needs no network: state, next batch with its reasons, plots, log, tables.

        The file ends in ``.html`` and is replaced, unless it is a saved search; ``refits`` is that of `plot`. It takes
        the extra ``bestarm[plot]``, and raises what `plot` and `save` raise; before the first result it has no plots.
        """
        from bestarm.search import report

        with self._locked("has no report"), noted("the report"):
            check_whole("refits", 0 if refits is None else refits, 0)
            report.write(self, path, refits)

    def _repr_html_(self) -> str:
        from bestarm.search import report

        with self._lock:
            return report.as_html(self)

    # files

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the search to a file, whole or not at all, from which `Search.load` goes on (docs/search_files.md).

        A file with another search, or one that was saved by somebody else since this one was loaded, is replaced with
        ``overwrite`` alone. Otherwise that, and a policy that no file can hold, is a ValueError; a file that cannot be
        written is an OSError, and what was there stays.
        """
        from bestarm.search.search_files import save_search

        with self._lock:
            save_search(self, path, overwrite)

    @classmethod
    def load(cls, path: str | Path, policy: Any = None) -> Search:
        """Return the search in a file, whichever version of bestarm wrote it.

        With a policy, the file must hold a search by that one. A file that is not there is a FileNotFoundError, one
        that is damaged, or holds no such search, a ValueError.
        """
        from bestarm.search.search_files import load_search

        return load_search(cls, path, policy)

    # within

    def _some_learned(self, known: bool = False) -> list[str]:
        """Return a sentence if the policy learns from some measurements alone, logged unless that is known."""
        n = sum(mean == mean for mean in self._status.means().values())
        said = learns_from(self._choice.name, n, f"{n:,} candidates measured")
        if said and not known:
            _log.warning("bestarm: %s", said)
        return [said] if said else []

    def _refusal(self, what: str) -> ValueError:
        return ValueError(f"{self.policy.label} is sequential: it must be told exactly what it asked, and {what}.")

    @contextlib.contextmanager
    def _locked(self, lacks: str) -> Iterator[None]:
        """Hold the lock; a sequential search is refused by what it lacks."""
        if self._sequential is not None:
            raise self._refusal(lacks)
        with self._lock:
            yield

    def _plan(self, size: int) -> Plan:
        return Plan(self._choice, size, self.seed, self.aim, self.components, self._since)

    def _plan_of(self, last: Round) -> Plan:
        if isinstance(self._choice, CustomPolicy) and last.number > self._since:  # a description may not make it
            return self._plan(int(last.settings["batch"]))
        return Plan.of(last.settings)

    def _view(self, plan: Plan) -> FloatArray:
        """Return the features that a plan sees, the same array each time."""
        key = (isinstance(plan.choice, CustomPolicy), plan.components)
        if key not in self._views:
            self._views = {key: plan.features(self._candidates)}
        return self._views[key]

    def _chunks(self) -> tuple[list[Chunk], Told, Values]:
        return self._plan(1).told(self._rounds, self._status.values, self._candidates)

    def _check_errors(self, values: Iterable[float]) -> None:
        """Refuse measurements with errors if the policy cannot weigh by them."""
        if any(isinstance(value, Reading) for value in values) and not self._plan(1).weighs:
            remedy = "leave those columns out, or take the policy gp or hits."
            raise ValueError(f"{self._choice.name} cannot weigh rewards by sem, sd or n; {remedy}")

    def _replayed(self) -> tuple[Any, Any]:
        plan = self._plan(1)
        return replayed_state(plan, self._view(plan), self._chunks()[0], self._cache)

    def _table(self, names: Sequence[str]) -> pd.DataFrame:
        table = pd.DataFrame({"name": pd.Series(list(names), dtype=object)})
        table = pd.concat([table, self._candidates.shown(self._candidates.places(names))], axis=1)
        table["reward"] = pd.Series([None] * len(names), dtype=object)
        return table

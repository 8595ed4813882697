"""The log of a search, from which every batch can be made anew, and the states of its candidates."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.finite_gp import LARGEST_REWARD
from bestarm.search.errors import Errors, error_of, mean_of
from bestarm.search.tables import counted, listed

FORMAT = 3  # of a round, 2 without errors; 1 had `gene` for `name`, and nothing pending, withdrawn or added
AIMS = ("max", "min", "both")
_ALIASES = {"high": "max", "low": "min"}

UNMEASURED, ASKED, MEASURED = "unmeasured", "asked", "measured"
FAILED, NOT_DONE, WITHDRAWN = "failed", "not done", "withdrawn"
STATES = (UNMEASURED, ASKED, MEASURED, FAILED, NOT_DONE, WITHDRAWN)

Row = tuple[str, float, bool]  # of a table that is told: name, value, and whether it was done at all
Told = Sequence[tuple[str, float]]  # candidates by name, and values
Values = Mapping[str, Sequence[float]]  # of each candidate its measurements, in the order of their telling


@dataclass(frozen=True)
class Suggestion:
    """One candidate of a batch and why it is there; numbers are NaN while nothing is known, or where nobody asked."""

    name: str
    predicted: float = math.nan  # predicted value, its size for the aim ``both`` and its distance for a target
    uncertainty: float = math.nan  # standard deviation of the prediction
    novelty: float = math.nan  # root mean square difference of standardised features to the nearest one measured
    nearest: str = ""  # that candidate; empty while there is none
    rank: int = 0  # place of the prediction among all candidates that were left; 0 while nothing is known
    why: str = ""  # the reason in words


@dataclass(frozen=True)
class Round:
    """One batch of a search and all that decided it; ``docs/search_files.md`` has the fields as files have them."""

    number: int  # 1, 2, ...
    settings: Mapping[str, Any]  # what decides the batch beside the data: policy, settings, seed, size, aim
    features: str  # SHA-256 of names and features
    told: tuple[tuple[str, float], ...]  # what became known since the round before, in the order of its telling
    revised: Mapping[str, tuple[float, ...]]  # candidates told before whose measurements are others now
    suggested: tuple[Suggestion, ...]  # the batch
    hit: float = math.nan  # value from which a candidate is a hit
    expected_hits: float = math.nan  # how many of the batch were expected to be
    learned: Mapping[str, float] | None = None  # what the round before taught, see `explanations.learned`
    version: str = ""  # of bestarm
    n_candidates: int | None = None  # how many there were, later ones come after them; None in format 1: all
    pending: tuple[str, ...] = ()  # candidates that were being measured beside the batch
    withdrawn: tuple[str, ...] = ()  # candidates that could not be chosen
    errors: Errors = field(default_factory=dict)  # standard error and number behind means, see `errors_of`

    @property
    def names(self) -> list[str]:
        """The batch, in order."""
        return [s.name for s in self.suggested]

    def check_known(self, names: set[str]) -> None:
        """Refuse a round that is about candidates that are not there."""
        spoken = {*self.names, *self.revised, *self.errors, *self.pending, *self.withdrawn, *dict(self.told)}
        if odd := sorted(spoken - names):
            raise ValueError(f"round {self.number} is about {listed(odd)}, which is no candidate; put it back.")


def aim_of(aim: Any) -> str | float:
    """Return an aim in its own word: ``max``, ``min``, ``both`` or a finite number."""
    if isinstance(aim, str) and _ALIASES.get(aim, aim) in AIMS:
        return _ALIASES.get(aim, aim)
    if isinstance(aim, int | float | np.number) and not isinstance(aim, bool) and abs(float(aim)) <= LARGEST_REWARD:
        return float(aim)
    rule = f"or the number that is aimed at, at most {LARGEST_REWARD:g} in size"
    raise ValueError(f"aim must be one of {', '.join(AIMS)}, {rule}; got {aim!r}.")


def reward(value: float, aim: str | float) -> float:
    """Return what is maximised: the value, its negative, its size, or the negative distance to a target."""
    if isinstance(aim, str):
        word = _ALIASES.get(aim, aim)
        return abs(value) if word == "both" else -value if word == "min" else value
    return -abs(value - aim)


def of_prediction(value: Any, aim: str | float) -> Any:
    """Return the reward of a predicted value (a size or a distance for some aims), and the value of such a reward."""
    return value if aim_of(aim) in ("max", "both") else -value


def known_at(rounds: Sequence[Round]) -> dict[str, tuple[float, ...]]:
    """Return name → measurements as the last of these rounds knew them."""
    known: dict[str, tuple[float, ...]] = {}
    for each in rounds:
        known |= {name: tuple(values) for name, values in each.revised.items()}  # of those told before
        for name, value in each.told:
            known[name] = (*known.get(name, ()), value)
    return known


def same(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether measurements are equal; two failures are."""
    return len(a) == len(b) and all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in zip(a, b, strict=True))


def news_since(
    rounds: Sequence[Round], values: Values, order: Sequence[str]
) -> tuple[list[tuple[str, float]], dict[str, tuple[float, ...]]]:
    """Return what became known since the last round: its batch in order, others as the candidates are listed.

    And candidates told before whose first measurements are others now, where what is gone counts as failed.
    """
    known = known_at(rounds)
    left = {name: list(found[len(known.get(name, ())) :]) for name, found in values.items()}
    new: list[tuple[str, float]] = []
    for name in rounds[-1].names if rounds else ():
        if left.get(name):
            new.append((name, left[name].pop(0)))
    new += [(name, value) for name in order for value in left.get(name, ())]
    revised: dict[str, tuple[float, ...]] = {}
    for name, before in known.items():
        now = tuple(values.get(name, ())[: len(before)])
        now += (math.nan,) * (len(before) - len(now))
        if not same(before, now):
            revised[name] = now
    return new, revised


@dataclass(frozen=True)
class Chunk:
    """Measurements that a policy is told together."""

    places: IntArray
    rewards: FloatArray  # NaN where one failed
    errors: FloatArray | None = None  # shape (n, 2): standard error or NaN, and number of measurements

    def only(self, keep: BoolArray, among: IntArray | None = None) -> "Chunk":
        """Return some of the measurements, by their places ``among`` some sorted ones."""
        places = self.places[keep] if among is None else np.searchsorted(among, self.places[keep])
        return Chunk(places, self.rewards[keep], None if self.errors is None else self.errors[keep])


def as_json(new: Round) -> dict[str, Any]:
    """Return a round as JSON can hold it, None in place of NaN."""
    meta = asdict(new) | {"format": FORMAT if new.errors else 2, "learned": dict(new.learned or {})}
    if not new.errors:
        del meta["errors"]
    return dict(_plain(meta))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def number_of(value: Any) -> float:
    """Return a finite number from JSON, NaN for None."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def of_json(meta: Mapping[str, Any]) -> Round:
    """Return a round from what `as_json` gave, in this format or an earlier one; other things raise errors."""
    label, numbers = "gene" if meta["format"] == 1 else "name", ("predicted", "uncertainty", "novelty")
    suggested = tuple(
        Suggestion(_word(s[label]), p, u, n, _word(s["nearest"]), int(s["rank"]), _word(s["why"]))
        for s in meta["suggested"]
        for p, u, n in ([number_of(s[x]) for x in numbers],)
    )
    revised = {
        _word(name): tuple(map(number_of, values if isinstance(values, list) else [values]))
        for name, values in meta["revised"].items()
    }
    n, hits = meta.get("n_candidates"), (number_of(meta["hit"]), number_of(meta["expected_hits"]))
    told = tuple((_word(name), number_of(value)) for name, value in meta["told"])
    learned, version = {k: number_of(v) for k, v in meta["learned"].items()}, _word(meta["version"])
    lists = (tuple(map(_word, meta.get(name, ()))) for name in ("pending", "withdrawn"))
    errors = {_word(name): (number_of(sem), number_of(k)) for name, (sem, k) in meta.get("errors", {}).items()}
    more: Any = (learned, version, None if n is None else int(n), *lists, errors)
    own = (int(meta["number"]), dict(meta["settings"]), _word(meta["features"]), told, revised, suggested)
    return Round(*own, *hits, *more)


@dataclass
class CandidateStatus:
    """Measurements in the order of their telling, and the candidates that wait for theirs or cannot be chosen."""

    rows: list[tuple[int, str, float]] = field(default_factory=list)  # round of the last batch before, name, value
    values: dict[str, list[float]] = field(default_factory=dict)  # NaN where a measurement failed
    waiting: Counter[str] = field(default_factory=Counter)  # asked for and not told, and how often
    not_done: dict[str, None] = field(default_factory=dict)  # in order
    withdrawn: dict[str, None] = field(default_factory=dict)
    whole_batch_waits: bool = False  # whether the last batch waits as a whole

    def state_of(self, name: str) -> str:
        """Return the state of a candidate, one of `STATES`."""
        if name in self.withdrawn:
            return WITHDRAWN
        if self.waiting[name]:
            return ASKED
        if name in self.values:
            mean = mean_of(self.values[name])
            return MEASURED if mean == mean else FAILED
        return NOT_DONE if name in self.not_done else UNMEASURED

    def copy(self) -> "CandidateStatus":
        kept = {f.name: copy(getattr(self, f.name)) for f in fields(self)}
        return CandidateStatus(**kept | {"values": {name: list(values) for name, values in self.values.items()}})

    def means(self) -> dict[str, float]:
        """Return name → mean of its measurements, NaN where all failed."""
        return {name: mean_of(values) for name, values in self.values.items()}

    def ask(self, names: Sequence[str]) -> None:
        self.waiting.update(names)
        for name in names:
            self.not_done.pop(name, None)
        self.whole_batch_waits = bool(names)

    def tell(self, number: int, rows: Sequence[Row], replace: bool, again: bool) -> list[str]:
        """Note measurements; ``number`` is that of the last round.

        A table that repeats what was told is a list that grows: what it has is known, what differs is a correction, and
        a table in which nothing is new is refused. With ``replace`` all of it is a correction, with ``again`` all of it
        was measured again. What was decided is returned, a sentence each.
        """
        said: list[str] = []
        if not (again or replace) and self._is_cumulative(rows):
            rows, gone, said = self._news(rows)
            self._forget(gone)
        elif not replace:
            count = Counter(name for name, _, done in rows if done)
            known = [name for name in count if name in self.values and not self.waiting[name]]
            if known and not again:
                said.append(f"{listed(known)}: measured before, and again now; replace=True corrects.")
            if more := [name for name in count - Counter(set(count)) if name not in known]:
                said.append(f"{listed(more)}: measured several times in the table.")
        else:
            back = self._taken_back(rows)
            said += back.values()
            self._forget({name for name, _, done in rows if done} | back.keys())
            self.not_done |= dict.fromkeys(back)
        for name, value, done in rows:
            if not done:
                there = self.waiting[name] or name in self.not_done
                said += [] if there else [f"{name}: not waiting, so that `not done` changes nothing."]
                self.mark_not_done([name])
                continue
            self.add(number, name, value)
            self.not_done.pop(name, None)
            self.waiting[name] = max(self.waiting[name] - 1, 0)
        self.waiting = +self.waiting
        if rows:
            self.whole_batch_waits = False
        return said

    def _forget(self, names: Iterable[str]) -> None:
        gone = set(names)
        self.whole_batch_waits &= not gone
        self.rows = [row for row in self.rows if row[1] not in gone]
        for name in gone:
            self.values.pop(name, None)

    def _taken_back(self, rows: Sequence[Row]) -> dict[str, str]:
        """Return candidates that were measured, of which a table says that they were not done, with a sentence each."""
        told = {name for name, _, done in rows if done}
        gone = [n for n, _, done in rows if not done and n in self.values and n not in told]
        return {n: f"{n}: not done in place of {', '.join(map(_shown, self.values[n]))}, a correction." for n in gone}

    def _is_cumulative(self, rows: Sequence[Row]) -> bool:
        """Return whether a table repeats all that was told of a candidate that does not wait, or has nothing else."""
        told = Counter((name, repr(float(value))) for name, value, done in rows if done)
        names = {name for name, _ in told}
        known = Counter((name, repr(float(value))) for name in names for value in self.values.get(name, ()))
        waiting = {name for name in names if self.waiting[name]}
        whole = {name for name, _ in known} - {name for name, _ in known - told} - waiting
        return bool(whole) or (bool(told) and not waiting and not told - known)

    def _news(self, rows: Sequence[Row]) -> tuple[list[Row], list[str], list[str]]:
        """Return what is new in a table that repeats what was told, names with other values, and a sentence each."""
        told: dict[str, list[float]] = {}
        for name, value, done in rows:
            if done:
                told.setdefault(name, []).append(value)
        fresh, changed, more = {}, [], []
        for name, values in told.items():
            left, known = list(values), list(self.values.get(name, []))
            if all(_taken(left, value) for value in known):
                more += [name] if known and left else []
            elif all(_taken(known, value) for value in values):
                left = []  # a part of what is known
            else:
                changed.append(name)
                left = values
            fresh[name] = left
        new = [(name, value, True) for name, values in fresh.items() for value in values]
        new += [row for row in rows if not row[2] and self.waiting[row[0]]]
        undone = self._taken_back(rows)
        if not new and not undone:
            remedy = "or write tell(table, again=True) if everything was measured again with the same results"
            raise ValueError(f"these rewards were told already; ask for the next ones, {remedy}.")
        said = [f"{counted(len(rows) - len(new) - len(undone), 'row')} told before, {len(new)} new.", *undone.values()]
        for name in changed:
            before, now = (", ".join(map(_shown, values)) for values in (self.values[name], told[name]))
            said.append(f"{name}: {now} in place of {before}, a correction.")
        said += [f"{name}: measured again, {counted(len(fresh[name]), 'time')} more." for name in more]
        self.not_done |= dict.fromkeys(undone)
        return new, [*changed, *undone], said

    def add(self, number: int, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)
        self.rows.append((number, name, value))

    def mark_not_done(self, names: Iterable[str]) -> None:
        """Note that what waits of these will not be done."""
        for name in names:
            if self.waiting.pop(name, 0):
                self.not_done[name] = None
                self.whole_batch_waits = False

    def set_pending(self, names: Sequence[str]) -> None:
        """Take the pending candidates from the caller; the rest of what was asked was not done."""
        wanted = Counter(names)
        self.not_done |= dict.fromkeys(name for name in self.waiting if not wanted[name] and self.waiting[name])
        self.waiting = wanted

    def withdraw(self, names: Iterable[str]) -> None:
        """Note what cannot be chosen any more."""
        for name in names:
            self.withdrawn[name] = None
            self.waiting.pop(name, None)
            self.whole_batch_waits = False

    def restore(self, names: Iterable[str]) -> None:
        for name in names:
            self.withdrawn.pop(name)
            self.whole_batch_waits = False

    def in_order(self, rounds: Sequence[Round]) -> list[str]:
        """Return what waits in the order in which it was asked, each as often as it was asked last."""
        left, found = Counter(self.waiting), []
        for name in (name for each in reversed(rounds) for name in reversed(each.names)):
            if left[name] > 0:
                left[name] -= 1
                found.append(name)
        return [*reversed(found), *left.elements()]


def _taken(values: list[float], value: float) -> bool:
    """Return whether a value with its error is in a list, and take it out."""
    marks = [repr((float(each) + 0.0, error_of(each))) for each in [value, *values]]
    if marks[0] in marks[1:]:
        del values[marks.index(marks[0], 1) - 1]
        return True
    return False


def _shown(value: float) -> str:
    """Return a measurement with what is known of its error."""
    sem, n = error_of(value)
    shown = "failed" if value != value else f"{value:g}"
    return shown + (f" ± {sem:g}" if sem == sem else "") + (f" (n = {n:g})" if n != 1.0 else "")

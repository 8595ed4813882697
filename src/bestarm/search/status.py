"""The states of the candidates of a search, by name: asked, measured, failed, not done, withdrawn."""

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields

from bestarm.search.errors import error_of, mean_of
from bestarm.search.rounds import Round
from bestarm.search.tables import counted, listed

UNMEASURED, ASKED, MEASURED = "unmeasured", "asked", "measured"
FAILED, NOT_DONE, WITHDRAWN = "failed", "not done", "withdrawn"
STATES = (UNMEASURED, ASKED, MEASURED, FAILED, NOT_DONE, WITHDRAWN)


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
        """Return a copy that changes by itself."""
        kept = {f.name: copy(getattr(self, f.name)) for f in fields(self)}
        return CandidateStatus(**kept | {"values": {name: list(values) for name, values in self.values.items()}})

    def means(self) -> dict[str, float]:
        """Return name → mean of its measurements, NaN where all failed."""
        return {name: mean_of(values) for name, values in self.values.items()}

    def ask(self, names: Sequence[str]) -> None:
        """Note a batch."""
        self.waiting.update(names)
        for name in names:
            self.not_done.pop(name, None)
        self.whole_batch_waits = bool(names)

    def tell(self, number: int, rows: Sequence[tuple[str, float, bool]], replace: bool, again: bool) -> list[str]:
        """Note measurements: name, value, and whether it was done at all; ``number`` is that of the last round.

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
            more = [name for name in count - Counter(set(count)) if name not in known]
            said += (
                [f"{listed(known)}: measured before, and again now; replace=True corrects."]
                if known and not again
                else []
            )
            said += [f"{listed(more)}: measured several times in the table."] if more else []
        if replace:
            self._forget({name for name, _, done in rows if done})
        for name, value, done in rows:
            if not done:
                said += [] if self.waiting[name] else [f"{name}: not waiting, so that `not done` changes nothing."]
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
        self.rows = [row for row in self.rows if row[1] not in gone]
        for name in gone:
            self.values.pop(name, None)

    def _is_cumulative(self, rows: Sequence[tuple[str, float, bool]]) -> bool:
        """Return whether a table repeats what was told: a measurement of what does not wait has the value it had."""
        return any(
            done and not self.waiting[name] and repr(float(value)) in map(repr, map(float, self.values.get(name, ())))
            for name, value, done in rows
        )

    def _news(
        self, rows: Sequence[tuple[str, float, bool]]
    ) -> tuple[list[tuple[str, float, bool]], list[str], list[str]]:
        """Return what is new in a table that repeats what was told, names whose values changed, and a sentence each.

        If nothing is new, that is a ValueError.
        """
        told: dict[str, list[float]] = {}
        for name, value, done in rows:
            if done:
                told.setdefault(name, []).append(value)
        fresh, changed, more = {}, [], []
        for name, values in told.items():
            left, known = list(values), self.values.get(name, [])
            kept = [value for value in known if _taken(left, value)]
            if len(kept) == len(known):
                fresh[name] = left
                more += [name] if known and left else []
            else:
                changed.append(name)
                fresh[name] = list(values)
        new = [(name, value, True) for name, values in fresh.items() for value in values]
        new += [row for row in rows if not row[2] and self.waiting[row[0]]]
        if not new:
            raise ValueError(
                "these rewards were told already; ask for the next ones, or write tell(table, again=True) if "
                "everything was measured again with the same results."
            )
        said = [f"{counted(len(rows) - len(new), 'row')} told before, {len(new)} new."]
        for name in changed:
            before, now = (", ".join(map(_shown, values)) for values in (self.values[name], told[name]))
            said.append(f"{name}: {now} in place of {before}, a correction.")
        said += [f"{name}: measured again, {counted(len(fresh[name]), 'time')} more." for name in more]
        return new, changed, said

    def add(self, number: int, name: str, value: float) -> None:
        """Add one measurement."""
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
        """Take withdrawn candidates back."""
        for name in names:
            self.withdrawn.pop(name)
            self.whole_batch_waits = False

    def in_order(self, rounds: Sequence[Round]) -> list[str]:
        """Return what waits in the order in which it was asked."""
        left, found = Counter(self.waiting), []
        for each in rounds:
            for name in each.names:
                if left[name] > 0:
                    left[name] -= 1
                    found.append(name)
        return [*found, *left.elements()]


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
    return (
        ("failed" if value != value else f"{value:g}")
        + (f" ± {sem:g}" if sem == sem else "")
        + (f" (n = {n:g})" if n != 1.0 else "")
    )

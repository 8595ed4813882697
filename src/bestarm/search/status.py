"""The states of the candidates of a search, by name: asked, measured, failed, not done, withdrawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bestarm.search.next_batch import mean_of
from bestarm.search.rounds import Round

UNMEASURED, ASKED, MEASURED, FAILED, NOT_DONE, WITHDRAWN = STATES = (
    "unmeasured", "asked", "measured", "failed", "not done", "withdrawn",
)  # fmt: skip


@dataclass
class CandidateStatus:
    """Measurements in the order of their telling, and the candidates that wait for theirs or cannot be chosen."""

    rows: list[tuple[int, str, float]] = field(default_factory=list)  # round of the last batch before, name, value
    values: dict[str, list[float]] = field(default_factory=dict)  # NaN where a measurement failed
    waiting: Counter[str] = field(default_factory=Counter)  # asked for and not told, and how often
    not_done: dict[str, None] = field(default_factory=dict)  # in order
    withdrawn: dict[str, None] = field(default_factory=dict)
    whole_batch_waits: bool = False  # whether the last batch waits as a whole
    last_told: Any = None  # the last table, sorted, by which a table that is told twice is found

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

    def means(self) -> dict[str, float]:
        """Return name → mean of its measurements, NaN where all failed."""
        return {name: mean_of(values) for name, values in self.values.items()}

    def ask(self, names: Sequence[str]) -> None:
        """Note a batch."""
        self.waiting.update(names)
        for name in names:
            self.not_done.pop(name, None)
        self.whole_batch_waits = bool(names)

    def tell(self, number: int, rows: Sequence[tuple[str, float, bool]], replace: bool, again: bool) -> None:
        """Note measurements: name, value, and whether it was done at all; ``number`` is that of the last round.

        The table that was just told is refused, unless it is a correction (``replace``) or measured ``again``.
        """
        mark = sorted((name, repr(value), done) for name, value, done in rows)
        waits = any(self.waiting[name] for name, _, _ in rows)
        if rows and mark == self.last_told and not (again or replace or waits):
            raise ValueError(
                "these rewards were told already; ask for the next ones, or write tell(table, again=True) if "
                "everything was measured again with the same results."
            )
        if replace:
            gone = {name for name, _, done in rows if done}
            self.rows = [row for row in self.rows if row[1] not in gone]
            for name in gone:
                self.values.pop(name, None)
        for name, value, done in rows:
            if not done:
                self.mark_not_done([name])
                continue
            self.add(number, name, value)
            self.not_done.pop(name, None)
            self.waiting[name] = max(self.waiting[name] - 1, 0)
        self.waiting = +self.waiting
        if rows:
            self.whole_batch_waits, self.last_told = False, mark

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

"""The grammar of a claim's test: which runs are compared with which.

A test has a kind and its value (``difference: correct``), ``cells``, sides and a relation (``above``, ``below`` or
``within``). It is read once, into the records below.

``cells`` names an experiment, or lists some: all cells of its grid, every value of each setting that it varies, and of
its budgets. ``{fig2: {n_arms: [8, 16]}}`` narrows one to some values of a setting; ``{from: a, to: b}`` is a range over
which a run is averaged. Sides are ``left`` and ``right``, a list for each of its members, or ``pairs`` of both, or
``each: series``. A side is the name of a series, or the best of some: ``{highest: [...]}`` in the cell,
``{highest_by_halves: [...]}`` and ``{lowest_by_halves: [...]}`` by other runs. ``against`` names what differs in the
right side's cell, ``from`` the cell from which a change is counted, ``with`` an experiment whose series are there too,
``paired: false`` sides with noise of their own. ``parts`` lists variants of the test that must all hold.

The noise alone puts the best of eight equals above the best of four. By halves it does not: in each half of the runs
the best is the one with the highest, or lowest, mean in the other half.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bestarm_lab.yaml_keys import YamlKeys, choice, of_type

RULES = ("highest", "lowest_by_halves", "highest_by_halves")
LAYOUT = ("cells", "left", "right", "pairs", "each", "against", "from", "with", "paired")  # what parts may change
Where = Mapping[str, Any]
Grids = Mapping[str, Mapping[str, Sequence[Any]]]  # of each experiment: the values of every setting that it varies


@dataclass(frozen=True)
class Best:
    """The best of some series, as a side of a comparison."""

    rule: str  # one of `RULES`
    names: tuple[Any, ...]  # of the series

    def __str__(self) -> str:
        return f"best of {', '.join(map(str, self.names))}"


Side = Any  # a series, or the `Best` of some


def series_of(side: Side | None) -> list[Any]:
    """Return the series of a side of a comparison: of a best all, of none nothing."""
    return list(side.names) if isinstance(side, Best) else [] if side is None else [side]


@dataclass(frozen=True)
class Span:
    """A range of a setting over which a run is averaged."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


@dataclass(frozen=True)
class OtherCell:
    """Another cell: what differs from a first one, and of which experiments its rows are."""

    settings: Where
    experiment: str = ""
    joined: str = ""


@dataclass(frozen=True)
class Part:
    """One variant of a test: its cells, and what is compared in each."""

    cells: tuple[tuple[str, Where], ...]  # experiments, and of each setting the values that are cells of their own
    # left and right of every comparison in a cell; empty for each series alone, or against itself elsewhere
    pairs: tuple[tuple[Side, Side | None], ...] = ()
    against: OtherCell | None = None  # against, base: where the right side is; the cell from which a change is counted
    base: OtherCell | None = None
    joined: str = ""  # an experiment whose series are there, too
    paired: bool = True  # whether both sides have the same noise

    def each_cell(self, without: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield experiment and settings of every cell, without one setting."""
        for experiment, entry in self.cells:
            lists = {k: v for k, v in entry.items() if k != without}
            for chosen in itertools.product(*lists.values()):
                yield experiment, dict(zip(lists, chosen, strict=True))

    def experiments(self) -> list[str]:
        """Return the experiments whose rows are compared, each once."""
        named = [experiment for experiment, _ in self.cells] + [self.joined]
        for place in filter(None, (self.against, self.base)):
            named += [place.experiment, place.joined]
        return list(dict.fromkeys(filter(None, named)))

    def places(self, experiment: str, where: Where) -> dict[str, tuple[list[str], dict[str, Any]]]:
        """Return experiments and settings of a cell (``left``), the one beside it, and that of a change."""
        found = {}
        for key, place in (("left", OtherCell({})), ("against", self.against), ("from", self.base)):
            if place is not None:
                names = filter(None, [place.experiment or experiment, place.joined or self.joined])
                found[key] = ([*names], {**where, **place.settings})
        return found


def read_side(place: str, raw: Any) -> Side:
    """Return a side as it is written: a series, or the best of some by a rule."""
    if not isinstance(raw, Mapping):
        return raw
    given = YamlKeys(place, raw)
    rule = given.one_of(*RULES)
    names = given.take(rule, list)
    given.done()
    return Best(rule, tuple(names))


def _sides(place: str, raw: Any) -> list[Side]:
    return [read_side(place, side) for side in (raw if isinstance(raw, list) else [raw])]


def _pairs(place: str, raw: Any) -> list[tuple[Side, Side]]:
    if not isinstance(raw, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in raw):
        raise ValueError(f"{place}: expected a list of pairs [left, right], got {raw!r}.")
    return [(read_side(place, left), read_side(place, right)) for left, right in raw]


def _setting(place: str, raw: Any) -> Any:
    if not isinstance(raw, Mapping):
        return raw
    given = YamlKeys(place, raw)
    span = Span(given.take("from", float), given.take("to", float))
    given.done()
    return span


def on_grids(part: Any, grids: Grids, place: str) -> Any:
    """Return a test whose cells are read, see `Part`; a value outside of the experiment's grid is a ValueError."""
    if isinstance(part, list):
        return [on_grids(entry, grids, place) for entry in part]
    if not isinstance(part, Mapping):
        return part
    return {k: (_cells if k == "cells" else on_grids)(v, grids, f"{place}, {k}") for k, v in part.items()}


def _cells(raw: Any, grids: Grids, place: str) -> tuple[tuple[str, Where], ...]:
    found: list[tuple[str, Where]] = []
    for named in raw if isinstance(raw, list) else [raw]:
        for experiment, entry in ({named: {}} if isinstance(named, str) else of_type(place, named, dict)).items():
            found.append((experiment, _on_grid(entry, grids.get(experiment, {}), f"{place}, {experiment}")))
    return tuple(found)


def _on_grid(raw: Any, grid: Mapping[str, Sequence[Any]], place: str) -> Where:
    """Return the settings of cells, and those of the grid that are left out and have several values."""
    entry = {k: v if isinstance(v, list) else [v] for k, v in of_type(place, raw, dict).items()}
    for setting, values in grid.items():
        for value in entry.get(setting, ()):
            if value not in values and not isinstance(value, Mapping):
                wrong, known = f"{place}, {setting}: {value!r}", ", ".join(map(str, values))
                raise ValueError(f"{wrong} is not in the experiment's grid; name some of {known}.")
    others = {k: v for k, v in entry.items() if k not in grid}
    whole = others | {k: entry.get(k, v) for k, v in grid.items() if k in entry or len(v) > 1}
    return {k: [_setting(f"{place}, {k}", x) for x in v] for k, v in whole.items()}


def _elsewhere(place: str, raw: Any) -> OtherCell:
    settings = dict(of_type(place, raw, dict))
    names = [str(settings.pop(key, "")) for key in ("experiment", "with")]
    return OtherCell({k: _setting(f"{place}, {k}", v) for k, v in settings.items()}, *names)


def read_parts(given: YamlKeys, pairs: Sequence[tuple[Side, Side | None]] | None = None) -> tuple[Part, ...]:
    """Return the variants of a test; each has what is written for all, except what it writes itself.

    ``given`` is the test, whose last keys these are; ``pairs`` are what its kind compares where no sides are written.
    """
    shared, parts = given.taken(LAYOUT), given.take("parts", list, [{}])
    given.done()
    places = [f"{given.place}, part {n}" if len(parts) > 1 else given.place for n in range(1, len(parts) + 1)]
    written = [{**shared, **of_type(place, part, dict)} for place, part in zip(places, parts, strict=True)]
    return tuple(_part(YamlKeys(*each), pairs) for each in zip(places, written, strict=True))


def _part(given: YamlKeys, pairs: Sequence[tuple[Side, Side | None]] | None) -> Part:
    if pairs is None:
        written = given.one_of("left", "pairs", "each")
        pairs = given.take(written, {"left": _sides, "pairs": _pairs, "each": choice("series")}[written])
        pairs = [] if written == "each" else pairs
        if written == "left":
            pairs = list(itertools.product(pairs, given.take("right", _sides, [None])))
    part = Part(
        cells=given.take("cells", tuple),
        pairs=tuple(pairs),
        against=given.take("against", _elsewhere, None),
        base=given.take("from", _elsewhere, None),
        joined=given.take("with", str, ""),
        paired=given.take("paired", bool, True),
    )
    given.done()
    return part

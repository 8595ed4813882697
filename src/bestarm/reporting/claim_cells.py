"""The grammar of a claim's test: which runs are compared with which.

A test is a mapping with a kind and its value (``difference: correct``), ``cells``, sides and a relation (``above``,
``below`` or ``within``).

``cells`` maps experiments to settings; a list stands for each of its values, ``{from: a, to: b}`` for a range over
which a run is averaged. Sides are ``left`` and ``right``, a list for each of its members, or ``pairs`` of both, or
``each: series``. A side is the name of a series, or the best of some: ``{highest: [...]}`` in the cell,
``{lowest_of_others: [...]}`` for each run by all others. ``against`` names what differs in the right side's cell,
``from`` the cell from which a change is counted, ``with`` an experiment whose series are there too, ``paired: false``
sides with noise of their own. ``parts`` lists variants of the test that must all hold.

The noise alone puts the best of eight equals above the best of four. ``{highest_by_halves: [...]}`` is free of this: in
each half of the runs it is the one with the highest mean in the other half.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray

KINDS = ("difference", "ratio", "share", "discordant", "mostly", "rank", "slope", "spread")
CHANCE_MARGIN = 0.02  # shares of runs so near to that of a guess do not tell algorithms apart
Rows = Mapping[str, pd.DataFrame]
Side = Any


@dataclass(frozen=True)
class Value:
    """What a claim compares, where it is no column of the rows or needs words of its own.

    Attributes
    ----------
    words : str
        The value in words.
    of : callable, optional
        From the rows of a cell and the test to values of runs (rows) and series (columns), or to a column of the rows.
    align : callable, optional
        From the rows of all cells of a comparison to the part of each that can be compared.
    statistic : callable, optional
        From means over runs, shape (..., k), where they were taken, shape (k,), and the test to one number each; the
        columns of the values are then (series, where).
    limit : callable, optional
        From the rows of a cell to the value of a run that ended before what is counted was seen. A comparison in which
        more than half of the runs of both sides have it says nothing.
    chance : callable, optional
        From the rows of a cell to the share of runs in which a guess succeeds. A comparison in which both sides are
        within ``CHANCE_MARGIN`` of it says nothing.
    """

    words: str
    of: Callable[[pd.DataFrame, Mapping[str, Any]], Any] | None = None
    align: Callable[..., Sequence[pd.DataFrame]] | None = None
    statistic: Callable[[FloatArray, FloatArray, Mapping[str, Any]], FloatArray] | None = None
    limit: Callable[[pd.DataFrame], float] | None = None
    chance: Callable[[pd.DataFrame], float] | None = None


Values = Mapping[str, Value]


@dataclass(frozen=True)
class Sides:
    """Both sides of one comparison: runs by series, and the same in the cell from which a change is counted."""

    name: str
    left: pd.DataFrame
    right: pd.DataFrame | None
    paired: bool = True
    base: Sides | None = None
    experiment: str = ""
    series: str = ""
    limit: float | None = None
    chance: float | None = None

    def guesses(self) -> bool:
        """Return whether both sides are as good as a guess."""
        left, right = self.values()
        if self.chance is None or right is None:
            return False
        return all(abs(float(side.mean()) - self.chance) <= CHANCE_MARGIN for side in (left, right))

    def cut(self) -> bool:
        """Return whether more than half of the runs of both sides ended before what is counted was seen."""
        left, right = self.values()
        if self.limit is None:
            return False
        return all(bool((side >= self.limit).mean() > 0.5) for side in (left, right) if side is not None)

    def values(self) -> tuple[pd.Series, pd.Series | None]:
        """Return one value for each run on both sides, of runs that both have where they are paired."""
        left = _highest(self.left).dropna()
        if self.right is None:
            return left, None
        right = _highest(self.right).dropna()
        if not self.paired:
            return left, right
        both = left.index.intersection(right.index)
        return left[both], right[both]


def _highest(table: pd.DataFrame) -> pd.Series:
    return table[table.mean().idxmax()]


def kind_of(test: Mapping[str, Any]) -> str:
    """Return the kind of a test.

    Raises
    ------
    ValueError
        If it names none, or several.
    """
    named = [kind for kind in KINDS if kind in test]
    if len(named) != 1:
        raise ValueError(
            f"a test has one kind of {', '.join(KINDS)}; this one has {', '.join(named) or 'none'}: {test}."
        )
    return named[0]


def variants(test: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the variants of a test that must all hold."""
    return [{**test, **part} for part in test.get("parts", [{}])]


def cells_of(test: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield experiment and settings of every cell of one variant."""
    for experiment, entries in test["cells"].items():
        for entry in entries if isinstance(entries, list) else [entries or {}]:
            lists = {k: v if isinstance(v, list) else [v] for k, v in entry.items()}
            for chosen in itertools.product(*lists.values()):
                yield experiment, dict(zip(lists, chosen, strict=True))


def experiments_of(test: Mapping[str, Any]) -> list[str]:
    """Return the experiments on whose rows a test is decided."""
    named = dict.fromkeys(test.get("experiments", []))
    for variant in variants(test):
        named |= dict.fromkeys(variant.get("cells", {}))
        for place in (variant, variant.get("against", {}), variant.get("from", {})):
            named |= dict.fromkeys(place[key] for key in ("experiment", "with") if key in place)
    return list(named)


def select(rows: pd.DataFrame, where: Mapping[str, Any], test: Mapping[str, Any], values: Values) -> pd.DataFrame:
    """Return the rows of a cell; a setting that is no column is a value of the study."""
    kept = np.ones(len(rows), dtype=np.bool_)
    for setting, wanted in where.items():
        found = rows[setting] if setting in rows else _derived(setting, rows, test, values)
        inside = found.between(wanted["from"], wanted["to"]) if isinstance(wanted, Mapping) else found == wanted
        kept &= inside.to_numpy(dtype=np.bool_)
    return rows[kept]


def _derived(name: str, rows: pd.DataFrame, test: Mapping[str, Any], values: Values) -> Any:
    value = values.get(name)
    if value is None or value.of is None:
        raise ValueError(f"the rows have no column {name!r}, and the study derives no such value.")
    return value.of(rows, test)


def measured(cell: pd.DataFrame, test: Mapping[str, Any], values: Values, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the values of runs (rows) and series (columns) in a cell."""
    name = test[kind_of(test)]
    if name in values and values[name].of is not None:
        table: pd.DataFrame = _derived(name, cell, test, values)
        return table
    if "series_are" in test:
        cell = cell.assign(series=_derived(test["series_are"], cell, test, values))
    if any(isinstance(v, Mapping) for v in where.values()):
        table = cell.groupby(["replication", "series"], sort=False)[name].mean().unstack("series")
    else:
        table = cell.pivot(index="replication", columns="series", values=name)
    return table.astype(np.float64)


def tables_in(
    test: Mapping[str, Any], experiment: str, where: Mapping[str, Any], rows: Rows, values: Values
) -> dict[str, pd.DataFrame]:
    """Return the values in a cell (``left``), in the one that it is compared with, and in that of a change."""
    return _tables(test, experiment, where, rows, values)[0]


class _Marks(NamedTuple):
    """What a value says of a cell: the value of a run that ended early, and the share of a guess."""

    limit: float | None
    chance: float | None


def _tables(
    test: Mapping[str, Any], experiment: str, where: Mapping[str, Any], rows: Rows, values: Values
) -> tuple[dict[str, pd.DataFrame], _Marks]:
    """Return the tables of `tables_in`, and what the value says of the cell.

    Raises
    ------
    ValueError
        For a cell without rows.
    """
    places = {"left": dict(where)} | {key: {**where, **test[key]} for key in ("against", "from") if key in test}
    settings, cells = {}, {}
    for key, place in places.items():
        names = [place.pop("experiment", experiment), place.pop("with", test.get("with"))]
        frames: list[pd.DataFrame] = []
        for name in filter(None, names):
            taken = {s for f in frames for s in f["series"].unique()}
            frames.append(select(rows[name][~rows[name]["series"].isin(taken)], place, test, values))
        if any(frame.empty for frame in frames):
            raise ValueError(f"no rows in the cell {cell_name(str(names[0]), place)}.")
        settings[key] = place
        cells[key] = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    value = values.get(test[kind_of(test)])
    if value is not None and value.align is not None:
        cells = dict(zip(cells, value.align(*cells.values()), strict=True))
    limit = None if value is None or value.limit is None else value.limit(cells["left"])
    chance = None if value is None or value.chance is None else value.chance(cells["left"])
    tables = {key: measured(cell, test, values, settings[key]) for key, cell in cells.items()}
    return tables, _Marks(limit, chance)


def cell_name(experiment: str, where: Mapping[str, Any]) -> str:
    """Return a cell in words."""
    settings = [f"{k} = {v['from']} to {v['to']}" if isinstance(v, Mapping) else f"{k} = {v}" for k, v in where.items()]
    return f"{experiment}: {', '.join(settings)}" if settings else experiment


def side_name(side: Side) -> str:
    """Return a side in words."""
    if not isinstance(side, Mapping):
        return str(side)
    (names,) = side.values()
    return f"best of {', '.join(map(str, names))}"


def side_values(table: pd.DataFrame, side: Side) -> pd.DataFrame:
    """Return the columns of a side: one, or of ``highest`` all that were run.

    Raises
    ------
    ValueError
        If the series was not run.
    """
    names = [side] if not isinstance(side, Mapping) else list(next(iter(side.values())))
    there = [name for name in names if name in table]
    if not there:
        raise ValueError(f"no rows of series {', '.join(map(str, names))}; there are: {', '.join(map(str, table))}.")
    if not isinstance(side, Mapping):
        chosen = table[side]
        return chosen if isinstance(chosen, pd.DataFrame) else chosen.to_frame()
    if "highest" in side:
        return table[there]
    if "highest_by_halves" in side:
        return best_by_halves(table[there]).to_frame()
    return best_of_others(table[names]).to_frame()


def best_of_others(table: pd.DataFrame) -> pd.Series:
    """Return for each run the value of the series with the lowest mean over all other runs."""
    mine = table.dropna()
    others = (mine.sum() - mine) / max(len(mine) - 1, 1)
    chosen = others.to_numpy().argmin(axis=1)
    return pd.Series(mine.to_numpy()[np.arange(len(mine)), chosen], index=mine.index, name="best")


def best_by_halves(table: pd.DataFrame) -> pd.Series:
    """Return for each run the value of the series with the highest mean over the runs of the other parity."""
    even = np.asarray(table.index) % 2 == 0
    best = pd.Series(np.nan, index=table.index, name="best")
    for half in (even, ~even):
        if half.any() and not half.all():
            best[half] = table.loc[half, table[~half].mean().idxmax()]
    return best


def pairs_of(test: Mapping[str, Any], table: pd.DataFrame) -> list[tuple[Side, Side | None]]:
    """Return left and right of every comparison in a cell."""
    if "pairs" in test:
        return [(left, right) for left, right in test["pairs"]]
    if test.get("each") == "series":
        names = table.columns.get_level_values(0).unique()
        return [(name, name if "against" in test else None) for name in names]
    lefts, rights = ([s] if not isinstance(s, list) else s for s in (test["left"], test.get("right")))
    return list(itertools.product(lefts, rights))


def sides(test: Mapping[str, Any], rows: Rows, values: Values) -> Iterator[Sides]:
    """Yield both sides of every comparison of a test."""
    for variant in variants(test):
        for experiment, where in cells_of(variant):
            tables, marks = _tables(variant, experiment, where, rows, values)
            other = tables.get("against", tables["left"])
            for left, right in pairs_of(variant, tables["left"]):
                name = f"{cell_name(experiment, where)}, {side_name(left)}"
                name += f" against {side_name(right)}" if right is not None else ""
                found = [
                    Sides(
                        name=name,
                        left=side_values(table, left),
                        right=None if right is None else side_values(facing, right),
                        paired=variant.get("paired", True),
                        experiment=experiment,
                        series=side_name(left),
                        **marks._asdict(),
                    )
                    for table, facing in [(tables["left"], other)]
                    + ([(tables["from"],) * 2] if "from" in tables else [])
                ]
                base = found[1] if len(found) > 1 else None
                yield Sides(**{**vars(found[0]), "base": base})

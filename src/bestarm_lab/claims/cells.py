"""The two sides of a claim's comparisons, taken from the rows of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bestarm_lab.claims.layout import Best, Part, Side, Span, Where, series_of
from bestarm_lab.yaml_keys import nearest

if TYPE_CHECKING:
    from bestarm.interface import FloatArray

CHANCE_MARGIN = 0.02  # shares of runs so near to that of a guess do not tell algorithms apart
Test = Mapping[str, Any]  # its settings
Rows = Mapping[str, pd.DataFrame]  # of each experiment


class SharedRows(dict[str, pd.DataFrame]):
    """Rows on which claims with the same values are decided: what several of them compare is measured once."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self.tables: dict[str, Any] = {}


@dataclass(frozen=True)
class Value:
    """What a claim compares, where it is no column of the rows or needs words of its own."""

    words: str  # the value in words
    # from the rows of a cell, with a column ``experiment``, and the settings to values of runs (rows) and series
    # (columns), or to a column
    of: Callable[[pd.DataFrame, Mapping[str, Any]], Any] | None = None
    # from the rows of all cells of a comparison to the part of each that can be compared
    align: Callable[..., Sequence[pd.DataFrame]] | None = None
    # from means over runs, shape (..., k), where they were taken, shape (k,), and the settings to one number each; the
    # columns of the values are then (series, where)
    statistic: Callable[[FloatArray, FloatArray, Mapping[str, Any]], FloatArray] | None = None
    # from the rows of a cell to the value of a run that ended before what is counted was seen. A comparison in which
    # more than half of the runs of both sides have it says nothing
    limit: Callable[[pd.DataFrame], float] | None = None
    # from the rows of a cell to the share of runs in which a guess succeeds. A comparison in which both sides are
    # within ``CHANCE_MARGIN`` of it says nothing
    chance: Callable[[pd.DataFrame], float] | None = None
    # needs, may: settings that these must and may be given, with their sorts (`bestarm_lab.claims.claims_file.SORTS`)
    needs: Mapping[str, str] = field(default_factory=dict)
    may: Mapping[str, str] = field(default_factory=dict)
    adds: Sequence[str] = ()  # series that ``of`` makes beside those of the rows


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
        left, right = self.values
        if self.chance is None or right is None:
            return False
        return all(abs(float(side.mean()) - self.chance) <= CHANCE_MARGIN for side in (left, right))

    def cut(self) -> bool:
        """Return whether more than half of the runs of both sides ended before what is counted was seen."""
        sides, limit = self.values, self.limit
        return limit is not None and all(bool((s >= limit).mean() > 0.5) for s in sides if s is not None)

    @cached_property
    def values(self) -> tuple[pd.Series, pd.Series | None]:
        """Return one value for each run on both sides, of runs that both have where they are paired."""
        left = _highest(self.left).dropna()
        if self.right is None:
            return left, None
        right = _highest(self.right).dropna()
        if not self.paired or left.index.equals(right.index):
            return left, right
        both = left.index.intersection(right.index)
        return left[both], right[both]


def _highest(table: pd.DataFrame) -> pd.Series:
    return table.iloc[:, 0] if table.shape[1] == 1 else table[table.mean().idxmax()]


@dataclass(frozen=True)
class Quantity:
    """What a test compares: a column of the rows, or a value of the study with the settings that it asks for."""

    name: str  # of the column or value
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the value
    series_are: str = ""  # a value by which the series are told apart in place of their names
    values: Values = field(default_factory=dict, repr=False)  # all of the study

    @property
    def value(self) -> Value:
        """Return the value of this name; a column stands for itself."""
        return self.values.get(self.name) or Value(self.name.replace("_", " "))

    def derived(self, name: str, rows: pd.DataFrame) -> Any:
        """Return a value of the study on some rows; a ValueError says that it derives no such value."""
        value = self.values.get(name)
        if value is None or value.of is None:
            near = nearest(name, [*rows.columns, *(n for n, v in self.values.items() if v.of is not None)])
            raise ValueError(f"the rows have no column {name!r}, and the study derives no such value; {near}.")
        return value.of(rows, self.settings)

    def select(self, rows: pd.DataFrame, where: Where) -> pd.DataFrame:
        """Return the rows of a cell; a setting that is no column is a value of the study."""
        kept = np.ones(len(rows), dtype=np.bool_)
        for setting, wanted in where.items():
            found = rows[setting] if setting in rows else self.derived(setting, rows)
            inside = found.between(wanted.low, wanted.high) if isinstance(wanted, Span) else found == wanted
            kept &= inside.to_numpy(dtype=np.bool_)
        return rows[kept]

    def measured(self, cell: pd.DataFrame, where: Where) -> pd.DataFrame:
        """Return the values of runs (rows) and series (columns) in a cell."""
        if self.value.of is not None:
            return self.derived(self.name, cell)
        if self.name not in cell:
            self.derived(self.name, cell)  # refuses it
        if self.series_are:
            cell = cell.assign(series=self.derived(self.series_are, cell))
        if any(isinstance(v, Span) for v in where.values()):
            table = cell.groupby(["replication", "series"], sort=False)[self.name].mean().unstack("series")
        else:
            table = cell.pivot(index="replication", columns="series", values=self.name)
        return table.astype(np.float64)

    def tables(
        self, part: Part, experiment: str, where: Where, rows: Rows
    ) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
        """Return the values in a cell (``left``), ``against`` and ``from``, and what the value says of the cell.

        Raises ValueError for a cell without rows.
        """
        places, known = part.places(experiment, where), rows.tables if isinstance(rows, SharedRows) else {}
        asked = repr((self.name, self.settings, self.series_are, places))
        if asked not in known:
            known[asked] = self._tables(places, rows)
        return known[asked]

    def _tables(self, places: Mapping[str, Any], rows: Rows) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
        cells = {}
        for key, (names, settings) in places.items():
            frames: list[pd.DataFrame] = []
            for name in names:
                mine, taken = rows[name], {s for f in frames for s in f["series"].unique()}
                cell = self.select(mine[~mine["series"].isin(taken)] if taken else mine, settings)
                # a value may depend on the problem, which is another's where rows are substituted
                frames.append(cell if "experiment" in cell else cell.assign(experiment=name))
            if any(frame.empty for frame in frames):
                raise ValueError(f"no rows in the cell {cell_name(names[0], settings)}.")
            cells[key] = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        value = self.value
        if value.align is not None:
            cells = dict(zip(cells, value.align(*cells.values()), strict=True))
        asked = {"limit": value.limit, "chance": value.chance}
        marks = {key: None if of is None else of(cells["left"]) for key, of in asked.items()}
        return {key: self.measured(cell, places[key][1]) for key, cell in cells.items()}, marks

    def sides_in(self, part: Part, experiment: str, where: Where, rows: Rows) -> Iterator[Sides]:
        """Yield both sides of every comparison in one cell."""
        tables, marks = self.tables(part, experiment, where, rows)
        cells = [(tables["left"], tables.get("against", tables["left"]))]
        cells += [(tables["from"],) * 2] if "from" in tables else []
        names = tables["left"].columns.get_level_values(0).unique()
        for left, right in part.pairs or [(name, None if part.against is None else name) for name in names]:
            name = f"{cell_name(experiment, where)}, {left}" + (f" against {right}" if right is not None else "")
            found = [
                Sides(
                    name=name,
                    left=side_values(table, left),
                    right=None if right is None else side_values(facing, right),
                    paired=part.paired,
                    experiment=experiment,
                    series=str(left),
                    **marks,
                )
                for table, facing in cells
            ]
            yield replace(found[0], base=found[1] if len(found) > 1 else None)


def run_as(rows: pd.DataFrame, convention: str) -> pd.DataFrame:
    """Return the rows of one convention; rows that do not say are as written."""
    if "convention" not in rows:
        return rows if convention == "as_written" else rows.iloc[:0]
    return rows[rows["convention"] == convention]


def cell_name(experiment: str, where: Where) -> str:
    """Return a cell in words."""
    settings = [f"{k} = {v}" for k, v in where.items()]
    return f"{experiment}: {', '.join(settings)}" if settings else experiment


def side_values(table: pd.DataFrame, side: Side) -> pd.DataFrame:
    """Return the columns of a side: one, or of ``highest`` all; a ValueError says that the series was not run."""
    names = series_of(side)
    there = [name for name in names if name in table]
    if not there:
        raise ValueError(f"no rows of series {', '.join(map(str, names))}; there are: {', '.join(map(str, table))}.")
    if not isinstance(side, Best):
        chosen = table[side]
        return chosen if isinstance(chosen, pd.DataFrame) else chosen.to_frame()
    if side.rule == "highest":
        return table[there]
    sign = -1.0 if side.rule == "lowest_by_halves" else 1.0
    return sign * best_by_halves(sign * table[there]).to_frame()


def best_by_halves(table: pd.DataFrame) -> pd.Series:
    """Return for each run the value of the series with the highest mean over the runs of the other parity.

    The mean of a series is that over the runs that it has; a run that the chosen series lacks has no value.
    """
    even = np.asarray(table.index) % 2 == 0
    best = pd.Series(np.nan, index=table.index, name="best")
    for half in (even, ~even):
        if half.any() and not half.all():
            best[half] = table.loc[half, table[~half].mean().idxmax()]
    return best

"""Candidates of a search: names and what describes them, as a laboratory's table has it, made into numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import Arms, FloatArray, IntArray
from bestarm.search.columns import NAMES, REAL, Roles, find_column, roles_of
from bestarm.search.number_texts import GAPS, Column, decimal_sign, numbers_of, plain_floats, texts_of, tidy
from bestarm.search.table_files import Table, read_table, read_table_file
from bestarm.search.tables import GENES, counted, label_of, listed, look_alikes, named_columns, names_in, refuse_damaged
from bestarm.settings import LARGEST_FEATURE

RESERVED = ("name", "arm", "pull", "reward", "value")  # columns of what `ask` returns
_MISSING = "(missing)"  # the category of a gap
_FEW, _MANY = 5, 5_000_000  # candidates, and their numbers, between which numbers far from all others are named
_PER_RANGE = 0.01  # of a feature's range, by which a told table may differ: spreadsheets round


@dataclass(frozen=True, eq=False)
class Candidates:
    """A table of what can be measured, and its features as numbers.

    Rules, each said in `report`: a category becomes one column of 0 and 1 for each of its words; a truth value is 0
    or 1; a gap among numbers becomes the mean of its column, among words a word of its own; a row that is there twice
    counts once; a column that is the same for all candidates is left out of `scores`. Names that repeat, or a column
    that cannot be made into numbers, are a ValueError.

    Parameters
    ----------
    names : tuple of str
        Names, all different.
    table : DataFrame
        One row for each candidate, numbers (float64, NaN a gap) or words (object, None a gap); `names` are its index.
    report : tuple of str
        What was done to the table, one sentence each.
    units : dict of str
        Units that were taken off the numbers of columns.

    Examples
    --------
    >>> table = pd.DataFrame({"dose": [1.0, 2.0, None], "salt": ["a", "b", "a"]}, index=["x", "y", "z"])
    >>> found = Candidates.of(table)
    >>> found.columns
    ('dose', 'salt=a', 'salt=b')
    >>> found.report
    ('column dose: 1 gap set to the mean.', "column salt: 2 words, a column of 0 and 1 for each.")
    """

    names: tuple[str, ...]
    table: pd.DataFrame
    report: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if twice := repeated(self.names):
            raise ValueError(f"{listed(twice)} names more than one arm; make the names different.")
        if len(self.names) != len(self.table):
            raise ValueError(f"there are {len(self.table)} arms and {len(self.names)} names; give one name for each.")
        if taken := set(RESERVED) & set(self.table.columns):
            what = f"a feature cannot be called {', '.join(sorted(taken))}, a column of ask"
            raise ValueError(f"{what}; rename it, or name it in `results` if it is one.")
        if "" in self.names:
            raise ValueError(f"candidate {self.names.index('')} has no name; name it or delete the row.")
        if len(self.names) < 1:
            raise ValueError("there is no candidate; a search needs at least one.")
        object.__setattr__(self, "table", self.table.set_axis(pd.Index(self.names, dtype=object)))
        self.encoded  # noqa: B018  (refuses what cannot be made into numbers)

    @classmethod
    def of(
        cls,
        source: Any,
        names: Sequence[Any] | None = None,
        *,
        results: Sequence[str] | None = None,
        words: Sequence[str] = (),
    ) -> Candidates:
        """Return candidates from a file, a table, or numbers alone, shape (n_arms, n_features).

        Files are CSV with commas, tabs or semicolons, Excel and Parquet by their endings. The index or column ``name``
        has the names, or ``names`` where there is none. Columns of ``results`` are no features (by default those called
        ``reward``, ``phenotype``, ``yield`` and the like, and those with results to come); texts of ``words`` are
        categories although they look like numbers.
        """
        if isinstance(source, Candidates):
            return source
        results = [results] if isinstance(results, str) else results
        words = [words] if isinstance(words, str) else words
        notes: list[str] = []
        if (table := read_table(source, notes)) is not None:
            return cls.of_table(table, notes, names, results, words)
        names = None if names is None else names_in(names, "names")
        if isinstance(source, np.ma.MaskedArray) and np.ma.is_masked(source):
            raise ValueError("an array with a mask is no table of candidates; fill it, by NaN where nothing is known.")
        of_others = source is None or hasattr(source, "columns")  # whose names an array would lack
        try:
            array = source.features if isinstance(source, Arms) else np.asarray(source)
        except ValueError:  # of NumPy, about an "inhomogeneous shape"
            raise ValueError("rows of candidates must have equally many numbers; write NaN for unknown ones.") from None
        if array.dtype == object and array.ndim == 2 and not of_others:  # numbers, with None for what is unknown
            array = pd.DataFrame(array).infer_objects().to_numpy()
        if of_others or array.dtype.kind in "OUSVMm":
            rule = "candidates are a file, a DataFrame or an array of numbers"
            raise ValueError(f"{rule}, got a {type(source).__name__}; write pd.DataFrame(...).")
        if array.ndim < 2:
            remedy = "for one feature write np.reshape(numbers, (-1, 1))"
            raise ValueError(f"candidates must have shape (n_arms, n_features), got {array.shape}; {remedy}.")
        arms = source if isinstance(source, Arms) else Arms(np.nan_to_num(array, posinf=np.inf, neginf=-np.inf))
        if arms.features.ndim == 3:
            raise ValueError("a Search is one experiment: features must have shape (n_arms, n_features); give one set.")
        labels = [str(i) for i in range(arms.n_arms)] if names is None else names
        columns = [f"x{j}" for j in range(arms.n_features)]
        found = cls(tuple(labels), pd.DataFrame(np.array(array, dtype=np.float64), columns=columns))
        return found.reported(found.report_of_table())

    @classmethod
    def of_table(
        cls,
        table: Table,
        notes: list[str],
        names: Sequence[Any] | None = None,
        results: Sequence[str] | None = None,
        words: Sequence[str] = (),
        phenotypes: str | None = None,
        features: Sequence[str] = (),
    ) -> Candidates:
        """Return the candidates of a table, or genes without phenotypes; what was done is added to notes.

        Columns of ``features`` are some, whatever they are called: those of candidates that these are added to.
        """
        names = None if names is None else names_in(names, "names")
        header, where, word = table.header, table.where, "candidate" if phenotypes is None else "gene"
        first, also = () if phenotypes is None else GENES, named_columns(phenotypes or "", header)
        if names is None and table.named and (again := find_column(header, NAMES[:1])) is not None:
            remedy = "drop one of them, the index by reset_index(drop=True)"
            raise ValueError(f"the table has names twice, in its index and in column {header[again]!r}; {remedy}.")
        roles = roles_of(
            header,
            lambda i: c if isinstance(c := table.columns[i], list) else list(map(label_of, c)),
            first=first,
            results=results,
            also=also,
            named=names is not None or table.named,
            known=features,
            numeric=[not isinstance(c, list) and pd.api.types.is_numeric_dtype(c) for c in table.columns],
        )
        if not roles.features:
            only = f", only the column{'s' * (len(header) > 1)} {', '.join(header)}" if header else ""
            between = ", each after a comma, semicolon, tab or bar" if table.index is None else ""
            raise ValueError(f"{where} has no feature{only}; add columns of numbers{between}.")
        if roles.names is None and word == "gene":
            raise ValueError(f"{where} has no column of genes; it has: {', '.join(header)}. Call one of them gene.")
        if not table.lines:
            raise ValueError(f"{where} has no {word}; it needs a row for each.")
        said = list(roles.notes)
        if names is None and roles.names is None and table.index is None and len(header) > 1:
            said.append("no column of names, so that the rows are numbered from 0 on; a column `name` would name them.")
        index: Any = range(len(table.lines)) if table.index is None else table.index
        labels = list(map(label_of, index if roles.names is None else table.columns[roles.names]))
        labels = labels if names is None else names
        if "" in labels:
            raise ValueError(f"{table.row(labels.index(''))}: a {word} without a name; name it or delete the row.")
        refuse_damaged(table, labels, genes=roles.names is not None and header[roles.names].casefold() in GENES)
        typed, units, done = _typed(table, roles, labels, words)
        if not len(typed.columns):
            raise ValueError(f"{where} has no feature with anything in it; add columns of numbers.")
        if len(labels) == len(typed):
            equal = typed.assign(name=labels).duplicated().to_numpy()
            done[:0] = [f"{counted(int(equal.sum()), 'row')} there twice, counted once."] if equal.any() else []
            kept = np.flatnonzero(~equal).tolist()
            typed = typed.iloc[kept].reset_index(drop=True)
            if twice := repeated([labels[i] for i in kept]):
                one, other = (table.lines[i] for i in [i for i in kept if labels[i] == twice[0]][:2])
                rows = f"{table.line}s {one} and {other}"
                raise ValueError(f"{where}: {twice[0]} has two different rows, {rows}; keep one of them.")
            labels = [labels[i] for i in kept]
        found = cls(tuple(labels), typed, units=units)
        notes += [table.prefix + sentence for sentence in (*said, *done, *found.report_of_table())]
        return found.reported(notes)

    def reported(self, report: Iterable[str]) -> Candidates:
        """Return these candidates with another report, not encoded anew."""
        found = copy(self)
        object.__setattr__(found, "report", tuple(report))
        return found

    @cached_property
    def encoded(self) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
        """The features as numbers, shape (n, d), their names, and what was done about each column."""
        parts: list[FloatArray] = []
        columns: list[str] = []
        said: list[str] = []
        numeric = list(self.table.select_dtypes(np.float64))
        numbers = np.array(self.table[numeric], dtype=np.float64, order="C")
        gaps = np.isnan(numbers)
        filled = np.where(gaps, np.where(gaps, 0.0, numbers).sum(axis=0) / np.maximum((~gaps).sum(axis=0), 1), numbers)
        for label in self.table.columns:
            if label in numeric:
                place = numeric.index(label)
                values, n_gaps = numbers[:, place], int(gaps[:, place].sum())
                parts.append(filled[:, place, None])
                columns.append(str(label))
                if (large := np.abs(values) > LARGEST_FEATURE).any():
                    place = int(large.argmax())
                    what = f"feature {label!r} of {self.names[place]} is {values[place]:.3g}"
                    remedy = "correct it, or drop the column if it is no feature"
                    raise ValueError(f"{what}, no number of ordinary size; {remedy}.")
                if n_gaps == len(values):
                    raise ValueError(f"feature {label!r} has no number at all; drop the column.")
                said += [f"column {label}: {counted(n_gaps, 'gap')} set to the mean."] if n_gaps else []
            else:
                words = [_MISSING if word is None else str(word) for word in self.table[label]]
                if len(levels := sorted(set(words))) > max(10, len(words) // 2):
                    what = f"{len(levels)} different words for {len(words)} candidates, too many for a category"
                    raise ValueError(f"column {label!r} has {what}; drop it, or give numbers that describe them.")
                parts.append((np.array(words)[:, None] == np.array(levels)).astype(np.float64))
                columns += [f"{label}={level}" for level in levels]
                said.append(f"column {label}: {counted(len(levels), 'word')}, a column of 0 and 1 for each.")
                if alike := look_alikes(levels):
                    said.append(f"column {label}: words that look alike: {listed(alike)}.")
        if not parts:
            raise ValueError("the candidates have names and nothing that describes them; add columns of numbers.")
        return np.ascontiguousarray(np.hstack(parts)), tuple(columns), tuple(said)

    @property
    def values(self) -> FloatArray:
        """Features as numbers, gaps filled, shape (n, d)."""
        return self.encoded[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the features in `values`."""
        return self.encoded[1]

    @cached_property
    def varies(self) -> Any:
        """Which columns of `values` tell candidates apart, shape (d,)."""
        spread, size = self.values.std(axis=0), np.abs(self.values).max(axis=0)
        return spread > 1e-12 * np.maximum(size, 1e-300)

    def report_of_table(self) -> list[str]:
        """Return what was done to the columns, constants included."""
        flat = [column for column, keep in zip(self.columns, self.varies, strict=True) if not keep]
        said = f"{counted(len(flat), 'feature')} the same for all candidates, left out ({listed(flat)})."
        alike = look_alikes(self.names)
        near = f"names that look alike: {listed(alike)}; check that they are meant."
        odd = listed(self._far_numbers())
        far = f"numbers more than ten times as far from all others as these from each other: {odd}; check them."
        return [*self.encoded[2], *([said] if flat else []), *([near] if alike else []), *([far] if odd else [])]

    def _far_numbers(self) -> list[str]:
        """Return numbers that flatten what a model sees of a column, such as a slip of the decimal sign, in words."""
        if len(self.names) < _FEW or self.values.size > _MANY:
            return []
        low, lower, higher, high = np.partition(self.values, [0, 1, -2, -1], axis=0)[[0, 1, -2, -1]]
        found = []
        for far, to, rest in ((high, high - higher, higher - low), (low, lower - low, high - lower)):
            for i in np.flatnonzero((to > 10.0 * rest) & (rest > 0.0)):
                name = self.names[int(np.flatnonzero(self.values[:, i] == far[i])[0])]
                found.append(f"{far[i]:g} in {self.columns[i]} of {name}")
        return found

    def scores(self, components: int = 0) -> FloatArray:
        """Return features with mean 0 and standard deviation 1, or their principal components, shape (n, d).

        So many leading components take the place of the features, all divided by one number, so that their mean square
        is 1; 0 keeps the features.
        """
        if not self.varies.any():
            raise ValueError("every feature is the same for all candidates; there is nothing to tell them apart by.")
        values = self.values[:, self.varies]
        scores = (values - values.mean(axis=0)) / values.std(axis=0)
        if components == 0:
            return scores
        most = min(scores.shape)
        if not 0 < components <= most:
            raise ValueError(f"components must be between 1 and {most}, or 0 for all features; got {components}.")
        _, axes = np.linalg.eigh(scores.T @ scores)
        axes = axes[:, ::-1][:, :components]
        largest = axes[np.abs(axes).argmax(axis=0), np.arange(components)]
        found = scores @ (axes * np.sign(largest))  # the sign of an eigenvector is arbitrary
        return np.ascontiguousarray(found / np.sqrt((found**2).mean()))

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """A fingerprint of each candidate: of its features by column name, whatever the order of rows and columns."""
        table = self.table[sorted(self.table.columns)]
        numeric, words = table.select_dtypes(np.float64), table.select_dtypes(exclude=np.float64)
        numbers = numeric.to_numpy(dtype=np.float64) + 0.0  # one zero
        numbers[np.isnan(numbers)] = np.nan  # one NaN
        head = hashlib.blake2b("\x1f".join([*numeric, "\x1e", *words]).encode(), digest_size=8)
        found = []
        for row, texts in zip(numbers, words.to_numpy(dtype=object), strict=True):
            one = head.copy()
            one.update(row.tobytes())
            one.update("\x1f".join(_MISSING if t is None else str(t) for t in texts).encode())
            found.append(one.hexdigest())
        return tuple(found)

    @property
    def digest_1(self) -> str:
        """SHA-256 of names and features in their order, as logs of format 1 have it."""
        columns = [column for column, keep in zip(self.columns, self.varies, strict=True) if keep]
        found = hashlib.sha256("\x1f".join([*self.names, "\x1e", *columns]).encode())
        found.update(np.ascontiguousarray(self.values[:, self.varies]).tobytes())
        return found.hexdigest()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names and features, whatever the order of rows and columns."""
        pairs = sorted(zip(self.names, self.digests, strict=True))
        return hashlib.sha256("\x1e".join("\x1f".join(pair) for pair in pairs).encode()).hexdigest()

    def first(self, n: int) -> Candidates:
        """Return the first n candidates, encoded as if there had never been more."""
        return self if n == len(self.names) else Candidates(self.names[:n], self.table.iloc[:n])

    def joined(self, more: Candidates) -> Candidates:
        """Return these candidates followed by others that have the same columns."""
        if odd := [label for label in more.table.columns if label not in self.table.columns]:
            remedy = "leave it out, or make a new Search with it for all"
            raise ValueError(f"the new candidates have a column {odd[0]!r} that the others have not; {remedy}.")
        table, missing = more.table.copy(), [c for c in self.table.columns if c not in more.table.columns]
        own, new, unsaid = self.units, more.units, []
        for column, kind in self.table.dtypes.items():
            if column in missing:
                table[column] = pd.Series(np.nan if kind == np.float64 else None, index=table.index, dtype=kind)
            if table[column].dtype != kind:
                raise ValueError(f"column {column!r} has words in one table and numbers in the other; make them alike.")
            if (unit := own.get(str(column), "")) and new.get(str(column), unit) != unit:
                units = f"{new[str(column)]!r} and in that of the others {unit!r}"
                raise ValueError(f"column {column!r} has in the new table the unit {units}; give numbers of one unit.")
            if column not in missing and bool(unit) != (str(column) in new):
                which, meant = ("new", unit) if unit else ("first", new[str(column)])
                if meant == "%":
                    raise ValueError(f"column {column!r} is in % in one table alone; give both in one unit.")
                unsaid.append(f"column {column}: without a unit in the {which} table, taken for {meant}.")
        if taken := [name for name in more.names if name in set(self.names)]:
            raise ValueError(f"{listed(taken)} is a candidate already; give new candidates names of their own.")
        table = pd.concat([self.table, table[list(self.table.columns)]], ignore_index=True)
        found = Candidates(self.names + more.names, table, units={**new, **own})
        old = {*self.report_of_table(), *more.report_of_table()}  # of columns, which are told anew
        said = [line for line in (*self.report, *more.report) if not any(line.endswith(sentence) for sentence in old)]
        said += [f"column {column}: unknown for {counted(len(more.names), 'new candidate')}." for column in missing]
        return found.reported([*dict.fromkeys(said), *unsaid, *found.report_of_table()])

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each candidate by its name."""
        return {name: i for i, name in enumerate(self.names)}

    def names_from(self, names: Any, what: str) -> list[str]:
        """Return names of candidates from a list or a table, of which a column that is a feature names nothing."""
        return names_in(names, what, self.place, self.table.columns)

    def places(self, names: Iterable[str]) -> IntArray:
        return np.array([self.place[name] for name in names], dtype=np.int64)

    def shown(self, places: Iterable[int]) -> pd.DataFrame:
        """Return the table's own rows of some candidates, by place."""
        return self.table.iloc[list(places)].reset_index(drop=True)

    def compare(self, names: Sequence[str], columns: Mapping[str, Any], decimal: str) -> None:
        """Refuse features in a told table that are not those of the candidate, beyond the rounding of spreadsheets."""
        rows = [(row, name, self.place[name]) for row, name in enumerate(names) if name in self.place]
        header = list(columns)
        others = ["" if label in self.table.columns else label for label in header]
        for label in self.table.columns:
            place_of = header.index(label) if label in header else find_column(others, (label,))
            if place_of is None:
                continue
            cells, own = columns[header[place_of]], self.table[label].to_numpy()
            odd: list[tuple[str, str, str]] = []
            if own.dtype == np.float64:
                reach = _PER_RANGE * (np.nanmax(own) - np.nanmin(own))
                column = Column.of(label, cells, truth=True)
                if read := numbers_of("the table", column, decimal):
                    (unit, *_), known_unit = column.units, self.units.get(label, "")
                    units = (f" {unit}", f" {known_unit}") if unit and known_unit not in ("", unit) else ("", "")
                    pairs = ((name, read[0][row], own[i]) for row, name, i in rows)
                    off = ((n, a, b) for n, a, b in pairs if any(units) or abs(a - b) > max(reach, 1e-6 * abs(b)))
                    odd = [(n, f"{a:g}{units[0]}", f"{b:g}{units[1]}") for n, a, b in off if a == a]
                else:
                    told = ((name, column.texts[row], own[i]) for row, name, i in rows)
                    odd = [(n, repr(a), f"{b:g}") for n, a, b in told if a.lower() not in GAPS]
            else:
                words = [" ".join(text.split()) for text in texts_of(cells)]
                told = ((name, words[row], own[i]) for row, name, i in rows if words[row])
                odd = [(n, repr(a), repr(b)) for n, a, b in told if not _same_word(a, " ".join((b or "").split()))]
            for name, given, known in odd:
                other = f" (column {header[place_of]!r})" if header[place_of] != label else ""
                what = f"feature {label!r} of {name} is {given} in the table{other} and {known} in the candidates"
                remedy = "put it back, or name what was measured otherwise and give it to add_candidates"
                remedy = "rename the column if it is another feature" if other else remedy
                raise ValueError(f"{what}; {remedy}.")


def _same_word(told: str, known: str) -> bool:
    """Return whether a word is the one known, which a reader of files may have made a number."""
    values = [plain_floats([text]) for text in (told, known)]
    return told == known or (values[0] is not None and values[0] == values[1])


def read_features(path: str | Path, notes: list[str], phenotypes: str = "", words: Sequence[str] = ()) -> Candidates:
    """Return the genes of a file and what describes them, columns of phenotypes left out; notes say what was done."""
    found = Candidates.of_table(read_table_file(Path(path), notes), notes, words=words, phenotypes=phenotypes)
    if len(found.names) < 2:
        raise ValueError(f"{path} has 1 gene; a search needs at least two.")
    if not found.varies.any():
        raise ValueError(f"{path}: every feature is the same for all candidates; nothing tells them apart.")
    return found


def repeated(names: Sequence[str]) -> list[str]:
    found = pd.Series(list(names), dtype=object)
    return list(dict.fromkeys(found[found.duplicated()]))


def _typed(
    source: Table, roles: Roles, names: Sequence[str], words: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, str], list[str]]:
    """Return features as numbers (float64, NaN a gap) or words (object, None a gap), units, and what was done."""
    columns = [(source.header[i], source.columns[i]) for i in roles.features]
    if odd := [label for label in words if label not in dict(columns)]:
        raise ValueError(f"there is no feature {odd[0]!r} to be taken as words; there are: {listed([*dict(columns)])}.")
    read: dict[str, Any] = {}
    for label, cells in columns:
        plain = None if isinstance(cells, list) else _plain_numbers(cells)
        if label in words or isinstance(getattr(cells, "dtype", None), pd.CategoricalDtype):
            read[label] = _as_words(cells)
        else:
            read[label] = Column.of(label, cells, truth=True) if plain is None else plain
    texts = [column for column in read.values() if isinstance(column, Column)]
    results = [Column.of(source.header[i], source.columns[i]) for i in roles.results]
    decimal = decimal_sign(source.where, [*texts, *results], source.semicolons)
    said: list[str] = []
    units: dict[str, str] = {}
    table: dict[str, pd.Series[Any]] = {}
    for label, cells in columns:
        series = read[label]
        if isinstance(series, Column):
            numbers = None if series.has_only_words else numbers_of(source.where, series, decimal, names)
            if numbers is not None:
                said += numbers[1]
                (units[label],) = series.units
            series = _as_words(cells) if numbers is None else pd.Series(numbers[0])
        if series.isna().all() and len(series):
            said = [sentence for sentence in said if not sentence.startswith(f"column {label}: ")]
            said.append(f"column {label}: nothing in it, left out.")
        else:
            table[label] = series
    typed = pd.DataFrame(table, index=range(len(source.lines)))
    alone = len(table) == 1 and not pd.api.types.is_numeric_dtype(typed.dtypes.iloc[0])  # where a gap is a word
    if len(table) and not alone and (empty := typed.isna().all(axis=1).to_numpy()).any():
        name = names[int(empty.argmax())]
        remedy = "fill in what is known, or delete the row"
        raise ValueError(f"{source.where}: {name} has nothing in any feature; {remedy}.")
    return typed, {label: unit for label, unit in units.items() if unit}, said


def _plain_numbers(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return a column of a frame as numbers if pandas holds it so; None for texts and other objects."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        _plain_numbers(pd.Series(column.cat.categories, name=column.name))  # refuses dates
        return None
    numeric = pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype)
    if numeric:
        if pd.api.types.is_complex_dtype(column.dtype):
            raise ValueError(f"column {column.name!r} has complex numbers; give their parts as two columns.")
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        known = column[~pd.isna(column).to_numpy()]
        if pd.api.types.is_datetime64_any_dtype(column.dtype) or any(isinstance(v, date) for v in known):
            raise ValueError(f"column {column.name!r} has dates, no features; drop it, or give a number of days.")
        if odd := [v for v in known if not isinstance(v, str | bool | np.bool_ | REAL)]:
            raise ValueError(f"column {column.name!r} has a {type(odd[0]).__name__}, no number and no word; drop it.")
        values = np.array([v for v in known if isinstance(v, float | np.floating)], dtype=np.float64)
    if np.isinf(values).any():
        raise ValueError(f"features must be finite, got an infinite one in column {column.name!r}; correct it.")
    return pd.Series(values) if numeric else None


def _as_words(cells: Any) -> pd.Series[Any]:
    return pd.Series([tidy(text) or None for text in texts_of(cells)], dtype=object)

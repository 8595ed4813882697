"""Numbers that texts quote, and what titles of figures claim: data, each with the lines of a table behind it.

A section's folder has a ``quoted.yaml``, or the study's root has one with a part for each notebook or document. It says
of tables (``fig02`` of the notebook's figures, ``verdicts.csv`` or ``slopes.parquet`` of the study's results)::

    fig02:
    - said: its accuracy is {:.3f}, against {:.3f} of LinUCB
      x: 16
      each: {series: [GSE-Lin-FWG, LinUCB]}
    - title: Up to a gap of {:g} no accuracy exceeds 0.15
      max: x
      holds: [{statistic: accuracy, max: value, is: < 0.15}]

A place in braces has the format of its number, ``word`` for a number in words. Keys of `WORDS` are instructions, all
others columns with the value that a line must have, or with a list of values that all must be there. See `answer`.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd

from bestarm_lab.paths import FIGURES, NOTEBOOKS, RESULTS, ROOT
from bestarm_lab.study import has_file, sections, written_in
from bestarm_lab.yaml_keys import nearest

Query = Mapping[str, Any]
COUNTED = tuple("none one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split())
KEYS = ["convention", "panel", "statistic", "x", "series", "group", "id", "name", "replication", "batch"]
COMPARISONS = {"<=": operator.le, ">=": operator.ge, "!=": operator.ne, "<": operator.lt, ">": operator.gt}


def _only(values: pd.Series) -> Any:
    if len(values) != 1:
        raise ValueError(f"{len(values)} lines; name the values of one line only")
    return values.iloc[0]


def _alike(values: pd.Series) -> Any:
    if not len(values) or (values != values.iloc[0]).any():
        raise ValueError(f"expected the same in all lines, got {values.unique().tolist()}")
    return values.iloc[0]


REDUCTIONS: dict[str, Callable[[pd.Series], Any]] = {
    "only": _only,
    "alike": _alike,
    "range": lambda values: values.max() - values.min(),
    "mean": lambda values: values.mean(),
    "median": lambda values: values.median(),
    "min": lambda values: values.min(),
    "max": lambda values: values.max(),
    "sum": lambda values: values.sum(),
    "list": lambda values: values.to_list(),
    "count": lambda values: int((values != 0).sum()),
    "share": lambda values: (values != 0).mean(),
    "all": lambda values: len(values) > 0 and bool(values.all()),
    "none": lambda values: len(values) > 0 and not values.any(),
    "any": lambda values: bool(values.any()),
    "rises": lambda values: bool(len(values) > 1 and (values.diff().dropna() > 0).all()),
    "falls": lambda values: bool(len(values) > 1 and (values.diff().dropna() < 0).all()),
    "highest": _only,
    "lowest": _only,
}
WORDS = ["from", "where", "round", "wide", "column", "by", "then", "over", "minus", "is", "each", *REDUCTIONS]


def read_table(file: Path) -> pd.DataFrame:
    """Return a table.

    Raises
    ------
    ValueError
        If there is none of this name, with the nearest one in its folder.
    """
    if not file.is_file():
        stems = [found.stem for found in sorted(file.parent.glob(f"*{file.suffix}"))]
        raise ValueError(f"there is no {file.name} in {file.parent}; {nearest(file.stem, stems)}.")
    return pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)


def narrowed(table: pd.DataFrame, name: str, line: Mapping[str, Any]) -> pd.DataFrame:
    """Return the lines of a table that have these values; see `only_line`. Of a list, each value must be there."""
    for column, wanted in line.items():
        refuse_unknown_column(table, name, column)
        rows = pd.Series(False, table.index)
        for one in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(one, str):
                texts = table[column].fillna("").astype(str)
                mine = texts == one
                if not mine.any():
                    raise ValueError(f"{name} has no {column} {one!r}; {nearest(one, texts.unique())}.")
            else:
                mine = pd.Series(np.isclose(pd.to_numeric(table[column], "coerce"), one), table.index)
                if isinstance(wanted, list) and not mine.any():
                    raise ValueError(f"{name} has no {column} {one}.")
            rows |= mine
        table = table[rows]
    return table


def only_line(table: pd.DataFrame, name: str, line: Mapping[str, Any]) -> pd.Series:
    """Return the only line of a table that has these values; an empty text is a missing value.

    Parameters
    ----------
    table : DataFrame
        With any columns.
    name : str
        Of the table, for messages.
    line : mapping
        Values by column: texts are compared as texts, numbers up to rounding.

    Raises
    ------
    ValueError
        For a column that is not there or a text that it does not have, with the nearest one; for no line or several.
    """
    table = narrowed(table, name, line)
    if len(table) != 1:
        raise ValueError(f"{name}: {len(table)} lines of {dict(line)}; name the values of one line only.")
    return table.iloc[0]


def refuse_unknown_column(table: pd.DataFrame, name: str, column: str) -> None:
    """Refuse a column that a table does not have, with the nearest one."""
    if column not in table:
        raise ValueError(f"{name} has no column {column!r}; {nearest(column, list(table.columns))}.")


def only_value(file: Path, line: Mapping[str, Any], column: str = "value") -> float:
    """Return the number in the only line of a file's table that has these values, see `only_line`."""
    table = read_table(file)
    refuse_unknown_column(table, file.name, column)
    return float(only_line(table, file.name, line)[column])


def merged(shared: Query, query: Query) -> dict[str, Any]:
    """Return a query with what others share, except a reduction where it has its own, and what it says is null."""
    own = set(REDUCTIONS) & set(query)
    whole = {key: value for key, value in shared.items() if not (own and key in REDUCTIONS)} | dict(query)
    return {key: value for key, value in whole.items() if value is not None}


def answer(table: pd.DataFrame, name: str, query: Query) -> Any:
    """Return what a query finds in a table.

    Lines are narrowed to those with the values of all columns that are named (as written, where a convention is not),
    and by ``where``, a condition of pandas; ``round`` rounds; ``wide`` makes a column of each value of one (or several)
    and puts ``column`` there. The name of one of `REDUCTIONS` then has an expression in columns, by default
    ``only: value``; ``highest`` and ``lowest`` give it at the line with the extreme value. It is found for each group
    of ``by``, in whose table ``then`` finds something; ``over`` and ``minus`` are other queries that divide or
    are subtracted, of which only the changes are said.
    """
    line = {key: value for key, value in query.items() if key not in WORDS}
    if "convention" in table:
        line.setdefault("convention", "as_written")
    if line.get("convention") == "both":
        del line["convention"]
    table = narrowed(table, name, line)
    if "where" in query:
        table = table.query(query["where"], engine="python")
    if "round" in query:
        table = table.round(query["round"])
    if "wide" in query:
        wide = [query["wide"]] if isinstance(query["wide"], str) else query["wide"]
        keys = [key for key in KEYS if key in table and key not in wide and table[key].notna().any()] or ["profile"]
        table = table.pivot(index=keys, columns=wide, values=query.get("column", "value"))
        names = (found if isinstance(found, tuple) else (found,) for found in table.columns)
        texts = [", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in parts) for parts in names]
        table = table.set_axis(texts, axis=1).reset_index()
    how = next((key for key in REDUCTIONS if key in query), "only")
    if "by" not in query:
        return _reduced(table, how, str(query.get(how, "value")), name)
    by = [query["by"]] if isinstance(query["by"], str) else query["by"]
    groups = [[*key, _reduced(mine, how, str(query[how]), name)] for key, mine in table.groupby(by)]
    return answer(pd.DataFrame(groups, columns=[*by, "value"]), name, {"convention": "both"} | query["then"])


def _reduced(table: pd.DataFrame, how: str, expression: str, name: str) -> Any:
    if how in ("highest", "lowest"):
        table = table.loc[[table["value"].idxmax() if how == "highest" else table["value"].idxmin()]]
    elif how in ("rises", "falls") and "x" in table:
        table = table.sort_values("x", kind="stable")
    try:
        found = table[expression] if expression in table else table.eval(expression, engine="python")
        return REDUCTIONS[how](found if isinstance(found, pd.Series) else pd.Series(found, table.index))
    except (NameError, SyntaxError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"{name}, {how}: {expression}: {error}.") from error


def _as_said(found: Any, wanted: Any) -> bool:
    """Return whether what was found is what a query says in ``is``: a comparison, a range, or the value itself."""
    if isinstance(wanted, str) and (between := re.fullmatch(r"(\S+) to (\S+)", wanted)):
        return bool(float(between[1]) <= found <= float(between[2]))
    if isinstance(wanted, str) and (sign := re.match("|".join(COMPARISONS), wanted)):
        return bool(COMPARISONS[sign[0]](found, float(wanted.removeprefix(sign[0]))))
    if isinstance(wanted, float):
        return bool(np.isclose(found, wanted))
    return bool(found == wanted)


def _formatted(value: Any, form: str) -> str:
    if form.lower() == "word":
        return COUNTED[round(value)].capitalize() if form == "Word" else COUNTED[round(value)]
    return format(value, form)


def _pattern(form: str) -> str:
    if form.lower() == "word":
        return r"\b[A-Za-z]+\b"
    return r"(?<![\d.])[−-]?\d+(?:,\d{3})*(?:\.\d+)?(?!\.?\d)" + "%" * form.endswith("%") if form else ".+?"


@dataclass(frozen=True)
class Quoted:
    """A sentence, or a title, with places for numbers, and what it rests on.

    Attributes
    ----------
    study, part : str
        The notebook ``notebooks/<study>/<part>.ipynb``, or a document, whose part is its path.
    text : str
        With the places.
    figure : str
        Its name, if the text is its title; else empty.
    numbers, holds : tuple of mapping
        A query for each place; and queries whose answer must be ``is``, by default true.
    """

    study: str
    part: str
    text: str
    figure: str
    numbers: tuple[Query, ...]
    holds: tuple[Query, ...]

    @property
    def file(self) -> Path:
        """Return the file with the text."""
        return ROOT / self.part if self.part.endswith(".md") else NOTEBOOKS / self.study / f"{self.part}.ipynb"

    def ask(self, query: Query, table: pd.DataFrame | None = None) -> Any:
        """Return the answer to a query, from another table than the figure's if one is given."""
        for word, combined in (("over", operator.truediv), ("minus", operator.sub)):
            if word in query:
                first = {key: value for key, value in query.items() if key != word}
                return combined(self.ask(first, table), self.ask(merged(first, query[word]), table))
        own = f"{self.part}/{self.figure}"
        name = query.get("from", own)
        if table is None or name not in (self.figure, own):
            table = table_of(self.study, self.part, name)
        return answer(table, f"{self.study}/{self.part}, {name}", query)

    def true_of(self, table: pd.DataFrame | None = None) -> bool:
        """Return whether everything holds that the text claims, and its numbers are those of its figure's table."""
        printed = [
            _formatted(self.ask(query, table), form) for query, form in zip(self.numbers, self.forms(), strict=True)
        ]
        holds = all(_as_said(self.ask(query, table), query.get("is", True)) for query in self.holds)
        return holds and printed == self.says()

    def forms(self) -> list[str]:
        """Return the format of each place."""
        return [form or "" for _, place, form, _ in Formatter().parse(self.text) if place is not None]

    def printed(self) -> list[str]:
        """Return the numbers as they should be printed."""
        return [_formatted(self.ask(query), form) for query, form in zip(self.numbers, self.forms(), strict=True)]

    def says(self) -> list[str]:
        """Return the numbers that the text has; what only holds has no text."""
        return self.found()[2] if self.text else []

    def found(self) -> tuple[str, re.Match[str], list[str]]:
        """Return the cell (or document) that has the text, where it stands there, and the numbers that it has.

        Raises
        ------
        ValueError
            If it stands nowhere, or at several places.
        """
        pattern = ""
        for words, place, form, _ in Formatter().parse(self.text):
            pattern += re.sub(r"(\\ )+", r"\\s+", re.escape(words)) + (
                "" if place is None else f"({_pattern(form or '')})"
            )
        pattern = f'"{pattern}"' if self.figure else pattern
        texts = texts_of(self.file, self.figure)
        places = [(text, match) for text in texts for match in re.finditer(pattern, text, re.DOTALL)]
        if len(places) != 1:
            raise ValueError(f"{self.study}/{self.part} has {len(places)} places of {self.text!r}; quote words of one.")
        return *places[0], [" ".join(number.split()) for number in places[0][1].groups()]

    def fault(self) -> str:
        """Return in one line what is wrong, or nothing."""
        wrong = [
            f"{query} is {found}"
            for query in self.holds
            if not _as_said(found := self.ask(query), query.get("is", True))
        ]
        says = self.says()
        numbers = [f"{said} is now {new}" for said, new in zip(says, self.printed(), strict=True) if said != new]
        return f"{self.study}/{self.part}: {self.text}: {', '.join(numbers + wrong)}" if numbers + wrong else ""

    def rewrite(self) -> None:
        """Put the numbers as they should be into the text; a title is left, since its figure is drawn from code."""
        text, match, _ = self.found()
        new = text
        for number, printed in reversed(list(enumerate(self.printed(), start=1))):
            new = new[: match.start(number)] + printed + new[match.end(number) :]
        raw = self.file.read_text(encoding="utf-8")
        if self.file.suffix == ".ipynb":
            text, new = (_in_notebook(source) for source in (text, new))
        self.file.write_text(raw.replace(text, new, 1), encoding="utf-8")
        texts_of.cache_clear()


def _in_notebook(source: str) -> str:
    """Return the text of a cell as a notebook's file has it."""
    return json.dumps(source.splitlines(keepends=True), indent=1, ensure_ascii=False).replace("\n", "\n   ")


@cache
def texts_of(file: Path, figure: str = "") -> list[str]:
    """Return the text of a document or of each markdown cell; or the code of cells that name a figure, on one line."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return [text]
    kind = "code" if figure else "markdown"
    sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == kind]
    if not figure:
        return sources
    return [" ".join(s.split()).replace('" "', "") for s in sources if f'"{figure}"' in s]


@cache
def table_of(study: str, part: str, name: str) -> pd.DataFrame:
    """Return a table of a notebook's figures, of another's (``03_adaptive/fig02``), or of a study's results."""
    if Path(name).suffix in (".csv", ".parquet"):
        table = read_table(RESULTS / study / name)
        if "decided_by" in table:  # where cells are counted: how many hold, of how many, and the bounds of their number
            counted = table["decided_by"].str.extract(r"^(\d+) of (\d+) cells, between (\d+) and (\d+)").astype(float)
            table[["hold", "cells", "least", "most"]] = counted
        return table
    return read_table(FIGURES / study / f"{name if '/' in name else f'{part}/{name}'}.csv")


def _queries(shared: Query, given: Any) -> Iterator[Query]:
    """Yield the queries of a list, each with what all share, and one for each value of ``each``."""
    for query in given if isinstance(given, list) else [given]:
        whole = merged(shared, query)
        each = whole.pop("each", {})
        for values in zip(*each.values(), strict=True) if each else [()]:
            yield whole | dict(zip(each, values, strict=True))


def quoted(study: str) -> list[Quoted]:
    """Return all that a study quotes, by notebook."""
    parts = dict(written_in(study, "quoted.yaml")) if has_file(study, "quoted.yaml") else {}
    for notebook, folder in sections(study).items():
        if has_file(study, f"{folder}/quoted.yaml"):
            parts[notebook] = written_in(study, f"{folder}/quoted.yaml")
    found = []
    for part, tables in parts.items():
        for table, entries in tables.items():
            for entry in entries:
                shared = {"from": table} | {k: v for k, v in entry.items() if k not in ("said", "title", "of", "holds")}
                text, figure = entry.get("title", entry.get("said")), table if "title" in entry else ""
                numbers = tuple(_queries(shared, entry.get("of", {}))) if "{" in text else ()
                lines = {key: value for key, value in shared.items() if key == "from" or key not in WORDS}
                holds = tuple(_queries(lines, entry.get("holds", [])))
                made = Quoted(study, part, text, figure, numbers, holds)
                if len(numbers) != len(made.forms()) or not numbers + holds:
                    raise ValueError(f"{study}/{part}: {text!r} needs a number for each place, or holds; got {entry}.")
                found.append(made)
    return found


def retell(study: str, write: bool) -> bool:
    """Say of each quoted sentence whose number is not that of its row what it should be, or write it there.

    Returns
    -------
    bool
        Whether all is said as it is.
    """
    right = True
    for entry in quoted(study):
        if fault := entry.fault():
            print(fault)
            if write and not entry.figure:
                entry.rewrite()
                fault = entry.fault()
        right &= not fault
    return right

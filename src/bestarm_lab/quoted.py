"""Numbers that texts quote, and what titles of figures claim: data, each with the lines of a table behind it.

A section's folder has a ``quoted.yaml``, or the study's root has one with a part for each notebook or document. It says
of tables (``fig02`` of the notebook's figures, ``verdicts.csv`` or ``slopes.parquet`` of the study's results)::

    fig02:
    - said: its accuracy is {:.3f}, against {:.3f} of LinUCB
      x: 16
      each: {series: [GSE-Lin-FWG, LinUCB]}
    - title: Up to a gap of 0.3 no accuracy exceeds 0.15
      holds: [{statistic: accuracy, max: value, is: < 0.15}]

A place in braces has the format of its number, ``word`` for a number in words. Keys of `WORDS` are instructions, all
others columns with the value that a line must have, or with a list of values that all must be there. See `answer`.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd

from bestarm_lab.paths import FIGURES, NOTEBOOKS, RESULTS, ROOT
from bestarm_lab.study_packages import files_of, read_file, study_names
from bestarm_lab.yaml_keys import nearest, refuse_unknown

Query = Mapping[str, Any]
COUNTED = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
UNKNOWN = "The cause is not known."
KEYS = ["convention", "panel", "statistic", "x", "series", "group", "id", "name", "replication", "batch"]
COMPARISONS = {"<=": operator.le, ">=": operator.ge, "!=": operator.ne, "<": operator.lt, ">": operator.gt}


def _only(values: pd.Series) -> Any:
    if len(values) != 1:
        raise ValueError(f"{len(values)} lines; name the values of one line only")
    return values.iloc[0]


REDUCTIONS: dict[str, Callable[[pd.Series], Any]] = {
    **{name: operator.methodcaller(name) for name in ("mean", "median", "min", "max", "sum", "any")},
    **dict.fromkeys(("only", "highest", "lowest"), _only),
    "alike": lambda values: values.iloc[0] if values.nunique(dropna=False) == 1 else values.to_list(),
    "list": lambda values: values.to_list(),
    "count": lambda values: int((values != 0).sum()),
    "share": lambda values: (values != 0).mean(),
    "all": lambda values: len(values) > 0 and bool(values.all()),
    "none": lambda values: len(values) > 0 and not values.any(),
    "rises": lambda values: bool(len(values) > 1 and (values.diff().dropna() > 0).all()),
    "falls": lambda values: bool(len(values) > 1 and (values.diff().dropna() < 0).all()),
}
WORDS = ["from", "where", "wide", "column", "by", "then", "over", "minus", "is", "each", *REDUCTIONS]


def read_table(file: Path) -> pd.DataFrame:
    """Return a table; a ValueError names the nearest one in the folder, if there is none of this name."""
    if not file.is_file():
        stems = [found.stem for found in sorted(file.parent.glob(f"*{file.suffix}"))]
        raise ValueError(f"there is no {file.name} in {file.parent}; {nearest(file.stem, stems)}.")
    return pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)


def narrowed(table: pd.DataFrame, name: str, line: Mapping[str, Any]) -> pd.DataFrame:
    """Return the lines of a table that have these values by column; of a list of values each must be there.

    An empty text is a missing value. A ValueError has the word that is nearest to one that the table does not have.
    """
    refuse_unknown(name, "column", line, table)
    for column, wanted in line.items():
        rows = pd.Series(False, table.index)
        for one in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(one, str):
                known = table[column].fillna("").astype(str)
                mine = known == one
            else:
                known = pd.to_numeric(table[column], "coerce")
                mine = pd.Series(np.isclose(known, one), table.index)
            if not mine.any() and (isinstance(one, str) or isinstance(wanted, list)):
                raise ValueError(f"{name} has no {column} {one!r}; {nearest(one, known.unique())}.")
            rows |= mine
        table = table[rows]
    return table


def merged(shared: Query, query: Query) -> dict[str, Any]:
    """Return a query with what others share, except a reduction where it has its own, and what it says is null."""
    own = any(key in REDUCTIONS for key in query)
    whole = {key: value for key, value in shared.items() if not (own and key in REDUCTIONS)} | dict(query)
    return {key: value for key, value in whole.items() if value is not None}


def answer(table: pd.DataFrame, name: str, query: Query) -> Any:
    """Return what a query finds in a table.

    Lines are narrowed to those with the values of all columns that are named (as written, where a convention is not),
    and by ``where``, a condition of pandas; ``wide`` puts ``column`` into a column for each value of one (or several).
    A word of `REDUCTIONS` has an expression in columns, by default ``only: value`` (of the line with the extreme value
    for ``highest`` and ``lowest``); with ``by`` it makes a table of groups, in which ``then`` finds something.
    ``over`` and ``minus`` say what is different in the query that divides or is subtracted.
    """
    line = {"convention": "as_written"} if "convention" in table else {}
    line |= {key: value for key, value in query.items() if key not in WORDS}
    table = narrowed(table, name, {key: value for key, value in line.items() if value != "both"})
    if "where" in query:
        table = table.query(query["where"], engine="python")
    if "wide" in query:
        wide = [query["wide"]] if isinstance(query["wide"], str) else query["wide"]
        keys = [key for key in KEYS if key in table and key not in wide and table[key].notna().any()] or ["profile"]
        table = table.pivot(index=keys, columns=wide, values=query.get("column", "value"))
        texts = [[f"{x:g}" if isinstance(x, float) else str(x) for x in np.atleast_1d(key)] for key in table.columns]
        table = table.set_axis([", ".join(parts) for parts in texts], axis=1).reset_index()
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
    return bool(np.isclose(found, wanted)) if isinstance(wanted, float) else bool(found == wanted)


def _formatted(value: Any, form: str) -> str:
    if isinstance(value, list):
        raise ValueError(f"expected the same in all lines, got {value}.")
    word = COUNTED[round(value)] if form.lower() == "word" else format(value, form)
    return word.capitalize() if form == "Word" else word


def _pattern(form: str) -> str:
    if form.lower() == "word":
        return r"(\b[A-Za-z]+\b)"
    return r"((?<![\d.])[−-]?\d+(?:,\d{3})*(?:\.\d+)?(?!\.?\d)" + "%" * form.endswith("%") + ")" if form else "(.+?)"


@dataclass(frozen=True)
class Quoted:
    """A sentence or a figure's title: a query for each number in it, and for all that must hold.

    The part is a notebook or the path of a document, in which an empty text has no single place.
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
        """Return the answer to a query; of the figure's own table, another one may be given."""
        for word, combined in (("over", operator.truediv), ("minus", operator.sub)):
            if word in query:
                first = {key: value for key, value in query.items() if key != word}
                return combined(self.ask(first, table), self.ask(merged(first, query[word]), table))
        if table is None or query["from"] != self.figure:
            table = table_of(self.study, self.part, query["from"])
        return answer(table, f"{self.study}/{self.part}, {query['from']}", query)

    def printed(self, table: pd.DataFrame | None = None) -> list[str]:
        """Return the numbers as they should be printed."""
        forms = [form for _, _, form, _ in Formatter().parse(self.text) if form is not None]
        return [_formatted(self.ask(query, table), form) for query, form in zip(self.numbers, forms, strict=True)]

    def found(self) -> tuple[str, re.Match[str]]:
        """Return the cell (or document) that has the text, and where; a ValueError says that it has no place or two."""
        pieces = [(re.sub(r"(\\ )+", r"\\s+", re.escape(p[0])), p[2]) for p in Formatter().parse(self.text)]
        pattern = "".join(words + ("" if form is None else _pattern(form)) for words, form in pieces)
        pattern = f'"{pattern}"' if self.figure else pattern
        cells = texts_of(self.file, self.figure)
        places = [(text, match) for text in cells for match in re.finditer(pattern, text, re.DOTALL)]
        if len(places) != 1:
            raise ValueError(f"{self.study}/{self.part} has {len(places)} places of {self.text!r}; quote words of one.")
        return places[0]

    def filled(self) -> str:
        """Return the sentence with its numbers; a ValueError says what must hold and does not."""
        if wrong := self._broken():
            raise ValueError(f"{self.study}/{self.part}: {self.text}: {', '.join(wrong)}")
        printed = iter(self.printed())
        pieces = Formatter().parse(self.text)
        return "".join(words + ("" if form is None else next(printed)) for words, _, form, _ in pieces)

    def _broken(self, table: pd.DataFrame | None = None) -> list[str]:
        answers = [(query, self.ask(query, table)) for query in self.holds]
        return [f"{query} is {found}" for query, found in answers if not _as_said(found, query.get("is", True))]

    def fault(self, table: pd.DataFrame | None = None) -> str:
        """Return in one line what is wrong, or nothing; of the figure's own table, another one may be given."""
        says = [" ".join(number.split()) for number in self.found()[1].groups()] if self.text else []
        wrong = [f"{old} is now {new}" for old, new in zip(says, self.printed(table), strict=True) if old != new]
        wrong += self._broken(table)
        return f"{self.study}/{self.part}: {self.text}: {', '.join(wrong)}" if wrong else ""

    def rewrite(self) -> None:
        """Put the numbers as they should be into the text."""
        text, match = self.found()
        new = text
        for number, printed in reversed(list(enumerate(self.printed(), start=1))):
            new = new[: match.start(number)] + printed + new[match.end(number) :]
        if self.file.suffix == ".ipynb":  # as Jupyter writes a cell
            lines = (json.dumps(cell.splitlines(keepends=True), indent=1, ensure_ascii=False) for cell in (text, new))
            text, new = (cell.replace("\n", "\n   ") for cell in lines)
        self.file.write_text(self.file.read_text(encoding="utf-8").replace(text, new, 1), encoding="utf-8")
        texts_of.cache_clear()


@cache
def texts_of(file: Path, figure: str = "") -> list[str]:
    """Return the text of a document or of each markdown cell; or the code of cells that name a figure, on one line."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return [text]
    kind = "code" if figure else "markdown"
    sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == kind]
    return [" ".join(s.split()).replace('" "', "") for s in sources if f'"{figure}"' in s] if figure else sources


@cache
def table_of(study: str, part: str, name: str) -> pd.DataFrame:
    """Return a table of a notebook's figures, of another's (``03_adaptive/fig02``), or of a study's results.

    Of two files of rows that at the paper's own scale, which decides, is to be named (ValueError).
    """
    if Path(name).suffix not in (".csv", ".parquet"):
        return read_table(FIGURES / study / f"{name if '/' in name else f'{part}/{name}'}.csv")
    if (RESULTS / study / "paper" / name).is_file():
        raise ValueError(f"{study}/{name} has fewer runs than decide; quote paper/{name}.")
    table = read_table(RESULTS / study / name)
    if "decided_by" in table:  # where cells are counted: how many hold, of how many
        table[["hold", "cells"]] = table["decided_by"].str.extract(r"^(\d+) of (\d+) cells").astype(float)
    return table


def _queries(shared: Query, given: Any) -> Iterator[Query]:
    """Yield the queries of a list, each with what all share, and one for each value of ``each``."""
    for query in given if isinstance(given, list) else [given]:
        whole = merged(shared, query)
        each = whole.pop("each", {})
        for values in zip(*each.values(), strict=True) if each else [()]:
            yield whole | dict(zip(each, values, strict=True))


@cache
def quoted(study: str) -> list[Quoted]:
    """Return all that a study quotes, by notebook."""
    parts: dict[str, Any] = {}
    for notebook, file in files_of(study, "quoted.yaml"):
        read = read_file(study, file)
        parts |= {notebook: read} if notebook else read
    lines = [(part, table, entry) for part, tables in parts.items() for table in tables for entry in tables[table]]
    return [_entry(study, *line) for line in lines]


def _entry(study: str, part: str, table: str, entry: Mapping[str, Any]) -> Quoted:
    text = entry.get("title", entry.get("said"))
    shared = {"from": table} | {key: entry[key] for key in entry if key not in ("said", "title", "of", "holds")}
    numbers = tuple(_queries(shared, entry.get("of", {}))) if "{" in text else ()
    lines = {key: value for key, value in shared.items() if key == "from" or key not in WORDS}
    holds = tuple(_queries(lines, entry.get("holds", [])))
    if len(numbers) != text.count("{") or not numbers + holds:
        raise ValueError(f"{study}/{part}: {text!r} needs a number for each place, or what holds; got {dict(entry)}.")
    return Quoted(study, part, text, table if "title" in entry else "", numbers, holds)


def reason(study: str, notebook: str, because: Query) -> str:
    """Return why a claim was not confirmed: its ledger's ``because``, an entry as above whose table is ``from``."""
    if because["said"] == UNKNOWN:
        return UNKNOWN
    given = {key: value for key, value in because.items() if key not in ("from", "figure")}
    return _entry(study, notebook, because["from"], given).filled()


def retell(studies: Sequence[str], write: bool) -> bool:
    """Print each sentence whose number is not that of its row, or write it; titles need their figures drawn anew."""
    right = True
    for entry in [entry for study in studies or study_names() for entry in quoted(study)]:
        try:
            if fault := entry.fault():
                print(fault)
                if write and not entry.figure:
                    entry.rewrite()
                    fault = entry.fault()
        except ValueError as error:
            print(fault := str(error))
        right &= not fault
    return right

"""Tables as laboratories have them: the roles of their columns, and texts as numbers by one grammar.

A rule is applied and counted, by a sentence among the notes, or the table is refused by a `ValueError` of one line
with the value, the rule and the remedy; nothing is dropped in silence. The roles: one column of names (`name_column`),
one of rewards or several of replicates, and whatever else there is, which describes candidates.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import BoolArray, FloatArray
from bestarm.models.finite_gp import LARGEST_REWARD

FAILED = ("", "na", "n/a", "nan", "none", "failed")  # a result, or a feature, that is not there; in any case of letters
NOT_DONE = ("not done", "not_done", "notdone")  # an experiment that never ran
LARGEST_PHENOTYPE = 1e75
_NAMES = ("name", "arm", "gene", "candidate")  # headers of the column with the names
_SUMMARIES = {
    "total", "totals", "sum", "mean", "average", "median", "sd", "stdev", "gesamt", "summe", "mittelwert", "totaux",
}  # fmt: skip
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_LIMIT = re.compile(r"[<>≤≥]=?\s*[+-]?[\d.,]+")


def name_column(header: Container[Any], first: str = "name") -> str | None:
    """Return the column with the names: ``first``, or one of ``name``, ``arm``, ``gene`` and ``candidate``."""
    return next((word for word in (first, *_NAMES) if word in header), None)


def names_place(header: Sequence[str]) -> int:
    """Return the place of the names in a text file: those of genes come first, and without any it is the first one."""
    column = name_column(header, "gene")
    return 0 if column is None else header.index(column)


def read_rows(path: Path, notes: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the header of a table, then its rows, with their line numbers.

    The separator is a comma, or a tab or semicolon where the header has no comma; then numbers may have decimal
    commas. Empty lines are left out, as is the line ``sep=;`` that some spreadsheets write first.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder, no file; name the table in it.")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            place, head = 0, file.readline()
            if head.startswith("PK\x03\x04"):
                raise ValueError(f"{path} is a spreadsheet or another archive, no text; save it as CSV (UTF-8).")
            if head.lower().startswith("sep="):
                place, head = file.tell(), file.readline()
            separator = next((s for s in (",", "\t", ";") if s in head), ",")
            file.seek(place)
            yield from _checked_rows(path, csv.reader(file, delimiter=separator), separator != ",")
    except FileNotFoundError:
        raise ValueError(
            f"there is no file {path}; write one, names in the first column and a header above them."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text in UTF-8; save it as CSV (UTF-8), not as a spreadsheet.") from None
    with open(path, "rb") as raw:
        raw.seek(-1, os.SEEK_END)
        if raw.read() not in (b"\n", b"\r"):
            notes.append(f"{path.name}: the last line has no end; it is taken as it is, check that the file is whole.")


def _checked_rows(path: Path, reader: Any, commas: bool) -> Iterator[tuple[int, list[str]]]:
    header: list[str] = []
    decimals: dict[str, tuple[str, str]] = {}
    name, line, last = 0, 0, ""
    try:
        for parts in reader:
            if not any(map(str.strip, parts)):
                continue
            if not header:
                header = [part.strip() for part in parts]
                name = names_place(header)
                if odd := [each for i, each in enumerate(header) if each == "" or each in header[:i]]:
                    raise ValueError(
                        f"{path}: the column name {odd[0]!r} is empty or there twice; give each column its own name."
                    )
                yield reader.line_num, header
                continue
            if len(parts) != len(header):
                raise ValueError(
                    f"{path}, line {reader.line_num}: {len(parts)} fields where the header has {len(header)}; complete "
                    "the row. A half-written file ends so: write it again."
                )
            line, last = reader.line_num, parts[name].strip()
            if commas:
                parts = [
                    part if i == name else _pointed(path, part, header[i], decimals) for i, part in enumerate(parts)
                ]
            yield line, parts
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}; save it again as CSV.") from None
    if not header:
        raise ValueError(f"{path} is empty; it needs a header, such as name,reward. Is it half-written?")
    refuse_summary(f"{path}, line {line}", last)


def _pointed(path: Path, part: str, column: str, decimals: dict[str, tuple[str, str]]) -> str:
    """Return a text with a point in place of a decimal comma; ``decimals`` has the kind of each column seen so far."""
    text = part.strip()
    kind = "comma" if _COMMA.fullmatch(text) else "point" if _POINT.fullmatch(text) else ""
    if not kind:
        return part
    before, example = decimals.setdefault(column, (kind, text))
    if kind != before:
        raise ValueError(
            f"{path}: column {column!r} has {example!r} and {text!r}, decimal commas and decimal points; write all of "
            "its numbers in one way."
        )
    return text.replace(",", ".") if kind == "comma" else part


def refuse_summary(where: str, last: str) -> None:
    """Refuse the last row of a table if it is called as a sum of the others is."""
    if last.casefold().rstrip(":") in _SUMMARIES:
        raise ValueError(
            f"{where}: the last row is called {last!r}, as a spreadsheet's summary is; delete it, or give the "
            "candidate another name."
        )


def label_of(value: Any) -> str:
    """Return a name as text, empty where there is none; a whole number among gaps has become a float."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def listed(names: Sequence[Any]) -> str:
    """Return a few names in words."""
    return ", ".join(map(str, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def counted(n: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{n} {what}" + ("" if n == 1 else "s")


def names_in(names: Any, what: str) -> list[str]:
    """Return names of candidates from a list, or a table with a column (or the index) of names."""
    if isinstance(names, pd.DataFrame):
        column = name_column(names)
        names = names.index if column is None else names[column]
    if isinstance(names, str):
        raise ValueError(f"{what} must be a list of names or a table, got {names!r}; write [{names!r}].")
    if not isinstance(names, Iterable):
        raise ValueError(f"{what} must be a list of names or a table, got {names!r}; give the names in a list.")
    found = [label_of(name) for name in names]
    if "" in found:
        raise ValueError(f"name {1 + found.index('')} of {what} is empty; leave it out.")
    return found


def unknown_names(names: Sequence[str], there: Container[str]) -> None:
    """Refuse measurements of what is no candidate."""
    if unknown := [name for name in dict.fromkeys(names) if name not in there]:
        raise ValueError(
            f"{listed(unknown)} is no candidate; correct the name, give it to add_candidates, or leave controls out by "
            "unknown='ignore'."
        )


@dataclass(frozen=True)
class Measurements:
    """Measurements, one a row: what was measured, its reward (NaN where it failed), and whether it was done at all."""

    names: list[str]
    values: FloatArray
    done: BoolArray
    table: pd.DataFrame  # the rows as they were given


def measurements(table: Any) -> Measurements:
    """Return what a DataFrame or a CSV file says, with a column (or the index) of names and a column ``reward``.

    A reward that is empty, NA, NaN or ``failed`` is a measurement that failed, ``not done`` one that was not tried.
    Rows without name and reward are left out.
    """
    file = isinstance(table, str | Path)
    if file:
        rows = read_rows(Path(table), [])
        _, header = next(rows)
        table = pd.DataFrame([parts for _, parts in rows], columns=header)
        if "reward" in table and name_column(header) is None:
            table = table.rename(columns={header[0]: "name"})
    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"tell wants the table that ask returned, rewards filled in, got {type(table).__name__}.")
    column, given = name_column(table), ", ".join(map(str, table.columns))
    if column is None and table.index.name is None and isinstance(table.index, pd.RangeIndex) and len(table):
        missing = "name" if "reward" in table else "name and reward"
        raise ValueError(f"the table has no column {missing}; it has: {given}.")
    if "reward" not in table:
        raise ValueError(f"the table has no column reward; it has: {given}.")
    rewards = [str(c) for c in table.columns if re.match(r"rewards?([ _.]?\d+)?$", str(c), re.IGNORECASE)]
    if len(rewards) > 1:
        raise ValueError(
            f"the table has two columns of rewards, {' and '.join(rewards[:2])}; keep one, or give measurements again "
            "as rows."
        )
    if twice := [str(c) for c in table.columns[table.columns.duplicated()]]:
        raise ValueError(f"the table has two columns {twice[0]!r}; keep one.")
    labels = [label_of(label) for label in (table.index if column is None else table[column])]
    texts = [text_of(value) for value in table["reward"]]
    kept = [i for i, (label, text) in enumerate(zip(labels, texts, strict=True)) if label or text not in ("", "nan")]
    if nameless := [texts[i] for i in kept if not labels[i]]:
        raise ValueError(f"the reward {nameless[0]} has no name; name it or delete the row.")
    names, texts = [labels[i] for i in kept], [texts[i] for i in kept]
    done = np.array([text.lower() not in NOT_DONE for text in texts], dtype=np.bool_)
    values = _rewards(names, texts, commas=not file)  # the reader has read those of files
    return Measurements(names, values, done, table.iloc[kept])


def text_of(value: Any) -> str:
    """Return a cell as text, empty where it is a gap."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    is_float = isinstance(value, float | np.floating | np.integer) or (isinstance(value, int) and abs(value) < 10**300)
    return repr(float(value)) if is_float else " ".join(str(value).split())


def _value(text: str, whose: str) -> float | None:
    """Return a measurement, NaN where it failed and None where it is no number; a limit of detection is refused."""
    if text.lower() in FAILED:
        return float("nan")
    if _LIMIT.fullmatch(text):
        raise ValueError(
            f"{whose} is {text!r}, beyond what can be measured; give the limit itself as a number, or leave it empty, "
            "which counts as failed."
        )
    try:
        return float(text)
    except ValueError:
        return None


def _rewards(names: Sequence[str], texts: Sequence[str], commas: bool) -> FloatArray:
    commas = commas and not any("." in text for text in texts if not text.lower().islower())
    with_comma = [text for text in texts if _COMMA.fullmatch(text)]
    if commas and with_comma and all(_THOUSANDS.fullmatch(text) for text in with_comma):
        raise ValueError(
            f"a reward is written {with_comma[0]!r}, whose comma may stand before decimals or after thousands; give "
            "numbers with decimal points."
        )
    found = np.full(len(texts), np.nan)
    for i, (name, text) in enumerate(zip(names, texts, strict=True)):
        if text.lower() in NOT_DONE:
            continue
        pointed = text.replace(",", ".") if commas and _COMMA.fullmatch(text) else text
        value = _value(pointed, f"the reward of {name}")
        if value is None:
            raise ValueError(
                f"a reward must be a number, or empty where it failed, got {text!r} for {name}; correct it."
            )
        if np.isinf(value):
            raise ValueError(f"rewards must be numbers, or empty where it failed, got an infinite one for {name}.")
        if abs(value) > LARGEST_REWARD:
            raise ValueError(f"rewards must be at most {LARGEST_REWARD:g} in size, got {text} for {name}; rescale.")
        found[i] = value
    return found


def read_wells(path: str | Path, columns: Sequence[str], notes: list[str]) -> tuple[list[str], FloatArray]:
    """Return the gene of each well and its measurements, shape (n_wells, n_columns), NaN where it failed.

    The columns of measurements are replicates of each other; without any it is ``phenotype``, or the only one beside
    the names. A phenotype ``not done`` is as if there were no row: the well was not tried.
    """
    path = Path(path)
    rows = read_rows(path, notes)
    _, header = next(rows)
    name = names_place(header)
    wanted = list(columns) or (["phenotype"] if "phenotype" in header or len(header) != 2 else [header[1 - name]])
    if missing := [c for c in wanted if c not in header]:
        raise ValueError(
            f"{path} has no column {missing[0]!r}; it has: {', '.join(header)}. Name the measurements by --phenotype."
        )
    genes, found = [], []
    for line, parts in rows:
        texts = [parts[header.index(c)].strip() for c in wanted]
        if any(text.lower() in NOT_DONE for text in texts):
            continue
        gene = parts[name].strip()
        if not gene:
            raise ValueError(f"{path}, line {line}: a well without a gene; name it or delete the row.")
        whose = f"{path}, line {line}: the phenotype of {gene}"
        values = [_value(text, whose) for text in texts]
        for text, value in zip(texts, values, strict=True):
            if value is None or abs(value) > LARGEST_PHENOTYPE or (value != value and text.lower() not in FAILED):
                raise ValueError(
                    f"{whose} is {text!r}; it must be a number, or empty where the well failed. Correct it."
                )
        genes.append(gene)
        found.append(values)
    return genes, np.array(found, dtype=np.float64).reshape(len(genes), len(wanted))


def averaged(genes: Sequence[str | None], wells: FloatArray) -> tuple[dict[str, float], float]:
    """Return the mean of each gene's wells that did not fail, and the pooled deviation of one well within its gene.

    A well without a gene of the features (None) does not count.
    """
    by_gene: dict[str, list[float]] = {}
    for gene, row in zip(genes, wells, strict=True):
        if gene is not None:
            by_gene.setdefault(gene, []).extend(float(v) for v in row if not np.isnan(v))
    squares = sum(float(((np.array(v) - np.mean(v)) ** 2).sum()) for v in by_gene.values() if v)
    freedom = sum(len(v) - 1 for v in by_gene.values() if v)
    means = {gene: float(np.mean(v)) if v else float("nan") for gene, v in by_gene.items()}
    return means, float(np.sqrt(squares / freedom)) if freedom > 0 else float("nan")

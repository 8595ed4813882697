"""A reader of tables as laboratories have them: text from any spreadsheet, every odd part counted or refused.

A rule is applied and counted (`Notes`), or the file is refused in one line with the value, the rule and the remedy;
nothing is dropped in silence.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FAILED = ("", "na", "n/a", "nan", "none", "failed")  # a result, or a feature, that is not there; in any case of letters
NOT_DONE = ("not done", "not_done", "notdone")  # an experiment that never ran
_NAMES = ("gene", "name", "arm", "candidate")  # headers of the column with the names, else the first column
_SUMMARIES = {
    "total", "totals", "sum", "mean", "average", "median", "sd", "stdev", "gesamt", "summe", "mittelwert", "totaux",
}  # fmt: skip
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")


@dataclass
class Notes:
    """What was done about odd parts of the files, one sentence each."""

    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Keep a sentence."""
        self.lines.append(text)


def name_column(header: Sequence[str]) -> int:
    """Return the place of the column with the names: ``gene``, ``name``, ``arm`` or ``candidate``, else the first."""
    return next((header.index(word) for word in _NAMES if word in header), 0)


def read_rows(path: Path, notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """Yield the header of a table, then its rows, with their line numbers.

    The separator is a comma, or a tab or semicolon where the header has no comma; then numbers may have decimal
    commas. Empty lines are left out, as is the line ``sep=;`` that some spreadsheets write first.

    Raises
    ------
    ValueError
        For a missing or empty file, one that is no UTF-8 text, a column without a name or with that of another, a
        row with another number of fields than the header, as at the end of a half-written file, a column with both
        decimal commas and decimal points, or a last row that is the sum of the others.
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
            notes.add(f"{path.name}: the last line has no end; it is taken as it is, check that the file is whole.")


def _checked_rows(path: Path, reader: Any, commas: bool) -> Iterator[tuple[int, list[str]]]:
    header: list[str] = []
    name, line, last = 0, 0, ""
    decimals = _Decimals(path)
    try:
        for parts in reader:
            if not any(map(str.strip, parts)):
                continue
            if not header:
                header = parts = [part.strip() for part in parts]
                name = name_column(header)
                if "" in header or len(set(header)) < len(header):
                    odd = next((name for i, name in enumerate(header) if name == "" or name in header[:i]), "")
                    raise ValueError(
                        f"{path}: the column name {odd!r} is empty or there twice; give each column its own name."
                    )
                yield reader.line_num, parts
                continue
            if len(parts) != len(header):
                raise ValueError(
                    f"{path}, line {reader.line_num}: {len(parts)} fields where the header has {len(header)}; complete "
                    "the row. A half-written file ends so: write it again."
                )
            line, last = reader.line_num, parts[name].strip()
            yield line, decimals.pointed(parts, header, name) if commas else parts
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}; save it again as CSV.") from None
    if not header:
        raise ValueError(f"{path} is empty; it needs a header, such as name,reward. Is it half-written?")
    refuse_summary(f"{path}, line {line}", last)


def refuse_summary(where: str, last: str) -> None:
    """Refuse the last row of a table if it is called as a sum of the others is.

    Raises
    ------
    ValueError
        With its name.
    """
    if last.casefold().rstrip(":") in _SUMMARIES:
        raise ValueError(
            f"{where}: the last row is called {last!r}, as a spreadsheet's summary is; delete it, or give the "
            "candidate another name."
        )


class _Decimals:
    """Decimal commas in the columns of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: dict[str, tuple[str, str]] = {}

    def pointed(self, parts: list[str], header: Sequence[str], name: int) -> list[str]:
        """Return a row with points in place of decimal commas."""
        found = []
        for place, part in enumerate(parts):
            text = part.strip()
            if place == name or not ("," in text or "." in text):
                found.append(part)
                continue
            kind = "comma" if _COMMA.fullmatch(text) else "point" if _POINT.fullmatch(text) else ""
            before, example = self.seen.get(header[place], (kind, text))
            if kind and before and kind != before:
                raise ValueError(
                    f"{self.path}: column {header[place]!r} has {example!r} and {text!r}, decimal commas and decimal "
                    "points; write all of its numbers in one way."
                )
            if kind:
                self.seen.setdefault(header[place], (kind, text))
            found.append(text.replace(",", ".") if kind == "comma" else part)
        return found


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

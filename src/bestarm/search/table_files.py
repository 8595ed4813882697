"""Tables of files (CSV of any dialect, Excel, Parquet) and frames; the layout of texts is read off the first rows."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import cache
from itertools import islice, pairwise, zip_longest
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd

from bestarm.search.columns import REMARKS, error_columns, identifies
from bestarm.search.number_texts import (
    DATE,
    GAP_HINTS,
    GAPS,
    NO_RESULTS,
    NumberText,
    plain_floats,
    refuse_texts_beside,
    tidy,
)

_Rows = Sequence[tuple[int, list[str]]]  # lines, and cells
_FIRST = 200  # rows that decide the layout
_SEPARATORS = ("\t", ";", ",", "|")  # in this order where several fit: a comma may stand within numbers and words
_EXCEL = (".xlsx", ".xlsm")
_NO_TEXT = (b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0", b"PAR1")
_UNITS_OF = ("", "-", "unit", "units", "einheit", "einheiten")  # what a row of units has for the names
_NAMES = ("name", "candidate", "arm", "gene", "id")
_NOTHING = {*GAPS, *GAP_HINTS, *NO_RESULTS}  # is known of a cell
_NO_UNITS = _NOTHING - {"", "-", "."}
_DAY = r"\d+([./-])\d+\1\d"
_GUARDED = re.compile(r'="(.*)"')  # so that a spreadsheet takes a cell for a text
_RULE = re.compile(r":?-{3,}:?")  # below the header of a table in Markdown
_TEXT = r'(?:"[^"]*"|\\.|[_*].|\[(?![<>=])[^]]*]|[^]0#?.,;/"\\@[_*])'  # of a format, in which conditions begin with <
_FORMAT = re.compile(rf"({_TEXT}*?)(General|@|\.?[0#?](?:,?[0#?]|\.)*(?:E[+-]0+)?)({_TEXT}*)(?:;.*)?")
_MONEY = re.compile(r"((?:CHF|EUR|USD|GBP|S?Fr|kr|[A-Z]{0,2}[$€£])\.?)")
_IDLE = " \u00a0()-–—¥₩₹"  # around numbers in a format


@dataclass
class Table:
    """The texts of a file, or the columns of a frame."""

    where: str  # the file
    header: list[str]  # of which one may be empty, that of the names
    lines: Sequence[int]  # of the rows in the file, or the rows of the frame, from 1 on
    columns: list[Any]  # lists of texts, or series of a frame
    semicolons: bool = False  # between the columns
    numbers: set[tuple[int, int]] = field(default_factory=set)  # lines and columns that a spreadsheet holds as numbers
    index: Any = None  # of a frame
    named: bool = False  # whether the index has names

    @property
    def prefix(self) -> str:
        """What a sentence about a file begins with; nothing of a frame."""
        return f"{Path(self.where).name}: " if self.index is None else ""

    @property
    def line(self) -> str:
        return "line" if self.index is None else "row"

    def row(self, place: int) -> str:
        """Return what a row is called."""
        return f"{self.where}, {self.line} {self.lines[place]}"

    def at(self, rows: Sequence[int]) -> dict[str, Any]:
        """Return the cells of some rows by header."""
        columns = ([c[i] for i in rows] if isinstance(c, list) else c.iloc[rows] for c in self.columns)
        return dict(zip(self.header, columns, strict=True))


def read_table(source: Any, notes: list[str]) -> Table | None:
    """Return the table in a file, in a DataFrame or in that of another library; None for anything else."""
    if isinstance(source, str | Path):
        if (path := Path(source)).suffix.lower() not in (".parquet", ".pq"):
            return read_table_file(path, notes)
        source = _read_parquet(path)
    elif hasattr(source, "to_pandas"):
        source = source.to_pandas()
    if not isinstance(source, pd.DataFrame):
        return None
    labels = [" ".join(map(str, c)).strip() if isinstance(c, tuple) else str(c) for c in source.columns]
    labels = [" ".join(label.split()) if "\n" in label else label for label in labels]
    header = pd.Index(["" if label == "Unnamed: 0" else label for label in labels], dtype=object)
    if header.has_duplicates:
        raise ValueError(f"the table has two columns {header[header.duplicated()][0]!r}; keep one, or rename one.")
    columns = [column for _, column in source.set_axis(header, axis=1).items()]
    for label, column in zip(header, columns, strict=True):
        if column.dtype == object:
            refuse_texts_beside("the table", label, column)
    if source.index.nlevels > 1:
        notes.append("names: texts of the levels of the index together; a column `name` would be taken in their place.")
    named = source.index.name is not None or not pd.api.types.is_integer_dtype(source.index.dtype)
    return Table("the table", [*header], range(1, len(source) + 1), columns, index=source.index, named=named)


def read_table_file(path: Path, notes: list[str]) -> Table:
    """Return the table in a CSV file, or of an Excel file the first that names candidates; what was left out is noted.

    The separator (tab, semicolon, comma or bar) and the header are those under which the first 200 rows have one number
    of fields, the most. Titles, comments, blank lines, a row of units below the header, and columns without header and
    content are left out and said. The line ``sep=;`` that some spreadsheets write first is obeyed. A file that is not
    there, no text, or has a row of another length, is refused in one line.
    """
    if "\n" in str(path):
        raise ValueError("a table is read from a file, got its text; write it to one and give the name.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, no file; name the table in it.")
    if not path.exists():
        raise ValueError(f"there is no file {path}; write one, names in the first column and a header above them.")
    if path.suffix.lower() in _EXCEL:
        return _read_excel(path, notes)
    if (content := path.read_bytes()).startswith(_NO_TEXT):
        raise ValueError(f"{path} is a spreadsheet or an archive, no text; save it as CSV (UTF-8) or as .xlsx.")
    try:
        text = content.decode("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text in UTF-8; save it as CSV (UTF-8), not as a spreadsheet.") from None
    text = text.replace("\ufeff", "")  # of each of several files that were put together
    if re.match(r"\s*(?:\{|\[\s*\{|<[a-z!?])", text, re.IGNORECASE):  # <> stands in a corner of plates
        raise ValueError(f"{path} is JSON, XML or a page of the web, no table; save it as CSV (UTF-8).")
    if "\0" in text:
        raise ValueError(f"{path} has the character U+0000, as UTF-16 without its mark has; save it as CSV (UTF-8).")
    return _read_text(path, text, notes)


def _read_parquet(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise ValueError(f"there is no file {path}; write one, a column `name` and columns that describe it.")
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise ImportError("Parquet files are read with pyarrow: pip install pyarrow", name="pyarrow") from None
    except Exception as error:  # whatever pyarrow raises for a file that is none
        kind = type(error).__name__
        raise ValueError(f"{path} is no Parquet file, or it is damaged ({kind}); write it again.") from None


def _read_text(path: Path, text: str, notes: list[str]) -> Table:
    first, _, rest = text.partition("\n" if "\n" in text else "\r")
    given, skipped = "", 0
    if (told := re.fullmatch(r'\s*"?sep=([^"\r])"?\s*', first, re.IGNORECASE)) is not None:
        given, text, skipped = told[1], rest, 1
    fits = {s: _layout(_rows_of(path, text, s, _FIRST)) for s in ((given,) if given else _SEPARATORS)}
    separator = max(fits, key=fits.__getitem__)
    (_, above, named, width), rows = fits[separator], _rows_of(path, text, separator)
    above = -above
    if not rows:
        raise ValueError(f"{path} is empty; it needs a header, such as name,reward. Is it half-written?")
    if above and not named and len(rows[above - 1][1]) == 1:
        title, words = rows[above - 1][1][0], not any(_has_numbers(parts) for _, parts in rows[above : above + 2])
        others = [title.split(sign) for sign in _SEPARATORS if title.count(sign) == width - 1]
        if not title.lstrip().startswith("#") and any(words or _has_names(parts) for parts in others):
            raise _other_separator(path, title)
    _say_above(path.name, rows[:above], notes)
    found = _rectangle(path, rows[above:], skipped, notes, separator)
    found.semicolons = separator == ";"
    if text[-1] not in "\r\n":
        notes.append(f"{path.name}: the last line has no end; it is taken as it is, check that the file is whole.")
    return found


def _rows_of(path: Path, text: str, separator: str, most: int | None = None) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    try:
        read = ((reader.line_num, [_GUARDED.sub(r"\1", part) for part in parts]) for parts in reader if any(parts))
        return list(islice((row for row in read if any(map(str.strip, row[1]))), most))
    except csv.Error as error:
        if most is not None:
            return []
        raise ValueError(f"{path}, line {reader.line_num}: {error}; save it again as CSV.") from None


def _layout(rows: _Rows) -> tuple[float, int, bool, int]:
    """Return the share of rows of the usual length, minus rows above the header, whether it has names, and fields."""
    widths = [len(parts) for _, parts in rows]
    if len(rows) > 1 and all(len(parts) == widths[0] + 1 and not parts[-1].strip() for _, parts in rows[1:]):
        widths[1:] = widths[:1] * (len(rows) - 1)  # rows that end with a separator, as the header does not
    if not widths:
        return 0.0, 0, False, 0
    plain = [w for w, (_, parts) in zip(widths, rows, strict=True) if not parts[0].lstrip().startswith("#")] or widths
    usual = max(set(plain), key=lambda w: (plain.count(w), w))
    above = next(i for i, w in enumerate(widths) if w == usual)
    below = widths[above:]
    comments = sum(parts[0].lstrip().startswith("#") for _, parts in rows[:above])
    if above and comments < above and (usual < 2 or _has_numbers(rows[above][1])):
        above, below = comments, widths[comments:]  # what stands above is a header that lacks fields, no title
        if usual - below[0] == 1 and len(below) > 1:
            return 0.99 - (len(below) - 1 - below[1:].count(usual)) / len(below), -above, False, usual
    while len(below) > 2 and rows[above][1][0].lstrip().startswith("#") and not _has_numbers(rows[above + 1][1]):
        above, below = above + 1, below[1:]
    share = below.count(usual) / len(below)
    return share if usual > 1 else share / 4, -above, _has_names(rows[above][1]), usual


def _has_names(header: Sequence[str]) -> bool:
    return any(label.strip().casefold() in _NAMES for label in header)


def _has_numbers(parts: Sequence[str]) -> bool:
    return any(plain_floats([part.strip().replace(",", ".")]) is not None for part in parts if part.strip())


def _say_above(file: str, rows: _Rows, notes: list[str], where: str = "above") -> None:
    for _, parts in rows:
        notes.append(f"{file}: {' '.join(filter(None, map(str.strip, parts)))[:60]!r} {where} the header, left out.")


def _rectangle(path: Path, rows: _Rows, skipped: int, notes: list[str], separator: str, numbers: Any = ()) -> Table:
    """Return rows of one length as columns; the first row is the header."""
    head = [" ".join(tidy(part).split()) for part in rows[0][1]]
    head[0] = head[0].removeprefix("#").strip() or head[0]
    marked = sum(parts[0].startswith("#") for _, parts in rows[1:]) > 1  # names, not comments
    body = [row for row in rows[1:] if not _is_comment(row[1], len(head), marked)]
    if n := len(rows) - 1 - len(body):
        notes.append(f"{path.name}: {n} line{'s' * (n > 1)} of comment left out.")
    if title := _title([(rows[0][0], head), *body], separator):
        _say_above(path.name, [rows[0], *body[: title - 1]], notes)
        head, body = [" ".join(tidy(part).split()) for part in body[title - 1][1]], body[title:]
    longest = max((len(parts) for _, parts in body), default=0)
    while len(head) > max(longest, 1) and not head[-1]:
        head.pop()
    folded = [label.casefold() for label in head]
    if again := [row for row in body if [" ".join(tidy(part).split()).casefold() for part in row[1]] == folded]:
        notes.append(f"{path.name}, line {again[0][0] + skipped}: the header once more, left out.")
        body = [row for row in body if row not in again]
    for at in (i for i, label in enumerate(folded) if label in _NAMES):
        for line, parts in body:
            if "".join(parts[at : at + 1]).strip().casefold() == folded[at]:
                said = f"{folded[at]!r} in the column {head[at]!r}, as the header of a second table has"
                raise ValueError(f"{path}, line {line + skipped}: {said}; give each table its own file.")
    longer = all(len(parts) == len(head) + 1 and parts[-1].strip() for _, parts in body)
    if longer and len(body) > 1 and not _has_names(head):
        _refuse_other_layouts(path, rows[0][1], [parts for _, parts in body], separator)
        head = ["", *head]  # a header without a word for the names, as R writes it
        notes.append(f"{path.name}: the header has a field less than the rows, whose first one has the names.")
    for at, (line, parts) in enumerate(body):
        if len(parts) > len(head) and not any(map(str.strip, parts[len(head) :])):
            del parts[len(head) :]
        if len(parts) != len(head):
            last = "A text with a separator in it stands in quotes."
            last = "A half-written file ends so: write it again." if at == len(body) - 1 else last
            rule = f"{len(parts)} fields where the header has {len(head)}; complete the row. {last}"
            raise ValueError(f"{path}, line {line + skipped}: {rule}")
        inside = [part for part in parts if "\n" in part]
        if inside and inside[0].count(separator or "\0") == inside[0].count("\n") * (len(head) - 1) > 0:
            what = f"a quotation mark that opens above takes whole rows into one cell, {inside[0][:20]!r}"
            raise ValueError(f"{path}, line {line + skipped}: {what}; delete it, or write it twice within quotes.")
    columns = [list(column) for column in zip(*(parts for _, parts in body), strict=True)] or [[] for _ in head]
    lines = [line + skipped for line, _ in body]
    if len(lines) > 2 and _are_units(columns):
        _say_above(path.name, body[:1], notes, "below")
        lines, columns = lines[1:], [column[1:] for column in columns]
    return _checked(Table(str(path), head, lines, columns, numbers=set(numbers)), path.name, notes)


def _refuse_other_layouts(path: Path, header: Sequence[str], body: Sequence[Sequence[str]], separator: str) -> None:
    """Refuse a header a field short that is none as R writes it: with decimal commas, or another separator, below."""
    if len(header) == 1 and any(sign in header[0] for sign in _SEPARATORS):
        raise _other_separator(path, header[0])
    digits = [all(re.fullmatch(r"\s*[+-]?\d+\s*", part) for part in column) for column in zip(*body, strict=True)]
    if separator == "," and any(one and other for one, other in pairwise(digits)):
        what = f"a field more than the header, {','.join(body[0])[:40]!r}, as commas within numbers make it"
        remedy = "write decimal points, or semicolons between columns"
        more = "If the first field has the names, call it name in the header."
        raise ValueError(f"{path}: the rows have {what}; {remedy}. {more}")


def _other_separator(path: Path, header: str) -> ValueError:
    return ValueError(f"{path}: the header {header!r} has another separator than the rows; write one throughout.")


def _is_comment(parts: Sequence[str], width: int, marked: bool) -> bool:
    if all(_RULE.fullmatch(part.strip()) for part in parts if part.strip()):
        return True
    lonely = len(parts) != width or not any(map(str.strip, parts[1:]))
    return parts[0].lstrip().startswith("#") and (lonely or (parts[0].startswith("# ") and not marked))


def _title(rows: _Rows, separator: str = "") -> int:
    """Return how many rows stand above the header, words alone: below merged cells or a blank row, or with more."""
    head, named = rows[0][1], _identifies(rows[0][1])
    above = {i for i, part in enumerate(head) if part.strip()}
    for n in range(1, 0 if _has_names(head) else min(len(rows) - 1, 6 if named else _FIRST)):
        (line, labels), below = rows[n], rows[n + 1][1]
        words = {i: part.strip() for i, part in enumerate(labels) if part.strip()}
        first, own = next(iter(words.values())).lower(), words.keys()
        if (_has_numbers(labels) and first != "name") or len(words) < 2 or len({*words.values()}) < len(words):
            continue
        under = {i for i, part in enumerate(below) if part.strip()}
        if first in _UNITS_OF or not under <= own or any(word.lower() in _NO_UNITS for word in words.values()):
            continue
        merged = n < 6 and len(words) == len(head) and (len(set(head)) < len(head) or _has_names(labels))
        if merged and (first == "name" or _has_numbers(below)):
            return n
        blank = line - rows[n - 1][0] > 1 + (sum(part.count("\n") for part in labels) if separator else 0)
        more = len(head) == len(labels) and own - above not in (set(), {min(own)})  # that of the names may be missing
        told = any(_has_numbers(parts) for _, parts in rows[:n]) or not _has_numbers(below)
        begins = _identifies(labels) or (blank and more and not told)
        if not named and ((begins and (blank or more)) or (blank and own.isdisjoint(above))):
            return n
    return 0


def _identifies(header: Sequence[str]) -> bool:
    """Return whether the first cell is a usual header of names."""
    return identifies(next(filter(None, map(str.strip, header)), ""))


def _are_units(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the first cells are the units of columns of numbers."""
    first = [column[0].strip() for column in columns]
    if _has_numbers(first) or not any(first):
        return False
    known = [[text.strip().replace(",", ".") for text in column[1:] if text.strip()] for column in columns]
    below = [bool(texts) and plain_floats(texts) is not None for texts in known]
    told = [unit for unit, numbers in zip(first, below, strict=True) if numbers]
    rest = all(unit.casefold() in _UNITS_OF for unit, numbers in zip(first, below, strict=True) if not numbers)
    return rest and any(told) and not any(unit.lower() in _NO_UNITS for unit in told)


def _checked(table: Table, file: str, notes: list[str]) -> Table:
    """Leave out columns without header and content; refuse headers that are rows, or cannot be told apart."""
    head = [label.replace(",", ".") for label in table.header]
    numbers = plain_floats(head[1:]) if plain_floats(head) is None else plain_floats(head)
    if numbers is not None and (len(numbers) > 2 or list(numbers) == [0.0, 1.0]) and np.ptp(np.diff(numbers)) < 1e-9:
        numbers = None  # spectra, and columns that are counted
    one = numbers is not None and (len(head), len(numbers)) == (2, 1) and table.lines and not identifies(head[0])
    if numbers is not None and (len(numbers) > 1 or one) and head[0].casefold() not in ("", *_NAMES):
        rule = "has numbers in place of a header; write one above it, such as name,x1,x2"
        raise ValueError(f"{table.where}: the first row, {', '.join(table.header[:5])}, {rule}.")
    if empty := [i for i, label in enumerate(table.header) if not label and not any(map(str.strip, table.columns[i]))]:
        notes.append(f"{file}: {len(empty)} empty column{'s' * (len(empty) > 1)} left out.")
        kept = [i for i in range(len(table.header)) if i not in empty]
        if len(beside := [i for i in kept if any(kept[0] < e < i for e in empty)]) > 1:
            _refuse_second_table(table, kept[0], beside)
        table.header = [table.header[i] for i in kept]
        table.columns = [table.columns[i] for i in kept]
        table.numbers = {(row, kept.index(column)) for row, column in table.numbers if column in kept}
    if again := [label for label, n in Counter(table.header).items() if n > 1 or (label == "" and table.header[0])]:
        last = len(table.header) - 1 - table.header[::-1].index(again[0])
        twice = f"there twice, in column {last + 1} again" if again[0] else f"empty in column {last + 1}"
        raise ValueError(f"{table.where}: the column name {again[0]!r} is {twice}; give each column its own name.")
    return table


def _refuse_second_table(table: Table, first: int, beside: Sequence[int]) -> None:
    """Refuse columns behind an empty one that begin with words and name other rows, or tell errors: another table."""
    labels, cells = (
        [table.header[i] for i in beside],
        [[t.strip() for t in table.columns[i]] for i in (first, beside[0])],
    )
    words = not all(re.fullmatch(r"\W*\d(?!.*-[^\W\d]).*", t) for t in cells[1] if t.lower() not in _NOTHING)
    other = list(map(bool, cells[0])) != list(map(bool, cells[1]))
    if words and (other or _identifies(labels) or error_columns(labels)):
        what = f"columns {str(labels[:5])[1:-1]} stand beside the table"
        remedy = "give each table its own file, or delete the empty column"
        raise ValueError(f"{table.where}: {what}, behind an empty column; {remedy}.")


def _read_excel(path: Path, notes: list[str]) -> Table:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install 'bestarm[excel]'", name="openpyxl") from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        for sheet in filter(lambda s: hasattr(s, "reset_dimensions"), book.worksheets):
            sheet.reset_dimensions()  # some writers state sizes that are wrong
        shown = [s for s in book.worksheets if s.sheet_state == "visible" and hasattr(s, "iter_rows")]
        cells = [(s.title, [(i, r) for i, r in enumerate(s.iter_rows(), 1) if any(map(_filled, r))]) for s in shown]
    except Exception as error:  # whatever openpyxl raises for a file that is none
        kind = type(error).__name__
        remedy = "save it again as .xlsx or CSV"
        raise ValueError(f"{path} is no Excel file, has a password, or is damaged ({kind}); {remedy}.") from None
    if not (sheets := [(title, rows) for title, rows in cells if rows]):
        raise ValueError(f"{path} is empty; its first sheet needs a header, such as name and reward.")
    tables = [sheet for sheet in sheets if sum(sum(map(_filled, row)) > 1 for _, row in sheet[1]) > 1] or sheets[:1]
    texts = {title: _texts(rows) for title, rows in tables}
    heads = {title: below[_title(below)][1] for title, (_, below) in texts.items()}
    rows, columns = len(texts[tables[0][0]][1]), len(heads[tables[0][0]])  # no legend of a table before it
    named = (t for t, head in heads.items() if _has_names(head) or _identifies(head))
    title = next((t for t in named if len(texts[t][1]) >= rows and len(heads[t]) >= columns), tables[0][0])
    notes += [f"{path.name}: the sheet {title!r} of {len(sheets)} was read."] if len(sheets) > 1 else []
    where = Path(f"{path}, sheet {title!r}") if len(sheets) > 1 else path
    above, below = texts[title]
    _say_above(where.name, above, notes)
    numbers = [(i, c) for i, row in below for c, v in enumerate(row) if isinstance(v, NumberText) and _has_numbers([v])]
    found = _rectangle(where, below, 0, notes, "", numbers)
    for label, column in zip(found.header, found.columns, strict=True):
        refuse_texts_beside(found.where, label, [0 if isinstance(text, NumberText) else text for text in column])
    kept, first = set(found.lines), min(found.lines, default=2**20)
    head = next((texts for line, texts in reversed(below) if line < first), [])
    columns_below = zip_longest(*(row for line, row in dict(tables)[title] if line in kept))
    for label, values in zip_longest(head, columns_below, fillvalue=""):
        if not REMARKS.fullmatch(label.strip().casefold()):
            _refuse_dates_beside(found.where, [cell for cell in values if cell is not None and _filled(cell)])
    empty = {(line, c + 1) for line, row in below for c, text in enumerate(row) if line >= first and not text}
    if empty or _has_inside(path, rb'hidden="(1|true)"'):  # what a reader of values alone does not see
        sheet = load_workbook(path)[title]
        _refuse_lost_cells(path, found.where, sheet, first, empty)
        _say_hidden(where.name, sheet, first, notes)
    return found


def _texts(rows: Sequence[tuple[int, Sequence[Any]]]) -> tuple[_Rows, _Rows]:
    """Return the rows of a sheet as texts: those with fewer cells than a header may have, and those from it on."""
    counts = [sum(map(_filled, row)) for _, row in rows[:_FIRST]]
    above = next(i for i, n in enumerate(counts) if n >= max(min(2, max(counts)), max(counts) - 1))
    width = max(i for _, row in rows[above:] for i, cell in enumerate(row) if _filled(cell)) + 1
    texts = [(line, [*map(_text, row), *[""] * width][:width]) for line, row in rows]
    return texts[:above], texts[above:]


def _filled(cell: Any) -> bool:
    return cell.value is not None and bool(str(cell.value).strip())


def _refuse_lost_cells(path: Path, where: str, sheet: Any, first: int, empty: set[tuple[int, int]]) -> None:
    """Refuse cells that are empty by accident: those merged with another, and formulas that were never computed."""
    for merged in sheet.merged_cells.ranges:
        if merged.max_row >= first:
            raise ValueError(f"{where}: the cells {merged} are merged, which leaves all but one empty; unmerge them.")
    formulas = [cell for cells in sheet.iter_rows(min_row=first) for cell in cells if cell.data_type == "f"]
    formulas = formulas if all((cell.row, cell.column) in empty for cell in formulas) else []
    if formulas and not _has_inside(path, rf'<c r="{formulas[0].coordinate}"[^>]*t="str"'.encode()):  # an empty text
        remedy = "save the file in a spreadsheet, which does so, or give values"
        raise ValueError(f"{where}: the formula in {formulas[0].coordinate} was never computed; {remedy}.")


def _has_inside(path: Path, what: bytes) -> bool:
    """Return whether the text of a sheet matches."""
    with ZipFile(path) as book:
        return any(re.search(what, book.read(name)) for name in book.namelist() if name.startswith("xl/worksheets/"))


def _refuse_dates_beside(where: str, cells: Sequence[Any]) -> None:
    """Refuse dates and times among other cells, as a spreadsheet makes of names such as MARCH1, and of ratios."""
    dates = [cell for cell in cells if isinstance(cell.value, date | time)]
    others = [str(cell.value).strip() for cell in cells if not isinstance(cell.value, date | time)] if dates else []
    if others := [t for t in others if t.lower() not in _NOTHING and not (DATE.fullmatch(t) or re.match(_DAY, t))]:
        what = f"{dates[0].coordinate} is a date, {_text(dates[0])}, in a column that has {others[0]!r}"
        raise ValueError(f"{where}: {what}; write it as a text, or delete it.")


def _say_hidden(name: str, sheet: Any, first: int, notes: list[str]) -> None:
    rows = [row for row, layout in sorted(sheet.row_dimensions.items()) if layout.hidden and row >= first]
    groups = [layout for layout in sheet.column_dimensions.values() if layout.hidden]
    columns = [i for group in groups for i in range(group.min, min(group.max, sheet.max_column) + 1)]
    for what, hidden in (("row", rows), ("column", columns)):
        if hidden:
            some = ", ".join(map(str, hidden[:3])) + (", ..." if len(hidden) > 3 else "")
            notes.append(f"{name}: {len(hidden)} hidden {what}{'s' * (len(hidden) > 1)} ({some}) read as if shown.")


def _text(cell: Any) -> str:
    if (value := cell.value) is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _shown(value, cell.number_format)
    return value.isoformat().removesuffix("T00:00:00") if isinstance(value, datetime | date | time) else str(value)


def _shown(value: float, form: str) -> str:
    """Return a number as its format shows it, but not rounded: with percent sign, unit, leading zeros, and texts."""
    before, zeros, after, percent = _around(form)
    exact = repr(int(value) if value == value // 1 and abs(value) < 1e15 else value)
    plain = f"{100.0 * value:.15g}" if percent else exact
    text = before + (plain.zfill(zeros) if plain.isdigit() else plain) + after
    return text if before else NumberText(text)


@cache
def _around(form: str) -> tuple[str, int, str, bool]:
    """Return what a format shows before a number, how many zeros, what behind it, and whether it shows percents."""
    found = _FORMAT.fullmatch(form)  # not of fractions, of numbers in thousands, and under conditions
    before, digits, after = found.groups() if found else ("", "", "")
    percent = "%" in re.sub(r'"[^"]*"|[\\_*].', "", form)
    before, after = (re.sub(r'"([^"]*)"|\\(.)|[_*].|\[[^]]*]|%', r"\1\2", part) for part in (before, after))
    before, after = before.strip(_IDLE + "+") and before.lstrip(), re.sub(r"[()\s]+", " ", after).rstrip(_IDLE)
    if money := re.search(r"\[\$([^]-]+)", form) or _MONEY.fullmatch(before.strip()):
        unit = money[1].strip(_IDLE)
        before, after = before.replace(unit, "").lstrip(), after or (unit and f" {unit}")
    zeros = len(digits) if {*digits} == {"0"} else 0
    after = after if re.match(r"\s*(?:[^\W\d_]|[%‰°$€£])", after) and "x10" not in after else ""  # no 0":1", 0.0"-fold"
    return before if zeros > 1 or re.search("[<>≤≥~≈±]", before) else "", zeros, "%" * percent + after, percent

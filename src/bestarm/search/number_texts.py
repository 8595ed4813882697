"""Texts as numbers, by one grammar and with one decimal sign a table.

A number is ``12``, ``-1.5``, ``2e-3``; with a typographic minus, thousands in groups of three (``1'000``, ``1 000``,
``1,000.5``), or decimal commas where the whole table has them. A percent sign or one unit throughout a column is taken
off, and said. Whatever else looks like a number (a range, a ratio, a time, a date, a limit, several units) is refused:
as a word it would lose its order without a word about it.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray

SPREADSHEET_ERRORS = ("#n/a", "#na", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")
GAPS = frozenset(("", "na", "n/a", "nan", "none", "null", "<na>", "failed", *SPREADSHEET_ERRORS))
_GAPS_OR_WORDS = {"Na", "None", "none", "failed", "Failed"}  # of which a column without numbers is one of words
GAP_HINTS = ("-", "--", "?", ".", "/", "…", "n.d.", "n/d", "nd", "n.a.", "k.a.", "n.b.", "missing", "unknown", "tbd")
FAILED = ("failed", "fail", "failure", "error")  # a measurement without a result; in any case of letters
NOT_DONE = ("not done", "not_done", "notdone")  # an experiment that never ran
TO_COME = ("pending", "to come", "tbd", "todo", "running", "in progress", "planned")
NO_RESULTS = {*FAILED, *NOT_DONE, *TO_COME}  # in place of a result
_BLANKS = " \u00a0\u2009\u202f"
_BODY = (
    rf"[+-]?(?:[0-9]{{1,3}}(?:['’][0-9]{{3}})+(?:[.,][0-9]+)?|[0-9]{{1,3}}(?:[{_BLANKS}][0-9]{{3}})+(?:[.,][0-9]+)?"
    r"|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]+|[0-9]{1,3}(?:\.[0-9]{3}){2,}"
    r"|[0-9]{1,3}(?:,[0-9]{3}){2,}|[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
)
_NUMBER = re.compile(rf"([€$£]?)\s*({_BODY})(\s*)(\D*|[^\W\d][^,;]{{0,12}})")
_GROUP = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,])[0-9]{3}")
_CODE = re.compile(r"0[0-9]+")
_DOUBTFUL = re.compile(r"[+-]?[0-9]+,[0-9]+|[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")  # beside real numbers
_THOUSANDS = re.compile(r"[kKMGT](?= |$)")  # thousand, million, ...: a unit that has one differs from those without
_MONTH = (
    r"(?:jan(?:uary?|uar|vier)?|feb(?:ruary?|ruar)?|f[ée]vr?(?:ier)?|mar(?:ch|s|ts)?|m[äa]rz?|mrz|a[pv]r(?:il)?|ma[yij]|"
    r"june?|juni|juin|july?|juli|juil(?:let)?|aug(?:ust)?|ao[uû]t|sept?(?:ember|embre)?|o[ck]t(?:ober|obre)?|"
    r"nov(?:ember|embre)?|d[eé][cz](?:ember|embre)?)"
)
DATE = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2}))(?:[ T].*)?|"
    r"(?:0?[1-9]|1[0-2])[/-](?:19|20)\d\d|(?:19|20)\d\d[/-](?:0[1-9]|1[0-2])|"
    rf"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?\d{{1,2}}(?:st|nd|rd|th|\.)?(?:[- ]|(?<=\.)){_MONTH}\.?"
    rf"(?:,?[- ]\d{{2,4}})?|{_MONTH}\.?[- ](?:\d{{1,2}}(?:st|nd|rd|th)?,? )?'?\d{{2,4}}",
    re.IGNORECASE,
)
_ONE = r"[+-]?[0-9]+(?:[.,][0-9]+)?"
_SIGNS = '%‰°′″"€$£'  # units without a letter
_TIMES = rf"{_ONE}\s*[x×*·⋅•]\s*10"
_POWER = re.compile(  # 10^3, 2x10-3 whose superscript was lost, 2×10⁻³, 10³, 1D-3
    rf"(?:(?:{_TIMES}|10)\s*(?:\^|\*\*)|{_TIMES})\s*[-+]?[0-9]+\s*\D*"
    rf"|(?:{_TIMES}|{_ONE})[⁺⁻⁰¹²³⁴-⁹]+\s*\D*|{_ONE}[dD][-+]?[0-9]+|{_ONE}(?: +[eE] ?|[eE] +)[-+]?[0-9]+"
)
_TIME = re.compile(
    r"(?:\d+ days?, )?\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AP]M)?|\d+ ?h ?\d+|PT\d\S*"
    r"|(?:\d+ ?(?:d|days?|h|hrs?|hours?|m|mins?|s|sec) ?){2,}",
    re.IGNORECASE,
)
_LOCANT = re.compile(r"\d+(?:,\d+)*-(?=[^\W\d])")  # the place of a group in a molecule
_ALONE, _TWO = "write it alone", "two columns"
_BEFORE = r"CHF|EUR|USD|GBP|pH|kr|Fr|'|[A-Z]{1,2}\$|[^\W\d]+ ?[=:]|[Dd]ays?|[Ww]eeks?|[Hh]ours?|[Mm]onths?"
SHAPES = (  # of which the last one that fits says what is wrong
    ("digits with signs", re.compile(rf"(?!#|\d+([-.]\d+){{2,}}$)(?=.*\d)(?:[^\w;{_SIGNS}]|\d)+"), _ALONE),
    ("a limit", re.compile(rf"[<>≤≥]=?\s*{_ONE}\s*\D*"), "give the limit itself as a number"),
    ("a time", _TIME, "give minutes or hours as one number"),
    ("a fraction", re.compile(r"[+-]?\d*\s*[¼-¾⅐-⅞]|\d+ \d+/\d+"), "give it as one number"),
    ("a number in brackets, or before its sign", re.compile(rf"\(\s*[€$£]?{_ONE}\s*\)|{_ONE}-"), "write it as 5 or -5"),
    ("a number with something before it", re.compile(rf"(?:{_BEFORE})\.?\s*{_ONE}\s*\W*"), _ALONE),
    ("a number with something after it", re.compile(rf"{_ONE}(?:[-_][^\W\d]+|\(\d+\))"), _ALONE),
    ("a product", re.compile(rf"{_ONE} ?[x×] ?{_ONE}\s*\D*"), f"give {_TWO}"),
    ("a hexadecimal number", re.compile(r"0[xX][0-9A-Fa-f]+"), "give it with decimal digits"),
    ("a ratio", re.compile(rf"{_ONE}\s*[:/]\s*{_ONE}(?:\s*\(?[vwm]/[vwm]\)?)?"), "give the quotient as one number"),
    ("a ratio or a time", re.compile(r"[0-2]?\d:[0-5]\d"), "give the quotient, or minutes or hours, as one number"),
    ("a range", re.compile(rf"(?:pH\s*)?{_ONE}\s*(?:[-–—]|\.\.|to|bis)\s*{_ONE}\s*\D*"), f"give its middle, or {_TWO}"),
    ("about a number", re.compile(rf"(?:~|≈|ca\.?|c\.|about|etwa|env\.?)\s*{_ONE}\s*\D*"), "give the number itself"),
    ("a power of ten", _POWER, "write it as 1e3"),
    ("a number in other digits", re.compile(r"(?=.*[^\x00-\x7f])[+-]?\d+(?:[.,٫]\d+)?"), "write the digits 0 to 9"),
    ("a number with commas", re.compile(r"[+-]?[0-9]+(?:,[0-9]+){2,}(?:\.[0-9]+)?"), "write it without them"),
    ("a number with underscores", re.compile(r"[0-9]{1,3}(?:_[0-9]{3})+"), "write it without them"),
    ("a number with its error", re.compile(rf"{_ONE}\s*(?:±|\+/-)\s*{_ONE}\s*\D*"), f"give {_TWO}"),
    ("a date", DATE, "drop the column, or give a number of days"),
)
_UNITS = re.compile(  # glued to a number; after a blank, any word is one
    r"%|‰|°[CF]?|(?:[numμk]?(?:M|mol|g|s|Pa|V|Hz)|[umμn][lLmA]|cm|K|h|hrs?|d|days?|wk|weeks?|min|(?:mol|wt|vol)%|eq|"
    r"equiv\.?|rpm|xg|ppm|ppb|atm|bar|mbar|psi|k?Da|k?bp|kb|U|kcal|kJ|x|fold)(?:/\w+)?|[€$£]"
)
_EXACT = str.maketrans("−﹣－‐‑–—\u00a0\u2009\u202f", "-------   ", "\u00ad\u200b\u200e\u200f\u2060\ufeff")
_MICRO = re.compile(r"^u(?=[MLAVlgmsW]\b|mol)")


class NumberText(str):
    """The text of a number in a spreadsheet, whose point says nothing of the decimal sign of texts beside it."""


def tidy(text: str) -> str:
    """Return a cell without blanks around it and signs that nobody sees, with plain minus signs and plain blanks."""
    return (text if text.isascii() else text.translate(_EXACT)).strip()


def texts_of(cells: Any) -> list[str]:
    """Return cells as texts, those of a file as they are, those of a frame of any kind empty for gaps."""
    if isinstance(cells, list):
        return cells
    column = pd.Series(cells).astype(object)
    plain = [float(v) if isinstance(v, Fraction) else v for v in column]
    return ["" if gap else str(v) for v, gap in zip(plain, pd.isna(column), strict=True)]


def _truth_as_numbers(texts: list[str]) -> list[str]:
    """Return texts with 1 for true and 0 for false, in any case of letters, if beside gaps there is nothing else."""
    truth = {"true": "1", "false": "0"}
    folded = [text.strip().lower() for text in texts]
    if not {*folded} - GAPS <= truth.keys():
        return texts
    return [truth.get(word, text) for word, text in zip(folded, texts, strict=True)]


def plain_floats(texts: Sequence[str]) -> FloatArray | None:
    """Return texts as numbers if each is one with a decimal point or none at all, and no gap; quick where they are."""
    joined = "\x1f".join(texts)
    if "_" in joined or not joined.isascii() or "n" in joined or "N" in joined:  # nan, inf, and what only Python reads
        return None
    try:
        return np.array(list(map(float, texts)))
    except ValueError:
        return None


class _Parsed(NamedTuple):
    """A text that is a number with perhaps something around it."""

    body: str
    prefix: str
    unit: str
    spaced: bool

    @property
    def around(self) -> str:
        return self.prefix + self.unit

    @property
    def glued(self) -> bool:
        """Whether it has letters behind it that are no usual unit, as codes and slips have."""
        return bool(self.around) and not self.prefix and not self.spaced and not _UNITS.fullmatch(self.unit)


def plain_unit(text: str) -> str:
    """Return a unit in one spelling: the two characters of micro, and u in their place, are one."""
    return _MICRO.sub("μ", unicodedata.normalize("NFKC", text.strip()))


def _parsed(text: str) -> _Parsed | None:
    if (found := _NUMBER.fullmatch(text)) is None or DATE.fullmatch(text) or _POWER.fullmatch(text):
        return None
    prefix, body, blank, unit = found.groups()
    unit = plain_unit(unit)
    if unit[:1] in ("-", ",", ".", ":", ";", "/", "'", "(", "_", "+", "–") or (unit and unit[0].isdigit()):
        return None
    if unit and (unit in "eE" or not re.search(rf"[^\W\d_]|[{_SIGNS}]", unit)):
        return None  # a remark such as 5* and 5 ?, and a number that was cut, such as 1e
    return _Parsed(body, prefix, unit, bool(blank))


def _sign_of(body: str) -> str:
    """Return which decimal sign a number has: ``.``, ``,``, ``""`` for none, ``?.`` and ``?,`` for one or thousands."""
    text = re.split("[eE]", body)[0]
    points, commas = text.count("."), text.count(",")
    if points and commas:
        return "." if text.rindex(".") > text.rindex(",") else ","
    if points + commas == 0:
        return ""
    sign = "." if points else ","
    if points + commas > 1:
        return "," if points else "."  # groups of thousands
    grouped = "'" in text or "’" in text or any(blank in text for blank in _BLANKS)
    return f"?{sign}" if text == body and not grouped and _GROUP.fullmatch(text) else sign


@dataclass(frozen=True)
class Column:
    """A column of a table by its header, and its tidy cells."""

    label: str
    texts: Sequence[str]
    floats: FloatArray | None  # if all cells are plain numbers
    distinct: Mapping[str, _Parsed | None]  # otherwise each text that is no gap, once, with its parts
    written: bool = True  # by somebody, and not held as numbers by a frame or a spreadsheet

    @classmethod
    def of(cls, label: str, cells: Any, truth: bool = False) -> "Column":
        """Return a column of a file or a frame, where it may hold ``truth`` with 1 for true and 0 for false."""
        texts = texts_of(cells)
        clean = [tidy(text) for text in (_truth_as_numbers(texts) if truth else texts)]
        floats = plain_floats(clean)
        words = {} if floats is not None else {t: _parsed(t) for t in dict.fromkeys(clean) if t.lower() not in GAPS}
        held = isinstance(cells, list) and all(isinstance(cell, NumberText) for cell in cells if cell)
        written = not held and (isinstance(cells, list) or not pd.api.types.is_numeric_dtype(cells))
        return cls(label, clean, floats, words, written)

    @property
    def units(self) -> set[str]:
        """What stands around the numbers, nothing where they stand alone."""
        return {p.around for p in self.distinct.values() if p is not None and (p.around or p.body.strip("0.,"))} or {""}

    @property
    def named_unit(self) -> str:
        """The unit in brackets in its header, empty where there is none."""
        named = re.search(r"[(\[]([^()\[\]]+)[)\]]$", self.label)
        return plain_unit(named[1]) if named and _UNITS.fullmatch(plain_unit(named[1])) else ""

    @property
    def unit(self) -> str:
        """The unit of a column that has one: in its cells, or else in its header."""
        return next(iter(self.units)) or self.named_unit

    @property
    def numeric(self) -> bool:
        """Whether every cell that is no gap is a number, perhaps with a unit; codes such as 1A are none."""
        if self.floats is not None:
            return True
        known = [p for p in self.distinct.values() if p is not None]
        codes = len({p.around for p in known}) > 1 and any(p.glued for p in known)
        return 0 < len(known) == len(self.distinct) and not codes

    @property
    def has_only_words(self) -> bool:
        """Whether nothing in it is a number, and what may be a gap is a word."""
        return not self.distinct and not _GAPS_OR_WORDS.isdisjoint(self.texts)

    def signs(self) -> dict[str, str]:
        """Return the decimal signs of a column of numbers that were written, each with an example."""
        if not (self.written and self.numeric):
            return {}
        if self.floats is not None:
            pointed = next((text for text in self.texts if "." in text), None)
            sure = next((text for text in self.texts if "." in text and _sign_of(text) == "."), None)
            return {} if pointed is None else {".": sure} if sure else {"?.": pointed}
        return {_sign_of(p.body): text for text, p in self.distinct.items() if p is not None}


def decimal_sign(where: str, columns: Iterable[Column], semicolons: bool = False) -> str:
    """Return the decimal sign of a table, ``.`` or ``,``, which is one for all of its columns of numbers.

    Where ``semicolons`` separate the columns, spreadsheets write decimal commas. A ValueError for both signs, where all
    numbers look like ``1.250`` or ``1,250``, which may be thousands, and without them for ``1.250`` beside ``2,4``.
    """
    found: dict[str, tuple[str, str]] = {}
    for column in columns:
        for sign, example in column.signs().items():
            found.setdefault(sign, (column.label, example))
    if "." in found and "," in found:
        (one, point), (other, comma) = found["."], found[","]
        both = f"column {one!r} has {point!r} and column {other!r} has {comma!r}"
        remedy = "write all numbers of a table in one way"
        raise ValueError(f"{where}: {both}, decimal points and decimal commas; {remedy}.")
    doubtful = found.get("?.") if "," in found and not semicolons else None
    if doubtful is None and ("," in found or "." in found):
        return "," if "," in found else "."
    if semicolons and "?," in found and "?." not in found:
        return ","
    if doubtful := doubtful or found.get("?,") or (found.get("?.") if semicolons else None):
        label, text = doubtful
        what = f"{text!r}, whose {'comma' if ',' in text else 'point'} may stand before decimals or after thousands"
        remedy = "give numbers with decimal points and without thousands"
        raise ValueError(f"{where}: column {label!r} has {what}; {remedy}.")
    return "."


def numbers_of(
    where: str, column: Column, decimal: str, whose: Sequence[str] = (), words: bool = True
) -> tuple[FloatArray, list[str]] | None:
    """Return the numbers of a column, NaN for gaps, and what was done to read them; None for a column of words.

    A ValueError for a column of numbers with a cell that is none, or of which nearly all cells only look like numbers;
    ``where`` names the table and ``whose`` the rows in it; ``words`` says whether the column may be one of words.
    """
    decimal = decimal if column.written else "."
    label, codes = column.label, (text for text in column.texts if text[:1] == "0" and _CODE.fullmatch(text))
    zeros = [f"column {label}: {t!r} read as a number; `words` keeps such texts as categories." for t in codes][:1]
    if column.floats is not None and (decimal == "." or not any("." in text for text in column.texts)):
        return column.floats, zeros
    distinct = column.distinct if column.floats is None else {t: _parsed(t) for t in dict.fromkeys(column.texts)}
    if not distinct:
        return np.full(len(column.texts), math.nan), []
    parsed = {text: p for text, p in distinct.items() if p is not None}
    if len(parsed) < len(distinct) or not column.numeric:
        _refuse_lookalikes(where, column, distinct, whose, words)
        return None
    if len(units := column.units) > 1:
        a, b = (next(text for text, p in parsed.items() if p.around == unit) for unit in sorted(units)[:2])
        raise ValueError(f"{where}: column {label!r} has {a!r} and {b!r}, several units; give numbers of one unit.")
    marks = rf"['’{_BLANKS}{',' if decimal == '.' else '.'}]"  # of thousands
    values = {text: float(re.sub(marks, "", p.body).replace(decimal, ".")) for text, p in parsed.items()}
    unit, named = next(iter(units)), column.named_unit
    if unit and named not in ("", unit) and not (unit == named[-1:] == "%") and _UNITS.fullmatch(unit):
        what = f"{next(iter(parsed))!r}, in another unit than its header"
        raise ValueError(f"{where}: column {label!r} has {what}; give numbers of one unit.")
    said = [f"column {label}: numbers with the unit {unit!r}, which was taken off."] if unit else []
    if grouped := [text for text, p in parsed.items() if re.search(marks, p.body)]:
        said.append(f"column {label}: {grouped[0]!r} read as {values[grouped[0]]:.10g}, with a sign of thousands.")
    said += zeros
    if taken := [t for t in dict.fromkeys(column.texts) if t and t.lower() in GAPS]:
        n = sum(text in taken for text in column.texts)
        said.append(f"column {label}: {', '.join(map(repr, taken))} taken for a gap ({n} cell{'s' * (n != 1)}).")
    return np.array([values.get(text, math.nan) for text in column.texts]), said


def refuse_texts_beside(where: str, label: str, cells: Iterable[Any]) -> None:
    """Refuse texts such as ``0,5`` and ``1.250`` beside real numbers, which a spreadsheet shows with another sign."""
    known = pd.Series(list(cells), dtype=object).dropna()
    if not any(isinstance(cell, int | float | np.number) and not isinstance(cell, bool) for cell in known):
        return
    if texts := [cell for cell in known if isinstance(cell, str) and _DOUBTFUL.fullmatch(tidy(cell))]:
        remedy = "its sign may stand before decimals or after thousands; make it a number, as the others are"
        raise ValueError(f"{where}: column {label!r} has the text {texts[0]!r} beside numbers; {remedy}.")


def _refuse_lookalikes(
    where: str, column: Column, distinct: Mapping[str, _Parsed | None], whose: Sequence[str], may_be_words: bool
) -> None:
    """Refuse a column with some numbers, or in which nearly every word has the shape of a number."""
    label, parsed = column.label, {text: p for text, p in distinct.items() if p is not None}
    bare = [text for text, p in parsed.items() if not p.around]
    words = [text for text, p in distinct.items() if p is None or (bare and p.glued)]
    odd = [text for text, p in distinct.items() if p is None or any(map(str.isdigit, p.unit))]
    shapes = {text: shape for text in odd for shape in SHAPES[bool(bare) :] if shape[1].fullmatch(text)}
    numbers = [text for text, p in parsed.items() if not p.unit or p.spaced or _UNITS.fullmatch(p.unit)]
    if len({_LOCANT.sub("", text) for text in shapes if _LOCANT.match(text)}) > 1:  # 2-MeTHF and 3-pentanone
        shapes = {text: shape for text, shape in shapes.items() if not _LOCANT.match(text)}
    if len(parsed) == len(distinct) and len({_THOUSANDS.sub("", p.unit).strip() for p in parsed.values()}) == 1:
        one, other = [*{p.unit: text for text, p in reversed(parsed.items())}.values()][:2]
        remedy = "give numbers of one unit"
        raise ValueError(f"{where}: column {label!r} has {one!r} and {other!r}, several units; {remedy}.")
    if shapes and len(shapes) + len(numbers) >= 0.9 * len(distinct):
        text, (kind, _, remedy) = next(iter(shapes.items()))
        what = f"{text!r}, {kind}, which is no number and as a word would have no order"
        remedy += ", or name the column among `words` if each text is a category of its own" if may_be_words else ""
        raise ValueError(f"{where}: column {label!r} has {what}; {remedy}.")
    units = [text for text, p in parsed.items() if p.unit and _UNITS.fullmatch(p.unit)]
    if words and (bare or len(numbers) >= 0.9 * len(distinct) or len(units) >= max(2, 0.5 * len(distinct))):
        place = column.texts.index(words[0])
        of = f" of {whose[place]}" if len(whose) > place else ""
        remedy = "correct it, leave the cell empty where nothing is known, "
        remedy += "drop the column, or name it in `words`" if may_be_words else "or drop the column"
        if words[0].lower() in TO_COME:
            remedy = "a column of results is no feature: name it in `results`, or leave it out of the table"
        elif words[0].lower() in GAP_HINTS:
            remedy = "leave the cell empty where nothing is known"
        others = f"numbers such as {(bare or numbers)[0]!r}"
        raise ValueError(f"{where}: column {label!r}{of} is {words[0]!r} among {others}; {remedy}.")

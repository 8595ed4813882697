"""Tables as laboratories have them: names of candidates, and what was measured of them.

A rule is applied and counted, by a sentence among the notes, or the table is refused by a `ValueError` of one line
with the value, the rule and the remedy; nothing is dropped in silence. A result is a number; a gap is still to come,
``failed`` was measured without a result and counts as known, ``not done`` was never tried.
"""

import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.models.finite_gp import LARGEST_REWARD
from bestarm.search.columns import NAMES, REAL, RESULTS, error_columns, find_column, identifies, is_counted
from bestarm.search.errors import errors_of, mean_of, reading
from bestarm.search.number_texts import (
    DATE,
    FAILED,
    GAPS,
    NO_RESULTS,
    NOT_DONE,
    SHAPES,
    SPREADSHEET_ERRORS,
    TO_COME,
    Column,
    decimal_sign,
    numbers_of,
    plain_floats,
    plain_unit,
    tidy,
)
from bestarm.search.table_files import Table, read_table, read_table_file

GENES = ("gene", "gene symbol", "gene_symbol", "symbol", "gene name", "gene_name", "gene id", "gene_id")
LARGEST_PHENOTYPE = 1e75
_SUMMARIES = {
    *("total", "totals", "grand total", "sum", "mean", "average", "avg", "median", "sd", "stdev", "std", "std dev"),
    *("stddev", "standard deviation", "cv%", "rsd", "gesamt", "gesamtergebnis", "summe", "mittelwert", "durchschnitt"),
    *("stabw", "standardabweichung", "ø", "totaux", "total général", "moyenne", "écart-type", "médiane"),
    *("promedio", "desviación estándar", "suma", "subtotal", "sous-total", "zwischensumme", "stabwn", "anzahl"),
}
_TO_COME = {*GAPS, *TO_COME} - {*FAILED}
_BESIDE_SUMMARIES = {"cv", "min", "max", "n"}
_ODD_UNIT = re.compile(  # of a result: a remark, more numbers, or a letter for a digit
    r".*[<>].*|.*\s\d.*|[xe]\d.*|.*(?:exclu|outlier|\blod\b|\bloq\b|fail|error).*|of\b.*|o", re.IGNORECASE
)
_RELATIONS = {"=", "<", ">", "≤", "≥", "<=", ">=", "~", "≈"}
_FLAGS = re.compile(r"(?:is[\W_]?)?(?:exclude|excluded|outlier|omit|omitted|invalid|flag|flagged|ausreißer)")
_NO = {*FAILED, *NOT_DONE}
_YES = {"true", "yes", "y", "x", "1", "ja", "oui"}
_UNIT_NAMES = re.compile(r"(?:(?:reward|result|value|yield|standard)[\W_])?(?:units?|einheit(?:en)?|unité)")
_STATES = re.compile(
    r"(?:.*[\W_])?(?:status|state|qc|quality|outcome|result|relation|qualifier|operator|sign|modifier)"
)
_QUANTITIES = {"assay", "endpoint", "parameter", "quantity", "analyte", "standard type", "time point", "timepoint"}
_OF_ANOTHER = re.compile(r"\b(?:ref(?:erence)?|parent|control|nearest|standard|template|neighbou?r)s?\b")  # candidate
_NAMED = re.compile(r"sample|compound|name|molecule|(?:.*[\W_])?id")  # headers that name what was measured, not where
_PLATE_MAP = ("plate", "well", "predicted", "uncertainty", "novelty", "nearest", "why")  # of a batch
_AS_TEXTS = "read names as texts: give the file by its path, or read it with dtype=str"
_LIMIT = re.compile(r"[<>≤≥]=?\s*[+-]?[\d.,]+")
_BIG_NUMBER = re.compile(r"\d+(?:\.\d+)?E\+\d+", re.IGNORECASE)  # what 2310009E13 becomes


def refuse_summary(table: Table, names: Sequence[str]) -> None:
    """Refuse the last rows of a table if they are called as sums of the others are."""
    bare = {name: " ".join(re.sub(r"[(\[].*|[.:]", " ", name.casefold()).split()) for name in names}
    last = list(takewhile(lambda name: bare[name] in _SUMMARIES | _BESIDE_SUMMARIES, reversed(names)))
    extremes = {"min", "max"} <= {bare[name] for name in last}
    if odd := [name for name in reversed(last) if bare[name] in _SUMMARIES or extremes]:
        row = "the last row is" if odd[0] == names[-1] else "one of the last rows is"
        remedy = "delete it, or give the candidate another name"
        raise ValueError(f"{table.row(-1)}: {row} called {odd[0]!r}, as a spreadsheet's summary is; {remedy}.")


def refuse_damaged(table: Table, names: Sequence[str], genes: bool) -> None:
    """Refuse summaries, and names that a spreadsheet has damaged: errors, numbers cut short, of genes dates, too."""
    refuse_summary(table, names)
    if dates := [gene for gene in names if genes and (DATE.fullmatch(gene) or _BIG_NUMBER.fullmatch(gene))]:
        rule = "into which a spreadsheet turns names such as MARCHF1 and SEPTIN2; write the symbols again, as texts"
        raise ValueError(f"{table.where}: {dates[0]!r} is no gene but a date, {rule}.")
    if odd := [name for name in names if _BIG_NUMBER.fullmatch(name) or name.lower() in SPREADSHEET_ERRORS]:
        rule = "is no name but what a spreadsheet has made of one; write the names again, as texts"
        raise ValueError(f"{table.where}: {odd[0]!r} {rule}.")


def _is_gap(value: Any) -> bool:
    return not isinstance(value, str) and pd.api.types.is_scalar(value) and bool(pd.isna(value))


def label_of(value: Any) -> str:
    """Return a name as text, empty where there is none; a whole number among gaps has become a float."""
    if _is_gap(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return " ".join(text.split()) if "\n" in text or "\r" in text else text  # one line, as messages are


def listed(names: Sequence[Any]) -> str:
    """Return a few names in words."""
    return ", ".join(map(str, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def counted(n: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{n} {what}" + ("" if n == 1 else "es" if what.endswith("ch") else "s")


def names_in(names: Any, what: str, there: Iterable[str] | None = None, features: Container[str] = ()) -> list[str]:
    """Return names from a list, or a table with a column (or the index) of names; all of them ``there``, if given."""
    if isinstance(names, pd.DataFrame) and (table := read_table(names, [])) is not None:
        known = set(there or ())
        column = None if _names_its_rows(table, known) else find_column(table.header, NAMES)
        if column is None and not table.named:
            column = _names_among(table, features, known)
        names = names.index if column is None else names.iloc[:, column]
    if isinstance(names, str) or not isinstance(names, Iterable):
        remedy = f"write [{names!r}]" if isinstance(names, str) else "give the names in a list"
        raise ValueError(f"{what} must be a list of names or a table, got {names!r}; {remedy}.")
    names = list(names)
    if names and all(isinstance(name, bool | np.bool_) for name in names):
        raise ValueError(f"{what} must be names, got a mask of {len(names)} truth values; write table.index[mask].")
    if "" in (found := [label_of(name) for name in names]):
        raise ValueError(f"name {1 + found.index('')} of {what} is empty; leave it out.")
    if there is not None:
        unknown_names(found, there)
    return found


def unknown_names(names: Sequence[str], there: Iterable[str], alike: bool = False) -> None:
    """Refuse names of no candidate, with ``alike`` only those that look like one, and say which one that is."""
    known = there if isinstance(there, Container) else set(there)
    if unknown := [name for name in dict.fromkeys(names) if name not in known]:
        near = _alike(unknown, there)
        who = listed(unknown) + (" are no candidates" if len(unknown) > 1 else " is no candidate")
        if near:
            told, meant = near[0]
            both = f"{told!r} ({_spelled(told)}) looks like {meant!r} ({_spelled(meant)})"
            remedy = "correct the name. A spreadsheet takes zeros off numbers, so that it must be given texts"
            raise ValueError(f"{f'{told} is no candidate' if alike else who}; {both}: {remedy}.")
        if not alike:
            remedy = "correct the name, give it to add_candidates, or leave controls out, in tell by unknown='ignore'"
            raise ValueError(f"{who}; {remedy}.")


_LATIN = str.maketrans(  # letters of Cyrillic and Greek that nobody can tell from these
    "АВЕКМНОРСТУХІЈЅаеорсухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEKMHOPCTYXIJSaeopcyxijsABEZHIKMNOPTYXo"
)


def _folded(name: str) -> str:
    """Return a name without what two spellings of it may differ by: case, form and script, blanks, leading zeros."""
    text = name if name.isascii() else unicodedata.normalize("NFKC", name).translate(_LATIN)
    if not text.isascii():
        text = "".join("-" if unicodedata.category(c) == "Pd" else c for c in text if unicodedata.category(c) != "Cf")
    return re.sub(r"(?<![\d.,])0+(?=\d)", "", "".join(text.casefold().split()))


def _alike(names: Iterable[str], there: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Return each name that looks like another one, of those ``there`` or else before it, with that one."""
    first: dict[str, str] = {}
    for name in there or ():
        first.setdefault(_folded(name), name)
    known = first.setdefault if there is None else first.get
    return [(name, meant) for name in names if (meant := known(_folded(name), name)) != name]


def look_alikes(names: Iterable[str], there: Iterable[str] | None = None) -> list[str]:
    """Return each pair of different names that look like one another, or like one that is ``there``, in words."""
    return [f"{a} ({_spelled(a)}) and {b} ({_spelled(b)})" for b, a in _alike(names, there)]


def _spelled(name: str) -> str:
    odd = [f"U+{ord(c):04X}" for c in name if not c.isascii()]
    return counted(len(name), "character") + (f", {' '.join(odd[:3])}" if odd else "")


def by_value(names: Sequence[str], numbers: Sequence[bool], there: Iterable[str]) -> list[str]:
    """Return told names, those that came back as numbers (1.1 for ``1.10``) matched by value, if one alone has it."""
    if not any(numbers):
        return list(names)
    values: dict[Decimal, list[str]] = {}
    for name in there:
        if name and plain_floats([name]) is not None:
            values.setdefault(Decimal(name), []).append(name)
    found = []
    for name, number in zip(names, numbers, strict=True):
        same = values.get(Decimal(name), []) if number and name else []
        if len(same) > 1:
            both = f"{' and '.join(same[:2])} both have that value"
            raise ValueError(f"the name {name} was read as a number, and {both}; {_AS_TEXTS}.")
        found.append(same[0] if same else name)
    return found


@dataclass(frozen=True)
class Measurements:
    """Measurements, one a row, without those still to come; a value is NaN where it failed or was not ``done``."""

    names: list[str]
    values: list[float]
    done: list[bool]
    columns: dict[str, Any]  # the cells of these rows as they were given, by header
    decimal: str
    to_come: list[str]
    notes: list[str]  # what was decided, a sentence each
    unit: str  # of the rewards, empty where none was written


def measurements(
    source: Any,
    candidates: Sequence[str] | None = None,
    results: str | None = None,
    features: Iterable[Any] = (),
    waiting: Container[str] = (),
) -> Measurements:
    """Return what a DataFrame or a file says, with a column (or the index) of names and one of rewards (``results``).

    By the names of candidates those that went through a number are found. Columns that are ``features`` tell no error.
    """
    notes: list[str] = []
    if (table := read_table(source, notes)) is None:
        raise ValueError(f"tell wants the table that ask returned, rewards filled in, got {type(source).__name__}.")
    header, is_file = table.header, table.index is None
    results = results[0] if isinstance(results, list | tuple) and len(results) == 1 else results
    if not isinstance(results, str | None):
        raise ValueError(f"results must name the column of rewards, got {results!r}; give one name.")
    name, reward = find_column(header, NAMES), find_column(header, (results or "reward",))
    known = set(candidates or ())
    name = None if _names_its_rows(table, known) else name
    if name is None and not table.named and reward is not None:
        name = _names_among(table, {*features, header[reward]}, known)
    if name is None and not table.named and not is_file and {*features} and {*features} <= {*header}:
        table.named = {*map(label_of, table.index)} <= known  # numbers of rows, and features tell whether of these
    if reward is not None and reward == name:
        raise ValueError(f"results names {header[reward]!r}, the column of names; name that of the rewards.")
    if reward is not None and header[reward] in features:
        remedy = f"make the search with results=[{header[reward]!r}]"
        raise ValueError(f"the reward {header[reward]!r} is a feature of the candidates; {remedy}.")
    if reward is None:
        like = find_column(header, RESULTS)
        hint = "the column of results" if like is None else f"{header[like]!r}, which looks like it,"
        lacks = f"{'name and ' if name is None and not table.named and not is_file else ''}{results or 'reward'}"
        remedy = "Name one of them." if results else f"Rename {hint} reward, or name it by tell(table, results=...)."
        raise ValueError(f"the table has no column {lacks}; it has: {', '.join(header)}. {remedy}")
    if name is None and not table.named and table.lines:
        remedy = "Call the column of names so, or give a frame with names as its index."
        raise ValueError(f"the table has no column name; it has: {', '.join(header)}. {remedy}")
    rewards = [c for c in header if re.match(r"rewards?([ _.]?\d+)?$", c, re.IGNORECASE)]
    if len(rewards) > 1 and results is None:
        remedy = "keep one, or give measurements again as rows"
        raise ValueError(f"the table has two columns of rewards, {' and '.join(rewards[:2])}; {remedy}.")
    raw = list(table.columns[name] if name is not None else table.index if table.named else ())
    labels = [label_of(label) for label in raw]
    numbers = [isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in raw]
    if large := [v for v in raw if isinstance(v, float) and abs(v) >= 2**53]:
        raise ValueError(f"the name {large[0]:.0f} has lost digits, since it was read as a number; {_AS_TEXTS}.")
    if is_file:
        numbers = [
            (line, name) in table.numbers or (re.fullmatch(r"\d+\.0", label) is not None and label not in known)
            for line, label in zip(table.lines, labels, strict=True)
        ]
        refuse_summary(table, labels)
    columns = {i: Column.of(header[i], cells) for i, cells in enumerate(table.columns) if i != name}
    if odd := [v for v in table.columns[reward] if not isinstance(v, str | REAL | np.bool_) and not _is_gap(v)]:
        got = f"{str(odd[0])!r}, a {type(odd[0]).__name__}"
        raise ValueError(f"a reward must be a number, empty while it is to come, got {got}; correct it.")
    texts = [" ".join(text.split()) for text in columns[reward].texts]
    lost = {i for i, (label, text) in enumerate(zip(labels, texts, strict=True)) if not text and label not in waiting}
    if [label for label in header if label][:3] == ["round", "name", "reward"] and lost:  # the history of a search
        notes.append(f"{counted(len(lost), 'empty reward')} taken for failed, as in the history of a search.")
        texts = ["failed" if i in lost else text for i, text in enumerate(texts)]
    number = Column.of(header[reward], ["" if t.lower() in NO_RESULTS else t for t in texts], truth=True)
    number = replace(number, written=columns[reward].written)
    others = [column for i, column in columns.items() if i != reward]
    decimal = decimal_sign(table.where, [*others, number], table.semicolons)
    kept = [i for i, (label, text) in enumerate(zip(labels, texts, strict=True)) if label or text.lower() not in GAPS]
    if nameless := [texts[i] for i in kept if not labels[i]]:
        raise ValueError(f"the reward {nameless[0]} has no name; name it or delete the row.")
    whose = [f"the reward of {label}" for label in labels]
    values = _results(table.where, whose, number, decimal, LARGEST_REWARD, notes)
    told = [i for i in kept if texts[i].lower() not in _TO_COME]
    if kept and not told:
        remedy = "Fill them in, or write failed or not done where that is so"
        raise ValueError(f"no row of the table has a reward: all {len(kept)} are still to come. {remedy}.")
    rest = [i for i in kept if texts[i].lower() in _TO_COME]
    there = candidates or ()
    names, later = (by_value([labels[i] for i in rows], [numbers[i] for i in rows], there) for rows in (told, rest))
    done = [texts[i].lower() not in NOT_DONE for i in told]
    errors = [(i, kind) for i, kind in error_columns(header, [header[reward]]) if i not in (name, reward)]
    # a first column n may have the numbers of the rows
    errors = [(i, kind) for i, kind in errors if i or kind != "n" or not is_counted(columns[i].texts)]
    beside = [(kind, columns[i]) for i, kind in errors if header[i] not in features]
    read = _with_errors(table.where, values, beside, decimal, labels, notes, number.unit)
    used = (*features, *(header[i] for i, kind in errors if kind), "round", "pull")
    notes += _unused(table.where, others, used, labels, values)
    return Measurements(names, [read[i] for i in told], done, table.at(told), decimal, later, notes, number.unit)


def _names_its_rows(table: Table, candidates: set[str]) -> bool:
    """Return whether the index of a frame, though it may have a column of names, names candidates alone."""
    return table.named and len(table.index) > 0 and set(map(label_of, table.index)) <= candidates


def _unused(
    where: str, columns: Iterable[Column], used: Iterable[Any], names: Sequence[str], values: FloatArray
) -> list[str]:
    """Say which columns with something in them are not used, and refuse those without which a result means another."""
    folded = {str(label).strip().casefold() for label in used}
    spare = [column for column in columns if any(column.texts) and column.label.strip().casefold() not in folded]
    for column in spare:
        word, rows = column.label.strip().casefold(), zip(names, column.texts, values, strict=True)
        said = dict.fromkeys((name, text) for name, text, value in rows if text and value == value)
        of_one = Counter(name for name, _ in said)
        odd, rule = [], "leave such rows out, or write failed as the result"
        if _STATES.fullmatch(word) and said and {text for _, text in said} <= _RELATIONS:
            odd, rule = [(n, t) for n, t in said if t != "="], "a limit is no result; give it itself, or write failed"
        elif _STATES.fullmatch(word):
            odd, rule = [(n, t) for n, t in said if t.lower() in _NO], "write so in place of the result"
        elif _FLAGS.fullmatch(word):
            odd = [(n, t) for n, t in said if t.lower() in _YES]
        elif _UNIT_NAMES.fullmatch(word) and len({plain_unit(text) for _, text in said}) > 1:
            odd, rule = list(said)[-1:], "other results have another unit; give all in one"
        elif word in _QUANTITIES:
            odd, rule = [(n, t) for n, t in said if of_one[n] > 1], "of which it has several; keep the rows of one"
        if odd:
            raise ValueError(f"{where}: {column.label!r} of {odd[0][0]} is {odd[0][1]!r}; {rule}.")
    labels = [column.label or "without header" for column in spare]
    return [f"column{'s' * (len(labels) > 1)} {listed(labels)}: not used."] if labels else []


def _names_among(table: Table, others: Container[str], candidates: set[str]) -> int | None:
    """Return the only column but ``others`` whose cells are candidates, or the first one of a file, or None."""
    header = table.header
    places = [i for i, label in enumerate(header) if label not in others]
    own = [i for i in places if not _OF_ANOTHER.search(header[i].casefold())]
    places = own if any(identifies(header[i]) for i in own) else places
    labels = {i: [label for label in map(label_of, table.columns[i]) if label] for i in places}
    there = {i: sum(map(candidates.__contains__, labels[i])) for i in places}
    known = [i for i in places if there[i] and 2 * there[i] >= len(labels[i])]
    known = [i for i in known if identifies(header[i]) or plain_floats(labels[i]) is None]  # and no plate 1
    known = known or [i for i in places if there[i] and identifies(header[i])]
    # one name of all rows, which another column may name one by one
    if len(known) == 1 and len({*labels[known[0]]}) == 1 and not identifies(header[known[0]]):
        others_named = [i for i in places if i != known[0] and _NAMED.fullmatch(header[i].strip().casefold())]
        known += [i for i in others_named if len({*labels[i]}) == len(labels[i]) > 1]
    if len(known) > 1:
        both = " and ".join(repr(header[i]) for i in known[:2])
        raise ValueError(f"columns {both} both look like names of candidates; call the one that is so `name`.")
    return known[0] if known else 0 if table.index is None and 0 in places else None


def _with_errors(
    where: str,
    values: FloatArray,
    columns: Sequence[tuple[str, Column]],
    decimal: str,
    whose: Sequence[str],
    notes: list[str],
    unit: str,
) -> list[float]:
    """Return rewards with the errors that columns tell of them: a standard error or deviation, and a number."""
    told: dict[str, tuple[str, FloatArray]] = {}
    for kind, column in columns:
        read = numbers_of(where, column, decimal, whose, words=False)
        if kind and read is None:
            example = next(text for text in column.texts if text)
            raise ValueError(f"{where}: column {column.label!r} has {example!r}, no number; correct or drop it.")
        if not kind and read is not None and not np.isnan(read[0]).all():
            remedy = "call it sem (of a mean), sd (of one measurement) or n (how many measurements), or leave it out"
            raise ValueError(f"{where}: column {column.label!r} does not say what error it is; {remedy}.")
        if read is None or not kind:
            continue
        if kind in told:
            raise ValueError(f"{where}: columns {told[kind][0]!r} and {column.label!r} tell the same; leave one out.")
        if kind != "n" and (column.unit not in ("", unit) or (unit == "%" and not column.unit)):
            units = f"{column.unit or 'no unit'} and the results in {unit or 'no unit'}"
            raise ValueError(f"{where}: column {column.label!r} is in {units}; give both in one unit.")
        told[kind] = column.label, read[0]
        notes += read[1]
        if column.label.casefold() not in ("sem", "sd", "n"):
            notes.append(f"column {column.label}: taken for the {kind} of the results; rename it if it is not.")
    for kind, (label, found) in told.items():
        wrong = (found < 1.0) | (found % 1.0 > 0.0) if kind == "n" else found < 0.0
        if (wrong := ~np.isnan(values) & (wrong | (found > LARGEST_REWARD))).any():
            count = "the measurements behind a reward, a whole number from 1 on"
            rule = count if kind == "n" else f"an error, from 0 to {LARGEST_REWARD:g}"
            place = int(wrong.argmax())
            raise ValueError(f"{where}: {label!r} of {whose[place]} is {found[place]:g}; it is {rule}. Correct it.")
    n = np.nan_to_num(told["n"][1], nan=1.0) if "n" in told else np.ones(len(values))
    sem = told["sem"][1] if "sem" in told else np.full(len(values), np.nan)
    if "sd" in told and "sem" in told:
        notes.append(f"column {told['sd'][0]}: not used, since {told['sem'][0]} tells the error.")
    elif "sd" in told:
        sem = told["sd"][1] / np.sqrt(np.maximum(n, 1.0))
    return [v if v != v else reading(v, s, k) for v, s, k in zip(values.tolist(), sem, n, strict=True)]


def _results(
    where: str, whose: Sequence[str], column: Column, decimal: str, largest: float, notes: list[str]
) -> FloatArray:
    """Return results, NaN where there is none; ``whose`` says of each row whose result it is."""
    for who, text in zip(whose, column.texts, strict=True):
        if _LIMIT.fullmatch(text):
            raise ValueError(f"{who} is {text!r}, beyond what can be measured; give the limit itself, or write failed.")
        if "±" in text or "+/-" in text:
            raise ValueError(f"{who} is {text!r}; give its error in a column of its own, called sem.")
        parsed, known = column.distinct.get(text), text in column.distinct
        odd = parsed is not None and (_ODD_UNIT.fullmatch(parsed.unit) or (parsed.glued and not column.numeric))
        shaped = known and (parsed is None or parsed.around) and any(shape.fullmatch(text) for _, shape, _ in SHAPES)
        if odd or shaped:
            raise ValueError(f"{who} is {text!r}; give the number alone, or write failed or not done.")
        if known and parsed is None:
            rule = "it must be a number, empty while it is to come, `failed` or `not done`"
            raise ValueError(f"{who} is {text!r}; {rule}. Correct it.")
    read = numbers_of(where, column, decimal, whose, words=False)
    assert read is not None, "whatever is no number was refused"
    notes += read[1]
    if (large := np.abs(read[0]) > largest).any():
        place = int(large.argmax())
        text = column.texts[place]
        raise ValueError(f"{whose[place]} is {text[:20]!r}; it must be at most {largest:g} in size. Rescale it.")
    if 0.0 < (most := np.nanmax(np.abs(read[0]), initial=0.0)) < 1.0 / largest:  # whose squares are 0
        rule = f"the largest result is {most:g} in size, too small to compute with"
        raise ValueError(f"{where}: {rule}; rescale all, or give their logarithms.")
    return read[0]


def named_columns(text: str, header: Sequence[str]) -> list[str]:
    """Return the columns, as the header has them, that a text names: as a whole, or its parts by commas."""
    whole = find_column(header, (text.strip(),)) is not None
    parts = [text] if whole else next(csv.reader([text], skipinitialspace=True), [])
    parts = [part.strip() for part in parts if part.strip()]
    places = [find_column(header, (part,)) for part in parts]
    return [part if place is None else header[place] for part, place in zip(parts, places, strict=True)]


def read_wells(path: str | Path, columns: str, notes: list[str]) -> tuple[list[str], list[list[float]], list[str]]:
    """Return the gene of each well, its measurements by column with their errors, and the genes of wells to come.

    The columns, several between commas, are replicates, NaN where one failed or is empty; by default ``phenotype``, or
    the only one beside the names. A well with nothing in it is still to come, and one that is ``not done`` has no row.
    """
    path = Path(path)
    table = read_table_file(path, notes)
    header = table.header
    name = find_column(header, (*GENES, *NAMES))
    name = 0 if name is None else name
    wanted = named_columns(columns, header) or [header[1 - name] if len(header) == 2 else "phenotype"]
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"--phenotype names a column twice ({', '.join(wanted)}); name each replicate once.")
    if None in (places := [find_column(header, (label,)) for label in wanted]):
        label = wanted[places.index(None)]
        like = find_column(header, RESULTS)
        remedy = "Name the measurements by --phenotype" + (f", such as {header[like]}" if like is not None else "")
        raise ValueError(f"{path} has no column {label!r}; it has: {', '.join(header)}. {remedy}.")
    chosen = [place for place in places if place is not None]
    genes = [text.strip() for text in table.columns[name]]
    refuse_damaged(table, genes, genes=True)
    cells = [table.columns[place] for place in chosen]
    tried: list[int] = []
    to_come: list[str] = []
    for row, gene in enumerate(genes):
        texts = [tidy(column[row]).lower() for column in cells]
        if all(text in _TO_COME for text in texts):
            to_come.append(gene)
        elif not all(text in _TO_COME or text in NOT_DONE for text in texts):
            if not gene:
                raise ValueError(f"{table.row(row)}: a well without a gene; name it or delete the row.")
            tried.append(row)
    results = [["" if tidy(text).lower() in NO_RESULTS else text for text in column] for column in cells]
    read = [Column.of(header[place], column, truth=True) for place, column in zip(chosen, results, strict=True)]
    others = {i: Column.of(header[i], c) for i, c in enumerate(table.columns) if i != name and i not in chosen}
    decimal = decimal_sign(str(path), [*read, *others.values()], table.semicolons)
    beside = [(kind, others[i]) for i, kind in error_columns(header, wanted) if i in others]
    whose = [f"{table.row(i)}: the phenotype of {gene}" for i, gene in enumerate(genes)]
    said: list[str] = []
    if odd := [c for c in read[1:] if any(c.texts) and any(read[0].texts) and c.unit != read[0].unit]:
        both = f"columns {read[0].label!r} and {odd[0].label!r} are replicates in different units"
        units = " and ".join(sorted((read[0].unit or "none", odd[0].unit or "none")))
        raise ValueError(f"{path}: {both}, {units}; give numbers of one unit.")
    found = [_results(str(path), whose, column, decimal, LARGEST_PHENOTYPE, said) for column in read]
    notes += [f"{path.name}: {sentence}" for sentence in said]
    if beside and len(found) > 1:
        notes.append(f"{path.name}: column {beside[0][1].label}: not used, since replicates are there themselves.")
        beside = []
    used = (*_PLATE_MAP, *(header[i] for i, _ in error_columns(header, wanted)))
    said = _unused(str(path), others.values(), used, genes, np.fmax.reduce(found))
    notes += [f"{path.name}: {sentence}" for sentence in said]
    pairs = zip(found, read, strict=True)
    told = [_with_errors(str(path), values, beside, decimal, genes, notes, column.unit) for values, column in pairs]
    return [genes[row] for row in tried], [[column[row] for column in told] for row in tried], to_come


def averaged(genes: Sequence[str | None], wells: Sequence[Sequence[float]]) -> tuple[dict[str, float], float]:
    """Return the mean of each gene's good wells, with its error, and the pooled deviation of a well within its gene."""
    by_gene: dict[str, list[float]] = {}
    for gene, row in zip(genes, wells, strict=True):
        if gene is not None:
            by_gene.setdefault(gene, []).extend(v for v in row if v == v)
    squares = sum(float(((np.array(v) - np.mean(v)) ** 2).sum()) for v in by_gene.values() if v)
    freedom = sum(len(v) - 1 for v in by_gene.values() if v)
    errors = errors_of(by_gene)
    means = {gene: reading(mean_of(v), *errors.get(gene, ())) for gene, v in by_gene.items()}
    return means, float(np.sqrt(squares / freedom)) if freedom > 0 else float("nan")

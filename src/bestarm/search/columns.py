"""Roles of the columns of a table: names, results, features, or left out; one decision for files and frames."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from bestarm.search.number_texts import GAPS, TO_COME, Column, plain_floats, tidy

REAL = int | float | np.number | Decimal | Fraction  # cells that are numbers
NAMES = ("name", "candidate", "arm", "gene")  # headers of the column with the names, in any case of letters
RESULTS = (
    *("reward", "phenotype", "yield", "result", "results", "response", "outcome", "readout", "ausbeute"),
    *("ergebnis", "messwert", "phänotyp", "rendement", "résultat"),
)
_LIKE_RESULTS = (
    *("activity", "conversion", "ec50", "ee", "ic50", "ki", "pec50", "pic50", "pki", "score", "selectivity", "target"),
    *("titer", "titre", "inhibition", "viability", "potency", "kd", "fitness", "signal", "absorbance", "purity"),
)
_ERRORS = {  # headers of the error of a reward, without blanks and signs, by what they tell
    "sem": ("sem", "se", "stderr", "stderror", "standarderror", "standarderrorofthemean"),
    "sd": ("sd", "std", "stdev", "stddev", "standarddeviation", "standardabweichung", "stabw", "écarttype"),
    "n": ("n", "count", "nobs", "replicates", "nreplicates"),
    "": ("error", "err", "variance", "var", "uncertainty", "sigma"),
}
REMARKS = re.compile(
    r"(?:comment|note|remark|kommentar|bemerkung|anmerkung|remarque|commentaire|date|datum|fecha)(?:s|e|en)?\b.*"
)
_COMMON = ("nr", "no", "no.", "#", "number", "index")
_IDENTIFIERS = (*_COMMON, "id", "sample", "well", "compound", "experiment", "versuch", "probe")
_COUNTERS = re.compile(
    "|".join(["", *map(re.escape, _COMMON), r"unnamed: \d+(\.\d+)*", r"level_\d", "row", "zeile"])
    + r"|(?:(?:lfd|std)[ .]*)*(?:nr|pos|s\.? ?no|run|run ?order|order|entry)\.?"
)
_IDENTIFIER = re.compile(r"(.*[\W_])?id")  # beside a column of names
_NUMBERED = re.compile(r"(?:(?:.*[\W_])?(?:id|nr|no|number|nummer|order|run|entry)|sampleid|runorder)\W*")  # whole, 1st
_PLACES = re.compile(_COUNTERS.pattern + r"|(?:.*[\W_])?(?:barcode|batch|plate|row|column)(?:[ _.-]?(?:nr|no|id)\.?)?")
_AROUND = re.compile(
    r"^(?:%|mean|avg|average|mittelwert)[\s_.-]+|[\s_.-]+(?:(?:rep(?:licate)?|mean|avg|average)[\s_.-]*)?\d*$"
)


@dataclass(frozen=True)
class Roles:
    """Places of the columns of a table by role, and what was decided that the header alone does not say."""

    names: int | None  # without a column of names rows are numbered
    results: tuple[int, ...]
    features: tuple[int, ...]
    notes: tuple[str, ...]


def find_column(header: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the place of the first of some headers that there is: as it is written, then in any case of letters."""
    for word in wanted:
        if word in header:
            return header.index(word)
    folded = [_bare(label) if _bare(label) in RESULTS else label.strip().casefold() for label in header]
    if len(wanted) == 1 and folded.count(wanted[0].casefold()) > 1:
        meant = [repr(label) for label, word in zip(header, folded, strict=True) if word == wanted[0].casefold()]
        raise ValueError(f"columns {' and '.join(meant)} may both be {wanted[0]!r}; name one of them, or rename it.")
    return next((folded.index(word.casefold()) for word in wanted if word.casefold() in folded), None)


def error_columns(header: Sequence[str], beside: Iterable[str] = ()) -> list[tuple[int, str]]:
    """Return places of columns that tell errors of a reward, and what: ``sem``, ``sd``, ``n``, or nothing."""
    plain = [re.sub(r"[\W_]", "", _bare(label)) for label in header]
    if {"predicted", "novelty", "uncertainty"} <= {*plain}:  # of `why`
        plain[plain.index("uncertainty")] = ""
    around = {re.sub(r"[\W_]", "", text) for b in map(_bare, beside) for text in (b, _AROUND.sub("", b))} - {""}
    found = []
    for place, (word, label) in enumerate(zip(plain, header, strict=True)):
        words = {word, *(word.removeprefix(a) for a in around), *(word.removesuffix(a) for a in around)}
        kinds = (
            _ERRORS if _bare(label) == label.strip().casefold() or label.endswith("%") else ("sem", "sd")
        )  # N (kg/ha)
        found += [(place, kind) for kind in kinds if words & set(_ERRORS[kind])]
    return found


def _bare(label: str) -> str:
    """Return a header in small letters without its unit, such as ``yield`` for ``Yield (%)``."""
    return re.sub(r"[\s_]*(?:\(.*\)|\[.*\]|%|in %|percent|pct)$", "", label.strip().casefold()).strip()


def roles_of(
    header: Sequence[str],
    cells: Callable[[int], Sequence[str]],
    *,
    first: Sequence[str] = (),
    results: Sequence[str] | None = None,
    also: Sequence[str] = (),
    named: bool = False,
    known: Sequence[str] = (),
    numeric: Sequence[bool],
) -> Roles:
    """Return the role of each column of a header, whose texts ``cells`` returns by place.

    Headers in ``first`` name the rows before ``name``, ``candidate``, ``arm`` and ``gene`` do, unless they are
    ``named`` already. Results are those in ``results``, by default those called so and those with results to come;
    ``also`` are others, if they are there. Those ``known`` as features are. Of each column ``numeric`` says whether it
    is known to hold numbers alone.
    """
    notes: list[str] = []
    names = None if named else find_column(header, (*first, *NAMES))
    if names is None and not named:
        names = _first_column(header, cells, notes)
    if results is None:
        called = [label in also or {_bare(label), _AROUND.sub("", _bare(label))} & {*RESULTS} for label in header]
        others = [i for i in range(len(header)) if i != names and header[i] not in known]
        found = [i for i in others if called[i] or (not numeric[i] and _has_results_to_come(cells(i)))]
        for i in found:
            notes.append(f"column {header[i]}: results, no feature; `results` names such columns, if others are meant.")
    else:
        if None in (places := [find_column(header, (label,)) for label in results]):
            label = results[places.index(None)]
            raise ValueError(f"there is no column {label!r} of results; the table has: {', '.join(header)}.")
        found = [place for place in places if place is not None]
    errors = error_columns(header, [header[i] for i in found]) if found else []
    for i in {place for place, _ in errors if header[place] not in known} - {names, *found}:
        notes.append(f"column {header[i]}: an error of the results, no feature; rename it if it is one.")
        found.append(i)
    features = []
    for i, label in enumerate(header):
        if i == names or i in found:
            continue
        word = label.strip().casefold()
        if label in known:
            features.append(i)
        elif _COUNTERS.fullmatch(word) and is_counted(cells(i), anyhow=word == "index" and names is not None):
            notes.append(f"column {label or 'without a header'}: the numbers of the rows, left out.")
        elif names is not None and _names_again(word, cells(i)):
            notes.append(f"column {label}: other names of the rows, all different, left out.")
        else:
            features.append(i)
            if results is None and {*re.findall(r"[^\W\d_]+\d*", word)} & {*RESULTS, *_LIKE_RESULTS}:
                notes.append(f"column {label}: taken for a feature; name it in `results` if it is a result.")
            if REMARKS.fullmatch(word):
                notes.append(f"column {label}: taken for a feature; leave it out if it has remarks or dates.")
            if names is None and not named and identifies(label):
                notes.append(f"column {label}: taken for a feature; call it name if it has the names.")
            elif (_PLACES.fullmatch(word) or identifies(label)) and all(tidy(text).isdigit() for text in cells(i)):
                notes.append(f"column {label}: taken for a feature; leave it out if it numbers rows or plates.")
    return Roles(names, tuple(found), tuple(features), tuple(notes))


def identifies(label: str) -> bool:
    """Return whether a header is one of names or of numbers of the rows, such as ``id`` and ``Probe-Nr``."""
    word = label.strip().casefold()
    return word in (*NAMES, *_IDENTIFIERS) or any(kind.fullmatch(word) for kind in (_IDENTIFIER, _NUMBERED))


def _names_again(word: str, texts: Sequence[str]) -> bool:
    """Return whether a column beside the names has others: a number of its own for each row, or a word so called."""
    called = _IDENTIFIER.fullmatch(word) or (word in (*NAMES, *_IDENTIFIERS) and plain_floats(texts) is None)
    return bool(called) and len(set(texts)) == len(texts) > 1


def _first_column(header: Sequence[str], cells: Callable[[int], Sequence[str]], notes: list[str]) -> int | None:
    """Return 0 if the first column has the names of the rows although it is not called so, else None."""
    texts = [tidy(text) for text in cells(0)] if header else []
    column, word = Column.of("", texts), header[0].strip().casefold() if header else ""
    words, whole = not column.numeric, column.floats is not None and not (column.floats % 1.0).any()
    called = word in _IDENTIFIERS or (whole and _NUMBERED.fullmatch(word) is not None)
    if texts and len(set(texts)) == len(texts) and "" not in texts and (words or called or header[0] == ""):
        if header[0] and len(header) > 1:
            notes.append(f"column {header[0]}: the names of the rows, which no other column has.")
        return 0
    return 0 if texts and words and len(header) == 1 else None


def _has_results_to_come(texts: Sequence[str]) -> bool:
    """Return whether a column has words such as PENDING among numbers or gaps."""
    joined = "\x1f".join(texts).lower()
    if not any(word in joined for word in TO_COME):
        return False
    others = {tidy(text).lower() for text in texts} - GAPS
    left = others - set(TO_COME)
    return left != others and plain_floats([text.replace(",", ".") for text in left]) is not None


def is_counted(texts: Sequence[str], anyhow: bool = False) -> bool:
    """Return whether texts are 0, 1, 2, ... or 1, 2, 3, ... in order; ``anyhow`` all different whole numbers."""
    tidied = list(map(tidy, texts))
    if anyhow and len({*tidied}) == len(tidied) and all(map(str.isdigit, tidied)):
        return True
    return tidied[:1] in (["0"], ["1"]) and all(t == str(i) for i, t in enumerate(tidied, int(tidied[0])))

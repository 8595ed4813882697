"""The claims as the site shows them: from each study's table of verdicts to records, in one place.

Everything else of the site reads these records, so that a change of the table is a change of this module alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd

from bestarm_lab.claims.verdicts import verdict_text
from bestarm_lab.paper import Shown
from bestarm_lab.results import read_verdicts
from bestarm_lab.study import load_study, study_names

CONVENTIONS = {"as_written": "text", "as_coded": "code"}  # the words of the site
ADDED = ("for", "open", "against", "pooled", "direction", "level", "quantifier", "sentence", "place", "fingerprint")


@dataclass(frozen=True)
class Verdict:
    """What was found on a claim under one convention.

    Attributes
    ----------
    word, words : str
        The verdict, and the same with what belongs to it: (3 of 8), (about 400 runs), (exact).
    effect, low, high : float or None
        Of the comparison that decides, with its 95% interval.
    margin, unit : str
        What was claimed of the effect, and of what it is.
    p, p_opposite, p_adjusted : float or None
        One-sided of the claim and of its opposite; two-sided and adjusted over the paper's claims.
    n : int or None
        Runs.
    comparisons, confirming : int
        How many comparisons there are, and how many of them are significantly for the claim.
    scale, decided_by, test : str
        Of the rows; the comparison or the finding that decides; how it is tested.
    added : mapping
        Columns of ``ADDED`` that the table has.
    """

    word: str
    words: str
    effect: float | None
    low: float | None
    high: float | None
    margin: str
    unit: str
    p: float | None
    p_opposite: float | None
    p_adjusted: float | None
    n: int | None
    comparisons: int
    confirming: int
    scale: str
    decided_by: str
    test: str
    added: Mapping[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> str:
        """Return the effect with its interval, or an empty string."""
        if self.effect is None or self.low is None or self.high is None:
            return ""
        return f"{number(self.effect)} [{number(self.low)}, {number(self.high)}]"


@dataclass(frozen=True)
class Record:
    """One claim with its verdicts by convention; the fields are those of `bestarm_lab.claims.claim.Claim`."""

    study: str
    id: str
    text: str
    where: str
    notebook: str
    caveat: str
    ours: str
    of: str
    exact: bool
    verdicts: Mapping[str, Verdict]

    @property
    def first(self) -> Verdict:
        """Return the verdict as written, or of the only convention that there is."""
        return next(iter(self.verdicts.values()))

    @property
    def page(self) -> str:
        """Return the page of its card, without a suffix, from the root of the site."""
        return f"claims/{self.study}"

    @property
    def parts(self) -> bool:
        """Return whether text and code have different verdicts."""
        return len({v.word for v in self.verdicts.values()}) > 1


@cache
def records() -> Mapping[str, Record]:
    """Return every claim of every study by its name, in the order of the studies and their ledgers."""
    found: dict[str, Record] = {}
    for study in study_names():
        table = read_verdicts(study)
        if table is not None:
            for identity, lines in table.groupby("id", sort=False):
                found[str(identity)] = _record(study, lines)
    return found


def of_study(study: str, *, ours: bool = False) -> list[Record]:
    """Return the claims of one study: the paper's own, or this project's statements about them."""
    return [r for r in records().values() if r.study == study and bool(r.ours) == ours]


def controls(claim: Record) -> list[Record]:
    """Return this project's statements that belong to a claim."""
    return [r for r in records().values() if r.of == claim.id]


def _record(study: str, lines: pd.DataFrame) -> Record:
    first = lines.iloc[0]
    verdicts = {str(line["convention"]): _verdict(line) for _, line in lines.iterrows()}
    texts = {key: _text(first[key]) for key in ("id", "where", "notebook", "caveat", "ours", "of")}
    return Record(
        study=study,
        text=plain(_text(first["claim"])),
        exact=first["kind"] == "exact",
        verdicts={c: verdicts[c] for c in CONVENTIONS if c in verdicts},
        **texts,
    )


def _verdict(line: pd.Series) -> Verdict:
    n = _number(line["n"])
    return Verdict(
        word=str(line["verdict"]),
        words=verdict_text(dict(line)),
        effect=_number(line["effect"]),
        low=_number(line["low"]),
        high=_number(line["high"]),
        margin=_text(line["margin"]),
        unit=_text(line["unit"]),
        p=_number(line["p"]),
        p_opposite=_number(line["p_opposite"]),
        p_adjusted=_number(line["p_adjusted"]),
        n=None if n is None else int(n),
        comparisons=int(_number(line["comparisons"]) or 0),
        confirming=int(_number(line["confirming"]) or 0),
        scale=_text(line["scale"]),
        decided_by=plain(_text(line["decided_by"])),
        test=_text(line["test"]),
        added={key: line[key] for key in ADDED if key in line and pd.notna(line[key])},
    )


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def number(value: float) -> str:
    """Return a number to three digits, with a minus sign and not a hyphen."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.3g}".replace("-", "−")


def plain(text: str) -> str:
    """Return a text without the markup of docstrings."""
    return re.sub(r":\w+:`([^`]*)`", r"\1", re.sub(r"\s*\[\d+\]_", "", text)).replace("``", "")


def figure_of(claim: Record) -> tuple[str, Shown] | None:
    """Return the study's figure that a claim is about: of the number that its place names, else of its notebook.

    Figures of the claim's own notebook come before others of that number.
    """
    figures = load_study(claim.study).paper.figures
    mine = {title: shown for title, shown in figures.items() if shown.notebook == claim.notebook}
    for number_of in re.findall(r"(?:Figures?|Tables?) (\d+)", claim.where):
        for title, shown in [*mine.items(), *figures.items()]:
            if re.match(rf"(Figure|Table) {number_of}\b", title) and shown.file.startswith("fig"):
                return title, shown
    return next(((title, shown) for title, shown in mine.items() if shown.gallery), None)

"""The claims as the site shows them: from each study's table of verdicts to records, in one place.

Everything else of the site reads these records, so that a change of the table is a change of this module alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from bestarm_lab.claims.robustness import effects, summary
from bestarm_lab.claims.verdicts import verdict_text
from bestarm_lab.paper import Shown
from bestarm_lab.results import read_robustness, read_verdicts
from bestarm_lab.study import load_study, open_choices
from bestarm_lab.study_packages import study_names

CLAIM = re.compile(r"\b(?:[A-Z]+-)?[A-Z]+-[A-Z]\d+[a-z]*(?:\.[a-z]+)?\b")  # the name of a claim in a text
_NAMED = re.compile(r"(Figure|Table)(s?) (\d+)[a-z]?((?:(?:, and|,| and| to|[-–]) ?\d+[a-z]?)*)")
CONVENTIONS = {"as_written": "text", "as_coded": "code"}  # the words of the site


@dataclass(frozen=True)
class Verdict:
    """What was found on a claim under one convention.

    Attributes
    ----------
    word, words : str
        The verdict, and the same with what belongs to it: (3 of 8), (about 400 runs), (exact).
    direction : str
        Where the effect of a refuted claim lies: ``better`` or ``worse`` than claimed, ``above`` or ``below``.
    effect, low, high, interval : float or None
        Of the comparison that decides, or the share of cells that is claimed, with the interval at 1 - ``interval``.
    on_average : str
        The word on another statement: that the mean over comparisons is as claimed of each; empty where it is not made.
    average, average_p : str
        That mean with its interval; its p, two-sided and adjusted, or None.
    margin, unit : str
        What was claimed of the effect, and of what it is.
    p, p_opposite, p_adjusted : float or None
        One-sided of the claim and of its opposite; two-sided and adjusted over the paper's claims.
    n : int or None
        Runs.
    comparisons, needed, confirming, undecided, against : int
        How many comparisons there are, how many the claim needs, and how many are significantly for it, open, and
        against it.
    scale, decided_by, test : str
        Of the rows; the comparison or the finding that decides; how it is tested.
    moved : mapping of str to str
        What the verdict becomes with another margin or adjusted by Holm; none of an exact check.
    """

    word: str
    words: str
    direction: str
    effect: float | None
    low: float | None
    high: float | None
    interval: float | None
    on_average: str
    average: str
    average_p: float | None
    margin: str
    unit: str
    p: float | None
    p_opposite: float | None
    p_adjusted: float | None
    n: int | None
    comparisons: int
    needed: int
    confirming: int
    undecided: int
    against: int
    scale: str
    decided_by: str
    test: str
    moved: Mapping[str, str]

    @property
    def numbers(self) -> str:
        """Return the effect that decides with its interval, or an empty string."""
        return _interval(self.effect, self.low, self.high)

    @property
    def confidence(self) -> str:
        """Return the level of the interval that decides, such as 97.9%."""
        return "" if self.interval is None else f"{100 * (1 - self.interval):.3g}%"

    @property
    def counts(self) -> str:
        """Return how many comparisons are for the claim, open and against it, or an empty string."""
        return f"{self.confirming} / {self.undecided} / {self.against}" if self.comparisons else ""


@dataclass(frozen=True)
class Record:
    """One claim with its verdicts by convention; the fields are those of `bestarm_lab.claims.records.Claim`.

    Attributes
    ----------
    choices : mapping or None
        Under how many choices that the paper leaves open it is confirmed, each changed alone: a line of
        `bestarm_lab.claims.robustness.summary`.
    draws : mapping or None
        The same where all are drawn together.
    """

    study: str
    id: str
    text: str
    where: str
    notebook: str
    caveat: str
    ours: str
    of: str
    level: str
    quantifier: str
    sentence: str
    exact: bool
    verdicts: Mapping[str, Verdict]
    choices: Mapping[str, Any] | None = None
    draws: Mapping[str, Any] | None = None

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
        words = {v.word for v in self.verdicts.values()}
        return len(words) > 1 and "not run" not in words


@cache
def records() -> Mapping[str, Record]:
    """Return every claim of every study by its name, in the order of the studies and their ledgers."""
    found: dict[str, Record] = {}
    for study in study_names():
        table, robust = read_verdicts(study), read_robustness(study)
        margins = robust[robust["kind"] == "margin"].groupby(["claim", "convention"])
        moves = {key: dict(mine[["choice", "word_then"]].to_numpy()) for key, mine in margins}
        drawn = robust[robust["kind"] == "draw"]
        worth = effects(drawn, open_choices(study)) if len(drawn) else None
        summaries = [summary(robust[robust["kind"] == "choice"]), summary(drawn, worth)]
        more = [{line["claim"]: line for line in lines.to_dict("records")} for lines in summaries]
        if table is not None:
            for identity, lines in table.groupby("id", sort=False):
                found[str(identity)] = _record(study, lines, moves, *(held.get(identity) for held in more))
    return found


def of_study(study: str, *, ours: bool = False) -> list[Record]:
    """Return the claims of one study: the paper's own, or this project's statements about them."""
    return [r for r in records().values() if r.study == study and bool(r.ours) == ours]


def controls(claim: Record) -> list[Record]:
    """Return this project's statements that belong to a claim."""
    return [r for r in records().values() if r.of == claim.id]


def _record(
    study: str,
    lines: pd.DataFrame,
    moves: Mapping[Any, Mapping[str, str]],
    choices: Any,
    draws: Any,
) -> Record:
    first = lines.iloc[0]
    verdicts = {
        str(line["convention"]): _verdict(line, moves.get((line["id"], line["convention"]), {}))
        for _, line in lines.iterrows()
    }
    keys = ("id", "where", "notebook", "caveat", "ours", "of", "level", "quantifier", "sentence")
    return Record(
        study=study,
        text=plain(_text(first["claim"])),
        exact=first["kind"] == "exact",
        verdicts={c: verdicts[c] for c in CONVENTIONS if c in verdicts},
        choices=choices,
        draws=draws,
        **{key: _text(first[key]) for key in keys},
    )


def _verdict(line: pd.Series, moved: Mapping[str, str]) -> Verdict:
    def value(key: str) -> float | None:
        return _number(line[key])

    def count(key: str) -> int:
        return int(value(key) or 0)

    return Verdict(
        word=str(line["verdict"]),
        words=verdict_text(dict(line)),
        direction=_text(line["direction"]),
        effect=value("effect"),
        low=value("low"),
        high=value("high"),
        interval=value("interval"),
        on_average=_text(line["on_average"]),
        average=_interval(*map(value, ("average", "average_low", "average_high"))),
        average_p=value("average_p_adjusted"),
        margin=_text(line["margin"]),
        unit=told(_text(line["unit"])),
        p=value("p"),
        p_opposite=value("p_opposite"),
        p_adjusted=value("p_adjusted"),
        n=None if value("n") is None else count("n"),
        comparisons=count("comparisons"),
        needed=count("needed"),
        confirming=count("for"),
        undecided=count("open"),
        against=count("against"),
        scale=_text(line["scale"]),
        decided_by=told(plain(_text(line["decided_by"]))),
        test=told(_text(line["test"])),
        moved=moved,
    )


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or low is None or high is None:
        return ""
    return f"{number(value)} [{number(low)}, {number(high)}]"


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


COUNTED = re.compile(r"^(\d+ of \d+ cells), between (\d+) and (\d+)")


def told(words: str) -> str:
    """Return words of a verdict for a reader: what a count of cells says, in words, and true minus signs."""
    words = re.sub(r" -(?=[\d.])", " −", words)
    words = COUNTED.sub(r"\1 by their estimates, \2 to \3 by the tests", words)
    return re.sub(r"; (\d+) say nothing", r"; left out are \1 more that cannot decide", words)


def printed_in(text: str) -> list[str]:
    """Return the figures and tables of a paper that a text names, such as Figure 8, Figure 9 of "Figures 8 to 9"."""
    found: list[str] = []
    for kind, plural, first, rest in _NAMED.findall(re.sub(r" \([^)]*\)|,? (left|right)(?=,| |$)", "", text)):
        numbers = [int(first)]
        for sign, number in re.findall(r"(to|[-–]|,|and) ?(\d+)", rest if plural else ""):
            numbers += range(numbers[-1] + 1, int(number) + 1) if sign in ("to", "-", "–") else [int(number)]
        found += [f"{kind} {number}" for number in numbers]
    return list(dict.fromkeys(found))


def figure_of(claim: Record) -> tuple[str, Shown] | None:
    """Return the study's figure that a claim is about: of the number that its place names, else of its notebook.

    Figures of the claim's own notebook come before others of that number.
    """
    figures = load_study(claim.study).paper.figures
    mine = {title: shown for title, shown in figures.items() if shown.notebook == claim.notebook}
    for name in printed_in(claim.where):
        for title, shown in [*mine.items(), *figures.items()]:
            if name in printed_in(title) and shown.file.startswith("fig"):
                return title, shown
    return next(((title, shown) for title, shown in mine.items() if shown.gallery), None)

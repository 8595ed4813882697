"""Claims under the choices that a paper leaves open, decided on rows that were made under them.

A study declares of each choice which rows stand in for which. A claim's own test is then decided anew on those of its
comparisons that these rows have, alone and unadjusted, and beside it on the study's own rows of the same comparisons,
so that a difference is that of the choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Quantity, Rows
from bestarm_lab.claims.kinds import ClaimTest, Slope
from bestarm_lab.claims.layout import Best, OtherCell, Part, Side
from bestarm_lab.claims.records import Claim
from bestarm_lab.claims.statistics import Comparison
from bestarm_lab.claims.verdicts import states, verdict_alone
from bestarm_lab.figures.values import as_values

COLUMNS = ["claim", "choice", "verdict", "own", "for", "open", "against", "comparisons", "of"]
STANDS = ["claim", "choices", "confirmed", "refuted", "open", "differs", "fewest", "most", "of"]
# of a mixed claim something is refuted; other words than these leave a claim open
KINDS = {"confirmed": "confirmed", "refuted": "refuted", "mixed": "refuted"}


@dataclass(frozen=True)
class StandIn:
    """Rows under a choice that stand in for those of an experiment.

    Attributes
    ----------
    experiment : str
        Whose rows they are.
    series : mapping of str to str
        By the series of the claims what each is called there; empty where all have their own names.
    beside : collection of str
        Series that the choice leaves as they are: the study's own rows of them stand beside.
    same : str
        A column of which the study's own rows are kept where these rows have the value, such as ``round`` where fewer
        rounds are recorded; empty for all.
    change : callable, optional
        From these rows to rows in the columns of the claims.
    """

    experiment: str
    series: Mapping[str, str] = field(default_factory=dict)
    beside: Collection[str] = ()
    same: str = ""
    change: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    def rows(self, frame: pd.DataFrame, own: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the rows under the choice and those without it, by the names of the claims.

        The latter are of the experiment that stands in, where it has the unchanged series as well, so that both have
        the same runs.
        """
        there = frame if self.change is None else self.change(frame)
        own = own[own[self.same].isin(there[self.same].unique())] if self.same else own
        beside = own[own["series"].isin(self.beside)]
        if not self.series:
            return pd.concat([there, beside], ignore_index=True) if len(beside) else there, own
        unchanged = there[there["series"].isin(self.series)]
        if set(unchanged["series"]) != set(self.series):
            unchanged = own[own["series"].isin(self.series)]
        names = {name: mine for mine, name in self.series.items()}
        changed = there[there["series"].isin(names)]
        changed = changed.assign(series=changed["series"].map(names))
        return pd.concat([changed, beside], ignore_index=True), pd.concat([unchanged, beside], ignore_index=True)


@dataclass(frozen=True)
class Choice:
    """One reading of what a paper leaves open.

    Attributes
    ----------
    words : str
        The reading.
    stands : mapping of str to StandIn
        By experiments of the claims.
    quantities : collection of str
        The columns or values that it concerns; empty for all.
    """

    words: str
    stands: Mapping[str, StandIn]
    quantities: Collection[str] = ()


def readings(claims: Mapping[str, Claim], choices: Iterable[Choice], rows: Rows) -> pd.DataFrame:
    """Return what each of the paper's claims is under each choice.

    Parameters
    ----------
    claims : mapping
        The study's claims; those of this project's own and exact ones are left out.
    choices : iterable of Choice
        What the paper leaves open.
    rows : mapping of str to DataFrame
        Of the experiments that stand in and of those that they stand in for, as written.

    Returns
    -------
    DataFrame
        ``COLUMNS``: the verdict by itself, unadjusted for the number of claims; ``own``, that on the study's own rows
        of the same comparisons; ``comparisons`` that say something, of which so many are ``for`` the claim, ``open``
        and ``against`` it, and ``of``, how many the claim has. A number of comparisons that a claim names is asked of
        those that are there in proportion. A claim none of whose comparisons a choice has is left out.

    Raises
    ------
    ValueError
        For an experiment without rows.
    """
    rows = {name: _as_written(frame) for name, frame in rows.items()}
    first = {name: _first_run(frame) for name, frame in rows.items()}
    table = []
    for choice in choices:
        frames, own = _frames(choice, rows)
        seen = _Seen(first, {name: _first_run(frame) for name, frame in frames.items()})
        for identity, claim in claims.items():
            test = claim.tests.get("as_written")
            if claim.ours or not isinstance(test, ClaimTest):
                continue
            if choice.quantities and test.quantity.name not in choice.quantities:
                continue
            if line := _decided(test, choice, frames, own, seen):
                table.append({"claim": identity, "choice": choice.words} | line)
    order = {identity: place for place, identity in enumerate(claims)}
    found = pd.DataFrame(table, columns=COLUMNS)
    return found.sort_values("claim", key=lambda ids: ids.map(order), kind="stable", ignore_index=True)


def experiments(choices: Iterable[Choice]) -> list[str]:
    """Return the experiments whose rows `readings` needs, each once."""
    named = [[old, stand.experiment] for choice in choices for old, stand in choice.stands.items()]
    return list(dict.fromkeys(itertools.chain(*named)))


def _as_written(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["convention"] == "as_written"] if "convention" in rows else rows


def _frames(choice: Choice, rows: Rows) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Return the rows under a choice by the experiments that stand in, and the own ones by those of the claims."""
    named = [*choice.stands, *(stand.experiment for stand in choice.stands.values())]
    if absent := [name for name in dict.fromkeys(named) if name not in rows]:
        raise ValueError(f"{choice.words}: no current rows of {', '.join(absent)}; make them by bestarm rows.")
    both = {old: stand.rows(rows[stand.experiment], rows[old]) for old, stand in choice.stands.items()}
    changed: dict[str, pd.DataFrame] = {}
    for old, stand in choice.stands.items():
        if stand.experiment in changed:
            raise ValueError(f"{choice.words}: {stand.experiment} stands in for two experiments; split it by change.")
        changed[stand.experiment] = both[old][0]
    return changed, {old: own for old, (_, own) in both.items()}


class _Seen(NamedTuple):
    """The rows of one run, in which one sees what was run at all: of the study, and under a choice."""

    own: Rows
    under: Rows


def _first_run(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["replication"] == rows["replication"].min()]


def _decided(test: ClaimTest, choice: Choice, frames: Rows, own: Rows, seen: _Seen) -> dict[str, Any] | None:
    """Return the columns of a line of `readings` from ``verdict`` on, or None if no comparison is there."""
    kept = [part for part in single_cells(test) if set(part.experiments()) <= set(choice.stands)]
    kept = [there for part in kept if (there := _there(part, test, choice, seen)) is not None]
    if not kept:
        return None
    asked, of = replace(test, parts=tuple(kept)), n_comparisons(test)
    if test.need is not None:
        asked = replace(asked, need=math.ceil(test.need * n_comparisons(asked) / of))
    moved = replace(asked, parts=tuple(_renamed(part, choice) for part in kept))
    word, found = decided_alone(moved, frames)
    counts = states(found)
    line: dict[str, Any] = {"verdict": word, "own": decided_alone(asked, own)[0]}
    line |= {state: counts.count(state) for state in ("for", "open", "against")}
    return line | {"comparisons": len(found), "of": of}


def decided_alone(test: ClaimTest, rows: Rows) -> tuple[str, list[Comparison]]:
    """Return the verdict of a test by itself, at 5% and unadjusted for other claims, and the comparisons it rests on.

    Without a comparison that says something the word is "not informative".
    """
    found = [comparison for comparison in test.comparisons(rows) if comparison.informative]
    if not found:
        return "not informative", found
    return verdict_alone(found, test.needed(len(found)), mixed=test.mixes), found


def single_cells(test: ClaimTest) -> Iterator[Part]:
    """Yield the parts of a test with one cell each; a slope keeps all values of the setting that it is along."""
    along = test.along if isinstance(test, Slope) else ""
    for part in test.parts:
        for experiment, entry in part.cells:
            lists = [[(key, [value]) for value in values] for key, values in entry.items() if key != along]
            kept = {along: entry[along]} if along in entry else {}
            for chosen in itertools.product(*lists):
                yield replace(part, cells=((experiment, dict(chosen) | kept),))


def n_comparisons(test: ClaimTest) -> int:
    """Return how many comparisons a test has, whether they say anything or not."""
    return sum(max(1, len(part.pairs)) for part in single_cells(test))


def _there(part: Part, test: ClaimTest, choice: Choice, seen: _Seen) -> Part | None:
    """Return a part of one cell with the comparisons that a choice concerns and has; None if none is left."""
    ((experiment, entry),) = part.cells
    moved = _renamed(part, choice)
    changed = set(choice.stands[experiment].series)
    kept = [pair for pair in part.pairs if not changed or changed & {*series_of(pair[0]), *series_of(pair[1])}]
    if part.pairs and not kept:
        return None
    for values in itertools.product(*entry.values()):
        where = dict(zip(entry, values, strict=True))
        before = _series(part, experiment, where, test.quantity, seen.own)
        after = _series(moved, moved.cells[0][0], where, test.quantity, seen.under)
        if not all(before.values()) or not all(after.values()):
            return None
        right = "against" if "against" in before else "left"
        sides = [
            [place for place in before if place != "against"],
            [place for place in before if place in (right, "from")],
        ]
        kept = [
            pair
            for pair in kept
            if all(_has(side, before[p], after[p]) for side, places in zip(pair, sides, strict=True) for p in places)
        ]
    return replace(part, pairs=tuple(kept)) if kept or not part.pairs else None


def series_of(side: Side | None) -> Sequence[str]:
    """Return the series of a side of a comparison, several of a best of them."""
    return side.names if isinstance(side, Best) else [side] if side is not None else []


def _series(part: Part, experiment: str, where: Mapping[str, Any], quantity: Quantity, rows: Rows) -> dict[str, Any]:
    """Return the series at each place of a cell, as `Part.places` names them."""
    found = {}
    for place, (experiments, settings) in part.places(experiment, where).items():
        cells = [quantity.select(rows[name], settings) for name in experiments]
        found[place] = {name for cell in cells for name in cell["series"].unique()}
    return found


def _has(side: Side | None, before: Collection[str], after: Collection[str]) -> bool:
    """Return whether a side is among the series under a choice: of a best all that the study's own rows have."""
    named = set(series_of(side))
    if isinstance(side, Best):
        named &= set(before)
    return side is None or (bool(named) and named <= set(after))


def _renamed(part: Part, choice: Choice) -> Part:
    """Return a part on the experiments that stand in."""

    def named(experiment: str) -> str:
        return choice.stands[experiment].experiment if experiment else ""

    def elsewhere(place: OtherCell | None) -> OtherCell | None:
        return place and replace(place, experiment=named(place.experiment), joined=named(place.joined))

    return replace(
        part,
        cells=tuple((named(experiment), entry) for experiment, entry in part.cells),
        against=elsewhere(part.against),
        base=elsewhere(part.base),
        joined=named(part.joined),
    )


def stands(found: pd.DataFrame) -> pd.DataFrame:
    """Return ``STANDS``: of each claim under how many choices it stands, and under which its word differs.

    Parameters
    ----------
    found : DataFrame
        Of `readings`.

    Returns
    -------
    DataFrame
        ``choices`` is how many were read, of which the claim is ``confirmed`` under so many, ``refuted`` (mixed counts
        as such) and ``open`` under the others; ``differs`` has the choices under which it is another of these three
        than on the study's own rows of the same comparisons; ``fewest`` and ``most`` comparisons that a choice has,
        ``of`` all.
    """
    table = []
    for claim, mine in found.groupby("claim", sort=False):
        kinds, own = (mine[column].map(KINDS).fillna("open") for column in ("verdict", "own"))
        told = [f"{c} ({v}, else {o})" for c, v, o in mine.loc[kinds != own, ["choice", "verdict", "own"]].to_numpy()]
        line = {"claim": claim, "choices": len(mine), "differs": "; ".join(told)}
        line |= {kind: int((kinds == kind).sum()) for kind in ("confirmed", "refuted", "open")}
        extent = {"fewest": mine["comparisons"].min(), "most": mine["comparisons"].max(), "of": mine["of"].iloc[0]}
        table.append(line | extent)
    return pd.DataFrame(table, columns=STANDS)


def stands_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `stands` as text."""
    several = table["fewest"] < table["most"]
    extent = table["most"].astype(str).where(~several, table["fewest"].astype(str) + " to " + table["most"].astype(str))
    return pd.DataFrame(
        {
            "claim": table["claim"],
            "stands under": table["confirmed"].astype(str) + " of " + table["choices"].astype(str),
            "refuted under": table["refuted"],
            "comparisons": extent + " of " + table["of"].astype(str),
            "differs under (verdict, else that of our own choice)": table["differs"],
        }
    )


def choice_values(found: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return `readings` in the columns of a figure's CSV: the statistic is the verdict, the value its ``for``."""
    names = {"claim": "panel", "choice": "series", "verdict": "statistic", "comparisons": "x", "for": "value"}
    return as_values(found.rename(columns=names).assign(n=np.nan), profile=profile)

"""Draws of the open choices under which a claim stands, and the choices that decide it.

Each claim is decided by its own test on the rows of each draw, read at every quantile, at 5% from two sides and
unadjusted for the number of claims. A choice matters as far as the readings of one of its levels are more strongly for
a claim than those of another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bestarm_lab.claims.cells import Quantity, Value
from bestarm_lab.claims.choices import KINDS, decided_alone, series_of
from bestarm_lab.claims.kinds import ClaimTest
from bestarm_lab.claims.layout import Part
from bestarm_lab.claims.records import Claim
from bestarm_lab.claims.verdicts import LEVEL
from bestarm_lab.paths import RESULTS
from bestarm_lab.results import published
from bestarm_lab.study import load_study
from bestarm_studies.oae.checks import RANDOM
from bestarm_studies.oae.experiments import BATCH
from bestarm_studies.oae.first_hits import random_mean
from bestarm_studies.oae.open_choices.open_design import CHOICES, N_ARMS, N_DRAWS, OPEN_DESIGN, QUANTILES, drawn_levels

# which rows of the design stand for an experiment
DESIGNED = {"synthetic_10_5": "design_10_5"}
STANDS, READINGS = (RESULTS / "oae" / f"{name}.csv" for name in ("stands", "stands_readings"))
QUANTILE = "quantile"
QUANTILE_WORDS = {"first_5": "top 5%", "first_1": "top 1%", "first_02": "top 0.2%"}
VERDICTS = ("confirmed", "refuted", "open")
READING = ["claim", "draw", "quantile", "verdict", "strength", "comparisons", "of", "without"]
COLUMNS = [
    "claim", "draws", "readings", "confirmed", "refuted", "open", "factor_1", "factor_2", "why_1", "why_2",
    "comparisons", "of", "without",
]  # fmt: skip


def deciding_choices() -> dict[str, str]:
    """Return every choice in words, the quantile that is counted as the last."""
    return {name: choice.words for name, choice in CHOICES.items()} | {QUANTILE: "quantile that is counted"}


def named(claims: Mapping[str, Claim], identities: Sequence[str]) -> dict[str, Claim]:
    """Return claims by their names, or without names all of the paper's own.

    Raises
    ------
    ValueError
        For names that the ledger does not have.
    """
    if absent := [i for i in identities if i not in claims]:
        raise ValueError(f"the ledger has no claim {', '.join(absent)}; name claims of claims.yaml.")
    return {i: claims[i] for i in identities} or {i: claim for i, claim in claims.items() if not claim.ours}


def readings(
    claims: Mapping[str, Claim], rows: Mapping[str, pd.DataFrame], identities: Sequence[str] = ()
) -> pd.DataFrame:
    """Return what each claim becomes in every draw, at every quantile.

    Parameters
    ----------
    claims : mapping
        The study's claims.
    rows : mapping of str to DataFrame
        Rows of the design by the names of its experiments.
    identities : sequence of str
        Which claims; by default all of the paper's. One of which no comparison is in these rows is left out.

    Returns
    -------
    DataFrame
        ``claim, draw, quantile, verdict, strength, comparisons, of, without``: ``confirmed``, ``refuted`` (a mixed
        verdict is one, as something that is claimed is refuted) or ``open``; how far the effects are from their margins
        on the claim's side, in standard deviations of a run, in the mean over comparisons; how many comparisons of the
        claim's these rows have; the series and experiments of the others. A regret is of no quantile.
    """
    by_draw = {old: _by_draw(rows[new]) for old, new in DESIGNED.items() if new in rows}
    series = {old: set(rows[DESIGNED[old]]["series"]) for old in by_draw}
    table = []
    for identity, claim in named(claims, identities).items():
        test = claim.test
        if not isinstance(test, ClaimTest) or test.quantity.name not in ("first_hit", "regret_area"):
            continue
        asked, without = of_what_is_there(test, series)
        if not asked.parts:
            continue
        there = {e: by_draw[e] for e in asked.experiments()}
        line = {"claim": identity, "comparisons": count(asked), "of": count(test), "without": ", ".join(without)}
        for draw in sorted(set.intersection(*map(set, there.values()))):
            frames = {e: frames[draw] for e, frames in there.items()}
            for column in [""] if test.quantity.name == "regret_area" else QUANTILES:
                read = replace(asked, quantity=_quantity(test.quantity, column))
                verdict, strength = _decided(read, frames)
                at = {"draw": draw, "quantile": QUANTILE_WORDS.get(column, "")}
                table.append(line | at | {"verdict": verdict, "strength": strength})
    return pd.DataFrame(table, columns=READING)


def _by_draw(rows: pd.DataFrame) -> dict[int, pd.DataFrame]:
    return {int(str(draw)): mine for draw, mine in rows.groupby("draw")}


def of_what_is_there(test: ClaimTest, series: Mapping[str, set[str]]) -> tuple[ClaimTest, list[str]]:
    """Return a test without the comparisons of what was not run, and the names of that.

    ``series`` are the names of what was run, by the experiment.
    """
    parts: list[Part] = []
    absent: dict[str, None] = {}
    for part in test.parts:
        beside = [place.experiment for place in (part.against, part.base) if place is not None] + [part.joined]
        cells = tuple(cell for cell in part.cells if cell[0] in series)
        missing = [e for e in (*(e for e, _ in part.cells), *beside) if e and e not in series]
        absent |= dict.fromkeys(missing)
        if not cells or any(e in missing for e in beside):
            continue
        mine = set.intersection(*(series[e] | series.get(part.joined, set()) for e, _ in cells))
        facing = series[part.against.experiment] if part.against is not None and part.against.experiment else mine
        lost = {pair: [*_lost(pair[0], mine), *_lost(pair[1], facing)] for pair in part.pairs}
        absent |= dict.fromkeys(name for names in lost.values() for name in names)
        if kept := tuple(pair for pair in part.pairs if not lost[pair]):
            parts.append(replace(part, cells=cells, pairs=kept))
    return replace(test, parts=tuple(parts)), list(absent)


def _lost(side: Any, known: set[str]) -> list[str]:
    return [name for name in series_of(side) if name not in known]


def count(test: ClaimTest) -> int:
    return sum(len(list(part.each_cell())) * len(part.pairs) for part in test.parts)


def _quantity(quantity: Quantity, column: str) -> Quantity:
    """Return a claim's quantity as it is read from a row for each run."""
    if not column:
        value = Value("regret of the best arm so far over all batches", _regret)
    else:
        words = f"batches until a {QUANTILE_WORDS[column]} arm"
        value = Value(words, partial(_first, column=column), limit=_limit)
    return replace(quantity, values={quantity.name: value})


def _wide(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    kept = rows[~rows["broken"].astype(bool)]
    return kept.pivot(index="replication", columns="series", values=column).astype(np.float64)


def _first(rows: pd.DataFrame, settings: Mapping[str, Any], column: str) -> pd.DataFrame:
    """Return the batches until an arm of a quantile; those of random batches are their mean by the exact law."""
    table = _wide(rows, column)
    if RANDOM in table:
        table[RANDOM] = random_mean(N_ARMS, QUANTILES[column], BATCH, int(rows["round"].max()))
    return table


def _regret(rows: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    return _wide(rows, "regret")


def _limit(rows: pd.DataFrame) -> float:
    return float(rows["round"].max()) + 1.0


def _decided(test: ClaimTest, rows: Mapping[str, pd.DataFrame]) -> tuple[str, float]:
    """Return the verdict of a reading, and the mean strength of its comparisons."""
    verdict, found = decided_alone(test, rows)
    strength = float(np.mean([c.strength for c in found])) if found else float("nan")
    return KINDS.get(verdict, "open"), strength


def differences(found: pd.DataFrame) -> pd.DataFrame:
    """Return what each choice is worth for each claim: how far its levels are apart in the claim's favour.

    Verdicts on 25 runs are coarse, so that levels are compared by the strength of the readings.

    Parameters
    ----------
    found : DataFrame
        Of `readings`.

    Returns
    -------
    DataFrame
        ``claim, choice, more, less, difference, low, high``: the levels with the largest and the smallest mean
        strength, and their difference, in standard deviations of a run, with an interval at 95% over all pairs of
        levels of a claim's choices together (t, Bonferroni). Draws are the sample, those of a level against those of
        another; quantiles are read in every draw and compared within it.
    """
    levels = drawn_levels(N_DRAWS)
    table = []
    for claim, mine in found.groupby("claim", sort=False):
        wide = mine.pivot(index="draw", columns="quantile", values="strength")
        drawn = wide.mean(axis=1).dropna()
        chosen: dict[str, Mapping[str, pd.Series]] = {
            name: dict(iter(drawn.groupby(levels.loc[drawn.index, name]))) for name in CHOICES
        }
        if wide.shape[1] > 1:
            chosen[QUANTILE] = {str(level): values for level, values in wide.dropna().items()}
        pairs = sum(math.comb(len(groups), 2) for groups in chosen.values())
        for name, groups in chosen.items():
            more, less = _ends(groups)
            if name == QUANTILE:
                change = groups[more] - groups[less]
                error, freedom = float(change.std(ddof=1) / np.sqrt(len(change))), len(change) - 1
            else:
                error = float(np.hypot(*(groups[g].std(ddof=1) / np.sqrt(len(groups[g])) for g in (more, less))))
                freedom = len(groups[more]) + len(groups[less]) - 2
            difference = float(groups[more].mean() - groups[less].mean())
            reach = float(stats.t.isf(LEVEL / 2 / pairs, freedom)) * error
            line = {"claim": claim, "choice": name, "more": more, "less": less, "difference": difference}
            table.append(line | {"low": difference - reach, "high": difference + reach})
    return pd.DataFrame(table)


def _ends(groups: Mapping[str, pd.Series]) -> tuple[str, str]:
    """Return the levels with the largest and with the smallest mean."""
    means = {level: float(values.mean()) for level, values in groups.items()}
    return max(means, key=lambda level: means[level]), min(means, key=lambda level: means[level])


def stands(found: pd.DataFrame) -> pd.DataFrame:
    """Return ``COLUMNS``: of each claim how many readings confirm and refute it, and the two choices that matter most.

    Parameters
    ----------
    found : DataFrame
        Of `readings`.

    Returns
    -------
    DataFrame
        A choice is named as ``factor_1`` or ``factor_2`` only if its interval in `differences` excludes 0; the first
        is the one whose lower end is the largest. ``why_1`` and ``why_2`` have its levels in words.
    """
    worth, words, table = differences(found), deciding_choices(), []
    levels = drawn_levels(N_DRAWS)
    for claim, mine in found.groupby("claim", sort=False):
        counts = mine["verdict"].value_counts()
        clear = worth[(worth["claim"] == claim) & (worth["low"] > 0.0)].sort_values("low", ascending=False)
        line = {"claim": claim, "draws": mine["draw"].nunique(), "readings": len(mine)}
        line |= {verdict: int(counts.get(verdict, 0)) for verdict in VERDICTS}
        for place in (1, 2):
            line[f"factor_{place}"] = line[f"why_{place}"] = ""
            if len(clear) >= place:
                one = clear.iloc[place - 1]
                name = one["choice"]
                level = mine["quantile"] if name == QUANTILE else mine["draw"].map(levels[name])
                told = [f"{at} {_shares(mine.loc[level == at, 'verdict'])}" for at in (one["more"], one["less"])]
                line |= {f"factor_{place}": name, f"why_{place}": f"{words[name]}: {'; '.join(told)}"}
        table.append(line | dict(mine.iloc[0][["comparisons", "of", "without"]]))
    return pd.DataFrame(table, columns=COLUMNS)


def _shares(verdicts: pd.Series) -> str:
    return ", ".join(f"{100 * (verdicts == verdict).mean():.0f}% {verdict}" for verdict in VERDICTS[:2])


def write_stands() -> None:
    """Decide every claim on the committed rows of the design; commit all readings, and `stands`."""
    rows = {name: published("oae", name)[1] for name in OPEN_DESIGN}
    if stale := [name for name, frame in rows.items() if frame is None]:
        raise ValueError(f"no current rows of {', '.join(stale)}; make them by bestarm rows oae --experiment NAME.")
    found = readings(load_study("oae").claims, {n: frame for n, frame in rows.items() if frame is not None})
    found.to_csv(READINGS, index=False, float_format="%.4g", lineterminator="\n")
    stands(read_readings()).to_csv(STANDS, index=False, lineterminator="\n")


def read_readings() -> pd.DataFrame:
    """Return the committed readings."""
    return pd.read_csv(READINGS, keep_default_na=True).fillna({"quantile": "", "without": ""})

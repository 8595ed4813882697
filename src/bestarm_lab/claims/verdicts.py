"""Verdicts: from comparisons to a graded line and one word.

Across a paper's claims of one level the two-sided p-values are adjusted by Benjamini and Hochberg, and so are those of
the project's own statements. Intervals are at the level that this adjustment leaves to a claim (Benjamini and Yekutieli
2005), and partial conjunction to the comparison that decides, so that an interval and its verdict agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from bestarm_lab.claims.statistics import SEED, Comparison, Relation, joint_p, joint_terms, simes_terms

if TYPE_CHECKING:
    from bestarm.interface import FloatArray

LEVEL = 0.05
POWER = 0.8
DRAWS, SHARED = 2000, 0.5  # of the joint rule, and the correlation of the noise of two comparisons
# an undecided claim is at the margin if a tenth of the present standard error would not decide it either
FARTHEST = 100
# a number of runs is told up to so many times the present one: beyond, the effect that it follows from is too uncertain
TOLD = 10
VERDICTS = ("confirmed", "refuted", "mixed", "undecided", "at the margin", "not informative", "not run")
OWN = "ours"  # the family of the project's own statements, beside the levels of the paper's claims
CONVENTIONS = {"as_written": "paper's text", "as_coded": "authors' code"}


class Decision(NamedTuple):
    """What an exact check found."""

    holds: bool  # whether the statement is true of what was checked
    text: str  # what was found
    informative: bool = True  # false if nothing that was checked could have contradicted the statement
    checked: str = ""  # how much was checked without a violation, such as "3500 runs"; empty for arithmetic


def two_sided(p: float, p_opposite: float) -> float:
    """Return the two-sided p-value of two one-sided ones."""
    return min(1.0, 2.0 * min(p, p_opposite))


def _holm(ps: FloatArray) -> FloatArray:
    """Return p-values adjusted by Holm; statsmodels, which has it too, collects garbage at every call, for 0.2 s."""
    order, found = np.argsort(ps), np.empty(len(ps))
    found[order] = np.minimum(1.0, np.maximum.accumulate(ps[order] * np.arange(len(ps), 0, -1)))
    return found


def states(comparisons: Sequence[Comparison]) -> list[str]:
    """Return of each comparison whether it is significantly ``for`` or ``against`` the claim, or ``open``."""
    ps, opposite = (np.array([getattr(c, key) for c in comparisons]) for key in ("p", "p_opposite"))
    significant = (_holm(np.minimum(1.0, 2.0 * one_sided)) < LEVEL for one_sided in (ps, opposite))
    return ["for" if ours else "against" if theirs else "open" for ours, theirs in zip(*significant, strict=True)]


def verdict_of(
    comparisons: Sequence[Comparison], significant: bool, need: int, *, mixed: bool = True, level: float = LEVEL
) -> str:
    """Return the verdict on a claim from its comparisons, whether its p is significant, and how many it needs.

    A claim that fails as it is stated and holds significantly in some comparisons is mixed; one that names a number of
    comparisons (``mixed`` is false) is refuted.
    """
    if not significant:
        return "undecided" if np.isfinite(needed_runs(comparisons, need, level)) else "at the margin"
    p, p_opposite = joint_p(comparisons, need)
    return "confirmed" if p <= p_opposite else "mixed" if mixed and "for" in states(comparisons) else "refuted"


def verdict_alone(comparisons: Sequence[Comparison], need: int, *, level: float = LEVEL, mixed: bool = True) -> str:
    """Return the verdict on a claim at a level, not adjusted for other claims; as of `verdict_of`."""
    return verdict_of(comparisons, two_sided(*joint_p(comparisons, need)) <= level, need, mixed=mixed, level=level)


def deciding(comparisons: Sequence[Comparison], verdict: str, need: int) -> tuple[Comparison, float]:
    """Return the comparison that a verdict rests on, and the share of the claim's level at which both agree.

    It is the one whose term of the joint p is the least; of what is undecided the weakest that is needed, at the
    smaller of the shares that the claim and its opposite leave to it, so that its interval has the margin inside.
    """
    m = len(comparisons)
    if need > m:
        return comparisons[0], 1.0
    against = verdict in ("refuted", "mixed")
    key, first = ("p_opposite", m - need + 1) if against else ("p", need)
    ordered = sorted(comparisons, key=lambda c: getattr(c, key))[first - 1 :]
    if not against and verdict != "confirmed":
        return ordered[0], min(1.0 / need, 1.0 / len(ordered))
    if against and need == m:
        return ordered[0], 1.0 / m
    place = int(np.argmin(simes_terms([getattr(c, key) for c in ordered], 1)))
    return ordered[place], (place + 1) / len(ordered)


def direction(shown: Comparison, against: Sequence[Comparison], relation: Relation | None, better: str) -> str:
    """Return where the effects that refute a claim lie.

    Of a margin with two sides that is ``above`` it, ``below`` it, ``above and below``, or ``better`` than claimed
    (which side is better for the paper's method the ledger says); of one with one side ``worse``, since nothing else
    can refute it. ``shown`` is the comparison that decides, ``against`` those that are significantly against the claim.
    """
    if relation is None or relation.word != "within":
        return "worse"
    sides = sorted({"above" if c.effect > relation.high else "below" for c in (shown, *against)})
    return "better" if sides == [better] else " and ".join(sides)


@cache
def _noise(m: int) -> FloatArray:
    """Return noise of the standard normal law for m comparisons, correlated by `SHARED`."""
    rng = np.random.default_rng(SEED)
    own = special.ndtri((rng.permuted(np.tile(np.arange(DRAWS), (m + 1, 1)), axis=1) + 0.5) / DRAWS)
    return np.asarray((np.sqrt(SHARED) * own[0] + np.sqrt(1.0 - SHARED) * own[1:]).T)


def needed_runs(comparisons: Sequence[Comparison], need: int, level: float = LEVEL) -> float:
    """Return the runs that would decide with 80% power if the effects are as observed; infinite beyond `FARTHEST`.

    All comparisons get as many times their present runs; the number is that of the comparison with the fewest. The
    joint rule is simulated at a two-sided level, with effects as far from the margin as observed and half-shared noise.
    """
    z = np.array([c.strength * np.sqrt(max(c.n, 1)) for c in comparisons])
    n, noise = min(c.n for c in comparisons), _noise(len(comparisons))

    def power(logarithm: float) -> float:
        drawn = z * np.exp(logarithm / 2.0) + noise
        terms = joint_terms(special.ndtr(-drawn), special.ndtr(drawn), need)
        return float((np.minimum(*(t.min(axis=1) for t in terms)) <= level / 2.0).mean())

    least, most = 0.0, float(np.log(FARTHEST))
    if need > len(comparisons) or power(least) >= POWER:
        return float(n)
    if power(most) < POWER:
        return float("inf")
    for _ in range(12):
        middle = (least + most) / 2.0
        least, most = (least, middle) if power(middle) >= POWER else (middle, most)
    return float(np.ceil(n * np.exp(most)))


def required_runs(comparisons: Sequence[Comparison], need: int, level: float = LEVEL) -> float | None:
    """Return the runs that would decide, if that is advice: more than there are, and at most `TOLD` times as many."""
    runs, n = needed_runs(comparisons, need, level), min(c.n for c in comparisons)
    return runs if n < runs <= TOLD * n else None


def families(verdicts: pd.DataFrame) -> pd.Series:
    """Return the family of each line: the level of a claim of the paper, or the project's own statements."""
    return verdicts["level"].where(verdicts["ours"] == "", OWN)


def adjust(verdicts: pd.DataFrame, of: str = "") -> pd.DataFrame:
    """Return two-sided p-values, adjusted by Benjamini and Hochberg within families of one convention, and levels.

    The paper's headlines, its sections' claims, its details and its theorems are a family each, the project's own
    statements another. A statement that rests on the p-values of its own claim has that claim's adjusted p, so that one
    p never gets two verdicts. ``of`` is ``average_`` for the means over comparisons, which take the place of the
    claims' own p-values where there are some. The result has ``p_adjusted``, and ``level``: the two-sided level that
    the adjustment leaves to each claim of a family.
    """
    from scipy import stats

    if of:
        numbers = {k: verdicts[[of + k, k]].astype(np.float64) for k in ("p", "p_opposite")}
        verdicts = verdicts.assign(**{k: both[of + k].fillna(both[k]) for k, both in numbers.items()})
    p = _two_sided(verdicts)
    level = pd.Series(np.nan, index=p.index)
    tested = verdicts[p.notna()]
    for _, index in tested.groupby(["convention", families(tested)]).groups.items():
        p[index] = stats.false_discovery_control(p[index].to_numpy())
        level[index] = LEVEL * max(1, int((p[index] < LEVEL).sum())) / len(index)
    if {"id", "of"} <= set(tested):
        decides = _two_sided(tested)  # of the two one-sided p-values only the smaller one
        theirs = tested["ours"] == ""
        claims = tested["id"].where(theirs, tested["of"])
        for index in tested.groupby([claims, "convention", decides]).groups.values():
            for claim in index[theirs[index]]:
                p[index], level[index] = p[claim], level[claim]
    return pd.DataFrame({"p_adjusted": p, "level": level})


def by_holm(verdicts: pd.DataFrame) -> pd.Series:
    """Return two-sided p-values adjusted by Holm over the same families as `adjust`."""
    p = _two_sided(verdicts)
    tested = verdicts[p.notna()]
    for _, index in tested.groupby(["convention", families(tested)]).groups.items():
        p[index] = _holm(p[index].to_numpy())
    return p


def _two_sided(verdicts: pd.DataFrame) -> pd.Series:
    return (2.0 * verdicts[["p", "p_opposite"]].astype(np.float64).min(axis=1)).clip(upper=1.0)


def verdict_text(line: Mapping[str, Any], *, brief: bool = False) -> str:
    """Return a verdict in words with its notes: (3 of 8, 1 against), (about 400 runs), (depends on ...).

    A brief one has only those that no count of comparisons tells: (exact), (better than claimed).
    """
    verdict, checked, depends, side = (line.get(key) for key in ("verdict", "checked", "depends_on", "direction"))
    exact = verdict in ("confirmed", "refuted") and line["kind"] == "exact"
    if exact and isinstance(checked, str) and checked:
        return f"no violation in {checked}"
    notes = [f"depends on {depends}"] if isinstance(depends, str) and depends and not brief else []
    if brief:
        side = None if verdict == "undecided" else side
    elif verdict == "undecided":
        if line["comparisons"] > 1:
            notes.append(_wanted(line))
        if pd.notna(line["needed_n"]):
            two_digits = float(f"{line['needed_n']:.2g}")
            notes.append(f"about {two_digits:,.0f} runs")
        side = None
    elif verdict == "mixed" or (verdict == "confirmed" and line["against"] > 0):
        notes.append(f"{line['for']:.0f} of {line['comparisons']:.0f}, {line['against']:.0f} against")
    if isinstance(side, str) and side not in ("", "worse"):
        notes.append("better than claimed" if side == "better" else f"{side} what is claimed")
    if exact:
        notes.append("exact")
    return f"{verdict} ({'; '.join(notes)})" if notes else str(verdict)


def _wanted(line: Mapping[str, Any]) -> str:
    """Return how many comparisons would confirm or refute a claim and how many there are."""
    m, need, ours, theirs = (int(line[key]) for key in ("comparisons", "needed", "for", "against"))
    text = f"needs {need} of {m} for or {m - need + 1} against, has {ours} and {theirs}"
    enough = ours >= need or theirs > m - need  # p fails by its adjustment over all claims
    return f"{text}, adjusted p {line['p_adjusted']:.2g}" if enough else text


def counts_text(line: Mapping[str, Any]) -> str:
    """Return how many comparisons are significantly for a claim, open, and against it."""
    if pd.isna(line["comparisons"]):
        return ""
    return " / ".join(f"{line[state]:.0f}" for state in ("for", "open", "against"))


def effect_text(line: Mapping[str, Any]) -> str:
    """Return the effects behind a verdict with intervals and margin, or what an exact check found.

    Of several comparisons it is the one that decides; where the mean over them is tested, that follows with its word.
    """
    if pd.isna(line["effect"]):
        return str(line["decided_by"]) if isinstance(line["decided_by"], str) else ""
    claimed = f"(claimed: {line['margin']}), {line['unit']}"
    mean = f"; {average_text(line)}" if isinstance(line.get("on_average"), str) else ""
    if str(line["unit"]).startswith("share of the cells"):
        return f"{line['decided_by']} {claimed}{mean}"
    decides = _numbers(line, "effect", "low", "high")
    return f"{decides} {claimed}" if line["comparisons"] == 1 else f"{decides} in {line['decided_by']} {claimed}{mean}"


def average_text(line: Mapping[str, Any]) -> str:
    """Return what the mean over comparisons says beside their count."""
    return f"on average {line['on_average']}, {_numbers(line, 'average', 'average_low', 'average_high')}"


def _numbers(line: Mapping[str, Any], *keys: str) -> str:
    effect, low, high = (f"{line[key]:.3g}" for key in keys)
    return f"{effect} [{low}, {high}]"


def verdict_table(verdicts: pd.DataFrame) -> str:
    """Return verdicts as a table in Markdown that is no wider than a text; the project's own statements last.

    Columns are the claim's name, its words, its verdict by each convention, and how many comparisons are significantly
    for it, open and against it, a line for each convention where they differ. Effects stand on the claim's card.
    """
    shown = [c for c in CONVENTIONS if (verdicts["convention"] == c).any()]
    heads = ["", "claim", *(CONVENTIONS[c].split()[-1] for c in shown), "for / open / against"]
    lines, ours = [], verdicts["ours"].fillna("")
    for part in (verdicts[ours == ""], verdicts[ours != ""]):
        for identity, mine in part.groupby("id", sort=False):
            found = {str(line["convention"]): dict(line) for _, line in mine.iterrows()}
            first = next(iter(found.values()))
            label = f"*{first['ours']}:* " if isinstance(first["ours"], str) and first["ours"] else ""
            words = [verdict_text(found[c], brief=True) if c in found else "" for c in shown]
            counts = "<br>".join(dict.fromkeys(counts_text(found[c]) for c in shown if c in found))
            lines.append((identity, f"{label}{first['claim']}", *words, counts))
    return markdown(heads, lines)


def markdown(heads: Sequence[str], lines: Iterable[Iterable[Any]], numbers: Collection[int] = ()) -> str:
    """Return a table in Markdown, in which the columns of ``numbers`` stand to the right."""
    marks = ["--:" if column in numbers else "---" for column in range(len(heads))]
    rows = ([str(entry).replace("\n", " ").replace("|", "\\|") for entry in line] for line in lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, marks, *rows))


def scoreboard(verdicts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the number of a paper's own claims with each verdict, one line for each study and convention.

    Claims that statistics decide are counted by verdict; theorems, arithmetic and other exact checks are counted apart,
    as ``holds`` and ``fails``. ``sentences`` is how many sentences of the paper these claims are parts of.
    """
    lines = []
    for study, table in verdicts.items():
        for convention, mine in table[table["ours"].fillna("") == ""].groupby("convention", sort=False):
            exact = (mine["kind"] == "exact") & mine["verdict"].isin(["confirmed", "refuted"])
            tested, decided = (mine.loc[of, "verdict"].value_counts() for of in (~exact, exact))
            line = {"study": study, "convention": CONVENTIONS[str(convention)], "sentences": mine["sentence"].nunique()}
            line |= {verdict: tested.get(verdict, 0) for verdict in VERDICTS}
            lines.append(line | {"holds": decided.get("confirmed", 0), "fails": decided.get("refuted", 0)})
    return pd.DataFrame(lines)

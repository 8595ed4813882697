"""Verdicts: from comparisons to words, a table for reading, and a scoreboard.

Within a claim that needs all of m comparisons, p is the largest of theirs and the opposite's m times the smallest
(intersection-union, Bonferroni); one that needs some of them has the p-values of partial conjunction. Across a paper's
claims the two-sided p-values are adjusted by Benjamini and Hochberg, and so are those of the project's own statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.interface import BoolArray
from bestarm_lab.claims.statistics import Comparison, partial_conjunction

LEVEL = 0.05
POWER = 0.8
VERDICTS = ("confirmed", "refuted", "mixed", "undecided", "not informative", "not run")
CONVENTIONS = {"as_written": "paper's text", "as_coded": "authors' code"}


class Decision(NamedTuple):
    """What an exact check found.

    Attributes
    ----------
    holds : bool
        Whether the statement is true of what was checked.
    text : str
        What was found.
    informative : bool
        False if nothing that was checked could have contradicted the statement.
    checked : str
        How much was checked without a violation, such as "3500 runs"; empty for arithmetic.
    """

    holds: bool
    text: str
    informative: bool = True
    checked: str = ""


def joint_p(comparisons: Sequence[Comparison], need: int | None = None) -> tuple[float, float]:
    """Return p of a claim that needs all, or ``need``, of its comparisons, and p of its opposite."""
    m = len(comparisons)
    need = m if need is None else need
    p = partial_conjunction([c.p for c in comparisons], need)
    return p, partial_conjunction([c.p_opposite for c in comparisons], m - need + 1)


def two_sided(p: float, p_opposite: float) -> float:
    """Return the two-sided p-value of two one-sided ones."""
    return min(1.0, 2.0 * min(p, p_opposite))


def _significant(ps: Sequence[float]) -> BoolArray:
    """Return which one-sided p-values are significant from two sides, adjusted by Holm."""
    doubled = np.minimum(1.0, 2.0 * np.array(ps))
    order = np.argsort(doubled, kind="stable")
    passed = doubled[order] * np.arange(len(ps), 0, -1) < LEVEL  # statsmodels collects garbage, 0.2 s at every call
    found = np.zeros(len(ps), dtype=np.bool_)
    found[order] = np.logical_and.accumulate(passed)
    return found


def confirming(comparisons: Sequence[Comparison]) -> int:
    """Return how many comparisons are significantly for the claim, adjusted within it by Holm."""
    return int(_significant([c.p for c in comparisons]).sum())


def states(comparisons: Sequence[Comparison]) -> list[str]:
    """Return of each comparison whether it is significantly ``for`` or ``against`` the claim, or ``open``."""
    kinds = (_significant([c.p for c in comparisons]), _significant([c.p_opposite for c in comparisons]))
    return ["for" if ours else "against" if theirs else "open" for ours, theirs in zip(*kinds, strict=True)]


def verdict_of(comparisons: Sequence[Comparison], p_adjusted: float, need: int | None = None) -> str:
    """Return the verdict on a claim from its comparisons and its adjusted two-sided p-value."""
    p, p_opposite = joint_p(comparisons, need)
    if p_adjusted >= LEVEL:
        return "undecided"
    if p <= p_opposite:
        return "confirmed"
    return "mixed" if need is None and confirming(comparisons) else "refuted"


def deciding(comparisons: Sequence[Comparison], verdict: str, need: int | None = None) -> Comparison:
    """Return the comparison that a verdict rests on: the weakest that is needed, or the one most against."""
    m = len(comparisons)
    need = m if need is None else need
    if verdict in ("refuted", "mixed"):
        return sorted(comparisons, key=lambda c: c.p_opposite)[m - need]
    return sorted(comparisons, key=lambda c: c.p)[need - 1]


def needed_runs(comparisons: Sequence[Comparison], need: int | None = None) -> float:
    """Return the runs that would decide with 80% power if the effects are as observed; NaN where no number would.

    The claim is confirmed through its weakest comparison, or refuted through the strongest against it.
    """
    weakest = deciding(comparisons, "confirmed", need)
    if weakest.p < 0.5:
        found, p, level = weakest, weakest.p, LEVEL / 2
    else:
        found = deciding(comparisons, "refuted", need)
        p, level = found.p_opposite, LEVEL / 2 / len(comparisons)
    z = float(stats.norm.isf(np.clip(p, 1e-12, 1.0)))
    wanted = float(stats.norm.isf(level) + stats.norm.ppf(POWER))
    return float(np.ceil(found.n * max(1.0, (wanted / z) ** 2))) if z > 0.02 else float("nan")


def adjust(verdicts: pd.DataFrame) -> pd.Series:
    """Return two-sided p-values, adjusted by Benjamini and Hochberg over the claims of one convention.

    The paper's claims are one family, the project's own statements another.
    """
    p = (2.0 * verdicts[["p", "p_opposite"]].astype(np.float64).min(axis=1)).clip(upper=1.0)
    tested = verdicts[p.notna()]
    for _, index in tested.groupby(["convention", tested["ours"] == ""]).groups.items():
        p[index] = stats.false_discovery_control(p[index])
    return p


def verdict_text(line: Mapping[str, Any]) -> str:
    """Return a verdict in words, with what belongs to it: (3 of 8), (about 400 runs), (exact)."""
    verdict = str(line["verdict"])
    if verdict == "mixed":
        return f"mixed ({line['confirming']:.0f} of {line['comparisons']:.0f})"
    if verdict == "undecided":
        runs = line["needed_n"]
        return "undecided (at the margin)" if pd.isna(runs) else f"undecided (about {_round(runs)} runs)"
    if verdict in ("confirmed", "refuted") and line["kind"] == "exact":
        checked = line.get("checked")
        return f"no violation in {checked}" if isinstance(checked, str) and checked else f"{verdict} (exact)"
    return verdict


def _round(n: float) -> str:
    """Return a number of runs to two digits."""
    digits = max(0, int(np.floor(np.log10(n))) - 1)
    return f"{round(n, -digits):,.0f}"


def effect_text(line: Mapping[str, Any]) -> str:
    """Return the effect of a verdict with its interval and margin, or what an exact check found."""
    if pd.isna(line["effect"]):
        return str(line["decided_by"]) if isinstance(line["decided_by"], str) else ""
    numbers = ", ".join(f"{line[k]:.3g}" for k in ("low", "high"))
    return f"{line['effect']:.3g} [{numbers}] (claimed: {line['margin']}), {line['unit']}"


def verdict_table(verdicts: pd.DataFrame) -> str:
    """Return verdicts as a table in Markdown: claim, both conventions, effect; the project's own statements last."""
    shown = [c for c in CONVENTIONS if (verdicts["convention"] == c).any()]
    lines = ["| claim | " + " | ".join(CONVENTIONS[c] for c in shown) + " | effect [95% interval] |"]
    lines.append("| --- |" + " --- |" * (len(shown) + 1))
    ours = verdicts["ours"].fillna("")
    for part in (verdicts[ours == ""], verdicts[ours != ""]):
        for identity, mine in part.groupby("id", sort=False):
            found = {str(line["convention"]): dict(line) for _, line in mine.iterrows()}
            first = next(iter(found.values()))
            label = f"*{first['ours']}:* " if isinstance(first["ours"], str) and first["ours"] else ""
            words = [verdict_text(found[c]) if c in found else "" for c in shown]
            effects = {c: effect_text(found[c]) for c in shown if c in found}
            if len(set(effects.values())) > 1:
                effect = "<br>".join(f"{CONVENTIONS[c]}: {text}" for c, text in effects.items())
            else:
                effect = next(iter(effects.values()))
            lines.append(
                "| " + " | ".join(_cell(t) for t in (f"{label}{first['claim']} ({identity})", *words, effect)) + " |"
            )
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def scoreboard(verdicts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the number of a paper's own claims with each verdict, one line for each study and convention."""
    lines = []
    for study, table in verdicts.items():
        theirs = table[table["ours"].fillna("") == ""]
        for convention, words in CONVENTIONS.items():
            counts = theirs.loc[theirs["convention"] == convention, "verdict"].value_counts()
            if len(counts):
                lines.append({"study": study, "convention": words} | {v: int(counts.get(v, 0)) for v in VERDICTS})
    return pd.DataFrame(lines)

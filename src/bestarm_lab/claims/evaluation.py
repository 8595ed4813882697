"""Verdicts of a study, from its claims and rows.

A claim is decided on the rows that are handed over, never on a file; at the paper's own scale where all of its
experiments have rows there. Smoke runs, stand-in data and too few runs decide nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bestarm_lab.claims import verdicts
from bestarm_lab.claims.cells import Rows, run_as
from bestarm_lab.claims.kinds import ClaimTest, OfCells
from bestarm_lab.claims.records import Claim, Exact
from bestarm_lab.claims.statistics import Comparison, joint_p, spent
from bestarm_lab.claims.verdicts import CONVENTIONS, LEVEL, states
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.study import Study

WITHOUT_DATA = "data unavailable: "  # begins why an exact claim is not decided here
SMALLEST_N = 12  # below it no paired test can decide a paper's claims
COLUMNS = [
    *("id", "convention", "verdict", "direction", "kind", "ours", "of", "level", "quantifier", "sentence"),
    *("comparisons", "needed", "for", "open", "against", "on_average", "average", "average_low"),
    *("average_high", "average_p", "average_p_opposite", "average_p_adjusted", "effect", "low", "high"),
    *("interval", "n", "margin", "unit", "p", "p_opposite", "p_adjusted", "needed_n", "scale", "decided_by"),
    *("checked", "claim", "where", "notebook", "test", "caveat"),
]
COMPARED = ["id", "convention", "state", "effect", "low", "high", "n", "p", "p_opposite", "strength", "comparison"]


def verdict_lines(study: Study, rows: Rows, larger: Rows | None = None, profile: str = "laptop") -> pd.DataFrame:
    """Return what is found on each claim under each convention that its experiments have, before any adjustment.

    ``rows`` are those of each experiment at the profile, ``larger`` those at the paper's own scale: they decide the
    claims all of whose experiments are there, since methods at different scales cannot be compared.
    """
    asked = [(claim, convention) for convention in CONVENTIONS for claim in study.claims.values()]
    lines = [decide(study, claim, convention, rows, larger or {}, profile) for claim, convention in asked]
    return pd.DataFrame([line for line in lines if line is not None])


def comparison_table(lines: pd.DataFrame) -> pd.DataFrame:
    """Return every comparison behind lines of `decide`: ``COMPARED``, with the interval at 95%."""
    found = [
        (line["id"], line["convention"], state, c.effect, c.low, c.high, c.n, c.p, c.p_opposite, c.strength, c.name)
        for _, line in lines.iterrows()
        if isinstance(line.get("found"), list)
        for c, state in zip(line["found"], states(line["found"]), strict=True)
    ]
    return pd.DataFrame(found, columns=COMPARED)


def adjust_p_values(lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines of `decide` as a table of verdicts (``COLUMNS``), p-values adjusted over all of them.

    ``p`` and ``p_opposite`` are one-sided, ``p_adjusted`` two-sided and adjusted over the paper's claims of one
    convention and level. ``for``, ``open`` and ``against`` count comparisons, ``effect`` is that of the one that
    decides, with its interval at 1 - ``interval``, or the share of cells that is claimed. ``on_average`` is the word on
    another statement, that the mean over comparisons is as claimed of each: ``average``, with interval and p-values.
    """
    table = lines.reindex(columns=[*COLUMNS, "found", "asked", "mean"])
    table[["p_adjusted", "interval"]] = verdicts.adjust(table)
    table[["average_p_adjusted", "average_level"]] = verdicts.adjust(table, "average_")
    return table.apply(with_verdict, axis=1)[COLUMNS]


def decide(
    study: Study, claim: Claim, convention: str, rows: Rows, larger: Rows, profile: str = "laptop"
) -> dict[str, Any] | None:
    """Return what is found on a claim under a convention, or None if it has none; a ValueError says what rows lack."""
    if (test := claim.tests.get(convention)) is None:
        return None
    needed = test.experiments()
    at_scale = bool(needed) and all(e in larger for e in needed)
    there = larger if at_scale else rows
    available = {e: there[e] for e in needed if e in there}
    mine = {e: run_as(frame, convention) for e, frame in available.items()}
    exact = isinstance(test, Exact)
    if convention != "as_written":  # a computation may run any convention, as far as this is known
        run = [getattr(study.experiments.get(e), "conventions", CONVENTIONS) for e in needed or [""]]
        filled = [not frame.empty for frame in mine.values()]  # the project's own statements need every experiment
        has_rows = exact or (all(filled) if claim.ours else any(filled) or not filled)
        if not has_rows or not any(convention in conventions for conventions in run):
            return None
    about = ("id", "where", "notebook", "caveat", "ours", "of", "level", "quantifier", "sentence")
    line: dict[str, Any] = {key: getattr(claim, key) for key in about} | {"claim": claim.text, "test": test.words()}
    line |= {"convention": convention, "kind": "exact" if exact else "test"}
    line["scale"] = "paper" if at_scale else profile if needed else ""
    if reason := not_run(needed, mine, "paper" if at_scale else profile):
        return line | {"verdict": "not run", "decided_by": _without_data(study, needed, there) or reason}
    if isinstance(test, Exact):
        return line | _exact(test, available)
    line |= {"unit": line["test"].partition(",")[0], "margin": test.margin()}
    try:
        return line | _tested(test, mine, _seen(study.plan, mine))
    except ValueError as error:
        raise ValueError(f"{study.name}/claims.yaml, {claim.id}: {error}") from error


def _seen(plan: Mapping[str, Sequence[int]], rows: Rows) -> float:
    """Return the share of the runs of the last look that were there at the look before; 1 where there was none.

    Rows with fewer runs than the last look were looked at once; of three looks the first has spent next to nothing.
    """
    looks = {e: plan[e] for e, frame in rows.items() if e in plan and frame["replication"].nunique() >= plan[e][-1]}
    return max((runs[-2] / runs[-1] for runs in looks.values()), default=1.0)


def _without_data(study: Study, needed: list[str], there: Rows) -> str:
    """Return which experiments have no rows because nobody here has their data, or an empty string."""
    absent = [e for e in needed if e not in there and e in study.experiments and not study.experiments[e].has_data()]
    return f"data not public here ({', '.join(absent)})" if absent else ""


def not_run(needed: list[str], rows: Rows, profile: str) -> str:
    """Return why a test on these experiments would mean nothing, or an empty string."""
    if needed and profile == "smoke":
        return "smoke profile"
    for e in needed:
        if e not in rows or rows[e].empty:
            return f"{e} has no rows"
        if (rows[e]["data"] == "stand-in").any():
            return f"{e} ran on stand-in data"
    return ""


def _exact(test: Exact, rows: Rows) -> dict[str, Any]:
    try:
        found = test.check(test.settings, rows)
    except DataUnavailable as error:
        return {"verdict": "not run", "decided_by": f"{WITHOUT_DATA}{error.args[0]}"}
    verdict = ("confirmed" if found.holds else "refuted") if found.informative else "not informative"
    return {"verdict": verdict, "decided_by": found.text, "checked": found.checked if found.holds else ""}


def _tested(test: ClaimTest, rows: Rows, seen: float) -> dict[str, Any]:
    """Return what a test finds, after an earlier look at so large a share of the runs."""
    for e, frame in rows.items():
        n = frame.groupby("series")["replication"].nunique().min()
        if n < SMALLEST_N:
            return {"verdict": "not run", "decided_by": f"{e} has n = {n} < {SMALLEST_N}"}
    everything = test.comparisons(rows)
    found = [c for c in everything if c.informative]
    if not found:
        return {"verdict": "not informative", "decided_by": test.few}
    need, mean = test.needed(len(found)), test.average(found)
    p, p_opposite = (spent(p, seen) for p in joint_p(found, need))
    line = {"found": found, "asked": test, "needed": need, "p": p, "p_opposite": p_opposite, "comparisons": len(found)}
    line["decided_by"] = f"; {len(everything) - len(found)} say nothing" if len(found) < len(everything) else ""
    if mean is not None:
        line |= {"average_p": spent(mean.p, seen), "average_p_opposite": spent(mean.p_opposite, seen), "mean": mean}
    return line


def with_verdict(line: pd.Series) -> pd.Series:
    """Return a line with its verdict and the comparison that it rests on, once p-values are adjusted."""
    found, test = line["found"], line["asked"]
    if not isinstance(found, list):
        if line["verdict"] == "refuted":
            line["direction"] = "worse"
        return line
    need, relation, level = int(line["needed"]), getattr(test, "relation", None), line["interval"]
    verdict = verdicts.verdict_of(found, line["p_adjusted"] < LEVEL, need, mixed=test.mixes, level=level)
    shown, share = verdicts.deciding(found, verdict, need)
    of_each = states(found)
    for state in ("for", "open", "against"):
        line[state] = of_each.count(state)
    if verdict in ("refuted", "mixed"):
        against = [c for c, state in zip(found, of_each, strict=True) if state == "against"]
        line["direction"] = verdicts.direction(shown, against, relation, getattr(test, "better", ""))
    line["verdict"] = verdict
    line["needed_n"] = verdicts.required_runs(found, need, level) if verdict == "undecided" else None
    if isinstance(mean := line["mean"], Comparison):
        at = line["average_level"]
        line["on_average"] = verdicts.verdict_of([mean], line["average_p_adjusted"] < LEVEL, 1, level=at)
        line["average"], (line["average_low"], line["average_high"]) = mean.effect, mean.interval(at)
    else:
        line["average_p_adjusted"] = None
    if isinstance(test, OfCells):
        shown = test.counted(found)
    else:
        level *= share
    line["effect"], line["n"] = shown.effect, shown.n
    line["low"], line["high"] = shown.interval(level)
    line["interval"], line["decided_by"] = level, shown.name + line["decided_by"]
    return line

"""From a study's claims and rows to verdicts.

A claim is decided on the rows that are handed over, never on a file; at the paper's own scale where all of its
experiments have rows there. Smoke runs, stand-in data and too few runs decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from bestarm.datasets.registry import DataUnavailable
from bestarm.reporting.claim_cells import Rows, Values, experiments_of
from bestarm.reporting.claim_kinds import comparisons_of, margin_of, words_of
from bestarm.reporting.verdicts import (
    CONVENTIONS,
    Decision,
    adjust,
    confirming,
    deciding,
    joint_p,
    needed_runs,
    verdict_of,
    verdict_table,
)

if TYPE_CHECKING:
    from bestarm.reporting.study import Study

__all__ = ["COLUMNS", "Decision", "evaluate", "verdict_table", "with_groups"]

SMALLEST_N = 12  # below it no paired test can decide a paper's claims
OURS = ("control", "prediction", "reading", "correction")
COLUMNS = [
    "id", "convention", "verdict", "kind", "ours", "of", "effect", "low", "high", "n", "margin", "unit", "p",
    "p_opposite", "p_adjusted", "comparisons", "confirming", "needed_n", "scale", "decided_by", "checked", "claim",
    "where", "notebook", "test", "caveat",
]  # fmt: skip


def evaluate(
    study: Study,
    rows: Rows,
    larger: Rows | None = None,
    profile: str = "laptop",
) -> pd.DataFrame:
    """Return the verdict on each claim under each convention.

    Parameters
    ----------
    study : Study
        With its claims, checks and values.
    rows : mapping of str to DataFrame
        Rows of each experiment.
    larger : mapping of str to DataFrame, optional
        Rows at the paper's own scale. They decide the claims all of whose experiments are there, since methods at
        different scales cannot be compared.
    profile : str
        Scale of ``rows``.

    Returns
    -------
    DataFrame
        ``COLUMNS``, one line for each claim and convention that its experiments have. ``p`` and ``p_opposite`` are
        one-sided, ``p_adjusted`` two-sided and adjusted over the paper's claims of one convention.
    """
    lines = []
    for convention in CONVENTIONS:
        for identity, entry in study.claims.items():
            test = under_convention(entry, convention)
            if test is None:
                continue
            line = _decided(study, entry, test, rows, larger or {}, profile, convention)
            if line is not None:
                about = {k: entry.get(k, "") for k in ("claim", "where", "notebook", "caveat", "ours", "of")}
                kind = "exact" if "check" in test else "test"
                lines.append({"id": identity, "convention": convention, "kind": kind, **about, **line})
    table = pd.DataFrame(lines).reindex(columns=[*COLUMNS, "found", "need"])
    table["p_adjusted"] = adjust(table)
    return table.apply(_with_verdict, axis=1)[COLUMNS]


def under_convention(entry: Mapping[str, Any], convention: str) -> dict[str, Any] | None:
    """Return the test of a claim with a convention's own settings, or None where the ledger leaves this one out."""
    change = entry["test"].get(convention, {})
    return None if change is None else entry["test"] | change


def _decided(
    study: Study,
    entry: Mapping[str, Any],
    test: dict[str, Any],
    rows: Rows,
    larger: Rows,
    profile: str,
    convention: str,
) -> dict[str, Any] | None:
    """Return what is found on one claim under one convention, or None if it has no such convention."""
    needed = experiments_of(test)
    exact = "check" in test
    at_scale = bool(needed) and all(e in larger for e in needed)
    there = larger if at_scale else rows
    available = {e: there[e] for e in needed if e in there}
    mine = {e: _run_as(frame, convention) for e, frame in available.items()}
    if convention != "as_written" and not (convention in test if exact else _has_convention(entry, mine)):
        return None
    runs_it = any(convention in _conventions(study.experiments.get(e)) for e in needed or [""])
    if convention != "as_written" and not runs_it:
        return None
    line: dict[str, Any] = {"scale": "paper" if at_scale else profile if needed else ""}
    line["test"] = _about(study.checks[test["check"]]) if exact else words_of(test, study.values)
    if reason := not_run(needed, mine, "paper" if at_scale else profile):
        return line | {"verdict": "not run", "decided_by": _without_data(study, needed, there) or reason}
    if exact:
        return line | _exact(study.checks[test["check"]], test, available)
    line |= {"unit": line["test"].partition(",")[0], "margin": margin_of(test)}
    return line | _tested(test, mine, study.values)


def _conventions(experiment: object) -> Collection[str]:
    """Return the conventions that an experiment runs; a computation may run any, as far as this is known."""
    return getattr(experiment, "conventions", tuple(CONVENTIONS))


def _without_data(study: Study, needed: list[str], there: Rows) -> str:
    """Return which experiments have no rows because nobody here has their data, or an empty string."""
    missing = [e for e in needed if e not in there and e in study.experiments]
    absent = [e for e in missing if not study.experiments[e].has_data()]
    return f"data not public here ({', '.join(absent)})" if absent else ""


def _run_as(rows: pd.DataFrame, convention: str) -> pd.DataFrame:
    """Return the rows of one convention; rows that do not say are as written."""
    if "convention" not in rows:
        return rows if convention == "as_written" else rows.iloc[:0]
    return rows[rows["convention"] == convention]


def _about(check: Callable[..., Decision]) -> str:
    """Return what an exact check does: the first line of its docstring."""
    return str(check.__doc__).strip().splitlines()[0].rstrip(".")


def _has_convention(entry: Mapping[str, Any], mine: Rows) -> bool:
    """Return whether a claim has rows of a convention; the project's own statements need them of every experiment."""
    there = [not frame.empty for frame in mine.values()]
    return all(there) if entry.get("ours") else any(there) or not there


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


def _exact(check: Callable[..., Decision], test: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    try:
        found = check(test, rows)
    except DataUnavailable as error:
        return {"verdict": "not run", "decided_by": f"data unavailable: {error}"}
    verdict = ("confirmed" if found.holds else "refuted") if found.informative else "not informative"
    return {"verdict": verdict, "decided_by": found.text, "checked": found.checked if found.holds else ""}


def _tested(test: Mapping[str, Any], rows: Rows, values: Values) -> dict[str, Any]:
    for e, frame in rows.items():
        n = frame.groupby("series")["replication"].nunique().min()
        if n < SMALLEST_N:
            return {"verdict": "not run", "decided_by": f"{e} has n = {n} < {SMALLEST_N}"}
    everything = comparisons_of(test, rows, values)
    found = [c for c in everything if c.informative]
    if not found:
        few = "discordant" in test
        nobody = "nobody succeeds in any run of these cells, or all are as good as a guess"
        why = "hardly any run differs in these cells" if few else nobody
        return {"verdict": "not informative", "decided_by": why}
    p, p_opposite = joint_p(found, test.get("need"))
    return {
        "found": found,
        "need": test.get("need"),
        "p": p,
        "p_opposite": p_opposite,
        "comparisons": len(found),
        "decided_by": f"; {len(everything) - len(found)} cells say nothing" if len(found) < len(everything) else "",
    }


def _with_verdict(line: pd.Series) -> pd.Series:
    """Return a line with its verdict and the comparison that it rests on, once p-values are adjusted."""
    found = line["found"]
    if not isinstance(found, list):
        return line
    need = None if pd.isna(line["need"]) else int(line["need"])
    verdict = verdict_of(found, line["p_adjusted"], need)
    shown = deciding(found, verdict, need)
    m, k = len(found), len(found) if verdict == "confirmed" and need is None else confirming(found)
    line["verdict"], line["confirming"] = verdict, k
    line["effect"], line["low"], line["high"], line["n"] = shown.effect, shown.low, shown.high, shown.n
    line["needed_n"] = needed_runs(found, need) if verdict == "undecided" else None
    count = f" ({k} of {m} comparisons confirm)" if m > 1 else ""
    line["decided_by"] = shown.name + count + line["decided_by"]
    return line


def with_groups(ledger: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of a ledger with the names of ``groups`` replaced by what they stand for."""
    groups = ledger.get("groups", {})

    def expand(part: Any) -> Any:
        if isinstance(part, str) and part in groups:
            return expand(groups[part])
        if isinstance(part, list):
            found: list[Any] = []
            for entry in part:
                grown = expand(entry)
                found += grown if isinstance(grown, list) and isinstance(entry, str) else [grown]
            return found
        return {k: expand(v) for k, v in part.items()} if isinstance(part, dict) else part

    return {i: {**entry, "test": expand(entry["test"])} for i, entry in ledger["claims"].items()}

"""Controls of a claim: statements about its cause, tested on runs in which one thing was changed.

A control decides nothing about the claim. It has the terms of a claim's test and is tested at 5% without adjustment;
what comes out is said beside the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bestarm.reporting.accuracy_claims import ACCURACY_TESTS
from bestarm.reporting.claim_tests import LEVEL, STATISTICAL, decisive, experiments_of, joint_p, untested
from bestarm.reporting.figures import effect_text
from bestarm.reporting.regret_claims import REGRET_TESTS

OUTCOMES = {"reproduced": "yes", "contradicted": "no", "inconclusive": "undecided"}


def evaluate_control(
    control: Mapping[str, Any], rows: Mapping[str, pd.DataFrame], profiles: Mapping[str, str], convention: str
) -> dict[str, Any]:
    """Return the outcome of one control: ``control, outcome, effect, low, high, n, decided_by``.

    Where one of its experiments was run as written only, a control compares rows as written under both conventions.
    """
    test, line = control["test"], {"control": control["says"]}
    available = {e: rows[e] for e in experiments_of(test) if e in rows}
    if not all((frame["convention"] == convention).any() for frame in available.values()):
        convention = "as_written"
    mine = {e: frame[frame["convention"] == convention] for e, frame in available.items()}
    reason = untested(experiments_of(test), mine, profiles)
    if reason:
        return line | {"outcome": "untested", "decided_by": reason}
    comparisons = (STATISTICAL | REGRET_TESTS | ACCURACY_TESTS)[test["kind"]](test, mine)
    p, p_opposite = joint_p(comparisons)
    verdict = "reproduced" if p < LEVEL else "contradicted" if p_opposite < LEVEL else "inconclusive"
    found = decisive(comparisons, verdict)
    effect = {"effect": found.effect, "low": found.low, "high": found.high, "n": found.n}
    return line | {"outcome": OUTCOMES[verdict]} | effect | {"decided_by": found.name}


def control_rows(
    claims: Mapping[str, Any],
    rows: Mapping[str, pd.DataFrame],
    profiles: Mapping[str, str],
    convention: str = "as_written",
) -> pd.DataFrame:
    """Return the outcome of every control of some claims, one line each."""
    table = [
        {"id": identity, "convention": convention} | evaluate_control(control, rows, profiles, convention)
        for identity, entry in claims.items()
        for control in entry.get("controls", [])
    ]
    columns = ["id", "convention", "control", "outcome", "effect", "low", "high", "n", "decided_by"]
    return pd.DataFrame(table).reindex(columns=columns)


def control_caveat(
    entry: Mapping[str, Any], rows: Mapping[str, pd.DataFrame], profiles: Mapping[str, str], convention: str
) -> str:
    """Return the caveat of a claim: what the ledger says, then the controls with their outcomes."""
    found = [evaluate_control(control, rows, profiles, convention) for control in entry.get("controls", [])]
    said = [
        f"{c['control']}: {c['outcome']} ({effect_text(pd.Series(c))})" for c in found if c["outcome"] != "untested"
    ]
    return " ".join(part for part in (entry.get("caveat", ""), "Controls: " * bool(said) + "; ".join(said)) if part)


def control_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return the controls for reading."""
    return pd.DataFrame(
        {
            "claim": found["id"],
            "statement": found["control"],
            "does it hold?": "**" + found["outcome"] + "**",
            "effect [95% interval]": [effect_text(line) for _, line in found.iterrows()],
            "n": found["n"].map(lambda n: "" if pd.isna(n) else f"{n:.0f}"),
            "decided by": found["decided_by"],
        }
    )

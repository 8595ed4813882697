r"""From a ledger's claims and stored rows to verdicts.

A statistical claim has a p-value for the claim beyond its margin and one for its opposite. A claim over several
comparisons holds if all of them do, so its p-value is their largest (intersection-union); its opposite holds if one of
them does, so that p-value is their smallest times their number. Both families are Holm-adjusted over the statistical
claims of a paper at 5%. Intervals shown are plain 95% intervals of the comparison that decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from bestarm.datasets.registry import DataUnavailable
from bestarm.experiments.definitions import ledger, load_experiment
from bestarm.reporting.accuracy_claims import ACCURACY_TESTS, describe_accuracy
from bestarm.reporting.batch_claims import BATCH_TESTS, describe_batches, divergence
from bestarm.reporting.claim_tests import (
    LEVEL,
    STATISTICAL,
    decisive,
    describe,
    experiments_of,
    joint_p,
    untested,
)
from bestarm.reporting.controls import control_caveat
from bestarm.reporting.regret_claims import REGRET_TESTS, describe_regret
from bestarm_studies.gpoo.checks import GPOO_CLAIMS
from bestarm_studies.gse.checks import GSE_CLAIMS, GSE_DESCRIPTIONS
from bestarm_studies.linear_topm.checks import DESCRIPTIONS, THEORY
from bestarm_studies.linear_topm.complexity_checks import nine_eighths, order_of_constants, table5
from bestarm_studies.linear_topm.drug.checks import drug_misfit, recorded_hit_ratios, simulated_hit_ratios
from bestarm_studies.oae.checks import OAE_CLAIMS, OAE_DESCRIPTIONS
from bestarm_studies.oae.theory_checks import OAE_THEORY_CLAIMS, OAE_THEORY_DESCRIPTIONS

DATA_MISSING = "data unavailable"


def _gap(paper: str, test: Mapping[str, Any]) -> tuple[bool, str]:
    """Compare the gap between the m-th and the next mean with the printed number of decimals."""
    holds, texts = True, []
    for name, (printed, decimals) in test["printed"].items():
        experiment = load_experiment(paper, name, "laptop")
        means = np.sort(experiment.problem.means[0])[::-1]
        m = int(test["n_best"][name])
        gap = means[m - 1] - means[m]
        holds &= bool(round(gap, decimals) == printed)
        texts.append(f"{name}: {gap:.5f} (printed {printed})")
    return holds, "; ".join(texts)


# decided by a computation of the project, not by a test on samples; each returns whether the claim holds, and why
ARITHMETIC: dict[str, Callable[[str, Mapping[str, Any]], tuple[bool, str]]] = {
    "gap": _gap,
    "table5": table5,
    "order_of_constants": order_of_constants,
    "nine_eighths": nine_eighths,
    "drug_misfit": drug_misfit,
    "recorded_hit_ratios": recorded_hit_ratios,
    **THEORY,
    **GPOO_CLAIMS,
    **GSE_CLAIMS,
    **OAE_CLAIMS,
    **OAE_THEORY_CLAIMS,
}
KINDS_IN_WORDS = DESCRIPTIONS | GSE_DESCRIPTIONS | OAE_DESCRIPTIONS | OAE_THEORY_DESCRIPTIONS
TESTS = STATISTICAL | REGRET_TESTS | ACCURACY_TESTS | BATCH_TESTS | {"hit_ratios": simulated_hit_ratios}


def evaluate(
    paper: str,
    claims: Mapping[str, Any],
    rows: Mapping[str, pd.DataFrame],
    profiles: Mapping[str, str],
    larger: Mapping[str, pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Return the verdict on each claim under each convention.

    Parameters
    ----------
    paper : str
        Ledger.
    claims : mapping
        The ledger's ``claims``.
    rows : mapping of str to DataFrame
        Rows of each experiment that was run.
    profiles : mapping of str to str
        The profile that each experiment was run at.
    larger : mapping of str to DataFrame, optional
        Rows at the paper's own scale. They decide the claims all of whose experiments are there, since methods at
        different scales cannot be compared; ``decided_by`` says so.

    Returns
    -------
    DataFrame
        Columns ``id, convention, verdict, effect, low, high, n, p, p_opposite, decided_by, claim, where, test,
        caveat``;
        p-values are Holm-adjusted over the paper's statistical claims of one convention.
    """
    table: list[dict[str, Any]] = []
    larger = larger or {}
    for convention in ("as_written", "as_coded"):
        for identity, entry in claims.items():
            test = entry["test"] | entry["test"].get(convention, {})
            line = {"id": identity, "convention": convention, "claim": entry["claim"], "where": entry["where"]}
            line |= {
                "test": KINDS_IN_WORDS.get(test["kind"])
                or describe_regret(test)
                or describe_accuracy(test)
                or describe_batches(test)
                or describe(test),
                "caveat": control_caveat(entry, rows, profiles, convention),
            }
            needed = experiments_of(test)
            line["at_scale"] = bool(needed) and all(e in larger for e in needed)
            there = larger if line["at_scale"] else rows
            available = [e for e in needed if e in there]
            if test["kind"] in ARITHMETIC:
                if convention == "as_written" or convention in test:
                    table.append(line | _arithmetic(paper, test, rows))
                continue
            mine = {e: there[e][there[e]["convention"] == convention] for e in available}
            if available and all(mine[e].empty for e in available):
                continue  # these experiments do not exist in this convention
            reason = untested(needed, mine, dict.fromkeys(needed, "paper") if line["at_scale"] else profiles)
            if reason:
                table.append(line | {"verdict": "untested", "decided_by": reason})
                continue
            comparisons = TESTS[test["kind"]](test, mine)
            p, p_opposite = joint_p(comparisons)
            line["remark"] = divergence(test, mine) if test["kind"] in BATCH_TESTS else ""
            line["remark"] += _scale(paper, needed, profiles, line["at_scale"])
            table.append(line | {"comparisons": comparisons, "p": p, "p_opposite": p_opposite})
    frame = pd.DataFrame(table)
    for column in ("effect", "low", "high", "n", "p", "p_opposite", "decided_by", "comparisons"):
        if column not in frame:
            frame[column] = None
    for _, group in frame.groupby("convention"):
        tested = group.index[group["comparisons"].notna()]
        if len(tested):
            for column in ("p", "p_opposite"):
                raw = frame.loc[tested, column].to_numpy(dtype=np.float64)
                frame.loc[tested, column] = multipletests(raw, LEVEL, method="holm")[1]
    frame = frame.apply(_decide, axis=1)
    order = ["id", "convention", "verdict", "effect", "low", "high", "n", "p", "p_opposite", "decided_by"]
    return frame[[*order, "claim", "where", "test", "caveat"]]


def _scale(paper: str, needed: Sequence[str], profiles: Mapping[str, str], at_scale: bool) -> str:
    """Return at which scale a claim was decided, where the paper's own and the profile's policies differ."""
    if at_scale:
        return ", at the paper's own scale"
    entries = [ledger(paper)["experiments"].get(e, {}).get("profiles", {}) for e in needed]
    cut = any(p.get(profiles[e], {}).get("settings") for e, p in zip(needed, entries, strict=True))
    return ", at the laptop's scale" if cut else ""


def _arithmetic(paper: str, test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    for e in experiments_of(test):
        if e in rows and (rows[e]["data"] == "stand-in").any():
            return {"verdict": "untested", "decided_by": f"{e} ran on stand-in data"}
    try:
        holds, text = ARITHMETIC[test["kind"]](paper, test)
    except DataUnavailable as error:
        return {"verdict": "untested", "decided_by": f"{DATA_MISSING}: {error}"}
    return {"verdict": "holds" if holds else "fails", "decided_by": text}


def _decide(line: pd.Series) -> pd.Series:
    comparisons = line["comparisons"]
    if not isinstance(comparisons, list):
        return line
    verdict = "reproduced" if line["p"] < LEVEL else "contradicted" if line["p_opposite"] < LEVEL else "inconclusive"
    found = decisive(comparisons, verdict)
    line["verdict"] = verdict
    line["effect"], line["low"], line["high"] = found.effect, found.low, found.high
    held = sum(c.p < LEVEL for c in comparisons)  # each for itself, unadjusted
    count = f" ({held} of {len(comparisons)} comparisons hold)" if len(comparisons) > 1 else ""
    line["n"], line["decided_by"] = found.n, found.name + count + line["remark"]
    return line

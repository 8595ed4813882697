r"""Statements of the analysis that a computation decides, and the bound of GSE beside those of other algorithms.

The others are BayesGap, Peace, OD-LinBAI, and a lower bound. Logarithms are to the base :math:`\eta=2` except where the
text nests them; :math:`\sigma=1`. Of [1]_, the paper: Sections 4 and 7, Appendix D.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bestarm.interface import FloatArray
from bestarm_lab.claims.cells import Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.gse.theory.bounds import corollary_2, glm_lemma_1
from bestarm_studies.gse.theory.error_bounds import error_below_bound, lemma_1, lemma_2, norms

_GAP = 0.1  # of Appendix D, where a number is needed


def against_peace(test: Test) -> Decision:
    """Decide whether Peace's bound is below Equation 2 only if K exceeds exp(exp(log d log log d)) ([1]_, D.2 (i))."""
    thresholds = {d: float(np.exp(np.log(d) * np.log(np.log(d)))) for d in test["dimensions"]}  # of log(K)
    return _below_peace(test, thresholds, "numbers of arms below the threshold")


def against_peace_g_optimal(test: Test) -> Decision:
    """Decide whether Equation 3 is below Peace's bound under the G-optimal design for any budget ([1]_, D.2 (ii))."""
    return _below_peace(test, dict.fromkeys(test["dimensions"], np.inf), "pairs of d and K")  # x = B Δ² / (d log K)


def _below_peace(test: Test, largest: Mapping[int, float], what: str) -> Decision:
    """Compare the logarithms of GSE's bound and Peace's for each d and K, log(K) at most the ``largest`` of its d.
    They are taken at exponents x of a bound with the constant 1."""
    x, failed, checked = np.logspace(0, 4, 400), [], 0
    for d, most in largest.items():
        for log_arms in np.log(d) * np.array(test["exponents"]):
            if log_arms > most:
                continue
            ours = np.log(4.0 * (log_arms / np.log(2.0))) - x / 4.0
            theirs = np.log(2.0 * np.ceil(np.log2(d))) - x / (test["constant"] * np.log2(d))
            telling = np.minimum(ours, theirs) < 0.0
            checked += 1
            if (theirs[telling] < ours[telling]).any():
                failed.append(d)
    text = f"theirs is the lower one for some budget in {len(failed)} of {checked} {what}"
    dimensions = ", ".join(map(str, dict.fromkeys(failed)))
    return Decision(not failed, text + (f": d = {dimensions}" if failed else ""))


def log_bounds_of_od(d: int, log_arms: float, budget: FloatArray, start: float) -> Any:
    """Return the logarithms of GSE's bound and of OD-LinBAI's, whose first stage needs ``start`` pulls."""
    log_two_arms = log_arms / np.log(2.0)
    ours = np.log(4.0 * log_two_arms) - budget * _GAP**2 / (4.0 * d * log_two_arms)
    prefix = np.logaddexp(np.log(4.0) + log_arms - np.log(d), np.log(3.0 * np.log2(d)))
    return ours, prefix + (start - budget) * _GAP**2 / (32.0 * d * np.log2(d))


def against_od(test: Test) -> Decision:
    """Decide whether, for K = d^q, the exponent of GSE's bound is the larger one: 1/(4q) against 1/32."""
    failed = [q for q in test["exponents"] if not 1.0 / (4.0 * q) > 1.0 / 32.0]
    crossings = []
    for d in test["dimensions"]:
        budget = np.array([10.0**p for p in range(2, 9)])
        ours, theirs = log_bounds_of_od(d, 2.0 * np.log(d), budget, float(d**2))
        ahead = budget[(ours < theirs) & (ours < 0.0)]
        crossings.append(f"d = {d}: {ahead[0]:.0e}" if len(ahead) else f"d = {d}: never")
    text = f"it is so for q < 8, not for q = {', '.join(map(str, failed))}" if failed else "it is so for all of them"
    return Decision(not failed, f"{text}; K = d^2, Δ = 0.1: ahead and below 1 from B = {'; '.join(crossings)}")


def against_od_few_arms(test: Test) -> Decision:
    """Decide whether OD-LinBAI's bound is below GSE's where K < d(d+1)/2 ([1]_, D.3; Δ = 0.1)."""
    budget, ours_lower, checked = 10.0 ** np.linspace(2, 8, 121), 0, 0
    for d in test["dimensions"]:
        for n_arms in np.unique(np.geomspace(d, d * (d + 1) // 2 - 1, 6).astype(np.int64)):
            ours, theirs = log_bounds_of_od(d, float(np.log(n_arms)), budget, float(n_arms))
            telling = np.minimum(ours, theirs) < 0.0
            checked += int(telling.sum())
            ours_lower += int((ours[telling] < theirs[telling]).sum())
    return Decision(ours_lower == 0, f"GSE's is the lower one at {ours_lower} of {checked} budgets")


def od_corner_cases(test: Test) -> Decision:
    """Decide whether GSE's bound falls below OD-LinBAI's in the four limits that Appendix D.3 lists ([1]_, Δ = 0.1)."""
    far = range(1, 61)
    cases: dict[str, list[tuple[int, int, float]]] = {
        "q to infinity": [(4, q, 1e5) for q in range(10, 601, 10)],
        "d and q to infinity": [(4 * k, k, 1e5) for k in far],
        "B to infinity, q = 7": [(4, 7, 1e4 * k**2) for k in far],
        "B and q to infinity": [(3, k, 1000.0 * k) for k in far],
    }
    lower, below_one = 0, []
    for name, sequence in cases.items():
        pairs = [log_bounds_of_od(d, q * np.log(d), np.array([b]), float(d**2)) for d, q, b in sequence]
        ours, theirs = (np.concatenate(part) for part in zip(*pairs, strict=True))
        lower += int(ours[-1] < theirs[-1])
        if ours[-1] < 0.0:
            below_one.append(name)
    text = f"GSE's is the lower one at the end of {lower} of {len(cases)} sequences"
    return Decision(lower == len(cases), f"{text}, and below 1 only for {' and '.join(below_one) or 'none of them'}")


def against_bayes_gap(test: Test) -> Decision:
    """Decide whether GSE's bound is below BayesGap's wherever either says anything (Δ = 0.1, σ = 1)."""
    failed, checked = [], 0
    for n_arms in test["arms"]:
        for d in test["dimensions"]:
            if d > n_arms:
                continue
            budget = np.array([10.0**p for p in np.linspace(2, 8, 25)])
            ours = 4 * np.log2(n_arms) * np.exp(-budget * 0.01 / (4 * d * np.log2(n_arms)))
            theirs = n_arms * budget * np.exp(-budget * 0.01 / (32 * n_arms))
            telling = np.minimum(ours, theirs) < 1
            checked += int(telling.sum())
            if (ours[telling] > theirs[telling]).any():
                failed.append(f"K = {n_arms}, d = {d}")
    text = f"{checked} budgets compared; theirs is lower for {'; '.join(failed) if failed else 'none of them'}"
    return Decision(not failed, text)


def near_optimal(test: Test) -> Decision:
    """Decide whether, with d = K, Equation 3 has a lower bound's exponent up to a constant times log K ([1]_, 4.1).
    The lower bound is exp(-B / H), where H is the sum of 1/Δ² over all arms, the best one with the gap of the second;
    Equation 3 has B Δ_min² / (4 K log K). Gaps are equal, or 1, 2, 3, ... times the smallest."""
    holds, texts = True, []
    for name, power in (("equal gaps", 0.0), ("gaps 1, 2, 3, ...", 1.0)):
        for n_arms in np.array(test["arms"], dtype=np.int64):
            smaller = np.arange(1, n_arms) ** power
            factor = float(4.0 * n_arms / (1.0 + (smaller**-2.0).sum()))  # Δ_min = 1
            holds &= factor <= test["constant"] * (1.0 + 1e-9)
        texts.append(f"{factor:,.0f} log K with {name}")
    return Decision(holds, f"the exponents differ by a factor of {' and '.join(texts)} at K = {n_arms}")


CHECKS: dict[str, Check] = {
    "error_below_bound": Check(error_below_bound, {"equation": "number", "constant": "number"}),
    "lemma_1": Check(lemma_1, {"draws": "number"}),
    "lemma_2": Check(lemma_2),
    "norms": Check(norms, {"factor": "number"}),
    "glm_lemma_1": Check(glm_lemma_1),
    "corollary_2": Check(corollary_2),
    "against_bayes_gap": Check(against_bayes_gap, {"arms": "numbers", "dimensions": "numbers"}),
    "against_peace": Check(against_peace, {"dimensions": "numbers", "exponents": "numbers", "constant": "number"}),
    "against_peace_g_optimal": Check(
        against_peace_g_optimal, {"dimensions": "numbers", "exponents": "numbers", "constant": "number"}
    ),
    "against_od": Check(against_od, {"exponents": "numbers", "dimensions": "numbers"}),
    "against_od_few_arms": Check(against_od_few_arms, {"dimensions": "numbers"}),
    "od_corner_cases": Check(od_corner_cases),
    "near_optimal": Check(near_optimal, {"arms": "numbers", "constant": "number"}),
}

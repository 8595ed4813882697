r"""Claims on bounds of the GSE paper that need no run of GSE: a lemma on logistic models, Corollary 2, Appendix D.

Logarithms are to the base :math:`\eta=2` except where the text nests them; :math:`\sigma=1`.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Section 7, Appendices B, C and D.
.. [2] Kumar, Yildirim. "Minimum-Volume Enclosing Ellipsoids and Core Sets". Journal of Optimization Theory and
   Applications 2005.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.interface import FloatArray
from bestarm.models.arm_estimates import logistic_scores
from bestarm.reporting.study import project_seed
from bestarm.reporting.verdicts import Decision
from bestarm.streams import Streams

Test = Mapping[str, Any]
Rows = Mapping[str, pd.DataFrame]

_GAP = 0.1  # of Appendix D, where a number is needed
_BERNOULLI_VARIANCE = 0.25  # a reward of 0 or 1 is 1/4-sub-Gaussian


def overtaking(rng: np.random.Generator, runs: int) -> tuple[FloatArray, FloatArray]:
    r"""Return how often each other arm overtakes the best in one logistic fit, and the bound on it, shape (K - 1,).

    The bound is :math:`e^{-\Delta_i^2c^2/(8\sigma^2\|x_i\|^2)}+e^{-\Delta_i^2c^2/(8\sigma^2\|x_1\|^2)}` ([1]_, Lemma 1
    of Appendix B) with the smallest slope c of any run, on a random instance with random counts.
    """
    n_arms, d = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    x = rng.uniform(-1.0, 1.0, (n_arms, d))
    counts = rng.integers(50, 800, n_arms)
    true = x @ rng.normal(0.0, 1.0, d)
    totals = rng.binomial(counts, expit(true), (runs, n_arms)).astype(np.float64)
    sets, live = np.zeros(runs, dtype=np.int64), np.ones((runs, n_arms), dtype=np.bool_)
    scores = logistic_scores(x[None], sets, live, np.tile(counts, (runs, 1)), totals)
    farthest = np.maximum(np.abs(true), np.abs(scores))
    slope = float((expit(farthest) * expit(-farthest)).min())
    norms = np.einsum("ki,ij,kj->k", x, np.linalg.inv((x.T * counts) @ x), x)
    best = int(true.argmax())
    others = np.arange(n_arms) != best
    exponents = ((true[best] - true) * slope) ** 2 / (8.0 * _BERNOULLI_VARIANCE)
    bounds = np.exp(-exponents / norms) + np.exp(-exponents / norms[best])
    return (scores > scores[:, [best]]).mean(axis=0)[others], bounds[others]


def glm_lemma_1(test: Test, rows: Rows) -> Decision:
    """Decide the logistic form of Lemma 1 on random instances, by how often an arm overtakes the best."""
    rng, runs = np.random.default_rng(project_seed()), int(test["runs"])
    found = [overtaking(rng, runs) for _ in range(int(test["draws"]))]
    shares, bounds = (np.concatenate(part) for part in zip(*found, strict=True))
    low, high = proportion_confint(np.round(shares * runs), runs, method="wilson")
    beyond = (low > bounds) & (shares > 0.0)
    telling = (bounds < 1.0) & (high_without_error(runs) < bounds)
    text = f"beyond in {beyond.sum()} of {len(bounds)} pairs of arms; {telling.sum()} of the bounds can be tested"
    if telling.any():
        text += f", there the probability is at most {(high / bounds)[telling].max():.2f} times the bound"
    return Decision(not beyond.any(), text, bool(telling.any()), f"{len(found)} instances of {runs} runs")


def high_without_error(n: Any) -> Any:
    """Return the upper end of Wilson's 95% interval where nothing was seen in n runs: no bound below can be tested."""
    return proportion_confint(np.zeros_like(np.asarray(n)), np.asarray(n), method="wilson")[1]


def steps_to_twice_the_rank(n_arms: int, d: int, n_sets: int) -> FloatArray:
    """Return the Frank-Wolfe steps from Kumar and Yıldırım's start until no leverage exceeds 2d, shape (S,) ([2]_)."""
    rng = np.random.default_rng([project_seed(), n_arms, d])
    x = rng.standard_normal((n_sets, n_arms, d))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    streams = Streams.first(n_sets, seed=project_seed(), instance=f"corollary 2 {n_arms} {d}")
    rule = DesignRule("d-optimal", "kumar-yildirim", tolerance=1.0)
    live, key = np.ones((n_sets, n_arms), dtype=np.bool_), streams.key("start")
    return np.asarray(
        optimal_design(x, live, rule, key=key, replications=streams.replications).n_steps, dtype=np.float64
    )


def corollary_2(test: Test, rows: Rows) -> Decision:
    """Decide that at most d log(log(d)) steps, on average, bring every leverage below 2d, for few arms and many."""
    holds, texts = True, []
    for d in test["dimensions"]:
        allowed = d * np.log(np.log(d))
        means = [steps_to_twice_the_rank(k * d, d, int(test["sets"])).mean() for k in test["arms_per_dimension"]]
        holds &= max(means) <= allowed
        texts.append(f"d = {d}: {' and '.join(f'{m:.1f}' for m in means)}, allowed {allowed:.1f}")
    sizes = " and ".join(f"{k}d" for k in test["arms_per_dimension"])
    return Decision(bool(holds), f"mean steps with {sizes} arms: {'; '.join(texts)}")


def log_bounds_of_peace(d: int, log_arms: float, x: FloatArray, constant: float, extra: float) -> Any:
    """Return the logarithms of GSE's bound and of Peace's, at exponents x of a bound with the constant 1."""
    log_two_arms = log_arms / np.log(2.0)
    ours = np.log(4.0 * log_two_arms) - x / 4.0
    theirs = np.log(2.0 * np.ceil(np.log2(d))) - x / (constant * extra)
    return ours, theirs


def against_peace(test: Test, rows: Rows) -> Decision:
    """Decide whether Peace's bound is below Equation 2 only if K exceeds exp(exp(log d log log d)) ([1]_, D.2 (i))."""
    x, failed, checked = np.logspace(0, 4, 400), [], 0
    for d in test["dimensions"]:
        threshold = float(np.exp(np.log(d) * np.log(np.log(d))))  # of log(K)
        for log_arms in np.log(d) * np.array(test["exponents"]):
            if log_arms > threshold:
                continue
            ours, theirs = log_bounds_of_peace(d, log_arms, x, test["constant"], np.log2(d))
            telling = np.minimum(ours, theirs) < 0.0
            checked += 1
            if (theirs[telling] < ours[telling]).any():
                failed.append(d)
    return _lower_for(failed, checked, "numbers of arms below the threshold")


def against_peace_g_optimal(test: Test, rows: Rows) -> Decision:
    """Decide whether Equation 3 is below Peace's bound under the G-optimal design for any budget ([1]_, D.2 (ii))."""
    x, failed, checked = np.logspace(0, 4, 400), [], 0  # x = B Δ² / (d log K)
    for d in test["dimensions"]:
        for exponent in test["exponents"]:
            ours, theirs = log_bounds_of_peace(d, exponent * np.log(d), x, test["constant"], np.log2(d))
            telling = np.minimum(ours, theirs) < 0.0
            checked += 1
            if (theirs[telling] < ours[telling]).any():
                failed.append(d)
    return _lower_for(failed, checked, "pairs of d and K")


def _lower_for(failed: list[int], checked: int, what: str) -> Decision:
    dimensions = ", ".join(map(str, dict.fromkeys(failed)))
    text = f"theirs is the lower one for some budget in {len(failed)} of {checked} {what}"
    return Decision(not failed, text + (f": d = {dimensions}" if failed else ""))


def log_bounds_of_od(d: int, log_arms: float, budget: FloatArray, start: float) -> Any:
    """Return the logarithms of GSE's bound and of OD-LinBAI's, whose first stage needs ``start`` pulls."""
    log_two_arms = log_arms / np.log(2.0)
    ours = np.log(4.0 * log_two_arms) - budget * _GAP**2 / (4.0 * d * log_two_arms)
    prefix = np.logaddexp(np.log(4.0) + log_arms - np.log(d), np.log(3.0 * np.log2(d)))
    return ours, prefix + (start - budget) * _GAP**2 / (32.0 * d * np.log2(d))


def against_od_few_arms(test: Test, rows: Rows) -> Decision:
    """Decide whether OD-LinBAI's bound is below GSE's where K < d(d+1)/2 ([1]_, D.3; Δ = 0.1)."""
    budget, ours_lower, checked = 10.0 ** np.linspace(2, 8, 121), 0, 0
    for d in test["dimensions"]:
        for n_arms in np.unique(np.geomspace(d, d * (d + 1) // 2 - 1, 6).astype(np.int64)):
            ours, theirs = log_bounds_of_od(d, float(np.log(n_arms)), budget, float(n_arms))
            telling = np.minimum(ours, theirs) < 0.0
            checked += int(telling.sum())
            ours_lower += int((ours[telling] < theirs[telling]).sum())
    return Decision(ours_lower == 0, f"GSE's is the lower one at {ours_lower} of {checked} budgets")


def od_corner_cases(test: Test, rows: Rows) -> Decision:
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


BOUND_CHECKS = {
    "glm_lemma_1": glm_lemma_1,
    "corollary_2": corollary_2,
    "against_peace": against_peace,
    "against_peace_g_optimal": against_peace_g_optimal,
    "against_od_few_arms": against_od_few_arms,
    "od_corner_cases": od_corner_cases,
}

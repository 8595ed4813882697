r"""Claims of the GSE paper that a computation decides: its lemmas and bounds, their comparisons, Peace's cost.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Sections 4, 5, 7, Appendices A, B, D, H.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.study import project_seed
from bestarm_studies.gse.bound_checks import BOUND_CHECKS, high_without_error
from bestarm_studies.gse.experiments import THEORY
from bestarm_studies.gse.run_times import peace_operations
from bestarm_studies.gse.stage_observer import N_STAGES
from bestarm_studies.gse.theory import gaps, printed_bound, variance

Test = Mapping[str, Any]
Rows = Mapping[str, pd.DataFrame]


def bound_values(experiment: str, rows: pd.DataFrame, equation: int, constant: float) -> pd.DataFrame:
    """Return the error of every series and budget with Wilson's 95% interval beside a printed bound.

    Equations 2 and 5 take the largest uncertainty of any run, and 5 the smallest slope of the run. Equations 3 and 6
    take d log2(K) / B.

    Parameters
    ----------
    experiment : {"bounds_linear", "bounds_logistic"}
        Whose instance, and whose rows.

    Returns
    -------
    DataFrame
        ``series, budget, error, low, high, n, bound``; the bound is at most 1.
    """
    problem = THEORY[experiment].problem()
    n_arms, n_features = problem.features.shape
    gap = float(np.sort(gaps(problem))[1])
    table = []
    for (series, budget), mine in rows.groupby(["series", "budget"], sort=False):
        k, n = int((mine["correct"] < 1).sum()), len(mine)
        low, high = proportion_confint(k, n, method="wilson")
        slope = mine["slope"].to_numpy()
        if equation in (3, 6):
            uncertainty: Any = n_features * np.log2(n_arms) / mine["budget"].iloc[0]
            scale: Any = slope.min()
        else:
            uncertainty = mine["difference" if equation == 2 else "norm"].to_numpy()
            scale = slope
        value = float(np.max(printed_bound(gap * scale, variance(problem), uncertainty, n_arms, constant)))
        line = {"series": series, "budget": budget, "error": k / n, "low": low, "high": high, "n": n, "bound": value}
        table.append(line)
    return pd.DataFrame(table)


def error_below_bound(test: Test, rows: Rows) -> Decision:
    """Decide that no error frequency lies significantly above a printed bound.

    A bound of 1 says nothing, and one below what the runs exclude without an error cannot be tested by them.
    """
    (name,) = test["experiments"]
    values = bound_values(name, rows[name], test["equation"], test["constant"])
    beyond = int(((values["error"] > 0.0) & (values["low"] > values["bound"])).sum())
    below_one = values["bound"] < 1.0
    telling = values[below_one & (high_without_error(values["n"].to_numpy()) < values["bound"])]
    text = f"error above the bound in {beyond} of {len(values)} cells; the bound is below 1 in {below_one.sum()}"
    if len(telling):
        text += f", {len(telling)} of which the runs can test: there the error is at most "
        text += f"{(telling['high'] / telling['bound']).max():.2g} times the bound"
    return Decision(beyond == 0, text, bool(len(telling)), f"{telling['n'].sum():,} runs")


def lemma_1(test: Test) -> Decision:
    """Decide Lemma 1 with the exact law of the estimates, on random instances and allocations."""
    rng, worst, checked = np.random.default_rng(project_seed()), 0.0, 0
    for _ in range(int(test["draws"])):
        n_arms, d = int(rng.integers(3, 12)), int(rng.integers(2, 6))
        x, counts = rng.standard_normal((n_arms, d)), rng.integers(1, 6, n_arms)
        means = x @ rng.standard_normal(d)
        best = int(means.argmax())
        inverse = np.linalg.pinv((x.T * counts) @ x)
        for i in set(range(n_arms)) - {best}:
            spread = float(np.sqrt((x[i] - x[best]) @ inverse @ (x[i] - x[best])))
            gap = means[best] - means[i]
            worst = max(worst, float(stats.norm.cdf(-gap / spread) / (2.0 * np.exp(-(gap**2) / (2.0 * spread**2)))))
            checked += 1
    return Decision(worst <= 1.0, f"probability at most {worst:.2f} times the bound over {checked} pairs of arms")


def lemma_2(test: Test, rows: Rows) -> Decision:
    """Decide that the frequency of losing the best arm in a stage is not significantly above the mean bound."""
    beyond, cells, telling, ratio = 0, 0, 0, 0.0
    (name,) = test["experiments"]
    for _, mine in rows[name].groupby(["series", "budget"], sort=False):
        for t in range(N_STAGES):
            alive = mine[mine[f"alive_{t}"]]
            k, n, bound = int(alive[f"lost_{t}"].sum()), len(alive), float(alive[f"lemma2_{t}"].mean())
            low, high = proportion_confint(k, n, method="wilson")
            beyond, cells = beyond + int(k > 0 and low > bound), cells + 1
            if high_without_error(n) < bound < 1.0:
                telling, ratio = telling + 1, max(ratio, high / bound)
    text = f"beyond in {beyond} of {cells} stages; in {telling} the bound is below 1 and can be tested, there the "
    text += f"probability is at most {ratio:.2f} times it"
    return Decision(beyond == 0, text, telling > 0, f"{cells} stages")


def norms(test: Test) -> Decision:
    """Decide that max |x_i - x_1|^2 is at most a factor times max |x_i|^2; opposite arms are the worst case."""
    rng, worst = np.random.default_rng(project_seed()), 0.0
    for seed in range(1000):
        x = rng.standard_normal((4, 2))
        if seed % 2:
            x[1] = -x[0]
        inverse = np.linalg.inv(x.T @ x)
        square = np.einsum("ki,ij,kj->k", x, inverse, x)
        difference = np.einsum("ki,ij,kj->k", x - x[0], inverse, x - x[0])
        worst = max(worst, float(difference.max() / square.max()))
    return Decision(worst <= test["factor"] + 1e-9, f"up to {worst:.2f} times, over 1000 sets of four arms")


def against_od(test: Test) -> Decision:
    """Decide whether, for K = d^q, the exponent of GSE's bound is the larger one: 1/(4q) against 1/32."""
    failed = [q for q in test["exponents"] if not 1.0 / (4.0 * q) > 1.0 / 32.0]
    crossings = []
    for d in test["dimensions"]:
        budget = np.array([10.0**p for p in range(2, 9)])
        ours = 4 * 2 * np.log2(d) * np.exp(-budget * 0.01 / (4 * d * 2 * np.log2(d)))
        theirs = (4 * d + 3 * np.log2(d)) * np.exp((d**2 - budget) * 0.01 / (32 * d * np.log2(d)))
        ahead = budget[(ours < theirs) & (ours < 1)]
        crossings.append(f"d = {d}: {ahead[0]:.0e}" if len(ahead) else f"d = {d}: never")
    text = f"it is so for q < 8, not for q = {', '.join(map(str, failed))}" if failed else "it is so for all of them"
    return Decision(not failed, f"{text}; K = d^2, Δ = 0.1: ahead and below 1 from B = {'; '.join(crossings)}")


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


def clusters(test: Test, rows: Rows) -> Decision:
    """Decide that clusters lower the largest leverage as stated, to within a factor of 1.2."""
    (name,) = test["experiments"]
    holds, texts = True, []
    leverages = rows[name].pivot(index="n_arms", columns="series", values="leverage")
    for n_arms, uniform, clustered in leverages[["uniform", "clusters"]].itertuples():
        holds &= uniform >= 0.5 / 1.2 and clustered <= 1.2 / n_arms
        texts.append(f"K = {n_arms}: {uniform:.2f} to {clustered:.4f}")
    return Decision(bool(holds), "; ".join(texts))


def peace_cost(test: Test, rows: Rows) -> Decision:
    """Decide whether Peace takes so much longer than GSE-Lin-FWG at K = 16, and its time grows so much to K = 32."""
    (name,) = test["experiments"]
    runs = rows[name].assign(milliseconds=rows[name]["microseconds"] * rows[name]["budget"] / 1000.0)
    time = runs.groupby(["series", "n_arms"])["milliseconds"].mean()
    ratio, growth = time["Peace", 16] / time["GSE-Lin-FWG", 16], time["Peace", 32] / time["Peace", 16]
    closed, solved = (
        peace_operations(32, kronecker=kronecker) / peace_operations(16, kronecker=kronecker)
        for kronecker in (False, True)
    )
    holds = bool(ratio >= test["at_least"] and growth >= test["growth"])
    text = f"{ratio:.0f} times GSE-Lin-FWG at K = 16, {growth:.1f} times itself at K = 32"
    text += f"; multiplications grow {closed:.1f} times, {solved:.0f} times with a linear system for every gradient"
    return Decision(holds, f"{text}; {time['Peace', 32] / 10:.1f} s for 100 runs where the paper reports 14 h")


CHECKS: dict[str, Check] = {
    **BOUND_CHECKS,
    "error_below_bound": Check(
        error_below_bound, {"experiments": "experiments", "equation": "number", "constant": "number"}
    ),
    "lemma_1": Check(lemma_1, {"draws": "number"}),
    "lemma_2": Check(lemma_2, {"experiments": "experiments"}),
    "norms": Check(norms, {"factor": "number"}),
    "against_od": Check(against_od, {"exponents": "numbers", "dimensions": "numbers"}),
    "against_bayes_gap": Check(against_bayes_gap, {"arms": "numbers", "dimensions": "numbers"}),
    "clusters": Check(clusters, {"experiments": "experiments"}),
    "peace_cost": Check(peace_cost, {"experiments": "experiments", "at_least": "number", "growth": "number"}),
}

_STATIC_ARMS, _LOGISTIC_ARMS = 16, 8  # where K is not varied and the rows have no column for it


def accuracy_of_a_guess(rows: pd.DataFrame) -> float:
    """Return 1/K of a cell."""
    if "n_arms" in rows:
        return float(1.0 / rows["n_arms"].iloc[0])
    return 1.0 / (_STATIC_ARMS if "gap" in rows else _LOGISTIC_ARMS)


VALUES: dict[str, Value] = {
    "correct": Value("accuracy", chance=accuracy_of_a_guess),
    "per_arm": Value("budget over the number of arms", lambda rows, test: rows["budget"] / rows["n_arms"]),
}

"""The printed bounds, the instances on which they are checked, and what runs can say about a bound; logistic Lemma 1.

Corollary 2 bounds the steps of Frank-Wolfe from the start of Kumar and Yıldırım, Journal of Optimization Theory and
Applications 2005. Of the paper: Sections 4 and 5, Appendices A to C.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.interface import FloatArray
from bestarm.models.arm_estimates import logistic_scores
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.gse.instances import LogisticBandit

_BERNOULLI_VARIANCE = 0.25  # a reward of 0 or 1 is 1/4-sub-Gaussian


def theory_instance(model: str, n_arms: int, n_features: int, sigma: float, signal: float) -> Any:
    """Return one fixed instance with random unit arms: of replication 0 of the randomised experiment, or logistic.
    ``signal`` is the norm of the parameter."""
    rng = np.random.default_rng([n_arms, n_features])
    x = rng.standard_normal((n_arms, n_features))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta = rng.standard_normal(n_features)
    theta *= signal / np.linalg.norm(theta)
    if model == "logistic":
        return LogisticBandit("bounds logistic", x, theta)
    return LinearBandit("bounds linear", x, theta, sigma)


def variance(problem: Any) -> float:
    """Return the sub-Gaussian variance of a reward: of the Gaussian noise, or 1/4 of a reward of 0 or 1."""
    return float(getattr(problem, "sigma", 0.5) ** 2)


def gaps(problem: Any) -> FloatArray:
    """Return the gaps before the link, shape (K,), of an instance that all replications share."""
    values = problem.features @ problem.theta
    return np.asarray(values.max() - values)


def printed_bound(
    gap: FloatArray | float, variance: float, uncertainty: FloatArray | float, n_arms: int, constant: float
) -> Any:
    r"""Return :math:`\min(1, 2\eta\log_\eta(K)\exp(-\Delta^2/(c\sigma^2u)))` with :math:`\eta=2` (Equation 2)."""
    return np.minimum(1.0, 4.0 * np.log2(n_arms) * np.exp(-(gap**2) / (constant * variance * uncertainty)))


def smallest_slopes(problem: LogisticBandit, scores: FloatArray, live: Any) -> FloatArray:
    r"""Return :math:`c_{\min}`, the least :math:`h'` between true and estimated score of a live arm, shape (R,)."""
    largest = np.maximum(np.abs(problem.features @ problem.theta)[None, :], np.abs(scores))
    slopes = expit(largest) * expit(-largest)
    return np.asarray(np.where(live, slopes, np.inf).min(axis=1))


def high_without_error(n: Any) -> Any:
    """Return the upper end of Wilson's 95% interval where nothing was seen in n runs: no bound below can be tested."""
    return proportion_confint(np.zeros_like(np.asarray(n)), np.asarray(n), method="wilson")[1]


def overtaking(rng: np.random.Generator, runs: int) -> tuple[FloatArray, FloatArray]:
    r"""Return how often each other arm overtakes the best in one logistic fit, and the bound on it, shape (K - 1,).
    The bound is :math:`e^{-\Delta_i^2c^2/(8\sigma^2\|x_i\|^2)}+e^{-\Delta_i^2c^2/(8\sigma^2\|x_1\|^2)}` (Lemma 1) with
    the smallest slope c of any run, on a random instance with random counts."""
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


def overtaking_rows(replications: int, runs: int, *, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return the ``share`` of runs in which each arm but the best overtakes it on logistic instances, and Lemma 1's
    bound. Replications are instances, with so many ``runs`` on each."""
    rng = np.random.default_rng(seed)
    found = [overtaking(rng, runs) for _ in range(replications)]
    frames = [
        pd.DataFrame({"replication": i, "runs": runs, "share": share, "bound": bound})
        for i, (share, bound) in enumerate(found)
    ]
    return pd.concat(frames, ignore_index=True)


def glm_lemma_1(test: Test, rows: Rows) -> Decision:
    """Decide the logistic form of Lemma 1 on random instances, by how often an arm overtakes the best."""
    (name,) = test["experiments"]
    shares, bounds = (rows[name][column].to_numpy() for column in ("share", "bound"))
    instances, runs = rows[name]["replication"].nunique(), int(rows[name]["runs"].iloc[0])
    low, high = proportion_confint(np.round(shares * runs), runs, method="wilson")
    beyond = (low > bounds) & (shares > 0.0)
    telling = (bounds < 1.0) & (high_without_error(runs) < bounds)
    text = f"beyond in {beyond.sum()} of {len(bounds)} pairs of arms; {telling.sum()} of the bounds can be tested"
    if telling.any():
        text += f", there the probability is at most {(high / bounds)[telling].max():.2f} times the bound"
    return Decision(not beyond.any(), text, bool(telling.any()), f"{instances} instances of {runs} runs")


def steps_to_twice_the_rank(n_arms: int, d: int, n_sets: int, seed: int) -> FloatArray:
    """Return the Frank-Wolfe steps from Kumar and Yıldırım's start until no leverage exceeds 2d, shape (S,)."""
    rng = np.random.default_rng([seed, n_arms, d])
    x = rng.standard_normal((n_sets, n_arms, d))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    streams = Streams.first(n_sets, seed=seed, instance=f"corollary 2 {n_arms} {d}")
    rule = DesignRule("d-optimal", "kumar-yildirim", tolerance=1.0)
    live, key = np.ones((n_sets, n_arms), dtype=np.bool_), streams.key("start")
    return np.asarray(
        optimal_design(x, live, rule, key=key, replications=streams.replications).n_steps, dtype=np.float64
    )


def step_rows(
    replications: int, dimensions: Sequence[int], arms_per_dimension: Sequence[int], *, seed: int, workers: int = 1
) -> pd.DataFrame:
    """Return the Frank-Wolfe steps until no leverage exceeds 2d, for so many random sets of arms of each size."""
    frames = [
        pd.DataFrame(
            {
                "n_features": d,
                "per_dimension": k,
                "replication": np.arange(replications),
                "steps": steps_to_twice_the_rank(k * d, d, replications, seed),
            }
        )
        for d in dimensions
        for k in arms_per_dimension
    ]
    return pd.concat(frames, ignore_index=True)


def corollary_2(test: Test, rows: Rows) -> Decision:
    """Decide that at most d log(log(d)) steps, on average, bring every leverage below 2d, for few arms and many."""
    (name,) = test["experiments"]
    holds, texts = True, []
    means = rows[name].groupby(["n_features", "per_dimension"])["steps"].mean().unstack("per_dimension")
    for d, mine in zip(means.index.to_list(), means.to_numpy(), strict=True):
        allowed = d * np.log(np.log(d))
        holds &= bool(mine.max() <= allowed)
        texts.append(f"d = {d}: {' and '.join(f'{m:.1f}' for m in mine)}, allowed {allowed:.1f}")
    sizes = " and ".join(f"{k}d" for k in means)
    return Decision(holds, f"mean steps with {sizes} arms: {'; '.join(texts)}")

"""Lemma 1 of Appendix B for logistic models: how often an arm overtakes the best one in a stage."""

import numpy as np
import pandas as pd
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from bestarm.interface import FloatArray
from bestarm.models.arm_estimates import logistic_scores
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.gse.checks import Rows, Test
from bestarm_studies.gse.theory.bounds import high_without_error

_BERNOULLI_VARIANCE = 0.25  # a reward of 0 or 1 is 1/4-sub-Gaussian


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

r"""Draws and designs behind exact statements: overtaking in a logistic stage, steps of Frank-Wolfe, clusters.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Appendices B, C and H.
.. [2] Kumar, Yildirim. "Minimum-Volume Enclosing Ellipsoids and Core Sets". Journal of Optimization Theory and
   Applications 2005.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from bestarm.designs.cluster_allocation import cluster_counts
from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.designs.rounding import round_design, uniform_counts
from bestarm.interface import FloatArray
from bestarm.models.arm_estimates import logistic_scores
from bestarm.streams import Streams

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


def overtaking_rows(replications: int, runs: int, *, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return how often each arm but the best overtakes it on random logistic instances, beside the bound of Lemma 1.

    Parameters
    ----------
    replications : int
        Instances.
    runs : int
        Runs on each.
    seed : int
        Seed of the project.

    Returns
    -------
    DataFrame
        ``replication, runs, share, bound``, a row for each arm.
    """
    rng = np.random.default_rng(seed)
    found = [overtaking(rng, runs) for _ in range(replications)]
    frames = [
        pd.DataFrame({"replication": i, "runs": runs, "share": share, "bound": bound})
        for i, (share, bound) in enumerate(found)
    ]
    return pd.concat(frames, ignore_index=True)


def steps_to_twice_the_rank(n_arms: int, d: int, n_sets: int, seed: int) -> FloatArray:
    """Return the Frank-Wolfe steps from Kumar and Yıldırım's start until no leverage exceeds 2d, shape (S,) ([2]_)."""
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
    """Return the Frank-Wolfe steps until no leverage exceeds 2d, for random sets of arms.

    Parameters
    ----------
    replications : int
        Sets of each size.
    dimensions, arms_per_dimension : sequence of int
        d, and K over d.
    seed : int
        Seed of the project.

    Returns
    -------
    DataFrame
        ``n_features, per_dimension, replication, steps``.
    """
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


def example_leverages(n_arms: int, seed: int) -> tuple[FloatArray, FloatArray]:
    r"""Return pulls and largest leverage of V for the example of Appendix H: uniform, clusters, G-optimal.

    K arms :math:`e_1(1+\xi)`, :math:`\xi\sim N(0,0.001)`, and :math:`e_2`; B = 2K pulls. Returned are the pulls of
    :math:`e_2`, and :math:`\max_i\|x_i\|^2_{V^{-1}}`, each shape (3,).
    """
    rng = np.random.default_rng([seed, n_arms])
    x = np.zeros((1, n_arms + 1, 2))
    x[0, :-1, 0], x[0, -1, 1] = 1.0 + np.sqrt(0.001) * rng.standard_normal(n_arms), 1.0
    live, budget = np.ones((1, n_arms + 1), dtype=np.bool_), np.array([2 * n_arms])
    streams = Streams.first(1, seed=seed, instance="appendix H")
    key, rows = streams.key("example"), streams.replications
    weights = optimal_design(x, live, DesignRule(start="kumar-yildirim")).weights
    found = [
        uniform_counts(live, budget, key, rows, 0),
        cluster_counts(x, live, budget, 2, key=key, replications=rows, time=0),
        round_design(weights, budget, "apportionment", key, rows, 0),
    ]
    inverses = [np.linalg.inv((x[0].T * counts[0]) @ x[0]) for counts in found]
    leverages = [np.einsum("ki,ij,kj->k", x[0], inverse, x[0]).max() for inverse in inverses]
    return np.array([float(counts[0, -1]) for counts in found]), np.array(leverages)


def leverage_rows(replications: int, arms: Sequence[int], *, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return `example_leverages` for several K, whose one set of arms each is no sample.

    Returns
    -------
    DataFrame
        ``series, replication, n_arms, pulls, leverage``.
    """
    names = ("uniform", "clusters", "G-optimal")
    frames = []
    for n_arms in arms:
        pulls, leverages = example_leverages(n_arms, seed)
        frames.append(pd.DataFrame({"series": names, "n_arms": n_arms, "pulls": pulls, "leverage": leverages}))
    return pd.concat(frames, ignore_index=True).assign(replication=0)

"""GPOO: one run of 80 evaluations, against refitting the Gaussian process in every round.

The naive run is what one would write with GPy from the paper: in every round a new model of all observations so far,
then one prediction for each leaf. With single feedback that is `GPy.models.GPRegression`; with averages GPy has none,
so the covariance of all representatives is averaged and factorised anew. Both make the same evaluations.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve

from bestarm.interface import Ask
from bestarm.policies.cells.gpoo import Gpoo, lemma1_beta
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.functions import reward_function

REPEATS = 5


def _predict_with_gpy(kernel, points, rewards, noise, leaves):
    """Return means and variances of leaves with one point each: a new GPRegression, one prediction a leaf."""
    from GPy.models import GPRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GPRegression(points[:, 0], rewards[:, None], kernel, noise_var=noise)
        found = [model.predict(leaf, include_likelihood=False) for leaf in leaves]
    return np.array([m[0, 0] for m, _ in found]), np.array([v[0, 0] for _, v in found])


def _predict_dense(kernel, points, rewards, noise, leaves):
    """Return means and variances of the leaves' averages: all representatives, averaged and factorised anew."""
    t, s = points.shape[:2]
    flat = points.reshape(t * s, -1)
    averaging = np.kron(np.eye(t), np.full((1, s), 1.0 / s))
    factor = cho_factor(averaging @ kernel.K(flat) @ averaging.T + noise * np.eye(t), lower=True)
    means, variances = [], []
    for leaf in leaves:
        cross = averaging @ kernel.K(flat, leaf).mean(axis=1)
        solved = cho_solve(factor, cross)
        means.append(solved @ rewards)
        variances.append(kernel.K(leaf).mean() - solved @ cross)
    return np.array(means), np.array(variances)


def naive_gpoo(bandit: CellBandit, policy: Gpoo, streams: Streams) -> list[int]:
    """Return the cells that one run of GPOO evaluates (Algorithm 1), with a model built anew in every round."""
    partition, kernel = bandit.partition, policy.kernel.to_gpy(bandit.partition.n_dimensions)
    predict = _predict_with_gpy if partition.n_representatives == 1 else _predict_dense
    tally, leaves, cells, rewards = partition.no_pulls(1), [0], [], []
    prior = np.array([kernel.K(partition.representatives(np.array(0))).mean()])
    means, variances = np.zeros(1), prior
    for t in range(1, policy.budget + 1):
        beta = lemma1_beta(np.array(t), policy.theta, partition.arity, policy.max_depth)
        depths = partition.depth(np.array(leaves))
        bounds = means + np.sqrt(beta * np.maximum(variances, 0.0)) + policy.delta(depths)
        chosen = min(np.flatnonzero(bounds >= bounds.max() - 1e-9), key=lambda i: leaves[i])
        cell = leaves[chosen]
        asked = Ask(np.array([[cell]]), np.ones((1, 1), dtype=np.int64))
        rewards.append(bandit.rewards(asked, tally, streams)[0, 0])
        cells.append(cell)
        points = partition.representatives(np.array(cells))
        observed = points, np.array(rewards), policy.noise_variance
        _, (variance,) = predict(kernel, *observed, [partition.representatives(np.array(cell))])
        depth = depths[chosen]
        if policy.delta(depth) >= np.sqrt(beta * max(variance, 0.0)) and depth <= policy.max_depth:
            leaves[chosen : chosen + 1] = partition.children(np.array(cell)).tolist()
        means, variances = predict(kernel, *observed, list(partition.representatives(np.array(leaves))))
    return cells


def _seconds(n_representatives: int, n_replications: int, budget: int = 80) -> float:
    bandit = reward_function("f1", n_representatives=n_representatives)
    streams = Streams.first(n_replications, instance=bandit.label)
    began = time.perf_counter()
    simulate(Gpoo("GPOO", budget), bandit, streams, metrics={})
    return (time.perf_counter() - began) / n_replications


def against_refitting() -> pd.DataFrame:
    """Return seconds of a run of 80 evaluations, ours for R = 1, 50 and 500, and the naive one: interleaved medians."""
    _seconds(1, 2)  # compile
    lines = []
    for s in (1, 10, 50):
        bandit = reward_function("f1", n_representatives=s)
        naive, ours = [], {r: [] for r in (1, 50, 500)}
        for repeat in range(REPEATS if s < 50 else 2):
            streams = Streams(0, bandit.label, np.array([repeat]))
            began = time.perf_counter()
            naive_gpoo(bandit, Gpoo("GPOO", 80), streams)
            naive.append(time.perf_counter() - began)
            for r, times in ours.items():
                times.append(_seconds(s, r))
        for r, times in ours.items():
            lines.append((s, r, 1e3 * np.median(times), 1e3 * np.median(naive), np.median(naive) / np.median(times)))
    return pd.DataFrame(lines, columns=["S", "R", "ours (ms a run)", "refit (ms a run)", "ratio"])


def growth() -> pd.DataFrame:
    """Return the time of a run against its budget, R = 20, and the exponent between successive budgets."""
    _seconds(1, 2)
    budgets = [50, 100, 200, 400, 800]
    times = [np.median([_seconds(1, 20, n) for _ in range(3)]) for n in budgets]
    slopes = [np.nan, *(np.diff(np.log(times)) / np.diff(np.log(budgets)))]
    return pd.DataFrame({"N": budgets, "ms a run": 1e3 * np.array(times), "exponent": slopes})


def main() -> None:
    """Print the tables."""
    print("GPOO on f1, 80 evaluations, against a model built anew in every round")
    print(against_refitting().to_string(index=False, float_format="{:.3g}".format))
    print("\nGPOO on f1: time against the budget (the paper: at most N^4)")
    print(growth().to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()

r"""The bounds of the GSE paper beside the errors of runs: Lemmas 1 and 2, Theorems 4.1 and 5.1.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Sections 4 and 5, Appendices A and B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import joblib
import numpy as np
import pandas as pd
from scipy.special import expit

from bestarm.experiments.construct import construct
from bestarm.experiments.simulate import simulate
from bestarm.interface import FloatArray
from bestarm.metrics import correct
from bestarm.policies.gse import Gse, n_stages
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.problems.logistic_bandit import LogisticBandit
from bestarm.streams import Streams
from bestarm_studies.gse.stage_observer import StageMonitor

_BLOCK = 5000


def theory_instance(model: str, n_arms: int, n_features: int, sigma: float, signal: float) -> Any:
    """Return one fixed instance with random unit arms: of replication 0 of the randomised experiment, or logistic.

    Parameters
    ----------
    model : {"linear", "logistic"}
        Kind of rewards.
    n_arms, n_features : int
        K and d.
    sigma : float
        Standard deviation of a Gaussian reward.
    signal : float
        Norm of the parameter.
    """
    rng = np.random.default_rng([n_arms, n_features])
    x = rng.standard_normal((n_arms, n_features))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta = rng.standard_normal(n_features)
    theta *= signal / np.linalg.norm(theta)
    if model == "logistic":
        return LogisticBandit("bounds logistic", x, theta)
    return LinearBandit("bounds linear", x, theta, sigma)


def gaps(problem: Any) -> FloatArray:
    """Return the gaps before the link, shape (K,), of an instance that all replications share."""
    values = problem.features @ problem.theta
    return np.asarray(values.max() - values)


def printed_bound(gap: float, variance: float, uncertainty: FloatArray | float, n_arms: int, constant: float) -> Any:
    r"""Return :math:`\min(1, 2\eta\log_\eta(K)\exp(-\Delta^2/(c\sigma^2u)))` with :math:`\eta=2` ([1]_, Equation 2)."""
    return np.minimum(1.0, 4.0 * np.log2(n_arms) * np.exp(-(gap**2) / (constant * variance * uncertainty)))


def smallest_slopes(problem: LogisticBandit, scores: FloatArray, live: Any) -> FloatArray:
    r"""Return :math:`c_{\min}`, the least :math:`h'` between true and estimated score of a live arm, shape (R,)."""
    largest = np.maximum(np.abs(problem.features @ problem.theta)[None, :], np.abs(scores))
    slopes = expit(largest) * expit(-largest)
    return np.asarray(np.where(live, slopes, np.inf).min(axis=1))


def _block(
    settings: Mapping[str, Any], problem: Any, budget: int, replications: Sequence[int], seed: int
) -> pd.DataFrame:
    policy: Gse = construct({**settings, "budget": budget}, "policies")
    rows = np.asarray(replications, dtype=np.int64)
    best = np.full(len(rows), int(np.argmax(problem.means[0])))
    monitor = StageMonitor(policy, best)
    frame = simulate(monitor, problem, Streams(seed, problem.label, rows), metrics={"correct": correct})
    gap, variance = gaps(problem), getattr(problem, "sigma", 0.5) ** 2
    table: dict[str, Any] = {"replication": rows, "correct": frame["correct"].to_numpy()}
    table["difference"] = np.max([s["difference"] * s["alive"] for s in monitor.stages], axis=0)
    table["norm"] = np.max([s["norm"] * s["alive"] for s in monitor.stages], axis=0)
    if isinstance(problem, LogisticBandit):
        slopes = [smallest_slopes(problem, s["estimates"], s["live"]) for s in monitor.stages]
        table["slope"] = np.min(
            [np.where(s["alive"], c, np.inf) for s, c in zip(monitor.stages, slopes, strict=True)], axis=0
        )
    for t, stage in enumerate(monitor.stages):
        least = np.where(stage["live"] & (gap > 0), gap[None, :], np.inf).min(axis=1)
        exponent = least**2 / (2.0 * variance * np.maximum(stage["difference"], 1e-300))
        table[f"alive_{t}"], table[f"lost_{t}"] = stage["alive"], stage["lost"]
        table[f"lemma2_{t}"] = np.where(stage["alive"], np.minimum(1.0, 4.0 * np.exp(-exponent)), 0.0)
    return pd.DataFrame(table)


def bound_rows(
    series: Mapping[str, Mapping[str, Any]],
    replications: int,
    seed: int,
    *,
    budgets: Sequence[int],
    instance: Mapping[str, Any],
    workers: int = 1,
) -> pd.DataFrame:
    """Return, for every series, budget and run, whether it found the best arm and how uncertain its stages were.

    Parameters
    ----------
    series : mapping
        Label to settings of `bestarm.policies.gse.Gse`, without the budget.
    replications : int
        Runs.
    seed : int
        Seed of the project.
    budgets : sequence of int
        B.
    instance : mapping
        Of `theory_instance`.

    Returns
    -------
    DataFrame
        ``convention, series, budget, replication, correct``; ``difference`` and ``norm``, the largest squared norms in
        V^-1 over the stages in which the best arm was live; ``alive_t, lost_t, lemma2_t`` for each stage t.
    """
    problem = theory_instance(**instance)
    jobs = [
        (label, settings, int(budget), np.arange(start, min(start + _BLOCK, replications)))
        for label, settings in series.items()
        for budget in budgets
        for start in range(0, replications, _BLOCK)
    ]
    backend = "loky" if workers > 1 else "sequential"
    with joblib.parallel_config(backend=backend, n_jobs=workers):
        found = joblib.Parallel()(
            joblib.delayed(_block)(settings, problem, budget, rows, seed) for _, settings, budget, rows in jobs
        )
    frames = [
        frame.assign(convention="as_written", series=label, budget=budget)
        for (label, _, budget, _), frame in zip(jobs, found, strict=True)
    ]
    return pd.concat(frames, ignore_index=True).assign(data="synthetic", n_stages=n_stages(len(problem.means[0]), 2))

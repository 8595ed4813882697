r"""The statements of GPOO's analysis, checked in runs on functions that are drawn from the prior (Assumption 1).

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Section 4, Appendix A, C.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import joblib
import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import EXPANDED
from bestarm.interface import FloatArray
from bestarm.policies.cells.gpoo import Gpoo
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.event_observer import EventObserver

_SLOPE_POINTS = 4001


def largest_slopes(problem: CellBandit) -> FloatArray:
    """Return the largest slope of each function on [0, 1], shape (1 or R,), from differences on 4001 points."""
    return np.asarray(np.abs(np.diff(_values(problem), axis=1)).max(axis=1) * (_SLOPE_POINTS - 1))


def ranges(problem: CellBandit) -> FloatArray:
    """Return how much each function varies on [0, 1], shape (1 or R,): no regret is larger."""
    return np.asarray(np.ptp(_values(problem), axis=1))


def _values(problem: CellBandit) -> FloatArray:
    """Return each function on 4001 points of [0, 1], shape (1 or R, 4001)."""
    x = np.linspace(0.0, 1.0, _SLOPE_POINTS)
    if problem.has_own_functions:
        n_functions = len(problem.function.weights)  # type: ignore[attr-defined]
        return problem.evaluate(np.broadcast_to(x[:, None], (n_functions, len(x), 1)))
    return problem.evaluate(x[:, None])[None]


def lipschitz_scale(slope: float, n_representatives: int) -> float:
    r"""Return c of :math:`\delta(h)=c2^{-h}` such that Assumption 3 holds with L = ``slope``: :math:`L(1-1/2S)`."""
    return slope * (1.0 - 0.5 / n_representatives)


def near_optimality(problem: CellBandit, radius_factor: float) -> tuple[float, float]:
    r"""Return (d, C): the near-optimality dimension of f on an interval, counted on a grid ([1]_, Definition 4).

    The largest number of disjoint balls of radius :math:`\eta\epsilon` with centres in
    :math:`\{f\geq f^*-\epsilon\}` is counted greedily for :math:`\epsilon\in[10^{-3}, 1]`; d is the slope of its
    logarithm against :math:`\log1/\epsilon`, at least 0, and C the smallest constant that then bounds every count.

    Parameters
    ----------
    problem : CellBandit
        One function on an interval.
    radius_factor : float
        :math:`\eta`.
    """
    x = np.linspace(problem.partition.lower[0], problem.partition.upper[0], 200_001)
    values = problem.evaluate(x[:, None])
    epsilons = np.geomspace(1e-3, 1.0, 25)
    counts = []
    for epsilon in epsilons:
        inside = x[values >= values.max() - epsilon]
        n, last = 0, -np.inf
        while True:
            place = int(np.searchsorted(inside, last + 2.0 * radius_factor * epsilon)) if n else 0
            if place >= len(inside):
                break
            n, last = n + 1, float(inside[place])
        counts.append(n)
    slope = float(np.polyfit(np.log(1.0 / epsilons), np.log(counts), 1)[0])
    dimension = max(slope, 0.0)
    return dimension, float(np.max(np.array(counts) * epsilons**dimension))


def event_rows(
    searches: Mapping[str, tuple[partial[Gpoo], partial[CellBandit]]], replications: int, seed: int, *, workers: int = 1
) -> pd.DataFrame:
    r"""Return, for each run on a draw of the prior, whether the event held and how far the lemmas' bounds were used.

    Parameters
    ----------
    searches : mapping of str to (partial of Gpoo, partial of prior_bandit)
        By series. The scale of :math:`\delta` is given here: the one that Assumption 3 needs for the steepest of the
        drawn functions.
    replications : int
        Functions.
    seed : int
        Seed of the project.
    workers : int
        Processes.

    Returns
    -------
    DataFrame
        ``convention, series, replication, budget, regret``; ``event_share``, the largest :math:`|\mu-\bar F|/CI_t`;
        ``optimality_share``, the largest :math:`(f^*-\bar F)/3\delta(h)` of a divided cell (Lemma 3) among those for
        which :math:`3\delta(h)` is less than f varies, and ``optimality_binds``, whether there are any;
        ``draws_share``, the largest :math:`T/(\beta_N\sigma^2/\delta(h)^2)` of a divided cell as Lemma 4 prints it, and
        ``draws_share_mended`` with one draw more; ``regret_share``, regret over :math:`3\delta` of the recommended
        depth, and ``regret_binds``, whether that is less than f varies. Shares of the lemmas are 0 in runs in which the
        event did not hold, of which they say nothing.
    """
    calls = [joblib.delayed(_event_rows)(series, *search, replications, seed) for series, search in searches.items()]
    return pd.concat(joblib.Parallel(n_jobs=max(1, min(workers, len(calls))))(calls), ignore_index=True)


def _event_rows(
    series: str, policy_of: partial[Gpoo], problem_of: partial[CellBandit], replications: int, seed: int
) -> pd.DataFrame:
    problem = problem_of(replications, seed)
    slope = float(largest_slopes(problem).max())
    policy = policy_of(delta_scale=lipschitz_scale(slope, problem.partition.n_representatives))
    streams = Streams.first(replications, seed=seed, instance=problem.label)
    observer = EventObserver(policy, problem)
    simulate(observer, problem, streams, metrics={})
    state, best = observer.state, problem.best[1]
    divided = state.status == EXPANDED
    truth = problem.cell_values(np.where(divided, state.cells, 0))
    delta = policy.delta(state.depths)
    most = policy.beta_of(state.n_rounds, 2)[:, None] * policy.noise_variance / delta**2
    recommended = policy.recommend(state)
    regret = best - problem.cell_values(recommended)[:, 0]
    held = observer.largest_share <= 1.0
    bounds, bound = 3.0 * delta, 3.0 * policy.delta(problem.partition.depth(recommended)[:, 0])
    binding = divided & (bounds < ranges(problem)[:, None])  # a larger bound holds of any cell

    def share(values: FloatArray, among: Any = divided, held: Any = held) -> FloatArray:
        return np.where(held, np.where(among, values, 0.0).max(axis=1), 0.0)

    return pd.DataFrame(
        {
            "convention": "as_written",
            "series": series,
            "replication": np.arange(replications),
            "budget": policy.budget,
            "regret": regret,
            "event_share": observer.largest_share,
            "optimality_share": share((best[:, None] - truth) / bounds, binding),
            "optimality_binds": binding.any(axis=1),
            "draws_share": share(state.draws / most),
            "draws_share_mended": share(state.draws / (most + 1.0)),
            "regret_share": np.where(held, regret / bound, 0.0),
            "regret_binds": bound < ranges(problem),
        }
    )

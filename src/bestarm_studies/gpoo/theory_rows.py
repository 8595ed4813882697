r"""The statements of GPOO's analysis, checked in runs on functions that are drawn from the prior (Assumption 1).

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Section 4, Appendix A, C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import joblib
import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import EXPANDED
from bestarm.experiments.observe import Looking
from bestarm.experiments.simulate import simulate
from bestarm.interface import FloatArray
from bestarm.policies.gpoo import Gpoo
from bestarm.policies.stooo import Stooo
from bestarm.problems.cell_bandit import CellBandit
from bestarm.streams import Streams
from bestarm_studies.gpoo.event_observer import EventObserver
from bestarm_studies.gpoo.functions import DesignedBandit

_SLOPE_POINTS = 4001


def largest_slopes(problem: CellBandit) -> FloatArray:
    """Return the largest slope of each function on [0, 1], shape (1 or R,), from differences on 4001 points."""
    x = np.linspace(0.0, 1.0, _SLOPE_POINTS)
    if problem.has_own_functions:
        n_functions = len(problem.function.weights)  # type: ignore[attr-defined]
        values = problem.evaluate(np.broadcast_to(x[:, None], (n_functions, len(x), 1)))
    else:
        values = problem.evaluate(x[:, None])[None]
    return np.asarray(np.abs(np.diff(values, axis=1)).max(axis=1) * (len(x) - 1))


def lipschitz_scale(slope: float, n_representatives: int) -> float:
    r"""Return c of :math:`\delta(h)=c2^{-h}` such that Assumption 3 holds with L = ``slope``: :math:`L(1-1/2S)`."""
    return slope * (1.0 - 0.5 / n_representatives)


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
        ``optimality_share``, the largest :math:`(f^*-\bar F)/3\delta(h)` of a divided cell (Lemma 3); ``draws_share``,
        the largest :math:`T/(\beta_N\sigma^2/\delta(h)^2)` of a divided cell as Lemma 4 prints it, and
        ``draws_share_mended`` with one draw more; ``regret_share``, regret over :math:`3\delta` of the recommended
        depth. Shares of the lemmas are 0 in runs in which the event did not hold, of which they say nothing.
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
            "optimality_share": share((best[:, None] - truth) / (3.0 * delta)),
            "draws_share": share(state.draws / most),
            "draws_share_mended": share(state.draws / (most + 1.0)),
            "regret_share": np.where(
                held, regret / (3.0 * policy.delta(problem.partition.depth(recommended)[:, 0])), 0.0
            ),
        }
    )


def mean_event_rows(
    problem: partial[DesignedBandit],
    replications: int,
    seed: int,
    *,
    policy: Stooo,
    sigmas: Sequence[float],
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return whether the event of AVE-StoOO's analysis (Lemma 5) held: every mean within its width in every round.

    Parameters
    ----------
    problem : partial
        With a setting ``sigma``.
    replications : int
        Runs.
    seed : int
        Seed of the project.
    policy : Stooo
        AVE-StoOO.
    sigmas : sequence of float
        Standard deviations of the noise; 1/2 is the sub-Gaussian scale of rewards in [0, 1], which the lemma assumes.

    Returns
    -------
    DataFrame
        ``convention, series, replication, budget, event_share``: the largest
        :math:`|\hat\mu-\bar F|/\sqrt{2\log(t^2/\theta)/T}`.
    """
    frames = []
    for sigma in sigmas:
        bandit = problem(sigma=sigma)
        largest = np.zeros(replications)

        def look(state: Any, bandit: Any = bandit, largest: Any = largest, risk: float = policy.risk) -> None:
            t = np.maximum(state.n_rounds, 1)[:, None]
            drawn = state.draws > 0
            truth = bandit.cell_values(state.cells)
            with np.errstate(divide="ignore", invalid="ignore"):
                width = np.sqrt(2.0 * np.log(t**2 / risk) / state.draws)
                share = np.abs(state.totals / state.draws - truth) / width
            np.maximum(largest, np.where(drawn, share, 0.0).max(axis=1), out=largest)

        streams = Streams.first(replications, seed=seed, instance=bandit.label)
        simulate(Looking(policy, look), bandit, streams, metrics={})
        frames.append(
            pd.DataFrame(
                {
                    "convention": "as_written",
                    "series": f"σ = {sigma:g}",
                    "replication": np.arange(replications),
                    "budget": policy.budget,
                    "event_share": largest,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)

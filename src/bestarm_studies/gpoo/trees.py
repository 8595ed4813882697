"""Trees as rows: every node at chosen rounds, the posterior of f, and how trees grow over many runs.

In a ledger: ``rows: {make: tree_rows.tree_rows, problem: ..., series: ...}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import joblib
import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import EXPANDED, LEAF
from bestarm.experiments.construct import Convention, Series, make_series
from bestarm.experiments.observe import TreeMonitor
from bestarm.experiments.simulate import simulate
from bestarm.models.cell_posterior import predict_points
from bestarm.policies.gpoo import Gpoo
from bestarm.problems.cell_bandit import CellBandit
from bestarm.streams import Streams

N_POINTS = 401  # where the posterior of f is written down


def all_series(
    problem: Mapping[str, Any],
    series: Mapping[str, Mapping[str, Any]],
    every_series: Mapping[str, Any],
    conventions: Sequence[Convention],
) -> list[Series]:
    """Return the algorithms that a ledger's ``rows`` describe, each with its problem, as for ordinary experiments."""
    return [
        one
        for convention in conventions
        for label, settings in series.items()
        for one in make_series(label, convention, {**every_series, **settings}, problem, {})
    ]


def node_rows(policy: Gpoo, problem: CellBandit, state: Any) -> pd.DataFrame:
    """Return the nodes of the first replication of a state, as they stand in this round."""
    slots = np.flatnonzero(state.status[0])
    cells, depths = state.cells[0, slots], state.depths[0, slots]
    lower, upper = problem.partition.bounds(cells)
    widths, bounds = policy.widths(state, state.n_rounds + 1)[0, slots], policy.bounds(state)[0, slots]
    return pd.DataFrame(
        {
            "kind": "node",
            "round": int(state.n_rounds[0]) + 1,
            "cell": cells,
            "depth": depths,
            "index": problem.partition.index(cells),
            "low": lower[:, 0],
            "high": upper[:, 0],
            "leaf": state.status[0, slots] == LEAF,
            "live": state.live[0, slots],
            "draws": state.draws[0, slots],
            "mean": state.means[0, slots],
            "width": widths,
            "sd": np.sqrt(np.maximum(state.variances[0, slots], 0.0)),
            "delta": policy.delta(depths),
            "bound": bounds,
            "truth": problem.cell_values(cells[None])[0],
            "chosen": slots == state.chosen[0],
        }
    )


def posterior_rows(policy: Gpoo, problem: CellBandit, state: Any) -> pd.DataFrame:
    """Return the posterior of f in the first replication on a grid of points, and what was observed."""
    x = np.linspace(problem.partition.lower[0], problem.partition.upper[0], N_POINTS)
    means, variances = predict_points(state, x[:, None])
    t = int(state.n_observed[0])
    beta = policy.beta_of(state.n_rounds, problem.partition.arity)[0]
    curve = pd.DataFrame(
        {
            "kind": "posterior",
            "low": x,
            "mean": means[0],
            "width": np.sqrt(beta * np.maximum(variances[0], 0.0)),
            "truth": problem.evaluate(x[:, None]),
        }
    )
    seen = pd.DataFrame(
        {
            "kind": "observation",
            "low": problem.partition.centres(state.observed[0, :t])[:, 0],
            "mean": state.factor[0, :t, :t] @ state.residuals[0, :t],
        }
    )
    return pd.concat([curve, seen], ignore_index=True).assign(round=int(state.n_rounds[0]) + 1)


def tree_rows(
    problem: Mapping[str, Any],
    series: Mapping[str, Mapping[str, Any]],
    replications: int,
    seed: int,
    *,
    rounds: Sequence[int],
    every_series: Mapping[str, Any] | None = None,
    conventions: Sequence[Convention] = ("as_written",),
    first: int = 0,
    posterior: bool = False,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the trees of single runs of GPOO, before the reward of chosen rounds.

    Parameters
    ----------
    problem, series, every_series, conventions
        As in the ledger's ordinary experiments.
    replications : int
        How many runs.
    seed : int
        Seed of the project.
    rounds : sequence of int
        t; N + 1 is the tree after the last reward.
    first : int
        Number of the first replication.
    posterior : bool
        Whether to add the posterior of f and the observations in these rounds.

    Returns
    -------
    DataFrame
        ``convention, series, replication``, and the columns of `node_rows` and `posterior_rows`.
    """
    frames: list[pd.DataFrame] = []
    for one in all_series(problem, series, every_series or {}, conventions):
        bandit: Any = one.problem
        for replication in range(first, first + replications):
            looked: list[pd.DataFrame] = []

            def look(state: Any, one: Series = one, found: list[pd.DataFrame] = looked, on: Any = bandit) -> None:
                if int(state.n_rounds[0]) + 1 in rounds:
                    found.append(node_rows(one.policy, on, state))  # type: ignore[arg-type]
                    if posterior:
                        found.append(posterior_rows(one.policy, on, state))  # type: ignore[arg-type]

            streams = Streams(seed, bandit.label, np.array([replication]))
            simulate(TreeMonitor(one.policy, look), bandit.take(streams.replications), streams, metrics={})
            frame = pd.concat(looked, ignore_index=True)
            frames.append(frame.assign(convention=one.convention, series=one.label, replication=replication))
    return pd.concat(frames, ignore_index=True)


def _growth_of(one: Series, replications: int, seed: int) -> pd.DataFrame:
    found: list[pd.DataFrame] = []

    def look(state: Any) -> None:
        here = np.arange(len(state.chosen)), np.maximum(state.chosen, 0)
        found.append(
            pd.DataFrame(
                {
                    "replication": state.replications,
                    "round": state.n_rounds + 1,
                    "n_leaves": (state.status == LEAF).sum(axis=1),
                    "n_divided": (state.status == EXPANDED).sum(axis=1),
                    "deepest": np.where(state.status == EXPANDED, state.depths, -1).max(axis=1),
                    "chosen_depth": state.depths[here],
                    "first_draw": state.draws[here] == 0,
                }
            )
        )

    problem: Any = one.problem
    streams = Streams(seed, problem.label, np.arange(replications))
    simulate(TreeMonitor(one.policy, look), problem.take(streams.replications), streams, metrics={})
    return pd.concat(found, ignore_index=True).assign(convention=one.convention, series=one.label)


def growth_rows(
    problem: Mapping[str, Any],
    series: Mapping[str, Mapping[str, Any]],
    replications: int,
    seed: int,
    *,
    every_series: Mapping[str, Any] | None = None,
    conventions: Sequence[Convention] = ("as_written",),
    workers: int = 1,
) -> pd.DataFrame:
    """Return how the tree of every run stands in every round: its leaves, its depth, and where the evaluation goes.

    Parameters are those of `tree_rows`. The last round's evaluation is not made: it is N + 1.
    """
    chosen = all_series(problem, series, every_series or {}, conventions)
    found = joblib.Parallel(n_jobs=max(1, min(workers, len(chosen))))(
        joblib.delayed(_growth_of)(one, replications, seed) for one in chosen
    )
    return pd.concat(found, ignore_index=True)


def pattern_rows(
    problem: Mapping[str, Any],
    series: Mapping[str, Mapping[str, Any]],
    replications: int,
    seed: int,
    *,
    budgets: Sequence[int],
    width: float,
    every_series: Mapping[str, Any] | None = None,
    conventions: Sequence[Convention] = ("as_written",),
    workers: int = 1,
) -> pd.DataFrame:
    """Return how far the model's mean lies from f, and from f smoothed by a box, after some evaluations.

    Parameters
    ----------
    budgets : sequence of int
        After how many evaluations.
    width : float
        Of the box that smooths f; it is cut at the ends of the interval.

    Returns
    -------
    DataFrame
        ``convention, series, replication, budget``, and the root mean squared errors ``error`` and ``smoothed_error``
        on 500 points.
    """
    chosen = all_series(problem, series, every_series or {}, conventions)
    found = joblib.Parallel(n_jobs=max(1, min(workers, len(chosen))))(
        joblib.delayed(_pattern_of)(one, replications, seed, budgets, width) for one in chosen
    )
    return pd.concat(found, ignore_index=True)


def _pattern_of(one: Series, replications: int, seed: int, budgets: Sequence[int], width: float) -> pd.DataFrame:
    frames: list[pd.DataFrame] = []
    bandit: Any = one.problem
    x = np.linspace(bandit.partition.lower[0], bandit.partition.upper[0], 500)
    truth = bandit.evaluate(x[:, None])
    low = np.maximum(x - width / 2, bandit.partition.lower[0])
    high = np.minimum(x + width / 2, bandit.partition.upper[0])
    smooth = bandit.function.average(low[:, None], high[:, None])

    def look(state: Any) -> None:
        if int(state.n_rounds[0]) in budgets:
            means, _ = predict_points(state, x[:, None])
            frames.append(
                pd.DataFrame(
                    {
                        "replication": state.replications,
                        "budget": int(state.n_rounds[0]),
                        "error": np.sqrt(((means - truth) ** 2).mean(axis=1)),
                        "smoothed_error": np.sqrt(((means - smooth) ** 2).mean(axis=1)),
                    }
                )
            )

    streams = Streams(seed, bandit.label, np.arange(replications))
    simulate(TreeMonitor(one.policy, look), bandit.take(streams.replications), streams, metrics={})
    return pd.concat(frames, ignore_index=True).assign(convention=one.convention, series=one.label)

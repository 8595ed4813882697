"""Trees as rows: every node at chosen rounds, the posterior of f, and how trees grow over many runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib
import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import EXPANDED, LEAF
from bestarm.models.cell_posterior import predict_points
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.experiments.watched import Seen, watched
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.functions import DesignedBandit

N_POINTS = 401  # where the posterior of f is written down

Searches = Mapping[str, tuple[Gpoo, partial[DesignedBandit]]]


@dataclass(frozen=True)
class Search:
    """One series of one convention: a policy and the problem that it searches."""

    convention: str
    series: str
    policy: Gpoo
    problem: CellBandit

    def watched(
        self, look: Callable[[Any, Any], Seen], replications: int | Sequence[int], seed: int, block: int | None = None
    ) -> pd.DataFrame:
        """Return what is seen in every round of the search, with its names."""
        seen = watched(self.policy, self.problem, look, replications, seed=seed, block=block)
        return seen.assign(convention=self.convention, series=self.series)


def all_searches(searches: Searches, conventions: Sequence[str]) -> list[Search]:
    """Return every series under every convention, with the deviations of the authors' code where it is theirs."""
    return [
        Search(convention, name, policy.as_coded(), problem().as_coded())
        if convention == "as_coded"
        else Search(convention, name, policy, problem())
        for convention in conventions
        for name, (policy, problem) in searches.items()
    ]


def of_all(
    found: Callable[..., pd.DataFrame], searches: Searches, conventions: Sequence[str], workers: int, *given: Any
) -> pd.DataFrame:
    """Return what a function finds of each search."""
    chosen = all_searches(searches, conventions)
    parallel = joblib.Parallel(n_jobs=max(1, min(workers, len(chosen))))
    return pd.concat(parallel(joblib.delayed(found)(search, *given) for search in chosen), ignore_index=True)


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
    searches: Searches,
    replications: int,
    seed: int,
    *,
    rounds: Sequence[int],
    conventions: Sequence[str] = ("as_written",),
    first: int = 0,
    posterior: bool = False,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the trees of single runs of GPOO, before the reward of chosen rounds.

    Parameters
    ----------
    searches : mapping of str to (Gpoo, partial of a problem)
        By series.
    replications : int
        How many runs.
    seed : int
        Seed of the project.
    rounds : sequence of int
        t; N + 1 is the tree after the last reward.
    conventions : sequence of {"as_written", "as_coded"}
        Whose algorithms and functions.
    first : int
        Number of the first replication.
    posterior : bool
        Whether to add the posterior of f and the observations in these rounds.
    workers : int
        Processes.

    Returns
    -------
    DataFrame
        ``convention, series, replication``, and the columns of `node_rows` and `posterior_rows`.
    """
    return of_all(
        _trees_of, searches, conventions, workers, range(first, first + replications), seed, rounds, posterior
    )


def _trees_of(
    search: Search, replications: Sequence[int], seed: int, rounds: Sequence[int], posterior: bool
) -> pd.DataFrame:
    def look(state: Any, problem: CellBandit) -> pd.DataFrame | None:
        if int(state.n_rounds[0]) + 1 not in rounds:
            return None
        found = [node_rows(search.policy, problem, state)]
        if posterior:
            found.append(posterior_rows(search.policy, problem, state))
        return pd.concat(found, ignore_index=True).assign(replication=int(state.replications[0]))

    return search.watched(look, replications, seed, block=1)


def growth_rows(
    searches: Searches,
    replications: int,
    seed: int,
    *,
    conventions: Sequence[str] = ("as_written",),
    workers: int = 1,
) -> pd.DataFrame:
    """Return how the tree of every run stands in every round: its leaves, its depth, and where the evaluation goes.

    Parameters are those of `tree_rows`. The last round's evaluation is not made: it is N + 1.
    """
    return of_all(_growth_of, searches, conventions, workers, replications, seed)


def _growth_of(search: Search, replications: int, seed: int) -> pd.DataFrame:
    def look(state: Any, problem: CellBandit) -> dict[str, Any]:
        here = np.arange(len(state.chosen)), np.maximum(state.chosen, 0)
        return {
            "replication": state.replications,
            "round": state.n_rounds + 1,
            "n_leaves": (state.status == LEAF).sum(axis=1),
            "n_divided": (state.status == EXPANDED).sum(axis=1),
            "deepest": np.where(state.status == EXPANDED, state.depths, -1).max(axis=1),
            "chosen_depth": state.depths[here],
            "first_draw": state.draws[here] == 0,
        }

    return search.watched(look, replications, seed)


def pattern_rows(
    searches: Searches,
    replications: int,
    seed: int,
    *,
    budgets: Sequence[int],
    width: float,
    conventions: Sequence[str] = ("as_written",),
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
    return of_all(_pattern_of, searches, conventions, workers, replications, seed, budgets, width)


def _pattern_of(search: Search, replications: int, seed: int, budgets: Sequence[int], width: float) -> pd.DataFrame:
    bandit: Any = search.problem
    x = np.linspace(bandit.partition.lower[0], bandit.partition.upper[0], 500)
    truth = bandit.evaluate(x[:, None])
    low = np.maximum(x - width / 2, bandit.partition.lower[0])
    high = np.minimum(x + width / 2, bandit.partition.upper[0])
    smooth = bandit.function.average(low[:, None], high[:, None])

    def look(state: Any, problem: CellBandit) -> dict[str, Any] | None:
        if int(state.n_rounds[0]) not in budgets:
            return None
        means, _ = predict_points(state, x[:, None])
        return {
            "replication": state.replications,
            "budget": int(state.n_rounds[0]),
            "error": np.sqrt(((means - truth) ** 2).mean(axis=1)),
            "smoothed_error": np.sqrt(((means - smooth) ** 2).mean(axis=1)),
        }

    return search.watched(look, replications, seed)

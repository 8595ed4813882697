r"""Runs of GPOO behind exact statements: single feedback as a special case, the Lipschitz envelope, and the cost.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Section 2, Figure 2,
   Remark 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import LEAF
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.experiments.watched import watched
from bestarm_studies.gpoo.functions import DesignedBandit
from bestarm_studies.gpoo.theory_rows import largest_slopes


def single_feedback_rows(
    problem: partial[DesignedBandit], replications: int, seed: int, *, policy: Gpoo, workers: int = 1
) -> pd.DataFrame:
    """Return how far the means of all live cells are from ordinary regression at the centres, round by round.

    Parameters
    ----------
    problem : partial
        One function, with one representative of each cell.
    replications : int
        Runs; the first is compared.
    seed : int
        Seed of the project.
    policy : Gpoo
        What searches.

    Returns
    -------
    DataFrame
        ``replication, round``, and ``difference``, the largest of a cell.
    """

    def look(state: Any, bandit: DesignedBandit) -> dict[str, list[Any]] | None:
        t = int(state.n_observed[0])
        if t == 0:
            return None
        seen = bandit.partition.centres(state.observed[0, :t])
        rewards = state.factor[0, :t, :t] @ state.residuals[0, :t]
        live = np.flatnonzero(state.live[0])
        x = bandit.partition.centres(state.cells[0, live])
        gram = policy.kernel.K(seen) + policy.noise_variance * np.eye(t)
        means = policy.kernel.K(x, seen) @ np.linalg.solve(gram, rewards)
        return {"replication": [0], "round": [t], "difference": [np.abs(means - state.means[0, live]).max()]}

    return watched(policy, problem(), look, replications, seed=seed)


def envelope_rows(
    problem: partial[DesignedBandit],
    replications: int,
    seed: int,
    *,
    policy: Gpoo,
    sizes: Sequence[int],
    workers: int = 1,
) -> pd.DataFrame:
    """Return of how many leaves of each run the Lipschitz envelope exceeds the b-value.

    Parameters
    ----------
    problem : partial
        One function, with a setting ``n_representatives``.
    replications : int
        Runs.
    seed : int
        Seed of the project.
    policy : Gpoo
        What searches.
    sizes : sequence of int
        S, one series each.

    Returns
    -------
    DataFrame
        ``series, replication``; ``leaves``, those of all rounds whose average is in its interval, and ``beyond``, how
        many of them have an envelope above b.
    """
    found = [_envelopes_of(problem(n_representatives=size), policy, replications, seed) for size in sizes]
    names = [f"S = {size}" for size in sizes]
    return pd.concat([rows.assign(series=name) for name, rows in zip(names, found, strict=True)], ignore_index=True)


def _envelopes_of(bandit: DesignedBandit, policy: Gpoo, replications: int, seed: int) -> pd.DataFrame:
    slope = float(largest_slopes(bandit)[0])

    def look(state: Any, bandit: DesignedBandit) -> dict[str, Any]:
        rows, slots = np.nonzero(state.status == LEAF)
        cells = state.cells[rows, slots]
        lower, upper = bandit.partition.bounds(cells)
        points = bandit.partition.representatives(cells)[..., 0]
        x = lower + (upper - lower) * np.linspace(0.0, 1.0, 41)
        values = bandit.evaluate(points[..., None])
        bound = (values[:, None, :] + slope * np.abs(x[:, :, None] - points[:, None, :])).min(axis=2).max(axis=1)
        widths = policy.widths(state, state.n_rounds + 1)[rows, slots]
        inside = np.abs(state.means[rows, slots] - values.mean(axis=1)) <= widths
        beyond = inside & (bound > policy.bounds(state)[rows, slots] + 1e-9)
        n = len(state.replications)
        counts = {name: np.bincount(rows[of], minlength=n) for name, of in (("leaves", inside), ("beyond", beyond))}
        return {"replication": state.replications, **counts}

    return watched(policy, bandit, look, replications, seed=seed).groupby("replication", as_index=False).sum()


def cost_rows(
    problem: partial[DesignedBandit], replications: int, seed: int, *, budgets: Sequence[int], workers: int = 1
) -> pd.DataFrame:
    """Return the multiplications of whole runs of GPOO, counted and not timed.

    Parameters
    ----------
    problem : partial
        One function.
    replications : int
        Runs; the first is counted.
    seed : int
        Seed of the project.
    budgets : sequence of int
        N.

    Returns
    -------
    DataFrame
        ``replication, budget, multiplications``.
    """

    def look(state: Any, bandit: DesignedBandit) -> dict[str, list[int]]:
        t = int(state.n_observed[0])
        fresh = int((state.live[0] & (state.draws[0] == 0)).sum())
        # every live node takes one inner product; a division, two forward substitutions
        total = int(state.live[0].sum()) * t + (2 * t * t // 2 if fresh else 0)
        return {"replication": [0], "multiplications": [total]}

    runs = [watched(Gpoo("GPOO", budget), problem(), look, replications, seed=seed).sum() for budget in budgets]
    counts = [int(run["multiplications"]) for run in runs]
    return pd.DataFrame({"replication": 0, "budget": list(budgets), "multiplications": counts})

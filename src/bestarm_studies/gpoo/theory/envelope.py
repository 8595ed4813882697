"""The Lipschitz envelope of leaves below their b-values (Figure 2, caption)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import LEAF
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_studies.gpoo.checks import Rows, Test
from bestarm_studies.gpoo.functions import DesignedBandit
from bestarm_studies.gpoo.theory.assumptions import largest_slopes


def envelope_rows(
    problem: partial[DesignedBandit],
    replications: int,
    seed: int,
    *,
    policy: Gpoo,
    sizes: Sequence[int],
    workers: int = 1,
) -> pd.DataFrame:
    """Return of how many leaves of each run the Lipschitz envelope exceeds the b-value."""
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


def envelope(test: Test, rows: Rows) -> Decision:
    """Check that b-values lie above the Lipschitz envelope of every leaf whose average is in its interval."""
    (name,) = test["experiments"]
    runs, (beyond, leaves) = len(rows[name]), rows[name][["beyond", "leaves"]].sum()
    text = f"{beyond} of {leaves} leaves of {runs} runs have an envelope above b"
    return Decision(bool(beyond == 0), text, informative=bool(leaves > 0), checked=f"{leaves:,} leaves of {runs} runs")

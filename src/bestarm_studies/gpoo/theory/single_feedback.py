"""Single feedback as a special case: with S = 1 GPOO has the posterior of ordinary regression."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_studies.gpoo.checks import Rows, Test
from bestarm_studies.gpoo.functions import DesignedBandit


def single_feedback_rows(
    problem: partial[DesignedBandit], replications: int, seed: int, *, policy: Gpoo, workers: int = 1
) -> pd.DataFrame:
    """Return how far the means of all live cells are from ordinary regression at the centres, round by round."""

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


def single_feedback(test: Test, rows: Rows) -> Decision:
    """Check that with S = 1 the posterior is that of ordinary Gaussian process regression at the centres of cells."""
    (name,) = test["experiments"]
    largest = float(rows[name]["difference"].max())
    return Decision(largest < 1e-8, f"means differ by at most {largest:.1e} over {len(rows[name])} rounds")

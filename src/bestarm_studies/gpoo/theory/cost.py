"""The cost of a run in multiplications (Remark 2)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_studies.gpoo.checks import Rows, Test
from bestarm_studies.gpoo.functions import DesignedBandit


def cost_rows(
    problem: partial[DesignedBandit], replications: int, seed: int, *, budgets: Sequence[int], workers: int = 1
) -> pd.DataFrame:
    """Return the multiplications of whole runs of GPOO, counted and not timed.
    Of the first run of each of the ``budgets`` N."""

    def look(state: Any, bandit: DesignedBandit) -> dict[str, list[int]]:
        t = int(state.n_observed[0])
        fresh = int((state.live[0] & (state.draws[0] == 0)).sum())
        # every live node takes one inner product; a division, two forward substitutions
        total = int(state.live[0].sum()) * t + (2 * t * t // 2 if fresh else 0)
        return {"replication": [0], "multiplications": [total]}

    runs = [watched(Gpoo("GPOO", budget), problem(), look, replications, seed=seed).sum() for budget in budgets]
    counts = [int(run["multiplications"]) for run in runs]
    return pd.DataFrame({"replication": 0, "budget": list(budgets), "multiplications": counts})


def cost(test: Test, rows: Rows) -> Decision:
    """Check that multiplications grow at most like N to the printed power: counted, not timed."""
    (name,) = test["experiments"]
    budgets, counts = (rows[name][column].to_numpy() for column in ("budget", "multiplications"))
    slope = float(np.polyfit(np.log(budgets), np.log(counts), 1)[0])
    text = f"multiplications grow like N^{slope:.2f} for N = {budgets[0]} to {budgets[-1]}"
    return Decision(slope <= test["power"], text)

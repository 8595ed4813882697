r"""The chain rule of Section 3.2: sums of :math:`\log(1+\sigma_{t-1,b}^2/\sigma^2)` beside log determinants."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.gp_state import BatchGPState
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.watched import watched
from bestarm_studies.dpp_bbo.asked_batch import dpp_kernel, hallucinated
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.gp_draws import kernel_matrix
from bestarm_studies.dpp_bbo.values import ROUNDING, Rows, Test


def chain_rule_rows(
    policy: BatchGP, problem: partial[CandidateArms], replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return how far sums of :math:`\log(1+\sigma_{t-1,b}^2/\sigma^2)` are from log determinants, batch by batch.
    ``batch_error`` has the arms of the batch in a random order; ``run_error`` all arms of the run so far; ``misprint``
    is that of the batch with the standard deviation where the variance is meant."""
    functions, generator = problem(replications=replications), np.random.default_rng(0)
    prior = kernel_matrix(functions.features, float(np.ravel(policy.model.lengthscale)[0]))

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch, lines = hallucinated(state), []
        if not batch:
            return None
        first, last = batch.start, batch.stop
        for r, replication in enumerate(state.replications):
            gains = state.pivots[r, :last] ** 2 / state.noise[r]
            arms = generator.permutation(state.conditioned[r, first + 1 : last])
            of_batch = np.log(gains[first]) + np.linalg.slogdet(dpp_kernel(state, r, arms))[1]
            every = state.conditioned[r, :last]
            whole = np.linalg.slogdet(np.eye(last) + prior[np.ix_(every, every)] / state.noise[r])[1]
            deviations = np.sqrt((gains[first:] - 1.0) * state.noise[r])
            printed = float(np.log1p(deviations / state.noise[r]).sum())
            errors = {
                "batch_error": abs(np.log(gains[first:]).sum() - of_batch),
                "run_error": abs(np.log(gains).sum() - whole),
                "misprint": abs(printed - of_batch),
            }
            lines.append({"replication": int(replication), "batch": state.round} | errors)
        return lines

    return watched(policy, functions, look, replications, seed=seed)


def chain_rule(test: Test, rows: Rows) -> Decision:
    """Check the sums of log(1 + variance / noise) against determinants: of every batch, in any order, and of a run."""
    (name,) = test["experiments"]
    mine = rows[name]
    largest, misprint = float(mine[["batch_error", "run_error"]].max().max()), float(mine["misprint"].max())
    text = f"equal to {largest:.0e} in {len(mine)} batches; with σ for σ², as printed, up to {misprint:.1f} off"
    return Decision(largest < ROUNDING * 100, text, informative=len(mine) > 0, checked=f"{len(mine)} batches")


CHECKS = {"chain_rule": Check(chain_rule, {"experiments": "experiments"})}

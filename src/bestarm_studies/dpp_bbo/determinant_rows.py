r"""Determinants of the batches of searches on drawn functions: gains of pure exploration, and sums over a run.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Section 3.2.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.gp_state import BatchGPState
from bestarm_lab.experiments.watched import watched
from bestarm_studies.dpp_bbo.asked_batch import dpp_kernel, hallucinated, relevance_regions
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.gp_draws import kernel_matrix


def exploration_rows(
    policy: BatchGP, problem: partial[CandidateArms], replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return, for each batch of pure exploration, whether its arms are those of greedy maximisation.

    The DPP kernel is formed from the prior, and has :math:`1+\sigma_{t-1}^2/\sigma^2` as the gain of an arm.

    Parameters
    ----------
    policy : BatchGP
        Pure exploration in the relevance region.
    problem : partial of gp_draw_instance
        Functions.
    replications : int
        Functions that are searched.

    Returns
    -------
    DataFrame
        ``replication, batch``; ``repeats``, whether an arm is asked for twice, as a subset cannot be; if not,
        ``gain_error``, the largest difference of a gain over 1 + variance / noise from 1, and ``beyond``, by how much
        the largest gain of an arm that is not in the batch yet exceeds that of the arm taken, relatively.
    """

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch, lines = hallucinated(state), []
        if not batch:
            return None
        first, last = batch.start, batch.stop
        inside = relevance_regions(policy, state)
        for r, replication in enumerate(state.replications):
            region, arms = np.flatnonzero(inside[r]), state.conditioned[r, first + 1 : last]
            line = {"replication": int(replication), "batch": state.round, "gain_error": np.nan, "beyond": np.nan}
            lines.append(line | {"repeats": len(set(arms)) < len(arms)})
            if lines[-1]["repeats"]:
                continue
            kernel, places = dpp_kernel(state, r, region), np.searchsorted(region, arms)
            gains, taken = np.diagonal(kernel).copy(), np.zeros((0, len(region)))
            errors, beyond = [], []
            for b, place in enumerate(places):
                gain = state.pivots[r, first + 1 + b] ** 2 / state.noise[r]
                errors.append(abs(gains[place] / gain - 1.0))
                beyond.append(float(np.delete(gains, places[:b]).max() / gain - 1.0))
                row = (kernel[place] - taken[:, place] @ taken) / np.sqrt(gains[place])
                taken, gains = np.vstack([taken, row]), gains - row**2
            lines[-1] |= {"gain_error": max(errors), "beyond": max(beyond)}
        return lines

    return watched(policy, problem(replications=replications), look, replications, seed=seed)


def chain_rule_rows(
    policy: BatchGP, problem: partial[CandidateArms], replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return how far sums of :math:`\log(1+\sigma_{t-1,b}^2/\sigma^2)` are from log determinants, batch by batch.

    Parameters
    ----------
    policy : BatchGP
        Whose batches are k-DPP samples.
    problem : partial of gp_draw_instance
        Functions.
    replications : int
        Functions that are searched.

    Returns
    -------
    DataFrame
        ``replication, batch``; ``batch_error``, with the arms of the batch in a random order; ``run_error``, with all
        arms of the run so far; ``misprint``, of the batch with the standard deviation where the variance is meant.
    """
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

r"""Rows on single batches, in searches of functions drawn from the model: intervals, entropies, estimated maxima.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Sections 2.1 and 3.3, appendix.
.. [2] Desautels, Krause, Burdick. "Parallelizing Exploration-Exploitation Tradeoffs in Gaussian Process Bandit
   Optimization". JMLR 2014.
.. [3] Wang, Zhou, Jegelka. "Optimization as Estimation with Gaussian Processes in Bandit Settings". AISTATS 2016.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.k_dpp import greedy_map, log_determinants
from bestarm.designs.k_dpp_exact import log_elementary
from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.gp_acquisition import maximum_by_approximation, maximum_by_integral, ucb_width
from bestarm.policies.gp_state import BatchGPState
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.experiments.watched import watched
from bestarm_studies.dpp_bbo.asked_batch import before_batch, dpp_kernel, hallucinated, relevance_regions
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.event_rows import BLOCK, blocks
from bestarm_studies.dpp_bbo.gp_draws import kernel_root


@dataclass
class BatchIntervals(Observed):
    r"""GP-BUCB under observation: its intervals at every position of a batch, and those with rewards at once.

    GP-BUCB's interval at position b is :math:`\mu_{fb}\pm\beta_t^{1/2}\sigma_{t-1}` with the deviation given all arms
    before. If the rewards of these arms came at once, the mean would move with them, and the deviation would be the
    same.

    Parameters
    ----------
    policy : BatchGP
        GP-BUCB.
    truth : ndarray, shape (R, n_arms)
        Values of f.

    Attributes
    ----------
    found : list of dict
        For each batch, position and mean: arrays of shape (R,).
    """

    truth: FloatArray
    found: list[dict[str, Any]] = field(default_factory=list)

    def start(self, arms: Arms, streams: Streams) -> BatchGPState:
        """Start the policy."""
        self.found.clear()
        state: BatchGPState = super().start(arms, streams)
        return state

    def tell(self, state: BatchGPState, asked: Ask, totals: FloatArray) -> None:
        """Note the intervals that the batch was chosen by, and let the policy learn."""
        batch = hallucinated(state)
        if batch:
            self._note(state, asked.arms, totals, batch.start)
        super().tell(state, asked, totals)

    def _note(self, state: BatchGPState, arms: IntArray, totals: FloatArray, first: int) -> None:
        means, size, bound = state.means, arms.shape[1], self.policy.acquisition
        variances = before_batch(state)
        start, at_once = np.sqrt(variances), means.copy()
        for b in range(size):
            deviations = np.sqrt(np.maximum(variances, 0.0))
            t = (state.round - 1) * size + b + 1
            width = ucb_width(len(means[0]), t, bound.delta, bound.beta_scale)
            for name, mean in (("GP-BUCB", means), ("rewards at once", at_once)):
                error = np.abs(self.truth - mean) / deviations
                self.found.append(
                    {
                        "series": name,
                        "position": b + 1,
                        "outside": (error > width).mean(axis=1),
                        "missed": (error > width).any(axis=1),
                        "squared": (error**2).mean(axis=1),
                        "inflation": (start / deviations).max(axis=1),
                    }
                )
            row, pivot = state.rows[:, first + b], state.pivots[:, first + b]
            gain = (totals[:, b] - np.take_along_axis(at_once, arms[:, b : b + 1], axis=1)[:, 0]) / pivot
            at_once += gain[:, None] * row
            variances = variances - row**2


def coverage_rows(
    problem: partial[CandidateArms],
    replications: int,
    searches: Mapping[int, BatchGP],
    *,
    seed: int = 0,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return how often GP-BUCB's intervals miss f, by position in the batch, beside those with rewards at once.

    Parameters
    ----------
    problem : partial of gp_draw_instance
        Functions.
    replications : int
        Functions that are searched.
    searches : mapping of int to BatchGP
        GP-BUCB by size of the batch.

    Returns
    -------
    DataFrame
        ``convention, series, replication, batch, position``; means over the batches of a run: ``outside``, the share of
        arms whose f is out of its interval; ``missed``, the share of batches with such an arm; ``squared``, the mean
        of :math:`((f-\mu)/\sigma)^2`, 1 for a right posterior; ``inflation``, the largest
        :math:`\sigma_{fb}/\sigma_{t-1}` of an arm, which is :math:`e^C` with the C of [2]_.
    """
    functions = problem(replications=replications)
    frames = []
    for size, policy in searches.items():
        for part, streams in blocks(functions, replications, seed):
            observer = BatchIntervals(policy, part.means)
            simulate(observer, part, streams, metrics={})
            lines = [pd.DataFrame({"replication": streams.replications} | found) for found in observer.found]
            every = pd.concat(lines, ignore_index=True)
            means = every.groupby(["series", "replication", "position"], sort=False).mean().astype(np.float32)
            frames.append(means.reset_index().assign(batch=size))
    return pd.concat(frames, ignore_index=True).assign(convention="as_written")


def entropy_rows(
    policy: BatchGP, problem: partial[CandidateArms], replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return the terms of Theorem 3.4 in every batch of a search that samples its batches.

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
        ``convention, series, replication, batch``; ``region``, its points; ``log_z``, :math:`\log\sum_S\det L_S` by
        the eigenvalues of the kernel; ``log_det`` of the sampled set, so that ``log_z - log_det`` has the mean H;
        ``greedy``, log determinant of the greedy set; ``first``, :math:`\log(1+\sigma^{-2}\sigma_{t-1}^2(x_{t,1}))`;
        ``regret`` of the batch.
    """
    k = policy.batch - 1

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch = hallucinated(state)
        if not batch:
            return None
        inside, best, lines = relevance_regions(policy, state), part.means.max(axis=1), []
        for r, replication in enumerate(state.replications):
            region = np.flatnonzero(inside[r])
            kernel = dpp_kernel(state, r, region)
            log_z = greedy = np.nan
            if len(region) >= k:
                log_z = float(log_elementary(np.maximum(np.linalg.eigvalsh(kernel), 1.0), k)[k])
                greedy = float(log_determinants(kernel, greedy_map(kernel, k)[0]))
            arms = state.conditioned[r, batch.start : batch.stop]
            lines.append(
                {
                    "replication": int(replication),
                    "batch": state.round,
                    "region": len(region),
                    "log_z": log_z,
                    "log_det": float(state.log[r, 4]),
                    "greedy": greedy,
                    "first": float(2.0 * np.log(state.pivots[r, batch.start]) - np.log(state.noise[r])),
                    "regret": float((best[r] - part.means[r, arms]).sum()),
                }
            )
        return lines

    functions = problem(replications=replications)
    seen = watched(policy, functions, look, replications, seed=seed, block=BLOCK)
    return seen.assign(convention="as_written", series=policy.label)


def maximum_rows(
    policy: BatchGP,
    problem: partial[CandidateArms],
    replications: int,
    batches: Sequence[int],
    n_draws: int,
    *,
    seed: int = 0,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return both estimates of the maximum, before they are kept above the means, beside that of joint draws.

    Draws from the posterior are draws from the prior, moved by what they would have predicted wrongly of the rewards
    (Matheron). By Slepian's inequality ESTn is at least the mean of their maximum.

    Parameters
    ----------
    policy : BatchGP
        Whose searches make the posteriors.
    problem : partial of gp_draw_instance
        Functions.
    replications : int
        Functions that are searched.
    batches : sequence of int
        Before which batches, from 1.
    n_draws : int
        Joint draws from each posterior.

    Returns
    -------
    DataFrame
        ``convention, series`` (ESTa, ESTn), ``replication, batch``; ``estimate``; ``joint``, the mean of the maximum of
        joint draws, and ``error``, its standard error; ``maximum`` of f; ``largest_mean``; ``best``, the largest
        reward.
    """
    functions = problem(replications=replications)
    x = functions.features
    root = kernel_root(x, float(np.ravel(policy.model.lengthscale)[0]))

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch = hallucinated(state)
        if state.round not in batches or not batch:
            return None
        n, lines = batch.start, []
        deviations, means = np.sqrt(before_batch(state)), state.means
        for r, replication in enumerate(state.replications):
            generator = np.random.default_rng([seed, int(replication), state.round])
            draws = generator.standard_normal((n_draws, len(x))) @ root.T
            noise = np.sqrt(state.noise[r]) * generator.standard_normal((n_draws, n))
            for t in range(n):
                missed = state.rewards[r, t] - noise[:, t] - draws[:, state.conditioned[r, t]]
                draws += (missed / state.pivots[r, t])[:, None] * state.rows[r, t]
            tops, best = draws.max(axis=1), float(state.rewards[r, :n].max())
            known = {
                "replication": int(replication),
                "batch": state.round,
                "joint": float(tops.mean()),
                "error": float(tops.std(ddof=1) / np.sqrt(n_draws)),
                "maximum": float(part.means[r].max()),
                "largest_mean": float(means[r].max()),
                "best": best,
            }
            approximate = maximum_by_approximation(means[r], deviations[r], best)
            integral = maximum_by_integral(means[r], deviations[r], best)
            lines.append({"series": "ESTa", "estimate": approximate} | known)
            lines.append({"series": "ESTn", "estimate": integral} | known)
        return lines

    return watched(policy, functions, look, replications, seed=seed, block=BLOCK).assign(convention="as_written")

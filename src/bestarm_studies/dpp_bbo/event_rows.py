r"""Rows on the events of the DPP-BBO paper's proofs, batch by batch, for functions drawn from the model.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Sections 2 and 3, appendix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import joblib
import numpy as np
import pandas as pd

from bestarm.interface import BoolArray, FloatArray
from bestarm.observe import Looking
from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.batch_rules import EstimatedMaximum, KDpp, UpperBound
from bestarm.policies.gp_state import BatchGPState
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo.asked_batch import before_batch, hallucinated, relevance_regions
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.theory import zeta

BLOCK = 125  # replications that are searched together; the rows do not depend on it
_DELTA = UpperBound().delta  # of the analysis of EST, whose width has none
_ROUNDING = 1e-9


def blocks(problem: CandidateArms, replications: int, seed: int) -> Iterator[tuple[CandidateArms, Streams]]:
    """Yield parts of a problem with their random numbers."""
    for start in range(0, replications, BLOCK):
        rows = np.arange(start, min(start + BLOCK, replications))
        yield problem.take(rows), Streams(seed, problem.label, rows)


@dataclass
class Batches:
    r"""What was seen of all batches of a search; arrays have shape (R, T) or, one entry for each arm, (R, T, B).

    Attributes
    ----------
    deviation : list of ndarray
        :math:`\sigma_{t-1,b}(x_{t,b})`, given the known rewards and the arms of the batch before it.
    regret : list of ndarray
        :math:`r_{t,b}`.
    width, maximum : list of ndarray
        :math:`\beta_t^{1/2}` and the estimate of the maximum.
    error : list of ndarray
        The largest :math:`|f-\mu_{t-1}|/(\beta_t^{1/2}\sigma_{t-1})` of an arm.
    repeated : list of ndarray
        Whether an arm occurs twice in the batch.
    optimum_inside, next_inside : list of ndarray
        Whether the relevance region has the best arm, and the first arm of the next batch.
    """

    deviation: list[FloatArray] = field(default_factory=list)
    regret: list[FloatArray] = field(default_factory=list)
    width: list[FloatArray] = field(default_factory=list)
    maximum: list[FloatArray] = field(default_factory=list)
    error: list[FloatArray] = field(default_factory=list)
    repeated: list[BoolArray] = field(default_factory=list)
    optimum_inside: list[BoolArray] = field(default_factory=list)
    next_inside: list[BoolArray] = field(default_factory=list)
    region: BoolArray | None = None


def watch(policy: BatchGP, problem: CandidateArms, streams: Streams) -> tuple[Batches, BatchGPState]:
    """Return what was seen of the batches of a search, and its last state."""
    seen, truth = Batches(), problem.means
    states: list[BatchGPState] = []
    best, every = truth.max(axis=1), np.arange(len(truth))

    def look(state: BatchGPState) -> None:
        states[:] = [state]
        batch = hallucinated(state)
        if not batch:
            return
        deviations, means, width = np.sqrt(before_batch(state)), state.means, state.log[:, 0]
        arms = state.conditioned[:, batch.start : batch.stop]
        variances = state.pivots[:, batch.start : batch.stop] ** 2 - state.noise[:, None]
        seen.deviation.append(np.sqrt(np.maximum(variances, 0.0)))
        seen.regret.append(best[:, None] - np.take_along_axis(truth, arms, axis=1))
        seen.width.append(width.copy())
        seen.maximum.append(state.log[:, 1].copy())
        seen.error.append((np.abs(truth - means) / (width[:, None] * deviations)).max(axis=1))
        seen.repeated.append((np.diff(np.sort(arms, axis=1), axis=1) == 0).any(axis=1))
        if isinstance(policy.rule, KDpp):
            if seen.region is not None:
                seen.next_inside.append(seen.region[every, arms[:, 0]])
            seen.region = relevance_regions(policy, state)
            seen.optimum_inside.append(seen.region[every, truth.argmax(axis=1)])

    simulate(Looking(policy, look), problem, streams, metrics={})
    return seen, states[0]


def lemma_rows(
    searches: Mapping[str, BatchGP],
    problem: partial[CandidateArms],
    replications: int,
    *,
    seed: int = 0,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return, for each run on a draw of the model, whether the statements of the analysis held.

    Parameters
    ----------
    searches : mapping of str to BatchGP
        By series, with known hyper-parameters.
    problem : partial of gp_draw_instance
        Functions.
    replications : int
        Functions that are searched.

    Returns
    -------
    DataFrame
        ``convention, series, replication`` and

        ``regret``, the full cumulative regret of the T batches; ``trivial``, what it would be with the worst arm in
        every place; ``information``, :math:`\frac12\sum\log(1+\sigma^{-2}\sigma_{t-1,b}^2)` of all evaluations;
        ``lemma_6_6``, the sum of variances over its bound with that information.

        ``lemma_6_4``, share of t < T and b > 1 with :math:`\sigma_t(x_{t+1,1})>\sigma_{t-1,b}(x_{t,b})`;
        ``lemma_6_5`` and ``lemma_6_7``, the left side of these inequalities over the right one.

        ``section_3_2``, share of batches with :math:`\sum_br_{t,b}>\sum_b\sigma_{t-1,b}^2`; ``step``, share of
        evaluations b > 1 with :math:`r_{t,b}>\eta^{1/2}\sigma_{t-1,b}(x_{t,b})`, where :math:`\eta^{1/2}` is
        :math:`2\beta_T^{1/2}` for UCB and :math:`\beta_{t^*}^{1/2}+\zeta_{TB}^{1/2}` for EST; ``step_summed``, the
        sum of all regrets over that of :math:`\eta^{1/2}\sigma_{t-1,b}`.

        ``width``, :math:`\beta_{t^*}^{1/2}`; ``event_share`` of UCB, the largest
        :math:`|f-\mu_{t-1}|/(\beta_t^{1/2}\sigma_{t-1})` of any arm and batch; ``above`` of EST, share of batches whose
        estimate of the maximum is at least the maximum, and ``always_above``, whether all are.

        ``repeated``, share of batches in which an arm occurs twice; ``optimum_outside`` and ``next_outside``, shares
        of batches whose relevance region lacks the best arm, or the first arm of the next batch. NaN where a search has
        no such thing.
    """
    functions = problem(replications=replications)
    calls = [
        joblib.delayed(_lemma_block)(series, policy, *part)
        for series, policy in searches.items()
        for part in blocks(functions, replications, seed)
    ]
    return pd.concat(joblib.Parallel(n_jobs=max(1, workers))(calls), ignore_index=True)


def _lemma_block(series: str, policy: BatchGP, problem: CandidateArms, streams: Streams) -> pd.DataFrame:
    seen, state = watch(policy, problem, streams)
    s, r, width = np.stack(seen.deviation, axis=1), np.stack(seen.regret, axis=1), np.stack(seen.width, axis=1)
    noise, size = float(state.noise[0]), s.shape[2]
    maximum, best = np.stack(seen.maximum, axis=1), problem.means.max(axis=1)
    largest = width.max(axis=1)
    est = isinstance(policy.acquisition, EstimatedMaximum)
    n = s.shape[1] * size
    eta = largest + np.sqrt(zeta(n, _DELTA, 3.0)) if est else 2.0 * largest
    every = state.pivots[:, : int(state.n_known[0])] ** 2 / noise  # 1 + variance / noise, the first arm included
    information = 0.5 * np.log(every).sum(axis=1)
    later = s[:, :-1, 1:] if size > 1 else np.empty((len(s), 0, 0))
    missing = np.full(len(s), np.nan)

    def share(found: Sequence[BoolArray]) -> FloatArray:
        return np.stack(found, axis=1).mean(axis=1) if len(found) else missing

    above = maximum >= best[:, None]
    found = {
        "regret": r.sum(axis=(1, 2)),
        "trivial": n * np.ptp(problem.means, axis=1),
        "information": information,
        "lemma_6_6": noise * (every - 1.0).sum(axis=1) / (2.0 / np.log1p(1.0 / noise) * information),
        "lemma_6_4": (s[:, 1:, :1] > later + _ROUNDING).mean(axis=(1, 2)) if size > 1 else missing,
        "lemma_6_5": s[:, :, 0].sum(axis=1) / s.mean(axis=2).sum(axis=1) if size > 1 else missing,
        "lemma_6_7": (s[:, :, 0] ** 2).sum(axis=1) / (s[:, :, 1:] ** 2).mean(axis=2).sum(axis=1)
        if size > 1
        else missing,
        "section_3_2": (r.sum(axis=2) > (s**2).sum(axis=2)).mean(axis=1),
        "step": (r[:, :, 1:] > eta[:, None, None] * s[:, :, 1:]).mean(axis=(1, 2)) if size > 1 else missing,
        "step_summed": r.sum(axis=(1, 2)) / (eta * s.sum(axis=(1, 2))),
        "width": largest,
        "event_share": missing if est else np.stack(seen.error, axis=1).max(axis=1),
        "above": above.mean(axis=1) if est else missing,
        "always_above": above.all(axis=1).astype(np.float64) if est else missing,
        "repeated": share(seen.repeated),
        "optimum_outside": 1.0 - share(seen.optimum_inside),
        "next_outside": 1.0 - share(seen.next_inside),
    }
    small = {name: np.float32(values) for name, values in found.items()}  # rows are committed
    return pd.DataFrame({"convention": "as_written", "series": series, "replication": streams.replications} | small)

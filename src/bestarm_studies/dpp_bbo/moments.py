r"""Searches between two batches: posteriors before and within the next batch, and what searches log.

A *moment* is a search between two batches, with the next batch chosen: its rewards are hallucinated, so the rows of the
model hold the arms of the batch one after the other.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.batch_rules import Hallucinate, UpperBound
from bestarm.policies.gaussian.gp_acquisition import est_width, ucb_width
from bestarm.policies.gaussian.gp_state import LOG, BatchGPState
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo.batch_observer import BatchObserver
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms

_ROUNDING = 1e-9
_WIDTH = LOG.index("width")
TEXT, CODE = "as written", "Contal's software"  # two relevance regions
_MAXIMUM = LOG.index("maximum")


def hallucinated(state: BatchGPState) -> range:
    """Return the rows of the batch that a state hallucinates: none before the first batch and after the last."""
    return range(int(state.n_known[0]), int(state.n_rows[0]))


def before_batch(state: BatchGPState) -> FloatArray:
    """Return the variances given the known rewards alone, shape (R, n_arms)."""
    batch = hallucinated(state)
    return np.asarray(state.variances + (state.rows[:, batch.start : batch.stop] ** 2).sum(axis=1))


def relevance_regions(policy: BatchGP, state: BatchGPState, as_coded: bool = False) -> BoolArray:
    r"""Return which arms the relevance region of the batch has, shape (R, n_arms).
    The paper's reaches up by :math:`2\beta_{t+1}^{1/2}`, or twice EST's present width; ``as_coded`` by that width."""
    deviations, means, width = np.sqrt(before_batch(state)), state.means, state.log[:, [_WIDTH]]
    reach = width if as_coded else 2.0 * width
    bound = policy.acquisition
    if isinstance(bound, UpperBound) and not as_coded:
        turn = state.round + (policy.first == 0)
        reach = np.array(2.0 * ucb_width(means.shape[1], turn + 1, bound.delta, bound.beta_scale))
    lowest = (means - width * deviations).max(axis=1, keepdims=True)
    return np.asarray(means + reach * deviations >= lowest - _ROUNDING)


def dpp_kernel(state: BatchGPState, replication: int, region: IntArray, b: int = 1) -> FloatArray:
    r"""Return :math:`L=I+\sigma^{-2}k_{t,b}` of a region after the first b arms of the batch, shape (n, n)."""
    r = replication
    points = (state.points[state.point_set[r]][:, region] / state.lengthscales[r][:, None]).T
    rows = state.rows[r, : state.n_known[r] + b][:, region]
    prior = state.constant + state.signal[r] * np.exp(-0.5 * cdist(points, points, "sqeuclidean"))
    return np.asarray(np.eye(len(region)) + (prior - rows.T @ rows) / state.noise[r])


class Moment(NamedTuple):
    """A search between two batches, with the next one chosen: its hyper-parameters are known.
    Rows of ``state`` are arms with rewards, then the ``batch``, (R, B); ``pulled``, (R, n_arms), counts evaluations."""

    policy: BatchGP
    state: BatchGPState
    batch: IntArray
    pulled: IntArray

    def posterior(self, n_arms: int = 0, replication: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return means and standard deviations given the rewards and the first arms of the batch, each (n_arms,)."""
        state, r = self.state, replication
        rows = state.rows[r, : state.n_known[r] + n_arms]
        variances = state.signal[r] + state.constant - (rows**2).sum(axis=0)
        return state.means[r], np.sqrt(np.maximum(variances, 0.0))

    def kernel(self, region: IntArray, b: int = 1, replication: int = 0) -> FloatArray:
        r"""Return :math:`L=I+\sigma^{-2}k_{t,b}` of a region after the first b arms of the batch, shape (n, n)."""
        return dpp_kernel(self.state, replication, region, b)

    def width(self, b: int = 0, replication: int = 0) -> float:
        """Return the deviations that the arm after the first b of the batch is chosen by (Algorithm 1).
        A rule that fills its batch from a region has a width for the first arm alone, and it is returned."""
        policy, known = self.policy, float(self.state.log[replication, _WIDTH])
        rule = policy.rule
        if b == 0 or not isinstance(rule, Hallucinate):
            return known
        means, deviations = self.posterior(b, replication)
        if not isinstance(rule.acquisition, UpperBound):
            return rule.inflation * float(est_width(means, deviations**2, self.state.log[replication, _MAXIMUM]))
        turn = self.state.round + (policy.first == 0)
        t = (turn - 1) * policy.batch + b + 1 if rule.by_evaluations else turn
        return rule.inflation * float(ucb_width(len(means), t, rule.acquisition.delta, rule.acquisition.beta_scale))


def moment(policy: BatchGP, problem: CandidateArms, streams: Streams) -> Moment:
    """Return a search at its first batch; all policies with as many first arms share them and their rewards."""
    state = policy.start(problem.arms, streams)
    first, pulled = policy.ask(state), problem.arms.no_pulls(len(streams.replications))
    if policy.first:
        policy.tell(state, first, problem.rewards(first, pulled, streams))
        first = policy.ask(state)
    return Moment(policy, state, first.arms, pulled)


def regions(now: Moment, replication: int = 0) -> dict[str, IntArray]:
    r"""Return the arms of two relevance regions: of the paper, :math:`2\beta_{t+1}^{1/2}`, and of Contal's software."""
    inside = {name: relevance_regions(now.policy, now.state, name == CODE)[replication] for name in (TEXT, CODE)}
    return {name: np.flatnonzero(arms) for name, arms in inside.items()}


def moment_rows(now: Mapping[str, Moment]) -> pd.DataFrame:
    """Return what searches log of their batch: ``series, replication`` and `bestarm.policies.gaussian.gp_state.LOG`."""
    frames = [
        pd.DataFrame(m.state.log, columns=list(LOG)).assign(series=label, replication=m.state.replications)
        for label, m in now.items()
    ]
    return pd.concat(frames, ignore_index=True)


def search_rows(searches: Mapping[str, BatchGP], problem: CandidateArms, streams: Streams) -> pd.DataFrame:
    """Return what `BatchObserver` finds of every batch: ``series, replication, batch`` and its columns.
    ``excess`` is the estimated maximum minus the largest value of a candidate, in units of the reward, for searches
    whose offset and scale stay; ``not_below`` is 1 where it is at least 0, else 0. Both are NaN without an estimate."""
    best = pd.Series(np.broadcast_to(problem.means.max(axis=1), len(streams.replications)), index=streams.replications)
    frames = []
    for label, policy in searches.items():
        observer = BatchObserver(policy, problem)
        simulate(observer, problem, streams, metrics={})
        rows = observer.findings(streams.replications)
        rows = rows.assign(series=label, batch=rows["round"] - int(policy.first > 0))
        estimated = policy.model.offset + policy.model.scale * rows["maximum"].astype(np.float64)
        rows["excess"] = estimated - rows["replication"].map(best)
        frames.append(rows[rows["batch"] > 0])
    found = pd.concat(frames, ignore_index=True)
    return found.assign(not_below=(found["excess"] >= 0).astype(np.float64).where(found["excess"].notna()))

r"""An observer of gap-index focused algorithms: checks, at every round, what the theory of the Top-m paper says of it.

`GifaMonitor` is a policy. It hands every call to the algorithm that it wraps and changes nothing in it; after each
choice it evaluates the inequalities of the paper on the state, for all replications at once, knowing the true means.
It judges, so widths and indices are computed anew instead of being taken from the algorithm.

References
----------
.. [1] Réda, Kaufmann, Delahaye-Duriez. "Top-m identification for linear bandits". AISTATS 2021. Sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.policies.gifa import Gifa, GifaState
from bestarm.streams import Streams
from bestarm_studies.linear_topm.complexity import gaps
from bestarm_studies.linear_topm.round_checks import ROUNDING, check_round

# Findings of a run, in the order of `gifa_checks.check_round`, with their value before the first round:
#   rounds           rounds that were checked
#   event_share      largest (true gap - estimated gap) / width over rounds and pairs; the event of [1], Section 4.2,
#                    holds if it is at most 1
#   good_share       the same over a best arm and an arm that is not within epsilon of them: the event of Definition 1
#   lemma_1          rounds in which Lemma 1 failed
#   ugape_pulls      pulls when the rule of tau^UGapE held for the first time, NaN if it never did
#   index_order      rounds in which a paired width exceeded the individual one, or that the classical one
#   lemma_2          rounds in which Lemma 2 as printed failed for some arm and some difference of two arms
#   lemma_4          rounds in which Lemma 4 failed
#   lemma_5          rounds in which Lemma 5 failed
#   lemma_5_share    largest ratio of the two sides of Lemma 5
#   within_epsilon   1 if all arms of the answer are within epsilon of the m-th best, 0 if not, NaN without an answer
FINDINGS: dict[str, float] = {
    "rounds": 0.0,
    "event_share": -np.inf,
    "good_share": -np.inf,
    "lemma_1": 0.0,
    "ugape_pulls": np.nan,
    "index_order": 0.0,
    "lemma_2": 0.0,
    "lemma_4": 0.0,
    "lemma_5": 0.0,
    "lemma_5_share": 0.0,
    "within_epsilon": np.nan,
}


def no_findings(n_replications: int) -> FloatArray:
    """Return the findings before the first round, shape (R, number of `FINDINGS`)."""
    return np.tile(np.array(list(FINDINGS.values())), (n_replications, 1))


@dataclass
class MonitoredState(GifaState):
    """The state of the algorithm, where each of its replications stands in the findings, and the arms' geometry."""

    place: IntArray = field(kw_only=True)
    lengths: FloatArray = field(kw_only=True, metadata={"shared": True})  # (K,): norms of the arms
    differences: FloatArray = field(kw_only=True, metadata={"shared": True})  # (K, K): norms of their differences


@dataclass(frozen=True)
class GifaMonitor:
    """A gap-index focused algorithm under observation.

    Parameters
    ----------
    policy : Gifa
        The algorithm; its choices, random ties and recommendations stay what they are without the monitor.
    means : ndarray, shape (1, n_arms)
        True means, the same for all replications.
    findings : ndarray, shape (R, number of `FINDINGS`)
        Where the findings are written (`no_findings`), one line per replication in the order of the streams.

    Raises
    ------
    ValueError
        If the means differ between replications.
    """

    policy: Gifa
    means: FloatArray
    findings: FloatArray

    def __post_init__(self) -> None:
        if self.means.ndim != 2 or len(self.means) != 1:
            raise ValueError(f"means must have shape (1, n_arms), got {self.means.shape}: one instance at a time.")

    @property
    def label(self) -> str:
        """Name of the algorithm."""
        return self.policy.label

    def start(self, arms: Arms, streams: Streams) -> MonitoredState:
        """Return the state before the first pull."""
        state = self.policy.start(arms, streams)
        if len(state.features) != 1:
            raise ValueError(f"the arms must have one set of features, got {len(state.features)}.")
        x = state.features[0]
        return MonitoredState(
            **vars(state),
            place=np.arange(len(streams.replications)),
            lengths=np.linalg.norm(x, axis=1),
            differences=np.linalg.norm(x[:, None] - x[None, :], axis=2),
        )

    def ask(self, state: MonitoredState) -> Ask:
        """Let the algorithm choose, then check its choice."""
        searching = np.flatnonzero(~state.stopped)
        asked = self.policy.ask(state)
        if state.initialised:
            self._check(state, searching, asked)
            self._judge(state, searching[state.stopped[searching]])
        return asked

    def tell(self, state: MonitoredState, asked: Ask, totals: FloatArray) -> None:
        """Let the algorithm learn; a stop after the pull (the published code) is judged at once."""
        searching = np.flatnonzero(~state.stopped)
        self.policy.tell(state, asked, totals)
        self._judge(state, searching[state.stopped[searching]])

    def finished(self, state: MonitoredState) -> BoolArray:
        """Return which replications have stopped."""
        return self.policy.finished(state)

    def recommend(self, state: MonitoredState) -> IntArray:
        """Return the algorithm's recommendation."""
        return self.policy.recommend(state)

    @cached_property
    def _gap(self) -> FloatArray:
        return gaps(self.means[0], self.policy.n_best)

    @cached_property
    def _mth_best(self) -> float:
        return float(np.sort(self.means[0])[-self.policy.n_best])

    def _judge(self, state: MonitoredState, rows: IntArray) -> None:
        """Tell whether the answers of replications that have just stopped are right."""
        if len(rows):
            lowest = self.means[0][state.candidates[rows]].min(axis=1)
            good = lowest >= self._mth_best - self.policy.epsilon - ROUNDING
            self.findings[state.place[rows], list(FINDINGS).index("within_epsilon")] = good

    def _check(self, state: MonitoredState, rows: IntArray, asked: Ask) -> None:
        policy, truth = self.policy, self.means[0]
        time = state.pulls.sum(axis=1) + policy.index_time_ahead
        scale = policy.sigma * state.threshold(np.maximum(time, 1).astype(np.float64))
        check_round(
            rows, state.place, state.gram, state.means, state.pulls, state.candidates, state.pair, asked.arms,
            asked.counts, scale, state.lengths, state.differences, truth, self._gap, truth >= self._mth_best,
            truth < self._mth_best - policy.epsilon, policy.epsilon, policy.design_regulariser,
            policy.index in ("paired", "classical_paired"), policy.uses_features, self.findings,
        )  # fmt: skip

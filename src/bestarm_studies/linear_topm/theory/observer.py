r"""An observer of gap-index focused algorithms: checks, at every round, what the theory of the Top-m paper says of it.

`GifaObserver` hands every call to the algorithm and changes nothing in it. After each choice the inequalities of the
paper are evaluated on the state, for all replications at once, with the true means. Widths and indices are computed
anew instead of being taken from the algorithm, so that an error of the algorithm would show.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pandas as pd

from bestarm.interface import Arms, Ask, FiniteProblem, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.policies.linear.gifa import Gifa, GifaState
from bestarm.streams import Streams
from bestarm_studies.linear_topm.complexity import gaps
from bestarm_studies.linear_topm.theory.round_checks import ROUNDING, Choice, Instance, check_round

FINDINGS: dict[str, float] = {  # of a run, in the order of `round_checks.check_round`: values before the first round
    "rounds": 0.0,  # that were checked
    # largest (true gap - estimated gap) / width over rounds and pairs; the event of Section 4.2 is that it is at most 1
    "event_share": -np.inf,
    "good_share": -np.inf,  # over a best arm and one that is not within epsilon of them: the event of Definition 1
    "lemma_1": 0.0,  # rounds in which Lemma 1 failed
    "ugape_pulls": np.nan,  # when the rule of tau^UGapE held for the first time, NaN if it never did
    "index_order": 0.0,  # rounds in which a paired width exceeded the individual one, or that the classical one
    "lemma_2": 0.0,  # rounds in which Lemma 2 as printed failed for some arm and some difference of two arms
    "lemma_4": 0.0,  # rounds in which Lemma 4 failed
    "lemma_5": 0.0,
    "lemma_5_share": 0.0,  # largest ratio of the two sides of Lemma 5
    "within_epsilon": np.nan,  # 1 if all arms of the answer are within epsilon of the m-th best, 0 if not
}


def no_findings(n_replications: int) -> FloatArray:
    """Return the findings before the first round, shape (R, number of `FINDINGS`)."""
    return np.tile(np.array(list(FINDINGS.values())), (n_replications, 1))


@dataclass
class MonitoredState(GifaState):
    """The state of the algorithm, and where each of its replications stands in the findings."""

    place: IntArray = field(kw_only=True)


class GifaObserver(Observed):
    """A gap-index focused algorithm under observation.
    Its choices and ties are those that ``policy`` makes unobserved. Raises ValueError if means differ between
    replications."""

    columns: ClassVar[tuple[str, ...]] = tuple(FINDINGS)

    policy: Gifa

    def __init__(self, policy: Gifa, problem: FiniteProblem) -> None:
        super().__init__(policy)
        if problem.means.ndim != 2 or len(problem.means) != 1:
            raise ValueError(f"means must have shape (1, n_arms), got {problem.means.shape}: one instance at a time.")
        self.truth: FloatArray = problem.means[0]
        self.gap = gaps(self.truth, policy.n_best)
        self.mth_best = float(np.sort(self.truth)[-policy.n_best])
        self.found = no_findings(0)

    def findings(self, replications: IntArray) -> pd.DataFrame:
        """Return what was found of each replication, a column for each of `FINDINGS`."""
        return pd.DataFrame(self.found, columns=list(self.columns)).assign(replication=replications)

    def start(self, arms: Arms, streams: Streams) -> MonitoredState:
        """Return the state before the first pull."""
        state = self.policy.start(arms, streams)
        if len(state.features) != 1:
            raise ValueError(f"the arms must have one set of features, got {len(state.features)}.")
        x = state.features[0]
        self.found = no_findings(len(streams.replications))
        lengths, differences = np.linalg.norm(x, axis=1), np.linalg.norm(x[:, None] - x[None, :], axis=2)
        best, bad = self.truth >= self.mth_best, self.truth < self.mth_best - self.policy.epsilon
        self.instance = Instance(lengths, differences, self.truth, self.gap, best, bad)
        return MonitoredState(**vars(state), place=np.arange(len(streams.replications)))

    def ask(self, state: MonitoredState) -> Ask:
        """Let the algorithm choose, then check its choice."""
        searching = np.flatnonzero(~state.stopped)
        asked = self.policy.ask(state)
        if state.initialised:
            self._check(state, searching, asked)
            self._judge(state, searching[state.stopped[searching]])
        return asked

    def tell(self, state: MonitoredState, asked: Ask, totals: FloatArray) -> None:
        """Update the algorithm; a stop after the pull (the authors' code) is judged at once."""
        searching = np.flatnonzero(~state.stopped)
        self.policy.tell(state, asked, totals)
        self._judge(state, searching[state.stopped[searching]])

    def _judge(self, state: MonitoredState, rows: IntArray) -> None:
        """Tell whether the answers of replications that have just stopped are right."""
        if len(rows):
            lowest = self.truth[state.candidates[rows]].min(axis=1)
            good = lowest >= self.mth_best - self.policy.epsilon - ROUNDING
            self.found[state.place[rows], list(FINDINGS).index("within_epsilon")] = good

    def _check(self, state: MonitoredState, rows: IntArray, asked: Ask) -> None:
        policy = self.policy
        time = state.pulls.sum(axis=1) + policy.index_time_ahead
        scale = policy.sigma * state.threshold(np.maximum(time, 1.0))
        choice = Choice(state.gram, state.means, state.pulls, state.candidates, state.pair, *asked, scale)
        paired = policy.index in ("paired", "classical_paired")
        check_round(
            rows, state.place, self.instance, choice, policy.epsilon, policy.design_regulariser, paired,
            policy.uses_features, self.found,
        )  # fmt: skip

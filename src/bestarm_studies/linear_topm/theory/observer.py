r"""An observer of gap-index focused algorithms: checks, at every round, what the theory of the Top-m paper says of it.

`GifaObserver` hands every call to the algorithm and changes nothing in it. After each choice the inequalities of the
paper, which are compiled, are evaluated on the state, for all replications at once, with the true means. Widths and
indices are computed anew instead of being taken from the algorithm, so that an error of the algorithm would show.

``gram``, ``means`` and ``pulls`` are those of `bestarm.policies.linear.gifa`; ``index`` and ``width`` are the matrices
:math:`B_{i,j}(t)` and :math:`W_t(i,j)`; ``truth`` and ``gap`` are the true means and gaps.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from bestarm.interface import Arms, Ask, BoolArray, FiniteProblem, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.policies.linear.gifa import Gifa, GifaState
from bestarm.streams import Streams
from bestarm_studies.linear_topm.complexity import gaps

ROUNDING = 1e-9  # quantities compared are of order one


@njit(cache=True)
def distance(gram: FloatArray, i: int, j: int) -> float:
    r"""Return :math:`\|x_i - x_j\|_{V^{-1}}`."""
    return np.sqrt(max(gram[i, i] + gram[j, j] - 2.0 * gram[i, j], 0.0))


@njit(cache=True)
def gap_indices(
    gram: FloatArray, means: FloatArray, scale: float, paired: bool, width: FloatArray, index: FloatArray
) -> None:
    """Write the widths and the gap indices of all pairs (Section 2); ``scale`` is C sigma."""
    for i in range(len(means)):
        for j in range(len(means)):
            width[i, j] = scale * (distance(gram, i, j) if paired else np.sqrt(gram[i, i]) + np.sqrt(gram[j, j]))
            index[i, j] = means[i] - means[j] + width[i, j]


@njit(cache=True)
def largest_error(index: FloatArray, width: FloatArray, truth: FloatArray, upper: BoolArray, lower: BoolArray) -> float:
    """Return the largest (true gap - estimated gap) / width over i in ``upper`` and j in ``lower``."""
    largest = -np.inf
    for i in range(len(truth)):
        for j in range(len(truth)):
            if i != j and upper[i] and lower[j] and width[i, j] > 0.0:
                estimated = index[i, j] - width[i, j]
                largest = max(largest, (truth[i] - truth[j] - estimated) / width[i, j])
    return largest


@njit(cache=True)
def mth_largest(index: FloatArray, j: int, room: FloatArray) -> float:
    r"""Return :math:`\max^m_{i \neq j} B_{i,j}`; ``room`` is room for m values."""
    room[:] = -np.inf
    for i in range(len(index)):
        value = index[i, j]
        if i == j or value <= room[-1]:
            continue
        k = len(room) - 1
        while k > 0 and room[k - 1] < value:
            room[k] = room[k - 1]
            k -= 1
        room[k] = value
    return room[-1]


@njit(cache=True)
def stopping_values(index: FloatArray, candidates: IntArray, inside: BoolArray, room: FloatArray) -> tuple[float, bool]:
    r"""Return :math:`\max_{j \in J} \max^m_{i \neq j} B_{i,j}`, and whether Lemma 1 fails for some j in J."""
    inside[:] = False
    for j in candidates:
        inside[j] = True
    value, fails = -np.inf, False
    for j in candidates:
        mth = mth_largest(index, j, room)
        outside = -np.inf
        for i in range(len(index)):
            if not inside[i]:
                outside = max(outside, index[i, j])
        value = max(value, mth)
        fails |= mth > outside + ROUNDING
    return value, fails


@njit(cache=True)
def index_order_fails(gram: FloatArray, pulls: IntArray) -> bool:
    r"""Return whether a paired width exceeds the individual one, or :math:`\|x_a\|_{V^{-1}} > N_a^{-1/2}`."""
    for i in range(len(pulls)):
        if pulls[i] * gram[i, i] > 1.0 + ROUNDING:
            return True
        for j in range(i):
            if distance(gram, i, j) > np.sqrt(gram[i, i]) + np.sqrt(gram[j, j]) + ROUNDING:
                return True
    return False


@njit(cache=True)
def lemma_2_fails(
    gram: FloatArray, pulls: IntArray, lengths: FloatArray, differences: FloatArray, regulariser: float
) -> bool:
    r"""Return whether Lemma 2 as printed is false for some arm and some difference of two arms.
    It says :math:`\|y\|_{V^{-1}} \leq \|y\| / \sqrt{N_a \|x_a\|^2 + \lambda}` for every arm a and every y, so the arm
    with the largest :math:`N_a \|x_a\|^2` decides. ``lengths``: of :math:`x_a`; ``differences``: of :math:`x_i-x_j`."""
    # the largest N_a |x_a|^2
    information = 0.0
    for a in range(len(pulls)):
        information = max(information, pulls[a] * lengths[a] ** 2)
    factor = 1.0 / np.sqrt(information + regulariser)
    for i in range(len(pulls)):
        for j in range(i):
            if distance(gram, i, j) > differences[i, j] * factor + ROUNDING:
                return True
    return False


@njit(cache=True)
def lemma_4_fails(index: FloatArray, width: FloatArray, b: int, c: int, gap: FloatArray) -> bool:
    r"""Return whether :math:`B_{c,b} > \min(-(\Delta_b \vee \Delta_c) + 2W(b,c), 0) + W(b,c)` (Lemma 4)."""
    return index[c, b] > min(-max(gap[b], gap[c]) + 2.0 * width[b, c], 0.0) + width[b, c] + ROUNDING


@njit(cache=True)
def lemma_5_share(pulls: int, scale: float, gap: float, epsilon: float) -> float:
    r"""Return the pulls of the chosen arm over :math:`4\sigma^2C^2 / \max(\epsilon, (\epsilon+\Delta)/3)^2`."""
    return pulls * max(epsilon, (epsilon + gap) / 3.0) ** 2 / (4.0 * scale**2)


class Instance(NamedTuple):
    """The arms: norms, true means and gaps, which are among the m best, and which no answer may hold."""

    lengths: FloatArray  # (K,)
    differences: FloatArray  # (K, K): norms of differences
    truth: FloatArray  # (K,)
    gap: FloatArray  # (K,)
    best: BoolArray  # (K,)
    bad: BoolArray  # (K,)


class Choice(NamedTuple):
    """The estimates of an algorithm, and what it chose by them."""

    gram: FloatArray  # (R, K, K)
    means: FloatArray  # (R, K)
    pulls: IntArray  # (R, K)
    candidates: IntArray  # (R, m)
    pair: IntArray  # (R, 2)
    arms: IntArray  # (R, 1) or (R, 2)
    counts: IntArray  # as ``arms``
    scale: FloatArray  # (R,): C sigma


@njit(cache=True)
def check_round(
    rows: IntArray,
    place: IntArray,
    instance: Instance,
    choice: Choice,
    epsilon: float,
    regulariser: float,
    paired: bool,
    uses_features: bool,
    found: FloatArray,
) -> None:
    """Check every replication in ``rows`` and add what fails to its line of ``found``, shape (R, n_findings)."""
    lengths, differences, truth, gap, best, bad = instance
    gram, means, pulls, candidates, pair, arms, counts, scale = choice
    everywhere, inside = np.ones(len(truth), dtype=np.bool_), np.empty(len(truth), dtype=np.bool_)
    room = np.empty(candidates.shape[1])
    width, index = np.empty((len(truth), len(truth))), np.empty((len(truth), len(truth)))
    for r in rows:
        line = found[place[r]]
        gap_indices(gram[r], means[r], scale[r], paired, width, index)
        line[0] += 1
        # the event of the proofs: over all pairs, then over pairs of a best and another arm
        line[1] = max(line[1], largest_error(index, width, truth, everywhere, everywhere))
        line[2] = max(line[2], largest_error(index, width, truth, best, bad))
        # Lemma 1, and the round in which the rule of UGapE stops
        value, fails = stopping_values(index, candidates[r], inside, room)
        line[3] += fails
        if value <= epsilon and np.isnan(line[4]):
            line[4] = pulls[r].sum()
        # Section 3.2: the order of the indices; Lemma 2
        if uses_features:
            line[5] += index_order_fails(gram[r], pulls[r])
            line[6] += lemma_2_fails(gram[r], pulls[r], lengths, differences, regulariser)
        # Lemma 4
        line[7] += lemma_4_fails(index, width, pair[r, 0], pair[r, 1], gap)
        # Lemma 5
        for k in range(arms.shape[1]):
            if counts[r, k] > 0:
                share = lemma_5_share(pulls[r, arms[r, k]], scale[r], gap[arms[r, k]], epsilon)
                line[8] += share > 1.0
                line[9] = max(line[9], share)


FINDINGS: dict[str, float] = {  # of a run, in the order of `check_round`: values before the first round
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
    """A gap-index focused algorithm under observation; it chooses as ``policy`` does unobserved, ties as well.
    Raises ValueError if means differ between replications."""

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

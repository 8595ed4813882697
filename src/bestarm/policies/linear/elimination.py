"""The common parts of policies that eliminate arms in stages, with the pulls of a stage fixed at its start.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Algorithm 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numba import njit

from bestarm.designs.projection import coded_columns
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.policies.linear.fixed_budget import largest
from bestarm.streams import Streams, uniform

Projection = Literal["span", "as_coded", "none"]
Estimator = Callable[[FloatArray, IntArray, BoolArray, IntArray, FloatArray], FloatArray]

_EQUAL = 1e-10


def check_projection(projection: str) -> None:
    """Refuse an unknown projection."""
    if projection not in get_args(Projection):
        raise ValueError(f"projection must be one of {', '.join(get_args(Projection))}, got {projection!r}.")


@dataclass
class EliminationState:
    """The state of a policy that eliminates in stages, for R replications."""

    live: BoolArray  # arms not yet eliminated, (R, K)
    means: FloatArray  # estimates from the last stage; 0 before the first, (R, K)
    budgets: IntArray  # pulls of each stage, (R, n_stages)
    sizes: IntArray  # how many arms it leaves, (R, n_stages)
    spent: IntArray  # pulls that were asked for, failed ones included, (R,)
    feature_set: IntArray  # which set of features each replication has, (R,)
    replications: IntArray
    order: IntArray  # place of each live arm in the last stage's ranking, the best one last, at first its index, (R, K)
    counts: IntArray  # successful pulls of all stages, where a policy keeps them, else empty, (R, K)
    sums: FloatArray  # the sums of their rewards, (R, K)
    columns: FloatArray  # what the projection of the authors' code has left of the features, else empty, (R, K, d)
    n_columns: IntArray  # how many are in use, (R,)
    features: FloatArray = shared()  # sets of features, (n_sets, K, d)
    key: np.uint64 = shared()  # of the random choices
    stage: int = field(default=0)  # stages that are over; the same for all replications

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return self.budgets.shape[1]


def start(
    arms: Arms,
    budgets: IntArray,
    sizes: IntArray,
    label: str,
    streams: Streams,
    projection: str = "span",
    keeps_rewards: bool = False,
) -> EliminationState:
    """Return the state before the first stage.

    ``arms``: the arms; ``budgets``, ``sizes`` (ndarray of int64, shape (n_stages,) or (n_sets, n_stages)): pulls of
    each stage and the arms it leaves, for each set of features where they differ; ``label``: keys the random choices;
    ``streams``: the replications; ``projection`` ({"span", "as_coded", "none"}): whose columns are to be remembered;
    ``keeps_rewards``: whether the rewards of all stages are to be remembered."""
    n_replications = len(streams.replications)
    features, feature_set = arms.feature_sets(n_replications)
    columns = features[feature_set] if projection == "as_coded" else np.zeros((n_replications, 0, 0))
    n_kept = arms.n_arms if keeps_rewards else 0
    return EliminationState(
        live=np.ones((n_replications, arms.n_arms), dtype=np.bool_),
        means=np.zeros((n_replications, arms.n_arms)),
        budgets=np.broadcast_to(budgets, (len(features), budgets.shape[-1]))[feature_set],
        sizes=np.broadcast_to(sizes, (len(features), sizes.shape[-1]))[feature_set],
        spent=np.zeros(n_replications, dtype=np.int64),
        feature_set=feature_set,
        replications=streams.replications,
        order=np.tile(np.arange(arms.n_arms), (n_replications, 1)),
        counts=np.zeros((n_replications, n_kept), dtype=np.int64),
        sums=np.zeros((n_replications, n_kept)),
        columns=columns,
        n_columns=np.full(n_replications, columns.shape[2]),
        features=features,
        key=streams.key(f"ties of {label}"),
    )


def finished(state: EliminationState) -> BoolArray:
    """Return which replications have one arm left, or no stage."""
    if state.stage >= state.n_stages:
        return np.ones(len(state.live), dtype=np.bool_)
    return np.asarray((state.live.sum(axis=1) == 1) | (state.budgets[:, state.stage] == 0))


def ask_for(counts: IntArray) -> Ask:
    """Return the request for so many pulls of each arm, shape (R, K), without the arms that nobody pulls."""
    pulled = counts > 0
    width = max(1, int(pulled.sum(axis=1).max()))
    arms = np.argsort(~pulled, axis=1, kind="stable")[:, :width]
    return Ask(arms, np.take_along_axis(counts, arms, axis=1))


def by_arm(asked: Ask, totals: FloatArray, n_arms: int) -> tuple[IntArray, FloatArray]:
    """Return what was pulled and what it paid, arm by arm, shapes (R, K); NaN stays NaN."""
    counts = np.zeros((len(totals), n_arms), dtype=np.int64)
    sums = np.zeros((len(totals), n_arms))
    np.put_along_axis(counts, asked.arms, asked.counts, axis=1)
    np.put_along_axis(sums, asked.arms, totals, axis=1)
    return counts, sums


def seen_features(state: EliminationState, rows: IntArray, projection: str) -> tuple[FloatArray, IntArray]:
    """Return the sets of features that a stage sees, and which of them each of some replications has.

    The projection of the authors' code depends on the live arms of all stages; other designs and estimates project.
    """
    if projection != "as_coded":
        return state.features, state.feature_set[rows]
    return _coded(state, rows)[0], np.arange(len(rows))


def _coded(state: EliminationState, rows: IntArray) -> tuple[FloatArray, IntArray]:
    seen, n_seen = np.empty(state.columns[rows].shape), np.empty(len(rows), dtype=np.int64)
    coded_columns(state.columns[rows], state.n_columns[rows], state.live[rows], seen, n_seen)
    return seen, n_seen


def learn(
    state: EliminationState,
    asked: Ask,
    totals: FloatArray,
    fit: Estimator,
    projection: str,
    by_rank: bool,
    blank_in_order: bool,
) -> None:
    """Estimate the live arms from the rewards of this stage, or of all if they are kept, and eliminate.

    NaN teaches nothing; ``by_rank`` and ``blank_in_order`` say which of equal arms stay, see `keep_largest`.
    """
    counts, sums = by_arm(asked, totals, state.live.shape[1])
    going = np.flatnonzero(counts.any(axis=1))
    features, feature_set = seen_features(state, going, projection)
    live = state.live[going]
    if projection == "as_coded":
        state.columns[going], state.n_columns[going] = _coded(state, going)
    if state.counts.shape[1] > 0:
        state.counts += np.where(np.isnan(sums), 0, counts)
        state.sums += np.where(np.isnan(sums), 0.0, sums)
        found = fit(features, feature_set, np.ones_like(live), state.counts[going], state.sums[going])
        state.means[going] = np.where(live, found, 0.0)
    else:
        state.means[going] = fit(features, feature_set, live, counts[going], sums[going])
    sizes, order = state.sizes[going, state.stage], state.order[going]
    keep_largest(
        live,
        state.means[going],
        sizes,
        order,
        by_rank,
        blank_in_order,
        state.key,
        state.replications[going],
        state.stage,
    )
    state.live[going], state.order[going] = live, order
    state.spent += asked.counts.sum(axis=1)
    state.stage += 1


@njit(cache=True)
def ranking(estimates: FloatArray, tie: FloatArray) -> IntArray:
    """Return positions by estimate, the largest last; of those that agree to ten digits the larger ``tie`` later."""
    # stable sorts: by tie, then by estimate
    before = np.argsort(tie, kind="mergesort")
    sorted_ = before[np.argsort(estimates[before], kind="mergesort")]
    places = np.empty(len(before), dtype=np.int64)
    places[before] = np.arange(len(before))
    first = 0
    for i in range(1, len(sorted_) + 1):
        if i < len(sorted_):
            low, high = estimates[sorted_[i - 1]], estimates[sorted_[i]]
            if high - low <= _EQUAL * max(1.0, abs(high)):
                continue
        # estimates that agree stand in the order of the ties
        if i - first > 1:
            sorted_[first:i] = before[np.sort(places[sorted_[first:i]])]
        first = i
    return sorted_


@njit(cache=True)
def keep_largest(
    live: BoolArray,
    means: FloatArray,
    sizes: IntArray,
    order: IntArray,
    by_rank: bool,
    blank_in_order: bool,
    key: np.uint64,
    replications: IntArray,
    stage: int,
) -> None:
    """Eliminate all but the ``sizes`` live arms with the largest estimates of each row, in place.

    Estimates that agree to ten digits tie. Of tied arms a random one stays; with ``by_rank`` the one that was ahead in
    the ranking before, which ``order`` holds and which is overwritten. A stage that taught nothing, with every estimate
    0, leaves random arms, or with ``blank_in_order`` those that were ahead.
    """
    n_arms = live.shape[1]
    for r in range(len(live)):
        arms = np.flatnonzero(live[r])
        blank = np.abs(means[r][arms]).max() == 0.0  # a stage in which no reward taught anything
        if blank_in_order if blank else by_rank:
            tie = order[r][arms].astype(np.float64)
        else:
            tie = np.array([-uniform(key, replications[r], n_arms + stage, int(a)) for a in arms])
        ranked = arms[ranking(means[r][arms], tie)]
        for i in range(len(ranked)):
            order[r, ranked[i]] = i
        for a in ranked[: max(len(ranked) - sizes[r], 0)]:  # GSE paper, Algorithm 1: all but the largest are eliminated
            live[r, a] = False


@njit(cache=True)
def best_live(live: BoolArray, means: FloatArray, key: np.uint64, replications: IntArray, stage: int) -> IntArray:
    """Return the live arm with the largest estimate of every replication, shape (R, 1); ties at random."""
    arms = np.empty((len(live), 1), dtype=np.int64)
    for r in range(len(live)):
        arms[r, 0] = largest(means[r], live[r], False, key, replications[r], stage, 1)
    return arms


class StagePolicy:
    """The frame of a policy that eliminates in stages; a policy says how a stage's budget is spent."""

    ties_by_rank: bool

    def _counts(self, state: EliminationState, going: IntArray) -> IntArray:
        raise NotImplementedError

    def ask(self, state: EliminationState) -> Ask:
        """Choose the pulls of the next stage."""
        counts = np.zeros(state.live.shape, dtype=np.int64)
        going = np.flatnonzero(~finished(state))
        if len(going) > 0:
            counts[going] = self._counts(state, going)
        return ask_for(counts)

    def finished(self, state: EliminationState) -> BoolArray:
        """Return which replications have one arm left, or no budget for a stage."""
        return finished(state)

    def recommend(self, state: EliminationState) -> IntArray:
        """Return the live arm with the largest estimate, shape (R, 1)."""
        if self.ties_by_rank:
            return np.argmax(np.where(state.live, state.order, -1), axis=1)[:, None]
        return best_live(state.live, state.means, state.key, state.replications, state.stage)

"""Peace with a fixed budget as its authors run it: rounds that halve the Gaussian width of the arms that are left.

Katz-Samuels, Jain, Karnin and Jamieson, "An Empirical Process Approach to the Union Bound: Practical Algorithms for
Combinatorial and Linear Bandits", NeurIPS 2020, Theorem 7, and their public script for a fixed budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from bestarm.designs.projection import span_basis
from bestarm.designs.rounding import round_design
from bestarm.designs.width_design import exponentiated_gradient, normals, width
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.models.arm_estimates import least_squares_means
from bestarm.policies.linear.elimination import ask_for, best_live, by_arm
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.settings import check_settings
from bestarm.streams import Streams

_N_DRAWS, _N_STEPS = 64, 200


@njit(cache=True)
def squared_width(
    z: FloatArray, arms: IntArray, key: np.uint64, replication: int, item: int, weights: FloatArray
) -> float:
    r"""Return :math:`\gamma=\min_\lambda(E\max_az_a^\top A(\lambda)^{-1/2}\xi)^2` for some arms; write the minimiser.
    The design is over all arms; 64 common draws stand for the expectation."""
    chosen = z[arms]
    weights[:] = exponentiated_gradient(z, chosen, key, replication, item, _N_DRAWS, _N_STEPS)
    xi = normals(key, replication, item, _N_DRAWS, z.shape[1])
    return max(width(z, weights, chosen, xi, np.empty(len(z))), 0.0) ** 2


@njit(cache=True)
def _first_widths(features: FloatArray, key: np.uint64) -> FloatArray:
    found = np.zeros(len(features))
    for s in range(len(features)):
        z = features[s] @ span_basis(features[s])
        if z.shape[1] > 0:
            found[s] = squared_width(z, np.arange(len(z)), key, s, 0, np.empty(len(z)))
    return found


@njit(cache=True)
def _designs(
    features: FloatArray,
    feature_set: IntArray,
    live: BoolArray,
    key: np.uint64,
    replications: IntArray,
    item: int,
    weights: FloatArray,
    gamma: FloatArray,
) -> None:
    """Write the design of smallest width for the live arms of each row, and its squared width gamma."""
    for r in range(len(live)):
        x = features[feature_set[r]]
        z = x @ span_basis(x)
        if z.shape[1] == 0:
            weights[r], gamma[r] = 1.0 / len(x), 0.0
        else:
            gamma[r] = squared_width(z, np.flatnonzero(live[r]), key, replications[r], item, weights[r])


@njit(cache=True)
def _eliminate(
    features: FloatArray,
    feature_set: IntArray,
    live: BoolArray,
    means: FloatArray,
    gamma: FloatArray,
    key: np.uint64,
    replications: IntArray,
    item: int,
) -> None:
    """Keep the longest prefix of the live arms, best first, whose width is at most half of the present one."""
    for r in range(len(live)):
        arms = np.flatnonzero(live[r])
        if len(arms) <= 2:
            continue
        x = features[feature_set[r]]
        z = x @ span_basis(x)
        if z.shape[1] == 0:
            continue
        order = arms[np.argsort(-means[r][arms])]
        # half of the squared width, and at least 1
        limit = max(1.0, np.ceil(gamma[r] / 2.0))
        low, high = 1, len(order)  # a single arm has width 0 up to the draws; all of them are too many
        if squared_width(z, order, key, replications[r], item, np.empty(len(x))) <= limit:
            low = len(order)
        while low + 1 < high:
            middle = (low + high) // 2
            if squared_width(z, order[:middle], key, replications[r], item, np.empty(len(x))) <= limit:
                low = middle
            else:
                high = middle
        live[r] = False
        live[r][order[:low]] = True


@dataclass
class PeaceWidthState:
    """The state of the policy for R replications.
    ``live`` are arms not yet eliminated, ``means`` least squares on all rewards so far, ``counts`` and ``sums``
    successful pulls and the sums of their rewards, all of shape (R, K); ``n_rounds`` those in all, ``spent`` pulls that
    were asked for, ``gamma`` the squared width of the live arms before the round."""

    live: BoolArray
    means: FloatArray
    counts: IntArray
    sums: FloatArray
    n_rounds: IntArray
    spent: IntArray
    gamma: FloatArray
    feature_set: IntArray
    replications: IntArray
    features: FloatArray = shared()
    key: np.uint64 = shared()
    round: int = field(default=0)


@dataclass(frozen=True)
class PeaceWidth:
    r"""Peace with a fixed budget: :math:`\lceil\max(\log_2\gamma,2)\rceil` rounds of equal budgets.
    A round pulls by the design of *all* arms that makes the squared Gaussian width :math:`\gamma` of the live ones
    smallest, fits least squares to all rewards so far, and keeps the longest prefix of the live arms, best first, whose
    width is at most half as large. Two arms are never reduced to one before the end."""

    budget: int
    label: str = "Peace"

    def __post_init__(self) -> None:
        check_settings(self)
        check_budget(self.label, self.budget)

    def start(self, arms: Arms, streams: Streams) -> PeaceWidthState:
        """Return the state before the first round."""
        n, key = len(streams.replications), streams.key(f"ties of {self.label}")
        features, feature_set = arms.feature_sets(n)
        gamma = _first_widths(features, key)
        rounds = np.ceil(np.maximum(np.log2(np.maximum(gamma, 1e-12)), 2.0)).astype(np.int64)
        check_budget(self.label, self.budget, int(rounds.max()), f"one pull in each of {rounds.max()} rounds")
        return PeaceWidthState(
            live=np.ones((n, arms.n_arms), dtype=np.bool_),
            means=np.zeros((n, arms.n_arms)),
            counts=arms.no_pulls(n),
            sums=np.zeros((n, arms.n_arms)),
            n_rounds=rounds[feature_set],
            spent=np.zeros(n, dtype=np.int64),
            gamma=np.zeros(n),
            feature_set=feature_set,
            replications=streams.replications,
            features=features,
            key=key,
        )

    def ask(self, state: PeaceWidthState) -> Ask:
        """Choose the pulls of the next round."""
        counts = np.zeros(state.live.shape, dtype=np.int64)
        going = np.flatnonzero(~self.finished(state))
        if len(going) > 0:
            weights, gamma = np.empty((len(going), state.live.shape[1])), np.empty(len(going))
            _designs(
                state.features,
                state.feature_set[going],
                state.live[going],
                state.key,
                state.replications[going],
                state.round,
                weights,
                gamma,
            )
            state.gamma[going] = gamma
            budgets = self.budget // state.n_rounds[going]
            counts[going] = round_design(
                weights / weights.sum(axis=1, keepdims=True),
                budgets,
                "apportionment",
                state.key,
                state.replications[going],
                state.round,
            )
        return ask_for(counts)

    def tell(self, state: PeaceWidthState, asked: Ask, totals: FloatArray) -> None:
        """Fit all rewards so far and eliminate; totals that are NaN (failed) teach nothing and cost their pulls."""
        counts, sums = by_arm(asked, totals, state.live.shape[1])
        failed = np.isnan(sums)
        state.counts += np.where(failed, 0, counts)
        state.sums += np.where(failed, 0.0, sums)
        state.spent += asked.counts.sum(axis=1)
        everything = np.ones(state.live.shape, dtype=np.bool_)
        state.means[:] = least_squares_means(state.features, state.feature_set, everything, state.counts, state.sums)
        going = np.flatnonzero(counts.any(axis=1))
        live = state.live[going]
        _eliminate(
            state.features,
            state.feature_set[going],
            live,
            state.means[going],
            state.gamma[going],
            state.key,
            state.replications[going],
            state.round,
        )
        state.live[going] = live
        state.round += 1

    def finished(self, state: PeaceWidthState) -> BoolArray:
        """Return which replications have run all their rounds."""
        return np.asarray(state.round >= state.n_rounds)

    def recommend(self, state: PeaceWidthState) -> IntArray:
        """Return the live arm with the largest estimate, shape (R, 1)."""
        return best_live(state.live, state.means, state.key, state.replications, state.round)

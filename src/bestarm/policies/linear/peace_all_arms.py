r"""Peace with a fixed budget: rounds that halve the Gaussian width of the arms that are left, by designs of all arms.

References
----------
.. [1] Katz-Samuels, Jain, Karnin, Jamieson. "An Empirical Process Approach to the Union Bound: Practical Algorithms for
   Combinatorial and Linear Bandits". NeurIPS 2020. Theorem 7, and the authors' script for a fixed budget.
"""

from dataclasses import dataclass, field

import numpy as np

from bestarm.designs.direction_design import live_designs, span_coordinates
from bestarm.designs.rounding import round_design
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.models.arm_estimates import least_squares_means
from bestarm.policies.linear.elimination import ask_for, best_live, by_arm
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.settings import check_settings
from bestarm.streams import Streams


@dataclass
class PeaceState:
    """The state of the policy for R replications."""

    live: BoolArray  # arms not yet eliminated, (R, K)
    means: FloatArray  # least squares on all rewards so far, (R, K)
    counts: IntArray  # successful pulls, (R, K)
    sums: FloatArray  # the sums of their rewards, (R, K)
    gamma: FloatArray  # squared width of the live arms before the round, (R,)
    n_rounds: IntArray  # in all, (R,)
    feature_set: IntArray
    replications: IntArray
    features: FloatArray = shared()
    coordinates: list[FloatArray] = shared()  # each set of features in its span, (K, rank)
    key: np.uint64 = shared()
    round: int = field(default=0)


@dataclass(frozen=True)
class PeaceAllArms:
    r"""Peace with a fixed budget ([1]_): eliminate by halving a Gaussian width.

    In each of :math:`\lceil\max(\log_2\gamma_0,2)\rceil` rounds of equal budgets pull by the design of *all* arms that
    makes :math:`\gamma=\min_\lambda(E_\xi\max_{a\text{ live}}x_a^\top A(\lambda)^{-1/2}\xi)^2` smallest, fit least
    squares to all rewards so far, and keep the longest prefix of the live arms, best first, whose :math:`\gamma` is at
    most :math:`\max(1,\lceil\gamma/2\rceil)`. Two arms are never reduced to one before the end.

    *Deviations*: 256 normal draws and their negatives, the same for all runs and rounds, stand for the expectation, and
    designs are solved to within about 1%; [1]_ uses stochastic gradients. What the division into rounds leaves of the
    budget is not pulled. A round costs a design for each different set of live arms, and up to :math:`\log_2K` more to
    find the prefix: :math:`O(Kd^2+256Kd+d^3)` a step, at most 200 steps; a pull costs nothing. Raises ValueError for a
    budget below the number of rounds, or arms that are all the same.

    Parameters
    ----------
    budget : int
        B, at least the number of rounds.
    label : str
        Name in tables; keys the random choices.
    """

    budget: int
    label: str = "Peace"

    def __post_init__(self) -> None:
        check_settings(self)
        check_budget(self.label, self.budget)

    def start(self, arms: Arms, streams: Streams) -> PeaceState:
        """Return the state before the first round."""
        n, key = len(streams.replications), streams.key(f"ties of {self.label}")
        features, feature_set = arms.feature_sets(n)
        coordinates = span_coordinates(features, self.label)
        everything = np.ones((len(features), arms.n_arms), dtype=np.bool_)
        _, gamma = live_designs(coordinates, np.arange(len(features)), everything, key)
        n_rounds = np.ceil(np.maximum(np.log2(np.maximum(gamma, 1.0)), 2.0)).astype(np.int64)
        check_budget(self.label, self.budget, int(n_rounds.max()), f"one pull in each of {n_rounds.max()} rounds")
        return PeaceState(
            live=np.ones((n, arms.n_arms), dtype=np.bool_),
            means=np.zeros((n, arms.n_arms)),
            counts=arms.no_pulls(n),
            sums=np.zeros((n, arms.n_arms)),
            gamma=gamma[feature_set],
            n_rounds=n_rounds[feature_set],
            feature_set=feature_set,
            replications=streams.replications,
            features=features,
            coordinates=coordinates,
            key=key,
        )

    def ask(self, state: PeaceState) -> Ask:
        """Choose the pulls of the next round."""
        counts = np.zeros(state.live.shape, dtype=np.int64)
        going = np.flatnonzero(~self.finished(state))
        if len(going) > 0:
            weights, gamma = live_designs(state.coordinates, state.feature_set[going], state.live[going], state.key)
            state.gamma[going] = gamma
            budgets, rows = self.budget // state.n_rounds[going], state.replications[going]
            counts[going] = round_design(weights, budgets, "apportionment", state.key, rows, state.round)
        return ask_for(counts)

    def tell(self, state: PeaceState, asked: Ask, totals: FloatArray) -> None:
        """Fit all rewards so far and eliminate; totals that are NaN (failed) teach nothing and cost their pulls."""
        counts, sums = by_arm(asked, totals, state.live.shape[1])
        failed = np.isnan(sums)
        state.counts += np.where(failed, 0, counts)
        state.sums += np.where(failed, 0.0, np.where(counts > 0, sums, 0.0))
        everything = np.ones(state.live.shape, dtype=np.bool_)
        state.means[:] = least_squares_means(state.features, state.feature_set, everything, state.counts, state.sums)
        self._eliminate(state, np.flatnonzero(counts.any(axis=1) & (state.live.sum(axis=1) > 2)))
        state.round += 1

    def _eliminate(self, state: PeaceState, rows: IntArray) -> None:
        """Keep the longest prefix of the live arms of some rows whose squared width is within the limit."""
        live = state.live[rows]
        best_first = np.argsort(np.where(live, -state.means[rows], np.inf), axis=1, kind="stable")
        places = np.argsort(best_first, axis=1)
        limit = np.maximum(1.0, np.ceil(state.gamma[rows] / 2.0))
        # one arm has the width 0 up to the draws; all of them are too many, if they are not within it themselves
        high = live.sum(axis=1)
        low = np.where(state.gamma[rows] <= limit, high, 1)
        while (open_ := np.flatnonzero(low + 1 < high)).size:
            middle = (low[open_] + high[open_]) // 2
            prefix = places[open_] < middle[:, None]
            _, gamma = live_designs(state.coordinates, state.feature_set[rows[open_]], prefix, state.key, limit[open_])
            fits = gamma <= limit[open_]
            low[open_], high[open_] = np.where(fits, middle, low[open_]), np.where(fits, high[open_], middle)
        state.live[rows] = places < low[:, None]

    def finished(self, state: PeaceState) -> BoolArray:
        """Return which replications have run all their rounds."""
        return np.asarray(state.round >= state.n_rounds)

    def recommend(self, state: PeaceState) -> IntArray:
        """Return the live arm with the largest estimate, shape (R, 1); a random one before the first round."""
        return best_live(state.live, state.means, state.key, state.replications, state.round)

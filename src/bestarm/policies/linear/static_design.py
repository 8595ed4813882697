r"""Fixed designs for a fixed budget: G-optimal, and that of an oracle that knows the means.

References
----------
.. [1] Soare, Lazaric, Munos. "Best-Arm Identification in Linear Bandits". NeurIPS 2014. Sections 3 and 4.
"""

from dataclasses import dataclass

import numpy as np

from bestarm.designs.allocation import AllocationRule
from bestarm.designs.direction_design import distinct, span_coordinates, xy_design
from bestarm.designs.rounding import round_design
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.models.arm_estimates import least_squares_means
from bestarm.policies.linear.elimination import ask_for, best_live, by_arm
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.settings import check_settings
from bestarm.streams import Streams

_NEGLIGIBLE = 1e-3  # of the uniform weight


@dataclass
class StaticState:
    """The state of the policy for R replications."""

    weights: FloatArray  # the design, (R, K)
    means: FloatArray  # least squares estimates, 0 before the pulls, (R, K)
    over: BoolArray  # whether the pulls were made, (R,)
    feature_set: IntArray
    replications: IntArray
    features: FloatArray = shared()
    key: np.uint64 = shared()


class _Static:
    """All pulls at once by one design, least squares, the largest estimate."""

    budget: int
    label: str

    def _weights(self, features: FloatArray, feature_set: IntArray, key: np.uint64) -> FloatArray:
        raise NotImplementedError

    def start(self, arms: Arms, streams: Streams) -> StaticState:
        """Return the state before the pulls."""
        n, key = len(streams.replications), streams.key(f"ties of {self.label}")
        features, feature_set = arms.feature_sets(n)
        weights = self._weights(features, feature_set, key)
        weights = np.where(weights < _NEGLIGIBLE / arms.n_arms, 0.0, weights)
        most = int((weights > 0).sum(axis=1).max())
        check_budget(self.label, self.budget, most, f"one pull of each of the {most} arms of its design")
        return StaticState(
            weights=weights / weights.sum(axis=1, keepdims=True),
            means=np.zeros((n, arms.n_arms)),
            over=np.zeros(n, dtype=np.bool_),
            feature_set=feature_set,
            replications=streams.replications,
            features=features,
            key=key,
        )

    def ask(self, state: StaticState) -> Ask:
        """Choose all pulls: the design, efficiently rounded."""
        budgets = np.full(len(state.over), self.budget)
        counts = round_design(state.weights, budgets, "apportionment", state.key, state.replications, 0)
        return ask_for(np.where(state.over[:, None], 0, counts))

    def tell(self, state: StaticState, asked: Ask, totals: FloatArray) -> None:
        """Fit the rewards; totals that are NaN (failed) teach nothing."""
        counts, sums = by_arm(asked, totals, state.means.shape[1])
        told, everything = counts.any(axis=1) & ~state.over, np.ones(counts.shape, dtype=np.bool_)
        state.means[told] = least_squares_means(state.features, state.feature_set, everything, counts, sums)[told]
        state.over[:] = True

    def finished(self, state: StaticState) -> BoolArray:
        """Return which replications have made their pulls."""
        return state.over

    def recommend(self, state: StaticState) -> IntArray:
        """Return the arm with the largest estimate, shape (R, 1); a random one before the pulls."""
        return best_live(np.ones(state.means.shape, dtype=np.bool_), state.means, state.key, state.replications, 0)


@dataclass(frozen=True)
class StaticGOptimal(_Static):
    r"""The G-optimal design ([1]_, Section 4), pulled once: the baseline that never adapts.

    B pulls by the design that makes :math:`\max_ax_a^\top A(\lambda)^{-1}x_a` smallest, solved within 1% and rounded
    by efficient apportionment, then least squares. No pull is random, unlike in studies that draw arms from the design.
    The design costs :math:`O(Kd+d^2)` a step for each set of features, a pull nothing. Raises ValueError for a budget
    that is too small, or arms that are all the same.

    Parameters
    ----------
    budget : int
        B, at least the number of arms that the design pulls.
    label : str
        Name in tables; keys the random choices.
    """

    budget: int
    label: str = "static G-optimal"

    def __post_init__(self) -> None:
        check_settings(self)
        check_budget(self.label, self.budget)

    def _weights(self, features: FloatArray, feature_set: IntArray, key: np.uint64) -> FloatArray:
        span_coordinates(features, self.label)  # refuses arms that are all the same
        sets, everything = np.arange(len(features)), np.ones(features.shape[:2], dtype=np.bool_)
        return AllocationRule("g-optimal").weights(features, sets, everything, key, sets)[feature_set]


@dataclass(frozen=True)
class OracleAllocation(_Static):
    r"""The best fixed design for means that are known ([1]_, Section 3): a yardstick, no algorithm.

    B pulls by :math:`\arg\min_\lambda\max_{x\neq x^*}\|x^*-x\|^2_{A(\lambda)^{-1}}/\Delta_x^2`, the design of the lower
    bound, then least squares: only the design knows the means. Solved within 2%, weights below a thousandth of
    the uniform one dropped, rounded by efficient apportionment. The design costs :math:`O(Kd^2+d^3)` a step, at most
    300, for each different row of means; a pull costs nothing. Raises ValueError without true means, for means that do
    not fit the arms or are all the same, a budget that is too small, or arms that are all the same.

    Parameters
    ----------
    budget : int
        B, at least the number of arms that the design pulls.
    means : tuple of float, or of tuples
        The true mean of each arm, shape (K,); or one row for each replication, shape (R, K). They need not be linear.
    label : str
        Name in tables; keys the random choices.
    """

    budget: int
    means: tuple[float, ...] | tuple[tuple[float, ...], ...]
    label: str = "oracle"

    def __post_init__(self) -> None:
        check_settings(self)
        check_budget(self.label, self.budget)
        try:
            means = np.atleast_2d(np.array(self.means, dtype=np.float64))
        except (TypeError, ValueError):
            means = np.empty((0, 0))
        if means.ndim != 2 or means.shape[1] < 2 or not np.isfinite(means).all():
            raise ValueError(
                f"{self.label}: means must be the true mean of each arm, finite, got {self.means!r:.60}; an oracle "
                "needs them, take static_g_optimal where they are unknown."
            )
        if (np.ptp(means, axis=1) == 0.0).any():
            raise ValueError(f"{self.label}: means must differ, got {means[0, 0]:g} for all arms; any arm is best.")
        object.__setattr__(self, "means", tuple(map(tuple, means.tolist())) if len(means) > 1 else tuple(means[0]))

    def _weights(self, features: FloatArray, feature_set: IntArray, key: np.uint64) -> FloatArray:
        means = np.atleast_2d(np.array(self.means))
        n, n_arms = len(feature_set), features.shape[1]
        if means.shape[1] != n_arms or len(means) not in (1, n):
            raise ValueError(
                f"{self.label}: means must have shape ({n_arms},) or ({n}, {n_arms}) here, got {means.shape}; give one "
                "for each arm, or a row for each replication."
            )
        coordinates, means = span_coordinates(features, self.label), np.broadcast_to(means, (n, n_arms))
        first, kind = distinct(feature_set, means)
        weights = np.empty((len(first), n_arms))
        for i, r in enumerate(first):
            z, best = coordinates[feature_set[r]], int(np.argmax(means[r]))
            gaps = means[r, best] - means[r]
            others = gaps > 0.0
            xy_design(z, np.ascontiguousarray((z[best] - z[others]) / gaps[others, None]), weights[i])
        return weights[kind]

r"""GSE, generalised successive elimination: halve the arms by the estimates of a model, stage by stage.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Algorithm 1.
.. [2] Karnin, Koren, Somekh. "Almost Optimal Exploration in Multi-Armed Bandits". ICML 2013.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from bestarm.designs.allocation import CODED, Allocation, AllocationRule
from bestarm.designs.rounding import RoundingMethod
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.models.arm_estimates import least_squares_means, logistic_scores
from bestarm.policies.linear import elimination
from bestarm.policies.linear.elimination import EliminationState, StagePolicy
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.presets import preset
from bestarm.settings import check_settings
from bestarm.streams import Streams

Model = Literal["linear", "logistic", "means"]


def n_stages(n_arms: int, eta: int) -> int:
    r"""Return :math:`\lceil\log_\eta K\rceil`, in whole numbers, at least 1."""
    stages, reach = 1, eta
    while reach < n_arms:
        stages, reach = stages + 1, reach * eta
    return stages


@dataclass(frozen=True)
class Gse(StagePolicy):
    r"""Generalised successive elimination ([1]_, Algorithm 1).

    In each of :math:`s=\lceil\log_\eta K\rceil` stages pull the live arms :math:`\lfloor B/s\rfloor` times in all, fit
    the model to this stage's rewards, keep the :math:`\lceil|\mathcal A|/\eta\rceil` arms with the largest estimates.
    Raises ValueError for a value out of range.

    Parameters
    ----------
    budget : int
        B, at least the number of stages.
    label : str
        Name in the paper; keys the random choices.
    model : {"linear", "logistic", "means"}
        What is fitted: least squares (GSE-Lin), or logistic regression of rewards 0 or 1 (GSE-Log). "means" looks at no
        feature: an arm's estimate is the average of its own rewards, 0 without any, which with uniform pulls is
        sequential halving [2]_.
    allocation : str
        How the pulls of a stage are spread, see `bestarm.designs.allocation`: "uniform", "g-optimal" (the design of
        [1]_, Section 6, solved to the optimum), "frank-wolfe" (Algorithm 2 as printed), "wynn", "greedy", ...
    rounding : str
        From the design to whole numbers, see `bestarm.designs.rounding`.
    eta : int
        :math:`\eta\geq2`; all arms but one go in one stage if it is at least K.
    ridge : float
        Penalty of the logistic model, which keeps it finite under separation.
    spends_remainder : bool
        *Deviation*: the pulls that :math:`\lfloor B/s\rfloor` leaves go to the last stages, one each.
    rounds_down : bool
        *Deviation*: keep :math:`\lfloor|\mathcal A|/\eta\rfloor` arms, so that the last stages may never come.
    projection : {"span", "as_coded", "none"}
        Onto the span of the live arms. "none" leaves the features as they are; the shortest least squares solution and
        the designs are the same. *Deviation* "as_coded": a stage sees at most three features, see
        `bestarm.designs.projection.coded_coordinates`; the authors' code does so on synthetic instances only.
    ties_by_rank : bool
        *Deviation*: of arms whose estimates agree to ten digits the one stays that was ahead in the stage before, in
        the first stage the one with the larger index; as written a random one.
    blank_keeps_order : bool
        *Deviation*: a stage whose estimates are all 0, because every pull went to arms at the origin, keeps the order
        of the stage before; as written random arms stay.
    zero_arms_keep_weight : bool
        *Deviation*: designs that are solved for start uniform over all live arms, those at the origin included, which
        keep what the line search leaves them; as written they get no weight.
    keeps_rewards : bool
        *Ablation*: fit the model to the rewards of all stages; [1]_ uses those of the last one only.
    """

    budget: int
    label: str = "GSE"
    model: Model = "linear"
    allocation: Allocation = "uniform"
    rounding: RoundingMethod = "apportionment"
    eta: int = 2
    ridge: float = 1e-4
    spends_remainder: bool = False
    rounds_down: bool = False
    projection: str = "span"
    ties_by_rank: bool = False
    blank_keeps_order: bool = False
    zero_arms_keep_weight: bool = False
    keeps_rewards: bool = False

    def __post_init__(self) -> None:
        check_settings(self, positive=("ridge",), eta=2)
        check_budget(self.label, self.budget)
        elimination.check_projection(self.projection)
        if self.keeps_rewards and self.projection == "as_coded":
            raise ValueError("keeps_rewards needs projection 'span' or 'none', got 'as_coded', which forgets features.")
        self._rule  # noqa: B018  # refuses unknown names before anything runs

    @property
    def _rule(self) -> AllocationRule:
        return AllocationRule(self.allocation, self.rounding, self.zero_arms_keep_weight)

    def as_coded(self) -> "Gse":
        """Return the algorithm with the named deviations of the authors' code."""
        allocation, rounding = CODED.get(self.allocation, (self.allocation, self.rounding))
        return replace(
            self,
            allocation=allocation,
            rounding=rounding,
            spends_remainder=True,
            rounds_down=True,
            projection="as_coded" if self.projection == "span" else self.projection,
            ties_by_rank=True,
            blank_keeps_order=True,
            zero_arms_keep_weight=allocation == "coded-grid",
        )

    def schedule(self, n_arms: int) -> tuple[IntArray, IntArray]:
        """Return the pulls of each stage and the arms it leaves, shapes (s,)."""
        s = n_stages(n_arms, self.eta)
        check_budget(self.label, self.budget, s, f"one pull in each of {s} stages")
        budgets = np.full(s, self.budget // s)
        if self.spends_remainder:
            budgets[s - self.budget % s :] += 1
        sizes, left = np.empty(s, dtype=np.int64), n_arms
        for t in range(s):
            left = max(1, left // self.eta) if self.rounds_down else -(-left // self.eta)
            sizes[t] = left
        return budgets, sizes

    def start(self, arms: Arms, streams: Streams) -> EliminationState:
        """Return the state before the first stage."""
        budgets, sizes = self.schedule(arms.n_arms)
        return elimination.start(arms, budgets, sizes, self.label, streams, self.projection, self.keeps_rewards)

    def _counts(self, state: EliminationState, going: IntArray) -> IntArray:
        features, feature_set = elimination.seen_features(state, going, self.projection)
        live, budgets, rows = state.live[going], state.budgets[going, state.stage], state.replications[going]
        return self._rule.counts(features, feature_set, live, budgets, state.key, rows, state.stage)

    def tell(self, state: EliminationState, asked: Ask, totals: FloatArray) -> None:
        """Fit the model to the stage's rewards and eliminate; totals that are NaN (failed) teach nothing."""
        elimination.learn(state, asked, totals, self._fit, self.projection, self.ties_by_rank, self.blank_keeps_order)

    def _fit(
        self, features: FloatArray, feature_set: IntArray, live: BoolArray, counts: IntArray, totals: FloatArray
    ) -> FloatArray:
        if self.model == "linear":
            return least_squares_means(features, feature_set, live, counts, totals)
        if self.model == "means":
            known = live & (counts > 0) & ~np.isnan(totals)
            return np.divide(totals, counts, out=np.zeros(totals.shape), where=known)
        return logistic_scores(features, feature_set, live, counts, totals, self.ridge)


@preset
class GseLin(Gse):
    """GSE-Lin: the best arm with a fixed budget, by elimination with least squares."""

    label: str = "GSE-Lin"
    model: Model = field(init=False, default="linear")
    ridge: float = field(init=False, default=1e-4)


@preset
class GseLinAllRewards(GseLin):
    """GSE-Lin whose fits keep the rewards of all stages, by G-optimal designs.

    *Deviation* from the paper, where a stage fits its own rewards and forgets those before.
    """

    label: str = "GSE-Lin, all rewards"
    allocation: Allocation = "g-optimal"
    keeps_rewards: bool = field(init=False, default=True)


@preset
class GseLog(Gse):
    """GSE-Log: the best arm with a fixed budget, by elimination, for rewards 0 and 1."""

    label: str = "GSE-Log"
    model: Model = field(init=False, default="logistic")

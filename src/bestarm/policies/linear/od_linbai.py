r"""OD-LinBAI: sequential elimination with G-optimal designs of few arms, the rival of GSE with a known bound.

References
----------
.. [1] Yang, Tan. "Minimax Optimal Fixed-Budget Best Arm Identification in Linear Bandits". NeurIPS 2022.
.. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Section 7, Appendix E.3.
"""

from dataclasses import dataclass, replace

import numpy as np

from bestarm.designs.allocation import DESIGNS, Allocation, AllocationRule
from bestarm.designs.projection import span_basis
from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.models.arm_estimates import least_squares_means
from bestarm.policies.linear import elimination
from bestarm.policies.linear.elimination import EliminationState, StagePolicy
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.settings import check_settings
from bestarm.streams import Streams

_ROUNDING = 1e-9


def schedule(
    n_arms: int, rank: int, budget: int, *, as_coded: bool = False, dimension: int | None = None
) -> tuple[float, list[int]]:
    r"""Return m, which sets the pulls of a stage, and the arms that the stages leave ([1]_, Algorithm 1).

    There are :math:`R=\lceil\log_2d\rceil` stages, at least 1; stage r leaves :math:`\lceil d/2^r\rceil` arms;
    :math:`m=(B-\min(K,d(d+1)/2)-\sum_{r=1}^{R-1}\lceil d/2^r\rceil)/R`, so that the stages, each of :math:`\sum_i\lceil
    m\pi_i\rceil` pulls, cannot overspend if their supports are no larger than [1]_ requires. ``n_arms``, ``rank``: K,
    and d, the dimension of the arms' span; ``budget``: B; ``as_coded``: the code of [2]_: the sum has one term less,
    and m is at most B over the number of stages; ``dimension``: for d in the stages and what they leave, not in m."""
    planned = _stage_sizes(rank)
    later = sum(planned[: max(len(planned) - 1 - as_coded, 0)])
    m = (budget - min(n_arms, rank * (rank + 1) // 2) - later) / len(planned)
    sizes = planned if dimension is None else _stage_sizes(dimension)
    return (min(m, budget // len(sizes)) if as_coded else m), sizes


def _stage_sizes(d: int) -> list[int]:
    n_stages = max(1, int(np.ceil(np.log2(max(d, 1)))))
    sizes = [-(-d // 2**r) for r in range(1, n_stages + 1)]
    sizes[-1] = 1
    return sizes


@dataclass(frozen=True)
class OdLinBai(StagePolicy):
    r"""OD-LinBAI ([1]_): halve the dimension, not the arms.

    In each stage solve for the G-optimal design of the live arms, pull arm i :math:`\lceil m\pi_i\rceil` times, fit
    least squares to this stage's rewards, keep the :math:`\lceil d/2^r\rceil` arms with the largest estimates. Where m
    is not positive, the budget buys no stage and the recommended arm is random.

    On Soare's instance two arms reach the last stage with m/2 pulls each, so that no more than
    :math:`\Phi(\Delta\sqrt m/2)` of all runs end right: .531, .554 and .570 with 1,010, 3,010 and 5,010 pulls, where
    20,000 runs have .526, .553 and .569. The authors of P1-RAGE recorded .556, .569 and .571 of an algorithm with the
    same last stage, in sixes that share seeds: standard errors are up to .008, not the binomial's .003, and one seed
    served all budgets, so that the three differences are not independent.

    Parameters
    ----------
    budget : int
        B, at least 1.
    label : str
        Name in the paper; keys the random choices.
    allocation : str
        Solver of the design, see `bestarm.designs.allocation`; the default starts from few arms and so ends with few.
    exact : bool
        Spend :math:`\lfloor B/R\rfloor` in each stage by efficient apportionment, in place of the rule for m.
    projection : {"span", "as_coded", "none"}
        As in `bestarm.policies.linear.gse.Gse`.
    coded_schedule : bool
        *Deviation*: see `schedule`.
    schedule_dimension : int, optional
        *Deviation*: the dimension that sets the number of stages and the arms that they leave, while m takes the rank.
        In the code of [2]_ it is what the run before has left behind, 4 for the adaptive instance.
    ties_by_rank, blank_keeps_order : bool
        *Deviations*: see `bestarm.policies.linear.gse.Gse`.
    """

    budget: int
    label: str = "OD-LinBAI"
    allocation: Allocation = "kumar-yildirim"
    exact: bool = False
    projection: str = "span"
    coded_schedule: bool = False
    schedule_dimension: int | None = None
    ties_by_rank: bool = False
    blank_keeps_order: bool = False

    def __post_init__(self) -> None:
        check_settings(self, schedule_dimension=1)
        check_budget(self.label, self.budget)
        if self.allocation not in DESIGNS:
            raise ValueError(f"allocation must be one of {', '.join(DESIGNS)}, got {self.allocation!r}.")
        elimination.check_projection(self.projection)

    def as_coded(self) -> "OdLinBai":
        """Return the algorithm with the named deviations of the code of [2]_, whose designs are solved to the end.

        ``schedule_dimension`` stays as it is: which run came before is not the policy's to know.
        """
        return replace(
            self,
            allocation="coded-ellipsoid" if self.allocation == "kumar-yildirim" else self.allocation,
            projection="as_coded" if self.projection == "span" else self.projection,
            coded_schedule=True,
            ties_by_rank=True,
            blank_keeps_order=True,
        )

    def start(self, arms: Arms, streams: Streams) -> EliminationState:
        """Return the state before the first stage."""
        sets = arms.features if arms.features.ndim == 3 else arms.features[None]
        plans = [self._plan(arms.n_arms, span_basis(x).shape[1]) for x in sets]
        n_stages = max(len(sizes) for _, sizes in plans)
        budgets = np.zeros((len(sets), n_stages), dtype=np.int64)
        sizes = np.ones((len(sets), n_stages), dtype=np.int64)
        for s, (m, left) in enumerate(plans):
            budgets[s, : len(left)] = self.budget // len(left) if self.exact else np.ceil(max(m, 0.0))
            sizes[s, : len(left)] = left
        return elimination.start(arms, budgets, sizes, self.label, streams, self.projection)

    def _counts(self, state: EliminationState, going: IntArray) -> IntArray:
        features, feature_set = elimination.seen_features(state, going, self.projection)
        budgets, live, rows = state.budgets[going, state.stage], state.live[going], state.replications[going]
        rule = AllocationRule(self.allocation)
        if self.exact:
            return rule.counts(features, feature_set, live, budgets, state.key, rows, state.stage)
        ranks = np.array([span_basis(x).shape[1] for x in state.features])[state.feature_set[going]]
        m = np.array([self._plan(len(live[0]), int(rank))[0] for rank in ranks])
        weights = rule.weights(features, feature_set, live, state.key, rows)
        found = np.ceil(m[:, None] * weights - _ROUNDING).astype(np.int64)
        # a numerical design can have more arms than the least support, for which the rule for m saves pulls
        most = np.floor(m + _ROUNDING).astype(np.int64)
        most += np.minimum(live.sum(axis=1), ranks * (ranks + 1) // 2)
        over = found.sum(axis=1) > most
        if over.any():
            exactly = rule.counts(features, feature_set, live, most, state.key, rows, state.stage)
            found[over] = exactly[over]
        return found

    def _plan(self, n_arms: int, rank: int) -> tuple[float, list[int]]:
        return schedule(n_arms, rank, self.budget, as_coded=self.coded_schedule, dimension=self.schedule_dimension)

    def tell(self, state: EliminationState, asked: Ask, totals: FloatArray) -> None:
        """Fit the stage's rewards and eliminate; totals that are NaN (failed) teach nothing."""
        elimination.learn(
            state, asked, totals, least_squares_means, self.projection, self.ties_by_rank, self.blank_keeps_order
        )

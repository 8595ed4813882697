r"""Peace with a fixed budget: the approximation that the GSE paper runs, and how well it can be solved.

References
----------
.. [1] Katz-Samuels, Jain, Karnin, Jamieson. "An Empirical Process Approach to the Union Bound: Practical Algorithms for
   Combinatorial and Linear Bandits". NeurIPS 2020.
.. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 7,
   Appendix E.1.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from bestarm.designs.projection import span_basis
from bestarm.designs.rounding import random_order
from bestarm.designs.width_design import exponentiated_gradient, mirror_descent
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.models.arm_estimates import least_squares_means
from bestarm.policies.linear import elimination
from bestarm.policies.linear.elimination import EliminationState, StagePolicy
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.presets import preset
from bestarm.settings import check_settings
from bestarm.streams import Streams

Solver = Literal["mirror", "optimised"]

_N_DRAWS, _N_STEPS = 64, 200


class _Rule(NamedTuple):
    """The settings of `Peace` that a stage needs, and the key of random choices."""

    optimised: bool
    shift: float
    delta: float
    inflate: bool
    key: np.uint64


@njit(cache=True)
def _allocate(
    rule: _Rule,
    features: FloatArray,
    feature_set: IntArray,
    live: BoolArray,
    means: FloatArray,
    budget: IntArray,
    replications: IntArray,
    stage: int,
    counts: IntArray,
) -> None:
    """Write the pulls of a stage: a design of small width over the live arms, in whole pulls."""
    optimised, shift, delta, inflate, key = rule
    n_arms = live.shape[1]
    for r in range(len(live)):
        arms = np.flatnonzero(live[r])
        x = features[feature_set[r]][arms]
        z = x @ span_basis(x)
        n, d = z.shape
        share = np.full(n, 1.0 / n)
        n_steps = 1.0
        if d > 0:
            estimates = means[r][arms]
            best = int(np.argmax(estimates))
            # directions of the width: (z_best - z_i) over the estimated gap plus the shift b
            directions = np.empty((n, d))
            for i in range(n):
                directions[i] = (z[best] - z[i]) / (shift + estimates[best] - estimates[i])
            if optimised:
                share = exponentiated_gradient(z, directions, key, replications[r], stage, _N_DRAWS, _N_STEPS)
            else:
                share = mirror_descent(z, directions, key, replications[r], stage, shift, delta)
                n_steps = min(100.0, max(10.0, 2.0 * np.log(d) ** 2 * d**3 / (shift**2 * delta**2)))
        if inflate:  # the authors' code sums T + 1 iterates and divides by T
            share = share * (np.floor(n_steps) + 1.0) / np.floor(n_steps)
        # rounded down; what is left over goes to arms in random order
        spent = 0
        for i in range(n):
            counts[r, arms[i]] = int(budget[r] * share[i] + 1e-9)
            spent += counts[r, arms[i]]
        order = random_order(key, replications[r], n_arms + stage, 0, n)
        for i in range(max(budget[r] - spent, 0)):
            counts[r, arms[order[i % n]]] += 1


@dataclass(frozen=True)
class Peace(StagePolicy):
    r"""Peace with a fixed budget, as approximated in [2]_.

    In each of :math:`\lfloor\log_2K\rfloor` stages spread :math:`\lfloor B/\lfloor\log_2K\rfloor\rfloor` pulls by the
    design that makes :math:`E\max_z(z_0-z)^\top A(\lambda)^{-1/2}\xi/(b+\hat\theta^\top(z_0-z))` small, where
    :math:`\hat\theta` comes from the stage before and :math:`z_0` is its best arm; then keep half of the arms by least
    squares on the stage's rewards. The objective is that of the fixed-confidence algorithm of [1]_. Raises ValueError
    for a value out of range.

    Parameters
    ----------
    budget : int
        B, at least the number of stages.
    label : str
        Name in the paper; keys the random choices.
    solver : {"mirror", "optimised"}
        Stochastic mirror descent with the step of [2]_, which hardly leaves the uniform design; or exponentiated
        gradients on 64 common draws, which reach the optimum.
    shift : float
        b, in units of reward.
    delta : float
        Sets the number of mirror steps.
    inflated_average : bool
        *Deviation*: the sum of T + 1 iterates is divided by T, as in the authors' code, so a stage can overspend.
    ties_by_rank, blank_keeps_order : bool
        *Deviations*: see `bestarm.policies.linear.gse.Gse`.
    """

    budget: int
    label: str = "Peace"
    solver: Solver = "mirror"
    shift: float = 1.0
    delta: float = 0.8
    inflated_average: bool = False
    ties_by_rank: bool = False
    blank_keeps_order: bool = False

    def __post_init__(self) -> None:
        check_settings(self, positive=("shift", "delta"))
        check_budget(self.label, self.budget)

    def as_coded(self) -> "Peace":
        """Return the algorithm with the named deviations of the code of [2]_."""
        return replace(self, inflated_average=True, ties_by_rank=True, blank_keeps_order=True)

    def start(self, arms: Arms, streams: Streams) -> EliminationState:
        """Return the state before the first stage."""
        n_stages = max(1, int(arms.n_arms).bit_length() - 1)
        check_budget(self.label, self.budget, n_stages, f"one pull in each of {n_stages} stages")
        sizes = np.maximum(1, arms.n_arms // 2 ** np.arange(1, n_stages + 1))
        sizes[-1] = 1
        budgets = np.full(n_stages, self.budget // n_stages)
        return elimination.start(arms, budgets, sizes, self.label, streams)

    def _counts(self, state: EliminationState, going: IntArray) -> IntArray:
        found = np.zeros((len(going), state.live.shape[1]), dtype=np.int64)
        _allocate(
            _Rule(self.solver == "optimised", self.shift, self.delta, self.inflated_average, state.key),
            state.features,
            state.feature_set[going],
            state.live[going],
            state.means[going],
            state.budgets[going, state.stage],
            state.replications[going],
            state.stage,
            found,
        )
        return found

    def tell(self, state: EliminationState, asked: Ask, totals: FloatArray) -> None:
        """Fit the stage's rewards and eliminate; totals that are NaN (failed) teach nothing."""
        elimination.learn(state, asked, totals, least_squares_means, "span", self.ties_by_rank, self.blank_keeps_order)


@preset
class PeaceLiveArms(Peace):
    """The approximation of Peace that the GSE paper runs: its designs are of live arms only, and stages halve them."""

    label: str = "Peace, live arms"

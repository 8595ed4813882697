r"""StoOO and AVE-StoOO: optimistic optimisation with the empirical means of cells.

References
----------
.. [1] Munos. "From Bandits to Monte-Carlo Tree Search". Foundations and Trends in Machine Learning 2014. StoOO.
.. [2] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Appendix C, Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from bestarm.designs.partition_tree import EXPANDED, LEAF, expand, largest
from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.kernels import Stationary
from bestarm.models.cell_kernel import CellKernel
from bestarm.models.cell_posterior import CellPosterior, introduce, new_posterior
from bestarm.partition import Partition
from bestarm.policies.gpoo import as_kernel, check_partition, learn
from bestarm.streams import Streams

Rule = Literal["munos", "average", "published"]
Recommendation = Literal["mean", "first_divided", "posterior"]


@dataclass
class StoooState(CellPosterior):
    """What StoOO knows of R replications; ``incumbent`` is the slot first divided at the greatest depth."""

    incumbent: IntArray
    partition: Partition = field(metadata={"shared": True})


@dataclass(frozen=True)
class Stooo:
    r"""StoOO ([1]_) and AVE-StoOO ([2]_, Algorithm 2); the difference in feedback is the problem's.

    A leaf without rewards comes first; else the one with the largest :math:`\hat\mu+w+\delta(h)`. It is divided once it
    has enough rewards.

    Parameters
    ----------
    label : str
        Name in the paper; keys random ties.
    budget : int
        n, evaluations.
    rule : {"munos", "average", "published"}
        Width w and the rewards T that a division takes: :math:`\sqrt{\log(n^2/\eta)/2T}` and
        :math:`\log(n^2/\eta)/2\delta(h)^2` ([1]_); :math:`\sqrt{2\log(t^2/\theta)/T}` and
        :math:`2\log(t^2/\theta)/\delta(h)^2` ([2]_); *deviation*: :math:`\log(n^2/\eta)/2T` and
        :math:`\sqrt{\log(n^2/\eta)/2}`, in which :math:`\delta` has no part.
    delta_scale, delta_ratio : float
        c and :math:`\rho` of :math:`\delta(h)=c\rho^h`.
    max_depth : int
        Nodes down to this depth may be divided.
    risk : float
        :math:`\eta` or :math:`\theta`, in (0, 1).
    recommendation : {"mean", "first_divided", "posterior"}
        Among the deepest divided nodes: largest empirical mean; *deviation*: the first one divided; largest posterior
        mean under ``kernel`` and ``sigma``, an ablation.
    one_evaluation_less : bool
        *Deviation*: spend (and put into the rule) one evaluation less than the budget.
    kernel, sigma
        For ``recommendation="posterior"``: covariance function of f, noise of a reward.

    Raises
    ------
    ValueError
        For a value out of range.
    """

    label: str
    budget: int
    rule: Rule = "munos"
    delta_scale: float = 14.0
    delta_ratio: float = 0.5
    max_depth: int = 10
    risk: float = 0.1
    recommendation: Recommendation = "mean"
    one_evaluation_less: bool = False
    kernel: Any = field(default_factory=lambda: Stationary("rbf", 0.1, 0.05))
    sigma: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        if self.budget < 1:
            raise ValueError(f"budget must be at least 1 evaluation, got {self.budget}.")
        if not self.delta_scale > 0:
            raise ValueError(f"delta_scale must be positive, got {self.delta_scale}: it bounds how much f varies.")
        if not 0 < self.delta_ratio < 1:
            raise ValueError(f"delta_ratio must lie in (0, 1), got {self.delta_ratio}: cells shrink with depth.")
        if self.max_depth < 0:
            raise ValueError(f"max_depth must be at least 0, got {self.max_depth}.")
        if not 0 < self.risk < 1:
            raise ValueError(f"risk must lie in (0, 1), got {self.risk}.")
        if not self.sigma > 0:
            raise ValueError(f"sigma must be positive, got {self.sigma}.")
        for name, kind in (("rule", Rule), ("recommendation", Recommendation)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} must be one of {', '.join(get_args(kind))}, got {getattr(self, name)!r}.")

    @property
    def n_evaluations(self) -> int:
        """Evaluations that are really spent."""
        return self.budget - self.one_evaluation_less

    def as_coded(self) -> Stooo:
        """Return the algorithm with the named deviations of the authors' code, one class for both algorithms."""
        rule: Recommendation = "first_divided" if self.recommendation == "mean" else self.recommendation
        return replace(self, rule="published", recommendation=rule, one_evaluation_less=True)

    def delta(self, depths: IntArray) -> FloatArray:
        r"""Return :math:`\delta(h)`, in units of reward."""
        return self.delta_scale * self.delta_ratio ** np.asarray(depths, dtype=np.float64)

    def start(self, arms: Partition, streams: Streams) -> StoooState:
        """Return the state before the first evaluation."""
        check_partition(self.label, arms)
        covariance = CellKernel(self.kernel, arms)
        room = self.budget if self.recommendation == "posterior" else 0
        return StoooState(
            **new_posterior(streams.replications, room, covariance, streams.key(self.label)),
            incumbent=np.zeros(len(streams.replications), dtype=np.int64),
            partition=arms,
        )

    def _logarithm(self, n_rounds: IntArray) -> FloatArray:
        """Return the logarithm that every rule holds, shape of ``n_rounds``."""
        n = np.maximum(n_rounds + 1 if self.rule == "average" else np.full_like(n_rounds, self.n_evaluations), 1)
        return np.log(n.astype(np.float64) ** 2 / self.risk)

    def bounds(self, state: StoooState) -> FloatArray:
        """Return the b-values, shape (R, capacity); infinite for a node without rewards."""
        logarithm = self._logarithm(state.n_rounds)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.rule == "published":
                width = logarithm / (2.0 * state.draws)
            else:
                width = np.sqrt((2.0 if self.rule == "average" else 0.5) * logarithm / state.draws)
            values = state.totals / state.draws + width + self.delta(state.depths)
        return np.where(state.draws > 0, values, np.inf)

    def ask(self, state: StoooState) -> Ask:
        """Ask for the leaf with the largest b-value."""
        state.chosen[:] = largest(
            self.bounds(state), state.status == LEAF, state.cells, state.key, state.replications, state.n_rounds, False
        )
        asked = np.take_along_axis(state.cells, state.chosen[:, None], axis=1)
        return Ask(asked, (state.n_rounds < self.n_evaluations).astype(np.int64)[:, None])

    def tell(self, state: StoooState, asked: Ask, totals: FloatArray) -> None:
        """Learn a reward, and divide the cell once it has rewards enough."""
        counts = asked.counts[:, 0]
        rewards = np.where(counts > 0, totals[:, 0], np.nan)
        if self.recommendation == "posterior":
            learn(state, rewards, self.sigma**2)
        else:
            rows = np.flatnonzero(np.isfinite(rewards))
            state.draws[rows, state.chosen[rows]] += 1
            state.totals[rows, state.chosen[rows]] += self._as_average(state, rewards)[rows]
        logarithm = self._logarithm(state.n_rounds)
        state.n_rounds += counts
        here = np.arange(len(counts)), state.chosen
        depths, draws = state.depths[here], state.draws[here]
        if self.rule == "published":
            enough = draws**2 >= logarithm / 2.0
        else:
            enough = draws >= (2.0 if self.rule == "average" else 0.5) * logarithm / self.delta(depths) ** 2
        rows = np.flatnonzero((counts > 0) & (draws > 0) & enough & (depths <= self.max_depth))
        if not len(rows):
            return
        slots = state.chosen[rows]
        deeper = depths[rows] > state.depths[rows, state.incumbent[rows]]
        state.incumbent[rows] = np.where(deeper, slots, state.incumbent[rows])
        children = expand(state, state.partition, rows, slots)
        if self.recommendation == "posterior":
            introduce(state, np.repeat(rows, state.partition.arity), children.ravel())

    def _as_average(self, state: StoooState, rewards: FloatArray) -> FloatArray:
        if state.partition.feedback != "integral":
            return rewards
        depths = state.depths[np.arange(len(rewards)), state.chosen]
        return rewards / state.partition.widths(depths).prod(axis=-1)

    def finished(self, state: StoooState) -> BoolArray:
        """Return which replications have spent the budget."""
        return state.n_rounds >= self.n_evaluations

    def recommend(self, state: StoooState) -> IntArray:
        """Return the recommended cells, shape (R, 1): the root before the first division."""
        slots = state.incumbent
        if self.recommendation != "first_divided":
            deepest = np.where(state.status == EXPANDED, state.depths, -1).max(axis=1)
            among = (state.status == EXPANDED) & (state.depths == deepest[:, None])
            with np.errstate(invalid="ignore"):
                values = state.means if self.recommendation == "posterior" else state.totals / state.draws
            slots = largest(values, among, state.cells, state.key, state.replications, state.n_rounds, False)
        return np.take_along_axis(state.cells, np.maximum(slots, 0)[:, None], axis=1)

r"""StoOO and AVE-StoOO: optimistic optimisation with the empirical means of cells.

References
----------
.. [1] Munos. "From Bandits to Monte-Carlo Tree Search". Foundations and Trends in Machine Learning 2014. StoOO.
.. [2] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Appendix C, Algorithm 2.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bestarm.designs.partition_tree import LEAF
from bestarm.interface import Ask, FloatArray, IntArray
from bestarm.partition import Partition
from bestarm.policies.cells.cell_search import (
    DeltaSearch,
    DividedState,
    best_of,
    cells_at,
    deepest_divided,
    divide,
    learn,
)
from bestarm.presets import preset
from bestarm.streams import Streams

Rule = Literal["munos", "average", "as_coded"]
Recommendation = Literal["mean", "first_divided", "posterior"]


@dataclass(frozen=True)
class Stooo(DeltaSearch):
    r"""StoOO ([1]_) and AVE-StoOO ([2]_, Algorithm 2); the difference in feedback is the problem's.

    A leaf without rewards comes first; else the one with the largest :math:`\hat\mu+w+\delta(h)`. It is divided once it
    has enough rewards. Raises ValueError for a value out of range.

    Parameters
    ----------
    rule : {"munos", "average", "as_coded"}
        Width w and the rewards T that a division takes: :math:`\sqrt{\log(n^2/\eta)/2T}` and
        :math:`\log(n^2/\eta)/2\delta(h)^2` ([1]_); :math:`\sqrt{2\log(t^2/\theta)/T}` and
        :math:`2\log(t^2/\theta)/\delta(h)^2` ([2]_); *deviation*: :math:`\log(n^2/\eta)/2T` and
        :math:`\sqrt{\log(n^2/\eta)/2}`, in which :math:`\delta` has no part.
    risk : float
        :math:`\eta` or :math:`\theta`, in (0, 1).
    recommendation : {"mean", "first_divided", "posterior"}
        Among the deepest divided nodes: largest empirical mean; *deviation*: the first one divided; largest posterior
        mean under ``kernel`` and ``sigma``, an ablation.
    one_evaluation_less : bool
        *Deviation*: spend (and put into the rule) one evaluation less than the budget.
    kernel : Kernel or dict
        Covariance function of f, for ``recommendation="posterior"`` only.
    sigma : float
        Standard deviation of the noise of a reward, for ``recommendation="posterior"`` only.
    """

    rule: Rule = "munos"
    risk: float = 0.1
    recommendation: Recommendation = "mean"
    one_evaluation_less: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_risk("risk")
        self.check_choice("rule", Rule)
        self.check_choice("recommendation", Recommendation)

    @property
    def n_evaluations(self) -> int:
        """Evaluations that are really spent."""
        return self.budget - self.one_evaluation_less

    def as_coded(self) -> "Stooo":
        """Return the algorithm with the named deviations of the authors' code, one class for both algorithms."""
        rule: Recommendation = "first_divided" if self.recommendation == "mean" else self.recommendation
        return replace(self, rule="as_coded", recommendation=rule, one_evaluation_less=True)

    def start(self, arms: Partition, streams: Streams) -> DividedState:
        """Return the state before the first evaluation."""
        first = np.zeros(len(streams.replications), dtype=np.int64)
        room = self.budget if self.recommendation == "posterior" else 0
        return DividedState(**self.root_posterior(arms, streams, room=room), incumbent=first)

    def _logarithm(self, n_rounds: IntArray) -> FloatArray:
        """Return the logarithm that every rule holds, shape of ``n_rounds``."""
        n = np.maximum(n_rounds + 1 if self.rule == "average" else np.full_like(n_rounds, self.n_evaluations), 1)
        return np.log(n.astype(np.float64) ** 2 / self.risk)

    def bounds(self, state: DividedState) -> FloatArray:
        """Return the b-values, shape (R, capacity); infinite for a node without rewards."""
        logarithm = self._logarithm(state.n_rounds)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.rule == "as_coded":
                width = logarithm / (2.0 * state.draws)
            else:
                width = np.sqrt((2.0 if self.rule == "average" else 0.5) * logarithm / state.draws)
            values = state.totals / state.draws + width + self.delta(state.depths)
        return np.where(state.draws > 0, values, np.inf)

    def ask(self, state: DividedState) -> Ask:
        """Ask for the leaf with the largest b-value."""
        state.chosen[:] = best_of(state, self.bounds(state), state.status == LEAF)
        return self.asked(state)

    def tell(self, state: DividedState, asked: Ask, totals: FloatArray) -> None:
        """Learn a reward, and divide the cell once it has rewards enough."""
        counts = asked.counts[:, 0]
        with_posterior = self.recommendation == "posterior"
        learn(state, asked, totals, self.sigma**2 if with_posterior else None)
        logarithm = self._logarithm(state.n_rounds)
        state.n_rounds += counts
        here = np.arange(len(counts)), state.chosen
        depths, draws = state.depths[here], state.draws[here]
        if self.rule == "as_coded":
            enough = draws**2 >= logarithm / 2.0
        else:
            enough = draws >= (2.0 if self.rule == "average" else 0.5) * logarithm / self.delta(depths) ** 2
        rows = np.flatnonzero((counts > 0) & (draws > 0) & enough & (depths <= self.max_depth))
        if len(rows):
            divide(state, rows, state.chosen[rows], with_posterior=with_posterior)

    def recommend(self, state: DividedState) -> IntArray:
        """Return the recommended cells, shape (R, 1): the root before the first division."""
        if self.recommendation == "first_divided":
            return cells_at(state, state.incumbent)
        with np.errstate(invalid="ignore"):
            values = state.means if self.recommendation == "posterior" else state.totals / state.draws
        return cells_at(state, deepest_divided(state, values))


@preset
class MunosStooo(Stooo):
    """StoOO: the best region of a box, from rewards at the centres of cells."""

    label: str = "StoOO"


@preset
class AveStooo(Stooo):
    """AVE-StoOO: the best region of a box, from averages over cells."""

    label: str = "AVE-StoOO"
    rule: Rule = "average"

r"""Controls that search the equal cells of one depth: uniform, random, and upper confidence bounds of a GP.

Beside GPOO they show what its tree is worth: the uniform search has the same model and no tree, the random one neither.

References
----------
.. [1] Srinivas, Krause, Kakade, Seeger. "Gaussian Process Optimization in the Bandit Setting". ICML 2010. GP-UCB.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bestarm.designs.partition_tree import LEAF
from bestarm.interface import Ask, FloatArray, IntArray
from bestarm.models.cell_posterior import introduce
from bestarm.partition import Partition
from bestarm.policies.cells.cell_search import CellSearch, CellState, best_of, cells_at, check_partition, learn
from bestarm.policies.cells.gpoo import lemma1_beta
from bestarm.presets import preset
from bestarm.streams import Streams, uniform

Order = Literal["uniform", "random", "upper_bound"]


@dataclass
class GridState(CellState):
    """The state of a grid search for R replications."""

    order: IntArray = field(metadata={"shared": True})  # slots in the order of the uniform search


@dataclass(frozen=True)
class GridSearch(CellSearch):
    r"""Search the :math:`K^h` cells of one depth.

    Raises ValueError for a value out of range.

    Parameters
    ----------
    depth : int
        h; the cells have the same size.
    order : {"uniform", "random", "upper_bound"}
        Evaluate the cells in an order that is even at any time (the digits of the index, reversed), again and again; at
        random; or the cell with the largest :math:`\mu+\beta_t^{1/2}\sigma`, with the finite set's
        :math:`\beta_t=2\log(|D|t^2\pi^2/6\theta)` ([1]_, Theorem 1).
    by_posterior : bool
        Recommend the largest posterior mean of all cells, else the largest empirical mean of the evaluated ones.
    theta : float
        Risk of the upper bounds, in (0, 1).
    """

    depth: int = 6
    order: Order = "uniform"
    by_posterior: bool = True
    theta: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth < 1:
            raise ValueError(f"depth must be at least 1, got {self.depth}: the root alone is no grid.")
        self.check_risk("theta")
        self.check_choice("order", Order)

    def as_coded(self) -> "GridSearch":
        """Return the policy itself: it is no algorithm of the paper."""
        return self

    def start(self, arms: Partition, streams: Streams) -> GridState:
        """Return the state before the first evaluation."""
        check_partition(self.label, arms)
        if self.depth > arms.deepest or arms.arity**self.depth > 100_000:
            raise ValueError(f"a grid of depth {self.depth} has {arms.arity}^{self.depth} cells; take a smaller depth.")
        n, n_cells = len(streams.replications), arms.arity**self.depth
        state = GridState(
            **self.root_posterior(arms, streams, capacity=n_cells), order=_reversed_digits(n_cells, arms.arity)
        )
        state.cells[:] = arms.cell(self.depth, 0) + np.arange(n_cells)
        state.depths[:], state.status[:], state.n_nodes[:] = self.depth, LEAF, n_cells
        rows, slots = np.divmod(np.arange(n * n_cells), n_cells)
        introduce(state, rows, slots)
        return state

    def ask(self, state: GridState) -> Ask:
        """Ask for the next cell."""
        n_cells = len(state.order)
        if self.order == "uniform":
            state.chosen[:] = state.order[state.n_rounds % n_cells]
        elif self.order == "random":
            draws = [uniform(state.key, r, 0, t) for r, t in zip(state.replications, state.n_rounds, strict=True)]
            state.chosen[:] = (n_cells * np.array(draws)).astype(np.int64)
        else:
            beta = lemma1_beta(state.n_rounds + 1, self.theta / n_cells, 2, 0)
            values = state.means + np.sqrt(beta[:, None] * np.maximum(state.variances, 0.0))
            state.chosen[:] = best_of(state, values, state.live)
        return self.asked(state)

    def tell(self, state: GridState, asked: Ask, totals: FloatArray) -> None:
        """Learn a reward."""
        learn(state, asked, totals, self.sigma**2)
        state.n_rounds += asked.counts[:, 0]

    def recommend(self, state: GridState) -> IntArray:
        """Return the recommended cells, shape (R, 1): the root before the first evaluation."""
        with np.errstate(invalid="ignore"):
            values = state.means if self.by_posterior else state.totals / state.draws
        among = state.live if self.by_posterior else state.draws > 0
        cells = cells_at(state, best_of(state, values, among))
        return np.where(state.draws.sum(axis=1, keepdims=True) > 0, cells, 0)


def _reversed_digits(n_cells: int, arity: int) -> IntArray:
    """Return the order in which any beginning of the cells lies evenly: indices by their reversed digits."""
    order = np.zeros(1, dtype=np.int64)
    while len(order) < n_cells:
        order = np.concatenate([order + digit * (n_cells // (len(order) * arity)) for digit in range(arity)])
    return order


@preset
class NamedGrid(GridSearch):
    """Search of the equal cells of one depth: evenly, at random, or by upper bounds."""

    label: str = "grid"

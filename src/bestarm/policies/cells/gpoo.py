r"""GPOO: Gaussian process optimistic optimisation with aggregated feedback.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Algorithm 1, Lemma 1.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bestarm.designs.partition_tree import EXPANDED, LEAF, expand
from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.models.cell_posterior import introduce
from bestarm.partition import Partition
from bestarm.policies.cells.cell_search import (
    CellState,
    DeltaSearch,
    best_of,
    cells_at,
    deepest_divided,
    learn,
    noise_of_average,
)
from bestarm.presets import preset
from bestarm.streams import Streams

Beta = Literal["lemma1", "as_coded"]
Recommendation = Literal["deepest", "leaf", "lower_bound", "at_expansion"]


def lemma1_beta(n_rounds: IntArray, theta: float, arity: int, max_depth: int) -> FloatArray:
    r"""Return :math:`\beta_t=2\log(M\pi_t/\theta)`, :math:`M=\sum_h K^h` and :math:`\pi_t=\pi^2t^2/6` (Lemma 1)."""
    n_cells = sum(float(arity) ** h for h in range(max_depth + 1))
    return 2.0 * np.log(n_cells * np.pi**2 * np.asarray(n_rounds, dtype=np.float64) ** 2 / (6.0 * theta))


def coded_beta(n_rounds: IntArray) -> FloatArray:
    r"""Return :math:`0.1\log(\pi^2t^2/0.6)`, which the authors' code has in place of Lemma 1's."""
    return 0.1 * np.log(np.pi**2 * np.asarray(n_rounds, dtype=np.float64) ** 2 / 0.6)


@dataclass
class GpooState(CellState):
    """The state of GPOO for R replications."""

    deepest: IntArray  # greatest depth of an expanded node, -1 before the first expansion, (R,)
    incumbent: IntArray  # slot that the authors' code would recommend, (R,)
    reported: IntArray  # heap number of what it reports, (R,)
    born: IntArray  # slots from this one on were made since the last evaluation, (R,)


@dataclass(frozen=True)
class Gpoo(DeltaSearch):
    r"""GPOO ([1]_, Algorithm 1).

    Each round evaluates the leaf with the largest :math:`b=\mu+\beta_t^{1/2}\sigma+\delta(h)` and divides it if
    :math:`\delta(h)\geq\beta_t^{1/2}\sigma` after the evaluation and :math:`h\leq h_{\max}`.

    Raises ValueError for a value out of range.

    Parameters
    ----------
    theta : float
        Risk in (0, 1) of Lemma 1.
    beta : {"lemma1", "as_coded"}
        :math:`\beta_t`. *Deviation*: the authors' code has :math:`0.1\log(\pi^2t^2/0.6)`.
    constant_beta : bool
        Use :math:`\beta_N` in every round; no algorithm of a paper, it isolates what GPTree is said to suffer from.
    model_noise_variance : float, optional
        Noise variance that the model believes; default ``sigma**2``. *Deviation*: 0.005 in the authors' code.
    noise_in_width : bool
        *Deviation*: widths are those of a new reward, :math:`(\sigma_v^2+\text{noise})^{1/2}`.
    root_divided_first : bool
        *Deviation*: the root is never evaluated; it is divided at once and each child evaluated once.
    late_children : bool
        *Deviation*: children cannot be chosen in the round after their parent's division.
    late_beta : bool
        *Deviation*: the index of round t has :math:`\beta_{t-1}`.
    recommendation : {"deepest", "leaf", "lower_bound", "at_expansion"}
        Largest posterior mean among the deepest divided nodes (the paper's); among all leaves; largest lower bound
        :math:`\mu-\beta_t^{1/2}\sigma` among all nodes; *deviation*: the deepest node divided so far, replaced by an
        equally deep one if its mean is larger at that moment, and reported one division late.
    width_before : bool
        Divide by the width before the evaluation, the other reading of Algorithm 1, line 6.
    random_ties : bool
        Break ties at random, not in favour of the shallowest and then the first cell.
    independent_cells : bool
        Take different cells to be independent, so that no cell teaches anything of another; an ablation.
    """

    theta: float = 0.1
    beta: Beta = "lemma1"
    constant_beta: bool = False
    model_noise_variance: float | None = None
    noise_in_width: bool = False
    root_divided_first: bool = False
    late_children: bool = False
    late_beta: bool = False
    recommendation: Recommendation = "deepest"
    width_before: bool = False
    random_ties: bool = False
    independent_cells: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.noise_variance > 0:
            raise ValueError(f"model_noise_variance must be positive, got {self.model_noise_variance}.")
        self.check_risk("theta")
        self.check_choice("beta", Beta)
        self.check_choice("recommendation", Recommendation)

    @property
    def noise_variance(self) -> float:
        """Noise variance that the model believes."""
        return self.sigma**2 if self.model_noise_variance is None else self.model_noise_variance

    def as_coded(self) -> "Gpoo":
        """Return the algorithm with the named deviations of the authors' code."""
        return replace(
            self,
            beta="as_coded",
            model_noise_variance=0.005,
            noise_in_width=True,
            root_divided_first=True,
            late_children=True,
            late_beta=True,
            recommendation="at_expansion" if self.recommendation == "deepest" else self.recommendation,
        )

    def beta_of(self, n_rounds: IntArray, arity: int) -> FloatArray:
        r"""Return :math:`\beta_t`."""
        t: IntArray = np.full_like(n_rounds, self.budget) if self.constant_beta else np.maximum(n_rounds, 1)
        return coded_beta(t) if self.beta == "as_coded" else lemma1_beta(t, self.theta, arity, self.max_depth)

    def start(self, arms: Partition, streams: Streams) -> GpooState:
        """Return the state before the first evaluation."""
        n = len(streams.replications)
        state = GpooState(
            **self.root_posterior(arms, streams, independent=self.independent_cells),
            deepest=np.full(n, -1, dtype=np.int64),
            incumbent=np.zeros(n, dtype=np.int64),
            reported=np.zeros(n, dtype=np.int64),
            born=np.full(n, np.iinfo(np.int64).max),
        )
        if self.root_divided_first:
            self._divide(state, np.arange(n), np.zeros(n, dtype=np.int64))
        return state

    def widths(self, state: GpooState, n_rounds: IntArray) -> FloatArray:
        r"""Return :math:`CI_t=\beta_t^{1/2}\sigma` of all nodes, shape (R, capacity)."""
        return self.widths_of(state.variances, state.depths, n_rounds[:, None], state.partition)

    def widths_of(
        self, variances: FloatArray, depths: IntArray, n_rounds: IntArray, partition: Partition
    ) -> FloatArray:
        r"""Return :math:`\beta_t^{1/2}\sigma` for given variances, depths and rounds, which broadcast."""
        noise = noise_of_average(partition, depths, self.noise_variance) if self.noise_in_width else 0.0
        return np.sqrt(self.beta_of(n_rounds, partition.arity) * (np.maximum(variances, 0.0) + noise))

    def bounds(self, state: GpooState) -> FloatArray:
        """Return the b-values that decide the next evaluation, shape (R, capacity); only leaves have one."""
        return state.means + self.widths(state, state.n_rounds + (not self.late_beta)) + self.delta(state.depths)

    def ask(self, state: GpooState) -> Ask:
        """Ask for the leaf with the largest b-value; the authors' code divides the last one just before."""
        arity = state.partition.arity
        late = self.root_divided_first or self.late_children
        state.born[:] = np.iinfo(np.int64).max
        if late:
            self._divide_if_due(state, state.chosen, state.n_rounds >= (arity if self.root_divided_first else 1))
        among = state.status == LEAF
        if self.late_children:
            among &= np.arange(among.shape[1]) < state.born[:, None]
        state.chosen[:] = best_of(state, self.bounds(state), among, self.random_ties)
        if self.root_divided_first and (state.n_rounds < arity).all():
            state.chosen[:] = 1 + state.n_rounds  # the children of the root, in order
        return self.asked(state)

    def tell(self, state: GpooState, asked: Ask, totals: FloatArray) -> None:
        """Learn a reward, and divide the evaluated cell if its variation outweighs its uncertainty."""
        counts, arity = asked.counts[:, 0], state.partition.arity
        if (counts > 1).any():
            raise ValueError("GPOO evaluates one cell once a round; ask and tell must agree.")
        width_before = self.widths(state, state.n_rounds + 1) if self.width_before else None
        learn(state, asked, totals, self.noise_variance)
        state.n_rounds += counts
        if self.recommendation == "at_expansion":
            first = self.root_divided_first & (state.n_rounds <= arity)
            slots = np.where(first, state.chosen, state.incumbent)
            state.reported[:] = state.cells[np.arange(len(slots)), slots]
        if self.root_divided_first and (state.n_rounds == arity).all():
            # after the first K evaluations the code picks a leaf, and tests it before evaluating it
            state.chosen[:] = best_of(state, self.bounds(state), state.status == LEAF, self.random_ties)
        if not (self.root_divided_first or self.late_children):
            self._divide_if_due(state, state.chosen, counts > 0, width_before)

    def recommend(self, state: GpooState) -> IntArray:
        """Return the recommended cells, shape (R, 1): the root before the first division."""
        if self.recommendation == "at_expansion":
            return state.reported[:, None].copy()
        if self.recommendation == "deepest":
            slots = deepest_divided(state, state.means)
        elif self.recommendation == "leaf":
            slots = best_of(state, state.means, state.status == LEAF)
        else:
            slots = best_of(state, state.means - self.widths(state, state.n_rounds), state.live)
        return cells_at(state, slots)

    def _divide_if_due(
        self, state: GpooState, slots: IntArray, allowed: BoolArray, widths: FloatArray | None = None
    ) -> None:
        """Divide nodes whose possible variation is at least their width (Algorithm 1, lines 6 to 9)."""
        slots = np.maximum(slots, 0)
        here = np.arange(len(slots)), slots
        depth = state.depths[here]
        if widths is None:
            width = self.widths_of(state.variances[here], depth, state.n_rounds, state.partition)
        else:
            width = widths[here]
        due = (self.delta(depth) >= width) & (depth <= self.max_depth)
        rows = np.flatnonzero(allowed & due & (state.status[here] == LEAF))
        if len(rows):
            self._divide(state, rows, slots[rows])

    def _divide(self, state: GpooState, rows: IntArray, slots: IntArray) -> None:
        depths = state.depths[rows, slots]
        incumbents = state.incumbent[rows]
        deeper = depths > state.depths[rows, incumbents]
        as_deep = depths == state.depths[rows, incumbents]
        better = state.means[rows, slots] > state.means[rows, incumbents]
        state.incumbent[rows] = np.where(deeper | (as_deep & better), slots, incumbents)
        state.born[rows] = np.minimum(state.born[rows], state.n_nodes[rows])
        children = expand(state, state.partition, rows, slots)
        introduce(state, np.repeat(rows, state.partition.arity), children.ravel())
        state.deepest[rows] = np.maximum(state.deepest[rows], depths)
        # a divided node can still be recommended while none is deeper; the others need no posterior any more
        state.live &= ~((state.status == EXPANDED) & (state.depths < state.deepest[:, None]))


@preset
class NamedGpoo(Gpoo):
    """GPOO: the best region of a box, from averages over cells, with a Gaussian process."""

    label: str = "GPOO"

r"""GPTree: the Gaussian process tree search of Shekhar and Javidi, with constants derived here for their analysis.

References
----------
.. [1] Shekhar, Javidi. "Gaussian process bandits with adaptive discretization". Electronic Journal of Statistics 2018.
.. [2] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Section 5.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bestarm.designs.partition_tree import LEAF
from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.partition import Partition
from bestarm.policies.cells.cell_search import (
    CellSearch,
    DividedState,
    best_of,
    cells_at,
    deepest_divided,
    divide,
    learn,
    noise_of_average,
)
from bestarm.policies.cells.gpoo import coded_beta, lemma1_beta
from bestarm.presets import preset
from bestarm.settings import check_settings
from bestarm.streams import Streams

Beta = Literal["budget", "as_coded", "gpoo", "gpoo_as_coded"]


def first_largest(values: FloatArray, among: BoolArray) -> IntArray:
    """Return the slot of the largest value in each replication, shape (R,); of equal ones the oldest.

    Far from all observations indices differ by less than 1e-9 and still rank leaves, as means are tiny, not 0.
    """
    return np.where(among, values, -np.inf).argmax(axis=1)


@dataclass(frozen=True)
class GpTree(CellSearch):
    r"""GPTree ([1]_, tree algorithm).

    The leaf with the largest :math:`I=\min\{\mu+\beta_n\sigma,\ \mu_{pa}+\beta_n\sigma_{pa}+V_{h-1}\}+V_h` is divided
    at no cost if :math:`\beta_n\sigma\leq V_h` and :math:`h\leq h_{\max}`, else evaluated. Raises ValueError for a
    value out of range.

    Parameters
    ----------
    holder : float
        :math:`\alpha`, exponent of the canonical metric's modulus g.
    slope : float, optional
        g(r) = slope * r; default :math:`\sqrt v/\ell`, which bounds the canonical metric of a squared exponential
        kernel. *Deviation*: 0.1 in the authors' code.
    cell_ratio, cell_radius : float
        :math:`\rho` and :math:`v_1`: cells at depth h lie in balls of radius :math:`v_1\rho^h`; default 1/K and half of
        the longest side. *Deviation*: 1/2 and 1.
    risk_exponent : float
        u: the events of the analysis hold with probability :math:`1-e^{-u}`.
    c2, c3, metric_dimension : float
        :math:`C_2, C_3, D_1`.
    theta : float
        Risk in :math:`\beta_n`, as in Lemma 1 of [2]_.
    beta : {"budget", "as_coded", "gpoo", "gpoo_as_coded"}
        :math:`\beta_n=\sqrt{2\log(Mn^2\pi^2/6\theta)}`; *deviation*: :math:`0.25\sqrt{\log n+u}`; the square root of
        GPOO's growing :math:`\beta_t`, as written or as coded, an ablation.
    model_noise_variance : float, optional
        Noise variance that the model believes; default ``sigma**2``. *Deviation*: 0.005.
    noise_in_width : bool
        *Deviation*: widths are those of a new reward.
    root_evaluated_first : bool
        *Deviation*: the root is evaluated before anything is divided.
    first_divided : bool
        *Deviation*: recommend the first node divided at the greatest depth, not the one of largest posterior mean.
    exact_ties : bool
        *Deviation*: indices are compared bit by bit, and of equal ones the node made first is chosen. Without it
        indices within 1e-9 of each other are equal, and the shallowest, then the first cell is chosen.
    """

    holder: float = 1.0
    slope: float | None = None
    cell_ratio: float | None = None
    cell_radius: float | None = None
    risk_exponent: float = 2.0
    c2: float = 1.0
    c3: float = 1.0
    metric_dimension: float = 1.0
    theta: float = 0.1
    beta: Beta = "budget"
    model_noise_variance: float | None = None
    noise_in_width: bool = False
    root_evaluated_first: bool = False
    first_divided: bool = False
    exact_ties: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        names = ("holder", "slope", "cell_radius", "model_noise_variance")
        check_settings(self, positive=names, shares=("theta", "cell_ratio"))

    @property
    def noise_variance(self) -> float:
        """Noise variance that the model believes."""
        return self.sigma**2 if self.model_noise_variance is None else self.model_noise_variance

    def as_coded(self) -> "GpTree":
        """Return the algorithm with the named deviations and the constants of the authors' code."""
        return replace(
            self,
            holder=0.5,
            slope=0.1,
            cell_ratio=0.5,
            cell_radius=1.0,
            beta="gpoo_as_coded" if self.beta == "gpoo" else "as_coded",
            model_noise_variance=0.005,
            noise_in_width=True,
            root_evaluated_first=True,
            first_divided=True,
            exact_ties=True,
        )

    def max_depth(self, partition: Partition) -> float:
        r"""Return :math:`h_{\max}=\log n\,(1+1/\alpha)/(2\alpha\log(1/\rho))` of [1]_."""
        ratio = self._ratio(partition)
        return float(np.log(self.budget) * (1.0 + 1.0 / self.holder) / (2.0 * self.holder * np.log(1.0 / ratio)))

    def variation(self, depths: IntArray, partition: Partition) -> FloatArray:
        r"""Return :math:`V_h`, how much f may vary in a cell ([1]_, Claim 2); a negative radicand counts as 0."""
        depths = np.asarray(depths, dtype=np.float64)
        radius = self.cell_radius or float(np.max(np.subtract(partition.upper, partition.lower))) / 2.0
        modulus = self._slope() * radius * self._ratio(partition) ** depths
        c4 = self.c2 + 2.0 * np.log(self.budget**2 * np.pi**2 / 6.0)
        radicand = 2.0 * self.risk_exponent + c4 + depths * np.log(partition.arity)
        radicand = radicand + 4.0 * self.metric_dimension * np.log(1.0 / modulus)
        return 4.0 * modulus * (np.sqrt(np.maximum(radicand, 0.0)) + self.c3)

    def _ratio(self, partition: Partition) -> float:
        return 1.0 / partition.arity if self.cell_ratio is None else self.cell_ratio

    def _slope(self) -> float:
        if self.slope is not None:
            return self.slope
        return float(np.sqrt(np.min(np.asarray(self.kernel.variance))) / np.min(np.asarray(self.kernel.lengthscale)))

    def multiplier(self, n_rounds: IntArray, partition: Partition) -> FloatArray:
        r"""Return what multiplies :math:`\sigma`, shape of ``n_rounds``."""
        depth = int(min(self.max_depth(partition), partition.deepest))
        t = np.maximum(n_rounds, 1)
        if self.beta == "as_coded":
            return np.full(np.shape(t), 0.25 * np.sqrt(np.log(self.budget) + self.risk_exponent))
        if self.beta == "gpoo_as_coded":
            return np.sqrt(coded_beta(t))
        t = np.full_like(t, self.budget) if self.beta == "budget" else t
        return np.sqrt(lemma1_beta(t, self.theta, partition.arity, depth))

    def start(self, arms: Partition, streams: Streams) -> DividedState:
        """Return the state before the first evaluation."""
        first = np.zeros(len(streams.replications), dtype=np.int64)
        return DividedState(**self.root_posterior(arms, streams), incumbent=first)

    def upper_bounds(self, state: DividedState) -> tuple[FloatArray, FloatArray]:
        r"""Return :math:`\beta_n\sigma` and the index I of all nodes, each of shape (R, capacity)."""
        partition = state.partition
        noise = noise_of_average(partition, state.depths, self.noise_variance) if self.noise_in_width else 0.0
        multiplier = self.multiplier(state.n_rounds, partition)[:, None]
        widths = multiplier * np.sqrt(np.maximum(state.variances, 0.0) + noise)
        upper, parents = state.means + widths, np.maximum(state.parents, 0)
        variation = self.variation(np.arange(-1, int(state.depths.max()) + 1), partition)  # of depths -1, 0, 1, ...
        by_parent = np.take_along_axis(upper, parents, axis=1) + variation[state.depths]
        index = np.where(state.parents >= 0, np.minimum(upper, by_parent), upper)
        return widths, index + variation[state.depths + 1]

    def ask(self, state: DividedState) -> Ask:
        """Divide leaves as long as the best one's variation outweighs its uncertainty, then ask for the best one."""
        partition = state.partition
        searching = state.n_rounds < self.budget
        if self.root_evaluated_first:
            searching = searching & (state.n_rounds > 0)
        deepest = min(self.max_depth(partition), partition.deepest - 1)
        while True:
            widths, index = self.upper_bounds(state)
            leaves = state.status == LEAF
            state.chosen[:] = first_largest(index, leaves) if self.exact_ties else best_of(state, index, leaves)
            here = np.arange(len(state.chosen)), state.chosen
            depths = state.depths[here]
            divided = searching & (widths[here] <= self.variation(depths, partition)) & (depths <= deepest)
            rows = np.flatnonzero(divided)
            if not len(rows):
                break
            divide(state, rows, state.chosen[rows])
        return self.asked(state)

    def tell(self, state: DividedState, asked: Ask, totals: FloatArray) -> None:
        """Learn a reward."""
        learn(state, asked, totals, self.noise_variance)
        state.n_rounds += asked.counts[:, 0]

    def recommend(self, state: DividedState) -> IntArray:
        """Return the recommended cells, shape (R, 1): the root before the first division."""
        return cells_at(state, state.incumbent if self.first_divided else deepest_divided(state, state.means))


@preset
class NamedGpTree(GpTree):
    """GPTree: the best region of a box, from rewards of cells, with a Gaussian process."""

    label: str = "GPTree"

"""The common parts of searches over cells: settings, state, and the choice among nodes."""

from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from bestarm.designs.partition_tree import EXPANDED, expand, largest
from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.kernels import Kernel, Stationary
from bestarm.models.cell_kernel import CellKernel
from bestarm.models.cell_posterior import CellPosterior, introduce, new_posterior, observe
from bestarm.partition import Partition
from bestarm.settings import check_kernel, check_settings
from bestarm.streams import Streams


@dataclass
class CellState(CellPosterior):
    """The state of a search over cells for R replications."""

    partition: Partition = field(metadata={"shared": True})


@dataclass
class DividedState(CellState):
    """A state in which ``incumbent`` is the slot first divided at the greatest depth, shape (R,)."""

    incumbent: IntArray


@dataclass(frozen=True)
class CellSearch:
    """A search that evaluates one cell a round.

    Raises ValueError for a value out of range.

    Parameters
    ----------
    label : str
        Name in the paper; keys random choices.
    budget : int
        Number of evaluations.
    kernel : Kernel or dict
        Covariance function of f: `bestarm.kernels.Stationary`, its settings, or a GPy kernel.
    sigma : float
        Standard deviation of the noise of a reward.
    """

    label: str
    budget: int
    kernel: Any = field(default_factory=lambda: Stationary("rbf", 0.1, 0.05))
    sigma: float = 0.1

    def __post_init__(self) -> None:
        check_settings(self, positive=("sigma",), budget=1)
        object.__setattr__(self, "kernel", as_kernel(self.kernel))

    def check_risk(self, name: str) -> None:
        """Refuse a risk that is no probability."""
        if not 0 < getattr(self, name) < 1:
            raise ValueError(f"{name} must lie in (0, 1), got {getattr(self, name)}: it is a risk.")

    def check_choice(self, name: str, kind: Any) -> None:
        """Refuse a setting that is none of the values of a literal type."""
        if getattr(self, name) not in get_args(kind):
            raise ValueError(f"{name} must be one of {', '.join(get_args(kind))}, got {getattr(self, name)!r}.")

    @property
    def n_evaluations(self) -> int:
        """Evaluations that are really spent."""
        return self.budget

    def root_posterior(
        self, arms: Any, streams: Streams, *, room: int | None = None, capacity: int = 64, independent: bool = False
    ) -> dict[str, Any]:
        """Return the fields of a state before the first evaluation, with room for so many observations and nodes."""
        check_partition(self.label, arms)
        covariance = CellKernel(self.kernel, arms, independent=independent)
        room = self.budget if room is None else room
        fields = new_posterior(streams.replications, room, covariance, streams.key(self.label), capacity=capacity)
        return fields | {"partition": arms}

    def asked(self, state: CellState) -> Ask:
        """Return the request for the chosen cells, of nothing once the budget is spent."""
        return Ask(cells_at(state, state.chosen), (state.n_rounds < self.n_evaluations).astype(np.int64)[:, None])

    def finished(self, state: CellState) -> BoolArray:
        """Return which replications have spent the budget."""
        return state.n_rounds >= self.n_evaluations


@dataclass(frozen=True)
class DeltaSearch(CellSearch):
    r"""A search with a bound on how much f varies in a cell: at most :math:`\delta(h)=c\rho^h` at depth h.

    Parameters
    ----------
    delta_scale : float
        c of :math:`\delta(h)=c\rho^h`, how much f may vary in a cell of depth h, in units of reward.
    delta_ratio : float
        :math:`\rho`, in (0, 1); in d > 1 dimensions a side is halved once in d depths, so :math:`2^{-1/d}` is natural.
    max_depth : int
        Nodes down to this depth may be divided.
    """

    delta_scale: float = 14.0
    delta_ratio: float = 0.5
    max_depth: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, positive=("delta_scale",), shares=("delta_ratio",), max_depth=0)

    def delta(self, depths: IntArray) -> FloatArray:
        r"""Return :math:`\delta(h)`, in units of reward."""
        return self.delta_scale * self.delta_ratio ** np.asarray(depths, dtype=np.float64)


def as_kernel(kernel: Any) -> Kernel:
    """Return a kernel from settings (``family, variance, lengthscale``), or the kernel that was given."""
    check_kernel(kernel)
    return Stationary(**kernel) if isinstance(kernel, dict) else kernel


def check_partition(label: str, arms: Any) -> None:
    """Refuse arms that are no cells."""
    if not isinstance(arms, Partition):
        raise ValueError(f"{label} searches the cells of a bestarm.partition.Partition, got {type(arms).__name__}.")


def best_of(state: CellState, values: FloatArray, among: BoolArray, random_ties: bool = False) -> IntArray:
    """Return the slot of the largest value among some nodes of each replication, -1 where there is none."""
    return largest(values, among, state.cells, state.key, state.replications, state.n_rounds, random_ties)


def deepest_divided(state: CellState, values: FloatArray) -> IntArray:
    """Return the slot of the largest value among the deepest divided nodes, -1 before the first division."""
    deepest = np.where(state.status == EXPANDED, state.depths, -1).max(axis=1)
    return best_of(state, values, (state.status == EXPANDED) & (state.depths == deepest[:, None]))


def cells_at(state: CellState, slots: IntArray) -> IntArray:
    """Return the cells in these slots, shape (R, 1); the root for slot -1."""
    return np.take_along_axis(state.cells, np.maximum(slots, 0)[:, None], axis=1)


def divide(state: DividedState, rows: IntArray, slots: IntArray, *, with_posterior: bool = True) -> None:
    """Divide one node in each of some replications; the first one at a new depth becomes the incumbent."""
    incumbents = state.incumbent[rows]
    deeper = state.depths[rows, slots] > state.depths[rows, incumbents]
    state.incumbent[rows] = np.where(deeper, slots, incumbents)
    children = expand(state, state.partition, rows, slots)
    if with_posterior:
        introduce(state, np.repeat(rows, state.partition.arity), children.ravel())


def noise_of_average(partition: Partition, depths: IntArray, noise_variance: float) -> FloatArray:
    """Return the noise variance of a cell's average reward: an integral is the average times the volume."""
    if partition.feedback != "integral":
        return np.full(np.shape(depths), noise_variance)
    return noise_variance / partition.widths(depths).prod(axis=-1) ** 2


def learn(state: CellState, asked: Ask, totals: FloatArray, noise_variance: float | None) -> None:
    """Learn the rewards of the chosen nodes; without a noise variance only their means, not the posterior.

    A reward that is NaN teaches nothing, and neither does one that was not asked for.
    """
    partition, slots = state.partition, np.maximum(state.chosen, 0)
    depths = state.depths[np.arange(len(slots)), slots]
    rewards = np.where(asked.counts[:, 0] > 0, totals[:, 0], np.nan)
    if partition.feedback == "integral":
        rewards = rewards / partition.widths(depths).prod(axis=-1)
    if noise_variance is not None:
        observe(state, slots, rewards, noise_of_average(partition, depths, noise_variance))
    rows = np.flatnonzero(np.isfinite(rewards))
    state.draws[rows, slots[rows]] += 1
    state.totals[rows, slots[rows]] += rewards[rows]

"""A function on a box, searched through noisy averages over cells (Equations 1 and 3)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numba import njit

from bestarm.interface import Ask, FloatArray, IntArray
from bestarm.kernels import quadrature
from bestarm.partition import CellTally, Partition
from bestarm.streams import Streams, standard_normal


@njit(cache=True)
def _noisy_totals(
    key: np.uint64,
    replications: IntArray,
    cells: IntArray,
    counts: IntArray,
    before: IntArray,
    means: FloatArray,
    sigma: float,
) -> FloatArray:
    """Return the totals of n pulls each, n mu + sigma sqrt(n) z with one normal z."""
    totals = np.zeros(cells.shape)
    for r in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            n = counts[r, j]
            if n > 0:
                noise = standard_normal(key, replications[r], cells[r, j], before[r, j])
                totals[r, j] = n * means[r, j] + sigma * np.sqrt(n) * noise
    return totals


@dataclass(frozen=True)
class CellBandit:
    r"""Cells whose rewards are :math:`N(\bar F(X_{h,i}), \sigma^2)` (Equation 1).
    ``label`` keys the noise; ``function``: f, points of shape (n, d) to values (n,), or a `KernelExpansion` with one a
    replication; ``sigma``: standard deviation of a reward; ``optimum``: (point, value), by default the best of
    ``n_points`` in one dimension (1000 in Appendix E, so that a regret can be slightly negative). Raises ValueError if
    sigma is not positive, without an optimum in d > 1, or if f returns another shape or what is not finite."""

    label: str
    function: Callable[[FloatArray], FloatArray]
    partition: Partition
    sigma: float = 0.1
    optimum: tuple[tuple[float, ...], float] | None = None
    n_points: int = 1000

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise ValueError(f"sigma must be positive, got {self.sigma}.")
        if self.optimum is None and self.partition.n_dimensions > 1:
            raise ValueError("in more than one dimension the optimum must be given: (point, value).")

    @property
    def arms(self) -> Partition:
        """The cells."""
        return self.partition

    def evaluate(self, x: FloatArray) -> FloatArray:
        """Return f at points of shape (..., d), shape (...), and refuse what is no value.
        Where every replication has its own function, the leading axis of ``x`` is R."""
        if self.has_own_functions:
            values = np.asarray(self.function(x), dtype=np.float64)
        else:
            flat = np.asarray(self.function(x.reshape(-1, x.shape[-1])), dtype=np.float64)
            if flat.shape != (x.size // x.shape[-1],):
                raise ValueError(
                    f"the function of {self.label} must return one value for each point, shape "
                    f"({x.size // x.shape[-1]},) for points of shape {x.reshape(-1, x.shape[-1]).shape}, got shape "
                    f"{flat.shape}."
                )
            values = flat.reshape(x.shape[:-1])
        if not np.isfinite(values).all():
            place = tuple(np.argwhere(~np.isfinite(values))[0])
            raise ValueError(
                f"the function of {self.label} returns {values[place]} at {x[place].tolist()}; it must be finite on "
                "the whole box. Restrict the box, or return a low value there."
            )
        return values

    @property
    def has_own_functions(self) -> bool:
        """Whether every replication has its own function."""
        return getattr(self.function, "weights", np.empty(0)).ndim == 2

    @cached_property
    def best(self) -> tuple[FloatArray, FloatArray]:
        """Where f is largest, shape (1 or R, d), and how large, shape (1 or R,)."""
        if self.optimum is not None:
            return np.array([self.optimum[0]], dtype=np.float64), np.array([self.optimum[1]])
        grid = np.linspace(self.partition.lower[0], self.partition.upper[0], self.n_points)[:, None]
        values = self._on(grid)
        places = values.argmax(axis=1)
        return grid[places], values[np.arange(len(values)), places]

    def _on(self, points: FloatArray) -> FloatArray:
        """Return f at points of shape (n, d) that all replications share, shape (1 or R, n)."""
        if not self.has_own_functions:
            return self.evaluate(points)[None]
        n_functions = len(self.function.weights)  # type: ignore[attr-defined]
        return self.evaluate(np.broadcast_to(points, (n_functions, *points.shape)))

    @cached_property
    def peak(self) -> FloatArray:
        r"""Ends of the interval around :math:`x^*` in which :math:`f\geq f^*-0.05`, shape (1 or R, 2); d = 1."""
        grid = np.linspace(self.partition.lower[0], self.partition.upper[0], 10_000)
        where, best = self.best
        ends = []
        for high, x in zip(self._on(grid[:, None]) >= best[:, None] - 0.05, where[:, 0], strict=True):
            middle = int(np.searchsorted(grid, x))
            below = np.flatnonzero(~high[:middle])
            above = np.flatnonzero(~high[middle:])
            ends.append(
                (
                    grid[below[-1] + 1] if len(below) else grid[0],
                    grid[middle + above[0] - 1] if len(above) else grid[-1],
                )
            )
        return np.array(ends)

    def cell_values(self, cells: IntArray) -> FloatArray:
        """Return the average of f that a reward of each cell is about, shape (R, b).
        With integral feedback it is the average as well, in units of f; rewards are the average times the volume."""
        if self.partition.feedback != "representatives":
            return self.cell_averages(cells)
        if self.has_own_functions:
            points = self.partition.representatives(cells)  # (R, b, S, d)
            return self.evaluate(points).mean(axis=-1)
        known, places = np.unique(cells, return_inverse=True)
        values: FloatArray = self.evaluate(self.partition.representatives(known)).mean(axis=-1)
        return values[places].reshape(cells.shape)

    def cell_averages(self, cells: IntArray) -> FloatArray:
        """Return the average of f over whole cells, shape (R, b): closed form where f has one, else quadrature."""
        average: Any = getattr(self.function, "average", None)
        if average is not None:
            return np.asarray(average(*self.partition.bounds(cells)))
        known, places = np.unique(cells, return_inverse=True)
        values = []
        for lower, upper in zip(*self.partition.bounds(known), strict=True):
            nodes, weights = quadrature(lower, upper, 0.05 * float(np.max(upper - lower)))
            values.append(float(weights @ self.evaluate(nodes)))
        return np.array(values)[places].reshape(cells.shape)

    def rewards(self, asked: Ask, pulled: CellTally, streams: Streams) -> FloatArray:
        """Draw the sums of rewards; the noise is that of (replication, cell, how often the cell was drawn)."""
        means = self.cell_values(asked.arms)
        if self.partition.feedback == "integral":
            means = means * self.partition.widths(self.partition.depth(asked.arms)).prod(axis=-1)
        before = pulled.add(asked.arms, asked.counts)
        return _noisy_totals(
            streams.key("noise"), streams.replications, asked.arms, asked.counts, before, means, self.sigma
        )

    def take(self, rows: IntArray) -> Self:
        """Return the problem for a subset of the replications."""
        return replace(self, function=self.function.take(rows)) if self.has_own_functions else self  # type: ignore[attr-defined]

r"""A box divided again and again into K equal parts: the arms of a continuous problem are the cells of this tree.

A cell is named by its heap number: the root is 0, the children of cell c are Kc + 1, ..., Kc + K. The cells of one
depth have the same shape, because each division cuts the side that is longest at that depth.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Section 2, Appendix E.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.settings import check_settings

Feedback = Literal["representatives", "average", "integral"]


@dataclass
class CellTally:
    """How often each cell was pulled: a list for each replication, since there are too many cells for an array."""

    cells: IntArray  # heap numbers in the order of their first pull, (R, capacity)
    counts: IntArray  # their pulls
    n_cells: IntArray  # how many entries are in use, (R,)

    def add(self, cells: IntArray, counts: IntArray) -> IntArray:
        """Add pulls, shape (R, b), and return how often each of these cells had been pulled before, shape (R, b)."""
        while self.n_cells.max(initial=0) + cells.shape[1] > self.cells.shape[1]:
            self.cells = np.concatenate([self.cells, np.zeros_like(self.cells)], axis=1)
            self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)], axis=1)
        return _add_pulls(self.cells, self.counts, self.n_cells, cells, counts)


@njit(cache=True)
def _add_pulls(known: IntArray, pulls: IntArray, n_known: IntArray, cells: IntArray, counts: IntArray) -> IntArray:
    """Count pulls of cells in place, and return how often each cell had been pulled before."""
    before = np.zeros_like(cells)
    for r in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            if counts[r, j] == 0:
                continue
            # the place of the cell among those known, or a new one
            place = n_known[r]
            for k in range(n_known[r]):
                if known[r, k] == cells[r, j]:
                    place = k
                    break
            if place == n_known[r]:
                known[r, place] = cells[r, j]
                pulls[r, place] = 0
                n_known[r] += 1
            before[r, j] = pulls[r, place]
            pulls[r, place] += counts[r, j]
    return before


class Numbering(NamedTuple):
    """The heap numbers of cells: the first of each depth, the side cut there, how often each side is cut by then, K."""

    first_numbers: IntArray  # (deepest + 2,)
    cuts: IntArray  # (deepest,)
    n_cuts: IntArray  # (deepest + 1, d)
    arity: int


@njit(cache=True)
def coordinates_of(index: int, depth: int, cuts: IntArray, arity: int, found: IntArray) -> None:
    """Write which of the equal pieces of each side a cell (h, i) is, from the digits of its index."""
    found[:] = 0
    power = arity ** (depth - 1) if depth > 0 else 0
    for level in range(depth):
        side = cuts[level]
        found[side] = found[side] * arity + index // power
        index %= power
        power //= arity


@njit(cache=True)
def _coordinates(cells: IntArray, first_numbers: IntArray, cuts: IntArray, n_cuts: IntArray, arity: int) -> IntArray:
    found = np.empty((len(cells), n_cuts.shape[1]), np.int64)
    for i in range(len(cells)):
        h = 0
        while first_numbers[h + 1] <= cells[i]:
            h += 1
        coordinates_of(cells[i] - first_numbers[h], h, cuts, arity, found[i])
    return found


@dataclass(frozen=True)
class Partition:
    r"""The cells of a box, and what is observed of a cell.

    Raises ValueError if K < 2 or S < 1, or if a side has no positive, finite length.

    Parameters
    ----------
    arity : int
        K, into how many parts a cell is divided.
    n_representatives : int
        S, the representative points of a cell: the centres of S equal parts. The parts are cut by the prime factors of
        S, the largest first, each cutting the longest side left; in one dimension they are S equal intervals.
    lower, upper : tuple of float
        Corners of the box.
    feedback : {"representatives", "average", "integral"}
        What the mean reward of a cell is: the average of f over its representatives ([1]_, Equation 1), over the whole
        cell, or the integral over it ([1]_, Appendix D).
    """

    arity: int = 2
    n_representatives: int = 1
    lower: tuple[float, ...] = (0.0,)
    upper: tuple[float, ...] = (1.0,)
    feedback: Feedback = "representatives"

    def __post_init__(self) -> None:
        check_settings(self, arity=2, n_representatives=1)
        if len(self.lower) != len(self.upper) or not self.lower:
            raise ValueError(f"lower and upper need one entry for each dimension, got {self.lower} and {self.upper}.")
        for low, high in zip(self.lower, self.upper, strict=True):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise ValueError(f"a side must go from a smaller to a larger number, got [{low}, {high}].")

    @property
    def n_dimensions(self) -> int:
        """Dimension of the space."""
        return len(self.lower)

    @cached_property
    def deepest(self) -> int:
        """The greatest depth whose heap numbers fit into int64 and whose cells floating point can tell apart."""
        depth, n_cells = 0, 1
        sides = np.subtract(self.upper, self.lower)
        spacing = 8.0 * np.spacing(np.maximum(np.abs(self.lower), np.abs(self.upper)))
        while n_cells * self.arity < 2**61:
            longest = int(np.argmax(sides))
            sides[longest] /= self.arity
            if sides[longest] < self.n_representatives * spacing[longest]:
                break
            depth, n_cells = depth + 1, n_cells * self.arity
        return depth

    @cached_property
    def _cuts(self) -> IntArray:
        """Which side is cut at each depth, shape (deepest,)."""
        sides, cuts = np.subtract(self.upper, self.lower), []
        for _ in range(self.deepest):
            cuts.append(int(np.argmax(np.round(sides / sides.max(), 9))))  # equal sides are equal up to rounding
            sides[cuts[-1]] /= self.arity
        return np.array(cuts, dtype=np.int64)

    @cached_property
    def _first_numbers(self) -> IntArray:
        """Heap number of the first cell of each depth, shape (deepest + 2,)."""
        return np.cumsum(np.array([0] + [self.arity**h for h in range(self.deepest + 1)], dtype=np.int64))

    @cached_property
    def n_cuts(self) -> IntArray:
        """How often each side is cut down to each depth, shape (deepest + 1, d)."""
        cut = self._cuts[:, None] == np.arange(self.n_dimensions)
        return np.concatenate([np.zeros((1, self.n_dimensions), dtype=np.int64), np.cumsum(cut, axis=0)])

    @cached_property
    def numbering(self) -> Numbering:
        """Return what compiled code needs to read heap numbers."""
        return Numbering(self._first_numbers, self._cuts, self.n_cuts, self.arity)

    def depth(self, cells: IntArray) -> IntArray:
        """Return the depth h of cells."""
        return np.searchsorted(self._first_numbers, cells, side="right") - 1

    def index(self, cells: IntArray) -> IntArray:
        """Return the index i of cells within their depth."""
        return cells - self._first_numbers[self.depth(cells)]

    def cell(self, depth: int, index: int) -> int:
        """Return the heap number of cell (h, i)."""
        if not (0 <= depth <= self.deepest and 0 <= index < self.arity**depth):
            raise ValueError(f"there is no cell ({depth}, {index}) with K = {self.arity}.")
        return int(self._first_numbers[depth]) + index

    def children(self, cells: IntArray) -> IntArray:
        """Return the children of cells, shape (..., K)."""
        return self.arity * np.asarray(cells)[..., None] + np.arange(1, self.arity + 1)

    def parent(self, cells: IntArray) -> IntArray:
        """Return the parents of cells; the root's is -1."""
        return np.where(np.asarray(cells) > 0, (np.asarray(cells) - 1) // self.arity, -1)

    def widths(self, depth: IntArray) -> FloatArray:
        """Return the sides of the cells of a depth, shape (..., d)."""
        return self._widths[depth]

    @cached_property
    def _widths(self) -> FloatArray:
        return np.subtract(self.upper, self.lower) * float(self.arity) ** -self.n_cuts

    def coordinates(self, cells: IntArray) -> IntArray:
        """Return which of the equal pieces of each side of the box a cell is, shape (..., d)."""
        cells = np.asarray(cells, dtype=np.int64)
        return _coordinates(cells.ravel(), *self.numbering).reshape(*cells.shape, self.n_dimensions)

    def bounds(self, cells: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper corners of cells, each of shape (..., d)."""
        widths = self._widths[self.depth(np.asarray(cells))]
        lower = np.asarray(self.lower) + self.coordinates(cells) * widths
        return lower, lower + widths

    def centres(self, cells: IntArray) -> FloatArray:
        """Return the centres of cells, shape (..., d)."""
        lower, upper = self.bounds(cells)
        return (lower + upper) / 2.0

    @cached_property
    def _offsets(self) -> FloatArray:
        """Where the representatives of each depth lie in a cell, as parts of its sides, shape (deepest + 1, S, d)."""
        factors, rest, factor = [], self.n_representatives, 2
        while rest > 1:
            while rest % factor == 0:
                factors.append(factor)
                rest //= factor
            factor += 1
        found = np.empty((self.deepest + 1, self.n_representatives, self.n_dimensions))
        for depth, widths in enumerate(self._widths):
            pieces = np.ones(self.n_dimensions, dtype=np.int64)
            for factor in reversed(factors):
                pieces[int(np.argmax(np.round(widths / pieces / widths.max(), 9)))] *= factor
            sides = [(np.arange(n) + 0.5) / n for n in pieces]
            found[depth] = np.stack([g.ravel() for g in np.meshgrid(*sides, indexing="ij")], axis=1)
        return found

    @property
    def shapes(self) -> tuple[FloatArray, FloatArray]:
        """Sides of the cells of each depth, (deepest + 1, d), and where their representatives lie, as parts of them."""
        return self._widths, self._offsets

    def representatives(self, cells: IntArray) -> FloatArray:
        """Return the representative points of cells, shape (..., S, d)."""
        depth = self.depth(cells)
        pieces = self.coordinates(cells)[..., None, :] + self._offsets[depth]
        return np.asarray(self.lower) + pieces * self._widths[depth][..., None, :]

    def no_pulls(self, n_replications: int) -> CellTally:
        """Return the tally before the first pull."""
        empty = np.zeros((n_replications, 64), dtype=np.int64)
        return CellTally(empty, empty.copy(), np.zeros(n_replications, dtype=np.int64))

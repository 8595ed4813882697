r"""Covariances of the mean rewards of cells, each computed once and shared by all replications.

The mean rewards of two cells u and v have the covariance :math:`\bar k(u, v)=a^\top k(X_u, X_v)\,a` ([1]_, Equation 4),
so a Gaussian process observed through averages is ordinary Gaussian process regression on cells. A stationary kernel
makes it a function of the two depths and the distance of the centres.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022.
"""

from typing import Any

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.kernels import Kernel, Stationary, box_average
from bestarm.partition import Numbering, Partition, coordinates_of

_AT_ONCE = 2_000_000  # covariances of points that are in memory at the same time


@njit(cache=True)
def _place(key: IntArray, mask: int) -> np.int64:
    """Return where a key is looked for first (FNV-1a, mixed once more)."""
    code = np.uint64(1469598103934665603)
    for part in key:
        code = (code ^ np.uint64(part)) * np.uint64(1099511628211)
        code ^= code >> np.uint64(29)
    return np.int64(code & np.uint64(mask))


@njit(cache=True)
def _find(
    first: IntArray,
    second: IntArray,
    numbering: Numbering,
    stationary: bool,
    keys: IntArray,
    used: BoolArray,
    room: int,
    slots: IntArray,
    is_new: BoolArray,
) -> tuple[int, int]:
    """Enter new pairs in an open hash table until ``room`` is full; return where that was, and how many they are."""
    first_numbers, cuts, n_cuts, arity = numbering
    d, width, mask = n_cuts.shape[1], keys.shape[1], keys.shape[0] - 1
    key, here, there = np.empty(width, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    entered = 0
    for i in range(len(first)):
        u, v = min(first[i], second[i]), max(first[i], second[i])  # the smaller number is not the deeper cell
        key[0], key[1] = u, v
        if stationary:
            h = 0
            while first_numbers[h + 1] <= u:
                h += 1
            deeper = h
            while first_numbers[deeper + 1] <= v:
                deeper += 1
            # two depths and a distance name the covariance of a stationary kernel
            key[0], key[1] = h, deeper
            coordinates_of(u - first_numbers[h], h, cuts, arity, here)
            coordinates_of(v - first_numbers[deeper], deeper, cuts, arity, there)
            for j in range(d):  # twice the distance of the centres, in sides of the deeper cell
                scale = arity ** (n_cuts[deeper, j] - n_cuts[h, j])
                key[2 + j] = abs(2 * there[j] + 1 - (2 * here[j] + 1) * scale)
        # linear probing from where the key is looked for first
        slot = _place(key, mask)
        while True:
            if not used[slot]:
                if entered == room:
                    return i, entered
                used[slot] = True
                is_new[i] = True
                entered += 1
                for j in range(width):
                    keys[slot, j] = key[j]
                break
            same = True
            for j in range(width):
                same &= keys[slot, j] == key[j]
            if same:
                break
            slot = (slot + 1) & mask
        slots[i] = slot
    return len(first), entered


@njit(cache=True)
def _enter(old: IntArray, keys: IntArray, used: BoolArray) -> IntArray:
    slots, mask = np.empty(len(old), np.int64), keys.shape[0] - 1
    for i in range(len(old)):
        slot = _place(old[i], mask)
        while used[slot]:
            slot = (slot + 1) & mask
        used[slot] = True
        keys[slot] = old[i]
        slots[i] = slot
    return slots


@njit(cache=True)
def _average_covariances(
    coordinates: IntArray,
    depths: IntArray,
    widths: FloatArray,
    offsets: FloatArray,
    family: str,
    variance: float,
    lengthscale: float,
) -> FloatArray:
    """Return averages of a stationary kernel over representatives of pairs of cells: first half with second."""
    n, size, d = len(depths) // 2, offsets.shape[1], offsets.shape[2]
    found = np.empty(n)
    for i in range(n):
        h, other_h, total = depths[i], depths[n + i], 0.0
        for s in range(size):  # [1]_, Equation 4: the mean of k over all pairs of representatives
            for other in range(size):
                squared = 0.0
                for j in range(d):
                    x = (coordinates[i, j] + offsets[h, s, j]) * widths[h, j]
                    y = (coordinates[n + i, j] + offsets[other_h, other, j]) * widths[other_h, j]
                    squared += (x - y) ** 2
                r = np.sqrt(squared) / lengthscale
                if family == "rbf":  # families as in `bestarm.kernels.Stationary`
                    total += np.exp(-0.5 * r * r)
                elif family == "matern52":
                    total += (1.0 + np.sqrt(5.0) * r + 5.0 / 3.0 * r * r) * np.exp(-np.sqrt(5.0) * r)
                elif family == "matern32":
                    total += (1.0 + np.sqrt(3.0) * r) * np.exp(-np.sqrt(3.0) * r)
                else:
                    total += np.exp(-r)
        found[i] = variance * total / size**2
    return found


class CellKernel:
    r"""The covariance function of cells.

    ``kernel``: covariance function of f: `bestarm.kernels.Stationary`, or a GPy kernel; ``partition``: the cells, and
    what is observed of them; integrals are handled as averages with other noise; ``independent``: whether different
    cells are taken to be independent: no cell then teaches anything of another. ``n_computed`` counts covariances."""

    def __init__(self, kernel: Kernel, partition: Partition, *, independent: bool = False) -> None:
        self.kernel, self.partition, self.independent = kernel, partition, independent
        self._stationary = hasattr(kernel, "K_of_r")
        self.n_computed = 0
        width = 2 + (partition.n_dimensions if self._stationary else 0)
        self._keys = np.zeros((4096, width), dtype=np.int64)
        self._used = np.zeros(4096, dtype=np.bool_)
        self._values = np.zeros(4096)

    def __call__(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return the covariances of pairs of cells, both of shape (n,)."""
        first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
        slots, is_new = np.empty(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.bool_)
        while True:
            room = len(self._keys) // 2 - self.n_computed
            done, entered = _find(
                first, second, self.partition.numbering, self._stationary, self._keys, self._used, room, slots, is_new
            )
            self.n_computed += entered
            new = np.flatnonzero(is_new)
            self._values[slots[new]] = self._compute(first[new], second[new])
            if done == len(first):
                return self._values[slots]
            self._enlarge()  # every slot has moved, so the pairs are looked up again
            is_new[:] = False

    def _enlarge(self) -> None:
        old_keys, old_values = self._keys[self._used], self._values[self._used]
        capacity = 4 * len(self._keys)
        self._keys = np.zeros((capacity, old_keys.shape[1]), dtype=np.int64)
        self._used, self._values = np.zeros(capacity, dtype=np.bool_), np.zeros(capacity)
        slots = _enter(old_keys, self._keys, self._used)
        self._values[slots] = old_values

    def _compute(self, first: IntArray, second: IntArray) -> FloatArray:
        if not len(first):
            return np.zeros(0)
        if self.partition.feedback != "representatives":
            boxes = (*self.partition.bounds(first), *self.partition.bounds(second))
            found = box_average(self.kernel, *boxes)
        elif isinstance(self.kernel, Stationary):
            cells = np.concatenate([first, second])
            widths, offsets = self.partition.shapes
            found = _average_covariances(
                self.partition.coordinates(cells),
                self.partition.depth(cells),
                widths,
                offsets,
                self.kernel.family,
                self.kernel.variance,
                self.kernel.lengthscale,
            )
        else:
            found = np.empty(len(first))
            step = max(1, _AT_ONCE // self.partition.n_representatives**2)
            for begin in range(0, len(first), step):
                some = slice(begin, begin + step)
                x, y = self.partition.representatives(first[some]), self.partition.representatives(second[some])
                found[some] = self._average(x, y)
        if not np.isfinite(found).all():
            place = int(np.flatnonzero(~np.isfinite(found))[0])
            raise ValueError(
                f"the kernel gives {found[place]} for the covariance of cells {first[place]} and {second[place]}; a "
                "kernel must be finite everywhere in the box."
            )
        return np.where(first == second, found, 0.0) if self.independent else found

    def _average(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the average covariance of the points of each pair, shapes (n, S, d)."""
        if self._stationary:
            lengthscale = np.asarray(getattr(self.kernel, "lengthscale", 1.0))
            squared = (((x[:, :, None, :] - y[:, None, :, :]) / lengthscale) ** 2).sum(axis=-1)
            kernel: Any = self.kernel
            return np.asarray(kernel.K_of_r(np.sqrt(squared))).mean(axis=(1, 2))
        return np.array([self.kernel.K(a, b).mean() for a, b in zip(x, y, strict=True)])

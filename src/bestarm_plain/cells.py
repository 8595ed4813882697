"""Cells of a box that is divided again and again, and a Gaussian process of the averages of a function over them.

Cell 0 is the box; the children of cell c are Kc + 1, ..., Kc + K. Shared by GPOO, StoOO and GPTree.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

Box = tuple[ndarray, ndarray]  # lower and upper corner
Kernel = Callable[[ndarray, ndarray], ndarray]  # covariances of points, shapes (n, d) and (m, d) to (n, m)


def cut(box: Box, n: int) -> list[Box]:
    """Return n equal parts of a box, across its longest side, the first of those that are equal."""
    low, high = box
    sides = high - low
    side = int(np.flatnonzero(sides >= sides.max() * (1 - 1e-9))[0])
    edges, parts = np.linspace(low[side], high[side], n + 1), []
    for k in range(n):
        part = low.copy(), high.copy()
        part[0][side], part[1][side] = edges[k], edges[k + 1]
        parts.append(part)
    return parts


@dataclass(frozen=True)
class Tree:
    """The cells of [lower, upper]^d, each divided into K; S points stand for a cell."""

    K: int = 2
    S: int = 1
    lower: tuple[float, ...] = (0.0,)
    upper: tuple[float, ...] = (1.0,)

    def depth(self, c: int) -> int:
        """Return how many divisions made the cell."""
        return 0 if c == 0 else 1 + self.depth((c - 1) // self.K)

    def children(self, c: int) -> list[int]:
        """Return the cells that the cell is divided into."""
        return [self.K * c + k for k in range(1, self.K + 1)]

    def box(self, c: int) -> Box:
        """Return the corners of a cell."""
        if c == 0:
            return np.array(self.lower, dtype=float), np.array(self.upper, dtype=float)
        return cut(self.box((c - 1) // self.K), self.K)[(c - 1) % self.K]

    def points(self, c: int) -> ndarray:
        """Return the centres of S equal parts of a cell, cut by the prime factors of S, the largest first."""
        parts, rest, factors = [self.box(c)], self.S, list[int]()
        for p in range(2, self.S + 1):
            while rest % p == 0:
                rest, factors = rest // p, [p, *factors]
        for p in factors:
            parts = [smaller for part in parts for smaller in cut(part, p)]
        return np.array([(low + high) / 2 for low, high in parts])


def posterior(
    tree: Tree, k: Kernel, noise: float, seen: list[int], rewards: list[float], cells: list[int]
) -> tuple[ndarray, ndarray]:
    """Return mean and variance of the averages over some cells, given rewards of cells."""

    def between(first: list[int], second: list[int]) -> ndarray:
        x, y = [tree.points(c) for c in first], [tree.points(c) for c in second]
        blocks = k(np.concatenate(x), np.concatenate(y)).reshape(len(first), tree.S, len(second), tree.S)
        return blocks.mean(axis=(1, 3))

    prior = np.array([between([c], [c])[0, 0] for c in cells])
    if not seen:
        return np.zeros(len(cells)), prior
    cross = between(cells, seen)
    weights = np.linalg.solve(between(seen, seen) + noise * np.eye(len(seen)), cross.T)
    return weights.T @ np.array(rewards), prior - (cross.T * weights).sum(axis=0)


def best_cell(values: ndarray | list[float], cells: list[int]) -> int:
    """Return the cell with the largest value; of those equal to 1e-9 the first of the shallowest."""
    top = max(values)
    return min(c for v, c in zip(values, cells, strict=True) if v >= top - 1e-9)

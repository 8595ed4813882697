"""GPOO: the best region of a box from noisy averages over cells, with a Gaussian process over a tree of cells.

Idea: every leaf has an upper bound on the maximum in it: posterior mean of its average, plus a confidence interval,
plus delta(h), how much f may vary in a cell of depth h. The leaf with the largest bound is observed; once its interval
is no wider than delta(h) it is divided.

Source: Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Algorithm 1 (its line
numbers), Equations 5 and 6 (b-values, intervals), Lemma 1 (beta_t).

Deviations: b-values equal to 1e-9 tie, and the shallowest cell is taken. `gpoo_as_coded` is the authors' loop: the root
divided unseen, its children observed first, tests a round late, children ranked later still, another beta_t.
"""

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from bestarm_plain.cells import Kernel, Tree, best_cell, posterior


def gpoo(
    tree: Tree,
    observe: Callable[[int], float],  # a cell's next reward
    budget: int,
    k: Kernel,
    *,
    noise: float = 0.01,
    theta: float = 0.1,
    delta_scale: float = 14.0,
    delta_ratio: float = 0.5,
    max_depth: int = 10,
) -> list[int]:
    """Return the recommended cells: before the first observation, and after each."""
    L, divided, seen, rewards = [0], list[int](), list[int](), list[float]()
    recommended = [0]
    M = sum(tree.K**h for h in range(max_depth + 1))  # nodes of the tree

    def delta(c: int) -> float:
        return delta_scale * delta_ratio ** tree.depth(c)

    def of(cells: list[int]) -> tuple[ndarray, ndarray]:
        mean, variance = posterior(tree, k, noise, seen, rewards, cells)
        return mean, np.sqrt(np.maximum(variance, 0))

    for t in range(1, budget + 1):  # line 1
        beta = 2 * np.log(M * np.pi**2 * t**2 / (6 * theta))
        mean, deviation = of(L)
        b = mean + np.sqrt(beta) * deviation + [delta(c) for c in L]
        c = best_cell(b, L)  # line 2
        rewards.append(observe(c))  # line 3
        seen.append(c)
        CI = np.sqrt(beta) * of([c])[1][0]  # lines 4, 5
        if delta(c) >= CI and tree.depth(c) <= max_depth:  # line 6
            L.remove(c)
            L += tree.children(c)  # lines 7, 8
            divided.append(c)
        deepest = max((tree.depth(d) for d in divided), default=0)
        candidates = [d for d in divided if tree.depth(d) == deepest] or [0]
        recommended.append(best_cell(of(candidates)[0], candidates))  # line 11
    return recommended


def gpoo_as_coded(
    tree: Tree,
    observe: Callable[[int], float],
    budget: int,
    k: Kernel,
    *,
    noise: float = 0.005,
    delta_scale: float = 14.0,
    max_depth: int = 10,
) -> list[int]:
    """Return the recommended cells of the authors' loop."""
    L = tree.children(0)
    seen, rewards, recommended, incumbent = list(L), [observe(c) for c in L], [0, *L], 0

    def of(cells: list[int]) -> tuple[ndarray, ndarray]:
        """Posterior means, and widths with noise in them."""
        mean, variance = posterior(tree, k, noise, seen, rewards, cells)
        beta = 0.1 * np.log(np.pi**2 * len(seen) ** 2 / 0.6)
        return mean, np.sqrt(beta * (np.maximum(variance, 0) + noise))

    def ranked(cells: list[int]) -> int:
        mean, width = of(cells)
        return best_cell(mean + width + [delta_scale * 0.5 ** tree.depth(c) for c in cells], cells)

    c = ranked(L)
    while len(seen) < budget:
        with_value, h = list(L), tree.depth(c)
        if c in L and delta_scale * 0.5**h >= of([c])[1][0] and h <= max_depth:
            mine, other = of([c, incumbent])[0]
            if h > tree.depth(incumbent) or (h == tree.depth(incumbent) and mine > other):
                incumbent = c
            L.remove(c)
            with_value.remove(c)
            L += tree.children(c)  # the new children have no value yet
        c = ranked(with_value)
        rewards.append(observe(c))
        seen.append(c)
        recommended.append(incumbent)
    return recommended

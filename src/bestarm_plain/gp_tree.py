"""GPTree: the best region of a box from rewards at centres of cells, with a Gaussian process over a tree of cells.

Idea: a leaf's index is the upper bound at its centre, or its parent's plus V_{h-1} if that is smaller, plus V_h: how
much f may vary in a cell of depth h by the smoothness of the process. The best leaf is divided at no cost as long as
its width is below V_h, else observed.

Source: Shekhar, Javidi. "Gaussian process bandits with adaptive discretization". Electronic Journal of Statistics 2018.
The tree algorithm, Claim 2 (V_h); a rival in Zhang, Tsuchida, Ong. AAAI 2022, whose beta_n (Lemma 1) this page has.

Deviations: a negative radicand in V_h counts as 0. ``beta_n``, ``noise_in_width``, ``root_evaluated_first`` and
``exact_ties`` are what the code of the AAAI paper does otherwise, with its constants slope, rho, v1 and alpha.
"""

from collections.abc import Callable

import numpy as np

from bestarm_plain.cells import Kernel, Tree, best_cell, posterior


def gp_tree(
    tree: Tree,
    observe: Callable[[int], float],  # a cell's next reward
    budget: int,
    k: Kernel,
    slope: float,  # of the modulus g(r) = slope * r: root of the variance over the length-scale, for a Gaussian kernel
    *,
    noise: float = 0.01,
    alpha: float = 1.0,
    rho: float | None = None,  # cells of depth h lie in balls of radius v1 * rho**h
    v1: float | None = None,
    u: float = 2.0,
    C2: float = 1.0,
    C3: float = 1.0,
    D1: float = 1.0,
    theta: float = 0.1,
    beta_n: float | None = None,
    noise_in_width: bool = False,
    root_evaluated_first: bool = False,
    exact_ties: bool = False,
) -> tuple[int, list[int]]:
    """Return the recommended cell, the deepest divided one of largest mean, and the divided cells in order."""
    n, K = budget, tree.K
    rho = 1 / K if rho is None else rho
    v1 = float(np.subtract(tree.upper, tree.lower).max()) / 2 if v1 is None else v1
    h_max = np.log(n) * (1 + 1 / alpha) / (2 * alpha * np.log(1 / rho))
    if beta_n is None:
        M = sum(float(K) ** h for h in range(int(h_max) + 1))
        beta_n = np.sqrt(2 * np.log(M * np.pi**2 * n**2 / (6 * theta)))
    L, divided, seen, rewards = [0], list[int](), list[int](), list[float]()

    def V(h: int) -> float:  # Claim 2
        g = slope * v1 * rho**h
        C4 = C2 + 2 * np.log(n**2 * np.pi**2 / 6)
        radicand = 2 * u + C4 + h * np.log(K) + 4 * D1 * np.log(1 / g)
        return 4 * g * (np.sqrt(max(radicand, 0)) + C3)

    def upper(c: int) -> tuple[float, float]:
        """The upper bound at a cell, and its width."""
        mean, variance = posterior(tree, k, noise, seen, rewards, [c])
        width = beta_n * np.sqrt(max(variance[0], 0) + (noise if noise_in_width else 0))
        return mean[0] + width, width

    def index(c: int) -> float:
        value, h = upper(c)[0], tree.depth(c)
        if c:
            value = min(value, upper((c - 1) // K)[0] + V(h - 1))
        return value + V(h)

    while len(seen) < n:
        values = [index(c) for c in L]
        c = L[int(np.argmax(values))] if exact_ties else best_cell(values, L)
        h = tree.depth(c)
        if upper(c)[1] <= V(h) and h <= h_max and (seen or not root_evaluated_first):  # refine, at no cost
            L.remove(c)
            L += tree.children(c)
            divided.append(c)
        else:  # observe
            rewards.append(observe(c))
            seen.append(c)
    if not divided:
        return 0, divided
    deepest = [c for c in divided if tree.depth(c) == max(tree.depth(d) for d in divided)]
    return best_cell(posterior(tree, k, noise, seen, rewards, deepest)[0], deepest), divided

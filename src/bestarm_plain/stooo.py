"""StoOO and AVE-StoOO: the best region of a box by optimism over a tree of cells, without a Gaussian process.

Idea: a leaf's bound is the mean of its own rewards, plus the width that their number leaves, plus delta(h), how much f
may vary in a cell of depth h. The leaf with the largest bound is observed, and divided once its width is below
delta(h). StoOO observes f at the centre of a cell, AVE-StoOO averages over it: what ``observe`` returns.

Source: Munos. "From bandits to Monte-Carlo Tree Search". 2014 (StoOO). Zhang, Tsuchida, Ong. "Gaussian Process Bandits
with Aggregated Feedback". AAAI 2022. Appendix C, Algorithm 2 (AVE-StoOO, its lines are quoted), Equation 12.

Deviations: of the deepest divided nodes the one with the largest mean is returned, where the paper allows any. The rule
"as_coded" is the authors': a width without a root, and a number of rewards in which delta has no part.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from bestarm_plain.cells import Tree, best_cell


def optimistic_tree(
    tree: Tree,
    observe: Callable[[int], float],  # a cell's next reward
    budget: int,
    *,
    rule: str = "munos",
    risk: float = 0.1,
    delta_scale: float = 14.0,
    max_depth: int = 10,
    recommendation: str = "mean",
) -> int:
    """Return the recommended cell."""
    N, L, divided = budget, [0], list[int]()
    rewards: dict[int, list[float]] = {}

    def delta(c: int) -> float:
        return delta_scale * 0.5 ** tree.depth(c)

    def b(c: int, log: float) -> float:
        if c not in rewards:
            return np.inf
        T = len(rewards[c])
        width = {
            "munos": np.sqrt(log / (2 * T)),
            "average": np.sqrt(2 * log / T),  # Equation 12
            "as_coded": log / (2 * T),
        }
        return float(np.mean(rewards[c]) + width[rule] + delta(c))

    for t in range(1, N + 1):  # for t = 1 to N do
        log = np.log((t if rule == "average" else N) ** 2 / risk)
        unseen = [c for c in L if c not in rewards]
        c = min(unseen) if unseen else best_cell([b(c, log) for c in L], L)  # select a leaf of largest b
        rewards.setdefault(c, []).append(observe(c))  # observe reward r_t
        needed = {"munos": log / (2 * delta(c) ** 2), "average": 2 * log / delta(c) ** 2, "as_coded": np.sqrt(log / 2)}
        if len(rewards[c]) >= needed[rule] and tree.depth(c) <= max_depth:  # if T >= ... then expand the node
            L.remove(c)
            L += tree.children(c)
            divided.append(c)
    if not divided:
        return 0
    deepest = [c for c in divided if tree.depth(c) == max(tree.depth(d) for d in divided)]
    if recommendation == "first_divided":
        return deepest[0]
    return best_cell([float(np.mean(rewards[c])) for c in deepest], deepest)  # return a deepest node expanded


stooo = partial(optimistic_tree, rule="munos")
ave_stooo = partial(optimistic_tree, rule="average")

r"""The tree that a search grows over a `Partition`: one for each replication, in arrays of one capacity.

A node has a slot in these arrays, in the order in which nodes were made; slot 0 is the root.
"""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.partition import Partition
from bestarm.streams import uniform

LEAF, EXPANDED = 1, 2
TIE = 1e-9  # indices so close are equal up to rounding: symmetrical cells of the first rounds are


NODES = {"nodes": True}  # metadata of the arrays whose axis 1 is the slot of a node: `ensure_room` makes them longer


@dataclass
class PartitionTree:
    """The nodes of R trees."""

    cells: IntArray = field(metadata=NODES)  # heap number of each node, (R, capacity)
    depths: IntArray = field(metadata=NODES)
    parents: IntArray = field(metadata=NODES)  # slot of the parent
    status: IntArray = field(metadata=NODES)  # 0 for an unused slot, `LEAF` or `EXPANDED`
    draws: IntArray = field(metadata=NODES)  # successful evaluations
    totals: FloatArray = field(metadata=NODES)  # their sum
    n_nodes: IntArray  # slots in use, (R,)
    n_rounds: IntArray  # evaluations asked for so far, failed ones included, (R,)
    chosen: IntArray  # slot of the node asked for last, -1 before the first, (R,)
    replications: IntArray


def new_tree(replications: IntArray, capacity: int = 64) -> dict[str, Any]:
    """Return the fields of trees that hold only their root, a leaf."""
    n = len(replications)
    integers = {k: np.zeros((n, capacity), dtype=np.int64) for k in ("cells", "depths", "parents", "status", "draws")}
    integers["parents"][:] = -1
    integers["status"][:, 0] = LEAF
    return integers | {
        "totals": np.zeros((n, capacity)),
        "n_nodes": np.ones(n, dtype=np.int64),
        "n_rounds": np.zeros(n, dtype=np.int64),
        "chosen": np.full(n, -1, dtype=np.int64),
        "replications": replications,
    }


def ensure_room(tree: Any, n_more: int) -> None:
    """Double the capacity of a tree and of what is known of its nodes until ``n_more`` nodes fit into every one."""
    capacity = tree.cells.shape[1]
    wanted = capacity
    while wanted < tree.n_nodes.max(initial=0) + n_more:
        wanted *= 2
    if wanted == capacity:
        return
    for f in fields(tree):
        if f.metadata.get("nodes"):
            old = getattr(tree, f.name)
            new = np.zeros((old.shape[0], wanted, *old.shape[2:]), dtype=old.dtype)
            new[:, :capacity] = old
            setattr(tree, f.name, new)


def expand(tree: PartitionTree, partition: Partition, rows: IntArray, slots: IntArray) -> IntArray:
    """Make leaves inner nodes; return their children's slots, (len(rows), K). Too small a cell is a ValueError."""
    depths = tree.depths[rows, slots]
    if (depths >= partition.deepest).any():
        raise ValueError(
            f"a cell at depth {int(depths.max())} is too small to be divided: floating point can tell cells apart down "
            f"to depth {partition.deepest}; set max_depth to at most {partition.deepest - 1}."
        )
    ensure_room(tree, partition.arity)
    children = tree.n_nodes[rows, None] + np.arange(partition.arity)
    tree.cells[rows[:, None], children] = partition.children(tree.cells[rows, slots])
    tree.depths[rows[:, None], children] = depths[:, None] + 1
    tree.parents[rows[:, None], children] = slots[:, None]
    tree.status[rows[:, None], children] = LEAF
    tree.status[rows, slots] = EXPANDED
    tree.n_nodes[rows] += partition.arity
    return children


@njit(cache=True)
def largest(
    values: FloatArray,
    among: BoolArray,
    cells: IntArray,
    key: np.uint64,
    replications: IntArray,
    n_rounds: IntArray,
    random_ties: bool,
) -> IntArray:
    """Return the slot of the largest value in each replication, or -1; ties by heap number, or at random."""
    found = np.full(values.shape[0], -1, dtype=np.int64)
    for r in range(values.shape[0]):
        best = -np.inf
        for slot in range(values.shape[1]):
            if among[r, slot] and values[r, slot] > best:
                best = values[r, slot]
        # of those within TIE of it the smallest heap number, or each with equal chance (reservoir sampling)
        n_tied = 0
        for slot in range(values.shape[1]):
            if among[r, slot] and (values[r, slot] >= best - TIE or values[r, slot] == best):
                n_tied += 1
                if n_tied == 1:
                    found[r] = slot
                elif random_ties:
                    if uniform(key, replications[r], n_rounds[r], n_tied) * n_tied < 1.0:
                        found[r] = slot
                elif cells[r, slot] < cells[r, found[r]]:
                    found[r] = slot
    return found

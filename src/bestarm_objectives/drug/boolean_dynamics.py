r"""Asynchronous dynamics of Boolean networks: many runs, each to a fixed point.

One gene changes at a time. For the phenotype prediction of the paper its release asks an SMT solver for any trajectory
of at most 40 such changes that ends in a fixed point; here a trajectory is drawn at random.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import IntArray
from bestarm.streams import Streams, uniform
from bestarm_objectives.drug.boolean_network import BooleanNetwork
from bestarm_objectives.drug.gene_table import UNKNOWN, StateArray


class Settled(NamedTuple):
    """Where asynchronous runs ended."""

    states: StateArray  # shape (R, G): the fixed point of each run; a row of `UNKNOWN` where none was reached
    # shape (R,): how many genes changed on the way, one at a time; -1 where no fixed point was reached
    changes: IntArray


@njit(cache=True)
def _next_value(gene: int, state: StateArray, clamp: StateArray, regulators: IntArray, truth: StateArray) -> int:
    if clamp[gene] != UNKNOWN:
        return clamp[gene]
    row = 0
    for k in range(regulators.shape[1]):
        if regulators[gene, k] < 0:
            break
        row |= int(state[regulators[gene, k]]) << k
    return truth[gene, row]


@njit(cache=True)
def _settle(
    key: np.uint64,
    replications: IntArray,
    initial: StateArray,
    clamp: StateArray,
    regulators: IntArray,
    truth: StateArray,
    readers: IntArray,
    max_changes: int,
    n_starts: int,
) -> tuple[StateArray, IntArray]:
    """Run each replication to a fixed point, from other random values if need be; return the fields of `Settled`."""
    n_runs, n_genes = initial.shape
    states = np.full((n_runs, n_genes), UNKNOWN, dtype=np.int8)
    changes = np.full(n_runs, -1, dtype=np.int64)
    state = np.empty(n_genes, dtype=np.int8)
    wanted = np.empty(n_genes, dtype=np.int8)
    for r in range(n_runs):
        for start in range(n_starts):
            # clamped genes, then the initial values; what is unknown is random
            draw = 0
            for gene in range(n_genes):
                state[gene] = clamp[r, gene] if clamp[r, gene] != UNKNOWN else initial[r, gene]
                if state[gene] == UNKNOWN:
                    state[gene] = uniform(key, replications[r], start, draw) < 0.5
                    draw += 1
            for gene in range(n_genes):
                wanted[gene] = _next_value(gene, state, clamp[r], regulators, truth)
            for change in range(max_changes + 1):
                n_unstable = np.sum(wanted != state)
                # a fixed point
                if n_unstable == 0:
                    states[r], changes[r] = state, change
                    break
                # one of the genes that want to change, uniformly
                chosen = int(uniform(key, replications[r], start, draw) * n_unstable)
                draw += 1
                gene = 0
                while wanted[gene] == state[gene] or chosen > 0:
                    chosen -= wanted[gene] != state[gene]
                    gene += 1
                state[gene] = wanted[gene]
                for reader in readers[gene]:  # only these can want something else than before
                    if reader >= 0:
                        wanted[reader] = _next_value(reader, state, clamp[r], regulators, truth)
            if changes[r] >= 0:
                break
    return states, changes


def _readers(regulators: IntArray) -> IntArray:
    """Return the genes that read each gene, shape (G, max_readers), padded with -1."""
    reading = [np.flatnonzero((regulators == gene).any(axis=1)) for gene in range(len(regulators))]
    table = np.full((len(regulators), max(map(len, reading), default=0)), -1, dtype=np.int64)
    for gene, genes in enumerate(reading):
        table[gene, : len(genes)] = genes
    return table


def settle(
    network: BooleanNetwork,
    initial: StateArray,
    streams: Streams,
    *,
    clamp: StateArray | None = None,
    max_changes: int | None = None,
    n_starts: int = 10,
    purpose: str = "network",
) -> Settled:
    """Run asynchronous dynamics to a fixed point.

    Unknown genes of the ``initial`` states, shape (R, G), start at 0 or 1 with equal probability. Then a gene whose
    update function disagrees with it is drawn uniformly and changed, until there is none: as drawing among all genes,
    without the draws that change nothing. Run r draws the same numbers, keyed by ``purpose``, whatever the other runs
    are. ``clamp``, shape (G,) or (R, G), holds genes at values from the start; `UNKNOWN` leaves a gene free. After
    ``max_changes``, by default 20 G, a run starts again from new values of the unknown genes; after ``n_starts`` it is
    given up. Raises ValueError if the shapes do not fit, or a value is none of 0, 1 and `UNKNOWN`.
    """
    if initial.shape != (len(streams.replications), network.n_genes):
        raise ValueError(
            f"initial must have shape ({len(streams.replications)}, {network.n_genes}), one row for each replication "
            f"and one column for each gene, got {initial.shape}."
        )
    held = np.broadcast_to(UNKNOWN if clamp is None else clamp, initial.shape)
    for name, values in (("initial", initial), ("clamp", held)):
        if not np.isin(values, (0, 1, UNKNOWN)).all():
            raise ValueError(f"{name} may hold 0, 1 and {UNKNOWN} (unknown) only, got {np.unique(values)}.")
    if n_starts < 1:
        raise ValueError(f"n_starts must be at least 1, got {n_starts}.")
    return Settled(
        *_settle(
            streams.key(purpose),
            streams.replications,
            np.ascontiguousarray(initial, dtype=np.int8),
            np.ascontiguousarray(held, dtype=np.int8),
            network.regulators,
            network.truth,
            _readers(network.regulators),
            20 * network.n_genes if max_changes is None else max_changes,
            n_starts,
        )
    )

"""Boolean gene networks: update functions, clamped genes, fixed points, and asynchronous runs to these.

A gene is 0 or 1, and its next value is a function of its regulators. A state in which no gene would change is a fixed
point, the attractor from which the drug simulator reads a phenotype. In a run one gene changes at a time. For the
phenotype prediction of the paper its release asks an SMT solver for any trajectory of at most 40 such changes that ends
in a fixed point; here a trajectory is drawn at random.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, IntArray
from bestarm.streams import Streams, uniform
from bestarm_objectives.drug.gene_table import UNKNOWN, StateArray

MAX_REGULATORS = 12  # a truth table has 2**MAX_REGULATORS rows


class Edge(NamedTuple):
    """A regulatory interaction; ``sign`` is +1 for activation and -1 for repression."""

    regulator: str
    gene: str
    sign: int


@dataclass(frozen=True)
class BooleanNetwork:
    """Distinct genes with one update function each, as truth tables over their regulators."""

    genes: tuple[str, ...]  # length G: gene symbols; every state lists the genes in this order
    regulators: IntArray  # shape (G, max_regulators): indices of the genes that each gene reads, padded with -1
    # shape (G, 2**max_regulators): ``truth[g, row]`` is gene g's next value; bit k of ``row``: ``regulators[g, k]``
    truth: StateArray
    edges: tuple[Edge, ...] = ()  # the signed interactions; empty where only the update functions are known
    perturbed: tuple[str, ...] = ()  # genes that the model marks as perturbed in the experiments behind it

    def __post_init__(self) -> None:
        repeated = sorted({gene for gene in self.genes if self.genes.count(gene) > 1})
        if repeated:
            raise ValueError(f"genes must be distinct, got {', '.join(repeated)} more than once.")
        n, width = self.regulators.shape
        if n != self.n_genes or self.truth.shape != (n, 2**width):
            raise ValueError(
                f"regulators and truth must have shapes (G, k) and (G, 2**k) with G = {self.n_genes}, "
                f"got {self.regulators.shape} and {self.truth.shape}."
            )

    @property
    def n_genes(self) -> int:
        """Number of genes G."""
        return len(self.genes)

    @classmethod
    def from_functions(
        cls,
        genes: Sequence[str],
        functions: Mapping[str, tuple[Sequence[str], Callable[[Mapping[str, bool]], bool]]],
        *,
        edges: Iterable[Edge] = (),
        perturbed: Iterable[str] = (),
    ) -> Self:
        """Tabulate update functions.
        A function receives the states of its gene's regulators by name and returns the gene's next value. Raises
        ValueError if a gene has no function, a regulator is no gene, or there are more than 12 regulators."""
        index = {gene: i for i, gene in enumerate(genes)}
        missing = [gene for gene in genes if gene not in functions]
        if missing:
            raise ValueError(f"every gene needs an update function, none for: {', '.join(missing)}.")
        width = max((len(regulators) for regulators, _ in functions.values()), default=0)
        if width > MAX_REGULATORS:
            raise ValueError(f"a gene may have at most {MAX_REGULATORS} regulators, got {width}.")
        table = np.full((len(index), width), -1, dtype=np.int64)
        truth = np.zeros((len(index), 2**width), dtype=np.int8)
        for gene, (regulators, function) in functions.items():
            unknown = [name for name in (gene, *regulators) if name not in index]
            if unknown:
                raise ValueError(f"the function of {gene} names unknown genes: {', '.join(unknown)}.")
            g = index[gene]
            table[g, : len(regulators)] = [index[name] for name in regulators]
            for row in range(2 ** len(regulators)):
                truth[g, row] = function({name: bool(row >> k & 1) for k, name in enumerate(regulators)})
        return cls(tuple(genes), table, truth, tuple(edges), tuple(perturbed))


def next_states(network: BooleanNetwork, states: StateArray, clamp: StateArray | None = None) -> StateArray:
    """Return what every update function makes of each state, all at once.
    States are 0 and 1, shape (R, G). ``clamp``, shape (G,) or (R, G), holds genes at values, a knock-down at 0, a
    forced expression at 1; `UNKNOWN` leaves a gene free."""
    if states.ndim != 2 or states.shape[1] != network.n_genes:
        raise ValueError(f"states must have shape (R, {network.n_genes}), got {states.shape}.")
    if not np.isin(states, (0, 1)).all():
        run, gene = np.argwhere(~np.isin(states, (0, 1)))[0]
        raise ValueError(
            f"states must be 0 or 1, got {states[run, gene]} for {network.genes[gene]} in run {run}. "
            "Complete unknown genes first, or use settle, which does."
        )
    rows = np.zeros(states.shape, dtype=np.int64)
    for k in range(network.regulators.shape[1]):
        regulator = network.regulators[:, k]
        rows |= np.where(regulator < 0, 0, states[:, regulator].astype(np.int64) << k)
    values = network.truth[np.arange(network.n_genes), rows]
    return values if clamp is None else np.where(clamp != UNKNOWN, clamp, values)


def is_fixed_point(network: BooleanNetwork, states: StateArray, clamp: StateArray | None = None) -> BoolArray:
    """Return which states, shape (R, G), no update function would change; parameters as in `next_states`."""
    return (next_states(network, states, clamp) == states).all(axis=1)


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
    given up. Raises ValueError if the shapes do not fit, or a value is none of 0, 1 and `UNKNOWN`."""
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

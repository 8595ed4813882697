r"""Boolean gene networks: update functions, clamped genes, fixed points.

A gene is 0 or 1, and its next value is a function of its regulators. A state in which no gene would change is a fixed
point, the attractor from which the drug simulator reads a phenotype.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from bestarm.interface import BoolArray, IntArray
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
    # shape (G, 2**max_regulators): ``truth[g, row]`` is the next value of gene g, where bit k of ``row`` is the state
    # of ``regulators[g, k]``
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
        ValueError if a gene has no function, a regulator is no gene, or there are more than 12 regulators.
        """
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
    forced expression at 1; `UNKNOWN` leaves a gene free.
    """
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

"""Values on named genes: expression profiles, drug signatures, phenotypes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bestarm.interface import FloatArray

StateArray = NDArray[np.int8]

UNKNOWN = -1  # the paper's ⊥: a gene that is neither 0 nor 1


@dataclass(frozen=True)
class GeneTable:
    """One value for each gene and profile, whose names are distinct."""

    genes: tuple[str, ...]  # length n_genes: distinct gene symbols
    # length n_profiles: what each column describes: an animal, a drug (PubChem identifier), a disease
    profiles: tuple[str, ...]
    values: FloatArray  # shape (n_genes, n_profiles): the values; NaN where a gene is unknown

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.genes), len(self.profiles)):
            raise ValueError(
                f"values must have one row for each of {len(self.genes)} genes and one column for each of "
                f"{len(self.profiles)} profiles, got shape {self.values.shape}."
            )
        for kind, names in (("genes", self.genes), ("profiles", self.profiles)):
            repeated = pd.Index(names)[pd.Index(names).duplicated()]
            if len(repeated):
                raise ValueError(f"{kind} must be distinct, {repeated[0]!r} appears more than once.")

    def select(self, profiles: Sequence[str]) -> Self:
        """Return the table with these profiles only, in this order."""
        missing = [name for name in profiles if name not in self.profiles]
        if missing:
            raise ValueError(f"no profile {', '.join(missing)}; there are {len(self.profiles)}.")
        columns = [self.profiles.index(name) for name in profiles]
        return type(self)(self.genes, tuple(profiles), self.values[:, columns])

    def on(self, genes: Sequence[str]) -> FloatArray:
        """Return the profiles on other genes, shape (n_profiles, len(genes)); NaN where the table lacks a gene."""
        rows = pd.Index(self.genes).get_indexer(pd.Index(list(genes)))
        return np.where(rows >= 0, self.values[rows].T, np.nan)

    def states(self, genes: Sequence[str]) -> StateArray:
        """Return the binary profiles on these genes, shape (n_profiles, len(genes)), with `UNKNOWN` for NaN.
        Raises ValueError if a value is none of 0, 1 and NaN."""
        values = self.on(genes)
        other = values[~(np.isnan(values) | (values == 0) | (values == 1))]
        if other.size:
            raise ValueError(f"binary profiles hold 0, 1 and NaN only, got {other[0]}.")
        return np.where(np.isnan(values), UNKNOWN, values).astype(np.int8)


def read_frame(path: Path) -> pd.DataFrame:
    """Read a comma-separated file, plain or packed, whose first column is the index; errors name the file."""
    try:
        frame = pd.read_csv(path, index_col=0, dtype={0: str})
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, EOFError, OSError) as error:
        raise ValueError(f"{path}: expected a comma-separated table, found none that can be read ({error}).") from error
    frame.index = frame.index.astype(str)
    return frame


def read_gene_table(
    path: Path,
    *,
    n_profiles: int | None = None,
    required_profiles: Sequence[str] = (),
    keep_first_of_repeated_genes: bool = False,
) -> GeneTable:
    """Read a table of genes (rows) by profiles (columns).
    The file is comma-separated, plain or ``.gz``; gene symbols in the first column, an empty cell is NaN. Of a repeated
    symbol the first row is kept, or it is an error. Raises ValueError if the file is no table of numbers, lacks a
    required column, has another number of them, or repeats a gene."""
    frame = read_frame(path)
    if n_profiles is not None and frame.shape[1] != n_profiles:
        raise ValueError(f"{path}: expected {n_profiles} columns after the gene, found {frame.shape[1]}.")
    missing = [name for name in required_profiles if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{path}: expected columns {', '.join(required_profiles)}, found {frame.shape[1]} columns "
            f"without {', '.join(missing)}."
        )
    text = [str(name) for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    if text:
        raise ValueError(f"{path}: expected numbers, found text in column {text[0]!r}.")
    repeated = frame.index.duplicated()
    if repeated.any() and not keep_first_of_repeated_genes:
        raise ValueError(f"{path}: expected each gene once, found {frame.index[repeated][0]!r} more than once.")
    frame = frame[~repeated]
    return GeneTable(
        tuple(frame.index), tuple(str(name) for name in frame.columns), frame.to_numpy(dtype=np.float64, copy=True)
    )

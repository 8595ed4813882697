"""Readers of gene features and of measured phenotypes, with a stated rule for everything that is odd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bestarm.interface import FloatArray
from bestarm.search.candidates import Candidates
from bestarm.search.reader import FAILED, NOT_DONE, Notes, name_column, read_rows

LARGEST_PHENOTYPE = 1e75


@dataclass(frozen=True)
class Phenotypes:
    """What was measured, replicates averaged.

    Attributes
    ----------
    values : dict
        Gene, by its name in the features, to mean phenotype; NaN where every well failed.
    wells : dict
        Gene to number of wells that did not fail.
    replicate_sd : float
        Pooled standard deviation of one well within its gene; NaN without replicates.
    """

    values: dict[str, float]
    wells: dict[str, int]
    replicate_sd: float


def read_features(path: str | Path, notes: Notes) -> Candidates:
    """Read genes and what describes them, all other columns; rules are those of `Candidates`.

    Raises
    ------
    ValueError
        See `bestarm.search.candidates.Candidates.text`.
    """
    found = Candidates.text(Path(path), notes, "gene")
    if len(found.names) < 2:
        raise ValueError(f"{path} has 1 gene; a search needs at least two.")
    if not found.varies.any():
        raise ValueError(f"{path}: every feature is the same for all candidates; nothing tells them apart.")
    return found


def read_wells(path: str | Path, columns: Sequence[str], notes: Notes) -> tuple[list[str], FloatArray]:
    """Return the gene of each well and its measurements, shape (n_wells, n_columns), NaN where it failed.

    Parameters
    ----------
    path : str or Path
        A table with a column ``gene`` (else the first one is it) and the measurements; other columns do not matter.
    columns : sequence of str
        Columns of measurements, replicates of each other; by default ``phenotype``, or the only other column.

    A phenotype ``not done`` is as if there were no row: the well was not tried.

    Raises
    ------
    ValueError
        For a phenotype that is neither a number nor a failed well, a well without a gene, or an unknown column.
    """
    path = Path(path)
    rows = read_rows(path, notes)
    _, header = next(rows)
    name = name_column(header)
    wanted = list(columns) or (["phenotype"] if "phenotype" in header or len(header) != 2 else [header[1 - name]])
    if missing := [c for c in wanted if c not in header]:
        raise ValueError(
            f"{path} has no column {missing[0]!r}; it has: {', '.join(header)}. Name the measurements by --phenotype."
        )
    places = [header.index(c) for c in wanted]
    genes, found = [], []
    for line, parts in rows:
        row = [part.strip() for part in parts]
        if any(row[i].lower() in NOT_DONE for i in places):  # as if there were no row
            continue
        if not row[name]:
            raise ValueError(f"{path}, line {line}: a well without a gene; name it or delete the row.")
        genes.append(row[name])
        found.append([_phenotype(path, line, row[name], row[i]) for i in places])
    return genes, np.array(found, dtype=np.float64).reshape(len(genes), len(places))


def _phenotype(path: Path, line: int, gene: str, text: str) -> float:
    if text.lower() in FAILED:
        return float("nan")
    try:
        value = float(text)
    except ValueError:
        value = np.inf
    if not abs(value) <= LARGEST_PHENOTYPE:
        if text[:1] in ("<", ">"):
            raise ValueError(
                f"{path}, line {line}: the phenotype of {gene} is {text!r}, beyond what can be measured; give the "
                "limit itself as a number, or leave it empty, which counts as failed."
            )
        raise ValueError(
            f"{path}, line {line}: the phenotype of {gene} is {text!r}; it must be a number, or empty where the well "
            "failed. Correct it."
        )
    return value


def averaged(genes: Sequence[str | None], wells: FloatArray) -> Phenotypes:
    """Return the mean of each gene's wells that did not fail.

    Parameters
    ----------
    genes : sequence of str or None
        Of each well the gene as the features name it, None if they do not have it.
    wells : ndarray, shape (n_wells, n_columns)
        Measurements, NaN where one failed.
    """
    by_gene: dict[str, list[float]] = {}
    for gene, row in zip(genes, wells, strict=True):
        if gene is not None:
            by_gene.setdefault(gene, []).extend(float(v) for v in row if not np.isnan(v))
    squares = sum(float(((np.array(v) - np.mean(v)) ** 2).sum()) for v in by_gene.values() if v)
    freedom = sum(len(v) - 1 for v in by_gene.values() if v)
    return Phenotypes(
        {gene: float(np.mean(v)) if v else float("nan") for gene, v in by_gene.items()},
        {gene: len(v) for gene, v in by_gene.items()},
        float(np.sqrt(squares / freedom)) if freedom > 0 else float("nan"),
    )

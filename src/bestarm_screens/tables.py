"""Readers of gene features and of measured phenotypes, with a stated rule for everything that is odd.

A rule is applied and counted (`Notes`), or the file is refused in one line with the value, the rule and the remedy;
nothing is dropped in silence.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.settings import LARGEST_FEATURE

FAILED = ("", "na", "n/a", "nan", "failed")  # a well without a result, in any case of letters
LARGEST_PHENOTYPE = 1e75


@dataclass
class Notes:
    """What was done about odd parts of the files, one sentence each."""

    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Keep a sentence."""
        self.lines.append(text)


@dataclass(frozen=True)
class Features:
    """The genes that can be measured.

    Attributes
    ----------
    genes : tuple of str
        Their names, as in the file.
    values : ndarray, shape (n_genes, n_features)
        Features as in the file, gaps filled; constant features are left out.
    columns : tuple of str
        Names of the features.
    digest : str
        SHA-256 of names and values, by which a campaign knows its features again.
    """

    genes: tuple[str, ...]
    values: FloatArray
    columns: tuple[str, ...]
    digest: str

    def scores(self, components: int = 0) -> FloatArray:
        """Return features with mean 0 and standard deviation 1, or their principal components, shape (n_genes, d).

        Parameters
        ----------
        components : int
            So many leading principal components take the place of the features, all divided by one number, so that
            their mean square is 1; 0 keeps the features.

        Raises
        ------
        ValueError
            For a number of components that the table does not have.
        """
        scores = (self.values - self.values.mean(axis=0)) / self.values.std(axis=0)
        if components == 0:
            return scores
        most = min(scores.shape)
        if not 0 < components <= most:
            raise ValueError(f"components must be between 1 and {most}, or 0 for all features; got {components}.")
        _, axes = np.linalg.eigh(scores.T @ scores)
        axes = axes[:, ::-1][:, :components]
        largest = axes[np.abs(axes).argmax(axis=0), np.arange(components)]
        found = scores @ (axes * np.sign(largest))  # the sign of an eigenvector is arbitrary
        return np.ascontiguousarray(found / np.sqrt((found**2).mean()))


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


def read_rows(path: Path, notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """Yield the header of a table, then its rows, with their line numbers.

    The separator is a comma, or a tab or semicolon where the header has no comma. Empty lines are left out.

    Raises
    ------
    ValueError
        For a missing or empty file, one that is no UTF-8 text, a column without a name or with that of another, or a
        row with another number of fields than the header, as at the end of a half-written file.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            head = file.readline()
            separator = next((s for s in (",", "\t", ";") if s in head), ",")
            file.seek(0)
            yield from _checked_rows(path, csv.reader(file, delimiter=separator))
    except FileNotFoundError:
        raise ValueError(
            f"there is no file {path}; write one, a column `gene` first and a row for each gene or well."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text in UTF-8; save it as CSV (UTF-8), not as a spreadsheet.") from None
    with open(path, "rb") as raw:
        raw.seek(-1, os.SEEK_END)
        if raw.read() not in (b"\n", b"\r"):
            notes.add(f"{path.name}: the last line has no end; it is taken as it is, check that the file is whole.")


def _checked_rows(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    header: list[str] = []
    try:
        for parts in reader:
            if not any(map(str.strip, parts)):
                continue
            if not header:
                header = parts = [part.strip() for part in parts]
                if "" in header or len(set(header)) < len(header):
                    odd = next((name for i, name in enumerate(header) if name == "" or name in header[:i]), "")
                    raise ValueError(
                        f"{path}: the column name {odd!r} is empty or there twice; give each column its own name."
                    )
            if len(parts) != len(header):
                raise ValueError(
                    f"{path}, line {reader.line_num}: {len(parts)} fields where the header has {len(header)}; complete "
                    "the row. A half-written file ends so: write it again."
                )
            yield reader.line_num, parts
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}; save it again as CSV.") from None
    if not header:
        raise ValueError(f"{path} is empty; it needs a header, such as gene,phenotype. Is it half-written?")


def read_features(path: str | Path, notes: Notes) -> Features:
    """Read genes (the column ``gene``, else the first one) and their features, all other columns.

    Rules: an empty feature becomes the mean of its column; a feature that is the same for all genes is left out; rows
    that are there twice count once; each is counted in ``notes``.

    Raises
    ------
    ValueError
        For a feature that is no number, a column without any, a gene without a name or with two different rows, fewer
        than two genes, or a file that `read_rows` refuses.
    """
    path = Path(path)
    rows = read_rows(path, notes)
    _, header = next(rows)
    name = header.index("gene") if "gene" in header else 0
    columns = header[:name] + header[name + 1 :]
    if not columns:
        raise ValueError(f"{path} has no feature, only the column {header[name]!r}; add columns of numbers.")
    lines: dict[str, tuple[int, int]] = {}
    kept: list[FloatArray] = []
    twice = 0
    for line, row in rows:
        gene = row.pop(name).strip()
        if not gene:
            raise ValueError(f"{path}, line {line}: a gene without a name; name it or delete the row.")
        found = _features(path, gene, columns, row)
        if gene in lines:
            before, place = lines[gene]
            if not np.array_equal(found, kept[place], equal_nan=True):
                raise ValueError(f"{path}: {gene} has two different rows, lines {before} and {line}; keep one of them.")
            twice += 1
            continue
        lines[gene] = (line, len(kept))
        kept.append(found)
    genes = list(lines)
    if twice:
        notes.add(f"{path.name}: {_counted(twice, 'row')} there twice, counted once.")
    if len(genes) < 2:
        raise ValueError(f"{path} has {_counted(len(genes), 'gene')}; a search needs at least two.")
    values = np.stack(kept)
    del kept
    if (empty := np.isnan(values).all(axis=0)).any():
        raise ValueError(f"{path}: feature {columns[int(empty.argmax())]!r} has no number at all; drop the column.")
    gaps = np.isnan(values)
    if gaps.any():
        means = np.nanmean(values, axis=0)
        values = np.where(gaps, means, values)
        notes.add(f"{path.name}: {_counted(int(gaps.sum()), 'empty feature')} set to the mean of the column.")
    spread = values.std(axis=0)
    varies = spread > 1e-12 * np.maximum(np.abs(values).max(axis=0), 1e-300)
    if not varies.any():
        raise ValueError(f"{path}: every feature is the same for all genes; there is nothing to tell genes apart by.")
    if not varies.all():
        flat = [column for column, keep in zip(columns, varies, strict=True) if not keep]
        notes.add(f"{path.name}: {_counted(len(flat), 'feature')} the same for all genes, left out ({listed(flat)}).")
    values = np.ascontiguousarray(values[:, varies])
    names = tuple(column for column, keep in zip(columns, varies, strict=True) if keep)
    digest = hashlib.sha256("\x1f".join([*genes, "\x1e", *names]).encode())
    digest.update(values.tobytes())
    return Features(tuple(genes), values, names, digest.hexdigest())


def _features(path: Path, gene: str, columns: Sequence[str], texts: Sequence[str]) -> FloatArray:
    """Return one gene's features as numbers, NaN where one is empty."""
    try:
        found = np.array(list(map(float, texts)))  # twice as fast as NumPy on texts
    except ValueError:
        found = pd.to_numeric(pd.Series(texts), errors="coerce").to_numpy(dtype=np.float64, copy=True)
    for place in map(int, np.flatnonzero(~(np.abs(found) <= LARGEST_FEATURE))):
        if texts[place].strip().lower() not in FAILED:
            raise ValueError(
                f"{path}: feature {columns[place]!r} of {gene} is {texts[place]!r}, no number of ordinary size; "
                "correct it, or drop the column if it is no feature."
            )
        found[place] = np.nan
    return found


def read_wells(path: str | Path, columns: Sequence[str], notes: Notes) -> tuple[list[str], FloatArray]:
    """Return the gene of each well and its measurements, shape (n_wells, n_columns), NaN where it failed.

    Parameters
    ----------
    path : str or Path
        A table with a column ``gene`` (else the first one is it) and the measurements; other columns do not matter.
    columns : sequence of str
        Columns of measurements, replicates of each other; by default ``phenotype``, or the only other column.

    Raises
    ------
    ValueError
        For a phenotype that is neither a number nor a failed well, a well without a gene, or an unknown column.
    """
    path = Path(path)
    rows = read_rows(path, notes)
    _, header = next(rows)
    name = header.index("gene") if "gene" in header else 0
    wanted = list(columns) or (["phenotype"] if "phenotype" in header or len(header) != 2 else [header[1 - name]])
    if missing := [c for c in wanted if c not in header]:
        raise ValueError(
            f"{path} has no column {missing[0]!r}; it has: {', '.join(header)}. Name the measurements by --phenotype."
        )
    places = [header.index(c) for c in wanted]
    genes, found = [], []
    for line, parts in rows:
        row = [part.strip() for part in parts]
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


def listed(names: Sequence[str]) -> str:
    """Return a few names in words."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")

"""Match the genes of two tables by their symbols, outdated ones by HGNC's table of approved symbols.

References
----------
.. [1] HUGO Gene Nomenclature Committee, genenames.org; outdated symbols as packed in the R package HGNChelper.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from bestarm.datasets.registry import DataUnavailable, fetch
from bestarm.screens.tables import Notes, listed

DATA_FILES = ("hgnc-outdated-symbols",)


@cache
def approved_symbols(path: Path) -> Mapping[str, str]:
    """Return outdated symbol → approved symbol, without those that could mean several genes.

    Raises
    ------
    ValueError
        If the file has no two columns.
    """
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    found: dict[str, set[str]] = {}
    for line in text.splitlines()[1:]:
        outdated, tab, approved = line.partition("\t")
        if not tab:
            raise ValueError(f"{path}: {line!r} has no two columns; delete the file, so that it is fetched again.")
        found.setdefault(outdated, set()).add(approved)
    current = {symbol for symbols in found.values() for symbol in symbols}
    return {old: next(iter(new)) for old, new in found.items() if len(new) == 1 and old not in current}


def known_symbols(notes: Notes) -> Mapping[str, str]:
    """Return the table where the project's data loader finds it, else nothing and a line that says so."""
    try:
        return approved_symbols(fetch(*DATA_FILES))
    except DataUnavailable:
        notes.add("outdated symbols are not mapped: HGNC's table is not here; names must agree as they are.")
        return {}


def match(names: Sequence[str], genes: Sequence[str], approved: Mapping[str, str]) -> dict[str, str]:
    """Return name → gene for every name that is one of the genes, as it is or by its approved symbol.

    A name that is there as it is stays. Otherwise both sides are renamed, and a name is matched if its approved symbol
    is that of exactly one gene.
    """
    there = set(genes)
    by_symbol: dict[str, list[str]] = {}
    for gene in genes:
        by_symbol.setdefault(approved.get(gene, gene), []).append(gene)
    found = {}
    for name in dict.fromkeys(names):
        if name in there:
            found[name] = name
            continue
        same = by_symbol.get(approved.get(name, name), [])
        if len(same) == 1:
            found[name] = same[0]
    return found


def matched(
    names: Sequence[str], genes: Sequence[str], approved: Mapping[str, str], notes: Notes, file: str
) -> list[str | None]:
    """Return the gene of each name, None without one; what was renamed and what has no features is said.

    Raises
    ------
    ValueError
        If there are names and none of them is a gene of the features.
    """
    found = match(names, genes, approved)
    renamed = [f"{name} is {gene}" for name, gene in found.items() if name != gene]
    if renamed:
        notes.add(f"{file}: {len(renamed)} outdated symbols mapped by HGNC's table ({listed(renamed)}).")
    lost = [name for name in dict.fromkeys(names) if name not in found]
    if lost and not found:
        raise ValueError(
            f"{file}: none of its genes ({listed(lost)}) has features; both tables must name genes in the same way."
        )
    if lost:
        notes.add(f"{file}: {len(lost)} genes have no features and are left out ({listed(lost)}).")
    return [found.get(name) for name in names]

"""Genes of a screen: their symbols in two tables, outdated ones by HGNC's table, and their wells on plates."""

import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bestarm.gene_symbols import approved_symbols
from bestarm.plugins import entry_points
from bestarm.search.tables import listed, look_alikes

TABLE = "hgnc-outdated-symbols"  # as data registries call it
PLATES = {96: (8, 12), 384: (16, 24)}


def registered_table() -> Path | None:
    """Return HGNC's table where a registry has it: an entry point of the group ``bestarm.data``."""
    for entry in entry_points("bestarm.data").values():
        try:
            return Path(entry.load()(TABLE))
        except (ModuleNotFoundError, FileNotFoundError):  # packages of the registry, or the file
            continue
    return None


def known_symbols(notes: list[str], given: str | None = None) -> Mapping[str, str]:
    """Return a given table, else the registered one, else nothing and a line that says so."""
    path = Path(given) if given else registered_table()
    if path is None:
        lacks = "HGNC's table is not here (--symbols); names must agree as they are"
        notes.append(f"outdated symbols are not mapped: {lacks}.")
        return {}
    if not path.is_file():
        raise ValueError(f"there is no file {path}; name HGNC's table by --symbols.")
    try:
        found = approved_symbols(path)
    except ValueError:
        if not given:
            raise
        raise ValueError(f"{path} is no table of an outdated symbol, a tab, an approved symbol; give HGNC's.") from None
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        first = file.readline().strip()
    if not re.search("outdated|approved|symbol", first, re.IGNORECASE):
        raise ValueError(f"{path}: the first line, {first!r}, is no header; write outdated, tab, approved above it.")
    return found


def matched(
    names: Sequence[str], genes: Sequence[str], approved: Mapping[str, str], notes: list[str], file: str
) -> list[str | None]:
    """Return the gene of each name: itself, or the only one with its approved symbol, or None, which is said."""
    there = set(genes)
    by_symbol: dict[str, list[str]] = {}
    for gene in genes:
        by_symbol.setdefault(approved.get(gene, gene), []).append(gene)
    same = {name: [name] if name in there else by_symbol.get(approved.get(name, name), []) for name in names}
    found = {name: alike[0] for name, alike in same.items() if len(alike) == 1}
    if renamed := [f"{name} is {gene}" for name, gene in found.items() if name != gene]:
        notes.append(f"{file}: {len(renamed)} outdated symbols mapped by HGNC's table ({listed(renamed)}).")
    lost = [name for name in same if name not in found]
    if lost and not found:
        raise ValueError(f"{file}: none of its genes ({listed(lost)}) has features; name genes alike in both tables.")
    if lost:
        notes.append(f"{file}: {len(lost)} genes have no features and are left out ({listed(lost)}).")
        if near := look_alikes(lost, genes):
            notes.append(f"{file}: genes that look alike, of which one has features: {listed(near)}; correct them.")
    return [found.get(name) for name in names]


def wells_of(plate: int, free: Sequence[str] = ()) -> list[str]:
    """Return the wells of a plate row by row, A01, A02, ..., without those that are to stay free for controls."""
    if plate not in PLATES:
        raise ValueError(f"plate must be 96 or 384, got {plate}.")
    rows, columns = PLATES[plate]
    names = [f"{chr(ord('A') + row)}{column + 1:02d}" for row in range(rows) for column in range(columns)]
    kept_free = [re.sub(r"^([A-Z])(\d)$", r"\g<1>0\2", well.strip().upper()) for well in free]
    if unknown := [well for well in kept_free if well not in names]:
        raise ValueError(f"a plate of {plate} has no well {unknown[0]!r}; wells are {names[0]} to {names[-1]}.")
    if not (left := [name for name in names if name not in kept_free]):
        raise ValueError(f"all {plate} wells are kept free; leave at least one for a gene.")
    return left


def places(n: int, plate: int, free: Sequence[str] = ()) -> list[tuple[int, str]]:
    """Return plate number and well of each of n genes; the next plate begins where one is full."""
    wells = wells_of(plate, free)
    return [(1 + i // len(wells), wells[i % len(wells)]) for i in range(n)]

"""HGNC's table of outdated gene symbols and the approved ones.

References
----------
.. [1] HUGO Gene Nomenclature Committee, genenames.org; outdated symbols as packed in the R package HGNChelper.
"""

import gzip
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def approved_symbols(path: Path) -> Mapping[str, str]:
    """Return outdated symbol → approved one, without ambiguous ones; ValueError for a file without two columns."""
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

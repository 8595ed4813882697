"""Gene symbols: outdated ones are replaced, and genes that then share a symbol become one.

References
----------
.. [1] HUGO Gene Nomenclature Committee, genenames.org; its table of outdated symbols as packed in HGNChelper.
"""

from __future__ import annotations

from collections.abc import Sequence

from bestarm.gene_symbols import approved_symbols
from bestarm_lab.datasets.registry import fetch

SYMBOLS_FILE = "hgnc-outdated-symbols"


def renamed(symbols: Sequence[str]) -> list[str]:
    """Return current symbols; a symbol that is in use is kept.

    The benchmark goes further and renames symbols that are in use for one gene where they are an alias of another.
    """
    known = approved_symbols(fetch(SYMBOLS_FILE))
    return [known.get(symbol, symbol) for symbol in symbols]

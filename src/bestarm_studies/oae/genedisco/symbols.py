"""Gene symbols: outdated ones are replaced, and genes that then share a symbol become one.

References
----------
.. [1] HUGO Gene Nomenclature Committee, genenames.org; its table of outdated symbols as packed in HGNChelper.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pandas as pd

from bestarm.datasets.registry import fetch

SYMBOLS_FILE = "hgnc-outdated-symbols"


@cache
def approved_symbols() -> dict[str, str]:
    """Return outdated symbol to approved one; no outdated symbol is itself approved, and each has one successor."""
    table = pd.read_csv(fetch(SYMBOLS_FILE), sep="\t", dtype=str, keep_default_na=False)
    return dict(zip(table["outdated"], table["approved"], strict=True))


def renamed(symbols: Sequence[str]) -> list[str]:
    """Return current symbols; a symbol that is in use is kept.

    The benchmark goes further and renames symbols that are in use for one gene where they are an alias of another.
    """
    known = approved_symbols()
    return [known.get(symbol, symbol) for symbol in symbols]

"""The four screens as the GeneDisco benchmark makes targets of them; nothing is standardised, clipped or shifted.

Benchmark: Mehrjou and others, ICLR 2022. Screens: IFNg and IL2, knock-outs of Schmidt and others, Science 375, 2022;
NK, Zhuang, Veltri and Long, Frontiers in Immunology 10, 2019; SARS-CoV-2, Zhu and others, Nature Communications 12,
2021.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.gene_symbols import approved_symbols
from bestarm_lab.datasets.registry import fetch

SYMBOLS_FILE = "hgnc-outdated-symbols"


def renamed(symbols: Sequence[str]) -> list[str]:
    """Return current symbols; a symbol that is in use is kept.
    The benchmark goes further and renames symbols that are in use for one gene where they are an alias of another."""
    known = approved_symbols(fetch(SYMBOLS_FILE))
    return [known.get(symbol, symbol) for symbol in symbols]


SCREENS = ("IFNg", "IL2", "NK", "SARS-CoV-2")
SCREEN_FILES = (
    "genedisco-ifng-donor-1",
    "genedisco-ifng-donor-2",
    "genedisco-il2-donor-1",
    "genedisco-il2-donor-2",
    "genedisco-nk",
    "genedisco-sarscov2",
    SYMBOLS_FILE,
)


def _read(name: str, columns: list[str], separator: str = "\t") -> pd.DataFrame:
    path: Path = fetch(name)
    table = pd.read_csv(path, sep=separator, keep_default_na=False, na_values=[""], encoding="utf-8-sig")
    if missing := sorted(set(columns) - set(table.columns)):
        raise ValueError(f"{path} has no column {', '.join(missing)}; it has: {', '.join(table.columns)}.")
    return table


def _t_cells(cytokine: str) -> pd.Series:
    """Return the mean log fold change of two donors, positive where a knock-out raises the cytokine."""
    donors = []
    for donor in (1, 2):
        table = _read(f"genedisco-{cytokine}-donor-{donor}", ["id", "pos|lfc"])
        donors.append(table.set_index("id")["pos|lfc"])
    return ((donors[0] + donors[1]) / 2.0).sort_index()


def _killer_cells() -> pd.Series:
    """Return the sum of two replicates' z scores: the benchmark means to average, over an axis of length one."""
    table = _read("genedisco-nk", ["Gene", "Rep1|z", "Rep2|z"]).set_index("Gene")
    return table["Rep1|z"] + table["Rep2|z"]


def _virus() -> pd.Series:
    """Return minus the logarithm of the score of positive selection, not negative."""
    table = _read("genedisco-sarscov2", ["id", "pos|score"], ",").set_index("id")
    return pd.Series(-np.log(table["pos|score"].to_numpy(dtype=np.float64)), index=table.index)


def screen_target(name: str, *, misaligned: bool = False) -> pd.Series:
    """Return the target of each gene, sorted by symbol.
    Outdated symbols are renamed except on SARS-CoV-2, as in the benchmark. Genes that then share a symbol are averaged
    in the screens of T cells; in the others the first in the file is kept. ``misaligned`` is a fault of the benchmark
    until June 2022: symbols were sorted after the renaming, and values stayed in the order of the file, which for NK
    and SARS-CoV-2 is not alphabetical."""
    if name not in SCREENS:
        raise ValueError(f"name must be one of {', '.join(SCREENS)}, got {name!r}.")
    t_cells = name in ("IFNg", "IL2")
    values = _t_cells(name.lower()) if t_cells else _killer_cells() if name == "NK" else _virus()
    if name != "SARS-CoV-2":
        values.index = pd.Index(renamed(list(values.index)))
    if t_cells and not misaligned:
        return values.groupby(level=0).mean().sort_index()
    values = values[~values.index.duplicated()]
    if misaligned:
        return pd.Series(values.to_numpy(), index=values.index.sort_values())
    return values.sort_index()

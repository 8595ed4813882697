"""Descriptors of genes, known before a screen: how cancer cell lines fare without the gene.

The paper's descriptors are the gene effects of DepMap 20Q4 (Achilles) in 808 cell lines, a large file that anybody may
download (figshare, doi.org/10.6084/m9.figshare.13237076, Achilles_gene_effect.csv; Meyers and others, Nature Genetics
49, 2017) and that is not part of this project; it is used where it is found. Otherwise a summary of a later release
replaces it: mean effect and effect size of 71 groups of cell lines.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import bestarm_lab.datasets.registry as registry
from bestarm_lab.datasets.registry import DataDamaged, DataUnavailable, fetch
from bestarm_lab.paths import data_mirror
from bestarm_studies.oae.genedisco.screens import renamed

GROUPS_FILE = "depmap-group-effects"
OLD_NAMES_FILE = "depmap-expression-19q2"
ACHILLES_PATH = "depmap/Achilles_gene_effect.csv"
ACHILLES_SIZE = (808, 18119)  # cell lines, genes


def achilles_file() -> Path:
    """Return where the official file of the paper's descriptors is."""
    for folder in (registry.RAW_DATA, data_mirror()):
        for path in (folder / ACHILLES_PATH, folder / f"{ACHILLES_PATH}.gz"):
            if path.is_file():
                return path
    raise DataUnavailable(
        f"{ACHILLES_PATH} is neither in {registry.RAW_DATA} nor in {data_mirror()}. Download Achilles_gene_effect.csv "
        "of DepMap 20Q4 from depmap.org and put it there."
    )


def read_achilles(path: Path, size: tuple[int, int] | None = ACHILLES_SIZE) -> pd.DataFrame:
    """Return gene effects, genes by cell lines; a missing value is its cell line's mean.
    ``size`` is how many lines and genes the file must have, a row for each line."""
    table = pd.read_csv(path, index_col=0)
    if size is not None and table.shape != size:
        raise DataDamaged(
            f"{path} has {table.shape[0]} cell lines and {table.shape[1]} genes; Achilles_gene_effect.csv of DepMap "
            f"20Q4 has {size[0]} and {size[1]}. Put that release there, or delete the file."
        )
    if words := [str(column) for column in table.columns if not pd.api.types.is_numeric_dtype(table[column])]:
        raise DataDamaged(f"{path}: column {words[0]!r} is not numeric; expected the gene effect of one gene.")
    filled = table.T.fillna(table.mean(axis=1))
    filled.index = pd.Index([str(column).split(" ")[0] for column in filled.index])
    return filled


def group_effects() -> pd.DataFrame:
    """Return the stand-in: mean gene effect in each of 71 groups of cell lines, and Hedges' g against the others."""
    with np.load(fetch(GROUPS_FILE)) as found:
        values = np.hstack([found["mean_in_group"], found["hedges_g"]]).astype(np.float64)
        genes, groups = [str(g) for g in found["genes"]], [str(g) for g in found["groups"]]
    columns = [f"{group} mean" for group in groups] + [f"{group} g" for group in groups]
    table = pd.DataFrame(values, index=pd.Index(genes), columns=columns)
    return table.fillna(table.mean())


def current(table: pd.DataFrame) -> pd.DataFrame:
    """Return descriptors with current symbols, sorted; rows that then share one are averaged."""
    named = table.set_axis(pd.Index(renamed(list(table.index))))
    return named.groupby(level=0).mean().sort_index()


def shifted_rows(old: list[str], new: list[str]) -> dict[str, str]:
    """Return, for each new symbol, the new symbol of the gene whose row it was given.
    Until June 2023 the benchmark sorted the symbols again after the renaming and left the rows in their old order."""
    pairs = dict(sorted(zip(old, new, strict=True)))
    rows = list(dict.fromkeys(pairs.values()))  # in the old order
    return dict(zip(sorted(rows), rows, strict=True))


def descriptors(source: str, *, misaligned: bool = False) -> pd.DataFrame:
    """Return descriptors of genes from "Achilles" or "DepMap groups", sorted by symbol.
    ``misaligned`` is the benchmark's fault until June 2023, see `shifted_rows`. The groups have current symbols, whose
    order does not change: they are shifted as a list of symbols of 2019 would be."""
    if source not in ("Achilles", "DepMap groups"):
        raise ValueError(f"source must be 'Achilles' or 'DepMap groups', got {source!r}.")
    table = read_achilles(achilles_file()) if source == "Achilles" else group_effects()
    right = current(table)
    if not misaligned:
        return right
    if source == "Achilles":
        old = list(table.index)
    else:
        with np.load(fetch(OLD_NAMES_FILE)) as found:
            old = [str(g) for g in found["genes"]]
    pairs = [(o, n) for o, n in zip(old, renamed(old), strict=True) if n in right.index]
    given = shifted_rows([o for o, _ in pairs], [n for _, n in pairs])
    return right.loc[list(given.values())].set_axis(pd.Index(list(given))).sort_index()

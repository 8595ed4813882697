"""Tables of genes: targets that the GeneDisco benchmark makes of four screens, and descriptors known before a screen.

Targets are not standardised, clipped or shifted. Benchmark: Mehrjou and others, ICLR 2022. Screens: IFNg and IL2,
knock-outs of Schmidt and others, Science 375, 2022; NK, Zhuang, Veltri and Long, Frontiers in Immunology 10, 2019;
SARS-CoV-2, Zhu and others, Nature Communications 12, 2021.

Descriptors say how cancer cell lines fare without the gene. The paper's are the gene effects of DepMap 20Q4 (Achilles)
in 808 cell lines, a large file that anybody may download (figshare, doi.org/10.6084/m9.figshare.13237076,
Achilles_gene_effect.csv; Meyers and others, Nature Genetics 49, 2017) and that is not part of this project; it is used
where it is found. Otherwise a summary of a later release replaces it: mean effect and effect size of 71 groups.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import bestarm_lab.datasets.registry as registry
from bestarm.gene_symbols import approved_symbols
from bestarm_lab.datasets.registry import DataDamaged, DataUnavailable, fetch
from bestarm_lab.paths import data_mirror

SYMBOLS_FILE = "hgnc-outdated-symbols"
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
GROUPS_FILE = "depmap-group-effects"
OLD_NAMES_FILE = "depmap-expression-19q2"
ACHILLES_PATH = "depmap/Achilles_gene_effect.csv"
ACHILLES_SIZE = (808, 18119)  # cell lines, genes


def renamed(symbols: Sequence[str]) -> list[str]:
    """Return current symbols; a symbol that is in use is kept.
    The benchmark goes further and renames symbols that are in use for one gene where they are an alias of another."""
    known = approved_symbols(fetch(SYMBOLS_FILE))
    return [known.get(symbol, symbol) for symbol in symbols]


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
    until June 2022: renamed symbols were sorted, values not; files of NK and SARS-CoV-2 are not alphabetical."""
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

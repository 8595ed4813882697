"""The official signatures of the Connectivity Map (GEO series GSE92742, Section 5), for readers who have the files.

Three files are wanted, in ``data/raw/l1000`` or in ``l1000`` of the folder that ``$BESTARM_DATA`` names: the level-5
matrix (about 23 GB, unpacked) and the tables of its signatures and genes. They are not in the registry: no copy was at
hand to record a checksum of, and files of this size are not fetched without being asked for. Source: Subramanian and
others, "A next generation connectivity map: L1000 platform and the first 1,000,000 profiles", Cell 171, 2017.
"""

import hashlib
import inspect
import os
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.paths import RAW_DATA, STORE, data_mirror
from bestarm_objectives.autoencoder.training import Coding, Embedding, scaled, train
from bestarm_studies.oae.cell_lines.gctx import read_gctx
from bestarm_studies.oae.landscapes import DrawnArms

SIZES = {"VCAP": 14602, "HA1E": 10487, "MCF7": 6638, "A375": 10033}  # signatures of each line (Subramanian and others)
LINES = tuple(SIZES)
GENES = (
    "AURKB", "BIRC5", "CCNB2", "CCNE2", "CDC20", "CDC45", "CDK1", "CENPE", "GMNN", "KIF2C", "LBR", "NCAPD2", "NUSAP1",
    "PCNA", "PSRC1", "RFC2", "RPA2", "SMC4", "STMN1", "TOP2A", "UBE2C", "UBR7", "USP1",
)  # fmt: skip
DATA_FILES = ()  # none is in the registry
ADDRESS = "https://ftp.ncbi.nlm.nih.gov/geo/series/GSE92nnn/GSE92742/suppl/"
FOLDER = "l1000"
SIGNATURE_TABLE = "GSE92742_Broad_LINCS_sig_info.txt"
GENE_TABLE = "GSE92742_Broad_LINCS_gene_info.txt"
MATRIX = "GSE92742_Broad_LINCS_Level5_COMPZ.MODZ_n473647x12328.gctx"
HAIRPIN = "trt_sh"  # the type of a perturbation by one hairpin


def kept(
    name: str, key: str, modules: Sequence[str], compute: Callable[[], dict[str, FloatArray]]
) -> dict[str, FloatArray]:
    """Return what ``compute`` returns; what was computed before from the same inputs by the same code is read.
    ``key`` is a hash of the inputs; the text of ``modules`` counts as well. Files lie in the folder ``arrays`` of
    ``$BESTARM_STORE``, are renamed when whole, and may be deleted; what cannot be read is computed anew."""
    code = hashlib.sha256("".join(inspect.getsource(sys.modules[module]) for module in modules).encode()).hexdigest()
    file = Path(os.environ.get("BESTARM_STORE", STORE)) / "arrays" / f"{name}-{key}-{code[:16]}.npz"
    if file.is_file():
        try:
            with np.load(file) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            file.unlink(missing_ok=True)
    found = compute()
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.stem}.{os.getpid()}.npz")
    np.savez(temporary, allow_pickle=False, **found)
    os.replace(temporary, file)
    return found


def proliferation(signatures: FloatArray, symbols: Sequence[str]) -> FloatArray:
    """Return the mean of the 23 genes of Subramanian and others in each signature, shape (n_arms,).
    ``signatures`` are changes of expression, shape (n_arms, n_genes); ``symbols`` name their genes."""
    place = {symbol: number for number, symbol in enumerate(symbols)}
    if missing := [gene for gene in GENES if gene not in place]:
        raise ValueError(f"the reward needs the genes of Appendix F; there is no {', '.join(missing)}.")
    return np.asarray(signatures[:, [place[gene] for gene in GENES]].mean(axis=1, dtype=np.float64))


class Files(NamedTuple):
    """Where the three files are."""

    matrix: Path
    signatures: Path
    genes: Path


class Hairpins(NamedTuple):
    """The signatures of one line: hairpins in alphabetical order, and the mean signature of each, (n, n_genes)."""

    names: list[str]
    values: FloatArray


@dataclass(frozen=True)
class CellLine(DrawnArms):
    """Arms whose features and rewards ``make`` returns when they are asked for; the same in all replications."""

    label: str
    make: Callable[[], tuple[FloatArray, FloatArray]]
    data: str = "real"

    def take(self, rows: IntArray) -> NoiselessArms:
        """Return the arms; features and rewards have mean 0 and standard deviation 1 over all arms."""
        features, rewards = self.make()
        return NoiselessArms(self.label, scaled(features), scaled(rewards)[None], data=self.data)


def find_files() -> Files:
    """Return where the official files are; tables may be packed (.gz), the matrix may not."""
    return Files(_found(MATRIX), _found(SIGNATURE_TABLE, ".gz"), _found(GENE_TABLE, ".gz"))


def _found(name: str, packed: str = "") -> Path:
    for folder in (RAW_DATA / FOLDER, data_mirror() / FOLDER):
        for path in (folder / name, folder / f"{name}{packed}"):
            if path.is_file():
                return path
    raise DataUnavailable(
        f"the Connectivity Map's {name} is not here (not public in this project); it can be had from {ADDRESS}, and "
        f"belongs into {RAW_DATA / FOLDER}, unpacked."
    )


def landmark_genes(files: Files) -> pd.DataFrame:
    """Return the measured genes: ``pr_gene_id``, as the matrix names them, and ``pr_gene_symbol``."""
    genes = _table(files.genes, ("pr_gene_id", "pr_gene_symbol", "pr_is_lm"))
    return genes[genes["pr_is_lm"] == "1"]


def line_signatures(files: Files, line: str) -> pd.DataFrame:
    """Return the signatures of single hairpins in a line: ``sig_id, pert_id``."""
    table = _table(files.signatures, ("sig_id", "pert_id", "pert_type", "cell_id"))
    mine = table[(table["pert_type"] == HAIRPIN) & (table["cell_id"] == line)]
    if mine.empty:
        raise ValueError(f"{files.signatures} has no signature of type {HAIRPIN} in the line {line}.")
    return mine


def _table(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    table = pd.read_csv(path, sep="\t", dtype=str, na_filter=False)
    if missing := [c for c in columns if c not in table]:
        raise ValueError(f"{path} has no column {', '.join(missing)}; it has: {', '.join(table.columns)}.")
    return table


def read_hairpins(files: Files, line: str) -> Hairpins:
    """Return the mean signature of every hairpin in a line over its signatures there (times, batches)."""
    about, genes = line_signatures(files, line), landmark_genes(files)
    values = read_gctx(files.matrix, about["sig_id"].tolist(), genes["pr_gene_id"].tolist())
    names, hairpin, counts = np.unique(about["pert_id"].to_numpy(str), return_inverse=True, return_counts=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, hairpin, values)
    return Hairpins([str(name) for name in names], (sums / counts[:, None]).astype(np.float32))


@lru_cache(maxsize=5)
def _kept_hairpins(files: Files, line: str) -> Hairpins:
    stamp = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    key = hashlib.sha256(repr((stamp, line)).encode()).hexdigest()[:32]

    def compute() -> dict[str, FloatArray]:
        found = read_hairpins(files, line)
        return {"names": np.array(found.names), "values": found.values}

    arrays = kept("hairpins", key, (__name__, read_gctx.__module__), compute)
    return Hairpins([str(name) for name in arrays["names"]], arrays["values"])


def matched(vcap: Hairpins, target: Hairpins) -> tuple[np.ndarray, np.ndarray]:
    """Return where the hairpins that both lines have stand in each of them, in alphabetical order."""
    _, mine, theirs = np.intersect1d(vcap.names, target.names, return_indices=True)
    if len(mine) < 2:
        raise ValueError(f"the two lines have {len(mine)} hairpins in common, at least 2 are needed.")
    return mine, theirs


def _official(files: Files, line: str) -> tuple[FloatArray, FloatArray]:
    vcap, target = _kept_hairpins(files, "VCAP"), _kept_hairpins(files, line)
    mine, theirs = matched(vcap, target)
    symbols = landmark_genes(files)["pr_gene_symbol"].tolist()
    return embedding(vcap.values, Coding()).codes[mine], proliferation(target.values[theirs], symbols)


def official_line(name: str) -> CellLine:
    """Return the hairpins of VCAP and of a line as arms: VCAP's codes, the line's proliferation (Section 5)."""
    if name not in SIZES:
        raise ValueError(f"name must be one of {', '.join(SIZES)}, got {name!r}.")
    return CellLine(f"CMAP {name}", partial(_official, find_files(), name))


@dataclass(frozen=True)
class OfficialComputation(Computation):
    """A computation on the official files; nothing is computed where they are not."""

    conventions: ClassVar[tuple[str, ...]] = ("as_written",)

    def has_data(self) -> bool:
        """Return whether the official files are here."""
        try:
            find_files()
        except DataUnavailable:
            return False
        return True


def embedding(signatures: FloatArray, coding: Coding) -> Embedding:
    """Return `train` of these signatures, computed once and kept in the store of this copy of the project."""
    content = np.ascontiguousarray(signatures, dtype=np.float32)
    key = hashlib.sha256(repr((content.shape, astuple(coding))).encode() + content.tobytes()).hexdigest()[:32]

    def compute() -> dict[str, FloatArray]:
        found = train(content, coding)  # type: ignore[arg-type]
        return {"codes": found.codes, "errors": found.errors, "best": np.array(found.best)}

    arrays = kept("embedding", key, (train.__module__,), compute)
    return Embedding(arrays["codes"], arrays["errors"], int(arrays["best"]))

"""Reader of parts of a GCTX file: some signatures, some genes.

GCTX (Enache and others, Bioinformatics 35, 2019) is HDF5 with one matrix, a row of it for each signature (a column of
the table) and a column for each gene, and the names of both.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MATRIX, SIGNATURES, GENES = "/0/DATA/0/matrix", "/0/META/COL/id", "/0/META/ROW/id"
ROWS_AT_ONCE = 256


def read_gctx(path: Path, signatures: Sequence[str], genes: Sequence[str]) -> NDArray[np.float32]:
    """Return the values of some signatures and genes, shape (n_signatures, n_genes), in the order asked for.
    At most 256 signatures are in memory with all their genes: the file, uncompressed, may have tens of gigabytes."""
    import h5py

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} is no HDF5 file ({error}); a .gctx.gz has to be unpacked first.") from error
    with file:
        if absent := [name for name in (MATRIX, SIGNATURES, GENES) if name not in file]:
            raise ValueError(f"{path} is no GCTX file: it has no {', '.join(absent)}.")
        matrix = file[MATRIX]
        rows = _places(path, file[SIGNATURES][:], signatures, "signature")
        columns = _places(path, file[GENES][:], genes, "gene")
        found = np.empty((len(rows), len(columns)), dtype=np.float32)
        order = np.argsort(rows, kind="stable")  # HDF5 reads rows in increasing order, each once
        for start in range(0, len(order), ROWS_AT_ONCE):
            some = order[start : start + ROWS_AT_ONCE]
            wanted, back = np.unique(rows[some], return_inverse=True)
            found[some] = matrix[wanted.tolist(), :][:, columns][back]
    return found


def _places(path: Path, there: np.ndarray, wanted: Sequence[str], kind: str) -> np.ndarray:
    place = {(name.decode() if isinstance(name, bytes) else str(name)): number for number, name in enumerate(there)}
    if missing := [name for name in wanted if name not in place]:
        raise ValueError(f"{path} lacks {len(missing)} of {len(wanted)} {kind}s, the first is {missing[0]!r}.")
    return np.array([place[name] for name in wanted], dtype=np.int64)

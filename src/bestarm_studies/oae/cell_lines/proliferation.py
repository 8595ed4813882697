"""The reward of a perturbation: the mean change of the 23 genes that tell of proliferation.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Appendix F.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestarm.interface import FloatArray

GENES = (
    "AURKB", "BIRC5", "CCNB2", "CCNE2", "CDC20", "CDC45", "CDK1", "CENPE", "GMNN", "KIF2C", "LBR", "NCAPD2", "NUSAP1",
    "PCNA", "PSRC1", "RFC2", "RPA2", "SMC4", "STMN1", "TOP2A", "UBE2C", "UBR7", "USP1",
)  # fmt: skip


def proliferation(signatures: FloatArray, symbols: Sequence[str]) -> FloatArray:
    """Return the mean of the 23 genes of [1]_ in each signature, shape (n_arms,), in the units of the signatures.

    Parameters
    ----------
    signatures : ndarray, shape (n_arms, n_genes)
        Changes of expression.
    symbols : sequence of str
        Symbol of each gene.

    Raises
    ------
    ValueError
        If one of the 23 genes is missing.
    """
    place = {symbol: number for number, symbol in enumerate(symbols)}
    if missing := [gene for gene in GENES if gene not in place]:
        raise ValueError(f"the reward needs the genes of Appendix F; there is no {', '.join(missing)}.")
    return np.asarray(signatures[:, [place[gene] for gene in GENES]].mean(axis=1, dtype=np.float64))


def scaled(values: FloatArray) -> FloatArray:
    """Return columns with mean 0 and standard deviation 1; a column that is constant becomes 0."""
    spread = values.std(axis=0, dtype=np.float64)
    return np.asarray((values - values.mean(axis=0, dtype=np.float64)) / np.where(spread > 1e-9, spread, 1.0))

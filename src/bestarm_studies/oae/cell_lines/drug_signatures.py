"""Consensus signatures of 1170 compounds, public real data: an analogue of the case of VCAP.

References
----------
.. [1] Himmelstein. "Consensus signatures for LINCS L1000 perturbations". 2016. doi 10.6084/m9.figshare.3085426.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.datasets.registry import fetch

SQUASHED = 5.0
N_DRUGS = 1170


def read_drug_signatures() -> tuple[FloatArray, list[str]]:
    """Return signatures, shape (1170, 978), and the symbol of each gene in the Connectivity Map.

    A z-score enters as tanh(z / 5): some are as large as 200, and no mean would tell of anything else.

    Raises
    ------
    DataUnavailable
        If a file cannot be found.
    """
    with np.load(fetch("l1000-drug-consensus")) as arrays:
        z, entrez = arrays["z"].astype(np.float64), arrays["entrez"].astype(np.int64)
    genes = pd.read_csv(fetch("l1000-landmarks"), sep="\t").set_index("entrez")["symbol"]
    return np.tanh(z / SQUASHED), [str(genes[number]) for number in entrez]

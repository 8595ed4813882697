"""Perturbations as arms: codes of VCAP's signatures as features, the proliferation of another line as reward.

Every constructor says at once whether its data are here and what it is called; signatures are read or simulated, and
the autoencoder is trained, when a search asks for the arms.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section 5.
"""

from __future__ import annotations

from functools import partial

from bestarm.interface import FloatArray
from bestarm_lab.datasets.registry import fetch
from bestarm_studies.oae.cell_lines.autoencoder import Coding, embedding
from bestarm_studies.oae.cell_lines.drug_signatures import N_DRUGS, read_drug_signatures
from bestarm_studies.oae.cell_lines.proliferation import proliferation
from bestarm_studies.oae.cell_lines.simulated_arms import VCAP, CellLine, simulated_arms
from bestarm_studies.oae.cell_lines.simulator import SIZES, Likeness

DATA_FILES = ("l1000-drug-consensus", "l1000-landmarks")

# Calibrated once to Figures 1 and 4 (S3 and S4), before any search, by `calibration.calibrated`; frozen since.
LIKENESS = {
    "VCAP": VCAP,
    "HA1E": Likeness(0.9979, 0.00121),
    "MCF7": Likeness(0.9990, 0.00078),
    "A375": Likeness(0.2, 0.6),
}
STAND_IN = "stand-in"


def simulated_line(
    name: str,
    scale: int = 1,
    like: str | None = None,
    rho: float | None = None,
    eta: float | None = None,
    permuted: bool = False,
    seed: int = 0,
) -> CellLine:
    """Return the arms of a simulated cell line (`bestarm_studies.oae.cell_lines.simulator`).

    Parameters
    ----------
    name : {"VCAP", "HA1E", "MCF7", "A375"}
        The line: its number of arms, its rotation, its own program.
    scale : int
        Divides the numbers of arms.
    like : str, optional
        Another line whose (rho, eta) it has.
    rho, eta : float, optional
        In the place of the line's own.
    permuted : bool
        Whether every arm has the code of another one, so that features tell nothing.
    seed : int
        Of the whole simulation.

    Raises
    ------
    ValueError
        For an unknown line, or parameters out of their range.
    """
    for line in (name, like or name):
        if line not in SIZES:
            raise ValueError(f"name must be one of {', '.join(SIZES)}, got {line!r}.")
    own = LIKENESS[like or name]
    likeness = Likeness(own.rho if rho is None else rho, own.eta if eta is None else eta)
    return simulated_arms(name, likeness, scale, permuted=permuted, seed=seed)


def stand_in_line(name: str) -> CellLine:
    """Return a tiny simulated line of the schema of the official data, for tests where nobody has them."""
    small = simulated_line(name, scale=100)
    return CellLine(f"{name} stand-in", small.make, STAND_IN)


def _drugs(n_arms: int) -> tuple[FloatArray, FloatArray]:
    signatures, symbols = read_drug_signatures()
    signatures = signatures[:n_arms]
    return embedding(signatures, Coding()).codes, proliferation(signatures, symbols)


def drug_arms(name: str = "drug signatures", n_arms: int = N_DRUGS) -> CellLine:
    """Return compounds as arms: codes of their own signatures, and the proliferation in the same signatures.

    The analogue of VCAP, where features and reward come from one set of signatures; compounds, not knock-downs.

    Parameters
    ----------
    name : str
        Of the panel.
    n_arms : int
        The first so many compounds.

    Raises
    ------
    ValueError
        For fewer than 3 compounds, or more than there are.
    DataUnavailable
        If the file cannot be found; `stand_in_drugs` has the same schema.
    """
    if not 3 <= n_arms <= N_DRUGS:
        raise ValueError(f"n_arms must be between 3 and {N_DRUGS}, got {n_arms}.")
    for file in DATA_FILES:
        fetch(file)
    return CellLine(f"{name}{f' K={n_arms}' * (n_arms < N_DRUGS)}", partial(_drugs, n_arms), "real")


def stand_in_drugs(name: str = "drug signatures", n_arms: int = N_DRUGS) -> CellLine:
    """Return a tiny simulated VCAP in place of the drug signatures."""
    return stand_in_line("VCAP")

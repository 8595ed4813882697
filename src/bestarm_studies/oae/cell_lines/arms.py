"""Perturbations as arms: codes of VCAP's signatures as features, the proliferation of another line as reward.

Every constructor says at once whether its data are here and what it is called; signatures are read or simulated, and
the autoencoder is trained, when a search asks for the arms.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from bestarm.datasets.registry import fetch
from bestarm.interface import FloatArray, IntArray
from bestarm.problems.drawn_arms import DrawnArms
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_studies.oae.cell_lines.autoencoder import Coding, Embedding, embedding
from bestarm_studies.oae.cell_lines.drug_signatures import N_DRUGS, read_drug_signatures
from bestarm_studies.oae.cell_lines.proliferation import proliferation, scaled
from bestarm_studies.oae.cell_lines.simulator import (
    SIZES,
    Likeness,
    World,
    arms_of,
    expression,
    simulated_reward,
    world,
)

DATA_FILES = ("l1000-drug-consensus", "l1000-landmarks")

# Calibrated once to Figures 1 and 4 (S3 and S4), before any search, by `calibration.calibrated`; frozen since.
LIKENESS = {
    "VCAP": Likeness(1.0, 0.0),
    "HA1E": Likeness(0.7, 0.15),
    "MCF7": Likeness(0.7, 0.20),
    "A375": Likeness(0.2, 0.60),
}
SIMULATED, STAND_IN = "simulated", "stand-in"


@dataclass(frozen=True)
class CellLine(DrawnArms):
    """Arms whose features and rewards are made when they are asked for; the same in all replications.

    Parameters
    ----------
    label : str
        Name of the instance; it keys all draws.
    make : callable
        Returns features, shape (n_arms, n_features), and rewards, shape (n_arms,).
    data : {"real", "simulated", "stand-in"}
        Where the rewards come from.
    """

    label: str
    make: Callable[[], tuple[FloatArray, FloatArray]]
    data: str = SIMULATED

    def take(self, rows: IntArray) -> NoiselessArms:
        """Return the arms; features and rewards have mean 0 and standard deviation 1 over all arms."""
        features, rewards = self.make()
        return NoiselessArms(self.label, scaled(features), scaled(rewards)[None], data=self.data)


@lru_cache(maxsize=2)
def simulated_vcap(scale: int, seed: int) -> tuple[World, Embedding]:
    """Return a simulated world, and the embedding of VCAP's signatures in it."""
    shared = world(scale, seed)
    return shared, embedding(expression(shared, "VCAP", LIKENESS["VCAP"]), Coding())


def _simulated(line: str, likeness: Likeness, scale: int, seed: int, permuted: bool) -> tuple[FloatArray, FloatArray]:
    shared, coded = simulated_vcap(scale, seed)
    codes = coded.codes[arms_of(shared, line)]
    if permuted:
        codes = codes[np.random.default_rng([seed, 3]).permutation(len(codes))]
    return codes, simulated_reward(expression(shared, line, likeness))


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
    label = f"simulated {name} / {scale}, rho={likeness.rho:g}, eta={likeness.eta:g}{', permuted' * permuted}"
    return CellLine(label, partial(_simulated, name, likeness, scale, seed, permuted))


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
        If the file can be found nowhere; `stand_in_drugs` has the same schema.
    """
    if not 3 <= n_arms <= N_DRUGS:
        raise ValueError(f"n_arms must be between 3 and {N_DRUGS}, got {n_arms}.")
    for file in DATA_FILES:
        fetch(file)
    return CellLine(f"{name}{f' K={n_arms}' * (n_arms < N_DRUGS)}", partial(_drugs, n_arms), "real")


def stand_in_drugs(name: str = "drug signatures", n_arms: int = N_DRUGS) -> CellLine:
    """Return a tiny simulated VCAP in the place of the drug signatures."""
    return stand_in_line("VCAP")

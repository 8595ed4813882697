"""Abalone, searched in batches of five and ten: every row of the table is a candidate, the oldest snail the optimum.

Data: Nash and others, UCI Machine Learning Repository, 1994; a search by Contal and others, ECML 2013.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray
from bestarm_lab.datasets.registry import fetch
from bestarm_lab.datasets.tables import ArmTable
from bestarm_lab.experiments.scale import Scale
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.experiments import panels, with_zero_mean

DATA_FILES = ("abalone",)
N_ROWS = 4177
SEXES = {"F": 0.0, "I": 0.5, "M": 1.0}
MEASURES = ("length", "diameter", "height", "whole", "shucked", "viscera", "shell")


@says_which_file
def read_abalone(path: Path) -> ArmTable:
    """Read snails with their sex as 0 (female), 0.5 (infant) or 1, seven measures, and the number of their rings."""
    try:
        table = pd.read_csv(path, header=None, names=["sex", *MEASURES, "rings"])
    except (ValueError, OSError, pd.errors.ParserError) as error:
        raise ValueError(f"{path}: expected a table of separated values, found something else ({error}).") from error
    table["sex"] = table["sex"].map(SEXES)
    numbers = table.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise ValueError(f"{path}: row {row} has no valid {table.columns[column]}; is the file whole?")
    return ArmTable(numbers[:, :-1], numbers[:, -1], ("sex", *MEASURES))


def _arms(
    label: str, features: FloatArray, rings: FloatArray, sigma: float, n_arms: int, seed: int, data: str
) -> CandidateArms:
    """Return rows as candidates: features in [0, 1], rings standardised over all rows, a part that keeps the oldest."""
    low, high = features.min(axis=0), features.max(axis=0)
    means = (rings - rings.mean()) / rings.std()
    kept = np.arange(len(rings))
    if n_arms < len(rings):
        others = np.flatnonzero(rings < rings.max())
        top = np.flatnonzero(rings == rings.max())
        drawn = np.random.default_rng(seed).permutation(others)[: n_arms - len(top)]
        kept = np.sort(np.concatenate([top, drawn]))
    scaled = (features - low) / (high - low)
    return CandidateArms(label, scaled[kept], means[kept][None], sigma, data=data)


def abalone_instance(n_arms: int = N_ROWS, sigma: float = 0.0, seed: int = 0) -> CandidateArms:
    """Return the snails as candidates, rings standardised over all of them, features scaled to [0, 1].
    A random subset of ``n_arms`` keeps the largest value, 5.9 standard deviations above the mean. ``sigma`` is noise in
    standard deviations of the rings; Contal and others add none. `stand_in_abalone_instance` has the same form."""
    table = read_abalone(fetch("abalone"))
    if not 2 <= n_arms <= len(table.target):
        raise ValueError(f"n_arms must be between 2 and {len(table.target)}, got {n_arms}.")
    label = f"Abalone{f' |X|={n_arms}' * (n_arms < len(table.target))}{f' sigma={sigma:g}' * (sigma > 0)}"
    return _arms(label, table.features, table.target, sigma, n_arms, seed, "real")


def stand_in_abalone_instance(n_arms: int = N_ROWS, sigma: float = 0.0, seed: int = 0) -> CandidateArms:
    """Return drawn snails that grow with age, and as uneven in it, at most 1000."""
    rng = np.random.default_rng([N_ROWS, seed])
    n = min(n_arms, 1000)
    rings = np.rint(np.exp(rng.normal(2.24, 0.31, n)))
    rings[0] = rings.max() + 4
    length = 0.75 * (1 - np.exp(-rings / 7)) + rng.normal(0, 0.05, n)
    sizes = length[:, None] * np.array([1.0, 0.8, 0.27]) + rng.normal(0, 0.02, (n, 3))
    weights = np.abs(length[:, None]) ** 3 * np.array([5.0, 2.2, 1.1, 1.4]) + rng.normal(0, 0.03, (n, 4))
    features = np.column_stack([rng.choice([0.0, 0.5, 1.0], n), sizes, weights])
    return _arms("Abalone stand-in", features, rings, sigma, n, seed, "stand-in")


ABALONE = (partial(abalone_instance, sigma=0.0), partial(stand_in_abalone_instance))
EXPERIMENTS = {
    **panels("Figure 4", "fig4_abalone", "Abalone", *ABALONE, paper=Scale(300)),
    **with_zero_mean("fig4_abalone", "Abalone", *ABALONE),
}

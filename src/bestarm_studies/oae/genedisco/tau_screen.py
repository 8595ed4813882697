"""The benchmark's fifth screen, which the paper leaves out: knock-outs that lower the protein tau in neurons.

Sanchez and others, "Genome-wide CRISPR screen identifies protein pathways modulating tau protein levels in neurons",
Communications Biology 4, 2021; the file has no official address.
"""

import pandas as pd

from bestarm_lab.datasets.registry import fetch
from bestarm_studies.oae.genedisco.descriptors import GROUPS_FILE
from bestarm_studies.oae.genedisco.screens import SYMBOLS_FILE, renamed
from bestarm_studies.oae.genedisco.todays_screen import SOURCE, AlignedScreen, group_means

TAU = "tau"
TAU_FILE = "genedisco-tau"
DATA_FILES = (TAU_FILE, SYMBOLS_FILE, GROUPS_FILE)


def tau_target() -> pd.Series:
    """Return minus the score of knock-outs that lower tau, by current symbol; of two genes of one the first is kept."""
    scores = pd.read_csv(fetch(TAU_FILE), keep_default_na=False).set_index("Symbol")["RSA_Down"].astype(float)
    values = -scores.set_axis(pd.Index(renamed(list(scores.index))))
    return values[~values.index.duplicated()].sort_index()


def tau_screen(name: str = TAU, seed: int = 0) -> AlignedScreen:
    """Return the screen on group means, as `bestarm_studies.oae.genedisco.todays_screen` returns the other four."""
    if name != TAU:
        raise ValueError(f"name must be {TAU!r}, got {name!r}; todays_screen has the other four.")
    table, target = group_means(), tau_target()
    genes = table.index.intersection(target.index).sort_values()
    features, effects = table.loc[genes].to_numpy(), target.loc[genes].to_numpy()
    return AlignedScreen(f"{TAU}, {SOURCE}", features, effects, name=TAU, source=SOURCE, seed=seed)

"""The four screens as the benchmark makes them since June 2023: rows aligned, the hit list with a split of its own.

Descriptors are the mean gene effects of 71 groups of cell lines, without effect sizes: columns of the kind that the
benchmark has. Anybody can run the benchmark itself on the same table, see ``benchmarks/genedisco_release.py``.
"""

from dataclasses import dataclass, replace
from functools import cache

import pandas as pd

from bestarm_studies.oae.genedisco.gene_screen import GeneScreen
from bestarm_studies.oae.genedisco.gene_tables import GROUPS_FILE, SCREEN_FILES, current, group_effects, screen_target

DATA_FILES = (*SCREEN_FILES, GROUPS_FILE)
SOURCE = "DepMap group means"
N_GROUPS = 71


@dataclass(frozen=True)
class AlignedScreen(GeneScreen):
    """A screen whose rows are aligned in the authors' code, too; what it keeps is the second split of its hit list."""

    def as_coded(self) -> "AlignedScreen":
        """Return the screen with the hit list of the benchmark's code."""
        return replace(self, second_split=True)


@cache
def group_means() -> pd.DataFrame:
    """Return the mean gene effect in each of 71 groups of cell lines, genes by groups, with current symbols."""
    return current(group_effects().iloc[:, :N_GROUPS])


def todays_screen(name: str, seed: int = 0) -> AlignedScreen:
    """Return one of the screens IFNg, IL2, NK and SARS-CoV-2 on group means."""
    table, target = group_means(), screen_target(name)
    genes = table.index.intersection(target.index).sort_values()
    features, effects = table.loc[genes].to_numpy(), target.loc[genes].to_numpy()
    return AlignedScreen(f"{name}, {SOURCE}", features, effects, name=name, source=SOURCE, seed=seed)

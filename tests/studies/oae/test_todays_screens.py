"""The benchmark's screens with aligned rows: each effect beside its own descriptors."""

import numpy as np
import pytest

from bestarm_lab.datasets.registry import available
from bestarm_studies.oae.genedisco import todays_screen as today
from bestarm_studies.oae.genedisco.screens import SCREENS

pytestmark = pytest.mark.skipif(not available(*today.DATA_FILES), reason="the files can be had nowhere here")


@pytest.mark.parametrize("name", ["IFNg", "NK"])
def test_rows_are_aligned(name):
    screen, table = today.todays_screen(name), today.group_means()
    effects = today.screen_target(name)
    genes = sorted(set(table.index) & set(effects.index))
    assert screen.features.shape == (len(genes), 71)
    for place in (0, 1234, -1):
        assert np.array_equal(screen.features[place], table.loc[genes[place]])
        assert screen.effects[place] == effects[genes[place]]


def test_what_random_genes_find():
    """800 of all genes: as the notebook says, between 0.046 and 0.048 on each screen."""
    chance = [800 / len(today.todays_screen(name).effects) for name in SCREENS]
    assert (round(min(chance), 3), round(max(chance), 3)) == (0.046, 0.048)

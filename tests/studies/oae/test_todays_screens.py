"""The benchmark's screens with aligned rows: each effect beside its own descriptors, and of the right sign."""

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from bestarm_lab.datasets.registry import available, fetch
from bestarm_studies.oae.genedisco import tau_screen as tau
from bestarm_studies.oae.genedisco import todays_screen as today
from bestarm_studies.oae.genedisco.screens import SCREENS


def needs(module):
    return pytest.mark.skipif(not available(*module.DATA_FILES), reason="the files can be had nowhere here")


def test_names_of_other_screens_are_refused():
    refuses(lambda: tau.tau_screen("IFNg"), "name must be 'tau', got 'IFNg'; todays_screen has the other four")


def test_a_lower_score_is_a_larger_effect_and_the_first_of_two_genes_is_kept(tmp_path, monkeypatch):
    file = tmp_path / "screen.csv"
    file.write_text("\ufeffSymbol,RSA_Down,RSA_Up\nB,-2.5,0\nA,-0.5,0\nOLD,1.5,0\nA,9,0\n", encoding="utf-8")
    monkeypatch.setattr(tau, "fetch", lambda name: file)
    monkeypatch.setattr(tau, "renamed", lambda names: ["NEW" if name == "OLD" else name for name in names])
    pd.testing.assert_series_equal(
        tau.tau_target(), pd.Series([0.5, 2.5, -1.5], index=["A", "B", "NEW"]), check_names=False
    )


@needs(today)
@pytest.mark.parametrize("name", ["IFNg", "NK"])
def test_rows_are_aligned(name):
    screen, table = today.todays_screen(name), today.group_means()
    effects = today.screen_target(name)
    genes = sorted(set(table.index) & set(effects.index))
    assert screen.features.shape == (len(genes), 71)
    for place in (0, 1234, -1):
        assert np.array_equal(screen.features[place], table.loc[genes[place]])
        assert screen.effects[place] == effects[genes[place]]


@needs(tau)
def test_the_fifth_screen():
    """A gene whose knock-out lowers tau most by the file is the gene with the largest effect."""
    screen = tau.tau_screen()
    file = pd.read_csv(fetch(tau.TAU_FILE), keep_default_na=False).set_index("Symbol")["RSA_Down"].astype(float)
    genes = tau.group_means().index.intersection(tau.tau_target().index).sort_values()
    assert screen.features.shape == (len(genes), 71)
    assert 15_000 < len(genes) < len(file)
    kept = file[file.index.isin(genes)]
    assert genes[screen.effects.argmax()] == kept.idxmin()
    assert screen.effects.max() == -kept.min()


@needs(tau)
@needs(today)
def test_what_random_genes_find():
    """800 of all genes: as the notebook says, between 0.046 and 0.048 on each screen."""
    screens = [*(today.todays_screen(name) for name in SCREENS), tau.tau_screen()]
    chance = [800 / len(screen.effects) for screen in screens]
    assert (round(min(chance), 3), round(max(chance), 3)) == (0.046, 0.048)

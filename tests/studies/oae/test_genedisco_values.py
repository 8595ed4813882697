"""From rows of searches of screens to tables, gains and the values of claims, on rows made by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from bestarm_studies.oae.genedisco import checks, figures
from bestarm_studies.oae.genedisco.experiments import EXPERIMENTS as GENEDISCO

SERIES = ["OAE", "Largest norms", "Random"]


def rows_of(series=SERIES, screens=("IFNg", "NK"), convention="as_written", n=3):
    """Hit ratios that are 0.01 times the place of a series, plus a thousandth for each run, in three records."""
    lines = [
        (name, screen, run, number, 16 * number, (number / 50) * (0.01 * (place + 1) + 0.001 * run))
        for (place, name), screen, run, number in product(enumerate(series), screens, range(n), (0, 25, 50))
    ]
    rows = pd.DataFrame(lines, columns=["series", "name", "replication", "round", "pulls", "hit_ratio"])
    recalls = {"recall_one_split": 0.5, "recall_two_splits": (rows["round"] / 50) * 0.004, "recall_rising": 0.125}
    return rows.assign(convention=convention, data="real", precision=0.25, **recalls)


def test_curves_hold_the_exact_law_in_the_place_of_random_runs():
    values = figures.curve_values(rows_of(), "laptop")
    assert set(values["series"]) == {"OAE", "Largest norms", figures.LAW}
    law = values[(values["series"] == figures.LAW) & (values["panel"] == "NK")].set_index("x")
    assert law.loc[800, "value"] == pytest.approx(800 / (17558 - 3511))
    assert law.loc[800, "low"] < law.loc[800, "value"] < law.loc[800, "high"]
    assert law.loc[0, "value"] == 0.0
    oae = values[(values["series"] == "OAE") & (values["panel"] == "NK") & (values["x"] == 800)].set_index("statistic")
    assert oae.loc["hit ratio", "value"] == pytest.approx(0.011)
    assert oae.loc["hit ratio, printed in the paper", "value"] == 0.085
    figure = figures.hit_curves(values, ["OAE", "Largest norms"], title="T", setting="s")
    assert [axis.get_title("left") for axis in figure.axes[:2]] == ["IFNg", "NK"]


def test_the_table_shows_printed_numbers_beside_the_code():
    values = figures.table_values(pd.concat([rows_of(), rows_of(convention="as_coded")]), "laptop")
    table = figures.hits_table(values, [figures.LAW, "OAE", "OAE, printed"]).set_index(["convention", "series"])
    lines = [(convention, series) for convention in ("as written", "as coded") for series in (figures.LAW, "OAE")]
    assert list(table.index) == [*lines, ("as coded", "OAE, printed")]
    assert table.loc[("as coded", "OAE, printed"), "NK"] == "0.085"
    assert table.loc[("as written", "OAE"), "IFNg"].startswith("0.011 [")
    assert table.loc[("as coded", figures.LAW), "IFNg"].startswith("0.048 ["), "800 of 16,673 genes"
    assert figures.hits_table(values, ["OAE"], "precision")["NK"].tolist() == ["0.250 [0.250, 0.250]"] * 2


def test_gains_are_paired_differences():
    found = figures.gains(rows_of(), {"Over the norms": ["OAE", "Not run"]}, "Largest norms", "laptop")
    line = found[(found["panel"] == "IFNg") & (found["x"] == "OAE")]
    assert line["value"].item() == pytest.approx(-0.01)
    assert line["low"].item() == pytest.approx(-0.01), "paired by run: the runs' own spread is gone"
    assert set(found["x"]) == {"", "OAE"}


def test_faults_are_changes_of_one_search():
    values = figures.fault_values(rows_of(["OAE", "OAE | broadcast loss"]), "laptop")
    mine = values[values["panel"] == "NK"].set_index("x")["value"]
    assert mine["broadcast loss"] == pytest.approx(0.01)
    assert mine["second split of the hits"] == pytest.approx(0.004 - 0.011)
    assert mine[""] == pytest.approx(0.011)


def test_claims_compare_last_batches_with_the_law_and_the_mean_of_the_suite():
    table = checks.final_hit_ratio(rows_of([*checks.SUITE, "OAE"], screens=("IL2",)), {})
    assert (table["Random"] == checks.chance("IL2", "as_written", 800)[0]).all()
    np.testing.assert_allclose(table[checks.SUITE_MEAN], table[list(checks.SUITE)].mean(axis=1))
    assert table.loc[2, "OAE"] == pytest.approx(0.09 + 0.002)
    assert checks.SUITE_MEAN not in checks.final_hit_ratio(rows_of(screens=("NK",)), {})


def test_distances_from_the_printed_numbers():
    found = checks.from_printed(rows_of(list(checks.PRINTED), screens=("SARS-CoV-2",)), {})
    np.testing.assert_allclose(found.iloc[0], [0.01 - 0.035, 0.02 - 0.049, 0.03 - 0.0411])


def test_sizes():
    table = figures.size_table(figures.size_values("laptop")).set_index(["convention", "screen"])
    assert table.loc[("as written", "IFNg")].tolist() == ["17479", "13984", "699", "0.0572"]
    assert len(table) == 2 * len(checks.GENES)


@pytest.mark.parametrize("name", GENEDISCO)
def test_profiles_cut_runs_and_screens_alone(name):
    """50 batches of 16, the benchmark's 100 epochs and passes but at smoke; 50 runs of the tables, 20 of the rest."""
    for profile in ("laptop", "paper"):
        for cell in GENEDISCO[name].cells(profile):
            assert (cell.policy.batch, cell.policy.rounds) == (16, 50)
            assert (getattr(cell.policy, "epochs", 100), getattr(cell.policy, "passes", 100)) == (100, 100)
            n = 50 if name in ("genedisco", "genedisco_achilles") else 20
            assert cell.replications == n or profile == "laptop"
            assert cell.replications >= 4

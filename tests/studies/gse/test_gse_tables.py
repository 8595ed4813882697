"""Tables of the notebooks: effects by number of arms, the largest of them, pulls spent, settings."""

import numpy as np
import pandas as pd
import pytest

from bestarm_lab.figures.values import COLUMNS
from bestarm_lab.study import load_study
from bestarm_studies.gse.beyond.clusters import cluster_table, cluster_values
from bestarm_studies.gse.beyond.stages import effects_by_arms
from bestarm_studies.gse.gse_and_designs.designs import rounding_table, rounding_values
from bestarm_studies.gse.paper_against_code.effects import largest_effects, pulls_spent
from bestarm_studies.gse.problem.gaps import instance_gaps
from bestarm_studies.gse.problem.settings import setting_curves, setting_table, setting_values
from bestarm_studies.gse.values import accuracy_effects


def outcomes(series: dict[str, float], n_arms: int = 8, n: int = 50) -> pd.DataFrame:
    """Return rows in which a share of the runs is correct, the first ones."""
    frames = [
        pd.DataFrame({"series": name, "n_arms": n_arms, "budget": 20 * n_arms, "replication": np.arange(n)}).assign(
            correct=(np.arange(n) < share * n).astype(float), pulls=20.0 * n_arms
        )
        for name, share in series.items()
    ]
    return pd.concat(frames, ignore_index=True)


def test_effects_are_those_of_each_number_of_arms():
    """A panel for each K that was run; the largest change comes first, whatever its sign."""
    rows = pd.concat([outcomes({"A": 0.5, "A | up": 0.6, "A | down": 0.1}, n_arms=k) for k in (8, 16)])
    found = accuracy_effects(rows, [8, 16, 32], name="test", profile="smoke")
    assert found["panel"].unique().tolist() == ["test, K = 8", "test, K = 16"]
    table = found.set_index(["panel", "x"])["value"]
    assert table["test, K = 8", ""] == pytest.approx(0.5)
    assert table["test, K = 16", "down"] == pytest.approx(-0.4)
    largest = largest_effects(pd.concat([found, found.assign(panel="again")]), n=4)
    assert largest["difference"].tolist() == ["down"] * 4


def test_a_budget_that_was_not_run_is_the_largest_there_is():
    found = accuracy_effects(outcomes({"A": 0.5}), [8], name="test", profile="smoke", budget=7)
    assert found["value"].tolist() == [0.5]


def test_only_budgets_that_are_off_are_listed():
    """A share within the tolerance is empty."""
    rows = outcomes({"A": 0.5, "B | published schedule": 0.5})
    rows.loc[rows["series"] != "A", "pulls"] *= 1.25
    table = pulls_spent({"audit": rows})
    assert table.to_dict("records") == [{"audit": "audit", "series": "B | authors' schedule", "K = 8": "1.25"}]


def test_the_best_setting_is_bold_and_numbers_make_curves():
    """Settings in words have no place on an axis."""
    series = {"A | δ = 0.1": 0.5, "A | δ = 0.4": 0.6, "B | linear": 0.3}
    values = setting_values({"tune_static": outcomes(series)}, "smoke")
    assert setting_table(values)["accuracy"].tolist() == ["δ = 0.1: 0.500 · δ = 0.4: **0.600**", "linear: **0.300**"]
    curves = setting_curves(values)
    assert curves[["panel", "series", "x"]].to_numpy().tolist() == [["A", "static", 0.1], ["A", "static", 0.4]]


def test_rounded_designs_and_clusters():
    """Apportionment spends exactly what it is given; clusters give the lone arm half of the pulls."""
    values = rounding_values(np.random.default_rng(0).standard_normal((3, 8, 3)), [16], "smoke")
    assert set(COLUMNS) == set(values.columns)
    table = rounding_table(values).set_index("rounding")
    assert table.loc["apportionment", "spent"] == 16.0
    assert table.loc["ceiling", "spent"] >= 16.0
    clusters = cluster_table(cluster_values([8], 0, "smoke")).iloc[0]
    assert clusters["clusters: pulls of the lone arm"] == "8"
    assert clusters["uniform: leverage"] == "0.5000"


def test_gaps_of_the_adaptive_instance():
    """1 - cos 0.1 over the root of ten."""
    found = instance_gaps({"fig2": load_study("gse").experiments["fig2"]}, "smoke")
    assert set(COLUMNS) == set(found.columns)
    line = found.set_index("statistic")["value"]
    assert line["smallest median"] == pytest.approx((1 - np.cos(0.1)) / np.sqrt(10))
    assert line["largest of all"] == line["smallest median"]


def test_effects_become_curves_over_the_number_of_arms():
    rows = pd.concat([outcomes({"A": 0.5, "A | up": 0.6}, n_arms=k) for k in (8, 16)])
    curves = effects_by_arms(accuracy_effects(rows, [8, 16], name="test", profile="smoke"), "kind")
    assert curves[["panel", "series", "x"]].to_numpy().tolist() == [["kind", "up", 8], ["kind", "up", 16]]
    assert curves["value"].tolist() == pytest.approx([0.1, 0.1])

"""Ratios of batches: those of the claims' own test."""

import numpy as np
import pandas as pd
import pytest

from bestarm_lab.paths import FIGURES, RESULTS
from bestarm_studies.oae.values import batch_ratios
from bestarm_studies.oae.verdicts.figures import ratios_of_claims

OAE = FIGURES / "oae"
ENDS = ["value", "low", "high"]


def searches(first: dict[str, list[int]]) -> pd.DataFrame:
    """Return rows of 100 arms in which each run of a series sees the best arm in the given batch, of ten."""
    lines = [
        {"series": series, "replication": run, "round": batch, "rank": 1 if batch >= found else 100}
        for series, runs in first.items()
        for run, found in enumerate(runs)
        for batch in range(1, 11)
    ]
    same = {"arm_count": 100, "pulls": 3, "data": "real", "diverged": 0.0, "broken": False, "optimistic": 1.0}
    return pd.DataFrame(lines).assign(**same)


def test_a_ratio_is_that_of_means_over_the_runs_that_both_have():
    rows = searches({"A": [2, 4, 6], "B": [4, 8, 10, 1]})
    found = batch_ratios({"hill": rows}, {"A": ("A", "B"), "C": ("C", "B")}, "paper", panel="NN")
    (line,) = found.to_dict("records")
    assert line["value"] == pytest.approx(12 / 22)
    assert line["low"] < line["value"] < line["high"]
    assert (line["panel"], line["series"], line["x"], line["n"], line["data"]) == ("NN", "A", "hill", 3, "real")


def test_ratios_of_claims_are_sorted_by_class_and_named_by_set():
    where = ["bikes_linear: name = Day", "synthetic_10_5: name = Hill", "blogs_100_10", "fitted_10_5: name = Day"]
    table = pd.DataFrame({"comparison": [f"{cell}, best of M 1, M 2 against RandomBatch" for cell in where]})
    table = table.assign(id=["C1", "C1", "C1", "C2"], convention="as_written", effect=0.5, low=0.4, high=0.6, n=25)
    found = ratios_of_claims(table, {"C1": "", "C2": ", fitted"}, "paper")
    assert found[["series", "x", "data"]].to_numpy().tolist() == [
        ["NN 10-5", "Hill", "synthetic"],
        ["NN 10-5", "Day, fitted", "fitted"],
        ["NN 100-10", "BlogFeedback", "real"],
        ["linear", "Day", "real"],
    ]
    assert set(found["panel"]) == {"random batches"}


@pytest.mark.parametrize(
    ("file", "panel", "claims"),
    [
        ("07_diversity/gains", "NN 10-5", ["OAE-C54a"]),
        ("08_sequential/gains", "NN 10-5", ["OAE-C60a"]),
        ("08_sequential/gains", "NN 100-10", ["OAE-C60b"]),
        ("08_sequential/gains_tables", "NN 100-10", ["OAE-C61", "OAE-C62"]),
    ],
)
def test_ratios_that_are_drawn_are_those_behind_the_verdicts(file, panel, claims):
    drawn = pd.read_csv(OAE / f"{file}.csv").query("panel == @panel")
    decided = pd.read_csv(RESULTS / "oae" / "comparisons.csv").query("id in @claims and convention == 'as_written'")
    ours, theirs = drawn[ENDS], decided[["effect", "low", "high"]]
    np.testing.assert_allclose(np.sort(ours, axis=0), np.sort(theirs, axis=0), rtol=1e-4)

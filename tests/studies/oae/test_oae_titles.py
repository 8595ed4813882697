"""Titles of figures are true of the figures' CSV files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from prose import only_value

from bestarm_lab.paths import FIGURES, NOTEBOOKS, RESULTS

OAE = FIGURES / "oae"
HILL, HILL_HOLE = "OneHillValleyOneDim", "OneHillValleyOneDimHole"
FOUR, HOLE = "MultiValleyOneDim", "MultiValleyOneDimHole"
DAY, HOUR, BLOGS = "BikeSharingDay", "BikeSharingHour", "BlogFeedback"
LAW = "RandomBatch, exact law"


def code(notebook: str) -> str:
    """Return the code of a notebook on one line, texts over several lines joined."""
    cells = json.loads((NOTEBOOKS / "oae" / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    found = " ".join(" ".join("".join(c["source"]).split()) for c in cells if c["cell_type"] == "code")
    return found.replace('" "', "")


def means(file: Path, panel: str, statistic: str = "batches", x: float = 0.01) -> dict[str, float]:
    table = pd.read_csv(file)
    mine = table[(table["panel"] == panel) & (table["statistic"] == statistic) & np.isclose(table["x"], x)]
    return mine.set_index("series")["value"].to_dict()


@pytest.mark.parametrize("name", ["fig08_rewards", "fig09_rewards"])
def test_titles_on_rewards(name):
    """Each search earns more than random batches over batches 20 to 50, optimistic ones often less over 2 to 5."""
    table = pd.read_csv(OAE / "03_vanilla" / f"{name}.csv").query("statistic == 'reward'")
    late, early = (
        table[table["x"].between(*limits)].pivot_table(index="panel", columns="series", values="value")
        for limits in ((20, 50), (2, 5))
    )
    gains = [part.drop(columns="RandomBatch").sub(part["RandomBatch"], axis=0) for part in (late, early)]
    assert (gains[0] > 0).all(axis=None)
    assert (gains[1].filter(like="MeanOpt") < 0).mean(axis=None) > 0.5


@pytest.mark.parametrize("file", ["fig08", "fig09"])
@pytest.mark.parametrize("panel", [HILL, HILL_HOLE])
def test_weak_optimism_is_the_fastest_on_one_hill(file, panel):
    found = means(OAE / "03_vanilla" / f"{file}.csv", panel)
    assert min(found, key=found.__getitem__) == "MeanOpt 0.001"
    assert found["MeanOpt 0.1"] > found["MeanOpt 0.001"]


@pytest.mark.parametrize("name", ["fig20", "fig21"])
@pytest.mark.parametrize("panel", [FOUR, HOLE])
@pytest.mark.parametrize("family", [["DetD 0", "DetD 0.001", "DetD 0.01"], ["Greedy", "MeanOpt 0.001", "MeanOpt 0.01"]])
def test_the_fastest_strength_on_four_hills_with_and_without_diversity(name, panel, family):
    found = means(OAE / "07_diversity" / f"{name}.csv", panel)
    assert found[f"{family[-1].split()[0]} 0.1"] < min(found[series] for series in family)


@pytest.mark.parametrize("identity", ["OAE-C54a", "OAE-C54b"])
def test_titles_on_comparisons_that_stay_open(identity):
    line = {"id": identity}
    numbers = [only_value(RESULTS / "oae" / "verdicts.csv", line, column) for column in ("open", "comparisons")]
    assert "whether diversity slows a search stays open in {:.0f} of {:.0f} comparisons".format(*numbers) in code(
        "07_diversity"
    )


def test_titles_on_diversity_on_days():
    found = means(OAE / "07_diversity" / "fig19.csv", DAY)
    pairs = [("DetD 0", "Greedy"), *((f"DetD {x}", f"MeanOpt {x}") for x in ("0.001", "0.01", "0.1"))]
    assert max(abs(found[left] / found[right] - 1) for left, right in pairs) <= 1 / 8
    for plain in ("Greedy", "DetD 0"):
        ordered = [
            found[plain],
            *(found[f"{plain.split()[0].replace('Greedy', 'MeanOpt')} {x}"] for x in (0.001, 0.01, 0.1)),
        ]
        assert ordered == sorted(ordered)


def test_titles_on_fitted_responses():
    for panel in ("BikeSharingDay, fitted", "Adult, fitted"):
        found = means(OAE / "06_realizable" / "tab_fitted.csv", panel)
        ordered = [found[series] for series in ("Greedy", "MeanOpt 0.001", "MeanOpt 0.01", "MeanOpt 0.1")]
        assert ordered == sorted(ordered)


def test_titles_on_tables():
    found = {name: means(OAE / "05_uci" / "fig14.csv", name) for name in (DAY, HOUR, BLOGS)}
    days = [found[DAY][series] for series in ("Greedy", "MeanOpt 0.001", "MeanOpt 0.01", "MeanOpt 0.1")]
    assert days == sorted(days)
    hours = found[HOUR]
    assert hours["MeanOpt 0.1"] > max(hours[series] for series in ("Greedy", LAW))
    assert max(value for series, value in found[BLOGS].items() if "RandomBatch" not in series) < found[BLOGS][LAW]
    table = pd.read_csv(OAE / "05_uci" / "fig14_rewards.csv")
    first = table[(table["x"] <= 30) & table["panel"].str.startswith("Bike") & (table["statistic"] == "reward")]
    rewards = first.pivot_table(index="panel", columns="series", values="value")
    assert (rewards["MeanOpt 0.1"] < rewards["RandomBatch"]).all()


def test_the_title_on_exponents():
    table = pd.read_csv(OAE / "10_theory" / "tab_exponents.csv").query("panel == 'clones' and x == 'b'")
    found = table.set_index("series")["value"]
    assert found["Vanilla"] > 0.95
    assert found[["Seq", "LogDet"]].max() < 0.5 * found["Vanilla"]

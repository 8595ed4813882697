"""Titles of figures are true of the figures' CSV files."""

from pathlib import Path

import numpy as np
import pandas as pd

from bestarm_lab.paths import FIGURES

OAE = FIGURES / "oae"
HILL, HILL_HOLE = "OneHillValleyOneDim", "OneHillValleyOneDimHole"
DAY, HOUR, BLOGS = "BikeSharingDay", "BikeSharingHour", "BlogFeedback"
LAW = "RandomBatch, exact law"


def means(file: Path, panel: str, statistic: str = "batches", x: float = 0.01) -> dict[str, float]:
    table = pd.read_csv(file)
    mine = table[(table["panel"] == panel) & (table["statistic"] == statistic) & np.isclose(table["x"], x)]
    return mine.set_index("series")["value"].to_dict()


def test_titles_on_fitted_responses():
    for panel in ("BikeSharingDay, fitted", "Adult, fitted"):
        found = means(OAE / "06_realizable" / "tab_fitted.csv", panel)
        assert min(found[f"MeanOpt {x}"] for x in ("0.001", "0.01", "0.1")) > found["Greedy"]


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

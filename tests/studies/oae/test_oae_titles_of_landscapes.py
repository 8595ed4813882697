"""Titles of the figures on landscapes and fits are true of the figures' values; so are words about their tables."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import titles
from prose import prose

from bestarm_lab.paths import FIGURES

Title = partial(titles.Title, "oae")
LAW = "RandomBatch, exact law"
ONE, FOUR = ["OneHillValleyOneDim", "OneHillValleyOneDimHole"], ["MultiValleyOneDim", "MultiValleyOneDimHole"]
SMALL_AND_MIDDLE = ["NN 10-5", "NN 100-10"]
ENDS = ["low", "high"]


def panels(networks: list[str], sets: list[str]) -> list[str]:
    return [f"{network}: {name}" for network in networks for name in sets]


def batches(values: pd.DataFrame, column: str = "value") -> pd.DataFrame:
    """Return the mean batches until a top-1% arm, or an end of its interval: panels by series."""
    mine = values[(values["statistic"] == "batches") & np.isclose(values["x"].astype(float), 0.01)]
    return mine.pivot(index="panel", columns="series", values=column)


def evolution(values: pd.DataFrame) -> bool:
    seen = [panel for panel in dict.fromkeys(values["panel"]) if panel.startswith("round")]
    hills = [int(panel.split(": ")[1][0]) for panel in seen]
    return hills == sorted(hills) and seen[-1] == "round 45: 3 of 4 hills"


def landscapes_fitted(values: pd.DataFrame) -> bool:
    last = values[values["x"] == 5000].pivot(index="panel", columns="series", values="value")
    ordered = last[["linear", "NN 10-5", "NN 100-10", "NN 300-100"]].diff(axis=1).dropna(axis=1)
    return bool((ordered < 0).all(axis=None) and (last.loc[FOUR, "NN 10-5"] > 0.4).all())


def tables_fitted(values: pd.DataFrame) -> bool:
    errors = values.pivot(index=["panel", "series"], columns="x", values="value")
    bicycles = errors.loc[["BikeSharingDay", "BikeSharingHour"]].xs("linear", level="series")
    stopped = (bicycles[2000] / bicycles[5000] < 1.1).all() and (bicycles[200] / bicycles[2000] > 2).all()
    return bool(stopped and errors.loc["BlogFeedback", 5000].min() > 0.5)


def optimism(values: pd.DataFrame) -> bool:
    found, networks = batches(values), ["NN 10-5", "NN 100-10", "NN 300-100"]
    four, one = found.loc[panels(networks, FOUR)], found.loc[panels(networks, ONE)]
    faster = (four["MeanOpt 0.1"] < four["Greedy"] * 2 / 3).all()
    return bool(faster and (one["MeanOpt 0.1"] > one["MeanOpt 0.001"]).all())


def shares(values: pd.DataFrame) -> bool:
    mine = values[(values["statistic"] == "share found") & (values["x"] == 150)]
    last = mine.pivot(index="panel", columns="series", values="value")
    four = last.loc[panels(["NN 10-5", "NN 100-10", "NN 300-100"], FOUR)]
    without = 100 * (1 - four["Greedy"])
    return bool((four["MeanOpt 0.1"] == 1).all() and round(without.min()) == 5 and round(without.max()) == 52)


def rewards(values: pd.DataFrame) -> bool:
    early = values[(values["x"] == 5) & values["series"].str.startswith("MeanOpt")]
    later = values[(values["x"] == 50) & (values["series"] == "MeanOpt 0.1")].set_index("panel")
    assert len(early) == 24
    return bool((early["high"] < 0).all() and (later.loc[panels(SMALL_AND_MIDDLE, FOUR), "low"] > 0).all())


def ensembles(values: pd.DataFrame) -> bool:
    low, high = batches(values, "low"), batches(values, "high")
    four, hill = panels(SMALL_AND_MIDDLE, FOUR), panels(SMALL_AND_MIDDLE, ONE[:1])
    rivals = low.loc[four, ["Greedy", "Ensemble", "EnsembleNoiseY"]].min(axis=1)
    faster = (high.loc[four, "MeanOpt 0.1"] < rivals).all()
    return bool(faster and (high.loc[hill, "Ensemble"] < low.loc[hill, "MeanOpt 0.1"]).all())


def objectives(values: pd.DataFrame) -> bool:
    low, high, law = batches(values, "low"), batches(values, "high"), batches(values)[LAW]
    assert len(law) == 8
    return bool((high["MaxOpt 0.1"] < law).all() and (low["HingePNorm 0.1"] > law).all())


def against_mean_opt(values: pd.DataFrame) -> bool:
    low = values.pivot(index=["panel", "x"], columns="series", values="low")
    assert len(low) == 24
    return bool((low["MaxOpt"] <= 1).all() and (low.xs(0.1, level="x")["HingePNorm"] > 1).all())


@pytest.mark.parametrize(
    "title",
    [
        Title(
            "01_problem",
            "fig07",
            "MeanOpt explores hill after hill; this run has tried three of four after 45 batches",
            evolution,
        ),
        Title(
            "02_fits",
            "fig13",
            "Larger networks fit better; on four hills NN 10-5 stays far from zero after 5000 steps",
            landscapes_fitted,
        ),
        Title(
            "02_fits",
            "fig16",
            "On the bicycle sets the linear class stops improving after 2000 steps; no class fits BlogFeedback well",
            tables_fitted,
        ),
        Title(
            "03_vanilla",
            "fig08",
            "On four hills strong optimism (λ = 0.1) finds a top-1% arm in less than two thirds of Greedy's batches; "
            "on one hill it is slower than weak optimism (λ = 0.001)",
            optimism,
        ),
        Title(
            "03_vanilla",
            "found",
            "On four hills every run of MeanOpt 0.1 finds a top-1% arm; 5% to 52% of Greedy's do not",
            shares,
        ),
        Title(
            "03_vanilla",
            "fig08_rewards",
            "MeanOpt earns less than Greedy over batches 2 to 5; "
            "over batches 21 to 50 strong optimism (λ = 0.1) earns more on four hills",
            rewards,
        ),
        Title(
            "04_ensembles",
            "fig11",
            "On four hills MeanOpt 0.1 finds a top-1% arm in fewer batches than Greedy and both ensembles; "
            "on OneHillValleyOneDim the ensemble is faster",
            ensembles,
        ),
        Title(
            "04_ensembles",
            "fig28",
            "Until a top-1% arm MaxOpt 0.1 needs fewer batches than RandomBatch in all panels, "
            "HingePNorm 0.1 needs more",
            objectives,
        ),
        Title(
            "04_ensembles",
            "against_mean_opt",
            "At the same λ MaxOpt is never clearly slower than MeanOpt; "
            "HingePNorm with λ = 0.1 is clearly slower on every landscape",
            against_mean_opt,
        ),
    ],
    ids=lambda title: title.file,
)
def test_titles(title):
    title.check()


def test_words_on_ensembles_and_objectives():
    """Label noise, the clearest gain of MaxOpt, and the slowest of optimistic searches."""
    text = prose("oae", "04_ensembles")
    folder = FIGURES / "oae" / "04_ensembles"
    plain = batches(pd.read_csv(folder / "fig11.csv"))
    assert "with either network and on every landscape the noisy one needs more batches in the mean" in text
    assert len(plain) == 8
    assert (plain["EnsembleNoiseY"] > plain["Ensemble"]).all()
    assert "about half as many batches on one hill; on four hills the intervals overlap" in text
    one = plain.loc[panels(["NN 10-5"], ONE)]
    assert (one["EnsembleNoiseY 0.1"] / one["EnsembleNoiseY"]).between(0.4, 0.6).all()
    low, high = (batches(pd.read_csv(folder / "fig11.csv"), end).loc[panels(["NN 10-5"], FOUR)] for end in ENDS)
    assert (high["EnsembleNoiseY 0.1"] > low["EnsembleNoiseY"]).all()
    assert "The clearest gain of MaxOpt is on OneHillValleyOneDimHole with the middle network, where" in text
    ratios = pd.read_csv(folder / "against_mean_opt.csv").query("series == 'MaxOpt'").set_index(["panel", "x"])
    assert ratios["high"].idxmin() == ("NN 100-10: OneHillValleyOneDimHole", 0.1)
    assert "it is the slowest search on three of the four landscapes" in text
    table = batches(pd.read_csv(folder / "tab_objectives.csv"))
    assert (table.idxmax(axis=1) == "HingePNorm 0.1").sum() == 3
    shares_of_rounds = pd.read_csv(folder / "tab_optimistic.csv").pivot(index="panel", columns="series", values="value")
    assert "The share is lower on four hills than on one" in text
    assert (shares_of_rounds.loc[FOUR].max() < shares_of_rounds.loc[ONE].min()).all()
    for family in ("MeanOpt", "MaxOpt", "HingePNorm"):
        rising = shares_of_rounds[[f"{family} {x}" for x in ("0.001", "0.01", "0.1")]].diff(axis=1).dropna(axis=1)
        assert (rising > 0).all(axis=None)


def test_every_run_on_one_hill_finds_a_top_arm():
    assert "On one hill every run of MeanOpt and of Greedy finds an arm of the top 1%" in prose("oae", "03_vanilla")
    values = pd.read_csv(FIGURES / "oae" / "03_vanilla" / "fig08.csv")
    lost = values[(values["statistic"] == "censored") & np.isclose(values["x"].astype(float), 0.01)]
    mine = lost[lost["panel"].str.contains("OneHill") & (lost["series"] != "RandomBatch")]
    assert len(mine) == 24
    assert (mine["value"] == 0).all()

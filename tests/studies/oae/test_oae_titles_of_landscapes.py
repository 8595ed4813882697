"""Titles of the figures on landscapes and fits are true of the figures' values; so are words about their tables."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import titles
from prose import prose

from bestarm_lab.paths import FIGURES
from bestarm_lab.results import current_rows
from bestarm_studies.oae.network_fits import fit_values

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
    return seen == [f"round {number}: {hills} of 4 hills" for number, hills in ((5, 1), (15, 1), (25, 1), (45, 3))]


def landscapes_fitted(values: pd.DataFrame) -> bool:
    last = values[values["x"] == 5000].pivot(index="panel", columns="series", values="value").drop(columns="linear")
    far = (last.loc[FOUR] > 0.2).all(axis=None) and (last.loc[FOUR].idxmax(axis=1) == "NN 10-5").all()
    return bool(last.shape == (4, 3) and (last.loc[ONE] < 0.01).all(axis=None) and far)


def tables_fitted(values: pd.DataFrame) -> bool:
    errors = values.pivot(index=["panel", "series"], columns="x", values="value")
    bicycles = errors.loc[["BikeSharingDay", "BikeSharingHour"]].xs("linear", level="series")
    stopped = (bicycles[2000] / bicycles[5000] < 1.1).all() and (bicycles[200] / bicycles[2000] > 2).all()
    return bool(stopped and errors.loc["BlogFeedback", 5000].min() > 0.5)


def optimism(values: pd.DataFrame) -> bool:
    found, networks = batches(values), ["NN 10-5", "NN 100-10", "NN 300-100"]
    four, one = found.loc[panels(networks, FOUR)], found.loc[panels(networks, ONE)]
    faster = (four["MeanOpt 0.1"] < four["Greedy"] / 2).all()
    fewest = one[["Greedy", "MeanOpt 0.001", "MeanOpt 0.01", "MeanOpt 0.1"]].idxmin(axis=1)
    return bool(faster and fewest.isin(["MeanOpt 0.001", "MeanOpt 0.01"]).all())


def shares(values: pd.DataFrame) -> bool:
    mine = values[(values["statistic"] == "share found") & (values["x"] == 150)]
    last = mine.pivot(index="panel", columns="series", values="value")
    four = last.loc[panels(["NN 10-5", "NN 100-10", "NN 300-100"], FOUR)]
    without = 100 * (1 - four["Greedy"])
    return bool((four["MeanOpt 0.1"] == 1).all() and round(without.min()) == 6 and round(without.max()) == 56)


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
            "This run of MeanOpt stays on one of four hills for 25 batches; after 45 it has tried three",
            evolution,
        ),
        Title(
            "02_fits",
            "fig13",
            "Every network fits one hill; on four hills all stay far from zero after 5000 steps, NN 10-5 farthest",
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
            "On four hills strong optimism (λ = 0.1) finds a top-1% arm in less than half of Greedy's batches; "
            "on one hill weaker optimism needs the fewest",
            optimism,
        ),
        Title(
            "03_vanilla",
            "found",
            "On four hills every run of MeanOpt 0.1 finds a top-1% arm; 6% to 56% of Greedy's do not",
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


def test_words_on_fits_of_landscapes():
    """Four hills are left late, the largest network is not the nearest, and from zero biases it is."""
    text = prose("oae", "02_fits")
    values = pd.read_csv(FIGURES / "oae" / "02_fits" / "fig13.csv").query("panel in @FOUR and series != 'linear'")
    errors = values.pivot(index=["panel", "series"], columns="x", values="value")
    assert "after about 1000 steps, and their errors are still falling at the last one" in text
    assert (errors[500] > 0.8).all()
    assert (errors[2000] < 0.9).all()
    assert (errors[5000] < errors[4000]).all()
    assert "`NN 300-100`, which has the smallest step size, is behind `NN 100-10` on both" in text
    last = errors[5000].unstack()
    assert (last["NN 300-100"] > last["NN 100-10"]).all()
    assert "From zero the largest one does fit four hills" in text
    rows = current_rows("oae", "zero_fits_synthetic", "laptop")
    zero = fit_values(rows, "laptop", {"NN 300-100": 0.003}).query("panel in @FOUR and x == 5000")
    assert len(zero) == 2
    assert (zero["value"] < 0.02).all()


def test_words_on_shares_of_runs():
    text = prose("oae", "03_vanilla")
    folder = FIGURES / "oae" / "03_vanilla"
    assert "in 80% of runs, more often than Greedy with 42% and less often than strong optimism with 97%" in text
    watched = pd.read_csv(folder / "tab_horizons.csv").query("panel == 'MultiValleyOneDimHole' and x == 50")
    found = watched[watched["statistic"] == "found"].set_index("series")["value"]
    assert [round(100 * found[name]) for name in (LAW, "Greedy", "MeanOpt 0.1")] == [80, 42, 97]
    assert "in a fifth to two thirds of the runs, but only in the first rounds" in text
    table = pd.read_csv(folder / "tab_diverged.csv")
    runs = table.loc[(table["statistic"] == "runs") & table["series"].str.startswith("MeanOpt"), "value"]
    assert len(runs) == 24
    assert 0.18 < runs.min() / 100 < runs.max() / 100 < 0.68

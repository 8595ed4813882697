"""Titles of the figures on tables, gene screens, theory and simulated lines are true of the figures' values."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import titles

from bestarm_lab.paths import FIGURES

LAW = "RandomBatch, exact law"
DAY, HOUR, BLOGS = "BikeSharingDay", "BikeSharingHour", "BlogFeedback"
STRENGTHS = ["Greedy", "MeanOpt 0.001", "MeanOpt 0.01", "MeanOpt 0.1"]

Title = partial(titles.Title, "oae")


def batches(values: pd.DataFrame, x: float = 0.01) -> pd.DataFrame:
    """Return the mean batches until a top arm, a line for each panel, a column for each series."""
    mine = values[(values["statistic"] == "batches") & np.isclose(values["x"].astype(float), x)]
    return mine.pivot(index="panel", columns="series", values="value")


def slower_with_strength(found: pd.Series) -> bool:
    """Return whether Greedy is fastest, and each strength of MeanOpt slower than the one before."""
    return bool((found[STRENGTHS].diff().dropna() > 0).all())


def tables(values: pd.DataFrame) -> bool:
    found = batches(values)
    posts = found.loc[BLOGS].drop(["RandomBatch", LAW])
    late = found.loc[HOUR, "MeanOpt 0.1"] > found.loc[HOUR, ["Greedy", LAW]].max()
    return bool(slower_with_strength(found.loc[DAY]) and late and posts.max() < found.loc[BLOGS, LAW])


def rewards(values: pd.DataFrame) -> bool:
    mine = values[values["statistic"] == "reward"].pivot(index=["panel", "x"], columns="series", values="value")
    gain = mine["MeanOpt 0.1"] - mine["RandomBatch"]
    early = gain[gain.index.get_level_values("x") <= 30].groupby("panel").mean()
    return bool((early[[DAY, HOUR]] < 0).all() and 0.05 < gain.groupby("panel").mean()[BLOGS] < 0.15)


def linear(values: pd.DataFrame) -> bool:
    found = batches(values)
    methods = [*STRENGTHS, "Ensemble", "EnsembleNoiseY"]
    ahead = (found.loc[[DAY, BLOGS], methods].max(axis=1) < 0.6 * found.loc[[DAY, BLOGS], LAW]).all()
    hours = found.loc[HOUR]
    fast = hours[["MeanOpt 0.1", "Ensemble", "EnsembleNoiseY"]].max() < 0.75 * hours[LAW]
    return bool(ahead and fast and hours["Greedy"] > hours[LAW])


def objectives(values: pd.DataFrame) -> bool:
    found = [batches(values, x).loc[f"{DAY}, HingePNorm"].filter(like="HingePNorm") for x in (0.01, 0.002)]
    table = FIGURES / "oae" / "05_uci" / "fig14.csv"
    mean = batches(pd.read_csv(table), 0.002).loc[DAY].filter(like="MeanOpt")
    later = all(found[1][f"HingePNorm {x}"] > mean[f"MeanOpt {x}"] for x in ("0.001", "0.01", "0.1"))
    return bool(round(found[0].min()) == 5 and round(found[0].max()) == 8 and later)


def fitted_small(values: pd.DataFrame) -> bool:
    found = batches(values)
    return len(found) == 2 and all(slower_with_strength(found.loc[panel]) for panel in found.index)


def fitted_middle(values: pd.DataFrame) -> bool:
    bank = batches(values).loc["Bank, fitted"]
    stuck = values[(values["statistic"] == "censored") & np.isclose(values["x"], 0.01)]
    share = stuck[stuck["panel"].str.startswith(HOUR)].set_index("series")["value"] / 100
    return bool(bank.drop(["RandomBatch", LAW]).max() < bank[LAW] and share["Greedy"] > 0.4)


def largest_norms(values: pd.DataFrame) -> bool:
    last = values[(values["statistic"] == "hit ratio") & (values["x"] == 800)]
    found = last.pivot(index="panel", columns="series", values="value")
    ahead = found["Largest norms"] > found["OAE"]
    return sorted(ahead.index[ahead]) == ["IFNg", "IL2"] and len(ahead) == 4


def norms_against_searches(values: pd.DataFrame) -> bool:
    gains = values[values["x"].notna()]
    where = gains["panel"].isin(["IFNg", "IL2"])
    chance = pd.read_csv(FIGURES / "oae" / "12_genedisco" / "fig05.csv").query("x == 800 and statistic == 'hit ratio'")
    found = chance.pivot(index="panel", columns="series", values="value").loc[["NK", "SARS-CoV-2"]]
    below = found["Largest norms"] < found["Random, exact law"]
    return bool((gains.loc[where, "high"] < 0).all() and len(gains) == 48 and below.all())


def faults(values: pd.DataFrame) -> bool:
    change = values[values["panel"] == "IL2"].fillna({"x": ""}).set_index("x")["value"]
    return all(
        -change[fault] > 0.5 * change[""]
        for fault in ("broadcast loss", "rows of descriptors misaligned", "rows of targets misaligned")
    )


def batch_size(values: pd.DataFrame) -> bool:
    mine = values[values["panel"] == "clones, d = 16"].pivot(index="x", columns="series", values="value")
    growth = mine.iloc[-1] / mine.iloc[0]
    return bool(growth["Vanilla"] > 10 and growth[["Seq", "LogDet"]].max() < 0.25 * growth["Vanilla"])


def query_bounds(values: pd.DataFrame) -> bool:
    bounds = values[values["statistic"] == "bound"].pivot(index=["panel", "x"], columns="series", values="value")
    queries = values[values["statistic"] == "queries"]
    high = queries.pivot(index=["panel", "x"], columns="series", values="high")
    fewer = high.lt(bounds["printed"], axis=0).any(axis=1)
    return bool(fewer.all() and high.ge(bounds["squared"], axis=0).all(axis=None))


def coding(values: pd.DataFrame) -> bool:
    errors = values[values["series"] == "validation error"]
    best = errors.loc[errors.groupby("panel")["value"].idxmin(), "x"]
    return bool(best.between(20, 60).all() and len(best) == 2)


def unseen_arms(values: pd.DataFrame) -> bool:
    last = values[values["x"] == values["x"].max()].pivot(index="panel", columns="series", values="value")
    seen, unseen = last.loc["arms that it was fitted to, simulated"], last.loc["all other arms, simulated"]
    near = unseen[["HA1E", "MCF7"]].max() < 2 * unseen["VCAP"]
    return bool(near and unseen["A375"] > 0.8 and seen.max() < 0.04)


def training_errors(values: pd.DataFrame) -> bool:
    last = values[values["x"] == 5000].pivot(index="panel", columns="series", values="value")
    larger = (last["NN 100-10"] < last["NN 10-5"]) & (last["NN 10-5"] < last["linear"])
    return bool((last.idxmax() == "A375, simulated").all() and larger.all() and len(last) == 4)


def knobs(values: pd.DataFrame) -> bool:
    """Means change by less than a batch over ρ; from η = 0.8 on no interval ends below the exact law."""
    found = values[values["statistic"] == "batches"]
    searches = found[~found["series"].str.startswith("RandomBatch")]
    shared = searches[searches["panel"] == "the program that is shared"].groupby("series")["value"]
    own = searches[(searches["panel"] == "the program of its own") & (searches["x"] >= 0.8)]
    law = found.loc[found["series"] == LAW, "value"].max()
    return bool((shared.max() - shared.min()).max() < 1 and (own["high"] > law).all() and law > 6)


def gain_and_misfit(values: pd.DataFrame) -> bool:
    gain, misfit = (values.pivot(index="panel", columns="series", values=column) for column in ("value", "x"))
    others = gain.drop(index="A375")
    spread = others.max(axis=None) - others.min(axis=None)
    return bool(
        (misfit.idxmax() == "A375").all() and gain.loc["A375"].max() < others.min(axis=None) - 0.2 and spread < 0.06
    )


TITLES = [
    Title(
        "05_uci",
        "fig14",
        "Optimism slows the search on BikeSharingDay, and λ = 0.1 on BikeSharingHour; "
        "on BlogFeedback every search is ahead of chance",
        tables,
    ),
    Title(
        "05_uci",
        "fig14_rewards",
        "λ = 0.1 earns less than random batches over the first 30 on the bicycle sets, "
        "and hardly more over all 150 on BlogFeedback",
        rewards,
    ),
    Title(
        "05_uci",
        "fig17",
        "A linear class is ahead of chance on BikeSharingDay and BlogFeedback; "
        "on BikeSharingHour strong optimism and ensembles are",
        linear,
    ),
    Title(
        "05_uci",
        "fig33",
        "On BikeSharingDay HingePNorm finds an arm of the top 1% in 5 to 8 batches, "
        "one of the top 0.2% later than MeanOpt",
        objectives,
    ),
    Title(
        "06_realizable",
        "fig15",
        "On fitted BikeSharingDay and Adult each strength of optimism slows MeanOpt, "
        "and stronger optimism slows it more",
        fitted_small,
    ),
    Title(
        "06_realizable",
        "fig32",
        "On fitted Bank every search is ahead of chance; on fitted BikeSharingHour Greedy often finds no top arm",
        fitted_middle,
    ),
    Title(
        "12_genedisco",
        "fig05",
        "Choosing the genes with the largest descriptors finds more hits than OAE on IFNg and IL2, "
        "and fewer on NK and SARS-CoV-2",
        largest_norms,
    ),
    Title(
        "12_genedisco",
        "gains",
        "No search beats the largest descriptors on IFNg and IL2; on NK and SARS-CoV-2 these are worse than chance",
        norms_against_searches,
    ),
    Title(
        "12_genedisco",
        "faults",
        "Misaligned rows and the published loss each take more than half of what OAE finds on IL2",
        faults,
    ),
    Title(
        "10_theory",
        "theory_regret",
        "On copies the regret of vanilla OAE grows with the size of a batch, that of Seq and LogDet much less",
        batch_size,
    ),
    Title(
        "10_theory",
        "theory_queries",
        "Some searches need fewer queries than the printed bound; "
        "none needs clearly fewer than the bound that its proof supports",
        query_bounds,
    ),
    Title(
        "11_screen_to_bandit",
        "coding",
        "The autoencoders' error on held-out signatures stops falling after some tens of epochs, "
        "on simulated VCAP and on real compounds",
        coding,
    ),
    Title(
        "13_embedding",
        "fig01",
        "In the simulator unseen arms of HA1E and MCF7 are predicted nearly as well as those of VCAP, "
        "those of A375 hardly; seen arms are fitted on all four lines",
        unseen_arms,
    ),
    Title(
        "13_embedding",
        "fig04",
        "Simulated A375 keeps the largest training error in every class; "
        "after 5000 steps a larger class fits every line better",
        training_errors,
    ),
    Title(
        "15_similarity",
        "similarity",
        "Searches slow down to chance as a simulated line's reward becomes its own; "
        "how VCAP's program is bent hardly matters",
        knobs,
    ),
    Title(
        "15_similarity",
        "explained",
        "MeanOpt gains less on simulated A375, the line that every class fits worst; "
        "the other nine cells hardly differ",
        gain_and_misfit,
    ),
]


@pytest.mark.parametrize("title", TITLES, ids=lambda title: f"{title.notebook}-{title.file}")
def test_titles_are_true_of_the_values(title):
    title.check()

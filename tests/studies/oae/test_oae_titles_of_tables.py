"""Titles of the figures on tables, gene screens, theory and cell lines are true of the figures' values."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import titles

from bestarm_lab.paths import FIGURES
from bestarm_studies.oae.cell_lines.contexts import GROUPS

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
    slower = found[STRENGTHS[1:]].min(axis=1) > found["Greedy"]
    return bool(len(found) == 2 and slower.all())


def fitted_middle(values: pd.DataFrame) -> bool:
    def ahead(panel: str, x: float) -> int:
        mine = values[(values["panel"] == panel) & (values["statistic"] == "batches") & np.isclose(values["x"], x)]
        high = mine.set_index("series")["high"].drop(["RandomBatch", LAW])
        return int((high < batches(values, x).loc[panel, LAW]).sum())

    hours = f"{HOUR}, fitted"
    bank = [ahead("Bank, fitted", x) for x in (0.01, 0.002)]
    return bank == [6, 6] and [ahead(hours, 0.01), ahead(hours, 0.002)] == [0, 4]


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


def training_errors(values: pd.DataFrame) -> bool:
    last = values[values["x"] == 5000].pivot(index="panel", columns="series", values="value").loc[list(GROUPS)]
    return bool((last.diff().dropna() < 0).all(axis=None) and (last.idxmin(axis=1) == "NN 100-10").all())


def simulator(values: pd.DataFrame) -> bool:
    """Return whether errors are as the paper says of VCAP, HA1E, MCF7 and A375, in this order, and searches short."""
    errors = values[values["statistic"] == "error"].pivot(index="x", columns="series", values="value")
    ratio = errors["NN 1500-300, other arms"] / errors.loc[0, "NN 1500-300, other arms"]
    classes = (errors["linear"] >= 1.2 * errors["NN 100-10"]) & (errors["NN 10-5"] > errors["NN 100-10"])
    fits = ratio[1] <= 1.5 and ratio[2] <= 1.5 and ratio[3] >= 2.0 and classes.all()
    greedy = values[(values["statistic"] == "batches") & (values["series"] == "Greedy")].set_index("x")["value"]
    return bool(fits and greedy.loc[[0, 1, 2]].round().eq(2).all() and len(greedy) == 4)


def transfer(values: pd.DataFrame) -> bool:
    found = values[values["statistic"] == "batches"]
    law = found.loc[found["series"] == LAW, "value"]
    searches = found[~found["series"].str.startswith("RandomBatch")]
    return bool(searches["value"].max() < 2.5 and law.round().eq(9).all() and searches["x"].min() < 0.3)


def forms(values: pd.DataFrame) -> bool:
    found = values[(values["statistic"] == "batches") & ~values["series"].str.startswith("RandomBatch")]
    cells = found.groupby(["panel", "group"]).size()
    return bool(found["value"].max() < 2.5 and len(cells) == 5 * len(GROUPS))


def larger_network(values: pd.DataFrame) -> bool:
    """Return whether the order of the errors after 20 batches is that of R squared, and the worst group is near 1."""
    last = values[values["x"] == 20].sort_values("value", ascending=False)
    explained = last["series"].str.extract(r"R² (\d\.\d+)")[0].astype(float)
    return bool(explained.is_monotonic_increasing and len(last) == len(GROUPS) and last["value"].iloc[0] > 0.85)


def gain(values: pd.DataFrame) -> bool:
    chance, greedy = (values[values["panel"] == panel] for panel in ("on random batches", "on Greedy"))
    told = (len(greedy), (greedy["low"] > 0).sum(), (greedy["high"] < 0).sum())
    return bool(chance["low"].min() > 2 / 3 and told == (18, 1, 3) and len(values) == 36)


def whole(values: pd.DataFrame) -> bool:
    found = values[values["statistic"] == "gain in reward"]
    networks = found[found["panel"] != "linear"].pivot(index=["panel", "group"], columns="series", values="value")
    falls = (networks[STRENGTHS[1:]].diff(axis=1).iloc[:, 1:] < 0).all(axis=None)
    plain = found[(found["panel"] == "linear") & found["series"].isin(STRENGTHS)]
    return bool(falls and len(networks) == 2 * len(GROUPS) and plain["value"].abs().max() < 0.02 and len(plain) == 18)


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
        "On fitted BikeSharingDay and Adult MeanOpt needs more batches than Greedy "
        "until a top-1% arm, at each strength of optimism",
        fitted_small,
    ),
    Title(
        "06_realizable",
        "fig32",
        "On fitted Bank every search is ahead of chance; on fitted BikeSharingHour "
        "none is until a top-1% arm, and four are until a top-0.2% arm",
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
        "13_embedding",
        "fig04",
        "The training error of every class falls as the other groups tell more; "
        "NN 100-10 leaves the least of every group",
        training_errors,
    ),
    Title(
        "13_embedding",
        "fig01",
        "After 20 random batches NN 1500-300 predicts a group the better, the more the others tell of it; "
        "of ALK it leaves nearly everything",
        larger_network,
    ),
    Title(
        "13_embedding",
        "simulator",
        "A simulator that errs as the paper says of its lines makes HA1E and MCF7 copies of VCAP: "
        "Greedy needs two batches on each",
        simulator,
    ),
    Title(
        "14_transfer",
        "transfer",
        "Every search has a top-0.2% gene within 2.5 batches in the mean, "
        "on groups that the others tell little of as well; chance needs nine",
        transfer,
    ),
    Title(
        "14_transfer",
        "forms",
        "Every other form of OAE, too, has a top-0.2% gene within 2.5 batches in the mean on every group",
        forms,
    ),
    Title(
        "14_transfer",
        "gain",
        "At every R² MeanOpt saves more than two thirds of chance's batches; "
        "on Greedy it gains in 1 comparison of 18 and loses in 3",
        gain,
    ),
    Title(
        "14_transfer",
        "whole",
        "The stronger its optimism, the less MeanOpt earns with either network on every group; "
        "with a linear class it earns about what Greedy does",
        whole,
    ),
]


@pytest.mark.parametrize("title", TITLES, ids=lambda title: f"{title.notebook}-{title.file}")
def test_titles_are_true_of_the_values(title):
    title.check()

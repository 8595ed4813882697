"""Ratios of batches: those of the claims' own test, and what figures made of them say in their titles."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import titles
from prose import prose

from bestarm_lab.paths import FIGURES, RESULTS
from bestarm_lab.results import read_robustness
from bestarm_studies.oae.values import batch_ratios
from bestarm_studies.oae.verdicts.figures import ratios_of_claims

OAE = FIGURES / "oae"
FOUR, HOLE = "MultiValleyOneDim", "MultiValleyOneDimHole"
LAW = "RandomBatch, exact law"
ENDS = ["value", "low", "high"]
Title = partial(titles.Title, "oae")


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
        ("08_sequential/fig27", "NN 100-10", ["OAE-C61", "OAE-C62"]),
    ],
)
def test_ratios_that_are_drawn_are_those_behind_the_verdicts(file, panel, claims):
    drawn = pd.read_csv(OAE / f"{file}.csv").query("panel == @panel")
    decided = pd.read_csv(RESULTS / "oae" / "comparisons.csv").query("id in @claims and convention == 'as_written'")
    ours, theirs = drawn[ENDS], decided[["effect", "low", "high"]]
    np.testing.assert_allclose(np.sort(ours, axis=0), np.sort(theirs, axis=0), rtol=1e-4)


def clear(values: pd.DataFrame) -> pd.Series:
    """Return which intervals exclude 1."""
    return (values["high"] < 1) | (values["low"] > 1)


def at_the_main_quantile(values: pd.DataFrame, column: str = "value") -> pd.DataFrame:
    mine = values[(values["statistic"] == "batches") & np.isclose(values["x"], 0.01)]
    return mine.pivot(index="panel", columns="series", values=column)


def diversity(values: pd.DataFrame) -> bool:
    rbf = values["panel"] == "NN 10-5, rbf"
    counts = [
        (len(part), int((part["high"] < 1).sum()), int((part["low"] > 1).sum())) for part in (values[~rbf], values[rbf])
    ]
    return counts == [(40, 7, 3), (12, 8, 0)]


def strengths_of_detd(values: pd.DataFrame) -> bool:
    found = at_the_main_quantile(values).filter(like="DetD")
    hills = found[found.index.str.startswith(HOLE)]
    slowest = found.loc["BikeSharingDay, NN 100-10"].idxmax()
    return bool(len(hills) == 2 and (hills.idxmin(axis=1) == "DetD 0.1").all() and slowest == "DetD 0.1")


def landscapes_in_sequence(values: pd.DataFrame) -> bool:
    return bool((len(values), (values["value"] < 1).sum()) == (40, 40))


def before_random_batches(values: pd.DataFrame) -> bool:
    high, law = at_the_main_quantile(values, "high")["SeqB 0.1"], at_the_main_quantile(values)[LAW]
    ahead = high < law
    return bool(ahead[[f"{name}, {hidden}" for name in (FOUR, HOLE) for hidden in ("NN 10-5", "NN 100-10")]].all())


def tables_in_sequence(values: pd.DataFrame) -> bool:
    found = values[clear(values)]
    one = found[["series", "x"]].to_numpy().tolist() == [["Ensemble-SeqB", "BikeSharingHour"]]
    return bool(len(values) == 15 and one and (found["value"] < 1).all())


def one_choice(values: pd.DataFrame) -> bool:
    mine = values[(values["panel"] == FOUR) & values["series"].str.endswith("over Greedy")]
    return bool(len(mine) == 11 and (mine["value"] < 1).all() and (mine["high"] < 1).sum() == 8)


def main_claims(values: pd.DataFrame) -> bool:
    greedy = values[values["panel"] == "Greedy"]
    hills = greedy["x"].str.contains("Valley")
    counts = [(len(part), (part["value"] < 1).sum()) for part in (greedy[hills], greedy[~hills])]
    return counts == [(12, 12), (10, 4)]


TITLES = [
    Title(
        "07_diversity",
        "gains",
        "The paper's kernel clearly saves batches in 7 of 40 comparisons and costs some in 3; "
        "a kernel of positions saves them in 8 of 12",
        diversity,
    ),
    Title(
        "07_diversity",
        "fig20",
        "Until a top-1% arm λ = 0.1 is the fastest strength of DetD on four hills with a hole, "
        "the slowest on BikeSharingDay",
        strengths_of_detd,
    ),
    Title(
        "08_sequential",
        "gains",
        "On the landscapes sequential batches have the lower mean in all 40 comparisons",
        landscapes_in_sequence,
    ),
    Title(
        "08_sequential",
        "fig26",
        "SeqB with λ = 0.1 finds a top-1% arm of four hills before random batches, "
        "with and without a hole in the summit",
        before_random_batches,
    ),
    Title(
        "08_sequential",
        "fig27",
        "On tables one change of 15 is clear: the sequential ensemble is faster on BikeSharingHour",
        tables_in_sequence,
    ),
    Title(
        "09_open_choices",
        "open_one",
        "On four hills λ = 0.1 needs fewer batches than Greedy under every choice, clearly so under 8 of 11",
        one_choice,
    ),
    Title(
        "16_verdicts",
        "main",
        "MeanOpt needs fewer batches than Greedy in 12 of 12 comparisons on landscapes, in 4 of 10 on tables",
        main_claims,
    ),
]


@pytest.mark.parametrize("title", TITLES, ids=lambda title: f"{title.notebook}: {title.file}")
def test_titles_are_true(title):
    title.check()


def test_what_is_said_of_diversity_on_landscapes():
    """Which changes cost batches, and which searches are ahead of random batches without diversity."""
    text, drawn = prose("oae", "07_diversity"), pd.read_csv(OAE / "07_diversity" / "gains.csv")
    assert "The three that cost batches are of DetD 0, which is slower than Greedy on one hill." in text
    costly = drawn[drawn["low"] > 1]
    assert len(costly) == 3
    assert costly["series"].eq("DetD 0").all()
    assert costly["x"].str.startswith("OneHill").all()
    assert "with the small network MeanOpt with λ = 0.1 is, and so is SeqB with λ = 0.1" in text
    for file, series in (("07_diversity/fig20", "MeanOpt 0.1"), ("08_sequential/tab_sequential", "SeqB 0.1")):
        found = pd.read_csv(OAE / f"{file}.csv")
        high, law = (at_the_main_quantile(found, end).loc[f"{HOLE}, NN 10-5"] for end in ("high", "value"))
        assert high[series] < law[LAW]
    assert "On four hills it helps most where optimism is weak" in text
    rbf = drawn[drawn["panel"].eq("NN 10-5, rbf") & drawn["x"].isin([FOUR, HOLE])]
    assert (rbf.pivot(index="x", columns="series", values="value").diff(axis=1).dropna(axis=1) > 0).all(axis=None)


def test_what_is_said_of_sequential_batches_on_landscapes():
    """Intervals of notebook 08, and the searches of four hills with a hole in the summit."""
    text, drawn = prose("oae", "08_sequential"), pd.read_csv(OAE / "08_sequential" / "gains.csv")
    small, larger = ((drawn[drawn["panel"] == hidden]["high"] < 1).sum() for hidden in ("NN 10-5", "NN 100-10"))
    assert f"in {small} of 20 comparisons with the small network, and in {larger} of 20 with the larger one" in text
    assert "less than half of MeanOpt's batches with both classes" in text
    assert (drawn.query("x == @HOLE and series == 'SeqB 0.1'")["value"] < 0.5).all()
    found = pd.read_csv(OAE / "08_sequential" / "tab_sequential.csv")
    high, law = (at_the_main_quantile(found, end).loc[f"{HOLE}, NN 100-10"] for end in ("high", "value"))
    low = at_the_main_quantile(found, "low").loc[f"{HOLE}, NN 100-10"]
    assert low["MeanOpt 0.1"] < law[LAW] < high["MeanOpt 0.1"]
    assert "intervals are below the mean of random batches, too. SeqB's is below both means" in text
    others = [
        ("04_ensembles/fig28", f"NN 100-10: {HOLE}", "MaxOpt 0.1"),
        ("07_diversity/fig20", f"{HOLE}, NN 100-10", "DetD 0.1"),
    ]
    for file, panel, series in others:
        values = pd.read_csv(OAE / f"{file}.csv")
        assert at_the_main_quantile(values, "high").at[panel, series] < law[LAW]
        assert high["SeqB 0.1"] < at_the_main_quantile(values).at[panel, series]
    biases = read_robustness("oae").query("choice == 'biases of zero'").set_index("claim")
    sequential = biases.loc[["OAE-C59", "OAE-C59b", "OAE-C60a", "OAE-C60b", "OAE-C70"]]
    assert "From zero no verdict on sequential batches changes" in text
    assert (sequential["word"] == sequential["word_then"]).all()

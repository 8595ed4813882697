"""Titles and numbers in the notebook and on the page on what to use are those of the runs."""

import json

import pandas as pd
import pytest
from titles import Title

from benchmarks.what_to_use_comparison import CASES, SCREENS, ahead, chosen, ranked, read, summary
from bestarm_lab.paths import FIGURES, NOTEBOOKS, ROOT

FOLDER = FIGURES / "oae" / "what_to_use"
BARREL = pd.read_csv(FOLDER / "tab_barrel.csv")
COST = pd.read_csv(ROOT / "benchmarks" / "what_to_use_cost.csv").set_index("policy")
CELLS = json.loads((NOTEBOOKS / "oae" / "what_to_use.ipynb").read_text(encoding="utf-8"))["cells"]
TEXT = " ".join(" ".join("".join(c["source"]).split()) for c in CELLS if c["cell_type"] == "markdown")
PAGE = " ".join((ROOT / "docs" / "what_to_use.md").read_text(encoding="utf-8").split())
MEASURED = read()
TABLE = summary(MEASURED.runs, MEASURED.data)
GP = "gp, 1 deviation"
OURS = list(dict.fromkeys(MEASURED.runs["policy"]))


def networks_are_first_and_last(values: pd.DataFrame) -> bool:
    """Among all policies, those of other libraries with them; a sentence of the page says the same."""
    means = values[~values["series"].str.startswith("chance")].set_index("series")
    order = {case: mine["value"].sort_values(ascending=False).index for case, mine in means.groupby("panel")}
    return set(order["Crossed barrel"][:2]) == {"mean_opt", "greedy"} == set(order["IL2"][-2:])


def ahead_of_gp(values: pd.DataFrame) -> bool:
    better = values[values["low"] > 0].groupby("panel")["series"].agg(set)
    barrel = better.get("Crossed barrel") == {"mean_opt", "greedy"}
    return barrel and not set(SCREENS) & set(better.index) and set(SCREENS) < set(values["panel"])


FOUND = "mean_opt and greedy find most on Crossed barrel and least on IL2"
DIFFERENCES = "On screens no policy is shown to find more than gp; on Crossed barrel two do"
TITLES = [
    Title("oae", "what_to_use", "found", FOUND, networks_are_first_and_last),
    Title("oae", "what_to_use", "differences", DIFFERENCES, ahead_of_gp),
]


@pytest.mark.parametrize("title", TITLES, ids=lambda title: title.file)
def test_titles_are_true(title):
    title.check()


def test_what_the_verdicts_say():
    found = ahead(MEASURED, GP, [p for p in MEASURED.policies() if p in OURS and p != GP])
    assert (found.index[found["low"] >= 1].tolist(), found["low"].max()) == (["mean_opt", "greedy"], 1)
    assert found.loc[["greedy", "mean_opt", "linear"], "most"].tolist() == [3, 2, 0]
    may = ["forest", "neighbours", "hits", "gp, 0.5 deviations", "gp, 2 deviations"]
    assert found.loc[may, "most"].min() > len(CASES) / 2


def test_policies_below_chance():
    by_rule = ranked(TABLE)
    assert set(by_rule.index[by_rule["below chance"] > 0]) == {"linear", "gp_bucb", "greedy"}
    for case, below in (("AutoAM", ["linear", "gp_bucb"]), ("Carnevale", ["greedy"])):
        assert ranked(TABLE, [case]).query("`below chance` > 0").index.tolist() == below


def test_gp_and_hits_are_level_and_all_others_behind():
    by_rule = ranked(TABLE)
    by_rule = by_rule[by_rule["data sets"] == len(CASES)]
    best = by_rule.loc[GP]
    assert [*by_rule.index[:2], chosen(TABLE, OURS, CASES)] == [GP, "hits", GP]
    assert f"mean score is {best['score']:.3f}; `hits` has as much" in TEXT
    assert by_rule["score"].iloc[2] < best["score"] - best["error"]
    assert f"a standard error, {best['error']:.3f}, behind" in TEXT
    assert f"`hits` are level, {best['score']:.4f} and {by_rule.loc['hits', 'score']:.4f}" in TEXT
    assert 0 < (by_rule.loc["hits", "seconds"] - best["seconds"]) / 5 < 0.01  # of a round
    on_screens = ranked(TABLE, SCREENS)
    assert chosen(TABLE, OURS, SCREENS) == "hits" == on_screens.index[0]
    assert on_screens["score"].iloc[1] < on_screens["score"].iloc[0] - on_screens["error"].iloc[0]


def test_numbers_on_crossed_barrel():
    last = BARREL[BARREL["x"] == 100].set_index("series")
    recorded = last.loc["recorded: GP, Matérn 5/2"]
    says = "The recorded runs find {:.1f}, `gp` {:.1f} and `neighbours` {:.1f}."
    assert says.format(recorded["value"], *last.loc[[GP, "neighbours"], "value"]) in TEXT
    assert last.loc["forest", "high"] < recorded["low"]
    assert last.loc["neighbours", "low"] < recorded["value"] < last.loc["neighbours", "high"]
    assert (last.loc[[p for p in OURS if p.startswith("gp, ")], "low"] > recorded["value"]).all()
    assert BARREL[BARREL["x"] == 40].set_index("series")["value"].nlargest(2).index.tolist() == ["greedy", "BayBE"]
    assert last.loc["BayBE", "low"] < last.loc[GP, "value"] < last.loc["BayBE", "high"]
    assert last.loc["BoTorch, qLogEI", "value"] < last.loc[GP, "value"]


def test_numbers_on_other_libraries():
    for text in (TEXT, PAGE):
        assert f"BoTorch needs {COST.loc['BoTorch, qLogEI', 'batch']:.1f}" in text
        assert f"BayBE {COST.loc['BayBE', 'start']:.1f} to read the list" in text
    peers = MEASURED.peers[MEASURED.peers["data"] == "AutoAM"].groupby("policy")["found 5/5"]
    assert [(peers.get_group("BayBE") == 5).sum(), peers.get_group("BayBE").min()] == [17, 4]
    assert [(peers.get_group("BoTorch, qLogEI") == n).sum() for n in (5, 0)] == [12, 2]
    counts = MEASURED.peers[~MEASURED.peers["policy"].str.startswith("recorded")].groupby(["policy", "data"]).size()
    assert set(counts) == {20}


def test_runs_are_as_many_as_is_said():
    screens = TABLE[TABLE["data"].isin(CASES[:3])].set_index("policy")["runs"]
    dear = [p for p in OURS if p.startswith("gp, ") or p in ("hits", "forest")]
    assert (set(screens[dear]), set(screens[["neighbours", "linear", "greedy", "mean_opt"]])) == ({20}, {50})
    assert not {"thompson", "gp_bucb"} & set(screens.index)

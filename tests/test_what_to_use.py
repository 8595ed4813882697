"""The page and the notebook on what to use have the numbers that were measured; the default is what the rule takes."""

import pandas as pd
from prose import prose
from titles import titled

from benchmarks.what_to_use import POLICIES
from benchmarks.what_to_use_comparison import CASES, SCREENS, ahead, chosen, goals_table, page_table, ranked, summary
from benchmarks.what_to_use_comparison import read as measured
from benchmarks.what_to_use_left import table_of
from benchmarks.what_to_use_tried import FILE, TRIED, tried_table
from bestarm.search.choices import DEFAULT, Choice
from bestarm.search.parser import SCREEN_POLICY
from bestarm.search.search import Search
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import FIGURES, ROOT

MEASURED = measured()
TABLE = summary(MEASURED.runs, MEASURED.data)
ALL = pd.concat([MEASURED.runs, pd.read_csv(FILE)]).query("run < 20")
GP = "gp, 1 deviation"
POOLS_ALONE = ["Matérn 3/2", "normal scores", "network", "network + Matérn", "RBF"]
PAGE = (ROOT / "docs" / "what_to_use.md").read_text(encoding="utf-8")
BARREL = pd.read_csv(FIGURES / "oae" / "what_to_use" / "tab_barrel.csv")
COST = pd.read_csv(ROOT / "benchmarks" / "what_to_use_cost.csv").set_index("policy")
TEXT = prose("oae", "what_to_use")
PAGE_TEXT = " ".join(PAGE.split())
OURS = list(dict.fromkeys(MEASURED.runs["policy"]))


def test_the_table_is_that_of_the_runs():
    assert markdown_table(page_table(MEASURED)) in PAGE


def test_goals_are_met_or_missed_as_the_page_says():
    defaults = [chosen(TABLE, list(POLICIES)), chosen(TABLE, list(POLICIES), SCREENS)]
    assert markdown_table(goals_table(MEASURED, list(dict.fromkeys(defaults)))) in PAGE


def test_what_was_said_to_be_left_is_as_the_page_says():
    found = pd.read_csv(ROOT / "benchmarks" / "what_to_use_left.csv")
    assert markdown_table(table_of(found)) in PAGE
    assert found.groupby("data", sort=False)["run"].nunique().to_list() == [20] * 3 + [10] * 5


def test_the_page_is_short():
    assert sum(any(c.isalnum() for c in word) for word in PAGE.split()) <= 900


def test_every_run_is_there_once_and_no_policy_is_unknown():
    for runs in (MEASURED.runs, MEASURED.peers):
        assert not runs.duplicated(["data", "policy", "run"]).any()
    assert set(MEASURED.runs["policy"]) == set(POLICIES)


def test_the_default_is_what_the_rule_takes():
    """Of a search without a policy, of `bestarm suggest`, and of the deviations in a Gaussian process's bound."""
    assert POLICIES[chosen(TABLE, list(POLICIES))].search(1, 1) == Choice(DEFAULT).search(1, 1)
    assert Search(pd.DataFrame({"x": [1.0, 2.0, 3.0]})).policy == Choice(DEFAULT)
    assert POLICIES[chosen(TABLE, list(POLICIES), SCREENS)].search(1, 1) == Choice(SCREEN_POLICY).search(1, 1)
    width = chosen(TABLE, [name for name in POLICIES if name.startswith("gp, ")])
    assert POLICIES[width].search(1, 1) == Choice("gp").search(1, 1)


def test_what_was_tried_is_as_the_page_says():
    """The rule takes `hits` in the even runs, which choose, `gp` in the odd ones, which tell, and no change of them."""
    found = pd.read_csv(FILE)
    assert markdown_table(tried_table(found)) in PAGE
    assert not found.duplicated(["data", "policy", "run"]).any()
    beside = [summary(ALL[ALL["run"] % 2 == half], MEASURED.data) for half in (0, 1)]
    assert [chosen(table, [*POLICIES, *TRIED]) for table in beside] == ["hits", GP]
    even = found[(found["run"] % 2 == 0) & (found["data"] == "Crossed barrel")].groupby("policy")["found 5/5"].mean()
    rough, normal, network, both, rbf = (f"{even[f'gp, {name}']:.1f}" for name in POOLS_ALONE)
    says = f"Crossed barrel: Matérn 3/2 {rough}, normal scores {normal}"
    assert f"{says}, network kernels {network} and {both}, RBF {rbf}." in PAGE_TEXT


def test_where_the_default_is_within_one_standard_error_of_the_best():
    found = summary(pd.concat([MEASURED.runs, MEASURED.peers]), MEASURED.data).dropna(subset="found")
    best = found.loc[found.groupby("data")["found"].idxmax()].set_index("data")
    for policy, where in (("gp, 1 deviation", {"AutoAM", "IL2"}), ("hits", {"IL2", "IFNg", "Carnevale"})):
        own = found[found["policy"] == policy].set_index("data")["found"]
        assert set(own.index[own >= (best["found"] - best["error"])[own.index]]) == where


@titled("oae/what_to_use/found", "mean_opt and greedy find most on Crossed barrel and least on IL2")
def test_networks_are_first_and_last(values: pd.DataFrame) -> bool:
    """Among all policies, those of other libraries with them; a sentence of the page says the same."""
    means = values[~values["series"].str.startswith("chance")].set_index("series")
    order = {case: mine["value"].sort_values(ascending=False).index for case, mine in means.groupby("panel")}
    return set(order["Crossed barrel"][:2]) == {"mean_opt", "greedy"} == set(order["IL2"][-2:])


@titled("oae/what_to_use/differences", "On screens no policy is shown to find more than gp; on Crossed barrel two do")
def test_ahead_of_gp(values: pd.DataFrame) -> bool:
    better = values[values["low"] > 0].groupby("panel")["series"].agg(set)
    barrel = better.get("Crossed barrel") == {"mean_opt", "greedy"}
    return barrel and not set(SCREENS) & set(better.index) and set(SCREENS) < set(values["panel"])


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
    for text in (TEXT, PAGE_TEXT):
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

"""The page on what to use has the numbers that were measured, and the default is the one that its rule takes."""

import pandas as pd

from benchmarks.what_to_use import POLICIES
from benchmarks.what_to_use_comparison import SCREENS, chosen, goals_table, page_table, read, summary
from benchmarks.what_to_use_left import table_of
from benchmarks.what_to_use_tried import FILE, TRIED, scores
from bestarm.search.choices import DEFAULT, Choice
from bestarm.search.parser import SCREEN_POLICY
from bestarm.search.search import Search
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import ROOT

MEASURED = read()
TABLE = summary(MEASURED.runs, MEASURED.data)
ALL = pd.concat([MEASURED.runs, pd.read_csv(FILE)]).query("run < 20")
PAGE = (ROOT / "docs" / "what_to_use.md").read_text(encoding="utf-8")


def test_the_table_is_that_of_the_runs():
    assert markdown_table(page_table(MEASURED)) in PAGE


def test_goals_are_met_or_missed_as_the_page_says():
    defaults = [chosen(TABLE, list(POLICIES)), chosen(TABLE, list(POLICIES), SCREENS)]
    assert markdown_table(goals_table(MEASURED, list(dict.fromkeys(defaults)))) in PAGE


def test_what_was_said_to_be_left_is_as_the_page_says():
    found = pd.read_csv(ROOT / "benchmarks" / "what_to_use_left.csv")
    assert markdown_table(table_of(found)) in PAGE
    assert found.groupby("data", sort=False)["run"].nunique().to_list() == [20] * 3 + [5] * 3


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
    found, gp = [scores(pd.read_csv(FILE), half) for half in (0, 1)], "gp, 1 deviation"
    order = [gp, "linear mean", "portfolio", "more noise", "isotropic", "averaged", "two ranks", "linear kernel"]
    for title, half, names in zip(("even", "odd"), found, (order, order[:4]), strict=True):
        cells = [f"{half.loc[name, 'score']:.3f}" for name in names] + [""] * (len(order) - len(names))
        assert f"| {title} runs | {' | '.join(cells)} |" in PAGE
    beside = [summary(ALL[ALL["run"] % 2 == half], MEASURED.data) for half in (0, 1)]
    assert [chosen(table, [*POLICIES, *TRIED]) for table in beside] == ["hits", gp]


def test_where_the_default_is_within_one_standard_error_of_the_best():
    found = summary(pd.concat([MEASURED.runs, MEASURED.peers]), MEASURED.data).dropna(subset="found")
    best = found.loc[found.groupby("data")["found"].idxmax()].set_index("data")
    for policy, where in (("gp, 1 deviation", {"AutoAM", "IL2"}), ("hits", {"IL2", "IFNg", "Carnevale"})):
        own = found[found["policy"] == policy].set_index("data")["found"]
        assert set(own.index[own >= (best["found"] - best["error"])[own.index]]) == where

"""The page on what to use has the numbers that were measured, and the default is the one that its rule takes."""

import pandas as pd

from benchmarks.what_to_use import POLICIES
from benchmarks.what_to_use_comparison import LAST, SCREENS, chosen, goals_table, page_table, read, summary
from benchmarks.what_to_use_tried import FILE, TRIED, scores
from bestarm.search.arguments import DEFAULT
from bestarm.search.choices import Choice
from bestarm.search.parser import SCREEN_POLICY
from bestarm.search.search import Search
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import ROOT

MEASURED = read()
TABLE = summary(MEASURED.runs, MEASURED.data)
PAGE = (ROOT / "docs" / "what_to_use.md").read_text(encoding="utf-8")


def test_the_table_is_that_of_the_runs():
    assert markdown_table(page_table(MEASURED)) in PAGE


def test_goals_are_met_or_missed_as_the_page_says():
    defaults = [chosen(TABLE, list(POLICIES)), chosen(TABLE, list(POLICIES), SCREENS)]
    assert markdown_table(goals_table(MEASURED, list(dict.fromkeys(defaults)))) in PAGE


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
    """In the same runs a policy of this project has the largest score; on Carnevale both find less than `gp`."""
    runs = pd.read_csv(FILE)
    found, gp = scores(runs), "gp, 0.5 deviations"
    said = "score {:.3f}, a linear mean {:.3f}; in the same runs `gp` has {:.3f}, with 1 deviation {:.3f}."
    assert said.format(*found.loc[["portfolio", "linear mean", gp, "gp, 1 deviation"], "score"]) in PAGE
    assert found.index[0] == "gp, 1 deviation"
    beside = summary(pd.concat([MEASURED.runs, runs]), MEASURED.data)
    assert chosen(beside, [*POLICIES, *TRIED]) == "linear mean"
    both = (
        pd.concat([MEASURED.runs, runs]).query("data == 'Carnevale'").pivot(index="run", columns="policy", values=LAST)
    )
    for name in TRIED:
        less = (both[gp] - both[name]).dropna()
        assert (len(less), less.mean() > 2.5 * less.sem()) == (5, True)

"""The page on what to use has the numbers that were measured, and the default is the one that its rule takes."""

import argparse

import pandas as pd

from benchmarks.what_to_use import POLICIES, SCREENS, chosen, tables
from bestarm.search.choices import Choice
from bestarm.search.search import DEFAULT, Search
from bestarm_lab.paths import ROOT
from bestarm_screens.parser import add_commands

MEASURED = pd.read_csv(ROOT / "benchmarks" / "what_to_use.csv")
PAGE = (ROOT / "docs" / "what_to_use.md").read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_file():
    assert tables(MEASURED) in PAGE


def test_the_default_is_what_the_rule_takes():
    """Of a search without a policy, of `bestarm suggest`, and of the deviations in a Gaussian process's bound."""
    assert POLICIES[chosen(MEASURED)] == Choice(DEFAULT)
    assert Search(pd.DataFrame({"x": [1.0, 2.0, 3.0]})).policy == Choice(DEFAULT)
    commands = argparse.ArgumentParser().add_subparsers()
    add_commands(commands)
    given = commands.choices["suggest"].parse_args(["features.csv", "phenotypes.csv"])
    assert POLICIES[chosen(MEASURED, cases=list(SCREENS))] == Choice(given.policy)
    width = chosen(MEASURED, [name for name in POLICIES if name.startswith("gp, ")])
    assert POLICIES[width].search(1, 1) == Choice("gp").search(1, 1)

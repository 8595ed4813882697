"""The page and the notebook on a screen of one's own say what the code does."""

import json
import re

import pandas as pd
import pytest
from scipy.stats import hypergeom
from titles import Title

from bestarm.search.choices import NAMES, SUMMARIES
from bestarm_lab.paths import FIGURES, NOTEBOOKS, ROOT

PAGE = (ROOT / "docs" / "your_own_screen.md").read_text(encoding="utf-8")
NOTEBOOK = json.loads((NOTEBOOKS / "oae" / "your_own_screen.ipynb").read_text(encoding="utf-8"))
TEXT = "\n".join("".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "markdown")
TABLE = pd.read_csv(FIGURES / "oae" / "your_own_screen" / "replay.csv")


def test_the_page_has_every_policy_with_its_summary():
    found = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE)
    assert found == [(name, SUMMARIES[name]) for name in NAMES]


def test_options_on_the_page_are_those_of_the_commands(capsys):
    from bestarm.command_line import main

    known = ""
    for command in ("suggest", "replay"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        known += capsys.readouterr().out
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) <= set(re.findall(r"--[a-z][a-z-]+", known))


def hits(series: str, batch: int) -> str:
    """Return mean hits of a series by a batch, as prose writes them."""
    return f"{TABLE[(TABLE['series'] == series) & (TABLE['x'] == batch)]['value'].iloc[0]:.1f}"


def test_numbers_in_the_notebook_are_those_of_its_table():
    """Every sentence of the findings that says how many hits."""
    findings = TEXT.split("## What we find")[1].split("\n## ")[0]
    quoted = re.findall(r"`(\w+)` (?:finds|has found) ([\d.]+) hits .*?([\d]+) batches", findings)
    assert quoted
    for series, value, batch in quoted:
        assert hits(series, int(batch)) == value
    chance = re.findall(r"chance ([\d.]+) .*?([\d]+) batches", findings)
    assert chance
    for value, batch in chance:
        assert hits("chance (exact)", int(batch)) == value
    low, high = re.findall(r"single random campaign finds\s+(\d+) to (\d+) hits in 10 batches", findings)[0]
    law = hypergeom(500, 25, 160)
    assert (law.ppf(0.025), law.ppf(0.975)) == (int(low), int(high))


def only_diverse_ones_are_ahead(values: pd.DataFrame) -> bool:
    ten = values[values["x"] == 10].set_index("series")
    chance = ten.loc["chance (exact)", "value"]
    return list(ten.index[ten["low"] > chance]) == ["det_d"] and round(ten.loc["det_d", "value"] - chance) == 2


WORDS = "After ten batches only diverse ones (det_d) are clearly ahead of chance, by two hits"


@pytest.mark.parametrize("title", [Title("oae", "your_own_screen", "replay", WORDS, only_diverse_ones_are_ahead)])
def test_the_title_is_true(title):
    title.check()

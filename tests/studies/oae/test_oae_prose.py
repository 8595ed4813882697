"""Sentences, verdicts and titles of OAE's notebooks that take more than their `quoted.yaml` can say."""

import re

import numpy as np
import pandas as pd
import pytest
from prose import prose
from titles import titled

from bestarm_lab.claims.verdicts import VERDICTS as WORDS
from bestarm_lab.paths import NOTEBOOKS, RESULTS, ROOT
from bestarm_lab.results import current_rows, read_robustness
from bestarm_studies.oae.experiments import SYNTHETIC
from bestarm_studies.oae.fits.step_sizes import capacity_errors, capacity_table

LAW = "RandomBatch, exact law"


@titled("oae/01_problem/fig07", "This run of MeanOpt has tried two of four hills after 25 batches, and three after 45")
def test_evolution(values: pd.DataFrame) -> bool:
    seen = [panel for panel in dict.fromkeys(values["panel"]) if panel.startswith("round")]
    return seen == [f"round {number}: {hills} of 4 hills" for number, hills in ((5, 1), (15, 1), (25, 2), (45, 3))]


def test_the_biases_are_those_whose_fits_are_as_the_paper_says():
    """NN 10-5 does not reach zero on four hills, and the error falls with capacity (Appendix E.1.1)."""
    starts = {"zero": "fits_synthetic", "random": "random_fits_synthetic"}
    errors = capacity_errors({start: current_rows("oae", name, "laptop") for start, name in starts.items()})
    assert (errors.loc[errors["series"].str.startswith("NN 10-5 "), "value"] > 0.1).all()
    assert capacity_table(errors).query("falls == 'yes'")["biases"].value_counts().to_dict() == {"zero": 6, "random": 4}
    assert {getattr(cell.policy, "bias", 0.0) for e in SYNTHETIC.values() for cell in e.cells("paper")} == {0.0}


def batches(values: pd.DataFrame, x: float = 0.01) -> pd.DataFrame:
    """Return the mean batches until a top arm, a line for each panel, a column for each series."""
    mine = values[(values["statistic"] == "batches") & np.isclose(values["x"].astype(float), x)]
    return mine.pivot(index="panel", columns="series", values="value")


@titled(
    "oae/06_realizable/fig32",
    "On fitted Bank every search is ahead of chance; on fitted BikeSharingHour "
    "none is until a top-1% arm, and four are until a top-0.2% arm",
)
def test_fitted_middle(values: pd.DataFrame) -> bool:
    def ahead(panel: str, x: float) -> int:
        mine = values[(values["panel"] == panel) & (values["statistic"] == "batches") & np.isclose(values["x"], x)]
        high = mine.set_index("series")["high"].drop(["RandomBatch", LAW])
        return int((high < batches(values, x).loc[panel, LAW]).sum())

    hours = "BikeSharingHour, fitted"
    bank = [ahead("Bank, fitted", x) for x in (0.01, 0.002)]
    return bank == [6, 6] and [ahead(hours, 0.01), ahead(hours, 0.002)] == [0, 4]


@titled(
    "oae/10_theory/theory_queries",
    "Some searches need fewer queries than the printed bound; "
    "none needs clearly fewer than the bound that its proof supports",
)
def test_query_bounds(values: pd.DataFrame) -> bool:
    bounds = values[values["statistic"] == "bound"].pivot(index=["panel", "x"], columns="series", values="value")
    high = values[values["statistic"] == "queries"].pivot(index=["panel", "x"], columns="series", values="high")
    fewer = high.lt(bounds["printed"], axis=0).any(axis=1)
    return bool(fewer.all() and high.ge(bounds["squared"], axis=0).all(axis=None))


VERDICTS = RESULTS / "oae" / "verdicts.csv"

NOTEBOOKS_OF_OAE = sorted(file.stem for file in (NOTEBOOKS / "oae").glob("*.ipynb"))
WORD = "|".join(WORDS)
SAID = re.compile(
    rf"((?:OAE-[\w.]+|(?<= )C\d[\w.]*)(?:(?:, | and )(?:OAE-[\w.]+|C\d[\w.]*))*)(?:,| is| are)(?: both)? ({WORD})\b"
)


def verdicts_said(text: str) -> list[tuple[str, str]]:
    """Return claims and the words that a text has for them: (OAE-C1 is refuted), (OAE-C1 and C2 are mixed)."""
    return [
        (identity if identity.startswith("OAE-") else f"OAE-{identity}", word)
        for claims, word in SAID.findall(text)
        for identity in re.split(", | and ", claims)
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS_OF_OAE)
def test_verdicts_are_those_of_the_record(notebook):
    table = pd.read_csv(VERDICTS)
    found = table[table["convention"] == "as_written"].set_index("id")["verdict"]
    assert not [(claim, word) for claim, word in verdicts_said(prose("oae", notebook)) if found.get(claim) != word]


def test_verdicts_are_read_from_a_text():
    text = "holds (OAE-C1 and C2 are mixed), fails (OAE-C3.s, refuted) and OAE-C4 is at the margin; (OAE-C5) is open"
    assert verdicts_said(text) == [
        ("OAE-C1", "mixed"), ("OAE-C2", "mixed"), ("OAE-C3.s", "refuted"), ("OAE-C4", "at the margin"),
    ]  # fmt: skip


@pytest.mark.parametrize("notebook", NOTEBOOKS_OF_OAE)
def test_claims_that_are_named_exist(notebook):
    known = set(pd.read_csv(VERDICTS)["id"])
    named = re.findall(r"OAE-[BC]\d+[a-z]*(?:\.[a-z])?", prose("oae", notebook))
    assert not {claim.rstrip(".") for claim in named} - known


def test_the_margin_that_would_change_the_main_claims():
    table = read_robustness("oae").query("choice == 'margin doubled'").set_index("claim")
    theirs = table[~table.index.str.contains(r"\.|\d[nhl]$")].query("word == 'confirmed' and word_then == 'undecided'")
    listed = ["OAE-C32", "OAE-C37", "OAE-C49", "OAE-C2a", "OAE-C2b", "OAE-C72a"]
    assert sorted(theirs.index) == sorted(listed)
    names = ", ".join(claim.removeprefix("OAE-") for claim in listed[:-1])
    page = " ".join((ROOT / "docs" / "decisions" / "oae.md").read_text(encoding="utf-8").split())
    assert f"a tenth becomes {1 - 0.9**2:.0%} and 30% becomes {1 - 0.7**2:.0%}) {names} and C72a are undecided" in page
    assert table.loc["OAE-C1a", "word_then"] == "confirmed"
    said = f"{1 - 0.9**2:.0%} instead of 10%, C2a, C2b and C72a become undecided; C1a does not."
    assert said in prose("oae", "15_verdicts")


def test_the_table_of_verdicts_that_changed():
    """Its new words are those of the record, of every claim that still has a line, and so are the counts."""
    page = (ROOT / "docs" / "decisions" / "oae.md").read_text(encoding="utf-8")
    part = page.partition("## Verdicts that changed (OAE)")[2].partition("\n## ")[0]
    lines = [[c.strip() for c in line.strip("| ").split(" | ")] for line in part.splitlines() if line[:3] == "| C"]
    assert len(lines) > 15
    table = pd.read_csv(VERDICTS)
    table = table[table["convention"] == "as_written"].set_index("id")
    for claims, _, new, _ in lines:
        there = [f"OAE-{claim}" for claim in claims.split(", ") if f"OAE-{claim}" in table.index]
        words = re.findall(WORD, new)
        assert there, claims
        assert words, claims
        assert table.loc[there, "verdict"].tolist() == (words * len(there) if len(words) == 1 else words), claims
        if counts := [tuple(map(float, pair)) for pair in re.findall(r"(\d+) of (\d+)", new)]:
            found = table.loc[there, ["for", "comparisons"]].itertuples(index=False, name=None)
            assert set(found) == set(counts), claims

"""Verdicts, counts of cells and of comparisons that the notebooks say are those of the record."""

import re

import pandas as pd
import pytest
from prose import cells_of, only_value, prose

from bestarm_lab.claims.verdicts import VERDICTS as WORDS
from bestarm_lab.paths import NOTEBOOKS, RESULTS, ROOT
from bestarm_lab.results import read_robustness

VERDICTS = RESULTS / "oae" / "verdicts.csv"


@pytest.mark.parametrize(
    ("notebook", "fragment", "identity"),
    [
        ("01_problem", "random batches in {} of {} cells (OAE-C2a)", "OAE-C2a"),
        ("01_problem", "the greedy search in {} of {} (OAE-C2b)", "OAE-C2b"),
        ("01_problem", "it is there in {} of {} cells (OAE-C2d, undecided)", "OAE-C2d"),
        ("01_problem", "with fitted responses in {} of {} (OAE-C2f, undecided)", "OAE-C2f"),
        ("03_vanilla", "ahead of the small one in {} of {} cells", "OAE-C24"),
        ("03_vanilla", "of the middle one in {} of {} (OAE-C24b is undecided)", "OAE-C24b"),
        ("07_diversity", "With the small network it does so in {} of {} comparisons", "OAE-C54a"),
        ("16_verdicts", "random batches in {} of {} cells and than Greedy in", "OAE-C2a"),
        ("16_verdicts", "and than Greedy in {} of {}. With 97.5%", "OAE-C2b"),
        ("16_verdicts", "random batches in {} of {} cells, of which too few", "OAE-C2c"),
        ("16_verdicts", "and of Greedy in {} of {} (OAE-C2d, undecided)", "OAE-C2d"),
        ("16_verdicts", "random batches in {} of {} (OAE-C2e, confirmed)", "OAE-C2e"),
        ("16_verdicts", "and of Greedy in {} of {} (OAE-C2f, undecided)", "OAE-C2f"),
    ],
)
def test_cells_that_are_counted(notebook, fragment, identity):
    assert fragment.format(*cells_of(VERDICTS, identity)[:2]) in prose("oae", notebook)


def test_the_bounds_that_are_quoted():
    bounds = [cells_of(VERDICTS, identity)[2] for identity in ("OAE-C2a", "OAE-C2b")]
    needed = [f"{only_value(VERDICTS, {'id': identity}, 'needed'):.0f}" for identity in ("OAE-C2a", "OAE-C2b")]
    said = "in at least {} and {}, where the claims need {} and {}"
    assert said.format(*bounds, *needed) in prose("oae", "16_verdicts")


@pytest.mark.parametrize(
    ("notebook", "fragment", "identity", "columns"),
    [
        ("03_vanilla", "in {} of {} comparisons of the regret", "OAE-C26", ("for", "comparisons")),
        ("03_vanilla", "and in {} of {} of the mean reward", "OAE-C26b", ("for", "comparisons")),
        ("03_vanilla", "where the claim needs {} (OAE-C24 is undecided)", "OAE-C24", ("needed",)),
        (
            "04_ensembles",
            "significant in {} of {} comparisons with the small network (OAE-C39",
            "OAE-C39",
            ("for", "comparisons"),
        ),
        ("04_ensembles", "and in {} of {} with the middle one (OAE-C39w", "OAE-C39w", ("for", "comparisons")),
        (
            "05_uci",
            "significant in {} of {} comparisons, where {} are needed",
            "OAE-C48b",
            ("for", "comparisons", "needed"),
        ),
        ("08_sequential", "by a tenth in {} of {} with the small network", "OAE-C60a", ("for", "comparisons")),
        ("08_sequential", "With the larger network this is so in {} of {}.", "OAE-C60b", ("for", "comparisons")),
        ("16_verdicts", "with {} of {} comparisons significant", "OAE-C1a", ("for", "comparisons")),
        ("16_verdicts", "with {} of {} (OAE-C72a is confirmed)", "OAE-C72a", ("for", "comparisons")),
    ],
)
def test_comparisons_that_are_counted(notebook, fragment, identity, columns):
    numbers = [f"{only_value(VERDICTS, {'id': identity}, column):.0f}" for column in columns]
    assert fragment.format(*numbers) in prose("oae", notebook)


@pytest.mark.parametrize(
    ("fragment", "identity", "state"),
    [
        ("three are and two are not (OAE-C40a, undecided)", "OAE-C40a", (3, 2)),
        ("one none is and two are not (OAE-C40d, undecided)", "OAE-C40d", (0, 2)),
    ],
)
def test_objectives_that_are_similar(fragment, identity, state):
    assert tuple(only_value(VERDICTS, {"id": identity}, column) for column in ("for", "against")) == state
    assert fragment in prose("oae", "04_ensembles")


def test_objectives_within_and_rivals_behind():
    """Only MaxOpt is within a quarter, only HingePNorm on four hills outside; only the ensemble is ahead."""
    text = prose("oae", "04_ensembles")
    found = pd.read_csv(RESULTS / "oae" / "comparisons.csv").query("convention == 'as_written'")
    assert "All that are within belong to MaxOpt, all that are not to HingePNorm on four hills" in text
    similar = found[found["id"].isin(["OAE-C40a", "OAE-C40d"])].set_index("state")["comparison"]
    assert similar["for"].str.contains("MaxOpt").all()
    assert similar["against"].str.contains("Multi.*HingePNorm").all()
    assert "The rival is the ensemble in all of these; of Greedy and of the noisy ensemble" in text
    behind = found[found["id"].isin(["OAE-C39", "OAE-C39w"])].set_index("state")["comparison"]
    assert behind["for"].str.endswith("against Ensemble").all()
    assert "it is not significantly ahead of random batches where the summit has a hole (OAE-C38w" in text
    best = found[found["id"] == "OAE-C38w"].set_index("comparison")["state"]
    assert list(best[best != "for"].items()) == [
        ("synthetic_100_10: name = MultiValleyOneDimHole, MeanOpt 0.1 against RandomBatch", "open")
    ]
    assert "with the middle one MeanOpt is too near to tell (OAE-C36w" in text
    hole = found[found["id"] == "OAE-C36w"].set_index("state")["comparison"]
    assert hole["open"].str.contains("against MeanOpt").all()


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
    wrong = [(claim, word) for claim, word in verdicts_said(prose("oae", notebook)) if found.get(claim) != word]
    assert not wrong


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


def test_the_score_that_is_quoted():
    table = pd.read_csv(VERDICTS)
    theirs = table[table["ours"].isna() & (table["convention"] == "as_written")]["verdict"]
    count = theirs.value_counts()
    listed = f"{count['refuted']} refuted, {count['mixed']} mixed, {count['undecided']} undecided"
    said = f"Of {(theirs != 'not run').sum()} claims that can be run {count['confirmed']} are confirmed, {listed}"
    assert f"{said} and the others at the margin." in prose("oae", "16_verdicts")
    assert set(count.index) == {"confirmed", "refuted", "mixed", "undecided", "at the margin", "not run"}


def test_the_margin_that_would_change_the_main_claims():
    table = read_robustness("oae").query("choice == 'margin doubled'").set_index("claim")
    theirs = table[~table.index.str.contains(r"\.|\d[nhl]$")].query("word == 'confirmed' and word_then == 'undecided'")
    listed = ["OAE-C2a", "OAE-C29", "OAE-C41", "OAE-C49"]
    assert sorted(theirs.index) == sorted(listed)
    names = ", ".join(claim.removeprefix("OAE-") for claim in listed[:-1])
    page = " ".join((ROOT / "docs" / "decisions" / "oae.md").read_text(encoding="utf-8").split())
    assert f"a tenth becomes {1 - 0.9**2:.0%} and 30% becomes {1 - 0.7**2:.0%}) {names} and C49 are undecided" in page
    assert (table.loc[["OAE-C1a", "OAE-C72a"], "word_then"] == "confirmed").all()
    said = f"{1 - 0.9**2:.0%} instead of 10%, C2a becomes undecided; C1a and C72a do not."
    assert said in prose("oae", "16_verdicts")


def test_the_table_of_verdicts_that_changed():
    """Its new words are those of the record, of every claim that still has a line, and so are the counts."""
    page = (ROOT / "docs" / "decisions" / "oae.md").read_text(encoding="utf-8")
    part = page.partition("## Verdicts that changed (OAE)")[2].partition("\n## ")[0]
    lines = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in part.splitlines() if line[:3] == "| C"
    ]
    assert len(lines) > 15
    table = pd.read_csv(VERDICTS)
    table = table[table["convention"] == "as_written"].set_index("id")
    for claims, _, new, _ in lines:
        there = [f"OAE-{claim}" for claim in claims.split(", ") if f"OAE-{claim}" in table.index]
        words = re.findall(WORD, new)
        assert there, claims
        assert words, claims
        assert table.loc[there, "verdict"].tolist() == (words * len(there) if len(words) == 1 else words), claims
        counts = [tuple(map(float, pair)) for pair in re.findall(r"(\d+) of (\d+)", new)]
        if counts:
            found = table.loc[there, ["for", "comparisons"]].itertuples(index=False, name=None)
            assert set(found) == set(counts), claims

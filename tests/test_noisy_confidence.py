"""The rule of the benchmark on noisy pulls, on rows made by hand, and what its committed rows are."""

import pandas as pd
import pytest

from benchmarks import noisy_confidence
from benchmarks.noisy_confidence import COLUMNS, FILE, binary_choice, choice, ratios, tables
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import ROOT


def rows(cells):
    """Return rows of the file: family, instance, policy, pulls and share correct of 500 runs, none of them cut."""
    table = [[f, i, f"{f} {i}", p, 500, float(pulls), 1.0, right, 0.0, 1.0] for f, i, p, pulls, right in cells]
    return pd.DataFrame(table, columns=COLUMNS)


CELLS = [
    (family, i, policy, pulls * (i + 1), right)
    for family in ("classic", "random")
    for i in (0, 1)
    for policy, pulls, right in (("oracle", 100, 1.0), ("quick", 110, 0.9), ("steady", 150, 0.98), ("slow", 400, 1.0))
]


def test_the_least_worst_family_wins_among_those_that_err_rarely():
    """A tenth of wrong answers in 500 runs is significantly more than 0.05."""
    name, shown = choice(ratios(rows(CELLS)), ("classic", "random"))
    assert name == "steady"
    assert bool(shown.loc["quick", "out"])
    assert shown.loc["steady", "chosen worst"] == pytest.approx(1.5)
    assert shown.loc["slow", "told worst"] == pytest.approx(4.0)


ODD_ARE_WORSE = [(f, i, p, pulls * (9 if i and p == "steady" else 1), right) for f, i, p, pulls, right in CELLS]
ONE_IS_MISSING = [("classic", 2, *cell[2:]) for cell in CELLS if cell[:2] == ("classic", 0)]
ONE_IS_MISSING += [cell for cell in CELLS if cell[:3] != ("classic", 0, "steady")]


@pytest.mark.parametrize(
    ("cells", "taken"),
    [([(*cell[:4], 0.5) for cell in CELLS], "none"), (ODD_ARE_WORSE, "steady"), (ONE_IS_MISSING, "slow")],
    ids=["all are out", "odd instances do not choose", "an even instance is missing"],
)
def test_who_is_taken(cells, taken):
    assert choice(ratios(rows(cells)), ("classic", "random"))[0] == taken


def test_binary_rewards_are_judged_by_the_worst_cell():
    table = [
        ["binary", i, c, p, 500, 80.0, 0.0, right, 0.0, 1.0]
        for i in (0, 1)
        for c, p, right in (("a", "one", 0.9), ("a", "two", 0.8), ("b", "one", 0.5), ("b", "two", 0.7))
    ]
    assert binary_choice(pd.DataFrame(table, columns=COLUMNS))[0] == "two"


def test_committed_rows_are_cells_of_the_benchmark():
    kept = pd.read_csv(FILE)
    assert not kept.duplicated(["family", "instance", "label", "policy"]).any()
    assert list(kept.columns) == COLUMNS
    binary = {(c[0], c[1], c[2], c[3]) for c in noisy_confidence.cells() if c[0] == "binary"}
    found = kept[kept.family == "binary"]
    assert set(zip(found.family, found.instance, found.label, found.policy, strict=True)) <= binary


def test_the_page_has_the_tables_of_the_runs():
    """And says on how many instances MisLid never errs."""
    page = (ROOT / "docs" / "noisy_pulls.md").read_text(encoding="utf-8")
    for title, table in tables(pd.read_csv(FILE)).items():
        assert f"## {title}" in page
        assert markdown_table(table) in page
    assert sum(any(c.isalnum() for c in word) for word in page.split()) <= 900
    misspecified = ratios(pd.read_csv(FILE)).query("family == 'misspecified'")
    found = misspecified[misspecified.policy == "mislid"]
    where = found.cut > 0.01  # there linear policies fail
    assert f"{found.cut[where].item():.0%} of MisLid's" in page
    found = found[~where]
    assert (len(found), found.errors.max()) == (7, 0.0)
    taken, shown = choice(ratios(pd.read_csv(FILE)), noisy_confidence.CONFIDENCE)
    worst = shown["chosen worst"].astype(float)
    assert f"is taken: {worst[taken]:.3f}, and {worst['m_lingape greedy']:.3f} of `m_lingape`" in page
    twice = misspecified[misspecified.policy == "mislid twice the level"]
    assert f"({twice.cut.max():.0%} at twice the level)" in page
    said = "On the seven others MisLid never errs, with {:.2f} to {:.2f} times the oracle's pulls"
    assert said.format(found.ratio.min(), found.ratio.max()) in " ".join(page.split())

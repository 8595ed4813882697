"""The page on noisy pulls has the numbers that were measured and recommends what the rules take; the rules by hand."""

import pandas as pd
import pytest

from benchmarks import noisy_confidence, noisy_pulls, soare
from benchmarks.noisy_confidence import COLUMNS, FILE, binary_choice, choice, ratios, tables
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import ROOT

PAGE = (ROOT / "docs" / "noisy_pulls.md").read_text(encoding="utf-8")
TABLE = pd.read_csv(noisy_pulls.RESULTS)
CONFIDENT = pd.read_csv(FILE)


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
    assert not CONFIDENT.duplicated(["family", "instance", "label", "policy"]).any()
    assert list(CONFIDENT.columns) == COLUMNS
    binary = {tuple(c[:4]) for c in noisy_confidence.cells() if c[0] == "binary"}
    found = CONFIDENT[CONFIDENT.family == "binary"]
    assert set(zip(found.family, found.instance, found.label, found.policy, strict=True)) <= binary


def test_the_page_has_the_tables_of_the_runs():
    """And says on how many instances MisLid never errs."""
    for title, table in tables(CONFIDENT).items():
        assert f"## {title}" in PAGE
        assert markdown_table(table) in PAGE
    assert sum(any(c.isalnum() for c in word) for word in PAGE.split()) <= 900
    misspecified = ratios(CONFIDENT).query("family == 'misspecified'")
    found = misspecified[misspecified.policy == "mislid"]
    where = found.cut > 0.01  # there linear policies fail
    assert f"{found.cut[where].item():.0%} of MisLid's" in PAGE
    found = found[~where]
    assert (len(found), found.errors.max()) == (7, 0.0)
    taken, shown = choice(ratios(CONFIDENT), noisy_confidence.CONFIDENCE)
    worst = shown["chosen worst"].astype(float)
    assert f"is taken: {worst[taken]:.3f}, and {worst['m_lingape greedy']:.3f} of `m_lingape`" in PAGE
    twice = misspecified[misspecified.policy == "mislid twice the level"]
    assert f"({twice.cut.max():.0%} at twice the level)" in PAGE
    said = "On the seven others MisLid never errs, with {:.2f} to {:.2f} times the oracle's pulls"
    assert said.format(found.ratio.min(), found.ratio.max()) in " ".join(PAGE.split())


def test_every_policy_that_runs_in_a_family_has_all_its_cases():
    """A policy that refuses a case has a line without pulls there."""
    lines = TABLE.groupby("family")["case"].nunique()
    assert lines.sum() == 156
    assert not TABLE.duplicated(["family", "case", "policy"]).any()
    counts = TABLE.groupby(["family", "policy"])["case"].nunique()
    assert (counts == lines.reindex(counts.index.get_level_values(0)).to_numpy()).all()


def test_the_table_is_that_of_the_runs():
    assert markdown_table(noisy_pulls.page_table(TABLE, pd.read_csv(soare.RESULTS))) in PAGE


def test_the_page_recommends_what_the_rule_takes_and_says_by_how_much_it_is_behind():
    chooses, tells = noisy_pulls.halves(TABLE)
    chosen = chooses["rule"].drop(list(noisy_pulls.ORACLES)).idxmax()
    assert chosen == "Top-two Thompson"
    assert "**Take `top_two`**, with the noise's standard deviation or a larger guess" in PAGE
    families = tells.drop(columns=["mean", "worst", "rule"]).drop(index=list(noisy_pulls.ORACLES))
    behind = (families.max() - families).max(axis=1).sort_values()
    assert behind.index[0] == chosen
    assert (families.max() - families).loc[chosen].idxmax() == "deviations"
    said = "it is at most {:.3f} below, where means are not linear. All others are at least {:.2f} below somewhere"
    assert behind.iloc[0] < 0.05 < behind.iloc[1]
    assert said.format(*behind.iloc[:2]) in PAGE
    (least, most), twice = ((column.min(), column.max()) for _, column in noisy_pulls.misjudged(TABLE).items())
    said = f"shares are {twice[0]:.2f} to {twice[1]:.2f} of those with the right one, with half of it {least:.2f} to"
    assert f"With twice the deviation its {said} {most:.2f}" in PAGE
    assert twice[0] > tells.loc["GSE-Lin, all rewards", "worst"]  # a guess that is too large is worth having
    assert len(TABLE[(TABLE["policy"] == "FC2FB of m-LinGapE") & (TABLE["pulls"] == 0)]) == 7
    assert tells["mean"].drop(list(noisy_pulls.ORACLES)).idxmax() == chosen
    sums = "Its sum there is {:.3f}, that of `gse_lin_all_rewards`, cheaper, {:.3f}"
    assert sums.format(*tells["rule"].loc[[chosen, "GSE-Lin, all rewards"]]) in PAGE


def test_recorded_shares_are_quoted_as_they_are():
    for name in ("P1-RAGE", "Peace", "OD-LinBAI"):
        first, second, _ = soare.RECORDED[name]
        assert f"{name} {first:.3f}, {second:.3f}".replace(" 0.", " .") in PAGE

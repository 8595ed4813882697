"""The page on noisy pulls has the numbers that were measured, and recommends what the rule takes."""

import pandas as pd

from benchmarks import noisy_pulls, soare
from bestarm_lab.notebooks.section import markdown_table
from bestarm_lab.paths import ROOT

PAGE = (ROOT / "docs" / "noisy_pulls.md").read_text(encoding="utf-8")
TABLE = pd.read_csv(noisy_pulls.RESULTS)
SOARE = pd.read_csv(soare.RESULTS)


def test_every_policy_that_runs_in_a_family_has_all_its_cases():
    """A policy that refuses a case has a line without pulls there."""
    lines = TABLE.groupby("family")["case"].nunique()
    assert lines.sum() == 156
    assert not TABLE.duplicated(["family", "case", "policy"]).any()
    counts = TABLE.groupby(["family", "policy"])["case"].nunique()
    assert (counts == lines.reindex(counts.index.get_level_values(0)).to_numpy()).all()


def test_the_table_is_that_of_the_runs():
    assert markdown_table(noisy_pulls.page_table(TABLE, SOARE)) in PAGE


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
    refused = TABLE[(TABLE["policy"] == "FC2FB of m-LinGapE") & (TABLE["pulls"] == 0)]
    assert len(refused) == 7
    assert tells["mean"].drop(list(noisy_pulls.ORACLES)).idxmax() == chosen
    sums = "Its sum there is {:.3f}, that of `gse_lin_all_rewards`, cheaper, {:.3f}"
    assert sums.format(*tells["rule"].loc[[chosen, "GSE-Lin, all rewards"]]) in PAGE


def test_recorded_shares_are_quoted_as_they_are():
    for name in ("P1-RAGE", "Peace", "OD-LinBAI"):
        first, second, _ = soare.RECORDED[name]
        assert f"{name} {first:.3f}, {second:.3f}".replace(" 0.", " .") in PAGE

"""Sentences and titles of the DPP-BBO notebooks that take more than their `quoted.yaml` can say."""

import re

import numpy as np
import pandas as pd
import pytest
from prose import printed, prose
from titles import titled

from bestarm_lab.claims.robustness import KINDS, summary
from bestarm_lab.paths import FIGURES
from bestarm_lab.results import committed_rows, read_robustness
from bestarm_studies.dpp_bbo.checks import floors_of
from bestarm_studies.dpp_bbo.fastxml.table import variance_shares
from bestarm_studies.dpp_bbo.theory.lemmas import independent_batch, lemma_6_4_violated
from bestarm_studies.dpp_bbo.theory.regret import two_stage_bounds
from bestarm_studies.dpp_bbo.values import RIVALS, SMALLEST, with_batches

STUDY, ESTN = "dpp_bbo", "EST (ESTn)"


def rows(name: str) -> pd.DataFrame:
    found = committed_rows(STUDY, name, "laptop")
    assert found is not None
    return found


def own_regret(name: str) -> pd.DataFrame:
    found = with_batches(rows(name))
    floor = floors_of(name)
    regret = found["immediate_regret"] + floor[found["replication"] % len(floor)]
    return found.assign(log_regret=np.log10(regret + SMALLEST))


def test_what_explains_the_grid_of_fastxml():
    shares = [f"{variance_shares(rows(f'fastxml_{name}'))['trees']:.0%}" for name in ("bibtex", "delicious")]
    assert f"explains {shares[0]} and {shares[1]} of its variance" in prose(STUDY, "06_fastxml")


def test_ranks_over_the_panels():
    lines = re.findall(r"^([A-Z][\w-]+) +([\d.]+) +(\d+) +\d+$", printed(STUDY, "08_verdicts"), re.MULTILINE)
    table = pd.DataFrame(lines, columns=["series", "mean", "first"]).set_index("series").astype(float)
    assert table["mean"].nsmallest(3).index.to_list() == ["GP-BUCB", "LP-UCB", "B-EST"]
    assert table["first"].nlargest(2).to_dict() == {"LP-UCB": 6, "B-EST": 4}
    assert table["mean"].idxmax() == "UCB-DPP-SAMPLE"
    said = "LP-UCB, which is first in six of the fourteen panels, and B-EST, first in four, follow"
    assert f"GP-BUCB has the best mean rank. {said}" in prose(STUDY, "08_verdicts")


def test_sampling_leads_in_no_panel():
    means = {}
    figures = ("1_branin", "1_hartmann", "3_cosines", "2_robot", "4_abalone", "2_bibtex", "5_delicious")
    for name in (f"fig{figure}" for figure in figures):
        for batch in (5, 10):
            table = own_regret(f"{name}_b{batch}")
            mine = table[table["series"].isin([*RIVALS, "UCB-DPP-SAMPLE", "EST-DPP-SAMPLE"])]
            means[name, batch] = mine.groupby("series")["log_regret"].mean().idxmin()
    assert len(means) == 14
    assert not any("SAMPLE" in best for best in means.values())


def test_lemmas_on_independent_arms():
    """The numbers by hand in notebook 07, and that the ledger's arms are the same ones in other units."""
    arms = np.repeat([1, 1 / 4, 1 / 400], [1, 1, 400])
    first, after, law = independent_batch(arms, 1 / 4)
    assert first == 0
    np.testing.assert_allclose((1 + 4 * after)[:3], [1.8, 2.0, 1.01])
    assert law[2:].sum() == pytest.approx(404 / 407.8)
    np.testing.assert_allclose([lemma_6_4_violated(c * arms, c / 4, 0.05) for c in (1, 4)], 404 / 407.8, atol=1e-9)
    assert "with probability $404/407.8$" in prose(STUDY, "07_theory")
    assert after[0] == pytest.approx(1 / 5)  # of the next first arm, at least, after a small arm; at most, after b


def test_what_the_bound_says_of_the_first_stage():
    bounds = two_stage_bounds(rows("theory_two_stage"))
    assert (bounds["regret"] <= bounds["bound"]).all()
    said = f"at least {(bounds['bound'] / bounds['trivial']).min():.2f} times the regret of the worst arms"
    assert said in prose(STUDY, "07_theory")


def shown(notebook: str, name: str) -> pd.DataFrame:
    return pd.read_csv(FIGURES / STUDY / notebook / f"{name}.csv")


def means(values: pd.DataFrame, column: str = "value") -> dict[str, pd.DataFrame]:
    return {panel: mine.pivot(index="x", columns="series", values=column) for panel, mine in values.groupby("panel")}


@titled(
    "dpp_bbo/03_synthetic/controls",
    "SAMPLE is nowhere clearly ahead of uniform arms; on Hartmann-6 it pays almost what random arms pay",
)
def test_controls(values: pd.DataFrame) -> bool:
    value, low, high = (means(values, c) for c in ("value", "low", "high"))
    panels = ("Branin-Hoo", "Hartmann-6", "Cosines")
    clear = any((high[p]["UCB-DPP-SAMPLE"] < low[p]["UCB-UNIFORM"]).any() for p in panels)
    paid = value["Hartmann-6, B = 5"].loc[30]
    return not clear and 0.9 * paid["random"] < paid["UCB-DPP-SAMPLE"] < paid["random"]


@titled(
    "dpp_bbo/06_fastxml/grid",
    "In our own FastXML the number of trees matters most; the cost of the logistic loss comes next",
)
def test_explained_by_trees(values: pd.DataFrame) -> bool:
    tables = [rows(f"fastxml_{name}") for name in ("bibtex", "delicious")]
    orders = [pd.Series(variance_shares(t)).sort_values(ascending=False).index[:2].to_list() for t in tables]
    spread = values.groupby(["series", "panel"])["value"].agg(lambda v: v.max() - v.min()).unstack()
    orders += [mine.nlargest(2).index.to_list() for _, mine in spread.iterrows()]
    return len(orders) == 4 and all(order == ["trees", "cost"] for order in orders)


@titled(
    "dpp_bbo/01_gp_bandits/posterior", "UCB goes where little is known, EST near the largest mean; their regions differ"
)
def test_where_bounds_go(values: pd.DataFrame) -> bool:
    """UCB where the band is among the widest hundredth; EST where the mean is among the highest tenth, near its top."""
    bands = {panel: values[(values["panel"] == panel) & (values["statistic"] == "mean")] for panel in ("UCB", ESTN)}
    arms = values[values["statistic"] == "next arm"].set_index("panel")["x"]
    bands = {panel: band.set_index("x") for panel, band in bands.items()}
    width, mean = bands["UCB"]["high"] - bands["UCB"]["low"], bands[ESTN]["value"]
    unknown = (width > width[arms["UCB"]]).mean() < 0.01 and (mean > mean[arms["UCB"]]).mean() > 0.5
    near = (mean > mean[arms[ESTN]]).mean() < 0.1 and abs(arms[ESTN] - mean.idxmax()) < 0.1
    regions = values[values["statistic"].isin(["as written", "Contal's software"])]
    inside = regions.groupby(["statistic", "panel"])["x"].agg(set).unstack()
    return bool(unknown and near and (inside["UCB"] != inside[ESTN]).all())


def places(values: pd.DataFrame, panel: str) -> list[int]:
    mine = values[(values["panel"] == panel) & (values["statistic"] == "place")]
    return mine.sort_values("value")["x"].astype(int).to_list()


def plane(values: pd.DataFrame) -> pd.DataFrame:
    """Return the coordinates of all arms of a grid of 20 by 20."""
    return pd.DataFrame(
        {k: values[values["statistic"] == f"{k} coordinate"].set_index("x")["value"] for k in ("first", "second")}
    )


def at_the_border(values: pd.DataFrame, arms: list[int]) -> int:
    mine = plane(values).loc[arms]
    return int(((mine < 0.05) | (mine > 0.95)).any(axis=1).sum())


@titled("dpp_bbo/02_batches/batches", "MAX goes to the border, SAMPLE spreads, UNIFORM lets arms fall together")
def test_six_batches(values: pd.DataFrame) -> bool:
    """Of ten arms nine of MAX are at the border; SAMPLE has no two neighbours on the grid, UNIFORM has."""
    batches = {rule: places(values, rule) for rule in ("MAX", "SAMPLE", "UNIFORM")}
    at = {rule: at_the_border(values, arms) for rule, arms in batches.items()}
    nearest = {}
    for rule, arms in batches.items():
        points = plane(values).loc[arms].to_numpy()
        nearest[rule] = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(len(arms), 1)].min()
    cell = 0.05
    return bool(
        set(map(len, batches.values())) == {10}
        and at["MAX"] >= 9 > 5 > max(at["SAMPLE"], at["UNIFORM"])
        and nearest["UNIFORM"] < 1.5 * cell < 3 * cell < nearest["SAMPLE"]
    )


@titled(
    "dpp_bbo/03_synthetic/choices",
    "Most open choices change little; ten first arms and GP-BUCB's two stages change most",
)
def test_open_choices(values: pd.DataFrame) -> bool:
    """Two thirds change less than 0.05 and not clearly; the two that are named change most in each panel."""
    changes = values[values["x"].notna()]
    little = (changes["value"].abs() < 0.05) & (changes["low"] <= 0) & (changes["high"] >= 0)
    first = changes.assign(size=changes["value"].abs()).sort_values("size", ascending=False).groupby("panel").head(3)
    most = first.groupby("panel")[["series", "x"]].agg(list)
    ten, stages = {("UCB-DPP-SAMPLE", "ten first arms"), ("UCB-DPP-MAX", "ten first arms")}, ("GP-BUCB", "two stages")
    return bool(
        little.mean() > 2 / 3
        and len(most) == 2
        and all(set(zip(line.series, line.x, strict=True)) == ten | {stages} for line in most.itertuples())
    )


def test_what_claims_become_under_open_choices():
    text, found = prose(STUDY, "03_synthetic"), read_robustness(STUDY).query("kind == 'choice'")
    table = summary(found).set_index("claim")
    for claim, said in (
        ("C1", "stands under {confirmed} of {choices} (DPP-C1)"),
        ("C22", "leads all others under {confirmed} of {choices} (DPP-C22)"),
        ("C35a", "runs confirm, stands under {confirmed} of {choices}: a smaller β, in two comparisons"),
    ):
        line = table.loc[f"DPP-{claim}"]
        assert said.format(confirmed=line["confirmed"] or "none", choices=line["choices"]) in text
    none = (table["confirmed"] == 0).sum()
    assert f"Of {len(table)} claims {none} are confirmed under none of their choices" in text

    lines = found.set_index(["claim", "choice"])
    told = lines.loc[("DPP-C35a", "β over 5")]
    assert (told["word_then"], told[["for_then", "open_then", "against_then"]].sum()) == ("confirmed", 2)
    kinds = lines[["word_then", "word"]].apply(lambda words: words.map(KINDS).fillna("open"))
    for choice, said in (
        (
            "prior mean of zero",
            "mean, {changed} of {of} claims get another of the verdicts confirmed, refuted and open, "
            "and DPP-C1 stays refuted",
        ),
        ("prior mean of zero, not centred", "are, {changed} claims get another, and DPP-C1 becomes open"),
    ):
        mine = kinds.xs(choice, level="choice")
        assert said.format(changed=(mine["word_then"] != mine["word"]).sum(), of=len(mine)) in text
        assert mine.loc["DPP-C1", "word_then"] == ("refuted" if "stays" in said else "open")
    for observed in ("mean", "reward"):
        rule = f"recommends the best observed {observed}"
        for claim in ("DPP-C35d", "DPP-C34c"):
            assert kinds.loc[(claim, rule)].to_list() == ["confirmed", "open"]

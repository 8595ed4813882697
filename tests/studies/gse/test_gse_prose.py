"""Numbers that the notebooks quote are those of the CSV files beside them."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import pytest
from prose import CODED, WRITTEN, cells_of, only_value, prose, quote

from bestarm_lab.claims.robustness import KINDS, summary
from bestarm_lab.paths import FIGURES, RESULTS
from bestarm_lab.results import published, read_robustness

VERDICTS = RESULTS / "gse" / "verdicts.csv"
quoted = partial(quote, "gse")


def accuracy(series: str, x: float, panel: str, convention: Mapping[str, str] = WRITTEN) -> dict[str, Any]:
    return {"statistic": "accuracy", "series": series, "x": x, "panel": panel, **convention}


def change(panel: str, series: str, name: str) -> dict[str, Any]:
    return {"panel": panel, "series": series, "x": name}


def tuned(series: str, setting: str) -> dict[str, Any]:
    return {"panel": "sphere", "series": series, "x": setting}


def difference(budget: int, n_arms: int) -> dict[str, Any]:
    return {"statistic": "difference", "panel": f"B = {budget}", "x": n_arms, **WRITTEN}


def stage(panel: str, n_arms: int) -> dict[str, Any]:
    return {"panel": panel, "series": "η = K", "x": n_arms}


def gap(panel: str, series: str, statistic: str = "gap") -> dict[str, Any]:
    return {"panel": panel, "series": series, "statistic": statistic}


def drawn(notebook: str, name: str, statistic: str = "accuracy") -> pd.DataFrame:
    """Return the plotted values of one statistic of a figure."""
    table = pd.read_csv(FIGURES / "gse" / notebook / f"{name}.csv")
    return table[table["statistic"] == statistic]


SEARCH = {"series": "Algorithm 2, line search", "panel": "K = 32, d = 10", "x": 1000}
LINEAR = {"panel": "linear", "series": "GSE-Lin-FWG"}
QUOTED = [
    quoted(
        "01_problem",
        "from {:.3f} at α = 0.5 to {:.3f} at α = 6.32",
        "tab_tuning",
        tuned("LinUCB", "α = 0.5"),
        tuned("LinUCB", "α = 6.32"),
    ),
    quoted("01_problem", "plain linear kernel reaches {:.3f} there", "tab_tuning", tuned("BayesGap", "linear")),
    quoted(
        "02_gse_and_designs",
        "apportionment has {:.2f} times the optimal leverage, and rounding up spends {:.1f} pulls",
        "tab_rounding",
        {"series": "apportionment", "x": 32, "statistic": "leverage"},
        {"series": "ceiling", "x": 32, "statistic": "spent"},
    ),
    quoted(
        "03_adaptive",
        "its accuracy is {:.3f}, against {:.3f} of LinUCB and {:.3f} of BayesGap-Lin",
        "fig02",
        *(accuracy(series, 16, "B/K = 50") for series in ("GSE-Lin-FWG", "LinUCB", "BayesGap-Lin")),
    ),
    quoted(
        "03_adaptive",
        "GSE-Lin-FWG has {:.3f}, LinUCB {:.3f} and BayesGap-Lin {:.3f}",
        "fig02",
        *(accuracy(series, 16, "B/K = 50", CODED) for series in ("GSE-Lin-FWG", "LinUCB", "BayesGap-Lin")),
    ),
    quoted(
        "03_adaptive",
        "With 16 arms and 50 pulls per arm keeping the rewards raises the accuracy from {:.3f} to {:.3f}",
        "fig02_kept",
        *(accuracy(f"GSE-Lin{kept}", 16, "B/K = 50") for kept in ("", " | rewards kept")),
    ),
    quoted(
        "03_adaptive",
        "changes the accuracy of GSE-Lin by {:.3f} with 16 arms and 50 pulls per arm",
        "fig02_kept",
        {"statistic": "difference", "x": 16, "panel": "B/K = 50", **WRITTEN},
    ),
    quoted(
        "07_real_data",
        "Sequential halving, which sees no features, has {:.3f} with 16 cars and 20 pulls per arm",
        "tab05",
        accuracy("Sequential halving", 16, "fig5a, B/K = 20"),
    ),
    quoted(
        "10_paper_against_code",
        "by {:.3f} if it keeps the rewards of all stages",
        "../03_adaptive/fig02_kept",
        {"statistic": "difference", "x": 16, "panel": "B/K = 50", **WRITTEN},
    ),
    quoted(
        "04_static",
        "the best of them has an accuracy of {:.3f} at Δ = 0.3",
        "fig01",
        accuracy("LinUCB", 0.3, "variance 10"),
    ),
    quoted(
        "04_static",
        "at Δ = 1 GSE-Lin-FWG has {:.3f}, LinUCB {:.3f} and BayesGap-exp {:.3f}",
        "fig01",
        *(accuracy(series, 1, "variance 10") for series in ("GSE-Lin-FWG", "LinUCB", "BayesGap-exp")),
    ),
    quoted(
        "04_static",
        "GSE-Lin-FWG is ahead of both with {:.3f}",
        "fig01",
        accuracy("GSE-Lin-FWG", 1, "variance 10", CODED),
    ),
    quoted(
        "05_randomised",
        "GSE-Lin-FWG has an accuracy of {:.3f}, LinGapE-Greedy {:.3f} and BayesGap-Lin {:.3f}",
        "fig03",
        *(accuracy(series, 32, "B/K = 50") for series in ("GSE-Lin-FWG", "LinGapE-Greedy", "BayesGap-Lin")),
    ),
    quoted(
        "05_randomised",
        "at 50 pulls per arm it rises from {:.3f} to {:.3f}",
        "fig03",
        accuracy("LinGapE", 8, "B/K = 50"),
        accuracy("LinGapE", 128, "B/K = 50"),
    ),
    quoted(
        "05_randomised",
        "With the rewards of all stages GSE-Lin-FWG would have {:.3f}",
        "fig03",
        accuracy("GSE-Lin-FWG | rewards kept", 32, "B/K = 50"),
    ),
    quoted(
        "06_logistic",
        "with 400 pulls and d = 5 GSE-Log-FWG has an accuracy of {:.3f}, GSE-Lin-FWG one of {:.3f}",
        "fig04",
        *(accuracy(series, 5, "B = 400") for series in ("GSE-Log-FWG", "GSE-Lin-FWG")),
    ),
    quoted("06_logistic", "it leads with {:.3f} at d = 5", "fig04", accuracy("BayesGap-M", 5, "B = 400")),
    quoted(
        "07_real_data",
        "per arm {:.3f}, where the best variant of GSE, GSE-Lin-Wynn, has {:.3f}",
        "tab05",
        accuracy("BayesGap-exp", 16, "fig5a, B/K = 20"),
        accuracy("GSE-Lin-Wynn", 16, "fig5a, B/K = 20"),
    ),
    quoted(
        "07_real_data",
        "BayesGap-exp has {:.3f} and the best variants {:.3f}",
        "tab05",
        accuracy("BayesGap-exp", 16, "fig5b_pm, B/K = 20"),
        accuracy("GSE-Lin-Wynn", 16, "fig5b_pm, B/K = 20"),
    ),
    quoted(
        "08_od_linbai",
        "{:.3f} at K = 8 and {:.3f} at K = 64",
        "fig06",
        *(difference(100, k) for k in (8, 64)),
    ),
    quoted(
        "08_od_linbai",
        "{:.3f} against {:.3f} with 24 arms",
        "fig07",
        accuracy("OD-LinBAI", 24, "B = 25"),
        accuracy("GSE-Lin-FWG", 24, "B = 25"),
    ),
    quoted(
        "09_theory",
        "with the value {:.3f}, the measured error of GSE-Lin-FWG is {:.4f}",
        "theory_bounds",
        {"statistic": "Equation 3", "x": 1600, **LINEAR},
        {"statistic": "error", "x": 1600, **LINEAR},
    ),
    quoted(
        "09_theory",
        "at 400 pulls GSE-Lin-FWG errs in {:.3f} of the runs",
        "theory_bounds",
        {"statistic": "error", "x": 400, **LINEAR},
    ),
    quoted(
        "10_paper_against_code",
        "add {:.3f} to the accuracy of GSE-Lin-FWG at K = 16",
        "tab_audit",
        change("adaptive, K = 16", "GSE-Lin-FWG", "three columns, ties by the stage before"),
    ),
    quoted(
        "10_paper_against_code",
        "rival BayesGap-Lin changes by {:.3f} by a missing power",
        "tab_audit",
        change("baselines adaptive, K = 16", "BayesGap-Lin", "H without its power"),
    ),
    quoted(
        "10_paper_against_code",
        "which changes the accuracy of GSE-Lin-FWG by {:.3f} at K = 8",
        "tab_audit",
        change("sphere, K = 8", "GSE-Lin-FWG", "dimension 4"),
    ),
    quoted(
        "11_beyond",
        "change the accuracy of GSE by {:.3f}",
        "designs",
        change("designs, K = 32", "GSE-Lin-FWG", "uniform"),
    ),
    quoted(
        "11_beyond",
        "changes it by {:.3f} on the adaptive instance",
        "eta",
        stage("adaptive instance", 32),
    ),
    quoted(
        "11_beyond",
        "by {:.3f} on random instances",
        "eta",
        stage("random instances", 32),
    ),
    quoted(
        "11_beyond",
        "it loses {} (GSE-C29)",
        "eta",
        stage("adaptive instance", 8),
        stage("adaptive instance", 32),
        form=lambda few, many: f"{-few:.2f} at K = 8 and {-many:.2f} at K = 32",
    ),
    *[
        quoted(
            "10_paper_against_code",
            "which costs three algorithms about 0.01 with 8 cars and up to {} with 16",
            "tab_audit",
            change("cars, K = 16", "GSE-Lin-FWG", "duplicates of the best are errors"),
            form=lambda costs: f"{-costs:.2f}",
        ),
        quoted(
            "10_paper_against_code",
            "GSE gains {}, although the budget of the missing stages is lost",
            "tab_audit",
            *(change(f"corner, K = {k}", "GSE-Lin-FWG", "arms rounded down") for k in (24, 6)),
            form="{:.2f} to {:.2f}",
        ),
    ],
    quoted("12_verdicts", "Over the 39 cells it is {:.3f}", "tab_gap", gap("every cell (39)", "best GSE")),
    quoted("12_verdicts", "A gap of {:.3f} is left", "tab_gap", gap("every cell (39)", "rewards kept")),
    quoted(
        "12_verdicts",
        "closes more than {:.3f} over all cells",
        "tab_gap",
        gap("every cell (39)", "uniform pulls alone", "closed"),
    ),
    quoted(
        "12_verdicts",
        "accounts for {:.3f}, the distance of BayesGap to it",
        "tab_gap",
        gap("every cell (39)", "BayesGap in its place"),
    ),
    *[
        quoted(
            notebook,
            f"{before}{{}}{after}",
            FIGURES / "gse" / "12_verdicts" / f"{table}.csv",
            gap(panel, change, "closed"),
            gap(panel, base),
            form=lambda closed, whole: f"{closed / whole:.0%}",
        )
        for notebook, before, after, table, panel, change, base in (
            ("12_verdicts", "all stages closes ", " of it", "tab_gap", "every cell (39)", "rewards kept", "best GSE"),
            ("12_verdicts", "of it, ", " on the adaptive", "tab_gap", "adaptive (15)", "rewards kept", "best GSE"),
            ("12_verdicts", "adaptive and ", " on random", "tab_gap", "random (10)", "rewards kept", "best GSE"),
            ("12_verdicts", "closes ", " of the gap", "tab_stages", "random, K to 32 (6)", "one stage", "GSE-Lin-FWG"),
        )
    ],
    quoted(
        "12_verdicts",
        "why the rest, {}, is there",
        "tab_gap",
        gap("every cell (39)", "rewards kept"),
        gap("every cell (39)", "best GSE"),
        form=lambda left, whole: f"{left / whole:.0%}",
    ),
    quoted(
        "12_verdicts",
        "widens it by {} on the adaptive instance",
        "tab_stages",
        gap("adaptive, K to 32 (9)", "one stage", "closed"),
        form=lambda closed: f"{-closed:.3f}",
    ),
    quoted(
        "12_verdicts",
        "leaves unspent is worth {:.3f} at most",
        "tab_stages",
        gap("adaptive, B/K = 20 (3)", "all of the budget", "closed"),
    ),
    quoted(
        "12_verdicts",
        "it is {} behind GSE",
        "tab_gap",
        gap("adaptive (15)", "LinGapE in its place", "closed"),
        form=lambda closed: f"{-closed:.3f}",
    ),
    quoted(
        "12_verdicts",
        "exploration loses {} on the adaptive instance with 16 arms",
        FIGURES / "gse" / "10_paper_against_code" / "tab_audit.csv",
        change("baselines adaptive, K = 16", "BayesGap-Lin", "H without its power"),
        form=lambda changed: f"{-changed:.3f}",
    ),
    quoted("12_verdicts", "As coded the share is {:.3f}", VERDICTS, {"id": "GSE-C1", **CODED}, column="effect"),
]


@pytest.mark.parametrize("quoted_number", QUOTED)
def test_quoted_numbers_are_those_of_the_figures(quoted_number):
    quoted_number.check()


def test_the_line_search_of_algorithm_2_stays_above_the_optimum():
    """Quoted as a percentage above it."""
    ratio = only_value(FIGURES / "gse" / "02_gse_and_designs" / "design_convergence.csv", SEARCH)
    assert f"its largest leverage is still {ratio - 1:.0%} above the optimum" in prose("gse", "02_gse_and_designs")


def test_the_cells_that_are_counted():
    ahead, m, *_ = cells_of(VERDICTS, "GSE-C1")
    text = prose("gse", "12_verdicts")
    assert f"best rival in {ahead} of the {m} cells that tell anything" in text
    kept, of, *_ = cells_of(VERDICTS, "GSE-C1.e")
    assert f"{kept} of the {of} cells are then within 0.02 (GSE-C1.e)" in text
    needed = pd.read_csv(VERDICTS).set_index(["id", "convention"])["needed"]
    assert f"the claim needs {needed['GSE-C1', 'as_written']:.0f}." in text
    ahead, m, *_ = cells_of(VERDICTS, "GSE-C35")
    assert f"holds in {ahead} of {m} cells (GSE-C35)" in prose("gse", "05_randomised")


WORDS = [
    ("03_adaptive", "stays undecided (GSE-C3a)", "GSE-C3a", "as_written", "undecided"),
    ("05_randomised", "is refuted (GSE-C13)", "GSE-C13", "as_written", "refuted"),
    ("05_randomised", "as coded, too, it gains on GSE", "GSE-C13", "as_coded", "refuted"),
    ("06_logistic", "where the arms share features (GSE-C16)", "GSE-C16", "as_written", "confirmed"),
    ("06_logistic", "in most cells, as the paper says (GSE-C18)", "GSE-C18", "as_written", "confirmed"),
    ("07_real_data", "is undecided there (GSE-C21)", "GSE-C21", "as_written", "undecided"),
    ("07_real_data", "is at the margin (GSE-C21.a)", "GSE-C21.a", "as_written", "at the margin"),
    ("07_real_data", "is refuted (GSE-C22)", "GSE-C22", "as_written", "refuted"),
    ("08_od_linbai", "is at the margin (GSE-C24.a)", "GSE-C24.a", "as_written", "at the margin"),
    ("08_od_linbai", "(GSE-C23 is undecided)", "GSE-C23", "as_written", "undecided"),
    ("09_theory", "by far more (GSE-T17)", "GSE-T17", "as_written", "refuted"),
    ("11_beyond", "0.14 at K = 32 (GSE-C29)", "GSE-C29", "as_written", "confirmed"),
    ("11_beyond", "is undecided, since η = 3 comes close (GSE-C29b)", "GSE-C29b", "as_written", "undecided"),
    ("11_beyond", "cannot tell from that of GSE (GSE-C14)", "GSE-C14", "as_written", "undecided"),
    ("12_verdicts", "refuted against BayesGap (GSE-C36a)", "GSE-C36a", "as_written", "refuted"),
    ("12_verdicts", "and undecided against Peace and OD-LinBAI (GSE-C36b", "GSE-C36b", "as_written", "undecided"),
    ("12_verdicts", "and OD-LinBAI (GSE-C36b and GSE-C36c)", "GSE-C36c", "as_written", "undecided"),
    ("12_verdicts", "the constant of Equation 3 (GSE-T5)", "GSE-T5", "as_written", "refuted"),
]


@pytest.mark.parametrize(("notebook", "words", "identity", "convention", "verdict"), WORDS)
def test_words_about_claims_are_those_of_the_verdicts(notebook, words, identity, convention, verdict):
    assert words in prose("gse", notebook)
    assert pd.read_csv(VERDICTS).set_index(["id", "convention"]).loc[(identity, convention), "verdict"] == verdict


def test_claims_that_are_counted_over_the_paper():
    table = pd.read_csv(VERDICTS)
    theirs = table[table["ours"].isna()]
    both = theirs.pivot(index="id", columns="convention", values="verdict")
    held = both.index[(both == "confirmed").all(axis=1)]
    assert len(held) == 7
    assert "GSE-C25" in held
    theory = theirs[theirs["id"].str.fullmatch(r"GSE-T\d+")]["verdict"].value_counts()
    text = prose("gse", "12_verdicts")
    assert "Seven claims of the paper are confirmed under both conventions" in text
    counts = (
        f"{theory.sum()} statements of its theory {theory['confirmed']} are confirmed and {theory['refuted']} refuted"
    )
    assert counts in text


def test_a_rank_is_that_of_the_figures():
    """Titles and sentences that say who is first, in how many cells, or between which numbers."""
    kept = drawn("03_adaptive", "fig02_kept", "difference")
    clear = (kept["low"] > 0).sum()
    assert (kept["value"] > 0).all()
    assert f"positive in all {len(kept)} cells and clear in {clear}" in prose("gse", "03_adaptive")
    assert kept.loc[kept["low"] <= 0, "x"].tolist() == [128, 128]

    regret = drawn("03_adaptive", "tab02_regret", "simple regret").query("convention == 'as_written'")
    regret = regret.pivot(index=["panel", "x"], columns="series", values="value")
    assert (regret.idxmin(axis=1) == "BayesGap-exp").all()
    assert (regret["GSE-Lin"] < regret["LinUCB"]).drop("B/K = 50").all()
    assert "As written BayesGap-exp has the lowest regret in every cell" in prose("gse", "03_adaptive")

    random = drawn("05_randomised", "fig03").query(
        "convention == 'as_written' and not series.str.contains('|', regex=False)"
    )
    best = random.loc[random.groupby(["panel", "x"])["value"].idxmax(), "series"]
    assert not best.str.startswith("GSE").any()
    assert "no form of GSE is the most accurate algorithm in any cell" in prose("gse", "05_randomised")

    real = drawn("07_real_data", "tab05").query(
        "convention == 'as_written' and not series.str.contains('|', regex=False)"
    )
    cars = real[real["panel"].str.startswith("fig5a,")]
    cells = cars.pivot(index=["panel", "x"], columns="series", values="value")
    assert (cells.idxmax(axis=1) == "BayesGap-exp").all()
    assert len(cells) == 6
    gse = cells[[name for name in cells if name.startswith("GSE")]].max(axis=1)
    assert (gse > cells[["LinUCB", "LinGapE", "LinGapE-Greedy"]].max(axis=1)).all()
    assert "in all six cells of the cars" in prose("gse", "07_real_data")

    motor = real[~real["panel"].str.startswith("fig5a,")].pivot(index=["panel", "x"], columns="series", values="value")
    assert motor.idxmax(axis=1).isin(["BayesGap-exp", "BayesGap-Lin"]).all()
    forms = motor[[name for name in motor if name.startswith("GSE")]].max(axis=1)
    speed = motor.index.get_level_values("panel").str.startswith("fig5b,")
    assert (motor[["BayesGap-exp", "BayesGap-Lin"]].min(axis=1) > forms)[speed].all()

    scale = drawn("06_logistic", "tab04_scale")
    best = scale.loc[scale.groupby(["panel", "x"])["value"].idxmax(), "series"]
    assert (best == "BayesGap-M").all()
    assert "BayesGap-M stays on top in every column" in prose("gse", "06_logistic")


def test_numbers_of_intervals_that_are_quoted():
    designs = drawn("11_beyond", "designs")
    changes = designs[designs["x"].notna()]
    clear = int(((changes["low"] > 0) | (changes["high"] < 0)).sum())
    text = prose("gse", "11_beyond")
    assert (
        f"all within {changes['value'].abs().max():.3f} of the reference, and of the {len(changes)} intervals" in text
    )
    assert (clear, "one excludes 0" in text) == (1, True)
    per_arm = drawn("08_od_linbai", "tab07_per_arm", "difference").query("convention == 'as_written'")
    text = prose("gse", "08_od_linbai")
    assert f"differ by at most {per_arm['value'].abs().max():.3f}" in text
    shares = drawn("08_od_linbai", "tab07_per_arm").query("convention == 'as_written'")
    shares = shares[~shares["panel"].str.startswith("corner")]["value"]
    assert f"find the best arm in {shares.min():.0%} of the runs or more" in text
    differences = drawn("08_od_linbai", "fig06", "difference").query("convention == 'as_written'")
    small = differences.set_index(["panel", "x"])
    assert small.loc["B = 200", "value"].abs().max() < 0.02
    assert (small.loc["B = 500"].loc[[32, 64], "high"] < 0).all()
    assert (small.loc["B = 500"].loc[[8, 16], "high"] > 0).all()
    times = pd.read_csv(FIGURES / "gse" / "11_beyond" / "tab_growth.csv").query("series != 'GSE-Lin-Greedy'")
    assert times["value"].max() < 4
    assert "stays below 4 microseconds" in prose("gse", "11_beyond")


def test_what_leads_with_less_noise():
    """Said of rows that no figure shows."""
    rows = published("gse", "fig1_unit")[1]
    mine = rows[(rows["gap"] == 0.3) & ~rows["series"].str.contains("|", regex=False)]
    best = mine.groupby("series")["correct"].mean().nlargest(2)
    assert set(best.index) == {"BayesGap-exp", "LinUCB"}
    assert "BayesGap-exp and LinUCB lead at Δ = 0.3" in prose("gse", "04_static")


def test_what_claims_become_under_open_choices():
    """As the text of the verdicts has it."""
    text, found = prose("gse", "12_verdicts"), read_robustness("gse").query("kind == 'choice'")
    table = summary(found).set_index("claim")
    for claim, said in (("GSE-C1", "under all {} of its choices (GSE-C1)"), ("GSE-C36a", "under all {} (GSE-C36a)")):
        assert table.loc[claim, "refuted"] == table.loc[claim, "choices"]
        assert said.format(table.loc[claim, "choices"]) in text
    assert table.loc["GSE-C1", "most"] <= 7  # the few of its cells
    none, changed = (table["confirmed"] == 0).sum(), (table["differs"] != "").sum()
    assert (
        f"Of {len(table)} claims {none} are confirmed under none of their choices, and {changed} change under" in text
    )
    kinds = found[["word_then", "word"]].apply(lambda words: words.map(KINDS).fillna("open"))
    assert found.loc[kinds["word_then"] != kinds["word"], "claim"].is_unique  # "under one"
    (newly,) = found[(kinds["word_then"] == "confirmed") & (kinds["word"] == "open")].to_dict("records")
    assert (newly["claim"], newly["choice"]) == ("GSE-C12d", "α of LinUCB by its theory")

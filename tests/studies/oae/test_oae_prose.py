"""Numbers that the notebooks quote are those of the CSV files beside them."""

from functools import partial
from typing import Any

import pytest
from prose import quote

from bestarm_lab.paths import FIGURES, RESULTS

VERDICTS = RESULTS / "oae" / "verdicts.csv"
SMALL = FIGURES / "oae" / "03_vanilla" / "fig08.csv"
HILLS = FIGURES / "oae" / "01_problem" / "tab_hills.csv"
LINES = FIGURES / "oae" / "02_fits" / "fig13.csv"
TABLES = FIGURES / "oae" / "02_fits" / "fig16.csv"
ENSEMBLES = FIGURES / "oae" / "04_ensembles" / "fig11.csv"
MAXOPT, HINGE = (FIGURES / "oae" / "04_ensembles" / f"{name}.csv" for name in ("fig29", "fig31"))
SMALL_MAXOPT, SMALL_HINGE = (FIGURES / "oae" / "04_ensembles" / f"{name}.csv" for name in ("fig28", "fig30"))
WIDER_SEQUENCE = FIGURES / "oae" / "08_sequential" / "fig24.csv"
BICYCLES, POSTS = (FIGURES / "oae" / "08_sequential" / f"{name}.csv" for name in ("fig27", "fig34"))
TABLES_FOUND = FIGURES / "oae" / "05_uci" / "fig14.csv"
UCI = FIGURES / "oae" / "05_uci" / "tab_uci.csv"
OBJECTIVES = FIGURES / "oae" / "05_uci" / "fig33.csv"
HARDEST = {"panel": "BikeSharingHour", "x": 0.002, "statistic": "batches"}
HINGED = {"panel": "BikeSharingDay, HingePNorm", "x": 0.002, "statistic": "batches"}
HOUR_LINEAR = "BikeSharingHour, linear"
HOURS = "BikeSharingHour, fitted"
FITTED = FIGURES / "oae" / "06_realizable" / "tab_fitted.csv"
SEQUENCE = FIGURES / "oae" / "08_sequential" / "fig26.csv"
WIDER, WIDEST = (FIGURES / "oae" / "03_vanilla" / f"{name}.csv" for name in ("fig09", "fig10"))
EXPONENTS = FIGURES / "oae" / "10_theory" / "tab_exponents.csv"
BONUS = FIGURES / "oae" / "10_theory" / "tab_bonus.csv"
OPEN = FIGURES / "oae" / "09_open_choices" / "tab_open.csv"
DESIGN = FIGURES / "oae" / "09_open_choices" / "open_design.csv"
POSITIONS = FIGURES / "oae" / "07_diversity" / "tab_diversity.csv"
LAW = "RandomBatch, exact law"


def batches(panel: str, series: str) -> dict[str, Any]:
    return {"panel": panel, "series": series, "x": 0.01, "statistic": "batches"}


def misfit(panel: str, series: str) -> dict[str, Any]:
    return {"panel": panel, "series": series, "x": 5000}


def confirmed_in_draws(claim: str) -> dict[str, Any]:
    return {"panel": claim, "series": "confirmed", "statistic": "readings"}


FOUND_BY_50 = {"panel": "MultiValleyOneDim", "series": "MeanOpt 0.1", "x": 50, "statistic": "share found"}
GREEDY_BY_50 = FOUND_BY_50 | {"series": "Greedy"}
HILL, HILL_HOLE = "OneHillValleyOneDim", "OneHillValleyOneDimHole"
FOUR, HOLE = "MultiValleyOneDim", "MultiValleyOneDimHole"
STRONG, STRONG_HOLE, GREEDY = batches(FOUR, "MeanOpt 0.1"), batches(HOLE, "MeanOpt 0.1"), batches(FOUR, "Greedy")
PLAIN_IN_B, LABELS_IN_B = ({"panel": "clones", "series": series, "x": "b"} for series in ("Vanilla", "Seq"))
DAY, BLOGS = "BikeSharingDay", "BlogFeedback"
EXPLOITING = {"series": "exploiting", "statistic": "best tenth"}

quoted = partial(quote, "oae")
QUOTED = [
    quoted("01_problem", "λ = 0.1 needs {:.0f} batches, the greedy", SMALL, STRONG),
    quoted("01_problem", "the greedy search {:.0f} (notebook", SMALL, GREEDY),
    quoted("01_problem", "with a larger network {:.0f} and 86", WIDER, STRONG),
    quoted("01_problem", "network 18 and {:.0f}.", WIDER, GREEDY),
    quoted("01_problem", "after 45 batches {:.0f} runs of 25", HILLS, {"series": "4 of 4 hills", "x": 45}),
    quoted("01_problem", "and {:.0f} had on three", HILLS, {"series": "3 of 4 hills", "x": 45}),
    quoted("02_fits", "training error is still {:.2f} of the variance", LINES, misfit(FOUR, "NN 10-5")),
    quoted("02_fits", "where NN 300-100 reaches {:.3f}.", LINES, misfit(FOUR, "NN 300-100")),
    quoted("02_fits", "linear class stops at {:.2f} and", TABLES, misfit(DAY, "linear")),
    quoted("02_fits", "NN 100-10 goes on to {:.2f}.", TABLES, misfit(DAY, "NN 100-10")),
    quoted("03_vanilla", "needs {:.1f} batches where Greedy needs 45.7", SMALL, STRONG),
    quoted("03_vanilla", "where Greedy needs {:.1f}, and with NN 100-10", SMALL, GREEDY),
    quoted("03_vanilla", "NN 100-10 it needs {:.1f} where", WIDER, STRONG),
    quoted("03_vanilla", "with the hole {:.1f} where Greedy needs 94", WIDER, STRONG_HOLE),
    quoted("03_vanilla", "50.1 and {:.1f} batches where chance", WIDER, STRONG_HOLE),
    quoted("03_vanilla", "where Greedy needs {:.1f}. MeanOpt is ahead", WIDER, GREEDY),
    quoted("03_vanilla", "λ = 0.1 needs {:.1f} batches where Greedy needs 97.6", WIDEST, STRONG),
    quoted("03_vanilla", "with the hole {:.1f} where Greedy needs 97.9", WIDEST, STRONG_HOLE),
    quoted("03_vanilla", "with NN 10-5 and NN 100-10, {:.1f} and", SMALL, STRONG_HOLE),
    quoted("03_vanilla", "batches where chance needs {:.1f}, and with NN 300-100", SMALL, batches(HOLE, LAW)),
    quoted("03_vanilla", "needs {:.0f} batches where Greedy needs 46", SMALL, STRONG),
    quoted("03_vanilla", "With the hole MeanOpt needs {:.0f} and", SMALL, STRONG_HOLE),
    quoted("03_vanilla", "and Greedy {:.0f}, but random", SMALL, batches(HOLE, "Greedy")),
    quoted("04_ensembles", "ensemble needs {:.1f} batches on one", ENSEMBLES, batches(HILL, "Ensemble")),
    quoted("04_ensembles", "MeanOpt with λ = 0.1 needs {:.1f} where", ENSEMBLES, STRONG),
    quoted("04_ensembles", "where the ensemble needs {:.1f}. All", ENSEMBLES, batches(FOUR, "Ensemble")),
    quoted("04_ensembles", "All {:.0f} of the 6 comparisons", VERDICTS, {"id": "OAE-C37"}, column="for"),
    quoted("04_ensembles", "MaxOpt needs {:.0f} batches on four hills and", SMALL_MAXOPT, batches(FOUR, "MaxOpt 0.1")),
    quoted("04_ensembles", "four hills and {:.0f} with a hole, MeanOpt 22", SMALL_MAXOPT, batches(HOLE, "MaxOpt 0.1")),
    quoted("04_ensembles", "λ = 0.1 it needs {:.0f} batches on four hills", SMALL_MAXOPT, batches(FOUR, "MaxOpt 0.1")),
    quoted("04_ensembles", "where MeanOpt needs {:.0f}, with", SMALL, STRONG),
    quoted("04_ensembles", "with NN 100-10 {:.1f} batches, where", MAXOPT, batches(FOUR, "MaxOpt 0.1")),
    quoted("04_ensembles", "in the same runs ({:.1f} in 100)", WIDER, batches(FOUR, "MeanOpt 0.1")),
    quoted("04_ensembles", "it needs {:.0f} to 87 batches with", SMALL_HINGE, batches(HILL_HOLE, "HingePNorm 0.1")),
    quoted("04_ensembles", "76 to {:.0f} batches with", SMALL_HINGE, batches(FOUR, "HingePNorm 0.1")),
    quoted("04_ensembles", "NN 10-5 and {:.0f} to 136", HINGE, batches(HOLE, "HingePNorm 0.1")),
    quoted("04_ensembles", "to {:.0f} with NN 100-10, where chance", HINGE, batches(HILL, "HingePNorm 0.1")),
    quoted("05_uci", "Greedy needs {:.1f} batches and the", UCI, batches(DAY, "Greedy")),
    quoted("05_uci", "the plain ensemble {:.1f} where", UCI, batches(DAY, "Ensemble")),
    quoted("05_uci", "where chance needs {:.1f}. MeanOpt", UCI, batches(DAY, LAW)),
    quoted("05_uci", "weakest optimism needs {:.1f} and", UCI, batches(DAY, "MeanOpt 0.001")),
    quoted("05_uci", "with the strongest {:.1f}. On BikeSharingHour", UCI, batches(DAY, "MeanOpt 0.1")),
    quoted("05_uci", "On BikeSharingHour λ = 0.1 needs {:.1f} where", UCI, batches("BikeSharingHour", "MeanOpt 0.1")),
    quoted("05_uci", "where chance needs {:.1f}. On blog", UCI, batches("BikeSharingHour", LAW)),
    quoted("05_uci", "easy for all, {:.1f} batches with", UCI, batches(BLOGS, "MeanOpt 0.001")),
    quoted("05_uci", "λ = 0.001 and {:.1f} with 0.1. Of", UCI, batches(BLOGS, "MeanOpt 0.1")),
    quoted("05_uci", "finds one in {:.1f} where", TABLES_FOUND, batches(BLOGS, "MeanOpt 0.1") | {"x": 0.002}),
    quoted("05_uci", "λ = 0.001 needs {:.1f}. That", TABLES_FOUND, batches(BLOGS, "MeanOpt 0.001") | {"x": 0.002}),
    quoted("05_uci", "the ensemble finds one in {:.1f}", TABLES_FOUND, batches(BLOGS, "Ensemble") | {"x": 0.002}),
    quoted("05_uci", "top 1% in {:.1f} batches with λ = 0.01, far", UCI, batches(DAY, "HingePNorm 0.01")),
    quoted("05_uci", "in 5.1 to {:.1f} batches, where MeanOpt", UCI, batches(DAY, "HingePNorm 0.001")),
    quoted(
        "05_uci",
        "MaxOpt with λ = 0.1 needs {:.1f} batches where chance needs 33.0",
        UCI,
        batches("BikeSharingHour", "MaxOpt 0.1"),
    ),
    quoted("05_uci", "λ = 0.1 needs {:.1f} batches and λ = 0.001", UCI, batches(HOUR_LINEAR, "MeanOpt 0.1")),
    quoted("05_uci", "batches and λ = 0.001 {:.1f}. Of the", UCI, batches(HOUR_LINEAR, "MeanOpt 0.001")),
    quoted("05_uci", "λ = 0.001 29.4, Greedy {:.1f} and chance", UCI, batches(HOUR_LINEAR, "Greedy")),
    quoted("05_uci", "noisy ensemble needs {:.1f} batches and the", UCI, batches(HOUR_LINEAR, "EnsembleNoiseY")),
    quoted("05_uci", "the plain one {:.1f}, where", UCI, batches(HOUR_LINEAR, "Ensemble")),
    quoted("05_uci", "weak optimism finds one in {:.1f} batches", TABLES_FOUND, HARDEST | {"series": "MeanOpt 0.001"}),
    quoted("05_uci", "47.6 batches where chance needs {:.1f}.", TABLES_FOUND, HARDEST | {"series": LAW}),
    quoted("05_uci", "Greedy in {:.1f} and chance in 99.4", TABLES_FOUND, batches(BLOGS, "Greedy") | {"x": 0.002}),
    quoted("05_uci", "0.2% it finds only after {:.1f} to", OBJECTIVES, HINGED | {"series": "HingePNorm 0.001"}),
    quoted("05_uci", "after 45.5 to {:.1f} batches, MeanOpt", OBJECTIVES, HINGED | {"series": "HingePNorm 0.1"}),
    quoted("05_uci", "MeanOpt after {:.1f} to", TABLES_FOUND, batches(DAY, "MeanOpt 0.001") | {"x": 0.002}),
    quoted("05_uci", "after 28.2 to {:.1f}.", TABLES_FOUND, batches(DAY, "MeanOpt 0.1") | {"x": 0.002}),
    quoted("05_uci", "chance in {:.1f}.", TABLES_FOUND, batches(BLOGS, LAW) | {"x": 0.002}),
    quoted("06_realizable", "on Adult Greedy needs {:.1f} batches", FITTED, batches("Adult, fitted", "Greedy")),
    quoted("06_realizable", "MeanOpt with λ = 0.1 {:.1f}, and", FITTED, batches("Adult, fitted", "MeanOpt 0.1")),
    quoted("06_realizable", "on BikeSharingDay {:.1f} against", FITTED, batches("BikeSharingDay, fitted", "Greedy")),
    quoted("06_realizable", "9.6 against {:.1f}.", FITTED, batches("BikeSharingDay, fitted", "MeanOpt 0.1")),
    quoted("06_realizable", "Greedy {:.1f} batches where chance needs", FITTED, batches("Bank, fitted", "Greedy")),
    quoted("06_realizable", "needs {:.1f} batches in the mean", FITTED, batches(HOURS, "Greedy")),
    quoted("06_realizable", "top arm in {:.0f} of 100", FITTED, batches(HOURS, "Greedy") | {"statistic": "censored"}),
    quoted("06_realizable", "and the mean is {:.1f}, about that", FITTED, batches(HOURS, "MeanOpt 0.001")),
    quoted("06_realizable", "they need {:.1f} and 20.8", FITTED, batches("BikeSharingDay, fitted", "Ensemble")),
    quoted("06_realizable", "and {:.1f} batches, Greedy", FITTED, batches("BikeSharingDay, fitted", "EnsembleNoiseY")),
    quoted("06_realizable", "batches where chance needs {:.1f}: of three", FITTED, batches("Bank, fitted", LAW)),
    quoted("07_diversity", "in {:.1f} batches, where MeanOpt", POSITIONS, batches(HOLE, "DetD 0.1 | rbf")),
    quoted("07_diversity", "where MeanOpt needs {:.1f} in the same", POSITIONS, batches(HOLE, "MeanOpt 0.1")),
    quoted("08_sequential", "SeqB with λ = 0.01 needs {:.1f} batches", SEQUENCE, batches(HILL, "SeqB 0.01")),
    quoted("08_sequential", "where MeanOpt needs {:.1f}, and", SEQUENCE, batches(HILL, "MeanOpt 0.01")),
    quoted("08_sequential", "λ = 0.1 needs {:.1f} where MeanOpt", SEQUENCE, batches(FOUR, "SeqB 0.1")),
    quoted("08_sequential", "where MeanOpt needs {:.1f}. They", SEQUENCE, STRONG),
    quoted("08_sequential", "takes {:.1f} batches, as many", SEQUENCE, batches(HOLE, "SeqB 0.1")),
    quoted("08_sequential", "as random ones ({:.1f})", SEQUENCE, batches(HOLE, LAW)),
    quoted("08_sequential", "With NN 100-10 it takes {:.1f}, half", WIDER_SEQUENCE, batches(HOLE, "SeqB 0.1")),
    quoted("08_sequential", "where MeanOpt takes {:.1f}: of the", WIDER_SEQUENCE, batches(HOLE, "MeanOpt 0.1")),
    quoted(
        "08_sequential",
        "on BikeSharingHour, {:.1f} batches and without",
        BICYCLES,
        batches("BikeSharingHour", "Ensemble-SeqB"),
    ),
    quoted("08_sequential", "and without them {:.1f} where chance", BICYCLES, batches("BikeSharingHour", "Ensemble")),
    quoted("08_sequential", "SeqB needs {:.1f} to 10.6 batches", POSTS, batches(BLOGS, "SeqB 0.001")),
    quoted("08_sequential", "SeqB needs 7.1 to {:.1f} batches", POSTS, batches(BLOGS, "SeqB 0.01")),
    quoted("08_sequential", "needs {:.1f} to 6.4, which 25", POSTS, batches(BLOGS, "MeanOpt 0.001")),
    quoted("08_sequential", "needs 4.1 to {:.1f}, which 25", POSTS, batches(BLOGS, "MeanOpt 0.1")),
    quoted("09_open_choices", "(C27) in {:.0f} of 180 readings", DESIGN, confirmed_in_draws("OAE-C27")),
    quoted("09_open_choices", "on four hills (C31) in {:.0f},", DESIGN, confirmed_in_draws("OAE-C31")),
    quoted("09_open_choices", "on all sets (C32) in {:.0f}.", DESIGN, confirmed_in_draws("OAE-C32")),
    quoted("09_open_choices", "in {} of 100 runs", SMALL, FOUND_BY_50, form=lambda share: f"{100 * share:.0f}"),
    quoted("09_open_choices", "and Greedy in {}.", SMALL, GREEDY_BY_50, form=lambda share: f"{100 * share:.0f}"),
    quoted("09_open_choices", "needs {:.1f} batches, and 29.2", OPEN, batches(f"random biases: {FOUR}", "MeanOpt 0.1")),
    quoted("09_open_choices", "and {:.1f} with the hole", OPEN, batches(f"random biases: {HOLE}", "MeanOpt 0.1")),
    quoted("09_open_choices", "up to {:.2f} times the batches (OAE-B1b)", VERDICTS, {"id": "OAE-B1b"}, column="effect"),
    quoted("09_open_choices", "the largest of the ratios is {:.2f} [", VERDICTS, {"id": "OAE-B1"}, column="effect"),
    quoted("10_theory", "vanilla OAE has the exponent {:.2f} in b", EXPONENTS, PLAIN_IN_B),
    quoted("10_theory", "that of virtual labels {:.2f}:", EXPONENTS, LABELS_IN_B),
    quoted("10_theory", "after exploiting queries {:.0%} of the best tenth", BONUS, EXPLOITING),
    quoted("16_verdicts", "MeanOpt with λ = 0.1 needs {:.1f} batches and", SMALL, STRONG),
    quoted("16_verdicts", "batches and Greedy {:.1f} with", SMALL, GREEDY),
]


@pytest.mark.parametrize("quoted_number", QUOTED)
def test_quoted_numbers_are_those_of_the_figures(quoted_number):
    quoted_number.check()

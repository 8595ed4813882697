"""Numbers in the notebooks' prose are those of the figures and tables beside them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from prose import WRITTEN, quote

from bestarm_lab.paths import FIGURES

LINGAPE, LUCB, RATIO = "m-LinGapE (greedy)", "LUCB (largest var.)", "ratio of means"


def quoted(notebook: str, fragment: str, file: str, *lines: Mapping[str, Any], **how: Any) -> Any:
    """Return a quote of means as written, where a line does not name another number."""
    return quote("linear_topm", notebook, fragment, file, *({"statistic": "mean"} | WRITTEN | x for x in lines), **how)


def in_figure_1(panel, series):
    return {"panel": panel, "series": series}


def growth(series):
    return [{"panel": panel, "series": series} for panel in "ba"]


def ratio(over, under):
    return f"{over / under:.1f}"


def real(series, statistic, panel):
    return {"panel": panel, "series": series, "statistic": statistic, "x": "103 artists,\ntrue"}


def counts(verdict):
    return {"series": "as written (paper's text)", "statistic": verdict}


ONE, TWO, THREE, FOUR = "01_main_results", "02_classic_instances", "03_random_instances", "04_complexity_constants"
FIVE, SIX, SEVEN, EIGHT = "05_drug_simulator", "06_paper_against_code", "07_theory", "08_beyond"
SEPARATION = {"panel": "separation", "series": "the ten drugs of the paper"}
STALE = {"panel": "1(b)", "series": LINGAPE, "x": "stale pair", "statistic": "error rate"}
TEN_OF_FIVE = {"series": "K=10, m=4, N=5", "statistic": "frequency"}

QUOTED = [
    quoted(ONE, "of LUCB's pulls on the classic instance ({:.0f} against", "fig01", in_figure_1("a", LINGAPE)),
    quoted(ONE, "on the classic instance (3048 against {:.0f})", "fig01", in_figure_1("a", LUCB)),
    quoted(ONE, "on instance (b) it needs {:.0f} pulls", "fig01", in_figure_1("b", "LinGame")),
    quoted(ONE, "a third of the {:.0f} of m-LinGapE", "fig01", in_figure_1("b", LINGAPE)),
    quoted(TWO, "grows by a factor of {} as written", "fig02", *growth(LINGAPE), form=ratio),
    quoted(TWO, "that of LUCB by {}, where", "fig02", *growth(LUCB), form=ratio),
    quoted(
        TWO,
        "the gap to the power {}, close",
        "tab_growth",
        {"series": LINGAPE, "statistic": "growth exponent"},
        form=lambda slope: f"−{-slope:.2f}",
    ),
    quoted(THREE, "are alike for m = 3 ({:.0f} and", "fig03", in_figure_1("m = 3", "m-LinGapE (optimized)")),
    quoted(
        THREE, "are alike for m = 3 (1092 and {:.0f} pulls", "fig03", in_figure_1("m = 3", "LinGIFA (largest var.)")
    ),
    quoted(THREE, "as written ({:.0f} against", "fig03", in_figure_1("m = 8", "m-LinGapE (optimized)")),
    quoted(THREE, "(12588 against {:.0f})", "fig03", in_figure_1("m = 8", "LinGIFA (largest var.)")),
    quoted(FOUR, "holds on {:.1%} of the smallest", "tab04", TEN_OF_FIVE | {"convention": "as_coded"}),
    quoted(FOUR, "holds on {:.1%} of all instances", "tab04", TEN_OF_FIVE),
    quoted(FIVE, "mean score of AE drugs {:.3f} above", "fig05", SEPARATION | {"convention": "as_coded"}),
    quoted(FIVE, "the difference is {:.3f} on average", "fig05", SEPARATION),
    quoted(FIVE, "on average and never above {:.3f}.", "fig05", SEPARATION | {"statistic": "maximum"}),
    quoted(SIX, "the stale pair alone makes {:.1%} of", "fig_audit_deviations", STALE),
    quoted(
        SIX,
        "multiplies the pulls of LinGame by {:.2f}.",
        "fig_audit_lingame_alone",
        {"series": "LinGame", "x": "without 1/σ²", "statistic": RATIO},
    ),
    quoted(
        SEVEN,
        "it is {:.1f} times the pulls",
        "theory_bound",
        {"panel": "theory_classic", "series": "m-LinGapE (largest var.)", "statistic": "mean slack"},
    ),
    quoted(
        SEVEN,
        "loses the event in {:.1%} of the runs",
        "theory_event",
        {"panel": "classic, heuristic", "series": LINGAPE, "statistic": "event failed"},
    ),
    quoted(
        EIGHT,
        "m-LinGapE (greedy) needs {:.0f} pulls where",
        "beyond_growth",
        {"panel": "b", "series": LINGAPE, "x": 100},
    ),
    quoted(EIGHT, "where LUCB needs {:.0f}.", "beyond_growth", {"panel": "b", "series": LUCB, "x": 100}),
    quoted(EIGHT, "stops after {:.0f} pulls with", "beyond_real", real(LINGAPE, "mean", "c")),
    quoted(EIGHT, "with a loss of {:.3f}, and", "beyond_real", real(LINGAPE, "mean loss", "b")),
    quoted(EIGHT, "after {:.0f} pulls with one of", "beyond_real", real(LUCB, "mean", "c")),
    quoted(EIGHT, "pulls with one of {:.3f}.", "beyond_real", real(LUCB, "mean loss", "b")),
    quoted("09_verdicts", "As written, {:.0f} of the paper's 34 claims", "tab_counts", counts("confirmed")),
    quoted("09_verdicts", "34 claims are confirmed and {:.0f} are refuted", "tab_counts", counts("refuted")),
]


@pytest.mark.parametrize("quoted_number", QUOTED)
def test_quoted_numbers_are_those_of_the_figures(quoted_number):
    quoted_number.check()


def test_all_claims_of_the_paper_are_counted():
    table = pd.read_csv(FIGURES / "linear_topm" / "09_verdicts" / "tab_counts.csv")
    assert table.loc[table["series"].str.startswith("as written"), "value"].sum() == 34

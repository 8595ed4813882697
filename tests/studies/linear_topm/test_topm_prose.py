"""Numbers in the notebooks' prose are those of the figures and tables beside them."""

import json
import re
from typing import Any, NamedTuple

import pandas as pd
import pytest

from bestarm.paths import FIGURES, NOTEBOOKS

STUDY = "linear_topm"
LINGAPE, LUCB, RATIO = "m-LinGapE (greedy)", "LUCB (largest var.)", "ratio of means"


class Quote(NamedTuple):
    """A fragment of a notebook's text with a place for a number, and where the number comes from."""

    notebook: str
    fragment: str
    file: str
    where: dict[str, Any]  # one line of the file, by default a mean as written
    form: str = "{:.0f}"
    over: dict[str, Any] | None = None  # what in this line differs from the one that the number is divided by


def in_figure_1(panel, series):
    return {"panel": panel, "series": series}


def growth(series):
    return {"where": {"panel": "b", "series": series}, "over": {"panel": "a"}, "form": "{:.1f}"}


def real(series, statistic, panel):
    return {"panel": panel, "series": series, "statistic": statistic, "x": "103 artists,\ntrue"}


def counts(verdict):
    return {"series": "as written (paper's text)", "statistic": verdict}


ONE, TWO, THREE, FOUR = "01_main_results", "02_classic_instances", "03_random_instances", "04_complexity_constants"
FIVE, SIX, SEVEN, EIGHT = "05_drug_simulator", "06_paper_against_code", "07_theory", "08_beyond"
SEPARATION = {"panel": "separation", "series": "the ten drugs of the paper"}
STALE = {"panel": "1(b)", "series": LINGAPE, "x": "stale pair", "statistic": "error rate"}
TEN_OF_FIVE = {"series": "K=10, m=4, N=5", "statistic": "frequency"}

QUOTES = [
    Quote(ONE, "of LUCB's pulls on the classic instance ({} against", "fig01", in_figure_1("a", LINGAPE)),
    Quote(ONE, "on the classic instance (3048 against {})", "fig01", in_figure_1("a", LUCB)),
    Quote(ONE, "on instance (b) it needs {} pulls", "fig01", in_figure_1("b", "LinGame")),
    Quote(ONE, "a third of the {} of m-LinGapE", "fig01", in_figure_1("b", LINGAPE)),
    Quote(TWO, "grows by a factor of {} as written", "fig02", **growth(LINGAPE)),
    Quote(TWO, "that of LUCB by {}, where", "fig02", **growth(LUCB)),
    Quote(
        TWO,
        "the gap to the power {}, close",
        "tab_growth",
        {"series": LINGAPE, "statistic": "growth exponent"},
        "−{:.2f}",
    ),
    Quote(THREE, "are alike ({} and", "fig03", in_figure_1("m = 3", "m-LinGapE (optimized)")),
    Quote(THREE, "are alike (1092 and {} pulls", "fig03", in_figure_1("m = 3", "LinGIFA (largest var.)")),
    Quote(THREE, "as written ({} against", "fig03", in_figure_1("m = 8", "m-LinGapE (optimized)")),
    Quote(THREE, "(12588 against {})", "fig03", in_figure_1("m = 8", "LinGIFA (largest var.)")),
    Quote(FOUR, "holds on {} of the smallest", "tab04", TEN_OF_FIVE | {"convention": "as_coded"}, "{:.1%}"),
    Quote(FOUR, "holds on {} of all instances", "tab04", TEN_OF_FIVE, "{:.1%}"),
    Quote(FIVE, "mean score of AE drugs {} above", "fig05", SEPARATION | {"convention": "as_coded"}, "{:.3f}"),
    Quote(FIVE, "the difference is {} on average", "fig05", SEPARATION, "{:.3f}"),
    Quote(FIVE, "on average and never above {}.", "fig05", SEPARATION | {"statistic": "maximum"}, "{:.3f}"),
    Quote(SIX, "the stale pair alone makes {} of", "fig_audit_deviations", STALE, "{:.1%}"),
    Quote(
        SIX,
        "multiplies the pulls of LinGame by {}.",
        "fig_audit_lingame_alone",
        {"series": "LinGame", "x": "without 1/σ²", "statistic": RATIO},
        "{:.2f}",
    ),
    Quote(
        SEVEN,
        "it is {} times the pulls",
        "theory_bound",
        {"panel": "theory_classic", "series": "m-LinGapE (largest var.)", "statistic": "mean slack"},
        "{:.1f}",
    ),
    Quote(
        SEVEN,
        "loses the event in {} of the runs",
        "theory_event",
        {"panel": "classic, heuristic", "series": LINGAPE, "statistic": "event failed"},
        "{:.1%}",
    ),
    Quote(
        EIGHT, "m-LinGapE (greedy) needs {} pulls where", "beyond_growth", {"panel": "b", "series": LINGAPE, "x": 100}
    ),
    Quote(EIGHT, "where LUCB needs {}.", "beyond_growth", {"panel": "b", "series": LUCB, "x": 100}),
    Quote(EIGHT, "stops after {} pulls with", "beyond_real", real(LINGAPE, "mean", "c")),
    Quote(EIGHT, "with a loss of {}, and", "beyond_real", real(LINGAPE, "mean loss", "b"), "{:.3f}"),
    Quote(EIGHT, "after {} pulls with one of", "beyond_real", real(LUCB, "mean", "c")),
    Quote(EIGHT, "pulls with one of {}.", "beyond_real", real(LUCB, "mean loss", "b"), "{:.3f}"),
    Quote("09_verdicts", "As written, {} of the paper's 34 claims", "tab_counts", counts("confirmed")),
    Quote("09_verdicts", "34 claims are confirmed and {} are refuted", "tab_counts", counts("refuted")),
]


def text_of(notebook):
    cells = json.loads((NOTEBOOKS / STUDY / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    return " ".join(re.sub(r"\s+", " ", "".join(c["source"])) for c in cells if c["cell_type"] == "markdown")


def number(notebook, file, where):
    """Return the value of one line of a CSV."""
    table = pd.read_csv(FIGURES / STUDY / notebook / f"{file}.csv")
    for column, value in ({"statistic": "mean", "convention": "as_written"} | where).items():
        table = table[table[column] == value]
    assert len(table) == 1, f"{len(table)} lines of {file}.csv for {where}"
    return abs(float(table["value"].iloc[0]))


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.notebook[:2]} {quote.fragment}")
def test_a_quoted_number_is_that_of_the_csv(quote):
    value = number(quote.notebook, quote.file, quote.where)
    if quote.over is not None:
        value /= number(quote.notebook, quote.file, quote.where | quote.over)
    assert quote.fragment.format(quote.form.format(value)) in text_of(quote.notebook)


def test_all_claims_of_the_paper_are_counted():
    table = pd.read_csv(FIGURES / STUDY / "09_verdicts" / "tab_counts.csv")
    assert table.loc[table["series"].str.startswith("as written"), "value"].sum() == 34

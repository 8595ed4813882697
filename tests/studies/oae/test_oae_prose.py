"""Numbers that the notebooks quote are those of the CSV files beside them."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bestarm.paths import FIGURES, NOTEBOOKS, RESULTS

VERDICTS = RESULTS / "oae" / "verdicts.csv"
SMALL = FIGURES / "oae" / "03_vanilla" / "fig08.csv"
HILLS = FIGURES / "oae" / "01_problem" / "tab_hills.csv"
LINES = FIGURES / "oae" / "02_fits" / "fig13.csv"
TABLES = FIGURES / "oae" / "02_fits" / "fig16.csv"
ENSEMBLES = FIGURES / "oae" / "04_ensembles" / "fig11.csv"
UCI = FIGURES / "oae" / "05_uci" / "tab_uci.csv"
FITTED = FIGURES / "oae" / "06_realizable" / "tab_fitted.csv"
SEQUENCE = FIGURES / "oae" / "08_sequential" / "fig26.csv"
VANILLA = FIGURES / "oae" / "03_vanilla" / "tab_vanilla.csv"
EXPONENTS = FIGURES / "oae" / "10_theory" / "tab_exponents.csv"
BONUS = FIGURES / "oae" / "10_theory" / "tab_bonus.csv"
LAW = "RandomBatch, exact law"


def batches(panel: str, series: str) -> dict[str, Any]:
    return {"panel": panel, "series": series, "x": 0.01, "statistic": "batches"}


def misfit(panel: str, series: str) -> dict[str, Any]:
    return {"panel": panel, "series": series, "x": 5000}


FOUND_BY_50 = {"panel": "MultiValleyOneDim", "series": "MeanOpt 0.1", "x": 50, "statistic": "share found"}
LOST_BY_50 = {"panel": "NN 10-5: MultiValleyOneDim", "series": "MeanOpt 0.1", "x": 0.01, "statistic": "censored"}
HILL, FOUR, HOLE = "OneHillValleyOneDim", "MultiValleyOneDim", "MultiValleyOneDimHole"
STRONG, STRONG_HOLE, GREEDY = batches(FOUR, "MeanOpt 0.1"), batches(HOLE, "MeanOpt 0.1"), batches(FOUR, "Greedy")
PLAIN_IN_B, LABELS_IN_B = ({"panel": "clones", "series": series, "x": "b"} for series in ("Vanilla", "Seq"))
DAY, BLOGS = "BikeSharingDay", "BlogFeedback"
EXPLOITING = {"series": "exploiting", "statistic": "best tenth"}

# notebook; what it says, {} is the number; file; its row; column; how the number is printed
QUOTED: list[tuple[str, str, Any, dict[str, Any], str, str | Callable[[float], str]]] = [
    ("01_problem", "λ = 0.1 needs {} batches, the greedy", SMALL, STRONG, "value", "{:.0f}"),
    ("01_problem", "the greedy search {} (notebook", SMALL, GREEDY, "value", "{:.0f}"),
    ("01_problem", "after 45 batches {} run of 25", HILLS, {"series": "4 of 4 hills", "x": 45}, "value", "{:.0f}"),
    ("01_problem", "and {} had on three", HILLS, {"series": "3 of 4 hills", "x": 45}, "value", "{:.0f}"),
    ("02_fits", "training error is still {} of the variance", LINES, misfit(FOUR, "NN 10-5"), "value", "{:.2f}"),
    ("02_fits", "where NN 300-100 reaches {}.", LINES, misfit(FOUR, "NN 300-100"), "value", "{:.3f}"),
    ("02_fits", "linear class stops at {} and", TABLES, misfit(DAY, "linear"), "value", "{:.2f}"),
    ("02_fits", "NN 100-10 goes on to {}.", TABLES, misfit(DAY, "NN 100-10"), "value", "{:.2f}"),
    ("03_vanilla", "needs {} batches where Greedy needs 65.6", SMALL, STRONG, "value", "{:.1f}"),
    ("03_vanilla", "where Greedy needs {}. Against", SMALL, GREEDY, "value", "{:.1f}"),
    ("03_vanilla", "where it needs {} batches and", SMALL, STRONG_HOLE, "value", "{:.1f}"),
    ("03_vanilla", "batches and chance {}.", SMALL, batches(HOLE, LAW), "value", "{:.1f}"),
    ("03_vanilla", "needs {} batches where Greedy needs 66", SMALL, STRONG, "value", "{:.0f}"),
    ("03_vanilla", "With the hole it needs {} for", SMALL, STRONG_HOLE, "value", "{:.0f}"),
    ("03_vanilla", "for Greedy's {}, but", SMALL, batches(HOLE, "Greedy"), "value", "{:.0f}"),
    ("04_ensembles", "ensemble needs {} batches on one", ENSEMBLES, batches(HILL, "Ensemble"), "value", "{:.1f}"),
    ("04_ensembles", "MeanOpt with λ = 0.1 needs {} where", ENSEMBLES, STRONG, "value", "{:.1f}"),
    ("04_ensembles", "where the ensemble needs {}; 4", ENSEMBLES, batches(FOUR, "Ensemble"), "value", "{:.1f}"),
    ("04_ensembles", "; {} of the 6 comparisons", VERDICTS, {"id": "OAE-C37"}, "confirming", "{:.0f}"),
    ("05_uci", "Greedy needs {} batches where chance", UCI, batches(DAY, "Greedy"), "value", "{:.1f}"),
    ("05_uci", "where chance needs {}.", UCI, batches(DAY, LAW), "value", "{:.1f}"),
    ("05_uci", "significant, {} batches with", UCI, batches(BLOGS, "MeanOpt 0.1"), "value", "{:.1f}"),
    ("05_uci", "where λ = 0.001 needs {}.", UCI, batches(BLOGS, "MeanOpt 0.001"), "value", "{:.1f}"),
    ("06_realizable", "Adult takes Greedy {} batches", FITTED, batches("Adult, fitted", "Greedy"), "value", "{:.1f}"),
    ("06_realizable", "the top of Bank {}, where", FITTED, batches("Bank, fitted", "Greedy"), "value", "{:.1f}"),
    ("06_realizable", "where chance needs {} and", FITTED, batches("Adult, fitted", LAW), "value", "{:.1f}"),
    ("06_realizable", "needs 26.4 and {}.", FITTED, batches("Bank, fitted", LAW), "value", "{:.1f}"),
    ("07_diversity", "a quarter ({}) of the comparisons", VERDICTS, {"id": "OAE-C54a"}, "effect", "{:.2f}"),
    ("07_diversity", "an eighth ({}).", VERDICTS, {"id": "OAE-C54b"}, "effect", "{:.3f}"),
    ("08_sequential", "SeqB with λ = 0.01 needs {} batches", SEQUENCE, batches(HILL, "SeqB 0.01"), "value", "{:.1f}"),
    ("08_sequential", "where MeanOpt needs {}.", SEQUENCE, batches(HILL, "MeanOpt 0.01"), "value", "{:.1f}"),
    ("09_open_choices", "in {} of 25 runs", SMALL, FOUND_BY_50, "value", lambda share: f"{25 * share:.0f}"),
    ("09_open_choices", "and in {} of 25 with 200", VANILLA, LOST_BY_50, "value", lambda lost: f"{25 - lost:.0f}"),
    ("09_open_choices", "own scale {} of the 6 are", VERDICTS, {"id": "OAE-C37"}, "confirming", "{:.0f}"),
    ("09_open_choices", "costs up to {} times the batches", VERDICTS, {"id": "OAE-B1b"}, "effect", "{:.2f}"),
    ("09_open_choices", "16 evaluations up to {} times", VERDICTS, {"id": "OAE-B1"}, "effect", "{:.2f}"),
    ("10_theory", "vanilla OAE has the exponent {} in b", EXPONENTS, PLAIN_IN_B, "value", "{:.2f}"),
    ("10_theory", "that of virtual labels {}:", EXPONENTS, LABELS_IN_B, "value", "{:.2f}"),
    ("10_theory", "after exploiting queries {} of the best tenth", BONUS, EXPLOITING, "value", "{:.0%}"),
    ("11_verdicts", "MeanOpt with λ = 0.1 needs {} batches for", SMALL, STRONG, "value", "{:.1f}"),
    ("11_verdicts", "batches for Greedy's {},", SMALL, GREEDY, "value", "{:.1f}"),
]  # fmt: skip


def prose(notebook: str) -> str:
    cells = json.loads((NOTEBOOKS / "oae" / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"\s+", " ", text)


def only_value(file: Any, row: dict[str, Any], column: str) -> float:
    table = pd.read_csv(file)
    for name, wanted in row.items():
        same = table[name] == wanted if isinstance(wanted, str) else np.isclose(table[name].astype(float), wanted)
        table = table[same]
    assert len(table) == 1, f"{file.name}: {len(table)} rows of {row}"
    return float(table[column].iloc[0])


@pytest.mark.parametrize(("notebook", "fragment", "file", "row", "column", "form"), QUOTED)
def test_quoted_numbers_are_those_of_the_figures(notebook, fragment, file, row, column, form):
    value = only_value(file, row, column)
    printed = form(value) if callable(form) else form.format(value)
    assert fragment.replace("{}", printed) in prose(notebook)

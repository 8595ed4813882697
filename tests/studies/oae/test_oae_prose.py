"""Sentences and titles of OAE's notebooks that take more than their `quoted.yaml` can say."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import titles
from prose import prose

from bestarm_lab.results import current_rows
from bestarm_studies.oae.network_fits import fit_values

Title = partial(titles.Title, "oae")


def evolution(values: pd.DataFrame) -> bool:
    seen = [panel for panel in dict.fromkeys(values["panel"]) if panel.startswith("round")]
    return seen == [f"round {number}: {hills} of 4 hills" for number, hills in ((5, 1), (15, 1), (25, 1), (45, 3))]


def test_words_on_fits_from_zero_biases():
    assert "From zero the largest one does fit four hills" in prose("oae", "02_fits")
    rows = current_rows("oae", "zero_fits_synthetic", "laptop")
    values = fit_values(rows, "laptop", {"NN 300-100": 0.003})
    zero = values[values["panel"].str.startswith("MultiValley") & (values["x"] == 5000)]
    assert len(zero) == 2
    assert (zero["value"] < 0.02).all()


LAW = "RandomBatch, exact law"


def batches(values: pd.DataFrame, x: float = 0.01) -> pd.DataFrame:
    """Return the mean batches until a top arm, a line for each panel, a column for each series."""
    mine = values[(values["statistic"] == "batches") & np.isclose(values["x"].astype(float), x)]
    return mine.pivot(index="panel", columns="series", values="value")


def fitted_middle(values: pd.DataFrame) -> bool:
    def ahead(panel: str, x: float) -> int:
        mine = values[(values["panel"] == panel) & (values["statistic"] == "batches") & np.isclose(values["x"], x)]
        high = mine.set_index("series")["high"].drop(["RandomBatch", LAW])
        return int((high < batches(values, x).loc[panel, LAW]).sum())

    hours = "BikeSharingHour, fitted"
    bank = [ahead("Bank, fitted", x) for x in (0.01, 0.002)]
    return bank == [6, 6] and [ahead(hours, 0.01), ahead(hours, 0.002)] == [0, 4]


def query_bounds(values: pd.DataFrame) -> bool:
    bounds = values[values["statistic"] == "bound"].pivot(index=["panel", "x"], columns="series", values="value")
    queries = values[values["statistic"] == "queries"]
    high = queries.pivot(index=["panel", "x"], columns="series", values="high")
    fewer = high.lt(bounds["printed"], axis=0).any(axis=1)
    return bool(fewer.all() and high.ge(bounds["squared"], axis=0).all(axis=None))


@pytest.mark.parametrize(
    "title",
    [
        Title(
            "01_problem",
            "fig07",
            "This run of MeanOpt stays on one of four hills for 25 batches; after 45 it has tried three",
            evolution,
        ),
        Title(
            "06_realizable",
            "fig32",
            "On fitted Bank every search is ahead of chance; on fitted BikeSharingHour "
            "none is until a top-1% arm, and four are until a top-0.2% arm",
            fitted_middle,
        ),
        Title(
            "10_theory",
            "theory_queries",
            "Some searches need fewer queries than the printed bound; "
            "none needs clearly fewer than the bound that its proof supports",
            query_bounds,
        ),
    ],
    ids=lambda title: f"{title.notebook}-{title.file}",
)
def test_titles_say_what_their_tables_say(title):
    title.check()

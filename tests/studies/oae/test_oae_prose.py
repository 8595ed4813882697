"""Sentences and titles of OAE's notebooks that take more than their `quoted.yaml` can say."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import titles

from bestarm_lab.results import current_rows
from bestarm_studies.oae.experiments import SYNTHETIC
from bestarm_studies.oae.fits.step_sizes import capacity_errors, capacity_table

Title = partial(titles.Title, "oae")


def evolution(values: pd.DataFrame) -> bool:
    seen = [panel for panel in dict.fromkeys(values["panel"]) if panel.startswith("round")]
    return seen == [f"round {number}: {hills} of 4 hills" for number, hills in ((5, 1), (15, 1), (25, 2), (45, 3))]


def test_the_biases_are_those_whose_fits_are_as_the_paper_says():
    """NN 10-5 does not reach zero on four hills, and the error falls with capacity (Appendix E.1.1)."""
    starts = {"zero": "fits_synthetic", "random": "random_fits_synthetic"}
    errors = capacity_errors({start: current_rows("oae", name, "laptop") for start, name in starts.items()})
    assert (errors.loc[errors["series"].str.startswith("NN 10-5 "), "value"] > 0.1).all()
    falls = capacity_table(errors).query("falls == 'yes'")["biases"].value_counts()
    assert falls.to_dict() == {"zero": 6, "random": 4}
    assert {getattr(cell.policy, "bias", 0.0) for e in SYNTHETIC.values() for cell in e.cells("paper")} == {0.0}


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
            "This run of MeanOpt has tried two of four hills after 25 batches, and three after 45",
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

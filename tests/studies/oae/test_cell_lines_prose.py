"""Numbers that the notebooks on cell lines quote are those of the CSV files beside them."""

from functools import partial
from typing import Any

import pytest
from prose import quote

EMBEDDING, TRANSFER = "13_embedding", "14_transfer"
LAW = "RandomBatch, exact law"
WORST, BEST = "alk", "mtap_cdkn2a_codeletion"


def misfit(group: str, series: str) -> dict[str, Any]:
    return {"panel": group, "series": series, "x": 5000}


def batches(group: str, series: str) -> dict[str, Any]:
    return {"panel": "NN 100-10", "series": series, "group": group, "statistic": "batches"}


quoted = partial(quote, "oae")
QUOTED = [
    quoted(EMBEDDING, "NN 100-10 leaves {:.2f} of the variance on ALK, the group that the others tell least of, and "
           "{:.2f} on MTAP", "fig04", misfit(WORST, "NN 100-10"), misfit(BEST, "NN 100-10")),
    quoted(EMBEDDING, "a linear fit leaves {:.2f} and {:.2f}.", "fig04",
           misfit(WORST, "linear"), misfit(BEST, "linear")),
    quoted(TRANSFER, "Greedy with NN 100-10 needs {:.1f} batches, on MTAP and CDKN2A {:.1f}; chance needs {:.1f}.",
           "transfer", batches(WORST, "Greedy"), batches(BEST, "Greedy"), batches(WORST, LAW)),
]  # fmt: skip


@pytest.mark.parametrize("quoted_number", QUOTED)
def test_quoted_numbers_are_those_of_the_figures(quoted_number):
    quoted_number.check()

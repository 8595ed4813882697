"""Numbers that the notebooks on cell lines quote are those of the CSV files beside them."""

from functools import partial
from typing import Any

import pytest
from prose import quote

SCREEN, EMBEDDING, TRANSFER, SIMILARITY = "11_screen_to_bandit", "13_embedding", "14_transfer", "15_similarity"
LAW = "RandomBatch, exact law"
VCAP, HA1E, A375 = (f"{line}, simulated, NN 100-10" for line in ("VCAP", "HA1E", "A375"))
DRUGS = "drug signatures, NN 100-10"
SHARED, OWN = "the program that is shared", "the program of its own"


def end(panel: str, statistic: str) -> dict[str, Any]:
    return {"panel": panel, "statistic": statistic}


def candidate(line: str) -> dict[str, Any]:
    return {"panel": line, "series": "held_out", "x": 1.0}


def unseen(line: str) -> dict[str, Any]:
    return {"panel": "all other arms, simulated", "series": line, "x": 10}


def misfit(series: str) -> dict[str, Any]:
    return {"panel": "A375, simulated", "series": series, "x": 5000}


def batches(panel: str, series: str, x: float = 0.002) -> dict[str, Any]:
    return {"panel": panel, "series": series, "x": x, "statistic": "batches"}


quoted = partial(quote, "oae")
QUOTED = [
    quoted(SCREEN, "weights of epoch {:.0f} are kept for simulated VCAP and those of epoch {:.0f} for", "tab_codes",
           end("VCAP", "epoch kept"), end("drug signatures", "epoch kept")),
    quoted(SCREEN, "leaves {:.3f} of its variance on simulated VCAP and {:.3f} on the real signatures", "tab_codes",
           end("VCAP", "linear misfit"), end("drug signatures", "linear misfit")),
    quoted(EMBEDDING, "ρ = 0.7 errs {:.1f} times as much on HA1E", "tab_likeness", candidate("HA1E")),
    quoted(EMBEDDING, "keeps its guess, at {:.0f} times VCAP's error", "tab_likeness", candidate("A375")),
    quoted(EMBEDDING, "on unseen arms by {:.2f} of the variance on A375 and by {:.3f} on VCAP", "fig01",
           unseen("A375"), unseen("VCAP")),
    quoted(EMBEDDING, "order of Figure 4, {:.2f}, {:.2f} and {:.2f} for the linear class, the smaller and", "fig04",
           misfit("linear"), misfit("NN 10-5"), misfit("NN 100-10")),
    quoted(TRANSFER, "Greedy needs {:.1f} batches for an arm of the top 0.2% where chance needs {:.1f}, and MeanOpt "
           "with λ = 0.1 needs {:.1f};", "tab_transfer",
           batches(VCAP, "Greedy"), batches(VCAP, LAW), batches(VCAP, "MeanOpt 0.1")),
    quoted(TRANSFER, "on simulated HA1E the two need {:.1f} and {:.1f}.", "tab_transfer",
           batches(HA1E, "Greedy"), batches(HA1E, "MeanOpt 0.1")),
    quoted(TRANSFER, "compounds Greedy needs {:.1f} and chance {:.1f}.", "tab_transfer",
           batches(DRUGS, "Greedy"), batches(DRUGS, LAW)),
    quoted(TRANSFER, "is harder: Greedy needs {:.1f}, MeanOpt with λ = 0.01 {:.1f} and chance {:.1f}.", "tab_transfer",
           batches(A375, "Greedy"), batches(A375, "MeanOpt 0.01"), batches(A375, LAW)),
    quoted(SIMILARITY, "takes Greedy from {:.1f} to {:.1f} batches, where chance needs {:.1f}:", "similarity",
           batches(SHARED, "Greedy", 0.0), batches(SHARED, "Greedy", 1.0), batches(SHARED, LAW, 0.0)),
    quoted(SIMILARITY, "from 0 to 0.95 takes Greedy from {:.1f} to {:.1f}.", "similarity",
           batches(OWN, "Greedy", 0.0), batches(OWN, "Greedy", 0.95)),
]  # fmt: skip


@pytest.mark.parametrize("quoted_number", QUOTED)
def test_quoted_numbers_are_those_of_the_figures(quoted_number):
    quoted_number.check()

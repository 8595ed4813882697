"""Causes that the paper names, each alone, and the parts of a gap that they explain."""

import pandas as pd

from bestarm_lab.experiments.one_change import one_change
from bestarm_lab.experiments.series import Series
from bestarm_studies.gpoo.checks import Test
from bestarm_studies.gpoo.paper_against_code.audit import GPTREE_DEVIATIONS
from bestarm_studies.gpoo.series import AVE_STOOO, GPOO, GPTREE, TENS, gpoo, stooo

ABLATIONS = {
    **one_change(
        "GPOO (S = 1)",
        Series(GPOO, label="GPOO"),
        {
            "constant β": {"constant_beta": True},
            "leaf": {"recommendation": "leaf"},
            "lower bound": {"recommendation": "lower_bound"},
            "independent cells": {"independent_cells": True},
        },
    ),
    **one_change("GPOO (S = 10)", gpoo(10), {"independent cells": {"independent_cells": True}}),
    **one_change(
        "GPTree",
        GPTREE,
        {
            "growing β": {"beta": "gpoo"},
            # with these constants nothing but the root is divided before the first reward, see GPTREE_SLOPES
            "constants of the code": GPTREE_DEVIATIONS["constants of the code"],
            "constants of the code, growing β": GPTREE_DEVIATIONS["constants of the code"] | {"beta": "gpoo"},
        },
    ),
    **one_change("AVE-StoOO", stooo(TENS, 10, AVE_STOOO), {"posterior mean": {"recommendation": "posterior"}}),
}


def gap_closed(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, the part of the gap from ``slow`` to ``fast`` that ``changed`` closes."""
    means = rows.groupby(["replication", "series"], sort=False)[test["of"]].mean().unstack("series")
    gap, gain = means[test["slow"]] - means[test["fast"]], means[test["slow"]] - means[test["changed"]]
    closed = gain.mean() / gap.mean()
    found: pd.Series = closed + (gain - closed * gap) / gap.mean()
    return found.to_frame(test["changed"])


def gap_opened(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, the part of the gap from ``fast`` to ``slow`` that ``changed`` opens."""
    return 1.0 - gap_closed(rows, test)

"""Exact decisions on the statements of the analysis, and values that its claims compare."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.gpoo.checks import Rows, Test, curve
from bestarm_studies.gpoo.theory.average_feedback import azuma
from bestarm_studies.gpoo.theory.cost import cost
from bestarm_studies.gpoo.theory.envelope import envelope
from bestarm_studies.gpoo.theory.rate import rate
from bestarm_studies.gpoo.theory.single_feedback import single_feedback


def always(test: Test, rows: Rows) -> Decision:
    """Check that a share of a bound never exceeds 1 in the runs in which the event held."""
    frame = pd.concat([rows[name] for name in test["experiments"]], ignore_index=True)
    mine = frame[frame["series"].isin(test["series"])]
    if "event_share" in mine:
        mine = mine[mine["event_share"] <= 1.0]
    if "budget" in test:
        mine = mine[mine["budget"] == test["budget"]]
    if "binds" not in test:
        shares, where = mine[test["metric"]].to_numpy(dtype=np.float64), ""
    else:  # a bound above the range of f holds of any search
        binds = mine[test["binds"]].to_numpy(dtype=np.bool_)
        shares = mine.loc[binds, test["metric"]].to_numpy(dtype=np.float64)
        where = f"; the bound is below the range of f in {len(shares)} of {len(binds)} runs"
    if not len(shares) or not (shares > 0.0).any():
        return Decision(True, f"the bound never binds{where}", informative=False)
    beyond = int((shares > 1.0).sum())
    text = f"{beyond} of {len(shares)} runs beyond the bound; at most {shares.max():.3g} times the bound{where}"
    return Decision(beyond == 0, text, checked=f"{len(shares)} runs")


CHECKS: dict[str, Check] = {
    "always": Check(
        always,
        {"experiments": "experiments", "metric": "column", "series": "series"},
        may={"budget": "number", "binds": "column"},
    ),
    "azuma": Check(azuma, {"longest": "number", "range": "number"}),
    "cost": Check(cost, {"experiments": "experiments", "power": "number"}),
    "envelope": Check(envelope, {"experiments": "experiments"}),
    "single_feedback": Check(single_feedback, {"experiments": "experiments"}),
}
VALUES: dict[str, Value] = {
    "event_share": Value("largest error in units of its interval"),
    "rate": Value(
        "log mean regret against log(N / log N)",
        curve,
        statistic=rate,
        needs={"of": "column"},
        may={"budgets": "numbers"},
    ),
}

"""Claims of the DPP-BBO paper that a computation decides, and the values that its other claims compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.dpp_bbo.fastxml_table import HYPER_PARAMETERS
from bestarm_studies.dpp_bbo.regrets import distance_to, log_candidate_regret, log_observed_regret, log_regret
from bestarm_studies.dpp_bbo.theory_checks import THEORY_CHECKS
from bestarm_studies.dpp_bbo.values import batch_of, lipschitz_ratios, variance_shares

Test = Mapping[str, Any]
Rows = Mapping[str, pd.DataFrame]


def lipschitz_errors(test: Test, rows: Rows) -> Decision:
    """Compare LP-UCB's estimates of the Lipschitz constant with the largest slope, on the robot and elsewhere."""
    slopes, errors = rows["slopes"].groupby("series")["slope"], {}
    for objective, experiment in test["of"].items():
        ratios = lipschitz_ratios(rows[experiment], slopes.get_group(objective))
        errors[objective] = float(np.abs(np.log(ratios)).median())
    robot = errors["robot"]
    others = [error for objective, error in errors.items() if objective != "robot"]
    text = ", ".join(f"{name}: a factor of {np.exp(error):.2f}" for name, error in errors.items())
    return Decision(robot < min(others), f"median error in the second half of the batches, {text}")


def precision_range(test: Test, rows: Rows) -> Decision:
    """Take the range of the precision at 1 over the grid, and the share of its variance that each setting explains."""
    ranges, texts = [], []
    for name in test["experiments"]:
        ranges.append(float(rows[name]["p1"].max() - rows[name]["p1"].min()))
        shares = variance_shares(rows[name])
        first = max(HYPER_PARAMETERS, key=lambda h: shares[h])
        texts.append(f"{name}: {ranges[-1]:.3f}, of which {first} alone explains {shares[first]:.0%} of the variance")
    return Decision(min(ranges) > test["above"], "; ".join(texts))


CHECKS: dict[str, Check] = {
    "lipschitz_errors": Check(lipschitz_errors, {"experiments": "experiments", "of": "any"}),
    "precision_range": Check(precision_range, {"experiments": "experiments", "above": "number"}),
    **THEORY_CHECKS,
}
VALUES: dict[str, Value] = {
    "batch": Value("batch", of=batch_of),
    "distance_to": Value("distance from the regret of another search", of=distance_to, needs={"to": "text"}),
    "log_regret": Value("log10 of the regret from f(x*), mean over batches", of=log_regret),
    "log_candidate_regret": Value(
        "log10 of the regret among the candidates, mean over batches", of=log_candidate_regret
    ),
    "log_observed_regret": Value(
        "log10 of the regret of the best observed arm, mean over batches", of=log_observed_regret
    ),
}

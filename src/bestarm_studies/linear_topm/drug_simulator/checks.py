"""Checks and values of the drug simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_studies.linear_topm.drug_simulator.hit_ratios import (
    drug_misfit,
    hit_ratio_over_baseline,
    hit_ratio_over_printed,
    recorded_hit_ratios,
)

Rows = Mapping[str, pd.DataFrame]
Test = Mapping[str, Any]


CHECKS: dict[str, Check] = {
    "drug_misfit": Check(drug_misfit, {"printed": "number"}),
    "recorded_hit_ratios": Check(recorded_hit_ratios, {"experiments": "experiments", "ranks": "numbers"}),
}

VALUES: dict[str, Value] = {
    "hit_ratio_over_baseline": Value(
        "hit ratio minus that of the baseline", hit_ratio_over_baseline, needs={"ranks": "numbers"}
    ),
    "hit_ratio_over_printed": Value(
        "hit ratio minus the printed one", hit_ratio_over_printed, needs={"figure_5": "any"}
    ),
}

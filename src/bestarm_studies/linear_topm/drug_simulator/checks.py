"""Checks and values of the drug simulator."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.datasets.registry import fetch
from bestarm_objectives.drug.rein_model import Observation, read_observations
from bestarm_studies.linear_topm.drug_simulator.hit_ratios import (
    drug_misfit,
    hit_ratio_over_baseline,
    hit_ratio_over_printed,
    recorded_hit_ratios,
)

Rows = Mapping[str, pd.DataFrame]
Test = Mapping[str, Any]


def observed_values(test: Test) -> Decision:
    """Count the genes with an initial or a final value in every experiment behind the network."""
    return counted(read_observations(fetch("epilepsy-network-observations")), test)


def counted(observations: Sequence[Observation], test: Test) -> Decision:
    """Return the decision of `observed_values` on some experiments."""
    counts = [len(getattr(observation, test["of"])) for observation in observations]
    most = test["within"] * test["printed"]
    holds = all(abs(n - test["printed"]) <= most for n in counts)
    told = ", ".join(f"{o.knocked_down[0]}: {n}" for o, n in zip(observations, counts, strict=True))
    return Decision(holds, f"{told} (printed {test['printed']})")


CHECKS: dict[str, Check] = {
    "observed_values": Check(observed_values, {"of": "column", "printed": "number", "within": "number"}),
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

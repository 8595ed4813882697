"""Searches of the landscapes, which most sections show; experiments of one section stand in its folder.

What a profile does not name is the paper's: 5000 steps of Adam, 150 batches, 10 members, 25 runs. A search ends once it
has found an arm of the smallest quantile that is counted, except for series whose rewards are drawn over all batches.
"""

from __future__ import annotations

from typing import Any

from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.oae.searches import BOTH, MEASURED, REWARDED, on_lines
from bestarm_studies.oae.series import (
    CUT,
    DEFAULT_BIAS,
    DEFAULT_STEP_SIZES,
    DIVERSE,
    DIVERSE_KERNELS,
    FEW_RUNS,
    LANDSCAPE_ENSEMBLES,
    LARGE,
    MANY_RUNS,
    MIDDLE,
    OBJECTIVES,
    SEQUENTIAL,
    SMALL,
    VANILLA,
)


def landscape_searches(**choice: Any) -> dict[str, Experiment]:
    """Return all searches of the landscapes, with ``choice`` for `bestarm_studies.oae.searches.on_lines`.
    NN 10-5 has the paper's scale at the profile laptop, too; the profile paper has `MANY_RUNS` where 25 leave a main
    comparison undecided."""
    choice = {"laptop_runs": FEW_RUNS, **choice}
    cut = {**CUT, **choice}
    more = {**choice, "runs": MANY_RUNS}
    return {
        "synthetic_10_5": on_lines("Landscapes, NN 10-5", SMALL, LANDSCAPE_ENSEMBLES, observe=BOTH, **more),
        "synthetic_100_10": on_lines(
            "Landscapes, NN 100-10", MIDDLE, LANDSCAPE_ENSEMBLES, rounds=50, observe=REWARDED, **{**CUT, **more}
        ),
        "synthetic_300_100": on_lines("Landscapes, NN 300-100", LARGE, VANILLA, rounds=30, **cut),
        "objectives_10_5": on_lines("Landscapes, NN 10-5, other objectives", SMALL, OBJECTIVES, rounds=20, **more),
        "objectives_100_10": on_lines("Landscapes, NN 100-10, other objectives", MIDDLE, OBJECTIVES, rounds=30, **cut),
        "diverse_10_5": on_lines("Landscapes, NN 10-5, DetD", SMALL, DIVERSE, **choice),
        "diverse_100_10": on_lines("Landscapes, NN 100-10, DetD", MIDDLE, DIVERSE, rounds=30, **cut),
        "diverse_kernels": on_lines(
            "Landscapes, NN 10-5, DetD with kernels that are not degenerate on a line", SMALL, DIVERSE_KERNELS, **choice
        ),
        "sequential_10_5": on_lines(
            "Landscapes, NN 10-5, sequential batches", SMALL, SEQUENTIAL, rounds=20, observe=MEASURED, **more
        ),
        "sequential_100_10": on_lines(
            "Landscapes, NN 100-10, sequential batches", MIDDLE, SEQUENTIAL, rounds=20, **cut
        ),
    }


# the paper is silent on biases; these are the default of its framework
SYNTHETIC: dict[str, Experiment] = landscape_searches(settings={"bias": DEFAULT_BIAS}, step_sizes=DEFAULT_STEP_SIZES)
ZERO_BIASES: dict[str, Experiment] = {f"zero_{name}": found for name, found in landscape_searches().items()}
EXPERIMENTS: dict[str, Experiment] = SYNTHETIC | ZERO_BIASES

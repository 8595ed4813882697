"""Errors beside the bounds, arms that overtake the best in a logistic fit, steps of Frank-Wolfe."""

from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation, computed
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Scale
from bestarm_lab.metrics import correct
from bestarm_studies.gse.algorithms import FWG, LOGISTIC, LOGISTIC_FWG, UNIFORM
from bestarm_studies.gse.theory.bounds import overtaking_rows, step_rows, theory_instance
from bestarm_studies.gse.theory.stage_observer import ObservedStages


def _bounds(
    rewards: str, series: dict[str, Any], budgets: list[int], signal: float, laptop: int, paper: int
) -> Experiment:
    return Experiment(
        f"Errors beside the bounds, {rewards} rewards",
        partial(theory_instance, model=rewards, n_arms=8, n_features=4, sigma=1.0, signal=signal),
        series,
        profiles={"smoke": Scale(20, budgets=[100, 400]), "laptop": Scale(laptop), "paper": Scale(paper)},
        metrics=(correct,),
        budgets=budgets,
        observe=ObservedStages,
        block=5000,
    )


THEORY = {
    "bounds_linear": _bounds(
        "linear",
        {"GSE-Lin": UNIFORM, "GSE-Lin-FWG": FWG},
        [50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800],
        signal=1.0,
        laptop=10_000,
        paper=100_000,
    ),
    "bounds_logistic": _bounds(
        "logistic",
        {"GSE-Log": LOGISTIC, "GSE-Log-FWG": LOGISTIC_FWG},
        [100, 400, 1600, 6400, 12_800, 25_600],
        signal=2.0,
        laptop=2000,
        paper=20_000,
    ),
}
EXPERIMENTS: dict[str, Experiment | Computation] = {
    **THEORY,
    "bounds_overtaking": computed(
        "Arms that overtake the best in a logistic fit", 30, overtaking_rows, smoke={"runs": 100}, runs=4000
    ),
    "bounds_steps": computed(
        "Steps of Frank-Wolfe from Kumar and Yıldırım's start",
        20,
        step_rows,
        smoke={"dimensions": (8,)},
        dimensions=(8, 16, 32, 64),
        arms_per_dimension=(4, 16),
    ),
}

"""Experiments beside the figures: equivalences at 4000 runs, and Figures 6 and 7 with budgets per arm."""

from __future__ import annotations

from functools import partial
from typing import Any

from bestarm.experiments.experiment import Budgets, Experiment, PerArm, Scale
from bestarm.metrics import correct
from bestarm.policies.gse import Gse
from bestarm_studies.gse.algorithms import FWG, GREEDY, OD_LINBAI, SMOKE, UNIFORM, WYNN, with_leak
from bestarm_studies.gse.instances import adaptive_instance, corner_instance, sphere_instance, static_instance
from bestarm_studies.gse.logistic_instances import logistic_instance

_FWG_AND_OD: dict[str, Any] = {"GSE-Lin-FWG": FWG, "OD-LinBAI": OD_LINBAI}
_MODELS: dict[str, Any] = {
    "GSE-Log": partial(Gse, model="logistic", allocation="uniform"),
    "GSE-Log-FWG": partial(Gse, model="logistic", allocation="g-optimal"),
    "GSE-Lin": UNIFORM,
    "GSE-Lin-FWG": FWG,
}


def _both(
    title: str,
    problem: partial[Any],
    series: dict[str, Any],
    budgets: Budgets,
    runs: int,
    smoke: Scale = SMOKE,
    **vary: Any,
) -> Experiment:
    """Return an experiment by accuracy under both conventions, with its runs at every scale."""
    return Experiment(
        title,
        problem,
        series,
        profiles={"smoke": smoke, "laptop": Scale(runs)},
        metrics=(correct,),
        conventions=("as_written", "as_coded"),
        vary=vary,
        budgets=budgets,
        block=500,
    )


COVERAGE = {
    "alike_static": _both(
        "Alike? static instance",
        partial(static_instance, n_arms=16, variance=10.0),
        {"GSE-Lin": UNIFORM, **_FWG_AND_OD},
        [320],
        4000,
        Scale(2, vary={"gap": [1]}),
        gap=[0.01, 0.03, 0.05, 0.1, 0.3, 1, 2, 3],
    ),
    "alike_adaptive": _both(
        "Alike? adaptive instance",
        partial(adaptive_instance),
        _FWG_AND_OD,
        PerArm((10, 20, 50)),
        4000,
        n_arms=[8, 16, 32],
    ),
    "alike_sphere": _both(
        "Alike? random instances",
        partial(sphere_instance),
        with_leak({**_FWG_AND_OD, "GSE-Lin-Greedy": GREEDY, "GSE-Lin-Wynn": WYNN}),
        PerArm((20, 50)),
        4000,
        n_arms=[8, 16, 32],
    ),
    "alike_logistic": _both(
        "Alike? logistic rewards",
        partial(logistic_instance),
        with_leak(_MODELS),
        [80, 160, 400],
        4000,
        Scale(2, budgets=[80], vary={"n_features": [5]}),
        n_features=[5, 7, 10, 12],
    ),
    "fig6_per_arm": _both(
        "Figure 6 with budgets per arm",
        partial(sphere_instance, variance=1.0),
        with_leak(_FWG_AND_OD),
        PerArm((100, 200, 500)),
        1000,
        n_arms=[8, 16, 32, 64],
    ),
    "fig7_per_arm": _both(
        "Figure 7 with budgets per arm",
        partial(corner_instance),
        _FWG_AND_OD,
        PerArm((25,)),
        1000,
        n_arms=[4, 8, 12, 16, 20, 24],
    ),
}

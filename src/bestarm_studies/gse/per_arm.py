"""Figures 6 and 7 with budgets per arm, as the job script of the authors' code sets them."""

from __future__ import annotations

from functools import partial
from typing import Any

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_lab.metrics import correct
from bestarm_studies.gse.algorithms import FWG, OD_LINBAI, SMOKE, with_leak
from bestarm_studies.gse.instances import corner_instance, sphere_instance

_FWG_AND_OD: dict[str, Any] = {"GSE-Lin-FWG": FWG, "OD-LinBAI": OD_LINBAI}


def _per_arm(
    title: str, problem: partial[Any], series: dict[str, Any], ratios: tuple[float, ...], n_arms: list[int]
) -> Experiment:
    """Return an experiment by accuracy under both conventions."""
    return Experiment(
        title,
        problem,
        series,
        profiles={"smoke": SMOKE, "laptop": Scale(1000)},
        metrics=(correct,),
        conventions=("as_written", "as_coded"),
        vary={"n_arms": n_arms},
        budgets=PerArm(ratios),
        block=1000,
    )


PER_ARM = {
    "fig6_per_arm": _per_arm(
        "Figure 6 with budgets per arm",
        partial(sphere_instance, variance=1.0),
        with_leak(_FWG_AND_OD),
        (100, 200, 500),
        [8, 16, 32, 64],
    ),
    "fig7_per_arm": _per_arm(
        "Figure 7 with budgets per arm",
        partial(corner_instance),
        _FWG_AND_OD,
        (25,),
        [4, 8, 12, 16, 20, 24],
    ),
}

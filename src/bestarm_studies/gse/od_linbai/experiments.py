"""GSE against OD-LinBAI: Figures 6 and 7, and both with budgets for each arm, as the authors' job script has them."""

from functools import partial
from typing import Any

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_lab.metrics import correct
from bestarm_studies.gse.algorithms import FWG_AND_OD, SMOKE, search, with_leak
from bestarm_studies.gse.instances import corner_instance, sphere_instance


def _per_arm(
    title: str, problem: partial[Any], series: dict[str, Any], ratios: tuple[float, ...], n_arms: list[int]
) -> Experiment:
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


EXPERIMENTS: dict[str, Experiment] = {
    "fig6": search(
        "Figure 6: GSE against OD-LinBAI on random instances",
        partial(sphere_instance, variance=1.0),
        with_leak(FWG_AND_OD),
        as_coded=True,
        vary={"n_arms": [8, 16, 32, 64]},
        budgets=[100, 200, 500],
        smoke=Scale(2, budgets=[100], vary={"n_arms": [8]}),
        laptop=Scale(1000),
        paper=Scale(40_960),
    ),
    "fig7": search(
        "Figure 7: the corner case",
        partial(corner_instance),
        FWG_AND_OD,
        as_coded=True,
        vary={"n_arms": range(3, 25)},
        budgets=[25],
        smoke=Scale(2, vary={"n_arms": [4, 8]}),
        laptop=Scale(1000),
        paper=Scale(4000),
    ),
    "fig6_per_arm": _per_arm(
        "Figure 6 with budgets per arm",
        partial(sphere_instance, variance=1.0),
        with_leak(FWG_AND_OD),
        (100, 200, 500),
        [8, 16, 32, 64],
    ),
    "fig7_per_arm": _per_arm(
        "Figure 7 with budgets per arm", partial(corner_instance), FWG_AND_OD, (25,), [4, 8, 12, 16, 20, 24]
    ),
}

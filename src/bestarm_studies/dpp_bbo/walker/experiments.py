"""Walks of two walkers, searches of both in batches of five and ten, and slopes of the objectives."""

from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.dpp_bbo.experiments import panels, search, with_candidates, with_known, with_zero_mean
from bestarm_studies.dpp_bbo.series import learned, published
from bestarm_studies.dpp_bbo.walker.lipschitz import slope_rows
from bestarm_studies.dpp_bbo.walker.robot import (
    NOMINAL_TABLE,
    TABLE,
    nominal_instance,
    nominal_rows,
    stand_in_nominal_instance,
    stand_in_walker_instance,
    walker_instance,
    walker_rows,
)

ROBOT = (partial(walker_instance, n_arms=2048), partial(stand_in_walker_instance))


def _walks(title: str, rows: Any) -> Computation:
    few = {"replications": 1, "n_points": 64}
    return Computation(title, partial(rows, n_points=16384), {"smoke": few, "laptop": {"replications": 1}})


EXPERIMENTS: dict[str, Experiment | Computation] = {
    TABLE: _walks("Walks of the biped", walker_rows),
    NOMINAL_TABLE: _walks("Walks of the biped around a gait", nominal_rows),
    **panels("Figure 2", "fig2_robot", "robot", *ROBOT, paper=with_candidates(400)),
    **with_zero_mean("fig2_robot", "robot", *ROBOT),
    **with_known("robot", "robot", *ROBOT),
    **{  # the searches of the paper on another reading of its robot
        f"nominal_robot_b{batch}": search(
            f"robot around a gait, B = {batch}",
            published(batch, learned("robot around a gait")),
            partial(nominal_instance, n_arms=2048),
            partial(stand_in_nominal_instance),
        )
        for batch in (5, 10)
    },
    "slopes": Computation(
        "Slopes of the objectives",
        partial(slope_rows),
        profiles={"smoke": {"replications": 4}, "laptop": {"replications": 500}},
    ),
}

"""The search that Figure 7 looks into."""

from functools import partial
from typing import Any

from bestarm.policies.networks.oae import Oae
from bestarm_lab.experiments.computation import computed
from bestarm_studies.oae.experiments import BATCH
from bestarm_studies.oae.landscapes import landscape
from bestarm_studies.oae.problem.evolution import evolution_rows
from bestarm_studies.oae.series import LEARNING_RATE, SMALL

EVOLUTION_ROUNDS = (5, 15, 25, 45)
_SETTINGS: Any = {"standardise": True, "hidden": SMALL, "learning_rate": LEARNING_RATE[SMALL], "optimism": 0.001}
EXPERIMENTS = {
    "evolution": computed(
        "MeanOpt on four hills with a hole, round by round",
        25,
        evolution_rows,
        smoke={"steps": 5},
        paper={"replications": 25},
        problem=partial(landscape, name="MultiValleyOneDimHole"),
        policy=Oae("MeanOpt 0.001", BATCH, max(EVOLUTION_ROUNDS), **_SETTINGS),
        at=EVOLUTION_ROUNDS,
    )
}

"""The search that Figure 7 looks into."""

from functools import partial

from bestarm.policies.networks.oae import Oae
from bestarm_lab.experiments.computation import Computation
from bestarm_studies.oae.experiments import BATCH
from bestarm_studies.oae.landscapes import landscape
from bestarm_studies.oae.problem.evolution import evolution_rows
from bestarm_studies.oae.series import LEARNING_RATE, SMALL

EVOLUTION_ROUNDS = (5, 15, 25, 45)
EXPERIMENTS = {
    "evolution": Computation(
        title="MeanOpt on four hills with a hole, round by round",
        rows=partial(
            evolution_rows,
            problem=partial(landscape, name="MultiValleyOneDimHole"),
            policy=Oae(
                "MeanOpt 0.001",
                BATCH,
                max(EVOLUTION_ROUNDS),
                standardise=True,
                hidden=SMALL,
                learning_rate=LEARNING_RATE[SMALL],
                optimism=0.001,
            ),
            at=EVOLUTION_ROUNDS,
        ),
        profiles={
            "smoke": {"replications": 2, "steps": 5},
            "laptop": {"replications": 25},
            "paper": {"replications": 25},
        },
    )
}

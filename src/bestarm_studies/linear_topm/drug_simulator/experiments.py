"""Rewards of the drug simulator: Figure 5."""

from functools import partial

from bestarm_lab.experiments.computation import Computation
from bestarm_objectives.drug.data import DATA_FILES
from bestarm_studies.linear_topm.drug_simulator.values import reward_rows

EXPERIMENTS = {
    "drug_simulator": Computation(
        "rewards of the drug simulator, random trajectories",
        partial(reward_rows),
        {"smoke": {"replications": 20}, "laptop": {"replications": 500}},
        data_files=DATA_FILES,
    )
}

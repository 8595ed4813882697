"""Rewards of the drug simulator: Figure 5."""

from bestarm_lab.experiments.computation import computed
from bestarm_objectives.drug.data import DATA_FILES
from bestarm_studies.linear_topm.drug_simulator.values import reward_rows

EXPERIMENTS = {
    "drug_simulator": computed(
        "rewards of the drug simulator, random trajectories", 500, reward_rows, few=20, data_files=DATA_FILES
    )
}

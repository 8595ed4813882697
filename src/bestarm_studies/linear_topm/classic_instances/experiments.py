"""The experiment on a classic instance: Figure 2."""

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.linear_topm.settings import BOTH, LOOKS, PI_3, classic_series, experiment

EXPERIMENTS: dict[str, Experiment | Computation] = {
    "fig2a": experiment(
        "classic instance, K = 4, m = 2, ω = π/3", PI_3, classic_series(), conventions=BOTH, profiles=LOOKS
    )
}

"""Sequential batches on tables, and the networks that a batch takes."""

from bestarm.policies.networks.oae import NetworkSearch
from bestarm_lab.experiments.computation import Computation, computed
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.oae.experiments import SYNTHETIC, on_bikes, on_blogs
from bestarm_studies.oae.sequential.checks import network_rows
from bestarm_studies.oae.series import MIDDLE, SEQUENTIAL


def searched(experiment: Experiment | Computation, series: str) -> NetworkSearch:
    """Return the policy of a series at the paper's own scale."""
    assert isinstance(experiment, Experiment)
    found: NetworkSearch = next(cell.policy for cell in experiment.cells("paper") if cell.series == series)
    return found


EXPERIMENTS: dict[str, Experiment | Computation] = {
    "bikes_sequential": on_bikes("Bicycles, NN 100-10, sequential batches", MIDDLE, SEQUENTIAL, rounds=20),
    "blogs_sequential": on_blogs("Blog posts, NN 100-10, sequential batches", MIDDLE, SEQUENTIAL, rounds=12),
    "network_counts": computed(
        "Networks that a batch takes, NN 100-10",
        1,
        network_rows,
        searches={
            "MeanOpt 0.1": searched(SYNTHETIC["synthetic_100_10"], "MeanOpt 0.1"),
            "SeqB 0.1": searched(SYNTHETIC["sequential_100_10"], "SeqB 0.1"),
        },
    ),
}

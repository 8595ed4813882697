"""Constants on random instances: Table 4."""

from functools import partial

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.linear_topm.complexity_constants.random_ratios import complexity_rows

EXPERIMENTS: dict[str, Experiment | Computation] = {
    "tab04": Computation(
        "random linear instances, H(m-LinGapE (2)) against H(UGapE)",
        # K, m, N; one D, which cancels; the paper printed two columns of 1000 instances for most of these
        partial(
            complexity_rows,
            cells=(
                (10, 4, 5),
                (10, 4, 10),
                (10, 4, 20),
                (20, 7, 10),
                (20, 7, 20),
                (20, 7, 40),
                (30, 11, 15),
                (30, 11, 30),
            ),
        ),
        {"smoke": {"replications": 10}, "laptop": {"replications": 2000}},
    )
}

"""Pure exploration beside greedy maximisation."""

from bestarm_lab.experiments.computation import computed
from bestarm_studies.dpp_bbo.batches.laws import exploration_rows
from bestarm_studies.dpp_bbo.gp_draws import FUNCTIONS
from bestarm_studies.dpp_bbo.series import EXPLORES

EXPERIMENTS = {
    "theory_exploration": computed(
        "Gains of pure exploration, batch by batch", 10, exploration_rows, policy=EXPLORES, problem=FUNCTIONS
    )
}

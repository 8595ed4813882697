"""The adaptive instance, where K varies with the budget for each arm: Figure 2."""

from functools import partial

from bestarm.policies.linear.od_linbai import OdLinBai
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm
from bestarm_lab.experiments.series import Series
from bestarm_studies.gse.algorithms import (
    LINEAR_GSE,
    OD_LINBAI,
    PEACE,
    SIGMA,
    UNIFORM_AND_FWG,
    at_most,
    bayes_gap,
    bayes_lin,
    keeping,
    lin_ucb,
    lingapes,
    search,
)
from bestarm_studies.gse.instances import adaptive_instance

LEAKED = Series(OD_LINBAI, partial(OdLinBai, schedule_dimension=4))  # what the run before leaves behind in the code
EXPERIMENTS: dict[str, Experiment] = {
    "fig2": search(
        "Figure 2: adaptive instance",
        partial(adaptive_instance),
        {
            **LINEAR_GSE,
            **keeping(UNIFORM_AND_FWG),
            **at_most(
                4000,
                {
                    "LinUCB": lin_ucb(6.32),
                    **lingapes(SIGMA, 0.9, 0.4),
                    "BayesGap-Lin": bayes_lin(SIGMA),
                    "BayesGap-exp": bayes_gap(SIGMA, "exponential", 0.001),
                    "Peace": PEACE,
                },
            ),
            "OD-LinBAI": LEAKED,
        },
        as_coded=True,
        vary={"n_arms": [8, 16, 32, 64, 128]},
        budgets=PerArm((10, 20, 50)),
    )
}

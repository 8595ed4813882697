"""The adaptive instance, where K varies with the budget for each arm: Figure 2."""

from functools import partial

from bestarm.policies.linear.od_linbai import OdLinBai
from bestarm_lab.experiments.scale import PerArm
from bestarm_lab.experiments.series import Series
from bestarm_studies.gse import algorithms as gse
from bestarm_studies.gse.instances import adaptive_instance

LEAKED = Series(gse.OD_LINBAI, partial(OdLinBai, schedule_dimension=4))  # what the run before leaves behind in the code
EXPERIMENTS = {
    "fig2": gse.search(
        "Figure 2: adaptive instance",
        partial(adaptive_instance),
        {
            **gse.LINEAR_GSE,
            **gse.keeping(gse.UNIFORM_AND_FWG),
            **gse.at_most(
                4000,
                {
                    "LinUCB": gse.lin_ucb(6.32),
                    **gse.lingapes(gse.SIGMA, 0.9, 0.4),
                    "BayesGap-Lin": gse.bayes_lin(gse.SIGMA),
                    "BayesGap-exp": gse.bayes_gap(gse.SIGMA, "exponential", 0.001),
                    "Peace": gse.PEACE,
                },
            ),
            "OD-LinBAI": LEAKED,
        },
        as_coded=True,
        vary={"n_arms": [8, 16, 32, 64, 128]},
        budgets=PerArm((10, 20, 50)),
    )
}

"""Random instances, where K varies with the budget for each arm, then the budget and the dimension alone: Figure 3."""

from functools import partial

from bestarm.policies.linear.budgeted import lingape_greedy
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_studies.gse.algorithms import (
    FWG_AND_OD,
    LINEAR_GSE,
    OD_LINBAI,
    PEACE,
    SIGMA,
    UNIFORM,
    UNIFORM_AND_FWG,
    at_most,
    bayes_gap,
    bayes_lin,
    keeping,
    lin_ucb,
    lingapes,
    search,
    with_leak,
)
from bestarm_studies.gse.instances import sphere_instance

TREND = {
    "GSE-Lin": UNIFORM,
    **FWG_AND_OD,
    "LinUCB": lin_ucb(6.32),
    "LinGapE-Greedy": partial(lingape_greedy, sigma=SIGMA, delta=0.9),
    "BayesGap-Lin": bayes_lin(SIGMA),
}
EXPERIMENTS: dict[str, Experiment] = {
    "fig3": search(
        "Figure 3: random instances",
        partial(sphere_instance),
        {
            **with_leak(LINEAR_GSE),
            **keeping(UNIFORM_AND_FWG),
            **at_most(
                4000,
                {
                    "LinUCB": lin_ucb(6.32),
                    **lingapes(SIGMA, 0.1, 0.9),
                    "BayesGap-Lin": bayes_lin(SIGMA),
                    "BayesGap-exp": bayes_gap(SIGMA, "exponential", 10),
                    "BayesGap-M": bayes_gap(SIGMA, "matern32", 1, {"lengthscale": 10}),
                    "Peace": PEACE,
                },
            ),
            **with_leak({"OD-LinBAI": OD_LINBAI}),
        },
        as_coded=True,
        vary={"n_arms": [8, 16, 32, 64, 128]},
        budgets=PerArm((20, 50)),
    ),
    "trend_budget": search(
        "Random instances, K = 16, budget varied",
        partial(sphere_instance),
        TREND,
        vary={"n_arms": [16]},
        budgets=PerArm((5, 10, 20, 50, 100)),
        smoke=Scale(2, budgets=PerArm((10,))),
    ),
    "trend_dimension": search(
        "Random instances, K = 32, dimension varied",
        partial(sphere_instance),
        TREND,
        vary={"n_arms": [32], "n_features": [5, 10, 20]},
        budgets=PerArm((20,)),
        smoke=Scale(2, vary={"n_features": [5]}),
        laptop=Scale(1000),
    ),
}

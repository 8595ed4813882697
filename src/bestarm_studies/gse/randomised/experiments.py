"""Random instances, where K varies with the budget for each arm, then the budget and the dimension alone: Figure 3."""

from functools import partial

from bestarm.policies.linear.budgeted import lingape_greedy
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_studies.gse import algorithms as gse
from bestarm_studies.gse.instances import sphere_instance

TREND = {
    "GSE-Lin": gse.UNIFORM,
    **gse.FWG_AND_OD,
    "LinUCB": gse.lin_ucb(6.32),
    "LinGapE-Greedy": partial(lingape_greedy, sigma=gse.SIGMA, delta=0.9),
    "BayesGap-Lin": gse.bayes_lin(gse.SIGMA),
}
EXPERIMENTS = {
    "fig3": gse.search(
        "Figure 3: random instances",
        partial(sphere_instance),
        {
            **gse.with_leak(gse.LINEAR_GSE),
            **gse.keeping(gse.UNIFORM_AND_FWG),
            **gse.at_most(
                4000,
                {
                    "LinUCB": gse.lin_ucb(6.32),
                    **gse.lingapes(gse.SIGMA, 0.1, 0.9),
                    "BayesGap-Lin": gse.bayes_lin(gse.SIGMA),
                    "BayesGap-exp": gse.bayes_gap(gse.SIGMA, "exponential", 10),
                    "BayesGap-M": gse.bayes_gap(gse.SIGMA, "matern32", 1, {"lengthscale": 10}),
                    "Peace": gse.PEACE,
                },
            ),
            **gse.with_leak({"OD-LinBAI": gse.OD_LINBAI}),
        },
        as_coded=True,
        vary={"n_arms": [8, 16, 32, 64, 128]},
        budgets=PerArm((20, 50)),
    ),
    "trend_budget": gse.search(
        "Random instances, K = 16, budget varied",
        partial(sphere_instance),
        TREND,
        vary={"n_arms": [16]},
        budgets=PerArm((5, 10, 20, 50, 100)),
        smoke=Scale(2, budgets=PerArm((10,))),
    ),
    "trend_dimension": gse.search(
        "Random instances, K = 32, dimension varied",
        partial(sphere_instance),
        TREND,
        vary={"n_arms": [32], "n_features": [5, 10, 20]},
        budgets=PerArm((20,)),
        smoke=Scale(2, vary={"n_features": [5]}),
        laptop=Scale(1000),
    ),
}

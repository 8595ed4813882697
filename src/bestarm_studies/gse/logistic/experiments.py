"""Logistic rewards, where the dimension varies with the budget: Figure 4."""

from functools import partial
from typing import Any

from bestarm.policies.linear.ucb_glm import UcbGlm
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Scale
from bestarm_studies.gse import algorithms as gse
from bestarm_studies.gse.instances import logistic_instance


def _logistic(title: str, as_coded: bool, **settings: Any) -> Experiment:
    eliminations = {
        "GSE-Log": gse.LOGISTIC,
        "GSE-Log-FWG": gse.LOGISTIC_FWG,
        "GSE-Lin": gse.UNIFORM,
        "GSE-Lin-FWG": gse.FWG,
    }
    return gse.search(
        title,
        partial(logistic_instance, **settings),
        {
            **gse.with_leak(eliminations),
            **gse.at_most(
                3000,
                {
                    "UCB-GLM": partial(UcbGlm),
                    "BayesGap-M": gse.bayes_gap(gse.BINARY_SIGMA, "matern32", 10, {"sigma": gse.SIGMA}),
                },
            ),
        },
        as_coded=as_coded,
        vary={"n_features": [5, 7, 10, 12]},
        budgets=[80, 160, 400],
        smoke=Scale(2, budgets=[80], vary={"n_features": [5]}),
    )


EXPERIMENTS: dict[str, Experiment] = {
    "fig4": _logistic("Figure 4: logistic rewards", as_coded=True),
    "fig4_scale": _logistic("Figure 4 with standard deviation 3/d", as_coded=False, coded_scale=True),
}

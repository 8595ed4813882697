"""The static instance, where the gap varies: Figure 1, and the same with variance 1."""

from functools import partial

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Scale
from bestarm_studies.gse import algorithms as gse
from bestarm_studies.gse.instances import static_instance


def _static(variance: float, alpha: float, as_coded: bool, runs: int, rivals: int) -> Experiment:
    sigma = variance**0.5
    return gse.search(
        f"Figure 1: static instance, variance {variance:g}",
        partial(static_instance, n_arms=16, variance=variance),
        {
            **gse.LINEAR_GSE,
            **gse.keeping(gse.UNIFORM_AND_FWG),
            **gse.at_most(
                rivals,
                {
                    "LinUCB": gse.lin_ucb(alpha),
                    **gse.lingapes(sigma, 0.4, 0.01),
                    "BayesGap-exp": gse.bayes_gap(sigma, "exponential", 0.001, {"lengthscale": 1000}),
                    "Peace": gse.PEACE,
                },
            ),
            "OD-LinBAI": gse.OD_LINBAI,
        },
        as_coded=as_coded,
        vary={"gap": [0.01, 0.03, 0.05, 0.1, 0.3, 1, 2, 3]},
        budgets=[320],
        smoke=Scale(2, vary={"gap": [1]}),
        paper=Scale(runs),
    )


EXPERIMENTS: dict[str, Experiment] = {
    "fig1": _static(10.0, alpha=6.32, as_coded=True, runs=20_000, rivals=5000),
    "fig1_unit": _static(1.0, alpha=2, as_coded=False, runs=4000, rivals=1000),
}

"""Cars and measurements of a motor, drawn from tables: Figure 5."""

from functools import partial

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_studies.gse.algorithms import (
    HALVING,
    LINEAR_GSE,
    OD_LINBAI,
    PEACE,
    TABLE_SIGMA,
    UNIFORM_AND_FWG,
    bayes_gap,
    bayes_lin,
    keeping,
    lin_ucb,
    lingapes,
    search,
    unprojected,
)
from bestarm_studies.gse.tabular import (
    automobile_instance,
    electric_motor_instance,
    stand_in_automobile_instance,
    stand_in_electric_motor_instance,
)
from bestarm_studies.gse.tabular import correct as correct_row


def _motor(target: str, as_coded: bool) -> Experiment:
    return search(
        f"Figure 5b: electric motor, {target}",
        partial(electric_motor_instance, target=target),
        {
            **unprojected(LINEAR_GSE),
            **keeping(unprojected(UNIFORM_AND_FWG)),
            "Sequential halving": HALVING,
            "LinUCB": lin_ucb(2.53),
            **lingapes(TABLE_SIGMA, 0.1, 0.05),
            "BayesGap-Lin": bayes_lin(TABLE_SIGMA),
            "BayesGap-exp": bayes_gap(TABLE_SIGMA, "exponential", 1, {"kernel": "empirical"}),
            "Peace": PEACE,
            **unprojected({"OD-LinBAI": OD_LINBAI}),
        },
        as_coded=as_coded,
        stand_in=partial(stand_in_electric_motor_instance, target=target),
        accuracy=correct_row,
        vary={"n_arms": [8, 16]},
        budgets=PerArm((10, 20, 50)),
        paper=Scale(2000),
    )


EXPERIMENTS: dict[str, Experiment] = {
    "fig5a": search(
        "Figure 5a: automobile prices",
        partial(automobile_instance),
        {
            **unprojected(LINEAR_GSE),
            **keeping(unprojected(UNIFORM_AND_FWG)),
            "Sequential halving": HALVING,
            "LinUCB": lin_ucb(2.53),
            **lingapes(TABLE_SIGMA, 0.9, 0.4),
            "BayesGap-Lin": bayes_lin(TABLE_SIGMA),
            "BayesGap-exp": bayes_gap(TABLE_SIGMA, "exponential", 10, {"lengthscale": 1e-6}),
            "Peace": PEACE,
            **unprojected({"OD-LinBAI": OD_LINBAI}),
        },
        as_coded=True,
        stand_in=partial(stand_in_automobile_instance),
        accuracy=correct_row,
        vary={"n_arms": [8, 16]},
        budgets=PerArm((10, 20, 50)),
        paper=Scale(7000),
    ),
    "fig5b": _motor("motor_speed", as_coded=True),
    "fig5b_pm": _motor("pm", as_coded=False),
}

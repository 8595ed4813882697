"""Cars and measurements of a motor, drawn from tables: Figure 5."""

from functools import partial
from typing import Any

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_studies.gse import algorithms as gse
from bestarm_studies.gse import tabular


def _table(
    title: str,
    problem: partial[Any],
    stand_in: partial[Any],
    deltas: tuple[float, float],
    exponential: tuple[float, dict[str, Any]],
    **settings: Any,
) -> Experiment:
    """Return an experiment: ``deltas`` of both LinGapE; ``exponential``: BayesGap's length-scale, authors' settings."""
    series = {
        **gse.unprojected(gse.LINEAR_GSE),
        **gse.keeping(gse.unprojected(gse.UNIFORM_AND_FWG)),
        "Sequential halving": gse.HALVING,
        "LinUCB": gse.lin_ucb(2.53),
        **gse.lingapes(gse.TABLE_SIGMA, *deltas),
        "BayesGap-Lin": gse.bayes_lin(gse.TABLE_SIGMA),
        "BayesGap-exp": gse.bayes_gap(gse.TABLE_SIGMA, "exponential", *exponential),
        "Peace": gse.PEACE,
        **gse.unprojected({"OD-LinBAI": gse.OD_LINBAI}),
    }
    given: dict[str, Any] = {"accuracy": tabular.correct, "vary": {"n_arms": [8, 16]}, "budgets": PerArm((10, 20, 50))}
    return gse.search(f"Figure {title}", problem, series, stand_in=stand_in, **given, **settings)


def _motor(target: str, as_coded: bool) -> Experiment:
    real = partial(tabular.electric_motor_instance, target=target)
    made = partial(tabular.stand_in_electric_motor_instance, target=target)
    settings = {"as_coded": as_coded, "paper": Scale(2000)}
    return _table(f"5b: electric motor, {target}", real, made, (0.1, 0.05), (1, {"kernel": "empirical"}), **settings)


EXPERIMENTS: dict[str, Experiment] = {
    "fig5a": _table(
        "5a: automobile prices",
        partial(tabular.automobile_instance),
        partial(tabular.stand_in_automobile_instance),
        (0.9, 0.4),
        (10, {"lengthscale": 1e-6}),
        as_coded=True,
        paper=Scale(7000),
    ),
    "fig5b": _motor("motor_speed", as_coded=True),
    "fig5b_pm": _motor("pm", as_coded=False),
}

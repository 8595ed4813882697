"""Grids for δ, α and kernels: the figures take the best of them, found on other instances and with other noise."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from bestarm.policies.linear.bayes_gap import ArmKernel, BayesGap
from bestarm.policies.linear.budgeted import lingape, lingape_greedy
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.policies.linear.ucb_glm import UcbGlm
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_lab.experiments.series import Settings, one_change
from bestarm_studies.gse import tabular as tables
from bestarm_studies.gse.algorithms import BINARY_SIGMA, SIGMA, TABLE_SIGMA, search
from bestarm_studies.gse.instances import adaptive_instance, logistic_instance, sphere_instance, static_instance

_DELTAS = (0.01, 0.05, 0.1, 0.4, 0.9)
_LENGTHSCALES = (0.001, 0.1, 1, 10, 1000)
_ALPHAS = (0.5, 1, 2, 3.16, 6.32, 12.6, 25.3)  # up to eight times the standard deviation of a reward
_TABLE_ALPHAS = (0.05, 0.1, 0.2, 0.32, 0.63, 1.26, 2.53)


def _alpha_grid(alphas: Sequence[float]) -> dict[str, Settings]:
    return {f"α = {alpha:g}": {"alpha": alpha} for alpha in alphas}


def _kernels(sigma: float) -> dict[str, Any]:
    kernels: dict[str, ArmKernel] = {"BayesGap-exp": "exponential", "BayesGap-M": "matern32"}
    lengths: dict[str, Settings] = {f"ℓ = {length:g}": {"lengthscale": length} for length in _LENGTHSCALES}
    found: dict[str, Any] = {}
    for name, kernel in kernels.items():
        found |= one_change(name, partial(BayesGap, sigma=sigma, kernel=kernel), lengths, itself=False)
    return found


def _linear_grid(sigma: float, alphas: Sequence[float]) -> dict[str, Any]:
    deltas: dict[str, Settings] = {f"δ = {delta:g}": {"delta": delta} for delta in _DELTAS}
    return {
        **one_change("LinGapE-Greedy", partial(lingape_greedy, sigma=sigma), deltas, itself=False),
        **one_change("LinGapE", partial(lingape, sigma=sigma), deltas, itself=False),
        **one_change("LinUCB", partial(LinUcb), _alpha_grid(alphas), itself=False),
        **one_change("BayesGap", partial(BayesGap, sigma=sigma), {"linear": {"kernel": "linear"}}, itself=False),
        **_kernels(sigma),
    }


def _tuning(place: str, problem: partial[Any], series: dict[str, Any], **settings: Any) -> Experiment:
    laptop, paper = Scale(50), Scale(200)
    return search(f"Tuning on {place}", problem, series, laptop=laptop, paper=paper, draws="tuning", **settings)


_GLM_ALPHAS = _alpha_grid((0.1, 0.5, 1, 2)) | {"α of the theory": {}}
_TABLE: dict[str, Any] = {"vary": {"n_arms": [8, 16]}, "budgets": PerArm((10, 20, 50))}
EXPERIMENTS = {
    "tune_static": _tuning(
        "the static instance",
        partial(static_instance, n_arms=16),
        _linear_grid(SIGMA, _ALPHAS),
        vary={"gap": [0.1, 0.3, 1, 3]},
        budgets=[320],
        smoke=Scale(2, vary={"gap": [1]}),
    ),
    **{
        name: _tuning(
            place, problem, _linear_grid(SIGMA, _ALPHAS), vary={"n_arms": [8, 16, 32]}, budgets=PerArm(ratios)
        )
        for name, place, problem, ratios in (
            ("tune_adaptive", "the adaptive instance", partial(adaptive_instance), (10, 20, 50)),
            ("tune_sphere", "random instances", partial(sphere_instance, seed=1), (20, 50)),
        )
    },
    **{
        name: _tuning(
            place,
            partial(real, seed=1),
            _linear_grid(TABLE_SIGMA, _TABLE_ALPHAS),
            stand_in=partial(made, seed=1),
            **_TABLE,
        )
        for name, place, real, made in (
            ("tune_automobile", "cars", tables.automobile_instance, tables.stand_in_automobile_instance),
            ("tune_motor", "the motor", tables.electric_motor_instance, tables.stand_in_electric_motor_instance),
        )
    },
    "tune_logistic": _tuning(
        "logistic instances",
        partial(logistic_instance, seed=1),
        one_change("UCB-GLM", partial(UcbGlm), _GLM_ALPHAS, itself=False) | _kernels(BINARY_SIGMA),
        vary={"n_features": [5, 7, 10, 12]},
        budgets=[80, 160, 400],
        smoke=Scale(2, budgets=[80], vary={"n_features": [5]}),
    ),
}

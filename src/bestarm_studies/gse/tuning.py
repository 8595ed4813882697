"""Grids for δ, α and kernels: the figures take the best of them, found on other instances and with other noise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from bestarm.experiments.experiment import Experiment
from bestarm.experiments.scale import PerArm, Scale
from bestarm.policies.bayes_gap import ArmKernel, BayesGap
from bestarm.policies.budgeted import lingape, lingape_greedy
from bestarm.policies.ucb_glm import UcbGlm
from bestarm_studies.gse.algorithms import BINARY_SIGMA, SIGMA, TABLE_SIGMA, lin_ucb, search
from bestarm_studies.gse.instances import adaptive_instance, sphere_instance, static_instance
from bestarm_studies.gse.logistic_instances import logistic_instance
from bestarm_studies.gse.tabular import (
    automobile_instance,
    electric_motor_instance,
    stand_in_automobile_instance,
    stand_in_electric_motor_instance,
)

_DELTAS = (0.01, 0.05, 0.1, 0.4, 0.9)
_LENGTHSCALES = (0.001, 0.1, 1, 10, 1000)
_ALPHAS = (0.5, 1, 2, 3.16, 6.32, 12.6, 25.3)  # up to eight times the standard deviation of a reward
_TABLE_ALPHAS = (0.05, 0.1, 0.2, 0.32, 0.63, 1.26, 2.53)


def _kernels(sigma: float) -> dict[str, Any]:
    kernels: dict[str, ArmKernel] = {"BayesGap-exp": "exponential", "BayesGap-M": "matern32"}
    return {
        f"{name} | ℓ = {lengthscale:g}": partial(BayesGap, sigma=sigma, kernel=kernel, lengthscale=lengthscale)
        for name, kernel in kernels.items()
        for lengthscale in _LENGTHSCALES
    }


def _linear_grid(sigma: float, alphas: Sequence[float]) -> dict[str, Any]:
    """Return the grids of all rivals for linear rewards."""
    optimised = {d: partial(lingape, sigma=sigma, delta=d) for d in _DELTAS}
    return {
        **{f"LinGapE-Greedy | δ = {d:g}": partial(lingape_greedy, sigma=sigma, delta=d) for d in _DELTAS},
        **{f"LinGapE | δ = {d:g}": policy for d, policy in optimised.items()},
        **{f"LinUCB | α = {alpha:g}": lin_ucb(alpha) for alpha in alphas},
        "BayesGap | linear": partial(BayesGap, sigma=sigma, kernel="linear"),
        **_kernels(sigma),
    }


def _logistic_grid() -> dict[str, Any]:
    alphas = {f"UCB-GLM | α = {alpha:g}": partial(UcbGlm, alpha=alpha) for alpha in (0.1, 0.5, 1, 2)}
    return {**alphas, "UCB-GLM | α of the theory": partial(UcbGlm), **_kernels(BINARY_SIGMA)}


def _tuning(place: str, problem: partial[Any], series: dict[str, Any], **settings: Any) -> Experiment:
    laptop, paper = Scale(200), Scale(1000)
    return search(f"Tuning on {place}", problem, series, laptop=laptop, paper=paper, draws="tuning", **settings)


TUNING = {
    "tune_static": _tuning(
        "the static instance",
        partial(static_instance, n_arms=16),
        _linear_grid(SIGMA, _ALPHAS),
        vary={"gap": [0.1, 0.3, 1, 3]},
        budgets=[320],
        smoke=Scale(2, vary={"gap": [1]}),
    ),
    "tune_adaptive": _tuning(
        "the adaptive instance",
        partial(adaptive_instance),
        _linear_grid(SIGMA, _ALPHAS),
        vary={"n_arms": [8, 16, 32]},
        budgets=PerArm((10, 20, 50)),
    ),
    "tune_sphere": _tuning(
        "random instances",
        partial(sphere_instance, seed=1),
        _linear_grid(SIGMA, _ALPHAS),
        vary={"n_arms": [8, 16, 32]},
        budgets=PerArm((20, 50)),
    ),
    "tune_automobile": _tuning(
        "cars",
        partial(automobile_instance, seed=1),
        _linear_grid(TABLE_SIGMA, _TABLE_ALPHAS),
        stand_in=partial(stand_in_automobile_instance, seed=1),
        vary={"n_arms": [8, 16]},
        budgets=PerArm((10, 20, 50)),
    ),
    "tune_motor": _tuning(
        "the motor",
        partial(electric_motor_instance, seed=1),
        _linear_grid(TABLE_SIGMA, _TABLE_ALPHAS),
        stand_in=partial(stand_in_electric_motor_instance, seed=1),
        vary={"n_arms": [8, 16]},
        budgets=PerArm((10, 20, 50)),
    ),
    "tune_logistic": _tuning(
        "logistic instances",
        partial(logistic_instance, seed=1),
        _logistic_grid(),
        vary={"n_features": [5, 7, 10, 12]},
        budgets=[80, 160, 400],
        smoke=Scale(2, budgets=[80], vary={"n_features": [5]}),
    ),
}

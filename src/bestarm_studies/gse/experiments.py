"""The experiments of the GSE paper: its figures, what lies beyond them, the audit, the bounds, and times."""

from __future__ import annotations

from functools import partial
from typing import Any

from bestarm.policies.bayes_gap import BayesGap
from bestarm.policies.budgeted import lingape_greedy
from bestarm.policies.gse import Gse
from bestarm.policies.od_linbai import OdLinBai
from bestarm.policies.peace import Peace
from bestarm.policies.ucb_glm import UcbGlm
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.one_change import one_change
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_lab.experiments.series import Series
from bestarm_lab.metrics import correct
from bestarm_studies.gse.algorithms import (
    BINARY_SIGMA,
    FWG,
    HALVING,
    LAPTOP_4000,
    LINEAR_GSE,
    OD_LINBAI,
    PEACE,
    SIGMA,
    TABLE_SIGMA,
    UNIFORM,
    at_most,
    bayes_gap,
    keeping,
    lin_ucb,
    lingapes,
    search,
    unprojected,
    with_leak,
)
from bestarm_studies.gse.audit import AUDIT
from bestarm_studies.gse.bound_rows import leverage_rows, overtaking_rows, step_rows
from bestarm_studies.gse.instances import adaptive_instance, corner_instance, sphere_instance, static_instance
from bestarm_studies.gse.logistic_instances import logistic_instance
from bestarm_studies.gse.per_arm import PER_ARM
from bestarm_studies.gse.run_times import run_times
from bestarm_studies.gse.stage_observer import ObservedStages
from bestarm_studies.gse.tabular import (
    automobile_instance,
    electric_motor_instance,
    stand_in_automobile_instance,
    stand_in_electric_motor_instance,
)
from bestarm_studies.gse.tabular import correct as correct_row
from bestarm_studies.gse.theory import theory_instance
from bestarm_studies.gse.tuning import TUNING

LOGISTIC = partial(Gse, model="logistic", allocation="uniform")
LOGISTIC_FWG = partial(Gse, model="logistic", allocation="g-optimal")
FWG_AND_OD = {"GSE-Lin-FWG": FWG, "OD-LinBAI": OD_LINBAI}
UNIFORM_AND_FWG = {"GSE-Lin": UNIFORM, "GSE-Lin-FWG": FWG}
LEAKED = Series(OD_LINBAI, partial(OdLinBai, schedule_dimension=4))  # what the run before leaves behind in the code


def _bayes_lin(sigma: float) -> partial[Any]:
    return partial(BayesGap, sigma=sigma, kernel="linear")


def _static(variance: float, alpha: float, as_coded: bool) -> Experiment:
    sigma = variance**0.5
    return search(
        f"Figure 1: static instance, variance {variance:g}",
        partial(static_instance, n_arms=16, variance=variance),
        {
            **LINEAR_GSE,
            **keeping(UNIFORM_AND_FWG),
            **at_most(
                1000,
                {
                    "LinUCB": lin_ucb(alpha),
                    **lingapes(sigma, 0.4, 0.01),
                    "BayesGap-exp": bayes_gap(sigma, "exponential", 0.001, {"lengthscale": 1000}),
                    "Peace": PEACE,
                },
            ),
            "OD-LinBAI": OD_LINBAI,
        },
        as_coded=as_coded,
        vary={"gap": [0.01, 0.03, 0.05, 0.1, 0.3, 1, 2, 3]},
        budgets=[320],
        smoke=Scale(2, vary={"gap": [1]}),
        laptop=Scale(4000),
    )


def _logistic(title: str, as_coded: bool, **settings: Any) -> Experiment:
    eliminations = {"GSE-Log": LOGISTIC, "GSE-Log-FWG": LOGISTIC_FWG, "GSE-Lin": UNIFORM, "GSE-Lin-FWG": FWG}
    return search(
        title,
        partial(logistic_instance, **settings),
        {
            **with_leak(eliminations),
            **at_most(
                3000,
                {
                    "UCB-GLM": partial(UcbGlm),
                    "BayesGap-M": bayes_gap(BINARY_SIGMA, "matern32", 10, {"sigma": SIGMA}),
                },
            ),
        },
        as_coded=as_coded,
        vary={"n_features": [5, 7, 10, 12]},
        budgets=[80, 160, 400],
        smoke=Scale(2, budgets=[80], vary={"n_features": [5]}),
        laptop=Scale(4000),
    )


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
            "BayesGap-Lin": _bayes_lin(TABLE_SIGMA),
            "BayesGap-exp": bayes_gap(TABLE_SIGMA, "exponential", 1, {"kernel": "empirical"}),
            "Peace": PEACE,
            **unprojected({"OD-LinBAI": OD_LINBAI}),
        },
        as_coded=as_coded,
        stand_in=partial(stand_in_electric_motor_instance, target=target),
        accuracy=correct_row,
        vary={"n_arms": [8, 16]},
        budgets=PerArm((10, 20, 50)),
    )


FIGURES = {
    "fig1": _static(10.0, alpha=6.32, as_coded=True),
    "fig1_unit": _static(1.0, alpha=2, as_coded=False),
    "fig2": search(
        "Figure 2: adaptive instance",
        partial(adaptive_instance),
        {
            **LINEAR_GSE,
            **keeping(UNIFORM_AND_FWG),
            **at_most(
                1000,
                {
                    "LinUCB": lin_ucb(6.32),
                    **lingapes(SIGMA, 0.9, 0.4),
                    "BayesGap-Lin": _bayes_lin(SIGMA),
                    "BayesGap-exp": bayes_gap(SIGMA, "exponential", 0.001),
                    "Peace": PEACE,
                },
            ),
            "OD-LinBAI": LEAKED,
        },
        as_coded=True,
        vary={"n_arms": [8, 16, 32, 64, 128]},
        budgets=PerArm((10, 20, 50)),
        laptop=LAPTOP_4000,
    ),
    "fig3": search(
        "Figure 3: random instances",
        partial(sphere_instance),
        {
            **with_leak(LINEAR_GSE),
            **keeping(UNIFORM_AND_FWG),
            **at_most(
                1000,
                {
                    "LinUCB": lin_ucb(6.32),
                    **lingapes(SIGMA, 0.1, 0.9),
                    "BayesGap-Lin": _bayes_lin(SIGMA),
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
        laptop=LAPTOP_4000,
    ),
    "fig4": _logistic("Figure 4: logistic rewards", as_coded=True),
    "fig4_scale": _logistic("Figure 4 with standard deviation 3/d", as_coded=False, coded_scale=True),
    "fig5a": search(
        "Figure 5a: automobile prices",
        partial(automobile_instance),
        {
            **unprojected(LINEAR_GSE),
            **keeping(unprojected(UNIFORM_AND_FWG)),
            "Sequential halving": HALVING,
            "LinUCB": lin_ucb(2.53),
            **lingapes(TABLE_SIGMA, 0.9, 0.4),
            "BayesGap-Lin": _bayes_lin(TABLE_SIGMA),
            "BayesGap-exp": bayes_gap(TABLE_SIGMA, "exponential", 10, {"lengthscale": 1e-6}),
            "Peace": PEACE,
            **unprojected({"OD-LinBAI": OD_LINBAI}),
        },
        as_coded=True,
        stand_in=partial(stand_in_automobile_instance),
        accuracy=correct_row,
        vary={"n_arms": [8, 16]},
        budgets=PerArm((10, 20, 50)),
    ),
    "fig5b": _motor("motor_speed", as_coded=True),
    "fig5b_pm": _motor("pm", as_coded=False),
    "fig6": search(
        "Figure 6: GSE against OD-LinBAI on random instances",
        partial(sphere_instance, variance=1.0),
        with_leak(FWG_AND_OD),
        as_coded=True,
        vary={"n_arms": [8, 16, 32, 64]},
        budgets=[100, 200, 500],
        smoke=Scale(2, budgets=[100], vary={"n_arms": [8]}),
        laptop=Scale(4096),
        paper=Scale(4096),
    ),
    "fig7": search(
        "Figure 7: the corner case",
        partial(corner_instance),
        FWG_AND_OD,
        as_coded=True,
        vary={"n_arms": range(3, 25)},
        budgets=[25],
        smoke=Scale(2, vary={"n_arms": [4, 8]}),
        laptop=Scale(1000),
        paper=Scale(4000),
    ),
}


def _stages(problem: partial[Any]) -> dict[str, Any]:
    return {
        "problem": problem,
        "series": one_change("GSE-Lin-FWG", FWG, {"η = 3": {"eta": 3}, "η = 4": {"eta": 4}, "η = K": {"eta": 1024}}),
        "vary": {"n_arms": [8, 16, 32]},
        "budgets": PerArm((10, 20, 50)),
        "laptop": Scale(4000),
    }


TREND = {
    "GSE-Lin": UNIFORM,
    **FWG_AND_OD,
    "LinUCB": lin_ucb(6.32),
    "LinGapE-Greedy": partial(lingape_greedy, sigma=SIGMA, delta=0.9),
    "BayesGap-Lin": _bayes_lin(SIGMA),
}

BEYOND = {
    "designs": search(
        "Designs and roundings on random instances",
        partial(sphere_instance),
        one_change(
            "GSE-Lin-FWG",
            FWG,
            {
                "line search of Algorithm 2": {"allocation": "frank-wolfe"},
                "published line search": {"allocation": "coded-grid"},
                "Kumar-Yıldırım start": {"allocation": "kumar-yildirim"},
                "Wynn's steps": {"allocation": "wynn"},
                "Soare's greedy rule": {"allocation": "greedy"},
                "clusters": {"allocation": "clusters"},
                "uniform": {"allocation": "uniform"},
                "rounded up": {"rounding": "ceiling"},
                "multinomial": {"rounding": "multinomial"},
                "Allen-Zhu's rounding": {"rounding": "allen-zhu"},
                "all of the budget": {"spends_remainder": True},
            },
        ),
        vary={"n_arms": [8, 16, 32, 128]},
        budgets=PerArm((20,)),
        laptop=Scale(4000, fewer={"n_arms": {128: 500}}),
        paper=Scale(4000),
    ),
    "eta_adaptive": search("Other η, adaptive instance", **_stages(partial(adaptive_instance))),
    "eta_sphere": search("Other η, random instances", **_stages(partial(sphere_instance))),
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
    ),
}

TIMES = {
    "growth_times": Computation(
        "Time of a pull against K",
        partial(
            run_times,
            series={**LINEAR_GSE, "OD-LinBAI": OD_LINBAI},
            problem=partial(sphere_instance),
            n_arms=[16, 64, 256, 1024],
            per_arm=5,
            n_pulls=25_600,
        ),
        profiles={
            "smoke": {"replications": 2, "n_arms": [16], "n_pulls": 400},
            "laptop": {"replications": 10},
        },
        measured=True,
    ),
    "peace_times": Computation(
        "Time of a pull of Peace",
        partial(
            run_times,
            series={"GSE-Lin-FWG": FWG, "Peace": partial(Peace)},
            problem=partial(adaptive_instance),
            n_arms=[16, 32],
            per_arm=20,
            n_pulls=25_600,
        ),
        profiles={
            "smoke": {"replications": 2, "n_pulls": 1280},
            "laptop": {"replications": 10},
        },
        measured=True,
    ),
}


def _bounds(
    rewards: str, series: dict[str, Any], budgets: list[int], signal: float, laptop: int, paper: int
) -> Experiment:
    return Experiment(
        f"Errors beside the bounds, {rewards} rewards",
        partial(theory_instance, model=rewards, n_arms=8, n_features=4, sigma=1.0, signal=signal),
        series,
        profiles={"smoke": Scale(20, budgets=[100, 400]), "laptop": Scale(laptop), "paper": Scale(paper)},
        metrics=(correct,),
        budgets=budgets,
        observe=ObservedStages,
        block=5000,
    )


THEORY = {
    "bounds_linear": _bounds(
        "linear",
        {"GSE-Lin": UNIFORM, "GSE-Lin-FWG": FWG},
        [50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800],
        signal=1.0,
        laptop=10_000,
        paper=100_000,
    ),
    "bounds_logistic": _bounds(
        "logistic",
        {"GSE-Log": LOGISTIC, "GSE-Log-FWG": LOGISTIC_FWG},
        [100, 400, 1600, 6400, 12_800, 25_600],
        signal=2.0,
        laptop=2000,
        paper=20_000,
    ),
}

STATEMENTS = {
    "bounds_overtaking": Computation(
        "Arms that overtake the best in a logistic fit",
        partial(overtaking_rows, runs=4000),
        profiles={"smoke": {"replications": 2, "runs": 100}, "laptop": {"replications": 30}},
    ),
    "bounds_steps": Computation(
        "Steps of Frank-Wolfe from Kumar and Yıldırım's start",
        partial(step_rows, dimensions=(8, 16, 32, 64), arms_per_dimension=(4, 16)),
        profiles={"smoke": {"replications": 2, "dimensions": (8,)}, "laptop": {"replications": 20}},
    ),
    "bounds_clusters": Computation(
        "Leverages of the example of Appendix H",
        partial(leverage_rows, arms=(8, 16, 32, 64)),
        profiles={"smoke": {"replications": 1, "arms": (8,)}, "laptop": {"replications": 1}},
    ),
}

EXPERIMENTS: dict[str, Experiment | Computation] = {
    **TUNING,
    **FIGURES,
    **PER_ARM,
    **BEYOND,
    **AUDIT,
    **TIMES,
    **THEORY,
    **STATEMENTS,
}

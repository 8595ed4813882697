"""The algorithms that the experiments share, the noise of the instances, and the scale of a run."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bestarm.policies.linear.bayes_gap import ArmKernel, BayesGap
from bestarm.policies.linear.budgeted import lingape, lingape_greedy
from bestarm.policies.linear.gse import Gse
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.policies.linear.od_linbai import OdLinBai
from bestarm.policies.linear.peace import Peace
from bestarm_lab.experiments.experiment import Experiment, Metric
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_lab.experiments.series import Series, one_change
from bestarm_lab.metrics import correct, simple_regret

SIGMA = math.sqrt(10.0)  # of a reward of the synthetic linear instances, unless they say otherwise
TABLE_SIGMA = math.sqrt(0.1)  # of a reward of the cars and of the motor
BINARY_SIGMA = 0.5  # rewards of 0 or 1 are 1/4-sub-Gaussian
UNIFORM = partial(Gse, allocation="uniform")
FWG = partial(Gse, allocation="g-optimal")
GREEDY = partial(Gse, allocation="greedy")
WYNN = partial(Gse, allocation="wynn")
OD_LINBAI = partial(OdLinBai)
LINEAR_GSE: dict[str, Any] = {"GSE-Lin": UNIFORM, "GSE-Lin-FWG": FWG, "GSE-Lin-Greedy": GREEDY, "GSE-Lin-Wynn": WYNN}
LOGISTIC = partial(Gse, model="logistic", allocation="uniform")
LOGISTIC_FWG = partial(Gse, model="logistic", allocation="g-optimal")
FWG_AND_OD = {"GSE-Lin-FWG": FWG, "OD-LinBAI": OD_LINBAI}
UNIFORM_AND_FWG = {"GSE-Lin": UNIFORM, "GSE-Lin-FWG": FWG}
HALVING = Series(partial(Gse, model="means"), conventions=("as_written",))  # sequential halving: it sees no features
_KEEPING = {"rewards kept": {"keeps_rewards": True}}
PEACE = Series(partial(Peace), within={"n_arms": 32})
SMOKE = Scale(2, budgets=PerArm((10,)), vary={"n_arms": [8]})
LAPTOP = Scale(1000, fewer={"n_arms": {32: 500, 64: 200, 128: 50}})  # the paper's own 1000, where K is small
PAPER = Scale(4000, fewer={"n_arms": {64: 1000, 128: 400}})  # "alike within 0.04" cannot be shown with 1000


def search(
    title: str,
    problem: partial[Any],
    series: dict[str, Any],
    *,
    smoke: Scale = SMOKE,
    laptop: Scale = LAPTOP,
    paper: Scale = PAPER,
    as_coded: bool = False,
    accuracy: Metric = correct,
    **settings: Any,
) -> Experiment:
    """Return an experiment by accuracy, of the name "correct", and simple regret; both conventions if ``as_coded``."""
    return Experiment(
        title,
        problem,
        series,
        profiles={"smoke": smoke, "laptop": laptop, "paper": paper},
        metrics=(accuracy, simple_regret),
        conventions=("as_written", "as_coded") if as_coded else ("as_written",),
        block=1000,
        **settings,
    )


def lin_ucb(alpha: float) -> partial[Any]:
    """Return LinUCB with some exploration; the authors' code has its own."""
    return partial(LinUcb, alpha=alpha)


def lingapes(sigma: float, delta: float, greedy_delta: float) -> dict[str, Series]:
    """Return both forms of LinGapE; the authors' code has a δ of 0.4, and its solver is slow: 200 runs to K = 32."""
    optimised, greedy = partial(lingape, sigma=sigma), partial(lingape_greedy, sigma=sigma)
    return {
        "LinGapE": Series(
            partial(optimised, delta=delta),
            partial(optimised, delta=0.4),
            coded_within={"n_arms": 32},
            coded_replications=200,
        ),
        "LinGapE-Greedy": Series(partial(greedy, delta=greedy_delta), partial(greedy, delta=0.4)),
    }


def keeping(series: Mapping[str, partial[Any]]) -> dict[str, Series]:
    """Return the ablation of eliminations that use the rewards of all stages; the authors' code has none."""
    return {
        name: Series(changed, conventions=("as_written",))
        for algorithm, policy in series.items()
        for name, changed in one_change(algorithm, policy, _KEEPING, itself=False).items()
    }


def at_most(runs: int, series: Mapping[str, Any]) -> dict[str, Series]:
    """Return series with at most so many runs, where others of the experiment have more."""
    return {
        name: replace(policy if isinstance(policy, Series) else Series(policy), replications=runs)
        for name, policy in series.items()
    }


def bayes_gap(sigma: float, kernel: ArmKernel, lengthscale: float, coded: Mapping[str, Any] | None = None) -> Series:
    """Return BayesGap with a stationary kernel, and with the settings of the authors' code in its place."""
    policy = partial(BayesGap, sigma=sigma, kernel=kernel, lengthscale=lengthscale)
    return Series(policy, partial(policy, **coded) if coded else None)


def bayes_lin(sigma: float) -> partial[Any]:
    return partial(BayesGap, sigma=sigma, kernel="linear")


def with_leak(series: dict[str, Any]) -> dict[str, Any]:
    """Return eliminations that overwrite the dimension of the instances in the authors' code."""
    return {name: Series(policy, problem={"leaks": True}) for name, policy in series.items()}


def unprojected(series: dict[str, Any]) -> dict[str, Any]:
    """Return eliminations that see a table's features as they are."""
    return {name: partial(policy, projection="none") for name, policy in series.items()}

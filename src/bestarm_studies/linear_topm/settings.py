"""Settings, algorithms, instances and scales that the experiments of the Top-m paper share, and those of one by name.

Angles are in radians; sigma, rewards and gaps are in units of reward.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import pi
from typing import Any

from bestarm.interface import FiniteProblem
from bestarm.policies.linear.gifa import Gifa, LinGifa, Lucb, MLinGape, Ugape
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.experiments.series import name_of_change, one_change
from bestarm_lab.metrics import correct, simple_regret
from bestarm_lab.study import load_study
from bestarm_studies.linear_topm.drug_instance import drug_instance, stand_in_drug_instance
from bestarm_studies.linear_topm.instances import classic_instance, published_random_instance

SIGMA = 0.5
PAPER: dict[str, Any] = {"delta": 0.05, "epsilon": 0.0, "sigma": SIGMA, "norm_bound": 1.0}
HEURISTIC: dict[str, Any] = {"threshold": "heuristic"}  # where the paper does not use the threshold of Equation 2

# K = 4, m = 2 at the angles of Figures 1 and 2, and between and beyond them
PI_3, PI_4, PI_6, PI_9, PI_12 = (partial(classic_instance, n_arms=4, n_best=2, omega=pi / n) for n in (3, 4, 6, 9, 12))
HARD = partial(classic_instance, n_arms=3, n_best=1, omega=0.1)
RANDOM = partial(published_random_instance)
DRUGS = partial(drug_instance)
STAND_IN_DRUGS = partial(stand_in_drug_instance)
BOTH: Any = ("as_written", "as_coded")

NAMED: dict[str, partial[Any]] = {  # as the figures of the paper name them
    "m-LinGapE (greedy)": partial(MLinGape, selection="greedy"),
    "m-LinGapE (optimized)": partial(MLinGape, selection="optimised"),
    "LinGIFA (largest var.)": partial(LinGifa),
    "LinGIFA (τ^LUCB, largest var.)": partial(LinGifa, stop="lucb"),
    "LinGIFA (greedy)": partial(LinGifa, selection="greedy"),
    "LinGIFA (τ^LUCB, greedy)": partial(LinGifa, stop="lucb", selection="greedy"),
    "LinGIFA (individual indices)": partial(LinGifa, index="individual"),
    "LUCB (largest var.)": partial(Lucb),
    "UGapE": partial(Ugape),
}
CLASSIC = tuple(NAMED)  # the algorithms of Figures 1(a) and 2
NAMED |= {
    "m-LinGapE (largest var.)": partial(MLinGape, selection="largest_variance"),
    "m-LinGapE (greedy, no initialisation)": partial(MLinGape, selection="greedy", initialise=False),
    "LUCB (sampling both arms)": partial(Lucb, selection="both"),
}


def scales(smoke: int, laptop: int, paper: int | None = None, **settings: Any) -> dict[Profile, Scale]:
    """Return the runs of each profile; the paper's own number is 500, which most have on a laptop already."""
    found: dict[Profile, Scale] = {"smoke": Scale(smoke, **settings), "laptop": Scale(laptop, **settings)}
    return found if paper is None else found | {"paper": Scale(paper, **settings)}


LOOKS = scales(4, 500, 3500)  # what decides claims on Figures 1 to 3 that 500 runs left open


def experiment(title: str, problem: partial[Any], series: Mapping[str, Any], **settings: Any) -> Experiment:
    """Return an experiment that asks whether the arms found are the best and what is lost."""
    given: dict[str, Any] = {"metrics": (correct, simple_regret), "profiles": scales(4, 500)}
    return Experiment(title, problem, series, **(given | settings))


def named_algorithms(*names: str, **settings: Any) -> dict[str, Gifa]:
    """Return algorithms by their names in the figures, with the paper's settings but for those that are given."""
    return {name: NAMED[name](**(PAPER | settings)) for name in names}


def classic_series(**settings: Any) -> dict[str, Gifa]:
    """Return the nine algorithms of Figures 1(a) and 2, for m = 2."""
    return named_algorithms(*CLASSIC, n_best=2, **settings)


def with_changes(name: str, policy: Any, changes: dict[str, dict[str, Any]], *, coded: bool = True) -> dict[str, Any]:
    """Return an algorithm, one series for each change of it alone, and last, if asked for, all of the authors' code."""
    found = one_change(name, policy, changes)
    return found | {name_of_change(name, "as coded"): policy.as_coded()} if coded else found


def parts_of(name: str, *, stand_in: bool = False) -> tuple[FiniteProblem, dict[str, Gifa]]:
    """Return the problem and the algorithms as written of an experiment.
    Raises ValueError if the name is that of no search."""
    experiment = search_of(name)
    if stand_in and experiment.stand_in is not None:
        experiment = replace(experiment, problem=experiment.stand_in, stand_in=None)
    return experiment.first_problem(), algorithms_of(experiment)


def search_of(name: str) -> Experiment:
    """Return an experiment that is a search."""
    experiment = load_study("linear_topm").experiments[name]
    if not isinstance(experiment, Experiment):
        raise ValueError(f"{name!r} is a computation; it has no algorithms.")
    return experiment


def algorithms_of(experiment: Experiment) -> dict[str, Gifa]:
    """Return the algorithms of an experiment as written, by series."""
    return {cell.series: cell.policy for cell in experiment.cells("laptop") if cell.convention == "as_written"}

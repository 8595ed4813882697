"""Settings, algorithms, instances and scales that the experiments of the Top-m paper share.

Angles are in radians; sigma, rewards and gaps are in units of reward.
"""

from collections.abc import Mapping
from functools import partial
from math import pi
from typing import Any

from bestarm.policies.linear.gifa import Gifa, LinGifa, Lucb, MLinGape, Ugape
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.one_change import name_of_change, one_change
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.metrics import correct, simple_regret
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


def scales(smoke: int, laptop: int, paper: int | None = None, **settings: Any) -> dict[Profile, Scale]:
    """Return the runs of each profile; the paper's own number is 500, which most have on a laptop already."""
    found: dict[Profile, Scale] = {"smoke": Scale(smoke, **settings), "laptop": Scale(laptop, **settings)}
    return found if paper is None else found | {"paper": Scale(paper, **settings)}


LOOKS = scales(20, 500, 3500)  # what decides claims on Figures 1 to 3 that 500 runs left open


def experiment(title: str, problem: partial[Any], series: Mapping[str, Any], **settings: Any) -> Experiment:
    """Return an experiment that asks whether the arms found are the best and what is lost."""
    given: dict[str, Any] = {"metrics": (correct, simple_regret), "profiles": scales(20, 500)}
    return Experiment(title, problem, series, **(given | settings))


def classic_series(**settings: Any) -> dict[str, Gifa]:
    """Return the nine algorithms of Figures 1(a) and 2, for m = 2."""
    given = PAPER | {"n_best": 2} | settings
    return {
        "m-LinGapE (greedy)": MLinGape(selection="greedy", **given),
        "m-LinGapE (optimized)": MLinGape(selection="optimised", **given),
        "LinGIFA (largest var.)": LinGifa(**given),
        "LinGIFA (τ^LUCB, largest var.)": LinGifa(stop="lucb", **given),
        "LinGIFA (greedy)": LinGifa(selection="greedy", **given),
        "LinGIFA (τ^LUCB, greedy)": LinGifa(stop="lucb", selection="greedy", **given),
        "LinGIFA (individual indices)": LinGifa(index="individual", **given),
        "LUCB (largest var.)": Lucb(**given),
        "UGapE": Ugape(**given),
    }


def with_changes(
    name: str, policy: Any, changes: Mapping[str, Mapping[str, Any]], *, coded: bool = True
) -> dict[str, Any]:
    """Return an algorithm, one series for each change of it alone, and last, if asked for, all of the authors' code."""
    found = one_change(name, policy, changes)
    return found | {name_of_change(name, "as coded"): policy.as_coded()} if coded else found

"""Searches of an objective, in panels of the paper's figures or otherwise, and computed rows."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.experiments.series import name_of_change
from bestarm_studies.dpp_bbo.batch_observer import BatchObserver
from bestarm_studies.dpp_bbo.candidate_arms import candidate_regret
from bestarm_studies.dpp_bbo.series import controls, frozen, learned, published, region_searches

RUNS = 50  # as in the paper
# The paper prints that "the mean function of the prior GP was the zero function", and not whether of centred rewards.
ZERO_MEANS: dict[str, dict[str, Any]] = {
    "mean of zero": {"constant": 0.0},  # of rewards less their mean
    "mean of zero, not centred": {"constant": 0.0, "offset": 0.0, "standardise": False},
}
PROFILES: dict[Profile, Scale] = {"smoke": Scale(2, settings={"rounds": 3}), "laptop": Scale(RUNS)}


def search(
    title: str, series: Mapping[str, Any], problem: partial[Any], stand_in: partial[Any] | None = None, **settings: Any
) -> Experiment:
    """Return searches of an objective, recorded after every batch unless ``every`` says otherwise."""
    given: dict[str, Any] = {"profiles": PROFILES, "every": 1, "metrics": (candidate_regret,), "block": 25}
    given |= {"problem": problem, "stand_in": stand_in, "observe": BatchObserver}
    return Experiment(title, series=series, **given | settings)


def with_candidates(runs: int) -> Scale:
    """Return so many runs of a problem that draws the candidates of each."""
    return Scale(runs, problem={"replications": runs})


def panels(figure: str, name: str, objective: str, *problem: partial[Any], paper: Scale) -> dict[str, Experiment]:
    """Return the panels of an objective in a figure of the paper, in batches of five and ten, with controls.
    ``problem`` is its constructor, and that of its stand-in where it reads data; ``paper`` decides claims."""
    return {
        f"{name}_b{batch}": search(
            f"{figure}: {objective}, B = {batch}",
            published(batch, learned(objective)) | controls(batch, learned(objective)),
            *problem,
            profiles=PROFILES | {"paper": paper},
        )
        for batch in (5, 10)
    }


def with_zero_mean(name: str, objective: str, *problem: partial[Any]) -> dict[str, Experiment]:
    """Return the paper's seven searches of `panels` with its prior mean, the zero function, in place of ours."""
    return {
        f"zero_mean_{name}_b{batch}": search(
            f"{objective}, B = {batch}, prior mean of zero",
            {
                name_of_change(label, change): policy
                for change, settings in ZERO_MEANS.items()
                for label, policy in published(batch, learned(objective, **settings)).items()
            },
            *problem,
        )
        for batch in (5, 10)
    }


def with_known(name: str, objective: str, *problem: partial[Any]) -> dict[str, Experiment]:
    """Return the searches of `panels` and uniform arms, with hyper-parameters that are known beforehand."""
    found = {}
    for batch in (5, 10):
        series = published(batch, frozen(objective))
        given = {"batch": batch, "rounds": series["GP-BUCB"].rounds, "model": frozen(objective)}
        title = f"{objective}, B = {batch}, hyper-parameters known"
        series |= region_searches(given, ("UNIFORM",))
        found[f"frozen_{name}_b{batch}"] = search(title, series, *problem, every=2)
    return found

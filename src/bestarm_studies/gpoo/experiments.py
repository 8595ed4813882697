"""Profiles, metrics and problems that the experiments of several sections share."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.experiments import computation
from bestarm_lab.experiments.experiment import Convention, Experiment, Metric
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.metrics import aggregated_regret, cell_regret, centre_regret, depth, distance_to_optimum, off_peak
from bestarm_studies.gpoo.functions import Maker, reward_function
from bestarm_studies.gpoo.series import BUDGET
from bestarm_studies.gpoo.trees import Searches

RUNS = 500  # the paper has 30
SMOKE = Scale(3)
WRITTEN: tuple[Convention, ...] = ("as_written",)
BOTH: tuple[Convention, ...] = ("as_written", "as_coded")
CURVE: tuple[Metric, ...] = (aggregated_regret, centre_regret, cell_regret, depth, distance_to_optimum, off_peak)
EFFECT: tuple[Metric, ...] = (aggregated_regret, cell_regret, depth, off_peak)
F1, F2, F3 = (partial(reward_function, name=name) for name in ("f1", "f2", "f3"))
computed = partial(computation.computed, few=3)


def search(
    title: str,
    problem: partial[Any],
    series: Mapping[str, Any],
    metrics: Sequence[Metric],
    conventions: Sequence[Convention],
    *,
    every: int,
    runs: int = RUNS,
    paper: int = RUNS,
    smoke: Scale = SMOKE,
    block: int = 500,
) -> Experiment:
    """Return an experiment with ``runs`` replications on a laptop and ``paper`` at the paper's scale."""
    profiles: dict[Profile, Scale] = {"smoke": smoke, "laptop": Scale(runs)}
    if runs < paper:
        profiles["paper"] = Scale(paper)
    return Experiment(
        title, problem, series, profiles, metrics=metrics, conventions=conventions, every=every, block=block
    )


def of_each(stem: str, title: str, problems: Sequence[partial[Any]], *given: Any, **settings: Any) -> dict[str, Any]:
    """Return one search of each of some functions, every fifth round recorded."""
    found = {}
    for problem in problems:
        name = problem.keywords["name"]
        found[f"{stem}_{name}"] = search(f"{title}, {name}", problem, *given, every=5, **settings)
    return found


def two_feedbacks(problem: Maker) -> Searches:
    """Return GPOO's searches of one function with single and with average feedback."""
    policy = Gpoo("GPOO", BUDGET)
    return {"GPOO (S = 1)": (policy, problem), "GPOO (S = 10)": (policy, partial(problem, n_representatives=10))}

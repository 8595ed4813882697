"""Problems and algorithms of the study's experiments, by name."""

from dataclasses import replace

from bestarm.interface import FiniteProblem
from bestarm.policies.linear.gifa import Gifa
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.study import load_study


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

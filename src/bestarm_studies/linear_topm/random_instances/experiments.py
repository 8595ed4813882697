"""Experiments on a random instance: Figure 3."""

from bestarm.policies.linear.gifa import LinGifa, MLinGape
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.linear_topm.settings import BOTH, HEURISTIC, LOOKS, PAPER, RANDOM, experiment


def _random(n_best: int) -> Experiment:
    given = PAPER | HEURISTIC | {"n_best": n_best}
    series = {
        "LinGIFA (largest var.)": LinGifa(**given),
        "m-LinGapE (optimized)": MLinGape(selection="optimised", **given),
    }
    return experiment("random linear instance, K = 10, N = 5", RANDOM, series, conventions=BOTH, profiles=LOOKS)


EXPERIMENTS: dict[str, Experiment | Computation] = {"fig3a": _random(3), "fig3b": _random(8)}

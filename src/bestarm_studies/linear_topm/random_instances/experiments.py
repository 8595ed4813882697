"""Experiments on a random instance: Figure 3."""

from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.linear_topm.settings import BOTH, HEURISTIC, LOOKS, RANDOM, experiment, named_algorithms


def _random(n_best: int) -> Experiment:
    series = named_algorithms("LinGIFA (largest var.)", "m-LinGapE (optimized)", n_best=n_best, **HEURISTIC)
    return experiment("random linear instance, K = 10, N = 5", RANDOM, series, conventions=BOTH, profiles=LOOKS)


EXPERIMENTS = {"fig3a": _random(3), "fig3b": _random(8)}

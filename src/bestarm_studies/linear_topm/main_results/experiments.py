"""Experiments on a classic, a hard and a real instance: Figure 1."""

from bestarm.policies.linear.gifa import LinGifa, Lucb, MLinGape
from bestarm.policies.linear.lingame import LinGame
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.linear_topm.settings import (
    BOTH,
    DRUGS,
    HARD,
    HEURISTIC,
    LOOKS,
    PAPER,
    PI_6,
    SIGMA,
    STAND_IN_DRUGS,
    classic_series,
    experiment,
    scales,
)

_DRUG = PAPER | HEURISTIC | {"n_best": 5}
EXPERIMENTS: dict[str, Experiment | Computation] = {
    "fig1a": experiment(
        "classic instance, K = 4, m = 2, ω = π/6", PI_6, classic_series(), conventions=BOTH, profiles=LOOKS
    ),
    "fig1b": experiment(
        "hard classic instance, K = 3, m = 1, ω = 0.1",
        HARD,
        {
            "m-LinGapE (greedy)": MLinGape(1, selection="greedy", **PAPER),
            "LinGIFA (greedy)": LinGifa(1, selection="greedy", **PAPER),
            "LinGame": LinGame(delta=PAPER["delta"], sigma=SIGMA, norm_bound=PAPER["norm_bound"]),
        },
        conventions=BOTH,
        profiles=LOOKS,
    ),
    "fig1c": experiment(
        "drug repurposing, K = 10, m = 5",
        DRUGS,
        {
            "m-LinGapE (greedy)": MLinGape(selection="greedy", **_DRUG),
            "m-LinGapE (optimized)": MLinGape(selection="optimised", **_DRUG),
            "LinGIFA (largest var.)": LinGifa(**_DRUG),
            "LinGIFA (greedy)": LinGifa(selection="greedy", **_DRUG),
            "LUCB (sampling both arms)": Lucb(selection="both", **_DRUG),
            "LUCB (largest var.)": Lucb(**_DRUG),
        },
        stand_in=STAND_IN_DRUGS,
        conventions=BOTH,
        profiles=scales(8, 500, 3500),
    ),
}

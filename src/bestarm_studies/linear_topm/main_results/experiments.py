"""Experiments on a classic, a hard and a real instance: Figure 1."""

from bestarm.policies.linear.lingame import LinGame
from bestarm_studies.linear_topm import settings as topm

_DRUG = (
    "m-LinGapE (greedy)",
    "m-LinGapE (optimized)",
    "LinGIFA (largest var.)",
    "LinGIFA (greedy)",
    "LUCB (sampling both arms)",
    "LUCB (largest var.)",
)
EXPERIMENTS = {
    "fig1a": topm.experiment(
        "classic instance, K = 4, m = 2, ω = π/6",
        topm.PI_6,
        topm.classic_series(),
        conventions=topm.BOTH,
        profiles=topm.LOOKS,
    ),
    "fig1b": topm.experiment(
        "hard classic instance, K = 3, m = 1, ω = 0.1",
        topm.HARD,
        {
            **topm.named_algorithms("m-LinGapE (greedy)", "LinGIFA (greedy)", n_best=1),
            "LinGame": LinGame(delta=topm.PAPER["delta"], sigma=topm.SIGMA, norm_bound=topm.PAPER["norm_bound"]),
        },
        conventions=topm.BOTH,
        profiles=topm.LOOKS,
    ),
    "fig1c": topm.experiment(
        "drug repurposing, K = 10, m = 5",
        topm.DRUGS,
        topm.named_algorithms(*_DRUG, n_best=5, **topm.HEURISTIC),
        stand_in=topm.STAND_IN_DRUGS,
        conventions=topm.BOTH,
        profiles=topm.scales(4, 500, 3500),
    ),
}

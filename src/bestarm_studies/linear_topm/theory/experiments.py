"""Experiments about the theory of the Top-m paper: runs under observation, and runs compared with Theorem 2."""

from functools import partial
from typing import Any

from bestarm.policies.linear.gifa import Gifa
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.linear_topm import settings as topm
from bestarm_studies.linear_topm.instances import classic_instance
from bestarm_studies.linear_topm.theory.observer import GifaObserver

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2)

# the algorithms that Theorem 2 speaks of, and those of Section 3 that use features
_analysed = partial(topm.named_algorithms, "m-LinGapE (largest var.)", "m-LinGapE (optimized)")
_linear = partial(_analysed, "m-LinGapE (greedy)", "LinGIFA (largest var.)", "LinGIFA (τ^LUCB, largest var.)")
_GROWING = {
    f"{name}, ε = {e}": topm.named_algorithms(name, n_best=3, epsilon=e, **topm.HEURISTIC)[name]
    for name in ("m-LinGapE (largest var.)", "LinGIFA (τ^LUCB, largest var.)")
    for e in EPSILONS
}


def _observed(title: str, problem: partial[Any], series: dict[str, Gifa], **settings: Any) -> Experiment:
    """Return runs under observation, so that every inequality is checked at every round."""
    given = {"observe": GifaObserver, "profiles": topm.scales(4, 500), "block": 100}
    return topm.experiment(title, problem, series, **(given | settings))


def _bound(title: str, problem: partial[Any], series: dict[str, Gifa], **settings: Any) -> Experiment:
    return topm.experiment(title, problem, series, **({"profiles": topm.scales(4, 100, 500), "block": 50} | settings))


_RANDOM_TITLE = "random linear instance, K = 10, N = 5, m = 3, heuristic threshold"
EXPERIMENTS = {
    "theory_classic": _observed(
        "classic, K = 4, m = 2, ω = π/6",
        topm.PI_6,
        _linear("LinGIFA (individual indices)", "LUCB (largest var.)", n_best=2),
    ),
    "theory_heuristic": _observed(
        "classic instance, K = 4, m = 2, ω = π/6, heuristic threshold", topm.PI_6, _linear(n_best=2, **topm.HEURISTIC)
    ),
    "theory_random": _observed(
        "random, K = 10, N = 5, m = 3", topm.RANDOM, _analysed(n_best=3), profiles=topm.scales(2, 60, 500), block=30
    ),
    "theory_random_heuristic": _observed(
        _RANDOM_TITLE, topm.RANDOM, _linear(n_best=3, **topm.HEURISTIC), profiles=topm.scales(4, 250, 500), block=50
    ),
    "theory_epsilon": _observed(f"{_RANDOM_TITLE}, growing ε", topm.RANDOM, _GROWING),
    "bound_pi3": _bound("classic, K = 4, m = 2, ω = π/3", topm.PI_3, _analysed(n_best=2)),
    "bound_pi4": _bound("classic, K = 4, m = 2, ω = π/4", topm.PI_4, _analysed(n_best=2)),
    "bound_pi9": _bound("classic, K = 4, m = 2, ω = π/9", topm.PI_9, _analysed(n_best=2)),
    "bound_hard": _bound(
        "classic, K = 3, m = 1, ω = 0.3", partial(classic_instance, n_arms=3, n_best=1, omega=0.3), _analysed(n_best=1)
    ),
    "bound_random5": _bound(
        "random, K = 10, N = 5, m = 5", topm.RANDOM, _analysed(n_best=5), profiles=topm.scales(2, 60, 500), block=30
    ),
    "bound_drug": _bound(
        "drugs, K = 10, m = 5, heuristic",
        topm.DRUGS,
        _analysed(n_best=5, **topm.HEURISTIC),
        stand_in=topm.STAND_IN_DRUGS,
    ),
}

"""Experiments about the theory of the Top-m paper: runs under observation, and runs compared with Theorem 2."""

from functools import partial
from typing import Any

from bestarm.policies.linear.gifa import Gifa, LinGifa, Lucb, MLinGape
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.linear_topm.instances import classic_instance
from bestarm_studies.linear_topm.settings import (
    DRUGS,
    HEURISTIC,
    PAPER,
    PI_3,
    PI_4,
    PI_6,
    PI_9,
    RANDOM,
    STAND_IN_DRUGS,
    experiment,
    scales,
)
from bestarm_studies.linear_topm.theory.observer import GifaObserver

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2)


def _analysed(n_best: int, **settings: Any) -> dict[str, Gifa]:
    """Return the algorithms that Theorem 2 speaks of."""
    given = PAPER | {"n_best": n_best} | settings
    return {
        "m-LinGapE (largest var.)": MLinGape(selection="largest_variance", **given),
        "m-LinGapE (optimized)": MLinGape(selection="optimised", **given),
    }


def _linear(n_best: int, **settings: Any) -> dict[str, Gifa]:
    """Return the algorithms of Section 3 that use features."""
    given = PAPER | {"n_best": n_best} | settings
    return _analysed(n_best, **settings) | {
        "m-LinGapE (greedy)": MLinGape(selection="greedy", **given),
        "LinGIFA (largest var.)": LinGifa(**given),
        "LinGIFA (τ^LUCB, largest var.)": LinGifa(stop="lucb", **given),
    }


def _growing_epsilon() -> dict[str, Gifa]:
    given = {k: v for k, v in (PAPER | HEURISTIC).items() if k != "epsilon"} | {"n_best": 3}
    largest = {
        f"m-LinGapE (largest var.), ε = {e}": MLinGape(selection="largest_variance", epsilon=e, **given)
        for e in EPSILONS
    }
    return largest | {
        f"LinGIFA (τ^LUCB, largest var.), ε = {e}": LinGifa(stop="lucb", epsilon=e, **given) for e in EPSILONS
    }


def _observed(title: str, problem: partial[Any], series: dict[str, Gifa], **settings: Any) -> Experiment:
    """Return runs under observation, so that every inequality is checked at every round."""
    given = {"observe": GifaObserver, "profiles": scales(10, 500), "block": 100}
    return experiment(title, problem, series, **(given | settings))


def _bound(title: str, problem: partial[Any], series: dict[str, Gifa], **settings: Any) -> Experiment:
    given = {"profiles": scales(4, 100, 500), "block": 50}
    return experiment(title, problem, series, **(given | settings))


_RANDOM_TITLE = "random linear instance, K = 10, N = 5, m = 3, heuristic threshold"
EXPERIMENTS: dict[str, Experiment | Computation] = {
    "theory_classic": _observed(
        "classic, K = 4, m = 2, ω = π/6",
        PI_6,
        _linear(2)
        | {
            "LinGIFA (individual indices)": LinGifa(2, index="individual", **PAPER),
            "LUCB (largest var.)": Lucb(2, **PAPER),
        },
    ),
    "theory_heuristic": _observed(
        "classic instance, K = 4, m = 2, ω = π/6, heuristic threshold", PI_6, _linear(2, **HEURISTIC)
    ),
    "theory_random": _observed(
        "random, K = 10, N = 5, m = 3", RANDOM, _analysed(3), profiles=scales(2, 60, 500), block=30
    ),
    "theory_random_heuristic": _observed(
        _RANDOM_TITLE, RANDOM, _linear(3, **HEURISTIC), profiles=scales(10, 250, 500), block=50
    ),
    "theory_epsilon": _observed(f"{_RANDOM_TITLE}, growing ε", RANDOM, _growing_epsilon()),
    "bound_pi3": _bound("classic, K = 4, m = 2, ω = π/3", PI_3, _analysed(2)),
    "bound_pi4": _bound("classic, K = 4, m = 2, ω = π/4", PI_4, _analysed(2)),
    "bound_pi9": _bound("classic, K = 4, m = 2, ω = π/9", PI_9, _analysed(2)),
    "bound_hard": _bound(
        "classic, K = 3, m = 1, ω = 0.3", partial(classic_instance, n_arms=3, n_best=1, omega=0.3), _analysed(1)
    ),
    "bound_random5": _bound(
        "random, K = 10, N = 5, m = 5", RANDOM, _analysed(5), profiles=scales(2, 60, 500), block=30
    ),
    "bound_drug": _bound("drugs, K = 10, m = 5, heuristic", DRUGS, _analysed(5, **HEURISTIC), stand_in=STAND_IN_DRUGS),
}

"""Experiments beyond the Top-m paper: larger problems, misspecification, real instances, other ε and m."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from bestarm.policies.linear.gifa import Gifa
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.observed import microseconds_per_pull
from bestarm_lab.experiments.scale import Scale
from bestarm_studies.linear_topm.instances import equal_gap_instance, misspecified_instance
from bestarm_studies.linear_topm.lastfm import lastfm_instance, stand_in_lastfm_instance
from bestarm_studies.linear_topm.settings import HEURISTIC, RANDOM, experiment, named_algorithms, scales

N_FEATURES, N_ARMS, N_BEST = 10, 30, 3  # of the growth experiments, where the other size varies
ARMS, FEATURES = (4, 10, 30, 100, 300, 1000), (5, 20, 40)
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  # of misspecification, in units of reward
_compared = partial(named_algorithms, "m-LinGapE (greedy)", "LinGIFA (largest var.)", "LUCB (largest var.)")


def _growing(n_arms: int) -> dict[str, Gifa]:
    """Return the algorithms that fit an instance: LUCB pulls every arm often, 100 000 times a run at K = 1000."""
    linear = "m-LinGapE (greedy)", "m-LinGapE (greedy, no initialisation)", "LinGIFA (largest var.)"
    return named_algorithms(*linear, *(["LUCB (largest var.)"] if n_arms < 1000 else []), n_best=N_BEST)


def _instance(n_arms: int, n_features: int) -> partial[Any]:
    return partial(equal_gap_instance, n_arms=n_arms, n_features=n_features, n_best=N_BEST, gap=1.0)


def _growth(n_arms: int, n_features: int) -> Experiment:
    runs = {300: (scales(2, 12, 500), 6), 1000: (scales(1, 4, 500), 2)}
    profiles, block = runs.get(n_arms, (scales(4, 50, 500), 25))
    title = "two levels of means, N = 10, m = 3, gap 1"
    return experiment(title, _instance(n_arms, n_features), _growing(n_arms), profiles=profiles, block=block)


def _misspecified(level: float) -> Experiment:
    profiles = scales(4, 100, 500, max_pulls=40_000)
    profiles["smoke"] = replace(profiles["smoke"], max_pulls=10_000)
    return experiment(
        "two levels of means, K = 20, N = 5, m = 3, linear gap 0.5, heuristic threshold",
        partial(misspecified_instance, n_arms=20, n_features=5, n_best=3, gap=0.5, level=level),
        _compared(n_best=3, **HEURISTIC),
        profiles=profiles,
        block=50,
    )


def _real(title: str, name: str, *, as_it_is: bool, **settings: Any) -> Experiment:
    return experiment(
        f"{title}, heuristic threshold",
        partial(lastfm_instance, name=name, as_it_is=as_it_is),
        _compared(**HEURISTIC, **settings),
        stand_in=partial(stand_in_lastfm_instance, name=name, as_it_is=as_it_is),
        profiles=scales(2, 50, 500),
        block=25,
        max_pulls=100_000,
    )


_EACH_M = {
    f"{name}, m = {m}": named_algorithms(name, n_best=m, epsilon=0.01, **HEURISTIC)[name]
    for name in ("m-LinGapE (optimized)", "LinGIFA (largest var.)")
    for m in range(1, 10)
}
_ARTISTS: dict[str, Any] = {"n_best": 4, "epsilon": 0.05}
_ARTISTS_103 = partial(_real, "Last.fm, 103 artists, N = 8, m = 4, ε = 0.05", "lastfm-103", **_ARTISTS)
_ARTISTS_50 = partial(_real, "Last.fm, 50 artists, N = 7, m = 4, ε = 0.05", "lastfm-50", **_ARTISTS)
_TEN_DRUGS = partial(_real, "ten drugs, learned features, N = 6, m = 5, ε = 0", "drugs-linear", n_best=5)

# name of an experiment → its point on the axis of the figure
GROWTH_ARMS = {f"growth_k{n_arms:04d}": n_arms for n_arms in ARMS}
GROWTH_FEATURES = {f"growth_n{n_features:02d}": n_features for n_features in FEATURES}
MISSPECIFIED = {f"misspecified_{100 * level:02.0f}": level for level in LEVELS}
REAL = {
    "real_artists_103_linear": "103 artists,\nlinear",
    "real_artists_103_true": "103 artists,\ntrue",
    "real_artists_50_linear": "50 artists,\nlinear",
    "real_artists_50_true": "50 artists,\ntrue",
    "real_drugs_linear": "10 drugs,\nlinear",
    "real_drugs_deviated": "10 drugs,\ndeviated",
}
Cells = Mapping[float, tuple[partial[Any], Mapping[str, Gifa]]]


def pull_times(
    cells: Cells, replications: int, side_by_side: int, rounds: int, seed: int, workers: int = 1
) -> pd.DataFrame:
    """Return the time of a pull of every algorithm in every cell, measured several times.
    ``cells``: point on the axis (K or N) → the instance's constructor and the algorithms; ``replications``:
    measurements, each on other runs; ``side_by_side``: runs that advance together; ``rounds``: rounds that are timed in
    each measurement; ``seed``, ``workers``: seed of the project; processes, of which one is used, since others would
    disturb the measurement. Returns columns ``convention, series, x, replication, microseconds``."""
    given, frames = {"n_replications": side_by_side, "n_rounds": rounds, "n_repeats": replications}, []
    for x, (make, algorithms) in cells.items():
        problem = make()
        for series, algorithm in algorithms.items():
            found = microseconds_per_pull(replace(algorithm, label=series), problem, seed=seed, **given)
            line = {"convention": "as_written", "series": series, "x": x, "replication": range(replications)}
            frames.append(pd.DataFrame(line | {"microseconds": found}))
    return pd.concat(frames, ignore_index=True)


EXPERIMENTS: dict[str, Experiment | Computation] = {
    **{name: _growth(n_arms, N_FEATURES) for name, n_arms in GROWTH_ARMS.items()},
    **{name: _growth(N_ARMS, n_features) for name, n_features in GROWTH_FEATURES.items()},
    **{name: _misspecified(level) for name, level in MISSPECIFIED.items()},
    "real_artists_103_linear": _ARTISTS_103(as_it_is=False),
    "real_artists_103_true": _ARTISTS_103(as_it_is=True),
    "real_artists_50_linear": _ARTISTS_50(as_it_is=False),
    "real_artists_50_true": _ARTISTS_50(as_it_is=True),
    "real_drugs_linear": _TEN_DRUGS(as_it_is=False),
    "real_drugs_deviated": _TEN_DRUGS(as_it_is=True),
    "each_m": experiment(
        "random linear instance, K = 10, N = 5, ε = 0.01, heuristic threshold",
        RANDOM,
        _EACH_M,
        profiles={"smoke": Scale(2, max_pulls=5000), "laptop": Scale(40), "paper": Scale(500)},
        block=40,
    ),
    "growth_times": Computation(
        "time of a pull, two levels of means, N = 10, m = 3, gap 1",
        partial(pull_times, cells={n_arms: (_instance(n_arms, N_FEATURES), _growing(n_arms)) for n_arms in ARMS}),
        {
            "smoke": {"replications": 2, "side_by_side": 4, "rounds": 3},
            "laptop": {"replications": 6, "side_by_side": 2, "rounds": 10},
        },
        measured=True,
    ),
}

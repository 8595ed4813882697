"""Searches of landscapes, UCI tables and fitted responses; the landscapes, which most sections show, are run here.

What a profile does not name is the paper's: 5000 steps of Adam, 150 batches, 10 members, 25 runs. A search ends once it
has found an arm of the smallest quantile that is counted, except for series whose rewards are drawn over all batches.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.metrics import arm_count, rank, relative_regret
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.checks import LEAST_BATCHES
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.fitted_response import fitted_instance, stand_in_fitted_instance
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.series import (
    CUT,
    DEFAULT_BIAS,
    DEFAULT_STEP_SIZES,
    DIVERSE,
    DIVERSE_KERNELS,
    FEW_RUNS,
    LANDSCAPE_ENSEMBLES,
    LANDSCAPE_RUNS,
    LARGE,
    MIDDLE,
    OBJECTIVES,
    RANDOM_BIASES_RUNS,
    ROUNDS,
    RUNS,
    SEQUENTIAL,
    SMALL,
    VANILLA,
    Group,
    Hidden,
    scales,
)
from bestarm_studies.oae.uci_sets import stand_in_uci_instance, uci_instance

BATCH = 3
BICYCLES = ("BikeSharingDay", "BikeSharingHour")
BLOG_POSTS = 52396
FOUND = partial(BatchObserver, until=SMALLEST_TAU)
# searches whose rewards are drawn over all batches, or whose batches are measured
REWARDED = partial(BatchObserver, until=SMALLEST_TAU, whole=tuple(VANILLA))
MEASURED = partial(BatchObserver, until=SMALLEST_TAU, least=LEAST_BATCHES)
BOTH = partial(BatchObserver, until=SMALLEST_TAU, least=LEAST_BATCHES, whole=tuple(VANILLA))
_search = partial(Experiment, metrics=(rank, arm_count, relative_regret), every=1, block=25)


def on_lines(
    title: str,
    hidden: Hidden,
    series: Group,
    *,
    observe: Any = FOUND,
    problem: partial[Any] | None = None,
    names: Sequence[str] = LANDSCAPES,
    settings: Mapping[str, Any] | None = None,
    **scale: Any,
) -> Experiment:
    """Return searches of the landscapes, whose features are scaled for each run's arms.
    ``observe``: when a run is over; ``problem``: another landscape; ``settings``: of every policy; ``scale``: for
    `scales`."""
    return _search(
        title=title,
        problem=problem or partial(landscape),
        vary={"name": names},
        settings={"batch": BATCH, "rounds": ROUNDS, "standardise": True, "hidden": hidden, **(settings or {})},
        series=series,
        observe=observe,
        profiles=scales(hidden, smoke={"name": ["MultiValleyOneDimHole"]}, **scale),
    )


def on_bikes(
    title: str,
    hidden: Hidden,
    series: Group,
    *,
    rounds: int = 50,
    runs: int = RUNS,
    observe: Any = FOUND,
    subsets: Sequence[int] = (),
    laptop_runs: int = RUNS,
    **problem: Any,
) -> Experiment:
    """Return searches of the two bicycle tables, or of other subsets of them.
    ``subsets`` are seeds of `uci_instance`, ``problem`` its other settings."""
    seeds = {"seed": tuple(subsets)} if subsets else {}
    return _search(
        title=title,
        problem=partial(uci_instance, **problem),
        stand_in=partial(stand_in_uci_instance, **problem),
        vary={"name": BICYCLES, **seeds},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=scales(
            hidden, rounds=rounds, runs=runs, laptop_runs=laptop_runs, smoke={"name": ["BikeSharingDay"]}, **CUT
        ),
    )


def on_blogs(
    title: str,
    hidden: Hidden,
    series: Group,
    *,
    rounds: int,
    runs: int = RUNS,
    laptop_runs: int = RUNS,
    observe: Any = FOUND,
) -> Experiment:
    """Return searches of the blog posts, of which the profiles smoke and laptop take a random subset."""
    return _search(
        title=title,
        problem=partial(uci_instance, name="BlogFeedback"),
        stand_in=partial(stand_in_uci_instance, name="BlogFeedback"),
        vary={"n_arms": [BLOG_POSTS]},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=scales(
            hidden,
            rounds=rounds,
            runs=runs,
            laptop_runs=laptop_runs,
            smoke={"n_arms": [300]},
            laptop={"n_arms": [5000]},
            **CUT,
        ),
    )


def on_fitted(
    title: str, hidden: Hidden, series: Group, *, names: Sequence[str], scale: Mapping[str, Any], **teacher: Any
) -> Experiment:
    """Return searches of tables whose response is a fit of the class that searches.
    ``scale`` is for `scales`; ``teacher`` says how the response of each run is made."""
    return _search(
        title=title,
        problem=partial(fitted_instance, hidden=hidden, **teacher),
        stand_in=partial(stand_in_fitted_instance, hidden=hidden, **teacher),
        vary={"name": names},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=FOUND,
        profiles=scales(hidden, laptop_runs=FEW_RUNS, **scale),
    )


def landscape_searches(runs: Mapping[str, int], **choice: Any) -> dict[str, Experiment]:
    """Return all searches of the landscapes, with ``choice`` for `bestarm_studies.oae.experiments.on_lines`."""
    choice = {"laptop_runs": FEW_RUNS, **choice}
    cut = {**CUT, **choice}
    short, longer = {**cut, "rounds": 30}, {**cut, "rounds": 50}
    batches = {**choice, "rounds": 20}
    kernels = "DetD with kernels that are not degenerate on a line"
    searches: dict[str, tuple[str, Hidden, Group, dict[str, Any]]] = {
        "synthetic_10_5": ("NN 10-5", SMALL, LANDSCAPE_ENSEMBLES, {**choice, "observe": BOTH}),
        "synthetic_100_10": ("NN 100-10", MIDDLE, LANDSCAPE_ENSEMBLES, {**longer, "observe": REWARDED}),
        "synthetic_300_100": ("NN 300-100", LARGE, VANILLA, short),
        "objectives_10_5": ("NN 10-5, other objectives", SMALL, OBJECTIVES, batches),
        "objectives_100_10": ("NN 100-10, other objectives", MIDDLE, OBJECTIVES, short),
        "diverse_10_5": ("NN 10-5, DetD", SMALL, DIVERSE, choice),
        "diverse_100_10": ("NN 100-10, DetD", MIDDLE, DIVERSE, short),
        "diverse_kernels": (f"NN 10-5, {kernels}", SMALL, DIVERSE_KERNELS, choice),
        "sequential_10_5": ("NN 10-5, sequential batches", SMALL, SEQUENTIAL, {**batches, "observe": MEASURED}),
        "sequential_100_10": ("NN 100-10, sequential batches", MIDDLE, SEQUENTIAL, {**cut, "rounds": 20}),
    }
    return {
        name: on_lines(f"Landscapes, {title}", hidden, series, runs=runs.get(name, RUNS), **given)
        for name, (title, hidden, series, given) in searches.items()
    }


SYNTHETIC: dict[str, Experiment] = landscape_searches(LANDSCAPE_RUNS)
_default = landscape_searches(RANDOM_BIASES_RUNS, settings={"bias": DEFAULT_BIAS}, step_sizes=DEFAULT_STEP_SIZES)
RANDOM_BIASES: dict[str, Experiment] = {f"random_{name}": found for name, found in _default.items()}
EXPERIMENTS: dict[str, Experiment] = SYNTHETIC | RANDOM_BIASES

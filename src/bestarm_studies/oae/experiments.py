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
from bestarm_studies.oae.uci_sets import fitted_instance, stand_in_fitted_instance, stand_in_uci_instance, uci_instance

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


def _on_tables(
    title: str,
    hidden: Hidden,
    series: Group,
    problems: tuple[partial[Any], partial[Any]],
    vary: Mapping[str, Sequence[Any]],
    *,
    observe: Any = FOUND,
    **scale: Any,
) -> Experiment:
    """Return searches of tables: ``problems`` are on real data and their stand-in; ``scale`` is for `scales`."""
    return _search(
        title=title,
        problem=problems[0],
        stand_in=problems[1],
        vary=vary,
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=scales(hidden, **scale),
    )


def on_bikes(
    title: str,
    hidden: Hidden,
    series: Group,
    *,
    subsets: Sequence[int] = (),
    parts_of_target: bool = False,
    **given: Any,
) -> Experiment:
    """Return searches of the two bicycle tables, or of other subsets of them.
    ``subsets`` are seeds of `uci_instance`; ``given``: when a run is over (``observe``), and settings of `scales`."""
    parts: dict[str, Any] = {"parts_of_target": True} if parts_of_target else {}
    problems = partial(uci_instance, **parts), partial(stand_in_uci_instance, **parts)
    vary = {"name": BICYCLES} | ({"seed": tuple(subsets)} if subsets else {})
    cut = {"rounds": 50, "smoke": {"name": ["BikeSharingDay"]}, **CUT}
    return _on_tables(title, hidden, series, problems, vary, **cut | given)


def on_blogs(title: str, hidden: Hidden, series: Group, **given: Any) -> Experiment:
    """Return searches of the blog posts, of which the profiles smoke and laptop take a random subset.
    ``given``: when a run is over (``observe``), and settings of `scales`, among them the batches (``rounds``)."""
    problems = partial(uci_instance, name="BlogFeedback"), partial(stand_in_uci_instance, name="BlogFeedback")
    cut = {"smoke": {"n_arms": [300]}, "laptop": {"n_arms": [5000]}, **CUT}
    return _on_tables(title, hidden, series, problems, {"n_arms": [BLOG_POSTS]}, **cut, **given)


def on_fitted(
    title: str, hidden: Hidden, series: Group, *, names: Sequence[str], scale: Mapping[str, Any], **teacher: Any
) -> Experiment:
    """Return searches of tables whose response is a fit of the class that searches.
    ``scale`` is for `scales`; ``teacher`` says how the response of each run is made."""
    makers = fitted_instance, stand_in_fitted_instance
    real, stand_in = (partial(make, hidden=hidden, **teacher) for make in makers)
    return _on_tables(title, hidden, series, (real, stand_in), {"name": names}, laptop_runs=FEW_RUNS, **scale)


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

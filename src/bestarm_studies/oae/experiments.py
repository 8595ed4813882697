"""Searches of landscapes, UCI tables and fitted responses; the landscapes, which most sections show, are run here.

What a profile does not name is the paper's: 5000 steps of Adam, 150 batches, 10 members, 25 runs. A search ends once it
has found an arm of the smallest quantile that is counted, except for series whose rewards are drawn over all batches.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.metrics import arm_count, rank, relative_regret
from bestarm_studies.oae import series as oae
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.checks import LEAST_BATCHES
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.uci_sets import fitted_instance, stand_in_fitted_instance, stand_in_uci_instance, uci_instance

BATCH = 3
BICYCLES = ("BikeSharingDay", "BikeSharingHour")
BLOG_POSTS = 52396
FOUND = partial(BatchObserver, until=SMALLEST_TAU)
# searches whose rewards are drawn over all batches, or whose batches are measured
REWARDED = partial(BatchObserver, until=SMALLEST_TAU, whole=tuple(oae.VANILLA))
MEASURED = partial(BatchObserver, until=SMALLEST_TAU, least=LEAST_BATCHES)
BOTH = partial(BatchObserver, until=SMALLEST_TAU, least=LEAST_BATCHES, whole=tuple(oae.VANILLA))
search = partial(Experiment, metrics=(rank, arm_count, relative_regret), every=1, block=25)


def on_lines(
    title: str,
    hidden: oae.Hidden,
    series: oae.Group,
    *,
    observe: Any = FOUND,
    problem: partial[Any] | None = None,
    names: Sequence[str] = LANDSCAPES,
    settings: Mapping[str, Any] | None = None,
    **scale: Any,
) -> Experiment:
    """Return searches of the landscapes, whose features are scaled for each run's arms.
    ``observe``: when a run ends; ``problem``: another one; ``settings``: of every policy; ``scale``: for `scales`."""
    return search(
        title=title,
        problem=problem or partial(landscape),
        vary={"name": names},
        settings={"batch": BATCH, "rounds": oae.ROUNDS, "standardise": True, "hidden": hidden, **(settings or {})},
        series=series,
        observe=observe,
        profiles=oae.scales(hidden, smoke={"name": ["MultiValleyOneDimHole"]}, **scale),
    )


def _on_tables(
    title: str,
    hidden: oae.Hidden,
    series: oae.Group,
    problems: tuple[partial[Any], partial[Any]],
    vary: Mapping[str, Sequence[Any]],
    *,
    observe: Any = FOUND,
    **scale: Any,
) -> Experiment:
    """Return searches of tables: ``problems`` are on real data and their stand-in; ``scale`` is for `scales`."""
    return search(
        title=title,
        problem=problems[0],
        stand_in=problems[1],
        vary=vary,
        settings={"batch": BATCH, "rounds": oae.ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=oae.scales(hidden, **scale),
    )


def on_bikes(
    title: str,
    hidden: oae.Hidden,
    series: oae.Group,
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
    cut = {"rounds": 50, "smoke": {"name": ["BikeSharingDay"]}, **oae.CUT}
    return _on_tables(title, hidden, series, problems, vary, **cut | given)


def on_blogs(title: str, hidden: oae.Hidden, series: oae.Group, **given: Any) -> Experiment:
    """Return searches of the blog posts, of which the profiles smoke and laptop take a random subset.
    ``given``: when a run is over (``observe``), and settings of `scales`, among them the batches (``rounds``)."""
    problems = partial(uci_instance, name="BlogFeedback"), partial(stand_in_uci_instance, name="BlogFeedback")
    cut = {"smoke": {"n_arms": [300]}, "laptop": {"n_arms": [5000]}, **oae.CUT}
    return _on_tables(title, hidden, series, problems, {"n_arms": [BLOG_POSTS]}, **cut, **given)


def on_fitted(
    title: str, hidden: oae.Hidden, series: oae.Group, *, names: Sequence[str], scale: Mapping[str, Any], **teacher: Any
) -> Experiment:
    """Return searches of tables whose response is a fit of the class that searches.
    ``scale`` is for `scales`; ``teacher`` says how the response of each run is made."""
    real, stand_in = (partial(make, hidden=hidden, **teacher) for make in (fitted_instance, stand_in_fitted_instance))
    return _on_tables(title, hidden, series, (real, stand_in), {"name": names}, laptop_runs=oae.FEW_RUNS, **scale)


def landscape_searches(runs: Mapping[str, int], **choice: Any) -> dict[str, Experiment]:
    """Return all searches of the landscapes, with ``choice`` for `bestarm_studies.oae.experiments.on_lines`."""
    choice = {"laptop_runs": oae.FEW_RUNS, **choice}
    cut = {**oae.CUT, **choice}
    short, longer = {**cut, "rounds": 30}, {**cut, "rounds": 50}
    batches = {**choice, "rounds": 20}
    kernels = "DetD with kernels that are not degenerate on a line"
    searches: dict[str, tuple[str, oae.Hidden, oae.Group, dict[str, Any]]] = {
        "synthetic_10_5": ("NN 10-5", oae.SMALL, oae.LANDSCAPE_ENSEMBLES, {**choice, "observe": BOTH}),
        "synthetic_100_10": ("NN 100-10", oae.MIDDLE, oae.LANDSCAPE_ENSEMBLES, {**longer, "observe": REWARDED}),
        "synthetic_300_100": ("NN 300-100", oae.LARGE, oae.VANILLA, short),
        "objectives_10_5": ("NN 10-5, other objectives", oae.SMALL, oae.OBJECTIVES, batches),
        "objectives_100_10": ("NN 100-10, other objectives", oae.MIDDLE, oae.OBJECTIVES, short),
        "diverse_10_5": ("NN 10-5, DetD", oae.SMALL, oae.DIVERSE, choice),
        "diverse_100_10": ("NN 100-10, DetD", oae.MIDDLE, oae.DIVERSE, short),
        "diverse_kernels": (f"NN 10-5, {kernels}", oae.SMALL, oae.DIVERSE_KERNELS, choice),
        "sequential_10_5": ("NN 10-5, sequential batches", oae.SMALL, oae.SEQUENTIAL, {**batches, "observe": MEASURED}),
        "sequential_100_10": ("NN 100-10, sequential batches", oae.MIDDLE, oae.SEQUENTIAL, {**cut, "rounds": 20}),
    }
    return {
        name: on_lines(f"Landscapes, {title}", hidden, series, runs=runs.get(name, oae.RUNS), **given)
        for name, (title, hidden, series, given) in searches.items()
    }


SYNTHETIC: dict[str, Experiment] = landscape_searches(oae.LANDSCAPE_RUNS)
_default = landscape_searches(
    oae.RANDOM_BIASES_RUNS, settings={"bias": oae.DEFAULT_BIAS}, step_sizes=oae.DEFAULT_STEP_SIZES
)
RANDOM_BIASES: dict[str, Experiment] = {f"random_{name}": found for name, found in _default.items()}
EXPERIMENTS: dict[str, Experiment] = SYNTHETIC | RANDOM_BIASES

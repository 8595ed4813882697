"""Searches of the official lines, where somebody has them, and of groups of lines of DepMap.

``cmap_*`` are the paper's. ``contexts_*`` are the same searches for what a group of lines needs more than others
(`bestarm_studies.oae.cell_lines.contexts`), which are real and decide no claim about CMAP.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bestarm.interface import Ask
from bestarm.policies.batch_search import BatchState
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Scale
from bestarm_studies.oae import series as oae
from bestarm_studies.oae.batch_observer import BatchObserver, n_good
from bestarm_studies.oae.cell_lines import BATCH, ROUNDS, RUNS
from bestarm_studies.oae.cell_lines.contexts import GROUPS, group_arms, stand_in_group
from bestarm_studies.oae.cell_lines.official import LINES, official_line
from bestarm_studies.oae.experiments import FOUND, REWARDED, search
from bestarm_studies.oae.first_hits import SMALLEST_TAU

CUT: dict[str, Any] = {"steps": 1000, "members": 5}
# of which the others tell least, of those nearest to halfway, and most
THREE_GROUPS = (GROUPS[0], GROUPS[3], GROUPS[-1])


@dataclass
class TopObserver(BatchObserver):
    """A `BatchObserver` that also notes ``top``, how many arms of the smallest quantile that is counted a batch has."""

    columns: ClassVar[tuple[str, ...]] = (*BatchObserver.columns, "top")

    def _ask(self, state: BatchState) -> Ask:
        asked = super()._ask(state)
        if asked.counts.any():
            means = self._means(state)
            good = n_good(SMALLEST_TAU, means.shape[1])
            least = np.partition(means, -good, axis=1)[:, [-good]]
            self.rounds[-1]["top"] = (np.take_along_axis(means, asked.arms, axis=1) >= least).sum(axis=1)
        return asked


WHOLE = partial(TopObserver)
# the sequential methods bring what they are compared with, at their own reduced scale
SEQUENTIAL_PAIRS: oae.Group = {
    **{name: series for name, series in oae.ENSEMBLES.items() if name != "Greedy"},
    **oae.SEQUENTIAL,
}
ENSEMBLE_PAIR: oae.Group = {name: series for name, series in oae.ENSEMBLES.items() if name.startswith("Ensemble")}
HINGE: oae.Group = {name: series for name, series in oae.OBJECTIVES.items() if name.startswith("HingePNorm")}
MEAN_PAIRS: oae.Group = {
    name: series for name, series in SEQUENTIAL_PAIRS.items() if name.startswith(("Random", "MeanOpt", "SeqB"))
}


def _searches(
    title: str,
    problem: Any,
    names: tuple[str, ...],
    smoke: str,
    hidden: oae.Hidden,
    series: oae.Group,
    observe: Any = FOUND,
    **cut: Any,
) -> Experiment:
    """Return searches of lines or of groups of them; ``cut`` is of the profile laptop, ``smoke`` one of the names."""
    short, long = oae.STEP_SIZES.short[hidden], oae.STEP_SIZES.long[hidden]
    few = {"steps": 5, "rounds": 3, "members": 2, "learning_rate": short}
    return search(
        title=title,
        problem=partial(problem),
        stand_in=partial(stand_in_group),
        vary={"name": names},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles={
            "smoke": Scale(2, settings=few, vary={"name": [smoke]}),
            "laptop": Scale(oae.FEW_RUNS, settings={**CUT, "learning_rate": long, **cut}),
            "paper": Scale(RUNS, settings={"learning_rate": long}),
        },
    )


def on_groups(title: str, hidden: oae.Hidden, series: oae.Group, **given: Any) -> Experiment:
    """Return searches of groups of lines for what they need more than others."""
    return _searches(f"{title}, groups of DepMap", group_arms, GROUPS, GROUPS[0], hidden, series, **given)


def on_three_groups(title: str, hidden: oae.Hidden, series: oae.Group) -> Experiment:
    """Return whole searches of `THREE_GROUPS`, costly ones: the profile laptop has two batches alone."""
    whole = on_groups(f"{title}, whole runs", hidden, series, observe=WHOLE, rounds=2)
    return replace(whole, vary={"name": THREE_GROUPS})


def on_three_groups_with_short_fits(title: str, hidden: oae.Hidden, series: oae.Group) -> Experiment:
    """Return `on_three_groups` in 12 runs, 200 steps a fit, of methods that fit a network for every arm of a batch."""
    short = {"steps": 200, "members": 5, "learning_rate": oae.STEP_SIZES.short[hidden]}
    whole = on_three_groups(title, hidden, series)
    laptop = replace(whole.profiles["laptop"], settings={**short, "rounds": 2})
    return replace(whole, profiles={**whole.profiles, "laptop": laptop, "paper": Scale(12, settings=short)})


# what each figure searches on the official lines: title, class, series, observer
SEARCHES: dict[str, tuple[str, oae.Hidden, oae.Group, Any]] = {
    "100_10": ("Cell lines, NN 100-10", oae.MIDDLE, oae.ENSEMBLES, REWARDED),
    "10_5": ("Cell lines, NN 10-5", oae.SMALL, oae.ENSEMBLES, REWARDED),
    "linear": ("Cell lines, linear class", oae.LINEAR, oae.VANILLA, REWARDED),
    "diverse_10_5": ("Cell lines, NN 10-5, DetD", oae.SMALL, oae.DIVERSE, FOUND),
    "diverse_100_10": ("Cell lines, NN 100-10, DetD", oae.MIDDLE, oae.DIVERSE, FOUND),
    "objectives_10_5": ("Cell lines, NN 10-5, other objectives", oae.SMALL, oae.OBJECTIVES, FOUND),
    "objectives_100_10": ("Cell lines, NN 100-10, other objectives", oae.MIDDLE, oae.OBJECTIVES, FOUND),
    "sequential_10_5": ("Cell lines, NN 10-5, sequential batches", oae.SMALL, SEQUENTIAL_PAIRS, FOUND),
    "sequential_100_10": ("Cell lines, NN 100-10, sequential batches", oae.MIDDLE, MEAN_PAIRS, FOUND),
}

EXPERIMENTS: dict[str, Experiment] = {
    "contexts_100_10": on_groups("NN 100-10", oae.MIDDLE, oae.ENSEMBLES),
    "contexts_10_5": on_groups("NN 10-5", oae.SMALL, oae.ENSEMBLES),
    "contexts_linear": on_groups("Linear class", oae.LINEAR, oae.VANILLA),
    "contexts_objectives_10_5": on_groups("NN 10-5, other objectives", oae.SMALL, oae.OBJECTIVES),
    "contexts_objectives_100_10": on_groups("NN 100-10, other objectives", oae.MIDDLE, oae.OBJECTIVES),
    "contexts_diverse_10_5": on_groups("NN 10-5, DetD", oae.SMALL, oae.DIVERSE),
    "contexts_diverse_100_10": on_groups("NN 100-10, DetD", oae.MIDDLE, oae.DIVERSE),
    "contexts_sequential_10_5": on_groups("NN 10-5, sequential batches", oae.SMALL, SEQUENTIAL_PAIRS, steps=200),
    "contexts_sequential_100_10": on_groups("NN 100-10, sequential batches", oae.MIDDLE, MEAN_PAIRS, steps=200),
    "contexts_whole_linear": on_groups("Linear class, whole runs", oae.LINEAR, oae.VANILLA, observe=WHOLE),
    "contexts_whole_10_5": on_groups("NN 10-5, whole runs", oae.SMALL, oae.ENSEMBLES, observe=WHOLE),
    "contexts_whole_100_10": on_groups("NN 100-10, whole runs", oae.MIDDLE, oae.VANILLA, observe=WHOLE),
    "contexts_whole_ensembles_100_10": on_three_groups("NN 100-10, ensembles", oae.MIDDLE, ENSEMBLE_PAIR),
    "contexts_whole_objectives_10_5": on_three_groups("NN 10-5, other objectives", oae.SMALL, oae.OBJECTIVES),
    "contexts_whole_objectives_100_10": on_three_groups("NN 100-10, HingePNorm", oae.MIDDLE, HINGE),
    "contexts_whole_diverse_10_5": on_three_groups("NN 10-5, DetD", oae.SMALL, oae.DIVERSE),
    "contexts_whole_diverse_100_10": on_three_groups("NN 100-10, DetD", oae.MIDDLE, oae.DIVERSE),
    "contexts_whole_sequential_10_5": on_three_groups_with_short_fits(
        "NN 10-5, sequential batches", oae.SMALL, SEQUENTIAL_PAIRS
    ),
    "contexts_whole_sequential_100_10": on_three_groups_with_short_fits(
        "NN 100-10, sequential batches", oae.MIDDLE, MEAN_PAIRS
    ),
    **{
        f"cmap_{key}": _searches(title, official_line, LINES, "HA1E", *given)  # nobody's rows are in the project
        for key, (title, *given) in SEARCHES.items()
    },
}

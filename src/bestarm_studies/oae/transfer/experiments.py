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
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.metrics import arm_count, rank, relative_regret
from bestarm_studies.oae.batch_observer import BatchObserver, n_good
from bestarm_studies.oae.cell_lines import BATCH, ROUNDS, RUNS
from bestarm_studies.oae.cell_lines.contexts import GROUPS, group_arms, stand_in_group
from bestarm_studies.oae.cell_lines.official import LINES, official_line
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.series import (
    DIVERSE,
    ENSEMBLES,
    FEW_RUNS,
    LINEAR,
    MIDDLE,
    OBJECTIVES,
    SEQUENTIAL,
    SMALL,
    STEP_SIZES,
    VANILLA,
    Group,
    Hidden,
)

CUT: dict[str, Any] = {"steps": 1000, "members": 5}
FOUND = partial(BatchObserver, until=SMALLEST_TAU)
search = partial(Experiment, metrics=(rank, arm_count, relative_regret), every=1, block=25)


def scales(hidden: Hidden, smoke: str, laptop_runs: int = FEW_RUNS, **cut: Any) -> dict[Profile, Scale]:
    short, long = STEP_SIZES.short[hidden], STEP_SIZES.long[hidden]
    few = {"steps": 5, "rounds": 3, "members": 2, "learning_rate": short}
    return {
        "smoke": Scale(2, settings=few, vary={"name": [smoke]}),
        "laptop": Scale(laptop_runs, settings={**CUT, "learning_rate": long, **cut}),
        "paper": Scale(RUNS, settings={"learning_rate": long}),
    }


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
REWARDED = partial(BatchObserver, until=SMALLEST_TAU, whole=tuple(VANILLA))
# the sequential methods bring what they are compared with, at their own reduced scale
SEQUENTIAL_PAIRS: Group = {**{name: series for name, series in ENSEMBLES.items() if name != "Greedy"}, **SEQUENTIAL}
ENSEMBLE_PAIR: Group = {name: series for name, series in ENSEMBLES.items() if name.startswith("Ensemble")}
HINGE: Group = {name: series for name, series in OBJECTIVES.items() if name.startswith("HingePNorm")}
MEAN_PAIRS: Group = {
    name: series for name, series in SEQUENTIAL_PAIRS.items() if name.startswith(("Random", "MeanOpt", "SeqB"))
}


def on_official(title: str, hidden: Hidden, series: Group, *, observe: Any = FOUND) -> Experiment:
    """Return searches of the official lines; nobody's rows are in the project."""
    return search(
        title=title,
        problem=partial(official_line),
        stand_in=partial(stand_in_group),
        vary={"name": LINES},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=scales(hidden, "HA1E"),
    )


def on_groups(title: str, hidden: Hidden, series: Group, *, observe: Any = FOUND, **cut: Any) -> Experiment:
    """Return searches of groups of lines for what they need more than others; ``cut`` is of the profile laptop."""
    return search(
        title=f"{title}, groups of DepMap",
        problem=partial(group_arms),
        stand_in=partial(stand_in_group),
        vary={"name": GROUPS},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=scales(hidden, GROUPS[0], **cut),
    )


# of which the others tell least, of those nearest to halfway, and most
THREE_GROUPS = (GROUPS[0], GROUPS[3], GROUPS[-1])


def on_three_groups(title: str, hidden: Hidden, series: Group) -> Experiment:
    """Return whole searches of `THREE_GROUPS`, costly ones: the profile laptop has two batches alone."""
    whole = on_groups(f"{title}, whole runs", hidden, series, observe=WHOLE, rounds=2)
    return replace(whole, vary={"name": THREE_GROUPS})


def on_three_groups_with_short_fits(title: str, hidden: Hidden, series: Group) -> Experiment:
    """Return `on_three_groups` in 12 runs, 200 steps a fit, of methods that fit a network for every arm of a batch."""
    short = {"steps": 200, "members": 5, "learning_rate": STEP_SIZES.short[hidden]}
    whole = on_three_groups(title, hidden, series)
    laptop = replace(whole.profiles["laptop"], settings={**short, "rounds": 2})
    return replace(whole, profiles={**whole.profiles, "laptop": laptop, "paper": Scale(12, settings=short)})


# what each figure searches on the official lines: title, class, series, observer
SEARCHES: dict[str, tuple[str, Hidden, Group, Any]] = {
    "100_10": ("Cell lines, NN 100-10", MIDDLE, ENSEMBLES, REWARDED),
    "10_5": ("Cell lines, NN 10-5", SMALL, ENSEMBLES, REWARDED),
    "linear": ("Cell lines, linear class", LINEAR, VANILLA, REWARDED),
    "diverse_10_5": ("Cell lines, NN 10-5, DetD", SMALL, DIVERSE, FOUND),
    "diverse_100_10": ("Cell lines, NN 100-10, DetD", MIDDLE, DIVERSE, FOUND),
    "objectives_10_5": ("Cell lines, NN 10-5, other objectives", SMALL, OBJECTIVES, FOUND),
    "objectives_100_10": ("Cell lines, NN 100-10, other objectives", MIDDLE, OBJECTIVES, FOUND),
    "sequential_10_5": ("Cell lines, NN 10-5, sequential batches", SMALL, SEQUENTIAL_PAIRS, FOUND),
    "sequential_100_10": ("Cell lines, NN 100-10, sequential batches", MIDDLE, MEAN_PAIRS, FOUND),
}

EXPERIMENTS: dict[str, Experiment] = {
    "contexts_100_10": on_groups("NN 100-10", MIDDLE, ENSEMBLES),
    "contexts_10_5": on_groups("NN 10-5", SMALL, ENSEMBLES),
    "contexts_linear": on_groups("Linear class", LINEAR, VANILLA),
    "contexts_objectives_10_5": on_groups("NN 10-5, other objectives", SMALL, OBJECTIVES),
    "contexts_objectives_100_10": on_groups("NN 100-10, other objectives", MIDDLE, OBJECTIVES),
    "contexts_diverse_10_5": on_groups("NN 10-5, DetD", SMALL, DIVERSE),
    "contexts_diverse_100_10": on_groups("NN 100-10, DetD", MIDDLE, DIVERSE),
    "contexts_sequential_10_5": on_groups("NN 10-5, sequential batches", SMALL, SEQUENTIAL_PAIRS, steps=200),
    "contexts_sequential_100_10": on_groups("NN 100-10, sequential batches", MIDDLE, MEAN_PAIRS, steps=200),
    "contexts_whole_linear": on_groups("Linear class, whole runs", LINEAR, VANILLA, observe=WHOLE),
    "contexts_whole_10_5": on_groups("NN 10-5, whole runs", SMALL, ENSEMBLES, observe=WHOLE),
    "contexts_whole_100_10": on_groups("NN 100-10, whole runs", MIDDLE, VANILLA, observe=WHOLE),
    "contexts_whole_ensembles_100_10": on_three_groups("NN 100-10, ensembles", MIDDLE, ENSEMBLE_PAIR),
    "contexts_whole_objectives_10_5": on_three_groups("NN 10-5, other objectives", SMALL, OBJECTIVES),
    "contexts_whole_objectives_100_10": on_three_groups("NN 100-10, HingePNorm", MIDDLE, HINGE),
    "contexts_whole_diverse_10_5": on_three_groups("NN 10-5, DetD", SMALL, DIVERSE),
    "contexts_whole_diverse_100_10": on_three_groups("NN 100-10, DetD", MIDDLE, DIVERSE),
    "contexts_whole_sequential_10_5": on_three_groups_with_short_fits(
        "NN 10-5, sequential batches", SMALL, SEQUENTIAL_PAIRS
    ),
    "contexts_whole_sequential_100_10": on_three_groups_with_short_fits(
        "NN 100-10, sequential batches", MIDDLE, MEAN_PAIRS
    ),
    **{
        f"cmap_{key}": on_official(title, hidden, series, observe=observe)
        for key, (title, hidden, series, observe) in SEARCHES.items()
    },
}

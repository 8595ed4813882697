"""The experiments on cell lines: on the official data, where somebody has them, and on groups of lines of DepMap.

``cmap_*`` are the paper's, on the official signatures. ``contexts_*`` are the same searches for what a group of lines
needs more than others (`bestarm_studies.oae.cell_lines.contexts`), which are real and decide no claim about CMAP.
``simulated_*`` show what a calibrated simulator tells. Batches are the paper's 50 arms.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.metrics import arm_count, rank, relative_regret
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.cell_lines.batch_fits import batch_fit_rows, simulated_fit_rows
from bestarm_studies.oae.cell_lines.contexts import (
    DATA_FILES,
    GROUPS,
    group_arms,
    group_or_stand_in,
    likeness_rows,
    stand_in_group,
)
from bestarm_studies.oae.cell_lines.official import OfficialComputation, official_line
from bestarm_studies.oae.cell_lines.simulator import LINES, simulated_line
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.network_fits import fit_rows
from bestarm_studies.oae.series import (
    DIVERSE,
    ENSEMBLES,
    LEARNING_RATE,
    LINEAR,
    MIDDLE,
    OBJECTIVES,
    SEQUENTIAL,
    SMALL,
    STEP_SIZES,
    STEPS,
    VANILLA,
    Group,
    Hidden,
)

BATCH, ROUNDS, RUNS = 50, 20, 25  # the paper's; it does not say how many runs
CUT: dict[str, Any] = {"steps": 1000, "members": 5}
WIDE: Hidden = (1500, 300)
WIDE_RATE = 0.001
LEARNING_RATES = (0.001, 0.003, 0.01)
WHOLE_FITS = {"replications": RUNS, "steps": STEPS}
LOOKED_AT = (1, 3, 10, 30, 100, 200, 500, 1000, 2000, 3000, 4000, 5000)

FOUND = partial(BatchObserver, until=SMALLEST_TAU)
WHOLE = partial(BatchObserver)
REWARDED = partial(BatchObserver, until=SMALLEST_TAU, whole=tuple(VANILLA))

# the sequential methods bring what they are compared with, at their own reduced scale
SEQUENTIAL_PAIRS: Group = {**{name: series for name, series in ENSEMBLES.items() if name != "Greedy"}, **SEQUENTIAL}
MEAN_PAIRS: Group = {
    name: series for name, series in SEQUENTIAL_PAIRS.items() if name.startswith(("Random", "MeanOpt", "SeqB"))
}

_search = partial(Experiment, metrics=(rank, arm_count, relative_regret), every=1, block=25)


def _scales(hidden: Hidden, smoke: str, **cut: Any) -> dict[Profile, Scale]:
    short, long = STEP_SIZES.short[hidden], STEP_SIZES.long[hidden]
    few = {"steps": 5, "rounds": 3, "members": 2, "learning_rate": short}
    return {
        "smoke": Scale(2, settings=few, vary={"name": [smoke]}),
        "laptop": Scale(RUNS, settings={**CUT, "learning_rate": long, **cut}),
        "paper": Scale(RUNS, settings={"learning_rate": long}),
    }


def on_official(title: str, hidden: Hidden, series: Group, *, observe: Any = FOUND) -> Experiment:
    """Return searches of the official lines; nobody's rows are in the project."""
    return _search(
        title=title,
        problem=partial(official_line),
        stand_in=partial(stand_in_group),
        vary={"name": LINES},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=_scales(hidden, "HA1E"),
    )


def on_groups(title: str, hidden: Hidden, series: Group, *, observe: Any = FOUND, **cut: Any) -> Experiment:
    """Return searches of groups of lines for what they need more than others; ``cut`` is of the profile laptop."""
    return _search(
        title=f"{title}, groups of DepMap",
        problem=partial(group_arms),
        stand_in=partial(stand_in_group),
        vary={"name": GROUPS},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=_scales(hidden, GROUPS[0], **cut),
    )


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


def _fits(makers: Mapping[str, partial[Any]], few: Mapping[str, partial[Any]]) -> dict[str, Any]:
    return {
        "rows": partial(
            fit_rows, problems=makers, classes=(LINEAR, SMALL, MIDDLE), learning_rates=LEARNING_RATES, at=LOOKED_AT
        ),
        "profiles": {
            "smoke": {"problems": few, "replications": 2, "steps": 10},
            "laptop": WHOLE_FITS,
            "paper": WHOLE_FITS,
        },
    }


def _batches(
    makers: Mapping[str, partial[Any]],
    few: Mapping[str, partial[Any]],
    *,
    laptop: Mapping[str, int] = WHOLE_FITS,
    paper: Mapping[str, int] = WHOLE_FITS,
) -> dict[str, Any]:
    return {
        "rows": partial(
            batch_fit_rows, problems=makers, hidden=WIDE, learning_rate=WIDE_RATE, batch=BATCH, at=(1, 2, 5, 10, 15, 20)
        ),
        "profiles": {
            "smoke": {"problems": few, "replications": 2, "steps": 5, "at": (1,)},
            "laptop": laptop,
            "paper": paper,
        },
    }


_FEW = {name: partial(stand_in_group, name=name) for name in ("VCAP", "HA1E")}
_OFFICIAL = {name: partial(official_line, name=name) for name in LINES}
_GROUPS = {name: partial(group_or_stand_in, name=name) for name in GROUPS}

CELL_LINES: dict[str, Experiment | Computation] = {
    "simulated_calibration": Computation(
        title="Errors of plain fits to the simulated lines",
        rows=partial(
            simulated_fit_rows,
            wide=(WIDE, WIDE_RATE, 1000),
            classes=[(hidden, LEARNING_RATE[hidden], STEPS) for hidden in (LINEAR, SMALL, MIDDLE)],
            n_known=10 * BATCH,
        ),
        profiles={
            "smoke": {"replications": 2, "wide": (SMALL, 0.01, 5), "classes": [(LINEAR, 0.01, 5)]},
            "laptop": {"replications": 3},
        },
    ),
    "simulated_100_10": _search(
        title="Cell lines, NN 100-10, simulated",
        problem=partial(simulated_line),
        vary={"name": LINES},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": MIDDLE},
        series=VANILLA,
        observe=FOUND,
        profiles=_scales(MIDDLE, "HA1E"),
    ),
    "contexts_likeness": Computation(
        title="How well other groups tell of a group",
        rows=partial(likeness_rows),
        profiles={"smoke": {"replications": 1}, "laptop": {"replications": 1}},
        data_files=DATA_FILES,
    ),
    "contexts_fits": Computation(title="Training error on groups", **_fits(_GROUPS, _FEW), data_files=DATA_FILES),
    "contexts_batches": Computation(
        title="Error of NN 1500-300 on groups after random batches",
        **_batches(
            _GROUPS, _FEW, laptop={"replications": 5, "steps": 1000}, paper={"replications": 10, "steps": STEPS}
        ),
        data_files=DATA_FILES,
    ),
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
    "cmap_fits": OfficialComputation(title="Training error on the lines", **_fits(_OFFICIAL, _FEW)),
    "cmap_batches": OfficialComputation(title="Error of NN 1500-300 after random batches", **_batches(_OFFICIAL, _FEW)),
    **{
        f"cmap_{key}": on_official(title, hidden, series, observe=observe)
        for key, (title, hidden, series, observe) in SEARCHES.items()
    },
}

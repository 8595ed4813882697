"""The experiments of the OAE paper; those on cell lines are in a package of their own.

What a profile does not name is the paper's: 5000 steps of Adam, 150 batches, 10 members, 25 runs. A search ends once it
has found an arm of the smallest quantile that is counted, except for series whose rewards are drawn over all batches.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bestarm.policies.oae import NetworkSearch, Oae
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Profile
from bestarm_studies.oae.cell_lines.experiments import CELL_LINES
from bestarm_studies.oae.engines import engine_rows
from bestarm_studies.oae.evolution import evolution_rows
from bestarm_studies.oae.genedisco.experiments import GENEDISCO
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.network_fits import fit_rows
from bestarm_studies.oae.open_choices import OPEN_CHOICES
from bestarm_studies.oae.open_design import OPEN_DESIGN
from bestarm_studies.oae.plain_baselines import PLAIN_BASELINES
from bestarm_studies.oae.searches import (
    BATCH,
    BICYCLES,
    BOTH,
    MEASURED,
    REWARDED,
    on_bikes,
    on_blogs,
    on_fitted,
    on_lines,
)
from bestarm_studies.oae.series import (
    CUT,
    DEFAULT_BIAS,
    DEFAULT_STEP_SIZES,
    DIVERSE,
    DIVERSE_KERNELS,
    ENSEMBLES,
    LANDSCAPE_ENSEMBLES,
    LARGE,
    LEARNING_RATE,
    LINEAR,
    LINEAR_RUNS,
    MANY_RUNS,
    MIDDLE,
    OBJECTIVES,
    RUNS,
    SEQUENTIAL,
    SMALL,
    STEPS,
    VANILLA,
)
from bestarm_studies.oae.statement_rows import network_rows, size_rows
from bestarm_studies.oae.theory_experiments import THEORY
from bestarm_studies.oae.uci import UCI_SETS, stand_in_uci_instance, uci_instance

LEARNING_RATES = (0.001, 0.003, 0.01)
LOOKED_AT = (1, 3, 10, 30, 100, 200, 500, 1000, 2000, 3000, 4000, 5000)
TABLES = (*BICYCLES, "BlogFeedback")
WHOLE_FITS = {"replications": RUNS, "steps": STEPS}
FIT_PROFILES: dict[Profile, dict[str, int]] = {
    "smoke": {"replications": 2, "steps": 10},
    "laptop": WHOLE_FITS,
    "paper": WHOLE_FITS,
}


def landscape_fits(title: str, **start: Any) -> Computation:
    """Return plain fits of the landscapes by every class; ``start`` are settings of the initial weights."""
    return Computation(
        title=title,
        rows=partial(
            fit_rows,
            problems={name: partial(landscape, name=name) for name in LANDSCAPES},
            classes=(LINEAR, SMALL, MIDDLE, LARGE),
            learning_rates=LEARNING_RATES,
            at=LOOKED_AT,
            **start,
        ),
        profiles=FIT_PROFILES,
    )


FITS: dict[str, Experiment | Computation] = {
    "fits_synthetic": landscape_fits(
        "Training error on the four landscapes, by class and step size", bias=DEFAULT_BIAS
    ),
    "zero_fits_synthetic": landscape_fits(
        "Training error on the four landscapes from biases of zero, by class and step size"
    ),
    "fits_uci": Computation(
        title="Training error on three UCI sets, by class and step size",
        rows=partial(
            fit_rows,
            problems={name: partial(uci_instance, name=name) for name in TABLES},
            stand_ins={name: partial(stand_in_uci_instance, name=name) for name in TABLES},
            classes=(LINEAR, SMALL, MIDDLE),
            learning_rates=LEARNING_RATES,
            at=LOOKED_AT,
        ),
        profiles=FIT_PROFILES,
        data_files=[UCI_SETS[name].file for name in TABLES],
    ),
    "engines": Computation(
        title="The same fits by both engines for networks",
        rows=partial(
            engine_rows,
            landscapes=("OneHillValleyOneDim", "MultiValleyOneDim"),
            classes=[(hidden, LEARNING_RATE[hidden]) for hidden in (SMALL, MIDDLE)],
            strengths=(0.0, 0.1),
            seen=60,
        ),
        profiles={"smoke": FIT_PROFILES["smoke"], "laptop": {"replications": 100, "steps": STEPS}},
    ),
}


def landscape_searches(**choice: Any) -> dict[str, Experiment]:
    """Return all searches of the landscapes, with ``choice`` for `bestarm_studies.oae.searches.on_lines`.

    NN 10-5 has the paper's scale at the profile laptop, too; the profile paper has `MANY_RUNS` where 25 leave a main
    comparison undecided.
    """
    cut = {**CUT, **choice}
    more = {**choice, "runs": MANY_RUNS}
    return {
        "synthetic_10_5": on_lines("Landscapes, NN 10-5", SMALL, LANDSCAPE_ENSEMBLES, observe=BOTH, **more),
        "synthetic_100_10": on_lines(
            "Landscapes, NN 100-10", MIDDLE, LANDSCAPE_ENSEMBLES, rounds=50, observe=REWARDED, **{**CUT, **more}
        ),
        "synthetic_300_100": on_lines("Landscapes, NN 300-100", LARGE, VANILLA, rounds=30, **cut),
        "objectives_10_5": on_lines("Landscapes, NN 10-5, other objectives", SMALL, OBJECTIVES, rounds=20, **more),
        "objectives_100_10": on_lines("Landscapes, NN 100-10, other objectives", MIDDLE, OBJECTIVES, rounds=30, **cut),
        "diverse_10_5": on_lines("Landscapes, NN 10-5, DetD", SMALL, DIVERSE, **choice),
        "diverse_100_10": on_lines("Landscapes, NN 100-10, DetD", MIDDLE, DIVERSE, rounds=30, **cut),
        "diverse_kernels": on_lines(
            "Landscapes, NN 10-5, DetD with kernels that are not degenerate on a line", SMALL, DIVERSE_KERNELS, **choice
        ),
        "sequential_10_5": on_lines(
            "Landscapes, NN 10-5, sequential batches", SMALL, SEQUENTIAL, rounds=20, observe=MEASURED, **more
        ),
        "sequential_100_10": on_lines(
            "Landscapes, NN 100-10, sequential batches", MIDDLE, SEQUENTIAL, rounds=20, **cut
        ),
    }


# the paper is silent on biases; these are the default of its framework
SYNTHETIC: dict[str, Experiment] = landscape_searches(settings={"bias": DEFAULT_BIAS}, step_sizes=DEFAULT_STEP_SIZES)
ZERO_BIASES: dict[str, Experiment] = {f"zero_{name}": found for name, found in landscape_searches().items()}

UCI: dict[str, Experiment | Computation] = {
    "bikes_100_10": on_bikes("Bicycles, NN 100-10", MIDDLE, ENSEMBLES, observe=REWARDED),
    "bikes_subsets": on_bikes(
        "Bicycles, NN 100-10, other random tenths left out", MIDDLE, VANILLA, subsets=(1, 2, 3, 4)
    ),
    "bikes_linear": on_bikes("Bicycles, linear class", LINEAR, ENSEMBLES, runs=LINEAR_RUNS),
    "bikes_parts": on_bikes(
        "Bicycles with the two columns whose sum is the response, linear class", LINEAR, VANILLA, parts_of_target=True
    ),
    "bikes_objectives": on_bikes("Bicycles, NN 100-10, other objectives", MIDDLE, OBJECTIVES),
    "bikes_diverse": on_bikes("Bicycles, NN 100-10, DetD", MIDDLE, DIVERSE),
    "bikes_sequential": on_bikes("Bicycles, NN 100-10, sequential batches", MIDDLE, SEQUENTIAL, rounds=20),
    "blogs_100_10": on_blogs("Blog posts, NN 100-10", MIDDLE, ENSEMBLES, rounds=25, observe=REWARDED),
    "blogs_linear": on_blogs("Blog posts, linear class", LINEAR, ENSEMBLES, rounds=50, runs=LINEAR_RUNS),
    "blogs_objectives": on_blogs("Blog posts, NN 100-10, other objectives", MIDDLE, OBJECTIVES, rounds=25),
    "blogs_sequential": on_blogs("Blog posts, NN 100-10, sequential batches", MIDDLE, SEQUENTIAL, rounds=12),
}

# each run has a teacher of its own, fitted with the step size of the class
TEACHER_RATE = LEARNING_RATE[MIDDLE]
REALIZABLE: dict[str, Experiment | Computation] = {
    "fitted_10_5": on_fitted(
        "Fitted responses, NN 10-5", SMALL, ENSEMBLES, names=["BikeSharingDay", "Adult"], scale={}
    ),
    "fitted_100_10": on_fitted(
        "Fitted responses, NN 100-10",
        MIDDLE,
        ENSEMBLES,
        names=["BikeSharingHour", "Bank"],
        scale={"rounds": 30, **CUT},
        learning_rate=TEACHER_RATE,
    ),
    "fitted_diverse_10_5": on_fitted(
        "Fitted responses, NN 10-5, DetD", SMALL, DIVERSE, names=["BikeSharingDay", "Adult"], scale={}
    ),
    "fitted_diverse": on_fitted(
        "Fitted responses, NN 100-10, DetD",
        MIDDLE,
        DIVERSE,
        names=["BikeSharingHour", "Bank"],
        scale={"rounds": 30, **CUT},
        learning_rate=TEACHER_RATE,
    ),
    # what one teacher in all runs hides: how much teachers differ
    "one_teacher_10_5": on_fitted(
        "Fitted responses, NN 10-5, one teacher",
        SMALL,
        ENSEMBLES,
        names=["BikeSharingDay", "Adult"],
        scale={},
        one_teacher=True,
    ),
}

EVOLUTION_ROUNDS = (5, 15, 25, 45)
EVOLUTION = Computation(
    title="MeanOpt on four hills with a hole, round by round",
    rows=partial(
        evolution_rows,
        problem=partial(landscape, name="MultiValleyOneDimHole"),
        policy=Oae(
            "MeanOpt 0.001",
            BATCH,
            max(EVOLUTION_ROUNDS),
            standardise=True,
            hidden=SMALL,
            learning_rate=DEFAULT_STEP_SIZES.long[SMALL],
            bias=DEFAULT_BIAS,
            optimism=0.001,
        ),
        at=EVOLUTION_ROUNDS,
    ),
    profiles={
        "smoke": {"replications": 2, "steps": 5},
        "laptop": {"replications": 25},
        "paper": {"replications": 25},
    },
)


def searched(experiment: Experiment | Computation, series: str) -> NetworkSearch:
    """Return the policy of a series at the paper's own scale."""
    assert isinstance(experiment, Experiment)
    found: NetworkSearch = next(cell.policy for cell in experiment.cells("paper") if cell.series == series)
    return found


ONCE: dict[Profile, dict[str, int]] = {"smoke": {"replications": 1}, "laptop": {"replications": 1}}
COUNTS: dict[str, Experiment | Computation] = {
    "uci_sizes": Computation(
        title="Points and attributes of the UCI sets",
        rows=partial(size_rows),
        profiles=ONCE,
        data_files=[about.file for about in UCI_SETS.values()],
    ),
    "network_counts": Computation(
        title="Networks that a batch takes, NN 100-10",
        rows=partial(
            network_rows,
            searches={
                "MeanOpt 0.1": searched(SYNTHETIC["synthetic_100_10"], "MeanOpt 0.1"),
                "SeqB 0.1": searched(SYNTHETIC["sequential_100_10"], "SeqB 0.1"),
            },
        ),
        profiles=ONCE,
    ),
}

EXPERIMENTS: dict[str, Experiment | Computation] = {
    **FITS,
    **SYNTHETIC,
    **ZERO_BIASES,
    **UCI,
    **REALIZABLE,
    **PLAIN_BASELINES,
    "evolution": EVOLUTION,
    **OPEN_CHOICES,
    **OPEN_DESIGN,
    **COUNTS,
    **THEORY,
    **CELL_LINES,
    **GENEDISCO,
}

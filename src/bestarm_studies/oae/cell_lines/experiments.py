"""The experiments on cell lines: on the official data, where somebody has them, and on two stand-ins.

``cmap_*`` are the paper's, on the official signatures. ``simulated_*`` are the same searches on simulated lines and
``drugs_*`` on real signatures of compounds; neither decides a claim about cell lines. Batches are the paper's 50 arms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.metrics import arm_count, rank, relative_regret
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.cell_lines.arms import DATA_FILES, drug_arms, simulated_line, stand_in_drugs, stand_in_line
from bestarm_studies.oae.cell_lines.batch_fits import batch_fit_rows
from bestarm_studies.oae.cell_lines.calibration import FACTORS, calibration_rows
from bestarm_studies.oae.cell_lines.drug_signatures import N_DRUGS
from bestarm_studies.oae.cell_lines.embeddings import coding_rows
from bestarm_studies.oae.cell_lines.official import OfficialComputation, official_line
from bestarm_studies.oae.cell_lines.simulator import SIZES
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.network_fits import fit_rows
from bestarm_studies.oae.series import (
    DIVERSE,
    ENSEMBLES,
    LEARNING_RATE,
    LINEAR,
    LONG,
    MIDDLE,
    OBJECTIVES,
    SEQUENTIAL,
    SHORT_LEARNING_RATE,
    SMALL,
    STEPS,
    VANILLA,
    WITH_ENSEMBLE,
    Group,
    Hidden,
)

LINES = tuple(SIZES)
BATCH, ROUNDS, RUNS = 50, 20, 25  # the paper's; it does not say how many runs
LAPTOP_SCALE, SMOKE_SCALE = 8, 100  # what divides the numbers of simulated arms
CUT: dict[str, Any] = {"rounds": 10, "steps": 200, "members": 5}
CUT_FITS = 12
WIDE: Hidden = (1500, 300)
WIDE_RATE = 0.001
RHOS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
ETAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)
LEARNING_RATES = (0.001, 0.003, 0.01)
LOOKED_AT = (1, 3, 10, 30, 100, 200, 500, 1000, 2000, 3000, 4000, 5000)

FOUND = partial(BatchObserver, until=SMALLEST_TAU)
REWARDED = partial(BatchObserver, until=SMALLEST_TAU, whole=tuple(VANILLA))

# the sequential methods bring what they are compared with, at their own reduced scale
SEQUENTIAL_PAIRS: Group = {**{name: series for name, series in ENSEMBLES.items() if name != "Greedy"}, **SEQUENTIAL}
MEAN_PAIRS: Group = {
    name: series for name, series in SEQUENTIAL_PAIRS.items() if name.startswith(("Random", "MeanOpt", "SeqB"))
}

_search = partial(Experiment, metrics=(rank, arm_count, relative_regret), every=1, block=25)


def _scales(
    hidden: Hidden, cut: Mapping[str, Any], smoke: Mapping[str, Sequence[Any]], laptop: Mapping[str, Sequence[Any]]
) -> dict[Profile, Scale]:
    short, long = SHORT_LEARNING_RATE[hidden], LEARNING_RATE[hidden]
    cut = {**CUT, **cut}
    few = {"steps": 5, "rounds": 3, "members": 2, "learning_rate": short}
    return {
        "smoke": Scale(2, settings=few, vary=smoke),
        "laptop": Scale(RUNS, settings={**cut, "learning_rate": long if cut["steps"] >= LONG else short}, vary=laptop),
        "paper": Scale(RUNS, settings={"learning_rate": long}),
    }


def on_simulated(
    title: str,
    hidden: Hidden,
    series: Group,
    *,
    observe: Any = FOUND,
    names: Sequence[str] = LINES,
    vary: Mapping[str, Sequence[Any]] | None = None,
    cut: Mapping[str, Any] | None = None,
    **problem: Any,
) -> Experiment:
    """Return searches of simulated lines.

    Parameters
    ----------
    title, hidden, series
        As in a figure; the class of networks; the algorithms.
    observe : partial
        When a run is over, see `bestarm_studies.oae.batch_observer.BatchObserver`.
    names : sequence of str
        Which lines.
    vary : mapping, optional
        Further settings of the problem that differ from cell to cell.
    cut : mapping, optional
        What the profile laptop cuts otherwise than `CUT`.
    **problem
        Settings of `bestarm_studies.oae.cell_lines.arms.simulated_line`.
    """
    return _search(
        title=f"{title}, simulated",
        problem=partial(simulated_line, **problem),
        vary={"name": names, "scale": [1], **(vary or {})},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=_scales(hidden, cut or {}, {"name": names[:1], "scale": [SMOKE_SCALE]}, {"scale": [LAPTOP_SCALE]}),
    )


def on_official(
    title: str, hidden: Hidden, series: Group, *, observe: Any = FOUND, cut: Mapping[str, Any] | None = None
) -> Experiment:
    """Return the same searches on the official data; nobody's rows are in the project."""
    return _search(
        title=title,
        problem=partial(official_line),
        stand_in=partial(stand_in_line),
        vary={"name": LINES},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=observe,
        profiles=_scales(hidden, cut or {}, {"name": ["HA1E"]}, {}),
    )


def on_drugs(title: str, hidden: Hidden, series: Group) -> Experiment:
    """Return searches of compounds by the proliferation in their own signatures."""
    return _search(
        title=f"{title}, drug signatures",
        problem=partial(drug_arms),
        stand_in=partial(stand_in_drugs),
        vary={"n_arms": [N_DRUGS]},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": hidden},
        series=series,
        observe=FOUND,
        profiles=_scales(hidden, {}, {"n_arms": [150]}, {}),
    )


# what each figure searches, on every kind of data: title, class, series, observer, what the laptop cuts
SEARCHES: dict[str, tuple[str, Hidden, Group, Any, dict[str, Any]]] = {
    "100_10": ("Cell lines, NN 100-10", MIDDLE, ENSEMBLES, REWARDED, {}),
    "10_5": ("Cell lines, NN 10-5", SMALL, ENSEMBLES, REWARDED, {}),
    "linear": ("Cell lines, linear class", LINEAR, VANILLA, REWARDED, {}),
    "diverse_10_5": ("Cell lines, NN 10-5, DetD", SMALL, DIVERSE, FOUND, {}),
    "diverse_100_10": ("Cell lines, NN 100-10, DetD", MIDDLE, DIVERSE, FOUND, {}),
    "objectives_10_5": ("Cell lines, NN 10-5, other objectives", SMALL, OBJECTIVES, FOUND, {}),
    "objectives_100_10": ("Cell lines, NN 100-10, other objectives", MIDDLE, OBJECTIVES, FOUND, {"rounds": 6}),
    "sequential_10_5": (
        "Cell lines, NN 10-5, sequential batches",
        SMALL,
        SEQUENTIAL_PAIRS,
        FOUND,
        {"rounds": 4, "steps": 100, "members": 3},
    ),
    "sequential_100_10": (
        "Cell lines, NN 100-10, sequential batches",
        MIDDLE,
        MEAN_PAIRS,
        FOUND,
        {"rounds": 4, "steps": 50},
    ),
}


def _simulated_makers(scale: int) -> dict[str, partial[Any]]:
    return {name: partial(simulated_line, name=name, scale=scale) for name in LINES}


def _fits(makers: Mapping[str, partial[Any]], few: Mapping[str, partial[Any]]) -> dict[str, Any]:
    return {
        "rows": partial(
            fit_rows,
            problems=makers,
            classes=(LINEAR, SMALL, MIDDLE),
            learning_rates=LEARNING_RATES,
            at=LOOKED_AT,
        ),
        "profiles": {
            "smoke": {"problems": few, "replications": 2, "steps": 10},
            "laptop": {"replications": CUT_FITS, "steps": STEPS},
            "paper": {"replications": RUNS, "steps": STEPS},
        },
    }


def _batches(makers: Mapping[str, partial[Any]], few: Mapping[str, partial[Any]]) -> dict[str, Any]:
    return {
        "rows": partial(
            batch_fit_rows, problems=makers, hidden=WIDE, learning_rate=WIDE_RATE, batch=BATCH, at=(1, 2, 5, 10, 15, 20)
        ),
        "profiles": {
            "smoke": {"problems": few, "replications": 2, "steps": 5, "at": (1,)},
            "laptop": {"replications": 3, "steps": 1000, "at": (1, 2, 5, 10)},
            "paper": {"replications": RUNS, "steps": STEPS},
        },
    }


def _at_scale(made: dict[str, Any]) -> dict[str, Any]:
    """Return a computation's arguments with the reduced numbers of simulated arms at the profile laptop."""
    profiles = made["profiles"]
    return {
        **made,
        "profiles": {**profiles, "laptop": {**profiles["laptop"], "problems": _simulated_makers(LAPTOP_SCALE)}},
    }


_FEW = {name: partial(stand_in_line, name=name) for name in ("VCAP", "HA1E")}
_OFFICIAL = {name: partial(official_line, name=name) for name in LINES}

CALIBRATION = Computation(
    title="The simulator's likeness of each line to VCAP, by plain fits",
    rows=partial(
        calibration_rows,
        classes=[
            (WIDE, WIDE_RATE, 1000),
            *((hidden, LEARNING_RATE[hidden], STEPS) for hidden in (LINEAR, SMALL, MIDDLE)),
        ],
        n_known=10 * BATCH,
        factors=FACTORS,
        scale=LAPTOP_SCALE,
    ),
    profiles={
        "smoke": {
            "replications": 2,
            "scale": SMOKE_SCALE,
            "factors": FACTORS[:1],
            "classes": [(WIDE, WIDE_RATE, 5), *((hidden, 0.01, 5) for hidden in (LINEAR, SMALL, MIDDLE))],
        },
        "laptop": {"replications": 3},
    },
)

CELL_LINES: dict[str, Experiment | Computation] = {
    "simulated_coding": Computation(
        title="The autoencoder's training, simulated VCAP and drug signatures",
        rows=partial(coding_rows, scale=1),
        profiles={
            "smoke": {"replications": 1, "scale": SMOKE_SCALE, "drugs": False},
            "laptop": {"replications": 1, "scale": LAPTOP_SCALE},
            "paper": {"replications": 1},
        },
        data_files=DATA_FILES,
    ),
    "simulated_calibration": CALIBRATION,
    "simulated_fits": Computation(
        title="Training error on simulated lines",
        **_at_scale(_fits(_simulated_makers(1), _simulated_makers(SMOKE_SCALE))),
    ),
    "simulated_batches": Computation(
        title="Error of NN 1500-300 after random batches, simulated lines",
        **_at_scale(_batches(_simulated_makers(1), _simulated_makers(SMOKE_SCALE))),
    ),
    **{
        f"simulated_{key}": on_simulated(title, hidden, series, observe=observe, cut=cut)
        for key, (title, hidden, series, observe, cut) in SEARCHES.items()
    },
    "simulated_permuted": on_simulated(
        "Lines with permuted codes, NN 100-10", MIDDLE, VANILLA, names=["HA1E", "MCF7"], permuted=True
    ),
    "simulated_stress": on_simulated(
        "A375 as like VCAP as HA1E is, NN 100-10", MIDDLE, VANILLA, names=["A375"], like="HA1E"
    ),
    "simulated_similarity": on_simulated(
        "HA1E, more or less like VCAP, NN 100-10", MIDDLE, WITH_ENSEMBLE, names=["HA1E"], vary={"rho": RHOS}
    ),
    "simulated_own_program": on_simulated(
        "HA1E, with more or less of a program of its own, NN 100-10",
        MIDDLE,
        WITH_ENSEMBLE,
        names=["HA1E"],
        vary={"eta": ETAS},
    ),
    **{f"drugs_{key}": on_drugs(SEARCHES[key][0], *SEARCHES[key][1:3]) for key in ("100_10", "10_5", "linear")},
    "cmap_fits": OfficialComputation(title="Training error on the lines", **_fits(_OFFICIAL, _FEW)),
    "cmap_batches": OfficialComputation(title="Error of NN 1500-300 after random batches", **_batches(_OFFICIAL, _FEW)),
    **{
        f"cmap_{key}": on_official(title, hidden, series, observe=observe, cut=cut)
        for key, (title, hidden, series, observe, cut) in SEARCHES.items()
    },
}

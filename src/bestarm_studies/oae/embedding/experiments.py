"""Plain fits to the rewards of groups of lines, of the official lines and of simulated ones."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.oae.cell_lines.contexts import DATA_FILES, GROUPS, group_or_stand_in, stand_in_group
from bestarm_studies.oae.cell_lines.official import LINES, OfficialComputation, official_line
from bestarm_studies.oae.cell_lines.searches import BATCH, FOUND, ROUNDS, RUNS, scales, search
from bestarm_studies.oae.embedding.batch_fits import batch_fit_rows, simulated_fit_rows
from bestarm_studies.oae.embedding.simulator import simulated_line
from bestarm_studies.oae.network_fits import fit_rows
from bestarm_studies.oae.series import LEARNING_RATE, LINEAR, MIDDLE, SMALL, STEPS, VANILLA, Hidden

WIDE: Hidden = (1500, 300)
WIDE_RATE = 0.001
LEARNING_RATES = (0.001, 0.003, 0.01)
WHOLE_FITS = {"replications": RUNS, "steps": STEPS}
LOOKED_AT = (1, 3, 10, 30, 100, 200, 500, 1000, 2000, 3000, 4000, 5000)


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
EXPERIMENTS: dict[str, Experiment | Computation] = {
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
    "simulated_100_10": search(
        title="Cell lines, NN 100-10, simulated",
        problem=partial(simulated_line),
        vary={"name": LINES},
        settings={"batch": BATCH, "rounds": ROUNDS, "hidden": MIDDLE},
        series=VANILLA,
        observe=FOUND,
        profiles=scales(MIDDLE, "HA1E", RUNS),
    ),
    "contexts_fits": Computation(title="Training error on groups", **_fits(_GROUPS, _FEW), data_files=DATA_FILES),
    "contexts_batches": Computation(
        title="Error of NN 1500-300 on groups after random batches",
        **_batches(
            _GROUPS, _FEW, laptop={"replications": 5, "steps": 1000}, paper={"replications": 10, "steps": STEPS}
        ),
        data_files=DATA_FILES,
    ),
    "cmap_fits": OfficialComputation(title="Training error on the lines", **_fits(_OFFICIAL, _FEW)),
    "cmap_batches": OfficialComputation(title="Error of NN 1500-300 after random batches", **_batches(_OFFICIAL, _FEW)),
}

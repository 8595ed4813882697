"""Plain fits to the rewards of groups of lines and of the official lines."""

from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation
from bestarm_studies.oae.cell_lines import BATCH
from bestarm_studies.oae.cell_lines.contexts import DATA_FILES, GROUPS, group_or_stand_in, stand_in_group
from bestarm_studies.oae.cell_lines.official import LINES, OfficialComputation, official_line
from bestarm_studies.oae.embedding.batch_fits import batch_fit_rows
from bestarm_studies.oae.network_fits import fit_rows
from bestarm_studies.oae.series import LEARNING_RATES, LINEAR, LOOKED_AT, MIDDLE, SMALL, STEPS, WHOLE_FITS, Hidden

WIDE: Hidden = (1500, 300)
WIDE_RATE = 0.001


_FEW = {name: partial(stand_in_group, name=name) for name in ("VCAP", "HA1E")}
_BATCHES: dict[str, Any] = {"hidden": WIDE, "learning_rate": WIDE_RATE, "batch": BATCH, "at": (1, 2, 5, 10, 15, 20)}


def _fits(makers: dict[str, partial[Any]]) -> dict[str, Any]:
    classes = (LINEAR, SMALL, MIDDLE)
    rows = partial(fit_rows, problems=makers, classes=classes, learning_rates=LEARNING_RATES, at=LOOKED_AT)
    smoke = {"problems": _FEW, "replications": 2, "steps": 10}
    return {"rows": rows, "profiles": {"smoke": smoke, "laptop": WHOLE_FITS, "paper": WHOLE_FITS}}


def _batches(makers: dict[str, partial[Any]], laptop: Any = WHOLE_FITS, paper: Any = WHOLE_FITS) -> dict[str, Any]:
    smoke = {"problems": _FEW, "replications": 2, "steps": 5, "at": (1,)}
    profiles = {"smoke": smoke, "laptop": laptop, "paper": paper}
    return {"rows": partial(batch_fit_rows, problems=makers, **_BATCHES), "profiles": profiles}


_OFFICIAL = {name: partial(official_line, name=name) for name in LINES}
_GROUPS = {name: partial(group_or_stand_in, name=name) for name in GROUPS}
EXPERIMENTS: dict[str, Computation] = {
    "contexts_fits": Computation(title="Training error on groups", **_fits(_GROUPS), data_files=DATA_FILES),
    "contexts_batches": Computation(
        title="Error of NN 1500-300 on groups after random batches",
        **_batches(_GROUPS, laptop={"replications": 5, "steps": 1000}, paper={"replications": 10, "steps": STEPS}),
        data_files=DATA_FILES,
    ),
    "cmap_fits": OfficialComputation(title="Training error on the lines", **_fits(_OFFICIAL)),
    "cmap_batches": OfficialComputation(title="Error of NN 1500-300 after random batches", **_batches(_OFFICIAL)),
}

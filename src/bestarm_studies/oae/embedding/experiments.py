"""Plain fits to the rewards of groups of lines and of the official lines."""

from collections.abc import Mapping
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
EXPERIMENTS: dict[str, Computation] = {
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

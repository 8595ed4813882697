"""Likeness of each group to the others."""

from functools import partial

from bestarm_lab.experiments.computation import Computation
from bestarm_studies.oae.cell_lines.contexts import DATA_FILES, likeness_rows

EXPERIMENTS = {
    "contexts_likeness": Computation(
        title="How well other groups tell of a group",
        rows=partial(likeness_rows),
        profiles={"smoke": {"replications": 1}, "laptop": {"replications": 1}},
        data_files=DATA_FILES,
    )
}

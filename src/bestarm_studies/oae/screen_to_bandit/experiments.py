"""Likeness of each group to the others."""

from bestarm_lab.experiments.computation import computed
from bestarm_studies.oae.cell_lines.contexts import DATA_FILES, likeness_rows

EXPERIMENTS = {
    "contexts_likeness": computed("How well other groups tell of a group", 1, likeness_rows, data_files=DATA_FILES)
}

"""A table beyond the verdicts: the claims under what the GSE paper leaves open."""

from functools import partial

from bestarm_lab.results import write_choices
from bestarm_studies.gse.readings import CHOICES

WRITE = (partial(write_choices, "gse", CHOICES),)

"""A table beyond the verdicts: the claims under what the DPP-BBO paper leaves open."""

from functools import partial

from bestarm_lab.results import write_choices
from bestarm_studies.dpp_bbo.readings import CHOICES

WRITE = (partial(write_choices, "dpp_bbo", CHOICES),)

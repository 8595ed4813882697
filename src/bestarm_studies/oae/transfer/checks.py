"""The check of how misfit goes with gain."""

from bestarm_lab.claims.records import Check
from bestarm_studies.oae.cell_lines.misfit import misfit_explains_gain

CHECKS = {"misfit_explains_gain": Check(misfit_explains_gain)}

"""Errors of plain fits that claims compare."""

from bestarm_lab.claims.cells import Value
from bestarm_studies.oae.cell_lines.misfit import held_out, own_misfit

VALUES = {
    "own_misfit": Value("training error over variance, each class with its step size", own_misfit),
    "held_out": Value("error on arms that were not seen", held_out),
}

"""The check of printed sizes."""

from bestarm_lab.claims.records import Check
from bestarm_studies.oae.fits.set_sizes import uci_sizes

CHECKS = {"uci_sizes": Check(uci_sizes, {"of": "points|attributes"})}

"""The claim of this section that a computation decides."""

from bestarm_lab.claims.records import Check
from bestarm_studies.dpp_bbo.walker.lipschitz import lipschitz_errors

CHECKS = {"lipschitz_errors": Check(lipschitz_errors, {"of": "any"})}

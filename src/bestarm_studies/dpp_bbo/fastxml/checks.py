"""The claim of this section that a computation decides."""

from bestarm_lab.claims.records import Check
from bestarm_studies.dpp_bbo.fastxml.table import precision_range

CHECKS = {"precision_range": Check(precision_range, {"above": "number"})}

"""The claim of this section that a computation decides."""

from bestarm_lab.claims.records import Check
from bestarm_studies.dpp_bbo.batches.laws import exploration_is_greedy

CHECKS = {"exploration_is_greedy": Check(exploration_is_greedy)}

"""The check of hills that a search sees."""

from bestarm_lab.claims.records import Check
from bestarm_studies.oae.problem.evolution import hills_seen

CHECKS = {"hills_seen": Check(hills_seen)}

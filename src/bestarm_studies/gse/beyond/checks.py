"""Checks of the worked example and of the times."""

from bestarm_lab.claims.records import Check
from bestarm_studies.gse.beyond.clusters import clusters
from bestarm_studies.gse.beyond.run_times import peace_cost

CHECKS: dict[str, Check] = {
    "clusters": Check(clusters),
    "peace_cost": Check(peace_cost, {"at_least": "number", "growth": "number"}),
}

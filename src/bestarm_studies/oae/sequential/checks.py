"""The check of what a sequential batch costs."""

from bestarm_lab.claims.records import Check
from bestarm_studies.oae.sequential.network_counts import cost_of_sequence

CHECKS = {
    "cost_of_sequence": Check(cost_of_sequence, {"experiments": "experiments", "pairs": "any", "at_least": "number"})
}

"""Checks of the theorems, each in its module."""

from bestarm_lab.claims.records import Check
from bestarm_studies.oae.theory.batch_regret import batch_factor, linear_burn_in, misspecification, wide_arms
from bestarm_studies.oae.theory.optimism import linear_optimism
from bestarm_studies.oae.theory.query_bounds import lipschitz_bound, query_bound

CHECKS: dict[str, Check] = {
    "linear_burn_in": Check(
        linear_burn_in,
        {"instance": "text", "series": "series", "slack": "number", "late": "number"},
        may={"attained": "flag"},
    ),
    "wide_arms": Check(wide_arms, {"constant": "number"}),
    "misspecification": Check(misspecification, may={"ratio": "number", "proportional": "flag", "slack": "number"}),
    "batch_factor": Check(
        batch_factor,
        {"instance": "text", "vanilla": "series", "spread": "series", "slack": "number", "most": "number"},
        may={"n_features": "numbers"},
    ),
    "query_bound": Check(query_bound, {"bound": "printed|squared"}, may={"part": "small|large", "series": "series"}),
    "lipschitz_bound": Check(lipschitz_bound, {"bound": "printed|quarter"}),
    "linear_optimism": Check(linear_optimism, may={"model": "constrained|regularised"}),
}

"""Values that the claims on causes compare, and a check of single trees."""

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.gpoo.checks import Rows, Test
from bestarm_studies.gpoo.paper_against_code.causes import gap_closed, gap_opened

_GAP = {"of": "column", "slow": "series", "changed": "series", "fast": "series"}
VALUES: dict[str, Value] = {
    "gap_closed": Value("part of the gap that is closed", gap_closed, needs=_GAP),
    "gap_opened": Value("part of the gap that is opened", gap_opened, needs=_GAP),
}


def precision(test: Test, rows: Rows) -> Decision:
    """Check that the model is surer of divided nodes than of leaves, on average over the nodes of every tree."""
    (name,) = test["experiments"]
    nodes = rows[name][rows[name]["kind"] == "node"]
    means = nodes.assign(leaf=nodes["leaf"].astype(bool)).pivot_table("sd", "series", "leaf", sort=False)
    told = "; ".join(f"{series}: {divided:.3f}, leaves {leaf:.3f}" for series, divided, leaf in means.itertuples())
    holds = bool((means[False] < means[True]).all())
    return Decision(holds, f"mean standard deviation of divided nodes: {told}", checked=f"{len(means)} trees")


CHECKS: dict[str, Check] = {"precision": Check(precision, {"experiments": "experiments"})}

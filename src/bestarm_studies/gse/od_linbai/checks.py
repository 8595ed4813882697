"""Chances of OD-LinBAI's first stage to lose the best arm, in closed form."""

import numpy as np
from scipy import integrate, stats

from bestarm.policies.linear.gse import n_stages
from bestarm.policies.linear.od_linbai import schedule
from bestarm_lab.claims.cells import Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision


def probability_of_losing(dimension: int, copies: int, keep: int, gap: float, pulls: float) -> float:
    """Return how likely a stage loses the best arm among e_1 and so many copies of each of e_2, ..., e_d.
    The mean of e_1 is ``gap``, the others' is 0; every direction has ``pulls`` rewards of variance 1. Copies have one
    estimate, so the best arm is lost if the directions above it fill all ``keep`` places."""
    filled = -(-keep // copies)  # so many directions

    def integrand(z: float) -> float:
        above = stats.norm.sf(z + gap * np.sqrt(pulls))
        return float(stats.norm.pdf(z) * stats.binom.sf(filled - 1, dimension - 1, above))

    return float(integrate.quad(integrand, -9.0, 9.0, limit=200)[0])


def first_stage(test: Test) -> Decision:
    """Decide whether OD-LinBAI's first stage loses the best arm more often the more arms there are beyond d."""
    d, budget, gap = int(test["dimension"]), int(test["budget"]), float(test["gap"])
    od, gse = [], []
    for copies in map(int, test["copies"]):
        k = 1 + (d - 1) * copies
        m, sizes = schedule(k, d, budget)
        od.append(probability_of_losing(d, copies, sizes[0], gap, m / d))
        gse.append(probability_of_losing(d, copies, -(-k // 2), gap, budget // n_stages(k, 2) / d))
    arms = [1 + (d - 1) * int(copies) for copies in test["copies"]]
    told = "; ".join(f"K = {k}: {a:.2g}, GSE {b:.2g}" for k, a, b in zip(arms, od, gse, strict=True))
    more = [a > b for k, a, b in zip(arms, od, gse, strict=True) if k > d]
    return Decision(bool(np.all(np.diff(od) > 0.0) and all(more)), f"d = {d}, probability of losing it: {told}")


CHECKS: dict[str, Check] = {
    "first_stage": Check(first_stage, {"dimension": "number", "budget": "number", "gap": "number", "copies": "numbers"})
}

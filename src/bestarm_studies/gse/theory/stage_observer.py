"""An observer of GSE: how uncertain each stage was, where the best arm was lost (Section 4.2, Appendices A and B)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numba import njit

from bestarm.designs.projection import span_basis
from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.models.regression import design, factorise, solve_lower
from bestarm.observe import Observed
from bestarm.policies.linear.elimination import EliminationState, by_arm
from bestarm.streams import Streams
from bestarm_studies.gse.instances import LogisticBandit
from bestarm_studies.gse.theory.bounds import gaps, smallest_slopes, variance

N_STAGES = 3  # of eight arms


@njit(cache=True)
def uncertainties(
    features: FloatArray, feature_set: IntArray, live: BoolArray, counts: IntArray, best: IntArray, found: FloatArray
) -> None:
    """Write the largest |x_i - x_best|^2 and |x_i|^2 of a live arm in the norm of V^-1, infinite outside its span."""
    for r in range(len(live)):
        arms = np.flatnonzero(live[r])
        x = features[feature_set[r]][arms]
        basis = span_basis(x)
        z = x @ basis
        # V_t: the data of this stage alone
        v = design(z, counts[r][arms].astype(np.float64), 0.0)
        found[r, 0] = found[r, 1] = 0.0
        if not factorise(v):
            found[r] = np.inf
            continue
        origin = features[feature_set[r]][best[r]] @ basis
        for i in range(len(arms)):
            # Equation 2 has the norm of x_i - x_1, Equation 5 that of x_i
            for kind in range(2):
                vector = z[i] - origin if kind == 0 else z[i].copy()
                solve_lower(v, vector)
                found[r, kind] = max(found[r, kind], np.sum(vector**2))


@dataclass
class ObservedStages(Observed):
    """GSE under observation on one instance with eight arms; no replication stops before another.
    ``stages`` has for each stage ``alive``, whether the best arm was live before; ``lost``, whether it was eliminated;
    ``live``, ``estimates``, (R, K); ``difference``, ``norm``: largest squares of :math:`x_i-x_1` and :math:`x_i`."""

    columns: ClassVar[tuple[str, ...]] = (
        "difference",
        "norm",
        "slope",
        *(f"{what}_{t}" for t in range(N_STAGES) for what in ("alive", "lost", "lemma2")),
    )

    problem: Any
    stages: list[dict[str, Any]] = field(default_factory=list)

    def start(self, arms: Any, streams: Streams) -> EliminationState:
        self.stages.clear()
        state: EliminationState = super().start(arms, streams)
        return state

    def tell(self, state: EliminationState, asked: Ask, totals: FloatArray) -> None:
        """Update the policy, and note what the stage did."""
        counts, _ = by_arm(asked, totals, state.live.shape[1])
        rows = np.arange(len(counts))
        best = np.full(len(counts), int(np.argmax(self.problem.means[0])))
        before, found = state.live.copy(), np.empty((len(counts), 2))
        uncertainties(state.features, state.feature_set, before, counts, best, found)
        super().tell(state, asked, totals)
        alive = before[rows, best]
        self.stages.append(
            {
                "live": before,
                "alive": alive,
                "lost": alive & ~state.live[rows, best],
                "estimates": state.means.copy(),
                "difference": found[:, 0],
                "norm": found[:, 1],
            }
        )

    def findings(self, replications: IntArray) -> pd.DataFrame:
        """Return for each run how uncertain its stages were, and whether each kept the best arm.
        While it was live; ``slope`` is 1 for linear rewards, ``lemma2_t`` the bound of Lemma 2."""
        gap, stages = gaps(self.problem), self.stages
        table: dict[str, Any] = {"replication": replications}
        for norm in ("difference", "norm"):
            table[norm] = np.max([s[norm] * s["alive"] for s in stages], axis=0)
        table["slope"] = np.min([np.where(s["alive"], self._slopes(s), np.inf) for s in stages], axis=0)
        for t, stage in enumerate(stages):
            least = np.where(stage["live"] & (gap > 0), gap[None, :], np.inf).min(axis=1)
            exponent = least**2 / (2.0 * variance(self.problem) * np.maximum(stage["difference"], 1e-300))
            table[f"alive_{t}"], table[f"lost_{t}"] = stage["alive"], stage["lost"]
            table[f"lemma2_{t}"] = np.where(stage["alive"], np.minimum(1.0, 4.0 * np.exp(-exponent)), 0.0)
        return pd.DataFrame(table)

    def _slopes(self, stage: dict[str, Any]) -> FloatArray:
        if not isinstance(self.problem, LogisticBandit):
            return np.ones(len(stage["live"]))
        return smallest_slopes(self.problem, stage["estimates"], stage["live"])

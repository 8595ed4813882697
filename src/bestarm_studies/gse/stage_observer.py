r"""An observer of policies that eliminate in stages: how uncertain each stage was, and where the best arm was lost.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022.
   Section 4.2, Appendices A and B.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from bestarm.designs.projection import span_basis
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.models.logistic import design, factorise, solve_lower
from bestarm.policies.elimination import EliminationState, by_arm
from bestarm.policies.gse import Gse
from bestarm.streams import Streams


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
        v = design(z, counts[r][arms].astype(np.float64), 0.0)
        found[r, 0] = found[r, 1] = 0.0
        if not factorise(v):
            found[r] = np.inf
            continue
        origin = features[feature_set[r]][best[r]] @ basis
        for i in range(len(arms)):
            for kind in range(2):
                vector = z[i] - origin if kind == 0 else z[i].copy()
                solve_lower(v, vector)
                found[r, kind] = max(found[r, kind], np.sum(vector**2))


@dataclass
class StageMonitor:
    """A policy under observation; it makes the same choices.

    Parameters
    ----------
    policy : Gse
        What searches; no replication may stop before another.
    best : ndarray of int64, shape (R,)
        The best arm of each replication.

    Attributes
    ----------
    stages : list of dict
        For each stage: ``alive``, whether the best arm was live before; ``lost``, whether the stage eliminated it;
        ``live`` and ``estimates``, shape (R, K); ``difference`` and ``norm``, the largest squared norms of
        :math:`x_i-x_1` and :math:`x_i`.
    """

    policy: Gse
    best: IntArray
    stages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name of the policy."""
        return self.policy.label

    def start(self, arms: Arms, streams: Streams) -> EliminationState:
        """Start the policy."""
        self.stages.clear()
        return self.policy.start(arms, streams)

    def ask(self, state: EliminationState) -> Ask:
        """Let the policy choose."""
        return self.policy.ask(state)

    def tell(self, state: EliminationState, asked: Ask, totals: FloatArray) -> None:
        """Let the policy learn, and note what the stage did."""
        counts, _ = by_arm(asked, totals, state.live.shape[1])
        rows = np.arange(len(counts))
        before, found = state.live.copy(), np.empty((len(counts), 2))
        uncertainties(state.features, state.feature_set, before, counts, self.best, found)
        self.policy.tell(state, asked, totals)
        alive = before[rows, self.best]
        self.stages.append(
            {
                "live": before,
                "alive": alive,
                "lost": alive & ~state.live[rows, self.best],
                "estimates": state.means.copy(),
                "difference": found[:, 0],
                "norm": found[:, 1],
            }
        )

    def finished(self, state: EliminationState) -> BoolArray:
        """Return which replications have stopped."""
        return self.policy.finished(state)

    def recommend(self, state: EliminationState) -> IntArray:
        """Return the recommended arm."""
        return self.policy.recommend(state)

"""An observer of searches among noisy responses: how good the best arm is that was tried, whatever it looked like.

With noise the arm that looks best need not be the best that was tried; to find a top arm and to know it are two things.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bestarm.interface import Ask
from bestarm.policies.batch_search import BatchState
from bestarm_studies.oae.batch_observer import BatchObserver


@dataclass
class TriedObserver(BatchObserver):
    """A `BatchObserver` that also notes ``tried``, the rank of the best arm of all batches so far by true response."""

    columns: ClassVar[tuple[str, ...]] = (*BatchObserver.columns, "tried")

    def _ask(self, state: BatchState) -> Ask:
        asked = super()._ask(state)
        if asked.counts.any():
            means, rows = self._means(state), np.arange(len(state.best))[:, None]
            best = means[rows, asked.arms].max(axis=1)
            self.rounds[-1]["tried"] = 1 + (means > best[:, None]).sum(axis=1)
        return asked

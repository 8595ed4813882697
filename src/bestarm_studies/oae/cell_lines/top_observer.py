"""An observer of whole searches: how many of the best arms every batch holds, where any search soon finds one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bestarm.interface import Ask
from bestarm.policies.batch_search import BatchState
from bestarm_studies.oae.batch_observer import BatchObserver, n_good
from bestarm_studies.oae.first_hits import SMALLEST_TAU


@dataclass
class TopObserver(BatchObserver):
    """A `BatchObserver` that also notes ``top``, how many arms of the smallest quantile that is counted a batch has."""

    columns: ClassVar[tuple[str, ...]] = (*BatchObserver.columns, "top")

    def _ask(self, state: BatchState) -> Ask:
        asked = super()._ask(state)
        if asked.counts.any():
            means = self._means(state)
            good = n_good(SMALLEST_TAU, means.shape[1])
            least = np.partition(means, -good, axis=1)[:, [-good]]
            self.rounds[-1]["top"] = (np.take_along_axis(means, asked.arms, axis=1) >= least).sum(axis=1)
        return asked

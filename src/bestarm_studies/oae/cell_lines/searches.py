"""Settings that searches and fits of cell lines and of groups of DepMap share; batches are the paper's 50 arms."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bestarm.interface import Ask
from bestarm.policies.batch_search import BatchState
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.metrics import arm_count, rank, relative_regret
from bestarm_studies.oae.batch_observer import BatchObserver, n_good
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.series import FEW_RUNS, STEP_SIZES, Hidden

BATCH, ROUNDS, RUNS = 50, 20, 25  # the paper's; it does not say how many runs
CUT: dict[str, Any] = {"steps": 1000, "members": 5}
FOUND = partial(BatchObserver, until=SMALLEST_TAU)
search = partial(Experiment, metrics=(rank, arm_count, relative_regret), every=1, block=25)


def scales(hidden: Hidden, smoke: str, laptop_runs: int = FEW_RUNS, **cut: Any) -> dict[Profile, Scale]:
    short, long = STEP_SIZES.short[hidden], STEP_SIZES.long[hidden]
    few = {"steps": 5, "rounds": 3, "members": 2, "learning_rate": short}
    return {
        "smoke": Scale(2, settings=few, vary={"name": [smoke]}),
        "laptop": Scale(laptop_runs, settings={**CUT, "learning_rate": long, **cut}),
        "paper": Scale(RUNS, settings={"learning_rate": long}),
    }


STAND_IN = "DepMap 26Q1, not CMAP"
R_SQUARED = "R² of ridge from the other groups"


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

"""The landscapes with noise, each arm of a batch evaluated several times: Algorithm 4 of the paper.

Algorithm 4 is Algorithm 1 with noisy responses. The paper says that repeated evaluation brings it back to the case
without noise, and has no experiment on it. Of the paper: Section 3, Appendix D, Algorithm 4.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from bestarm.interface import Ask, IntArray
from bestarm.policies.batch_search import BatchState
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.landscapes import Landscape, landscape


@dataclass(frozen=True)
class NoisyLandscape(Landscape):
    """A landscape whose responses are seen with Gaussian noise.
    ``sigma``: standard deviation of one evaluation; ``evaluations``: how many one pull averages."""

    sigma: float = 0.0
    evaluations: int = 1

    def take(self, replications: IntArray) -> NoiselessArms:
        """Return the arms of some replications, those of the landscape without noise."""
        return replace(super().take(replications), sigma=self.sigma, evaluations=self.evaluations)


def noisy_landscape(name: str, sigma: float, evaluations: int = 1, n_arms: int = 1000) -> NoisyLandscape:
    """Return one of the four landscapes with noisy responses (Algorithm 4).
    ``sigma``, ``evaluations``: as of `NoisyLandscape`; the highest hill is 1. Raises ValueError for an unknown name,
    too few arms, negative noise or no evaluation."""
    if not sigma >= 0 or evaluations < 1:
        raise ValueError(f"sigma must be at least 0 and evaluations at least 1, got {sigma} and {evaluations}.")
    return NoisyLandscape(**asdict(landscape(name, n_arms)), sigma=sigma, evaluations=evaluations)


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


TRIED = partial(TriedObserver, until=SMALLEST_TAU)

"""Open choices of the paper: searches of the landscapes with NN 10-5, one choice changed at a time.

One of them is noise, with each arm evaluated several times. Algorithm 4 of the paper (Section 3, Appendix D) is
Algorithm 1 with noisy responses: repeated evaluation brings it back to the case without noise; it has no experiment.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bestarm.interface import Ask, IntArray
from bestarm.policies.batch_search import BatchState
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.experiments import on_lines
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.landscapes import LANDSCAPES, Landscape, landscape
from bestarm_studies.oae.open_choices.open_design import OPEN_DESIGN
from bestarm_studies.oae.series import SMALL, WITH_ENSEMBLE


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
SIGMA = 0.3
SHORTER: dict[str, Any] = {"rounds": 50, "steps": 1000}  # the profile laptop
CHOICES: dict[str, tuple[str, dict[str, Any]]] = {
    "base": ("Biases of zero, steps of size 0.01", {}),
    "steps_600": ("600 steps", {"fixed": {"steps": 600}}),
    "rate_3": ("Steps of size 0.003", {"fixed": {"learning_rate": 0.003}}),
    "rate_1": ("Steps of size 0.001", {"fixed": {"learning_rate": 0.001}}),
    "bias": ("Random initial biases, Torch's default", {"settings": {"bias": 1.0}}),
    "pool": ("100 arms of the pool in each step, not 10", {"settings": {"pool_minibatch": 100}}),
    "scale_10": ("Responses ten times as large", {"problem": partial(landscape, scale=10.0)}),
    "scale_01": ("Responses a tenth as large", {"problem": partial(landscape, scale=0.1)}),
    "island": (
        "Holes around a summit that is still there",
        {"problem": partial(landscape, hole="island"), "names": [n for n in LANDSCAPES if n.endswith("Hole")]},
    ),
    "width": (
        "Wider hills",
        {"problem": partial(landscape, width=1.2), "names": [n for n in LANDSCAPES if n.startswith("Multi")]},
    ),
    "noise_1": (
        f"Responses with noise of standard deviation {SIGMA}",
        {"problem": partial(noisy_landscape, sigma=SIGMA, evaluations=1), "observe": TRIED},
    ),
    "noise_16": (
        "The same noise, every arm evaluated 16 times",
        {"problem": partial(noisy_landscape, sigma=SIGMA, evaluations=16), "observe": TRIED},
    ),
}
EXPERIMENTS = {
    f"open_{choice}": on_lines(title, SMALL, WITH_ENSEMBLE, **SHORTER, **changed)
    for choice, (title, changed) in CHOICES.items()
} | OPEN_DESIGN

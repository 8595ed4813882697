"""Landscapes as they might have been drawn, too, and landscapes with noise, each arm evaluated several times.

Other hills and widths are within what the paper says. Algorithm 4 of the paper (Section 3, Appendix D) is Algorithm 1
with noisy responses: repeated evaluation brings it back to the case without noise; it has no experiment.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from bestarm.interface import Ask, FloatArray, IntArray
from bestarm.policies.batch_search import BatchState
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.landscapes import HOLES, ISLAND, Landscape, landscape, one_hill

SUMMIT = 3.0  # of the one hill; the paper says so
HILLS = {
    "right": ((-8.0, 0.55), (-3.0, 0.80), (2.0, 0.65), (7.0, 1.00)),  # as in `bestarm_studies.oae.landscapes`
    "inner": ((-8.0, 0.55), (-3.0, 0.80), (2.0, 1.00), (7.0, 0.65)),
    "rivals": ((-8.0, 0.75), (-3.0, 0.85), (2.0, 0.80), (7.0, 1.00)),
}
_WIDTH = 0.9


@dataclass(frozen=True)
class OpenLandscape(Landscape):
    """One hill or four, of any width and heights.
    ``hills``: (centre, height) of the four; of one hill this says nothing."""

    hills: tuple[tuple[float, float], ...] = HILLS["right"]

    def evaluate(self, x: FloatArray) -> FloatArray:
        """Return the responses of points, whether there is an arm or not."""
        if self.n_hills == "one":
            return self.scale * one_hill(SUMMIT + (x - SUMMIT) / self.width)
        spread = 2.0 * (_WIDTH * self.width) ** 2
        return self.scale * np.asarray(sum(h * np.exp(-((x - c) ** 2) / spread) for c, h in self.hills))


def open_landscape(
    name: str, hole: str = "interval", hills: str = "right", width: float = 1.0, scale: float = 1.0, seed: int = 0
) -> OpenLandscape:
    """Return one of the four landscapes, drawn otherwise.
    ``hills``: which of the four is the highest ("right", "inner"), or that the others are nearly as high ("rivals");
    ``width``: a factor, of the one hill, too; others are as of `landscape`. Raises ValueError for an unknown name, hole
    or drawing, or hills without width."""
    if hills not in HILLS:
        raise ValueError(f"hills must be one of {', '.join(HILLS)}, got {hills!r}.")
    plain = landscape(name, hole=hole, width=width, scale=scale, seed=seed)
    drawn, top = HILLS[hills], SUMMIT
    if plain.n_hills == "four":
        top = max(drawn, key=lambda hill: hill[1])[0]
    gaps: tuple[tuple[float, float], ...] = ()
    if plain.gaps and hole == "interval":
        usual, (low, high) = SUMMIT if plain.n_hills == "one" else 7.0, HOLES[plain.n_hills]
        gaps = ((low - usual + top, high - usual + top),)
    elif plain.gaps:
        near, far = ISLAND
        gaps = ((top - far, top - near), (top + near, top + far))
    label = f"{name} {hole} {hills} x{width:g}"
    return OpenLandscape(label, plain.n_hills, gaps, plain.n_arms, width, scale, seed, plain.data, drawn)


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

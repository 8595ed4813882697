"""Landscapes as they might have been drawn, too: other hills, other widths, within what the paper says of them."""

from dataclasses import dataclass

import numpy as np

from bestarm.interface import FloatArray
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

r"""Four landscapes on a line: one hill or four, with or without the arms around the summit.

The paper draws them (E.1.1, Figure 7), without a formula. Those here keep what it says: arms uniform on [-10, 10]; one
hill with its top at 3, or four, of which three mislead; around the highest one of the "Hole" sets no arm is left.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from bestarm.interface import Arms, FloatArray, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams, uniform

REACH = 10.0
HOLES = {"one": (1.5, 3.75), "four": (6.0, 7.25)}
ISLAND = (0.1, 1.5)
_HILLS = ((-8.0, 0.55), (-3.0, 0.80), (2.0, 0.65), (7.0, 1.00))
LANDSCAPES = ("OneHillValleyOneDim", "OneHillValleyOneDimHole", "MultiValleyOneDim", "MultiValleyOneDimHole")


class DrawnArms:
    """A problem whose arms are drawn anew for each replication; a subclass draws them in ``take``."""

    if TYPE_CHECKING:

        @property
        def label(self) -> str:
            """Name of the law; a field or a property of the subclass."""

    @property
    def arms(self) -> Arms:
        """Refuse: which arms there are depends on the replication."""
        raise ValueError(f"{self.label}: arms differ by replication; call problem.take(streams.replications) first.")


def one_hill(x: FloatArray) -> FloatArray:
    """Return one hill of height 1 at 3, above a valley at the left end."""
    return np.asarray(np.exp(-((x - 3.0) ** 2) / 8.0) - 0.5 * np.exp(-((x + 10.0) ** 2) / 18.0))


def four_hills(x: FloatArray, width: float = 0.9) -> FloatArray:
    """Return four hills, at -8, -3, 2 and 7, of heights 0.55, 0.80, 0.65 and 1."""
    return np.asarray(sum(h * np.exp(-((x - c) ** 2) / (2.0 * width**2)) for c, h in _HILLS))


@njit(cache=True)
def _arms(key: np.uint64, replications: IntArray, n_arms: int, gaps: FloatArray) -> FloatArray:
    """Return uniform points of [-10, 10] outside the gaps, for each replication, by rejection."""
    found = np.empty((len(replications), n_arms))
    for r in range(len(replications)):
        number = a = 0
        while a < n_arms:
            x = REACH * (2.0 * uniform(key, replications[r], number, 0) - 1.0)
            number += 1
            inside = False
            for low, high in gaps:
                inside |= low < x < high
            if not inside:
                found[r, a] = x
                a += 1
    return found


@dataclass(frozen=True)
class Landscape(DrawnArms):
    """A landscape whose arms are drawn anew for each replication; `take` draws them.
    ``label`` keys the arms; ``gaps``: intervals without arms; ``width``: of the four hills; ``scale``: of responses."""

    label: str
    n_hills: str
    gaps: tuple[tuple[float, float], ...]
    n_arms: int
    width: float = 0.9
    scale: float = 1.0
    seed: int = 0
    data: str = "synthetic"

    def evaluate(self, x: FloatArray) -> FloatArray:
        """Return the responses of points, whether there is an arm or not."""
        return self.scale * (one_hill(x) if self.n_hills == "one" else four_hills(x, self.width))

    def take(self, replications: IntArray) -> NoiselessArms:
        """Return the arms of some replications, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        gaps = np.array(self.gaps, dtype=np.float64).reshape(-1, 2)
        x = _arms(streams.key("arms"), streams.replications, self.n_arms, gaps)
        return NoiselessArms(self.label, x[:, :, None], self.evaluate(x))


def landscape(
    name: str, n_arms: int = 1000, hole: str = "interval", width: float = 0.9, scale: float = 1.0, seed: int = 0
) -> Landscape:
    """Return one of the four landscapes (Figure 7), with arms uniform on what is left of [-10, 10].
    ``hole``, of the "Hole" sets: an "interval" with the summit in it, or a ring around a summit that is still there
    ("island"), the other reading; ``width``: of each of the four hills; ``scale``: a factor of all responses."""
    if name not in LANDSCAPES:
        raise ValueError(f"name must be one of {', '.join(LANDSCAPES)}, got {name!r}.")
    if hole not in ("interval", "island"):
        raise ValueError(f"hole must be 'interval' or 'island', got {hole!r}.")
    if n_arms < 2 or not width > 0 or not scale > 0:
        raise ValueError(f"n_arms must be at least 2, width and scale positive; got {n_arms}, {width} and {scale}.")
    n_hills = "one" if name.startswith("One") else "four"
    gaps: tuple[tuple[float, float], ...] = ()
    if name.endswith("Hole"):
        top, (near, far) = 3.0 if n_hills == "one" else 7.0, ISLAND
        gaps = (HOLES[n_hills],) if hole == "interval" else ((top - far, top - near), (top + near, top + far))
    label = f"{name} K={n_arms}" + " island" * (hole == "island" and bool(gaps)) + f" width={width:g}" * (width != 0.9)
    return Landscape(label, n_hills, gaps, n_arms, width, scale, seed)

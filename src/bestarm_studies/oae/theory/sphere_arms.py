r"""Arms with linear responses, drawn anew for each replication: random unit arms, and copies of the unit vectors.

Of the paper: Section 4.3.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams, standard_normal
from bestarm_studies.oae.drawn_arms import DrawnArms

FREQUENCY = 40.0
ROUNDING = 1e-8  # smaller differences of sums and distances are none


@njit(cache=True)
def _normals(key: np.uint64, replications: IntArray, n: int, d: int) -> FloatArray:
    """Return standard normal draws for each replication, shape (R, n, d)."""
    found = np.empty((len(replications), n, d))
    for r in range(len(replications)):
        for i in range(n):
            for j in range(d):
                found[r, i, j] = standard_normal(key, replications[r], i, j)
    return found


def unit_vectors(key: np.uint64, replications: IntArray, n: int, d: int) -> FloatArray:
    """Return n vectors uniform on the unit sphere for each replication, shape (R, n, d)."""
    drawn = _normals(key, np.asarray(replications, dtype=np.int64), n, d)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=2, keepdims=True))


@dataclass(frozen=True)
class SphereArms(DrawnArms):
    r"""Random unit arms, :math:`y=\theta^\top a+\omega\,\mathrm{sign}\sin(40w^\top a)`; unit vectors are uniform."""

    n_arms: int
    n_features: int
    omega: float = 0.0
    seed: int = 0
    data: str = "synthetic"

    def __post_init__(self) -> None:
        if self.n_arms < 2 or self.n_features < 1 or not 0.0 <= self.omega < np.inf:
            raise ValueError(
                "n_arms must be at least 2, n_features at least 1 and omega at least 0, "
                f"got {self.n_arms}, {self.n_features} and {self.omega}."
            )

    @property
    def label(self) -> str:
        """Name of the law; the same arms for every misspecification."""
        return f"sphere, {self.n_arms} arms, d = {self.n_features}"

    def parameters(self, replications: IntArray) -> FloatArray:
        r"""Return :math:`\theta`, shape (R, d)."""
        key = Streams(self.seed, self.label, replications).key("parameter")
        return np.asarray(unit_vectors(key, replications, 1, self.n_features)[:, 0])

    def take(self, replications: IntArray) -> NoiselessArms:
        """Return the arms of some replications, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        x = unit_vectors(streams.key("arms"), streams.replications, self.n_arms, self.n_features)
        means = np.einsum("rad,rd->ra", x, self.parameters(streams.replications))
        if self.omega > 0.0:
            w = unit_vectors(streams.key("wave"), streams.replications, 1, self.n_features)[:, 0]
            means += self.omega * np.sign(np.sin(FREQUENCY * np.einsum("rad,rd->ra", x, w)))
        return NoiselessArms(self.label, x, means)


@dataclass(frozen=True)
class CloneArms(DrawnArms):
    r"""``copies`` of each of the d unit vectors, with differences of deviation ``perturbation``, :math:`y=\theta^\top
    a`. Arm ``a`` is a copy of number ``a // copies``."""

    n_features: int
    copies: int
    perturbation: float = 1e-6
    seed: int = 0
    data: str = "synthetic"

    def __post_init__(self) -> None:
        if self.n_features < 1 or self.copies < 1 or self.n_features * self.copies < 2 or not self.perturbation >= 0:
            raise ValueError(
                "there must be at least two arms and the perturbation be at least 0, got "
                f"n_features {self.n_features}, copies {self.copies}, perturbation {self.perturbation}."
            )

    @property
    def label(self) -> str:
        """Name of the law; the same parameters whatever the number of copies."""
        return f"clones, d = {self.n_features}"

    def parameters(self, replications: IntArray) -> FloatArray:
        r"""Return :math:`\theta`, uniform on the unit sphere, shape (R, d)."""
        key = Streams(self.seed, self.label, replications).key("parameter")
        return np.asarray(unit_vectors(key, replications, 1, self.n_features)[:, 0])

    def take(self, replications: IntArray) -> NoiselessArms:
        """Return the arms of some replications, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        n = self.n_features * self.copies
        x = self.perturbation * _normals(streams.key("arms"), streams.replications, n, self.n_features)
        x += np.repeat(np.eye(self.n_features), self.copies, axis=0)
        return NoiselessArms(self.label, x, np.einsum("rad,rd->ra", x, self.parameters(streams.replications)))

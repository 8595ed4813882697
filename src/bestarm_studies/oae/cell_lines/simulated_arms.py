"""Simulated lines as arms of a given likeness to VCAP: codes of VCAP's signatures, the line's own rewards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from bestarm.interface import FloatArray, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_studies.oae.cell_lines.autoencoder import Coding, Embedding, embedding
from bestarm_studies.oae.cell_lines.proliferation import scaled
from bestarm_studies.oae.cell_lines.simulator import (
    Likeness,
    World,
    arms_of,
    expression,
    simulated_reward,
    world,
)
from bestarm_studies.oae.drawn_arms import DrawnArms

VCAP = Likeness(1.0, 0.0)
SIMULATED = "simulated"


@dataclass(frozen=True)
class CellLine(DrawnArms):
    """Arms whose features and rewards are made when they are asked for; the same in all replications.

    Parameters
    ----------
    label : str
        Name of the instance; it keys all draws.
    make : callable
        Returns features, shape (n_arms, n_features), and rewards, shape (n_arms,).
    data : {"real", "simulated", "stand-in"}
        Where the rewards come from.
    """

    label: str
    make: Callable[[], tuple[FloatArray, FloatArray]]
    data: str = SIMULATED

    def take(self, rows: IntArray) -> NoiselessArms:
        """Return the arms; features and rewards have mean 0 and standard deviation 1 over all arms."""
        features, rewards = self.make()
        return NoiselessArms(self.label, scaled(features), scaled(rewards)[None], data=self.data)


@lru_cache(maxsize=2)
def simulated_vcap(scale: int, seed: int) -> tuple[World, Embedding]:
    """Return a simulated world, and the embedding of VCAP's signatures in it."""
    shared = world(scale, seed)
    return shared, embedding(expression(shared, "VCAP", VCAP), Coding())


def _simulated(line: str, likeness: Likeness, scale: int, seed: int, permuted: bool) -> tuple[FloatArray, FloatArray]:
    shared, coded = simulated_vcap(scale, seed)
    codes = coded.codes[arms_of(shared, line)]
    if permuted:
        codes = codes[np.random.default_rng([seed, 3]).permutation(len(codes))]
    return codes, simulated_reward(expression(shared, line, likeness))


def simulated_arms(name: str, likeness: Likeness, scale: int = 1, *, permuted: bool = False, seed: int = 0) -> CellLine:
    """Return the arms of a simulated line of a given likeness to VCAP.

    Parameters
    ----------
    name : {"VCAP", "HA1E", "MCF7", "A375"}
        The line: its number of arms, its rotation, its own program.
    likeness : Likeness
        How it is like VCAP.
    scale, permuted, seed
        As of `bestarm_studies.oae.cell_lines.arms.simulated_line`.
    """
    label = f"simulated {name} / {scale}, rho={likeness.rho:g}, eta={likeness.eta:g}{', permuted' * permuted}"
    return CellLine(label, partial(_simulated, name, likeness, scale, seed, permuted))

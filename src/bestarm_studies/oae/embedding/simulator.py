r"""Simulated signatures of four cell lines that share a program of expression to a chosen degree.

A hairpin i has a latent program :math:`z_i=\sqrt{0.3}\,u_{gene(i)}+\sqrt{0.7}\,v_i` with 30 coordinates, of t
distributions with five degrees of freedom; three hairpins share a gene. Line c shows

.. math:: x^c_i=W h_c(z_i)+W'_c q^c_i+\sigma\varepsilon_i,\qquad
    h_c(z)=\rho_c z+\sqrt{1-\rho_c^2}\,\tanh(R_c z),

with 978 genes, W shared by all lines, :math:`R_c` 1.5 times a random rotation, and a program q of five coordinates that
is the line's own. The reward is the mean of 23 genes, in which W leaves one coordinate of h and W' one of q. The own
program has the share :math:`\eta_c` of the reward's variance that is not noise. VCAP has :math:`\rho=1, \eta=0`.
Nothing of it is a statement about biology.

An eighth of the paper's arms are simulated. Features are the codes of VCAP's signatures by the autoencoder; training it
magnifies a last bit to other codes, so that codes were made once (`made_codes`) and are a file, the same everywhere.
Of the paper: Section 5 for the sizes; Figures 1 and 4 for what (rho, eta) were calibrated to.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from bestarm.interface import FloatArray, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.paths import DATA
from bestarm_objectives.autoencoder.training import Coding, scaled, train
from bestarm_studies.oae.cell_lines.official import SIZES

CODES = "simulated_vcap_codes.npy"
# checksum of the file; it is part of the keys of all rows on simulated lines
CODES_SHA256 = "60832c9873301b758ad49d591c02a18b31155f4a7d040a692b2d7ff0740a8ed2"
N_GENES, N_PROLIFERATION, N_LATENT, N_OWN = 978, 23, 30, 5
HAIRPINS, SHARED, NOISE, STEEPNESS, DEGREES = 3, 0.3, 0.5, 1.5, 5
SCALE = 8  # what divides the numbers of arms
_NUMBER = {name: number for number, name in enumerate(SIZES)}


@dataclass(frozen=True)
class Likeness:
    """How a line is like VCAP: ``rho`` of the program that is shared, ``eta`` of the reward's variance is its own."""

    rho: float
    eta: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.rho <= 1.0 or not 0.0 <= self.eta < 1.0:
            raise ValueError(f"rho must be between 0 and 1 and eta at least 0 and below 1, got {self.rho}, {self.eta}.")


@dataclass(frozen=True)
class World:
    """What all lines of one simulation share.
    ``z``, shape (n_hairpins, 30), are latent programs; hairpins 3g, 3g + 1 and 3g + 2 are of gene g. ``weights``, shape
    (978, 30), is W; the first 23 genes are those of the reward, and the mean of their rows has length 1."""

    z: FloatArray
    weights: FloatArray


VCAP = Likeness(1.0, 0.0)
# Calibrated once to what the paper says of Figures 1 and 4, before any search; frozen since. Of nine factors by which
# the differences from VCAP were shrunk, the largest was taken with which plain fits err as the paper says.
LIKENESS = {
    "VCAP": VCAP,
    "HA1E": Likeness(0.9979, 0.00121),
    "MCF7": Likeness(0.9990, 0.00078),
    "A375": Likeness(0.2, 0.6),
}


def world() -> World:
    """Return the hairpins and the weights that all lines share."""
    rng = np.random.default_rng([0, 0])
    n = SIZES["VCAP"] // SCALE
    spread = np.sqrt(DEGREES / (DEGREES - 2))
    genes = rng.standard_t(DEGREES, (-(-n // HAIRPINS), N_LATENT)) / spread
    own = rng.standard_t(DEGREES, (n, N_LATENT)) / spread
    z = np.sqrt(SHARED) * np.repeat(genes, HAIRPINS, axis=0)[:n] + np.sqrt(1.0 - SHARED) * own
    weights = rng.standard_normal((N_GENES, N_LATENT)) / np.sqrt(N_LATENT)
    counted = weights[:N_PROLIFERATION]
    counted += np.eye(N_LATENT)[0] - counted.mean(axis=0)
    return World(z, weights)


def arms_of(shared: World, line: str) -> IntArray:
    """Return which hairpins were tried in a line, in increasing order: all in VCAP, a random part in another."""
    n = len(shared.z)
    if line == "VCAP":
        return np.arange(n, dtype=np.int64)
    rng = np.random.default_rng([0, 1, _NUMBER[line]])
    return np.sort(rng.permutation(n)[: SIZES[line] // SCALE])


def expression(shared: World, line: str, likeness: Likeness) -> FloatArray:
    """Return the signatures of a line, shape (n_arms, 978); VCAP's do not depend on ``likeness`` if it is (1, 0)."""
    rng = np.random.default_rng([0, 2, _NUMBER[line]])
    z = shared.z[arms_of(shared, line)]
    rotation, triangle = np.linalg.qr(rng.standard_normal((N_LATENT, N_LATENT)))
    rotation = rotation * np.sign(np.diag(triangle))
    changed = likeness.rho * z + np.sqrt(1.0 - likeness.rho**2) * np.tanh(STEEPNESS * z @ rotation)
    seen = changed @ shared.weights.T
    q = rng.standard_t(DEGREES, (len(z), N_OWN)) / np.sqrt(DEGREES / (DEGREES - 2))
    own = rng.standard_normal((N_GENES, N_OWN)) / np.sqrt(N_OWN)
    counted = own[:N_PROLIFERATION]
    counted += np.eye(N_OWN)[0] - counted.mean(axis=0)
    # the mean of the 23 genes gets the share eta of its variance, noise apart, from the line's own program
    common = seen[:, :N_PROLIFERATION].mean(axis=1).var()
    strength = np.sqrt(likeness.eta / (1.0 - likeness.eta) * common / max((q @ counted.mean(axis=0)).var(), 1e-12))
    return np.asarray(seen + strength * q @ own.T + NOISE * rng.standard_normal((len(z), N_GENES)), dtype=np.float32)


def simulated_reward(signatures: FloatArray) -> FloatArray:
    """Return the mean of the 23 genes of the reward, shape (n_arms,)."""
    return np.asarray(signatures[:, :N_PROLIFERATION].mean(axis=1, dtype=np.float64))


def made_codes() -> FloatArray:
    """Return the codes of VCAP's signatures, rounded to half precision: how the file was made, once."""
    return train(expression(world(), "VCAP", VCAP), Coding()).codes.astype(np.float16)


def read_codes() -> FloatArray:
    """Return the codes of VCAP's signatures, shape (1825, 100)."""
    path = DATA / CODES
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != CODES_SHA256:
        raise ValueError(f"{path} has sha256 {found}, not {CODES_SHA256}; restore it from the repository.")
    return np.asarray(np.load(path), dtype=np.float64)


def simulated_arms(name: str, likeness: Likeness) -> NoiselessArms:
    """Return the arms of a simulated line of a given likeness to VCAP: VCAP's codes, the line's own rewards."""
    shared = world()
    rewards = simulated_reward(expression(shared, name, likeness))
    label = f"simulated {name} / {SCALE}, rho={likeness.rho:g}, eta={likeness.eta:g}"
    return NoiselessArms(label, scaled(read_codes()[arms_of(shared, name)]), scaled(rewards)[None], data="simulated")


def simulated_line(name: str) -> NoiselessArms:
    """Return the arms of VCAP, HA1E, MCF7 or A375 as simulated and calibrated."""
    if name not in SIZES:
        raise ValueError(f"name must be one of {', '.join(SIZES)}, got {name!r}.")
    return simulated_arms(name, LIKENESS[name])

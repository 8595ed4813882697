r"""Random numbers that are a function of what they are for, not of when they are drawn.

A draw is named by a *key* (seed, experiment instance, purpose) and four counters (replication, item, number). Philox
turns the name into bits. So the noise of the 7th pull of arm 3 in replication 41 is the same whichever policy asks for
it, in whichever block, order or process, and adding replications changes nothing that was there before.

References
----------
.. [1] Salmon, Moraes, Dror, Shaw. "Parallel Random Numbers: As Easy as 1, 2, 3". SC 2011. Philox4x32-10.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bestarm.settings import check_whole

_LOW_WORD = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_MANTISSA_SHIFT = np.uint64(11)
_UNIT = 2.0**-53


@njit(cache=True)
def philox(key: np.uint64, c0: int, c1: int, c2: int, c3: int) -> tuple[np.uint64, np.uint64]:
    """Return 128 random bits for one key and one counter of four 32-bit words ([1]_, Philox4x32-10)."""
    x0, x1 = np.uint64(c0) & _LOW_WORD, np.uint64(c1) & _LOW_WORD
    x2, x3 = np.uint64(c2) & _LOW_WORD, np.uint64(c3) & _LOW_WORD
    k0, k1 = np.uint64(key) & _LOW_WORD, np.uint64(key) >> _WORD
    for _ in range(10):
        product_0, product_1 = _MULTIPLIER_0 * x0, _MULTIPLIER_1 * x2
        x0, x1, x2, x3 = (
            (product_1 >> _WORD) ^ x1 ^ k0,
            product_1 & _LOW_WORD,
            (product_0 >> _WORD) ^ x3 ^ k1,
            product_0 & _LOW_WORD,
        )
        k0, k1 = (k0 + _WEYL_0) & _LOW_WORD, (k1 + _WEYL_1) & _LOW_WORD
    return (x1 << _WORD) | x0, (x3 << _WORD) | x2


@njit(cache=True)
def uniform(key: np.uint64, replication: int, item: int, number: int) -> float:
    """Return the uniform draw in [0, 1) named by the key and (replication, item, number)."""
    bits, _ = philox(key, number, replication, item, item >> 32)
    return np.float64(bits >> _MANTISSA_SHIFT) * _UNIT


@njit(cache=True)
def standard_normal(key: np.uint64, replication: int, item: int, number: int) -> float:
    """Return the N(0, 1) draw named by the key and (replication, item, number), by Box and Muller."""
    bits, more_bits = philox(key, number, replication, item, item >> 32)
    radius = np.sqrt(-2.0 * np.log((np.float64(bits >> _MANTISSA_SHIFT) + 1.0) * _UNIT))
    return radius * np.cos(2.0 * np.pi * np.float64(more_bits >> _MANTISSA_SHIFT) * _UNIT)


@cache
def _key(seed: int, instance: str, purpose: str) -> np.uint64:
    name = f"{seed}\x1f{instance}\x1f{purpose}".encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little"))


@dataclass(frozen=True)
class Streams:
    """The random numbers of some replications of one experiment instance.

    Parameters
    ----------
    seed : int
        Seed of the whole project (``params.yaml``).
    instance : str
        Name of the experiment instance. Policies compared on one instance share its name, hence its noise.
    replications : ndarray of int64, shape (R,)
        Identity of each replication; rows of every array with a leading axis R follow this order.
    """

    seed: int
    instance: str
    replications: NDArray[np.int64]

    @classmethod
    def first(cls, n_replications: int, *, seed: int = 0, instance: str = "") -> "Streams":
        """Return the streams of replications 0, ..., ``n_replications - 1``."""
        check_whole("n_replications", n_replications)
        if n_replications < 1:
            raise ValueError(f"n_replications must be at least 1, got {n_replications}.")
        check_whole("seed", seed, 0)
        return cls(seed, instance, np.arange(n_replications, dtype=np.int64))

    def key(self, purpose: str) -> np.uint64:
        """Return the Philox key of a purpose, such as ``"noise"`` or a policy's label."""
        return _key(self.seed, self.instance, purpose)

    def take(self, rows: NDArray[np.int64]) -> "Streams":
        """Return the streams of a subset of the replications."""
        return replace(self, replications=self.replications[rows])

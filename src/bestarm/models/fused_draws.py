"""The minibatches of `draw_minibatches`, bit for bit, for as many networks at a time as a vector has lanes."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bestarm.interface import IntArray

_LOW_WORD, _WORD = np.uint64(0xFFFFFFFF), np.uint64(32)
_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@njit(error_model="numpy", inline="always")
def _words(
    lanes: tuple[int, ...],
    key: np.uint64,
    step: np.uint64,
    names: NDArray[np.uint64],
    part: np.uint64,
    words: NDArray[np.uint64],
) -> None:
    """Write the four words of `bestarm.streams.philox` for each lane; LLVM makes vectors of the loop over lanes."""
    for lane in range(len(lanes)):
        x0, x1, x2, x3 = step, names[0, lane], names[1, lane], part
        k0, k1 = key & _LOW_WORD, key >> _WORD
        for _ in range(10):  # the ten rounds of Philox 4x32, with the key raised after each
            a, b = _MULTIPLIER_0 * x0, _MULTIPLIER_1 * x2
            x0, x1, x2, x3 = (b >> _WORD) ^ x1 ^ k0, b & _LOW_WORD, (a >> _WORD) ^ x3 ^ k1, a & _LOW_WORD
            k0, k1 = (k0 + _WEYL_0) & _LOW_WORD, (k1 + _WEYL_1) & _LOW_WORD
        words[0, lane], words[1, lane], words[2, lane], words[3, lane] = x0, x1, x2, x3


@njit(error_model="numpy", inline="always")
def _shuffle(k: int, n: int, words: NDArray[np.uint64], lane: int, cards: IntArray, drawn: IntArray) -> None:
    """Draw k of the cards 0, ..., n - 1 uniformly without replacement; the cards are in order before and after."""
    for i in range(k):
        j = i + np.int64((words[i, lane] * np.uint64(n - i)) >> _WORD)
        card = cards[j]
        cards[j] = cards[i]
        cards[i] = card
        drawn[i] = card
    for i in range(k):  # a card is out of order only in a place drawn or among the first k
        cards[drawn[i]] = drawn[i]
        cards[i] = i


@njit(cache=True, error_model="numpy")
def draw_in_lanes(
    lanes: tuple[int, ...],
    key: np.uint64,
    networks: IntArray,
    row: IntArray,
    offset: IntArray,
    arms: IntArray,
    n_arms: IntArray,
    targets: NDArray[np.float32],
    pool: IntArray,
    n_pool: IntArray,
    first_step: int,
    index: IntArray,
    target: NDArray[np.float32],
) -> None:
    """Draw as `draw_minibatches` does, with the same arguments, for as many networks as there are ``lanes``."""
    n_steps, n_networks, size = index.shape
    m = target.shape[2]
    known, free = np.arange(arms.shape[1]), np.arange(pool.shape[1])
    drawn = np.empty(max(m, size - m), dtype=np.int64)
    at_pool = 4 * (-(-m // 4))
    words = np.empty((at_pool + 4 * (-(-(size - m) // 4)), len(lanes)), dtype=np.uint64)
    names = np.empty((2, len(lanes)), dtype=np.uint64)
    for g in range(n_networks):
        names[0, g] = np.uint64(networks[g, 0]) & _LOW_WORD
        names[1, g] = np.uint64(networks[g, 1]) & _LOW_WORD
    for s in range(n_steps):
        step = np.uint64(first_step + s) & _LOW_WORD
        # four words a call; parts are numbered as in `draw_minibatches`, 0 is for the weights
        for p in range(0, m, 4):
            _words(lanes, key, step, names, np.uint64(1 + p // 4), words[p : p + 4])
        for p in range(0, size - m, 4):
            _words(lanes, key, step, names, np.uint64(1 + m + p // 4), words[at_pool + p : at_pool + p + 4])
        for g in range(n_networks):
            r = row[g]
            # observations
            k = min(m, n_arms[r])
            _shuffle(k, n_arms[r], words, g, known, drawn)
            for i in range(m):
                index[s, g, i] = offset[g] + arms[r, drawn[i]] if i < k else 0
                target[s, g, i] = targets[g, drawn[i]] if i < k else np.float32(0.0)
            # arms of the pool
            k = min(size - m, n_pool[r])
            _shuffle(k, n_pool[r], words[at_pool:], g, free, drawn)
            for i in range(size - m):
                index[s, g, m + i] = offset[g] + pool[r, drawn[i]] if i < k else 0

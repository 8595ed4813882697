"""Random minibatches for many networks at once, each a function of the network's name and the step alone."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bestarm.interface import IntArray
from bestarm.streams import philox

_LOW_WORD = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)


@njit(cache=True)
def _choose(
    key: np.uint64, step: int, network: IntArray, part: int, n: int, k: int, cards: IntArray, moved: IntArray
) -> None:
    """Shuffle k of the first n cards to the front, uniformly without replacement; ``moved`` says how to undo it."""
    words = np.zeros(4, dtype=np.uint64)
    for i in range(k):
        if i % 4 == 0:
            first, second = philox(key, step, network[0], network[1], 1 + part + i // 4)  # 0 is for the weights
            words[0], words[1] = first & _LOW_WORD, first >> _WORD
            words[2], words[3] = second & _LOW_WORD, second >> _WORD
        j = i + np.int64((words[i % 4] * np.uint64(n - i)) >> _WORD)
        cards[i], cards[j] = cards[j], cards[i]
        moved[i] = j


@njit(cache=True)
def _undo(k: int, cards: IntArray, moved: IntArray) -> None:
    for i in range(k - 1, -1, -1):
        j = moved[i]
        cards[i], cards[j] = cards[j], cards[i]


@njit(cache=True)
def draw_minibatches(
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
    """Draw, for each step and network, observations and arms of the pool, both uniformly without replacement.

    * ``key``: of the draws; ``first_step``: number of the first step
    * ``networks``, (G, 2): replication and item (below 2^32) that name each network
    * ``row``, (G,): row of each network in ``arms`` and ``pool``
    * ``offset``, (G,): added to each arm, the first row of the network's set in a table of features
    * ``arms``, (R, n), and ``n_arms``, (R,): observed arms, and how many of them count
    * ``targets`` of float32, (G, n): what each network is told of them
    * ``pool``, (R, u), and ``n_pool``, (R,): arms of the regulariser
    * ``index``, (S, G, B): result, rows in the table of features, observations first; 0 where there are too few
    * ``target`` of float32, (S, G, m): result, targets of the observations
    """
    n_steps, n_networks, size = index.shape
    m = target.shape[2]
    known, free = np.arange(arms.shape[1]), np.arange(pool.shape[1])
    moved = np.empty(size, dtype=np.int64)
    for s in range(n_steps):
        for g in range(n_networks):
            r = row[g]
            # observations
            k = min(m, n_arms[r])
            _choose(key, first_step + s, networks[g], 0, n_arms[r], k, known, moved)
            for i in range(m):
                index[s, g, i] = offset[g] + arms[r, known[i]] if i < k else 0
                target[s, g, i] = targets[g, known[i]] if i < k else 0.0
            _undo(k, known, moved)
            # arms of the pool
            k = min(size - m, n_pool[r])
            _choose(key, first_step + s, networks[g], m, n_pool[r], k, free, moved)
            for i in range(size - m):
                index[s, g, m + i] = offset[g] + pool[r, free[i]] if i < k else 0
            _undo(k, free, moved)

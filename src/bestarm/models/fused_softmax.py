"""Slopes of the log of a sum of exponentials, with an exponential of its own: the same bits on every machine."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Float32Array = NDArray[np.float32]

_LOWEST = -100.0  # below, an exponential is nothing beside one that is 1
_POWERS = 2.0 ** -np.arange(150)
_PER_LOG_2, _LOG_2, _REST = 1 / math.log(2), 0.6931471803691238, 1.9082149292705877e-10
_TERMS = tuple(1 / math.factorial(n) for n in range(10, -1, -1))


@njit(error_model="numpy", inline="always")
def exponential(x: float) -> float:
    """Return e^x for x of at most 0, from additions and multiplications in a fixed order."""
    if not x >= _LOWEST:
        return 0.0 if x < _LOWEST else x
    n = np.floor(x * _PER_LOG_2 + 0.5)
    r = (x - n * _LOG_2) - n * _REST
    total = 0.0
    for term in _TERMS:
        total = total * r + term
    return total * _POWERS[int(-n)]


@njit(error_model="numpy", inline="always")
def softmax_slopes(outputs: Float32Array, weights: Float32Array, slopes: Float32Array) -> None:
    """Write minus the weight times the softmax of the outputs; an arm of weight 0 is not in the pool."""
    best = np.float32(-np.inf)
    for b in range(len(outputs)):
        if weights[b] != 0.0 and outputs[b] > best:
            best = outputs[b]
    total = 0.0
    for b in range(len(outputs)):
        own = exponential(np.float64(outputs[b] - best)) if weights[b] != 0.0 else 0.0
        total += own
        slopes[b] = np.float32(own)
    for b in range(len(outputs)):
        share = np.float32(slopes[b] / total) if weights[b] != 0.0 else np.float32(0.0)
        slopes[b] = -weights[b] * share

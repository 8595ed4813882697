"""Training steps of as many networks as a vector has lanes: one network in each, no waste however small a layer is."""

import math
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bestarm.interface import IntArray
from bestarm.models.fused_tiles import TEXT, adam, aligned, masked, plain, relu, transpose

Float32Array = NDArray[np.float32]
LINEAR, HINGE, SOFTMAX = range(3)

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


@njit(cache=True, error_model="numpy")
def _take_steps(
    lanes: tuple[int, ...], sizes: IntArray, at_p: IntArray, gap: int, at_x: IntArray, at_d: IntArray,
    state: Float32Array, table: Float32Array, index: IntArray, target: Float32Array, share: Float32Array,
    objective: int, rates: Float32Array, scales: Float32Array, text: int = TEXT,
) -> None:  # fmt: skip
    """Take some steps of Adam; ``at_`` are addresses (bytes) of layers in ``state``, see `Lanes`."""
    base, width, vector = state.ctypes.data, len(lanes), 4 * len(lanes)
    n_layers, n_samples, m = len(sizes) - 1, index.shape[2], target.shape[2]
    d, none = sizes[0], np.float32(0.0)
    inputs = state[at_x[0] // 4 :][: n_samples * (d + 1) * width].reshape((n_samples, d + 1, width))
    output = state[at_x[n_layers] // 4 :][: n_samples * 2 * width].reshape((n_samples, 2, width))
    slope = state[at_d[n_layers] // 4 :][: n_samples * 2 * width].reshape((n_samples, 2, width))
    rows = np.zeros((width, -(-d // width) * width), dtype=np.float32)
    block = np.empty((width, width), dtype=np.float32)
    for s in range(index.shape[0]):
        if d < width // 2:  # features of the minibatch, one network in each lane
            for lane in range(width):
                for b in range(n_samples):
                    r = index[s, lane, b]
                    for i in range(d):
                        inputs[b, i, lane] = table[r, i]
        else:  # many features: one vector of them after the other
            for b in range(n_samples):
                for lane in range(width):
                    r = index[s, lane, b]
                    for i in range(d):
                        rows[lane, i] = table[r, i]
                for i in range(0, d, width):
                    whole = i + width <= d
                    result = base + at_x[0] + vector * (b * (d + 1) + i) if whole else block.ctypes.data
                    transpose(lanes, rows.ctypes.data + 4 * i, 4 * rows.shape[1], result, vector)
                    if not whole:
                        inputs[b, i:d] = block[: d - i]
        for layer in range(n_layers):  # forward: x_{l+1} = relu(W_l x_l), the last layer without relu
            i, j = sizes[layer] + 1, sizes[layer + 1]
            left = (base + at_x[layer], vector * i, vector)
            right = (base + at_p[layer], vector * j, vector)
            result = (base + at_x[layer + 1], vector * (j + 1), vector)
            if layer < n_layers - 1:
                relu(lanes, (n_samples, j, i), left, right, result, 0, none, none)
            else:
                plain(lanes, (n_samples, j, i), left, right, result, 0, none, none)
        for b in range(n_samples):
            for lane in range(width):
                f = output[b, 0, lane]
                # slope of the loss by the output (OAE paper, Equation 3): observations first, then the pool
                if b < m:
                    slope[b, 0, lane] = share[lane, b] * f - share[lane, b] * target[s, lane, b]
                elif objective == HINGE:
                    f = none if f < none else f
                    slope[b, 0, lane] = -share[lane, b] * (np.float32(4.0) * (f * f * f))
                elif objective == LINEAR:
                    slope[b, 0, lane] = -share[lane, b]
        if objective == SOFTMAX:  # the softmax couples the arms of the pool, so it waits for all outputs
            for lane in range(width):
                softmax_slopes(output[m:, 0, lane], share[lane, m:], slope[m:, 0, lane])
        # backward: d_l = relu'(x_l) W_l' d_{l+1}, then a step of Adam on the gradient d_{l+1} x_l'
        for layer in range(n_layers - 1, -1, -1):
            i, j = sizes[layer] + 1, sizes[layer + 1]
            slopes = (base + at_d[layer + 1], vector * (j + 1), vector)
            if layer:
                weights = (base + at_p[layer], vector, vector * j)
                result = (base + at_d[layer], vector * i, vector)
                to_x = at_x[layer] - at_d[layer]
                masked(lanes, (n_samples, i - 1, j), slopes, weights, result, to_x, none, none)
            left = (base + at_x[layer], vector, vector * i)
            right = (base + at_d[layer + 1], vector * (j + 1), vector)
            result = (base + at_p[layer], vector * j, vector)
            adam(lanes, (i, j, n_samples), left, right, result, gap, rates[s], scales[s])


class Lanes:
    """State of as many networks as there are lanes: parameters, Adam's averages, activations and slopes.

    Biases are the weights of a last input of each layer that is always 1, so parameters keep the order of `Mlp`.
    """

    def __init__(self, sizes: tuple[int, ...], n_samples: int, lanes: tuple[int, ...]) -> None:
        self.lanes, self.sizes, self.n_samples = lanes, np.array(sizes), n_samples
        weights, values = _bytes_of_layers(sizes, n_samples, lanes)
        self.gap = sum(weights)
        self.at_p = np.cumsum([0, *weights[:-1]])
        self.at_x = 3 * self.gap + np.cumsum([0, *values[:-1]])
        self.at_d = self.at_x + sum(values)
        self.state = aligned(self.bytes_needed(sizes, n_samples, lanes) // 4)

    @staticmethod
    def bytes_needed(sizes: tuple[int, ...], n_samples: int, lanes: tuple[int, ...]) -> int:
        """Return the size of the state."""
        weights, values = _bytes_of_layers(sizes, n_samples, lanes)
        return 3 * sum(weights) + 2 * sum(values)

    @staticmethod
    def work(sizes: tuple[int, ...], n_networks: int, lanes: tuple[int, ...]) -> float:
        """Return about how many multiplications of floats a sample costs, those of empty lanes included."""
        parameters = sum((before + 1) * after for before, after in pairwise(sizes))
        return -(-n_networks // len(lanes)) * len(lanes) * parameters

    def start(self, parameters: Float32Array) -> None:
        """Begin with these parameters, shape (n, n_parameters); empty lanes repeat the last network."""
        width = len(self.lanes)
        self.state[:] = 0.0
        some = np.minimum(np.arange(width), len(parameters) - 1)
        self._parameters()[:] = parameters[some].T
        for at, size in zip(self.at_x[:-1] // 4, self.sizes[:-1], strict=True):
            length = self.n_samples * (size + 1) * width
            self.state[at : at + length].reshape(self.n_samples, size + 1, width)[:, size] = 1.0

    def take_steps(
        self,
        table: Float32Array,
        index: IntArray,
        target: Float32Array,
        share: Float32Array,
        objective: int,
        rates: Float32Array,
        scales: Float32Array,
    ) -> None:
        """Take S steps on minibatches of shape (S, lanes, B).

        ``table`` (ndarray of float32, shape (n, n_features)): features; ``index``, ``target`` (ndarray, shapes (S,
        lanes, B) and (S, lanes, m)): rows in the table, observations first, and what the networks are told of these;
        ``share`` (ndarray of float32, shape (lanes, B)): derivative of the squared error of each observation by output
        minus target, and weights of the pool; ``objective`` ({LINEAR, HINGE, SOFTMAX}): of the pool: f, max(0, f)^4, or
        the log of the sum of exponentials; ``rates``, ``scales`` (ndarray of float32, shape (S,)): learning rate over
        Adam's first correction, and one over the square root of the second."""
        _take_steps(
            self.lanes, self.sizes, self.at_p, self.gap, self.at_x, self.at_d, self.state, table, index, target,
            share, objective, rates, scales,
        )  # fmt: skip

    def found(self, n: int) -> Float32Array:
        """Return the parameters of the first n networks, shape (n, n_parameters)."""
        return np.ascontiguousarray(self._parameters().T[:n])

    def _parameters(self) -> Float32Array:
        return self.state[: self.gap // 4].reshape(-1, len(self.lanes))


def _bytes_of_layers(sizes: tuple[int, ...], n_samples: int, lanes: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Return the bytes of the weights of each layer, biases included, and of the values of its units."""
    vector = 4 * len(lanes)
    weights = [vector * (before + 1) * after for before, after in pairwise(sizes)]
    return weights, [vector * n_samples * (size + 1) for size in sizes]


compiled = (_take_steps,)

"""Training steps of one network at a time, units of a layer in the lanes: a large network stays in a near cache."""

from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bestarm.interface import IntArray
from bestarm.models.fused_lanes import HINGE, LINEAR, SOFTMAX, softmax_slopes
from bestarm.models.fused_tiles import TEXT, aligned, shared_adam, shared_masked, shared_plain, shared_relu, transpose

Float32Array = NDArray[np.float32]

_EACH, _OVERHEAD = 150, 1.1  # measured against `Lanes`


@njit(cache=True, error_model="numpy")
def _take_steps(
    lanes: tuple[int, ...], sizes: IntArray, wide: IntArray, at_p: IntArray, gap: int, at_t: IntArray, at_x: IntArray,
    at_d: IntArray, state: Float32Array, table: Float32Array, g: int, index: IntArray, target: Float32Array,
    share: Float32Array, objective: int, rates: Float32Array, scales: Float32Array, text: int = TEXT,
) -> None:  # fmt: skip
    """Take some steps of network g; ``at_`` are addresses (bytes) of layers in ``state``, see `Units`.

    Rows of weights have as many vectors as the layer after has, rows of values hold one float more than units; both
    are filled up with zeros, which stay zeros.
    """
    base, width, vector = state.ctypes.data, len(lanes), 4 * len(lanes)
    n_layers, n_samples, m = len(sizes) - 1, index.shape[2], target.shape[2]
    none = np.float32(0.0)
    inputs = state[at_x[0] // 4 :][: n_samples * wide[0]].reshape((n_samples, wide[0]))
    output = state[at_x[n_layers] // 4 :][: n_samples * wide[n_layers]].reshape((n_samples, wide[n_layers]))
    slope = state[at_d[n_layers] // 4 :][: n_samples * wide[n_layers]].reshape((n_samples, wide[n_layers]))
    for s in range(index.shape[0]):
        for b in range(n_samples):  # features of the minibatch, one after the other
            r = index[s, g, b]
            for i in range(sizes[0]):
                inputs[b, i] = table[r, i]
        for layer in range(n_layers):  # forward: x_{l+1} = relu(W_l x_l), the last layer without relu
            after = sizes[layer + 1]
            i, j = sizes[layer] + 1, -(-after // width)
            left = (base + at_x[layer], 4 * wide[layer], 4)
            right = (base + at_p[layer], vector * j, vector)
            result = (base + at_x[layer + 1], 4 * wide[layer + 1], vector)
            if layer < n_layers - 1:
                shared_relu(lanes, (n_samples, j, i), left, right, result, 0, none, none)
                at = at_x[layer + 1] // 4 + after
                for b in range(n_samples):  # an input that is always 1, for the biases
                    state[at + b * wide[layer + 1]] = np.float32(1.0)
            else:
                shared_plain(lanes, (n_samples, j, i), left, right, result, 0, none, none)
        for b in range(n_samples):
            f = output[b, 0]
            # slope of the loss by the output (OAE paper, Equation 3): observations first, then the pool
            if b < m:
                slope[b, 0] = share[g, b] * f - share[g, b] * target[s, g, b]
            elif objective == HINGE:
                f = none if f < none else f
                slope[b, 0] = -share[g, b] * (np.float32(4.0) * (f * f * f))
            elif objective == LINEAR:
                slope[b, 0] = -share[g, b]
        if objective == SOFTMAX:  # the softmax couples the arms of the pool, so it waits for all outputs
            softmax_slopes(output[m:, 0], share[g, m:], slope[m:, 0])
        # backward: d_l = relu'(x_l) W_l' d_{l+1}, then a step of Adam on the gradient d_{l+1} x_l'
        for layer in range(n_layers - 1, -1, -1):
            before, after = sizes[layer], sizes[layer + 1]
            i, j = -(-before // width), -(-after // width)
            if layer:
                for row in range(i):  # W_l', tile by tile, so that the units of the layer before are in the lanes
                    for column in range(j):
                        source = base + at_p[layer] + vector * (width * row * j + column)
                        turned = base + at_t[layer] + vector * (width * column * i + row)
                        transpose(lanes, source, vector * j, turned, vector * i)
                if before % width:  # the biases have no slope to pass on
                    for unit in range(after):
                        state[at_t[layer] // 4 + unit * i * width + before] = np.float32(0.0)
                left = (base + at_d[layer + 1], 4 * wide[layer + 1], 4)
                right = (base + at_t[layer], vector * i, vector)
                result = (base + at_d[layer], 4 * wide[layer], vector)
                to_x = at_x[layer] - at_d[layer]
                shared_masked(lanes, (n_samples, i, after), left, right, result, to_x, none, none)
            # the gradient is complete in registers, where Adam takes its step
            left = (base + at_x[layer], 4, 4 * wide[layer])
            right = (base + at_d[layer + 1], 4 * wide[layer + 1], vector)
            result = (base + at_p[layer], vector * j, vector)
            shared_adam(lanes, (before + 1, j, n_samples), left, right, result, gap, rates[s], scales[s])


class Units:
    """State of a group of networks, one after the other: parameters, Adam's averages, activations, slopes.

    Biases are the weights of a last input of each layer that is always 1. See `bestarm.models.fused_lanes.Lanes` for
    the arguments, which are the same.
    """

    def __init__(self, sizes: tuple[int, ...], n_samples: int, lanes: tuple[int, ...]) -> None:
        self.lanes, self.sizes, self.n_samples = lanes, np.array(sizes), n_samples
        weights, values = _bytes_of_layers(sizes, n_samples, lanes)
        self.gap = sum(weights)
        self.at_p = np.cumsum([0, *weights[:-1]])
        self.at_t = 3 * self.gap + self.at_p
        self.at_x = 4 * self.gap + np.cumsum([0, *values[:-1]])
        self.at_d = self.at_x + sum(values)
        self.wide = np.array([_up(size + 1, lanes) for size in sizes])
        self.states = aligned(self.bytes_needed(sizes, n_samples, lanes) // 4).reshape(len(lanes), -1)

    @staticmethod
    def bytes_needed(sizes: tuple[int, ...], n_samples: int, lanes: tuple[int, ...]) -> int:
        """Return the size of the states."""
        weights, values = _bytes_of_layers(sizes, n_samples, lanes)
        return len(lanes) * (4 * sum(weights) + 2 * sum(values))

    @staticmethod
    def work(sizes: tuple[int, ...], n_networks: int, lanes: tuple[int, ...]) -> float:
        """Return about how many multiplications of floats a sample costs, those of empty lanes included."""
        padded = sum((before + 1) * _up(after, lanes) for before, after in pairwise(sizes))
        return n_networks * (_EACH + _OVERHEAD * padded)

    def start(self, parameters: Float32Array) -> None:
        """Begin with these parameters, shape (n, n_parameters)."""
        self.states[:] = 0.0
        for g, own in enumerate(parameters):
            at = 0
            for view in self._parameters(g):
                view[:] = own[at : at + view.size].reshape(view.shape)
                at += view.size
            place, wide = self.at_x[0] // 4, self.wide[0]
            ones = self.states[g, place : place + self.n_samples * wide].reshape(self.n_samples, wide)
            ones[:, self.sizes[0]] = 1.0
        self.n_networks = len(parameters)

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
        """Take S steps on minibatches of shape (S, lanes, B)."""
        for g in range(self.n_networks):
            _take_steps(
                self.lanes, self.sizes, self.wide, self.at_p, self.gap, self.at_t, self.at_x, self.at_d,
                self.states[g], table, g, index, target, share, objective, rates, scales,
            )  # fmt: skip

    def found(self, n: int) -> Float32Array:
        """Return the parameters of the first n networks, shape (n, n_parameters)."""
        return np.array([np.concatenate([view.ravel() for view in self._parameters(g)]) for g in range(n)])

    def _parameters(self, g: int) -> list[Float32Array]:
        """Return views of the weights and biases of each layer."""
        found = []
        for at, before, after in zip(self.at_p // 4, self.sizes[:-1], self.sizes[1:], strict=True):
            rows, columns = _up(before + 1, self.lanes), _up(after, self.lanes)
            whole = self.states[g, at : at + rows * columns].reshape(rows, columns)
            found.append(whole[: before + 1, :after])
        return found


def _up(n: int, lanes: tuple[int, ...]) -> int:
    """Return n filled up to whole vectors."""
    return -(-n // len(lanes)) * len(lanes)


def _bytes_of_layers(sizes: tuple[int, ...], n_samples: int, lanes: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Return the bytes of the weights of each layer, biases included, and of the values of its units."""
    weights = [4 * _up(before + 1, lanes) * _up(after, lanes) for before, after in pairwise(sizes)]
    return weights, [4 * n_samples * _up(size + 1, lanes) for size in sizes]


compiled = (_take_steps,)

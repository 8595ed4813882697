r"""Many fully connected networks of one shape as one: parameters, predictions and gradients with a leading axis G.

The gradient is written out, layer by layer, instead of recorded and replayed: a step of G networks is then some twenty
calls of Torch, whatever G is. The linear class is the network without a hidden layer.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section 5.
.. [2] Glorot, Bengio. "Understanding the difficulty of training deep feedforward neural networks". AISTATS 2010.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from bestarm.interface import IntArray
from bestarm.streams import philox

_WIDE = 2**13

Layer = tuple[Tensor, Tensor]
Float32Array = NDArray[np.float32]


@dataclass(frozen=True)
class Mlp:
    r"""The shape of networks with ReLU units and one linear output.

    ``n_features``: inputs; ``hidden`` (tuple of int): units of each hidden layer; none of them is the linear class
    :math:`w^\top x + c`. Raises ValueError for a layer without units."""

    n_features: int
    hidden: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if min((self.n_features, *self.hidden)) < 1:
            raise ValueError(
                f"every layer needs at least 1 unit, got {self.n_features} inputs and hidden {self.hidden}."
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Units of every layer, inputs and output included."""
        return (self.n_features, *self.hidden, 1)

    @property
    def n_parameters(self) -> int:
        """Weights and biases of one network."""
        return sum(before * after + after for before, after in pairwise(self.sizes))

    def layers(self, parameters: Tensor) -> list[Layer]:
        """Return views of flat parameters, shape (G, n_parameters), as weights (G, in, out) and biases (G, 1, out)."""
        found, at = [], 0
        for before, after in pairwise(self.sizes):
            weights = parameters[:, at : at + before * after].unflatten(1, (before, after))
            at += before * after
            found.append((weights, parameters[:, None, at : at + after]))
            at += after
        return found

    def xavier(self, key: np.uint64, networks: IntArray, bias: float = 0.0) -> Tensor:
        """Return initial parameters, shape (G, n_parameters): weights uniform within sqrt(6 / (in + out)) ([2]_).

        ``key``: key of the draws (`bestarm.streams.Streams.key`); ``networks`` (ndarray of int64, shape (G, 2)):
        replication and item that name each network; ``bias``: biases are uniform within this, over the square root of a
        layer's inputs; 1 is Torch's own default."""
        reach = np.empty(self.n_parameters, dtype=np.float32)
        at = 0
        for before, after in pairwise(self.sizes):
            reach[at : at + before * after] = math.sqrt(6.0 / (before + after))
            at += before * after
            reach[at : at + after] = bias / math.sqrt(before)
            at += after
        return torch.from_numpy(_uniform_within(key, networks, reach))


@njit(cache=True)
def _uniform_within(key: np.uint64, networks: IntArray, reach: Float32Array) -> Float32Array:
    """Return draws in [-reach, reach], shape (G, n_parameters), four of them from each call of Philox."""
    found = np.empty((len(networks), len(reach)), dtype=np.float32)
    low_word, unit = np.uint64(0xFFFFFFFF), 2.0**-31
    for g in range(len(networks)):
        replication, item = networks[g]
        for p in range(0, len(reach), 4):
            first, second = philox(key, p // 4, replication, item, item >> 32)
            words = (first & low_word, first >> np.uint64(32), second & low_word, second >> np.uint64(32))
            for w in range(min(4, len(reach) - p)):
                found[g, p + w] = reach[p + w] * (np.float64(words[w]) * unit - 1.0)
    return found


def forward(layers: list[Layer], inputs: Tensor) -> list[Tensor]:
    """Return the activations of every layer for inputs of shape (G, B, n_features): last the outputs, (G, B, 1)."""
    found = [inputs]
    for weights, biases in layers[:-1]:
        found.append(torch.baddbmm(biases, found[-1], weights).relu_())
    weights, biases = layers[-1]
    found.append(torch.baddbmm(biases, found[-1], weights))
    return found


def backward(layers: list[Layer], gradients: list[Layer], activations: list[Tensor], slope: Tensor) -> None:
    """Write the gradient of each network's loss into ``gradients``.

    ``layers``, ``gradients`` (list of (weights, biases)): views of the parameters and of their gradients
    (`Mlp.layers`); ``activations`` (list of Tensor): what `forward` returned; ``slope`` (Tensor, shape (G, B, 1)):
    derivative of the loss with respect to each output."""
    for number in range(len(layers) - 1, -1, -1):
        before, (weights, biases) = activations[number], gradients[number]
        if weights[0].numel() < _WIDE:
            weights.copy_(torch.bmm(before.mT, slope))
        else:  # no copy of what is large
            weights.baddbmm_(before.mT, slope, beta=0)
        torch.sum(slope, 1, keepdim=True, out=biases)
        if number:
            slope = torch.ops.aten.threshold_backward(torch.bmm(slope, layers[number][0].mT), before, 0.0)

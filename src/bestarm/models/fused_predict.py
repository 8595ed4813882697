"""Outputs of many networks for large pools of arms: arms in the lanes, layer by layer in the nearest cache."""

import numpy as np
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from bestarm.interface import FloatArray, IntArray
from bestarm.models.fused_fit import cannot_run, own, said_once, said_when_compiling
from bestarm.models.fused_tiles import LANES, TEXT, aligned, check_lanes, shared_plain, shared_relu, transpose
from bestarm.models.mlp_batch import Mlp
from bestarm.models.mlp_fit import FitData, Training, predict

Float32Array = NDArray[np.float32]

_BLOCK = 64
_GROUP_BYTES = 2**20


def predict_fused(
    training: Training, data: FitData, parameters: Tensor, *, lanes: tuple[int, ...] = LANES
) -> FloatArray:
    """Return the outputs of G networks for every arm, shape (G, n_arms), as `predict` does.

    Sums are those of a step of training, so the result of a network and an arm depends on nothing else. On a GPU and on
    a processor without fused multiply-add, `predict` itself is called, and one line of the log says so. Raises
    ValueError if the parameters are not those of such networks, or a row or a set does not exist."""
    reason = cannot_run(training)
    if reason:
        said_once(f"outputs are computed by Torch, not by the fused kernel: {reason}")
        return predict(training, data, parameters)
    check_lanes(lanes)
    n_sets, n_arms, d = data.features.shape
    shape = Mlp(d, training.hidden)
    if tuple(parameters.shape) != (len(data.row), shape.n_parameters):
        raise ValueError(
            f"parameters must have shape {(len(data.row), shape.n_parameters)} for networks "
            f"{'-'.join(map(str, shape.sizes))}, got {tuple(parameters.shape)}."
        )
    for name, values, end in (("row", data.row, len(data.feature_set)), ("feature_set", data.feature_set, n_sets)):
        if values.size and (values.min() < 0 or values.max() >= end):
            raise ValueError(f"{name} must be from 0 to {end - 1}, got {values.min()} to {values.max()}.")
    rows = [max(size + 1, -(-size // len(lanes)) * len(lanes)) for size in shape.sizes]
    at_x = np.cumsum([0, *(4 * _BLOCK * n for n in rows)])
    group = max(1, _GROUP_BYTES // (4 * shape.n_parameters))
    found = np.empty((len(data.row), n_arms), dtype=np.float64)
    with said_when_compiling((_outputs,)):
        _outputs(
            lanes,
            np.array(shape.sizes),
            at_x,
            aligned(at_x[-1] // 4),
            own(data.features.numpy(), np.float32),
            own(data.feature_set[data.row], np.int64),
            own(parameters.detach().numpy(), np.float32),
            group,
            found,
        )
    return found


@njit(cache=True, error_model="numpy")
def _outputs(
    lanes: tuple[int, ...],
    sizes: IntArray,
    at_x: IntArray,
    values: Float32Array,
    features: Float32Array,
    own_set: IntArray,
    parameters: Float32Array,
    group: int,
    found: FloatArray,
    text: int = TEXT,
) -> None:
    """Write the outputs of every network; ``at_x`` are addresses (bytes) in ``values`` of each layer's, units first."""
    base, width, vector, line = values.ctypes.data, len(lanes), 4 * len(lanes), 4 * _BLOCK
    n_layers, d, n_arms, none = len(sizes) - 1, sizes[0], features.shape[1], np.float32(0.0)
    rows = np.zeros((_BLOCK, -(-d // width) * width), dtype=np.float32)
    row_bytes = 4 * rows.shape[1]
    for layer in range(n_layers):  # an input that is always 1, for the biases
        if layer:
            one = at_x[layer] // 4 + sizes[layer] * _BLOCK
            values[one : one + _BLOCK] = np.float32(1.0)
    output = values[at_x[n_layers] // 4 :][:_BLOCK]
    # a block of arms goes through all networks of a group before the next block
    for start in range(0, len(parameters), group):
        for first in range(0, n_arms, _BLOCK):
            n, turned = min(_BLOCK, n_arms - first), -1
            for g in range(start, min(start + group, len(parameters))):
                # features of the block with arms in the lanes, once for all networks of one set
                if turned != own_set[g]:
                    turned = own_set[g]
                    for a in range(n):
                        for i in range(d):
                            rows[a, i] = features[turned, first + a, i]
                    for a in range(0, _BLOCK, width):
                        for i in range(0, d, width):
                            source = rows.ctypes.data + row_bytes * a + 4 * i
                            transpose(lanes, source, row_bytes, base + at_x[0] + line * i + 4 * a, line)
                    one = at_x[0] // 4 + d * _BLOCK
                    values[one : one + _BLOCK] = np.float32(1.0)
                at = parameters.ctypes.data + 4 * parameters.shape[1] * g
                for layer in range(n_layers):
                    # x_{l+1} = relu(W_l x_l), the last layer without relu
                    i, j = sizes[layer] + 1, sizes[layer + 1]
                    tile = (j, _BLOCK // width, i)
                    left, right = (at, 4, 4 * j), (base + at_x[layer], line, vector)
                    result = (base + at_x[layer + 1], line, vector)
                    if layer < n_layers - 1:
                        shared_relu(lanes, tile, left, right, result, 0, none, none)
                    else:
                        shared_plain(lanes, tile, left, right, result, 0, none, none)
                    at += 4 * i * j
                for a in range(n):
                    found[g, first + a] = output[a]

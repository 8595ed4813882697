r"""Fits of many networks at once, each with its own data, minibatches, initial weights and strength of optimism.

Each network minimises, by Adam from a fresh start, the mean squared error on its observations minus
:math:`\lambda\,\mathbb{A}(f, \mathcal U)`, an acquisition objective on the arms not yet pulled ([1]_, Equation 3). The
objective is unbounded below for most classes, so steps, learning rate and initial weights are part of what is defined.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section 4.1.
.. [2] Kingma, Ba. "Adam: a method for stochastic optimization". ICLR 2015.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.minibatches import draw_minibatches
from bestarm.models.mlp_batch import Mlp, backward, forward
from bestarm.models.torch_or_numpy import check_device
from bestarm.settings import check_settings

Objective = Literal["avg", "sum", "hinge", "softmax"]

HINGE_POWER = 4
DIVERGED = 1e4
MEMORY_BYTES = 2**25
_PADDING = 64
_LOG_SUM_EXP_POOL = 256
_POOL = 10


@dataclass(frozen=True)
class Training:
    """How a network is fitted.

    Raises ValueError for a setting out of its range, or a device that is not there.

    Parameters
    ----------
    hidden : tuple of int
        Units of each hidden layer; none of them is the linear class.
    steps : int
        Steps of Adam (Kingma and Ba 2015).
    learning_rate : float
        Step size.
    minibatch : int
        Observations in each step, all of them while there are fewer.
    objective : {"avg", "sum", "hinge", "softmax"}
        Mean or sum over the pool, mean of max(0, f)^4, or log of the sum of exponentials.
    pool_minibatch : int, optional
        Arms of the pool in each step; by default 10, and 256 for the softmax, whose minibatch value is biased low.
    bias : float
        Initial biases, see `Mlp.xavier`.
    device : str
        ``cpu`` or ``cuda``; changes rounding, nothing else.
    """

    hidden: tuple[int, ...] = (100, 10)
    steps: int = 5000
    learning_rate: float = 0.01
    minibatch: int = 10
    objective: Objective = "avg"
    pool_minibatch: int | None = None
    bias: float = 0.0
    device: str = "cpu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        check_settings(self, positive=("learning_rate",), steps=1, minibatch=1, pool_minibatch=1)
        check_device(self.device)

    @property
    def pool_size(self) -> int:
        """Arms of the pool in each step."""
        return self.pool_minibatch or (_LOG_SUM_EXP_POOL if self.objective == "softmax" else _POOL)


@dataclass(frozen=True)
class FitData:
    """What G networks are fitted to; networks of one replication share its row."""

    features: Tensor  # features of the arms, on the device of the fit, (n_sets, n_arms, n_features)
    feature_set: IntArray  # which set each row has, (R,)
    arms: IntArray  # observed arms, (R, n)
    n_observed: IntArray  # how many of them count, (R,)
    pool: IntArray  # arms not yet pulled, (R, u)
    n_pool: IntArray  # how many of them count, (R,)
    row: IntArray  # row of each network, (G,)
    targets: FloatArray  # what each network is told of its observed arms, (G, n)

    def take(self, networks: slice) -> "FitData":
        """Return the data of some of the networks."""
        return FitData(
            self.features,
            self.feature_set,
            self.arms,
            self.n_observed,
            self.pool,
            self.n_pool,
            self.row[networks],
            self.targets[networks],
        )


def fit_networks(
    training: Training,
    data: FitData,
    optimism: FloatArray,
    key: np.uint64,
    networks: IntArray,
    on_step: Callable[[int, slice, Tensor], None] | None = None,
) -> Tensor:
    """Fit G networks, each from its own initial weights, on its own minibatches.

    Time grows with G times steps times the parameters of a network; memory is bounded whatever G is.

    * ``training``, ``data``: how, and to what
    * ``optimism``, (G,): :math:`\\lambda` of each network; negative is pessimism, 0 a plain fit
    * ``key``: of the initial weights and minibatches
    * ``networks`` of int64, (G, 2): replication and item (below 2^31) that name each network: equal names, equal draws
    * ``on_step``: called with (steps done, networks, their parameters) after each step

    Returns the parameters of the networks, (G, n_parameters). Raises ValueError if a network has no observation.
    """
    if (data.n_observed[data.row] < 1).any():
        raise ValueError("every network needs at least one observation; pull some arms at random first.")
    torch.set_num_threads(1)  # processes, not threads, share the processors
    shape = Mlp(data.features.shape[2], training.hidden)
    found = torch.empty((len(networks), shape.n_parameters), device=training.device)
    size = max(1, MEMORY_BYTES // (64 * (shape.n_parameters + 40 * sum(shape.sizes))))
    torch.set_flush_denormal(True)  # Adam's averages of dead units decay to numbers that are slow to work with
    try:
        for start in range(0, len(networks), size):
            some = slice(start, min(start + size, len(networks)))
            hook = None if on_step is None else (lambda step, now, group=some: on_step(step, group, now))
            found[some] = _fit_group(training, shape, data.take(some), optimism[some], key, networks[some], hook)
    finally:
        torch.set_flush_denormal(False)
    return found


def _fit_group(
    training: Training,
    shape: Mlp,
    data: FitData,
    optimism: FloatArray,
    key: np.uint64,
    networks: IntArray,
    hook: Callable[[int, Tensor], None] | None,
) -> Tensor:
    device, n_networks = training.device, len(networks)
    m = training.minibatch
    m_pool = training.pool_size if optimism.any() else 0
    used = np.minimum(data.n_observed[data.row], m)
    used_pool = np.minimum(data.n_pool[data.row], m_pool)
    # the derivative of the loss by each output f is slope_1 * f + slope_0, except for what is not linear in f
    c1 = np.where(np.arange(m + m_pool) < used[:, None], 2.0 / used[:, None], 0.0)[..., None]
    in_pool = (np.arange(m_pool) < used_pool[:, None])[..., None]
    share = optimism[:, None, None] * in_pool / np.maximum(used_pool, 1)[:, None, None]
    slope_1, mask = torch.tensor(c1, dtype=torch.float32, device=device), torch.tensor(in_pool, device=device)
    weight = torch.tensor(share, dtype=torch.float32, device=device)
    if training.objective == "sum":
        weight = weight * torch.tensor(data.n_pool[data.row], device=device)[:, None, None]
    elif training.objective == "softmax":
        weight = torch.tensor(optimism[:, None, None], dtype=torch.float32, device=device)
    linear = training.objective in ("avg", "sum")
    table = data.features.flatten(0, 1)
    offset = data.feature_set[data.row] * data.features.shape[1]
    targets = data.targets.astype(np.float32)
    # one tensor for Adam; its last elements are rounded otherwise, so they belong to no network
    whole = torch.zeros(-(-n_networks * shape.n_parameters // _PADDING) * _PADDING, device=device)
    whole.grad = torch.zeros_like(whole)
    parameters, gradient = (
        flat[: n_networks * shape.n_parameters].view(n_networks, shape.n_parameters) for flat in (whole, whole.grad)
    )
    parameters.copy_(shape.xavier(key, networks, training.bias))
    layers, gradients = shape.layers(parameters), shape.layers(gradient)
    adam = torch.optim.Adam([whole], lr=training.learning_rate, fused=True)
    chunk = max(1, min(training.steps, MEMORY_BYTES // (4 * n_networks * (m + m_pool) * (shape.n_features + 4))))
    index = np.empty((chunk, n_networks, m + m_pool), dtype=np.int64)
    target = np.empty((chunk, n_networks, m), dtype=np.float32)
    for first in range(0, training.steps, chunk):
        n_steps = min(chunk, training.steps - first)
        draw_minibatches(
            key,
            networks,
            data.row,
            offset,
            data.arms,
            data.n_observed,
            targets,
            data.pool,
            data.n_pool,
            first,
            index[:n_steps],
            target[:n_steps],
        )
        inputs = table[torch.from_numpy(index[:n_steps]).to(device)]
        slope_0 = torch.zeros((n_steps, n_networks, m + m_pool, 1), device=device)
        slope_0[:, :, :m, 0] = -slope_1[:, :m, 0] * torch.from_numpy(target[:n_steps]).to(device)
        if linear:
            slope_0[:, :, m:] = -weight
        for s in range(n_steps):
            activations = forward(layers, inputs[s])
            slope = torch.addcmul(slope_0[s], activations[-1], slope_1)
            if m_pool and not linear:
                slope[:, m:] = -weight * _objective_slope(training.objective, activations[-1][:, m:], mask)
            backward(layers, gradients, activations, slope)
            adam.step()
            if hook is not None:
                hook(first + s + 1, parameters)
    return parameters


def _objective_slope(objective: Objective, outputs: Tensor, mask: Tensor) -> Tensor:
    """Return the derivative by each output of the pool: of the sum of max(0, f)^4, or of log sum exp."""
    if objective == "hinge":
        return HINGE_POWER * outputs.clamp_min(0.0).pow(HINGE_POWER - 1)
    return torch.softmax(outputs.masked_fill(~mask, -torch.inf), dim=1).masked_fill(~mask, 0.0)


def predict(training: Training, data: FitData, parameters: Tensor) -> FloatArray:
    """Return the outputs of G networks for every arm, shape (G, n_arms), in pieces of bounded memory."""
    shape = Mlp(data.features.shape[2], training.hidden)
    n_sets, n_arms = data.features.shape[:2]
    found = np.empty((len(parameters), n_arms), dtype=np.float64)
    piece = max(1, MEMORY_BYTES // (8 * max(shape.sizes)))
    size = max(1, piece // n_arms)
    for start in range(0, len(parameters), size):
        some = slice(start, min(start + size, len(parameters)))
        chosen = torch.from_numpy(data.feature_set[data.row[some]]).to(data.features.device)
        layers = shape.layers(parameters[some])
        for first in range(0, n_arms, piece):
            inputs = data.features[:, first : first + piece]
            inputs = inputs.expand(len(chosen), -1, -1) if n_sets == 1 else inputs[chosen]
            found[some, first : first + piece] = forward(layers, inputs)[-1][..., 0].cpu().numpy()
    return found


def diverged(predictions: FloatArray) -> BoolArray:
    """Return which networks have a prediction that is not finite or beyond 10^4, shape (G,)."""
    return np.asarray(~(np.abs(predictions) <= DIVERGED).all(axis=1))

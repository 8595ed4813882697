"""A judge of fitted networks: each step of each network, in float64, by autograd and Torch's Adam, within rounding.

Two correct fits part after a few steps, since Adam divides a gradient by its own size: what rounding leaves of a sum
that cancels moves a weight as far as any gradient, and a unit at the edge of its ReLU is on or off by the last bit. So
no tolerance after 50 steps is both right and sharp. Here every step is judged alone, from the parameters that the
fit itself had before it, with a bound on what float32 may have done in this step: machine epsilon times the operations
of each sum times the sum of its absolute terms, carried through layers, gradients and both averages of Adam. It holds
for sums in any order, with or without fused multiply-adds, and so for every processor and library.
"""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bestarm.models.minibatches import draw_minibatches
from bestarm.models.mlp_batch import Mlp
from bestarm.models.mlp_fit import FitData, Training
from bestarm.streams import Streams

KEY = Streams.first(1, instance="networks").key("fit")
EPSILON = 2.0**-24  # half the distance of 1 from the next float32: the relative error of one operation
SMALLEST = 2.0**-100  # what may be lost where small numbers are flushed to 0
BETA_1, BETA_2, ADAM_EPSILON = 0.9, 0.999, 1e-8

Array = NDArray[np.float64]


def gamma(n: int) -> float:
    """Return the relative error of n operations, one after the other (Higham, Section 3.1)."""
    return n * EPSILON / (1.0 - n * EPSILON)


def objective_of(outputs: Tensor, objective: str, n_pool: int) -> Tensor:
    """Return the acquisition objective of Section 4.1, estimated on S minibatches of the pool, (S, B) outputs."""
    if objective == "hinge":
        return (outputs.clamp_min(0.0) ** 4).mean(1)
    if objective == "softmax":
        return torch.logsumexp(outputs, 1) - np.log(outputs.shape[1]) + np.log(n_pool)
    return outputs.mean(1) * (n_pool if objective == "sum" else 1)


def outputs_within(layers: list[tuple[Tensor, Tensor]], inputs: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Return values before each ReLU and at the end, shape (S, B, units), and how far float32 may be off.

    Weights of a layer have shape (S, in, out), biases (S, 1, out).
    """
    values, errors = [], []
    activation, error = inputs, torch.zeros_like(inputs)
    for weights, biases in layers:
        with torch.no_grad():
            terms = (activation.abs() + error) @ weights.abs() + biases.abs()
            error = error @ weights.abs() + gamma(weights.shape[1] + 2) * terms + SMALLEST
        values.append(torch.baddbmm(biases, activation, weights))
        errors.append(error)
        activation = values[-1].relu()
    return values, errors


def _slope_error(
    training: Training, outputs: Tensor, error: Tensor, targets: Tensor, optimism: float, n_pool: int
) -> Tensor:
    """Return how far float32 may be off in the derivative of the loss by each output, shape (S, B, 1)."""
    m = targets.shape[1]
    known, free, off = outputs[:, :m, 0], outputs[:, m:, 0], error[..., 0]
    parts = [2.0 / m * (off[:, :m] + gamma(4) * (known.abs() + off[:, :m] + targets.abs()))]
    if free.shape[1]:
        off, size = off[:, m:], abs(optimism)
        if training.objective == "hinge":
            cube, most = free.clamp_min(0.0) ** 3, (free.clamp_min(0.0) + off) ** 3
            parts.append(4.0 * size / free.shape[1] * (most - cube + gamma(10) * most))
        elif training.objective == "softmax":
            share, widest = torch.softmax(free, 1), (off + gamma(2) * free.abs()).amax(1, keepdim=True)
            parts.append(size * share * (torch.expm1(2.0 * widest) + gamma(free.shape[1] + 16)))
        else:
            factor = n_pool if training.objective == "sum" else 1
            parts.append(torch.full_like(free, gamma(4) * size * factor / free.shape[1]))
    return (torch.cat(parts, 1) + SMALLEST)[..., None]


def _gradients(
    training: Training, data: FitData, g: int, optimism: float, name: np.ndarray, path: np.ndarray
) -> tuple[Array, Array]:
    """Return the gradient by autograd at the parameters before each step, shape (S, n_parameters), and its error."""
    r, m, m_pool = data.row[g], training.minibatch, training.pool_size
    shape, steps = Mlp(data.features.shape[2], training.hidden), len(path) - 1
    index = np.empty((steps, 1, m + m_pool), dtype=np.int64)
    target = np.empty((steps, 1, m), dtype=np.float32)
    zero, own = np.zeros(1, dtype=np.int64), slice(r, r + 1)
    known = (data.arms[own], data.n_observed[own], data.targets[g : g + 1].astype(np.float32))
    draw_minibatches(KEY, name[None], zero, zero, *known, data.pool[own], data.n_pool[own], 0, index, target)
    used, used_pool = min(m, data.n_observed[r]), min(m_pool, data.n_pool[r]) if optimism else 0
    index = np.concatenate([index[:, 0, :used], index[:, 0, m : m + used_pool]], axis=1)
    inputs = data.features[data.feature_set[r]].double()[torch.from_numpy(index)]
    targets = torch.from_numpy(target[:, 0, :used]).double()

    parameters = torch.from_numpy(path[:-1]).double().requires_grad_()
    layers = shape.layers(parameters)
    values, errors = outputs_within(layers, inputs)
    for value in values:
        value.retain_grad()
    outputs = values[-1][..., 0]
    loss = ((outputs[:, :used] - targets) ** 2).mean(1)
    if used_pool:
        loss = loss - optimism * objective_of(outputs[:, used:], training.objective, data.n_pool[r])
    loss.sum().backward()

    with torch.no_grad():
        found = torch.zeros_like(parameters)
        bounds = shape.layers(found)
        error = _slope_error(training, values[-1], errors[-1], targets, optimism, data.n_pool[r])
        for at in range(len(layers) - 1, -1, -1):
            slope = values[at].grad.abs()
            before = values[at - 1].relu() if at else inputs.abs()
            off = errors[at - 1] if at else torch.zeros_like(before)
            n = gamma(inputs.shape[1] + 2)
            whole = (before + off).mT @ (slope + error)
            bounds[at][0][:] = whole - before.mT @ slope + n * whole + SMALLEST
            bounds[at][1][:] = (error + n * (slope + error)).sum(1, keepdim=True) + SMALLEST
            if at:
                weights = layers[at][0]
                passed = values[at].grad @ weights.mT  # before the mask of the ReLU
                error = (error + gamma(weights.shape[2] + 2) * (slope + error)) @ weights.abs().mT + SMALLEST
                unsure = values[at - 1].abs() <= errors[at - 1]
                error = torch.where(unsure, passed.abs() + error, torch.where(values[at - 1] > 0.0, error, 0.0))
    return parameters.grad.numpy(), found.numpy()


def _adam_within(training: Training, path: np.ndarray, gradients: Array, errors: Array) -> tuple[Array, Array]:
    """Return the parameters after each step by Torch's Adam from those before it, and how far float32 may be off."""
    weights = torch.zeros(path.shape[1], dtype=torch.float64)
    adam = torch.optim.Adam([weights], lr=training.learning_rate)
    expected, bounds = np.empty_like(gradients), np.empty_like(gradients)
    off_m, off_v, shares = np.zeros(path.shape[1]), np.zeros(path.shape[1]), 0.0
    m, v = np.zeros(path.shape[1]), np.zeros(path.shape[1])
    for s, (gradient, error) in enumerate(zip(gradients, errors, strict=True)):
        weights.copy_(torch.from_numpy(path[s]))
        weights.grad = torch.from_numpy(gradient)
        adam.step()
        size = np.abs(gradient)
        off_m = BETA_1 * off_m + (1.0 - BETA_1) * (error + gamma(3) * (size + error + np.abs(m) + off_m))
        off_v = BETA_2 * off_v + (1.0 - BETA_2) * ((size + error) ** 2 - size**2)
        m, v = (adam.state[weights][name].numpy().copy() for name in ("exp_avg", "exp_avg_sq"))
        off_m += gamma(2) * (np.abs(m) + off_m) + SMALLEST
        off_v += gamma(5) * (v + off_v) + SMALLEST
        scale = 1.0 / np.sqrt(1.0 - BETA_2 ** (s + 1))
        below = [np.sqrt(np.maximum(v + sign * off_v, 0.0)) * scale + ADAM_EPSILON for sign in (-1.0, 1.0)]
        move = m / (np.sqrt(v) * scale + ADAM_EPSILON)
        corners = [(m + sign * off_m) / b for sign in (-1.0, 1.0) for b in below]
        reach = np.max([np.abs(corner - move) for corner in corners], axis=0)
        # whatever the gradients are, by Cauchy and Schwarz |m| is at most this many sqrt(v)
        shares = shares * BETA_1**2 / BETA_2 + 1.0
        most = 1.01 * (1.0 - BETA_1) / np.sqrt(1.0 - BETA_2) * np.sqrt(shares) / scale
        rate = training.learning_rate / (1.0 - BETA_1 ** (s + 1))
        expected[s] = weights.numpy()
        bounds[s] = rate * (np.minimum(reach, most + np.abs(move)) + gamma(8) * np.abs(move))
        bounds[s] += gamma(2) * (np.abs(expected[s]) + bounds[s])
    return expected, bounds


def steps_within_rounding(
    training: Training, data: FitData, optimism: np.ndarray, networks: np.ndarray, path: np.ndarray, some: Iterable[int]
) -> tuple[float, float]:
    """Return the largest error of a step, in units of its bound, and the median of the bounds, in learning rates.

    ``path``, float32 (S + 1, G, n_parameters), has the parameters before the first step and after each; ``some`` are
    the networks that are looked at; others are as for `fit_networks`.
    """
    worst, bounds = 0.0, []
    for g in some:
        own = path[:, g]
        shape = Mlp(data.features.shape[2], training.hidden)
        assert np.array_equal(own[0], shape.xavier(KEY, networks[g : g + 1], training.bias)[0].numpy())
        gradients, errors = _gradients(training, data, g, float(optimism[g]), networks[g], own)
        expected, bound = _adam_within(training, own, gradients, errors)
        worst = max(worst, float((np.abs(own[1:] - expected) / bound).max()))
        bounds.append(np.median(bound) / training.learning_rate)
    return worst, float(np.median(bounds))


class Path:
    """What the hook of a fit sees: parameters before the first step and after each."""

    def __init__(self, training: Training, data: FitData, networks: np.ndarray) -> None:
        start = Mlp(data.features.shape[2], training.hidden).xavier(KEY, networks, training.bias).numpy()
        self.parameters = np.full((training.steps + 1, *start.shape), np.nan, dtype=np.float32)
        self.parameters[0] = start

    def __call__(self, step: int, group: slice, parameters: Tensor) -> None:
        self.parameters[step, group] = parameters.cpu().numpy()


def assert_outputs_within_rounding(training: Training, data: FitData, parameters: Tensor, found: np.ndarray) -> None:
    """Check the outputs of networks for every arm against a plain pass in float64, and that the bound is small."""
    layers = Mlp(data.features.shape[2], training.hidden).layers(parameters.double())
    values, errors = outputs_within(layers, data.features[data.feature_set[data.row]].double())
    expected, bound = values[-1][..., 0].numpy(), errors[-1][..., 0].numpy()
    assert (np.abs(found - expected) / bound).max() <= 1.0
    assert np.median(bound) < 1e-4 * max(1.0, np.ptp(expected))


def assert_steps_within_rounding(
    training: Training,
    data: FitData,
    optimism: np.ndarray,
    networks: np.ndarray,
    path: np.ndarray,
    some: Iterable[int] | None = None,
) -> None:
    """Check that no step is farther off than rounding allows, and that this is little: by its median, 2% of a step."""
    some = range(len(networks)) if some is None else some
    worst, bound = steps_within_rounding(training, data, optimism, networks, path, some)
    assert worst <= 1.0
    assert bound < 0.02

"""Fits of many networks with one fused kernel on the processor: as `fit_networks`, several times faster.

Draws and initial weights are those of `fit_networks` bit for bit. Sums are rounded in another order, so parameters are
equal to 2e-6 after 50 steps, and not after thousands. The result of a network depends on nothing but its own data: not
on its group, not on the width of the processor's vectors, not on which of the two kernels is taken.
"""

import itertools
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numba.core import event
from numpy.typing import NDArray
from torch import Tensor

from bestarm.interface import FloatArray, IntArray
from bestarm.models import fused_lanes, fused_units
from bestarm.models.fused_draws import draw_in_lanes
from bestarm.models.fused_lanes import HINGE, LINEAR, SOFTMAX, Lanes
from bestarm.models.fused_tiles import BETA_1, BETA_2, LANES, PROCESSOR, check_lanes, missing_instruction
from bestarm.models.fused_units import Units
from bestarm.models.mlp_batch import Mlp
from bestarm.models.mlp_fit import FitData, Training, fit_networks

logger = logging.getLogger(__name__)

MOST_BYTES_OF_LANES = 2**21
_CHUNK_BYTES = 2**18
Kernel = type[Lanes] | type[Units]


def fit_fused(
    training: Training,
    data: FitData,
    optimism: FloatArray,
    key: np.uint64,
    networks: IntArray,
    on_step: Callable[[int, slice, Tensor], None] | None = None,
    *,
    at: Collection[int] | None = None,
    kernel: Kernel | None = None,
    lanes: tuple[int, ...] = LANES,
) -> Tensor:
    """Fit G networks, each from its own initial weights, on its own minibatches, as `fit_networks` does.

    On a GPU and on a processor without fused multiply-add, `fit_networks` itself is called, and one line of the log
    says so. ``training``, ``data``, ``optimism``, ``key``, ``networks``, ``on_step``: as for `fit_networks`; ``at``
    (collection of int): steps after which ``on_step`` is called; by default after each; ``kernel`` ({Lanes, Units}): by
    default the one that is likely the faster; changes no bit; ``lanes`` (tuple of int): one element for each lane of a
    vector, 8 or 16; changes no bit. Returns Tensor, shape (G, n_parameters): parameters of the networks. Raises
    ValueError if a network has no observation, shapes do not match, an arm, a row or a set does not exist, or there are
    other than 8 or 16 lanes. Raises MemoryError if the group does not fit into the memory that is free."""
    reason = cannot_run(training)
    if reason:
        said_once(f"networks are fitted by Torch, not by the fused kernel: {reason}")
        return fit_networks(training, data, optimism, key, networks, _only(on_step, at))
    check_lanes(lanes)
    _check(data, optimism, networks)
    data = _owned(data)
    shape = Mlp(data.features.shape[2], training.hidden)
    n_samples = training.minibatch + (training.pool_size if optimism.any() else 0)
    starts = range(0, len(networks), len(lanes))
    sizes = [min(len(lanes), len(networks) - start) for start in starts]
    kernels = [kernel or _faster(shape.sizes, n_samples, size, lanes) for size in sizes]
    chunk = max(1, min(training.steps, _CHUNK_BYTES // (12 * len(lanes) * n_samples)))
    looked = set() if on_step is None else set(range(1, training.steps + 1) if at is None else at)
    needed = sum(kernel.bytes_needed(shape.sizes, n_samples, lanes) for kernel in set(kernels))
    needed += 4 * shape.n_parameters * (len(networks) + len(lanes)) + 12 * chunk * len(lanes) * n_samples
    _check_memory(needed, shape, len(networks))
    states = {kernel: kernel(shape.sizes, n_samples, lanes) for kernel in set(kernels)}
    found = np.empty((len(networks), shape.n_parameters), dtype=np.float32)
    with said_when_compiling((draw_in_lanes, *fused_lanes.compiled, *fused_units.compiled)):
        for start, size, state in zip(starts, sizes, (states[kernel] for kernel in kernels), strict=True):
            some = slice(start, start + size)
            group = _Group(training, data, optimism, key, networks, some, n_samples, lanes)
            state.start(shape.xavier(key, networks[some], training.bias).numpy())
            for step, n_steps in _pieces(training.steps, chunk, looked):
                index, target = group.minibatches(step, n_steps)
                rates, scales = _corrections(training, step, n_steps)
                state.take_steps(group.table, index, target, group.share, group.objective, rates, scales)
                if on_step and step + n_steps in looked:
                    on_step(step + n_steps, some, torch.from_numpy(state.found(size)))
            found[some] = state.found(size)
    return torch.from_numpy(found)


def _pieces(steps: int, chunk: int, ends: Collection[int]) -> Iterator[tuple[int, int]]:
    """Return first step and length of pieces of at most ``chunk`` steps; one ends at each of ``ends``."""
    bounds = sorted({*range(0, steps, chunk), steps, *(end for end in ends if 0 < end < steps)})
    return ((first, last - first) for first, last in itertools.pairwise(bounds))


def _only(
    on_step: Callable[[int, slice, Tensor], None] | None, at: Collection[int] | None
) -> Callable[[int, slice, Tensor], None] | None:
    """Return the hook for some steps alone."""
    if on_step is None or at is None:
        return on_step
    return lambda step, group, parameters: on_step(step, group, parameters) if step in at else None


def cannot_run(training: Training) -> str | None:
    """Return why the fused kernels cannot run, or None if they can."""
    return missing_instruction() if training.device == "cpu" else f"device is {training.device!r}"


class _Group:
    """What at most as many networks as there are lanes are fitted to; empty lanes repeat the last network."""

    def __init__(
        self,
        training: Training,
        data: FitData,
        optimism: FloatArray,
        key: np.uint64,
        networks: IntArray,
        some: slice,
        n_samples: int,
        lanes: tuple[int, ...],
    ) -> None:
        mine = np.minimum(np.arange(some.start, some.start + len(lanes)), some.stop - 1)
        m, m_pool, row = training.minibatch, n_samples - training.minibatch, data.row[mine]
        self.lanes, self.key, self.n_samples, self.m = lanes, key, n_samples, m
        self.objective = {"hinge": HINGE, "softmax": SOFTMAX}.get(training.objective, LINEAR)
        used, used_pool = np.minimum(data.n_observed[row], m), np.minimum(data.n_pool[row], m_pool)
        # the same roundings as in `fit_networks`
        self.share = np.zeros((len(lanes), n_samples), dtype=np.float32)
        self.share[:, :m] = np.where(np.arange(m) < used[:, None], 2.0 / used[:, None], 0.0)
        in_pool = np.arange(m_pool) < used_pool[:, None]
        one = np.ones_like(used_pool) if training.objective == "softmax" else np.maximum(used_pool, 1)
        self.share[:, m:] = optimism[mine, None] * in_pool / one[:, None]
        if training.objective == "sum":
            self.share[:, m:] *= data.n_pool[row, None].astype(np.float32)
        self.table, self.data, self.row = data.features.flatten(0, 1).numpy(), data, row
        self.names, self.targets = networks[mine].astype(np.int64), data.targets[mine].astype(np.float32)
        self.offset = data.feature_set[row] * data.features.shape[1]

    def minibatches(self, first_step: int, n_steps: int) -> tuple[IntArray, NDArray[np.float32]]:
        """Return rows of the table and targets, see `Lanes.take_steps`."""
        index = np.empty((n_steps, len(self.lanes), self.n_samples), dtype=np.int64)
        target = np.empty((n_steps, len(self.lanes), self.m), dtype=np.float32)
        data = self.data
        draw_in_lanes(
            self.lanes,
            self.key,
            self.names,
            self.row,
            self.offset,
            data.arms,
            data.n_observed,
            self.targets,
            data.pool,
            data.n_pool,
            first_step,
            index,
            target,
        )
        return index, target


def _corrections(training: Training, first_step: int, n_steps: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return Adam's learning rate over its first correction, and one over the square root of the second."""
    powers = _powers(training.steps)[:, first_step : first_step + n_steps]
    rates = training.learning_rate / (1.0 - powers[0])
    return rates.astype(np.float32), (1.0 / np.sqrt(1.0 - powers[1])).astype(np.float32)


@cache
def _powers(steps: int) -> FloatArray:
    """Return beta^1, ..., beta^steps for both betas of Adam, by multiplication, which every machine rounds alike."""
    return np.cumprod(np.tile([[BETA_1], [BETA_2]], steps), axis=1)


def _owned(data: FitData) -> FitData:
    """Return the same data in arrays as kernels take them; what is so already is not copied."""
    return FitData(
        torch.from_numpy(own(data.features.numpy(), np.float32)),
        own(data.feature_set, np.int64),
        own(data.arms, np.int64),
        own(data.n_observed, np.int64),
        own(data.pool, np.int64),
        own(data.n_pool, np.int64),
        own(data.row, np.int64),
        data.targets,
    )


def own(values: NDArray[Any], kind: type) -> NDArray[Any]:
    """Return values as one contiguous array that may be written: each kernel is compiled for one kind of array."""
    return np.require(values, kind, ["C", "W"])


def _faster(sizes: tuple[int, ...], n_samples: int, n_networks: int, lanes: tuple[int, ...]) -> Kernel:
    """Return the kernel that is likely the faster one."""
    if Lanes.bytes_needed(sizes, n_samples, lanes) > MOST_BYTES_OF_LANES:
        return Units
    return Units if Units.work(sizes, n_networks, lanes) < Lanes.work(sizes, n_networks, lanes) else Lanes


def _check(data: FitData, optimism: FloatArray, networks: IntArray) -> None:
    """Refuse what the kernel, which checks no address, would read past the end."""
    n_networks, n_rows = len(networks), len(data.n_observed)
    n_sets, n_arms = data.features.shape[:2]
    if not n_networks == len(optimism) == len(data.row) == len(data.targets):
        raise ValueError(
            f"networks, optimism, row and targets must be equally many, got {n_networks}, {len(optimism)}, "
            f"{len(data.row)} and {len(data.targets)}."
        )
    if not n_rows == len(data.feature_set) == len(data.arms) == len(data.pool) == len(data.n_pool):
        raise ValueError(
            "feature_set, arms, n_observed, pool and n_pool must have one row for each replication, got "
            f"{len(data.feature_set)}, {len(data.arms)}, {n_rows}, {len(data.pool)} and {len(data.n_pool)}."
        )
    widest = min(data.arms.shape[1], data.targets.shape[1])
    limits = [
        ("row", data.row, n_rows),
        ("feature_set", data.feature_set, n_sets),
        ("n_observed", data.n_observed, widest + 1),
        ("n_pool", data.n_pool, data.pool.shape[1] + 1),
        ("arms", data.arms[np.arange(data.arms.shape[1]) < data.n_observed[:, None]], n_arms),
        ("pool", data.pool[np.arange(data.pool.shape[1]) < data.n_pool[:, None]], n_arms),
    ]
    for name, values, end in limits:
        if values.size and (values.min() < 0 or values.max() >= end):
            raise ValueError(f"{name} must be from 0 to {end - 1}, got {values.min()} to {values.max()}.")
    if n_networks and (data.n_observed[data.row] < 1).any():
        raise ValueError("every network needs at least one observation; pull some arms at random first.")


def _check_memory(needed: int, shape: Mlp, n_networks: int) -> None:
    free = free_bytes()
    if free is not None and needed > free:
        raise MemoryError(
            f"{n_networks} networks with layers {'-'.join(map(str, shape.sizes))} need {needed / 2**30:.1f} GiB, and "
            f"{free / 2**30:.1f} GiB are free; fit fewer networks at a time or take smaller layers."
        )


def free_bytes() -> int | None:
    """Return the memory that is free for new arrays, at most what a container may have; None if no file says so."""
    found = []
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            found.append(1024 * int(line.split()[1]))
    found += [int(line) for line in _lines("/sys/fs/cgroup/memory.max") if line.isdigit()]
    return min(found, default=None)


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="ascii").splitlines()
    except OSError:
        return []


@cache
def said_once(text: str) -> None:
    """Log a line once."""
    logger.warning(text)


class _Compiling(event.Listener):
    def __init__(self, kernels: Sequence[Any]) -> None:
        self.kernels = kernels

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"] in self.kernels:
            name = event.data["dispatcher"].py_func.__module__.rsplit(".", 1)[-1]
            logger.warning("compiling %s for this processor (%s): some seconds, once", name, PROCESSOR)

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def said_when_compiling(kernels: Sequence[Any]) -> Iterator[None]:
    """Log a line whenever one of these kernels is compiled and not found in Numba's cache."""
    with event.install_listener("numba:compile", _Compiling(kernels)):
        yield

"""The fused kernels against the engine of Torch, in turns, and against the limit of the processor.

Both train the same networks on the same minibatches, draws and initial weights included. A time is processor time of
one thread, the least of several, since other work on the machine only adds to it. The limit is what fused multiply-adds
alone reach in registers; a step of a network with W weights, W1 of them in the first layer, and P parameters takes
2 B (3 W - W1) + 14 P operations for B samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from benchmarks.oae import OPTIMISM, some_data
from bestarm.models.fused_fit import fit_fused
from bestarm.models.fused_predict import predict_fused
from bestarm.models.fused_tiles import LANES
from bestarm.models.mlp_batch import Mlp
from bestarm.models.mlp_fit import Training, fit_networks, predict
from bestarm.streams import Streams

REPEATS = 5
SECONDS = 0.4
NETWORKS = 48
GOALS = {
    (1, (10, 5)): 0.35,
    (1, (100, 10)): 2.5,
    (13, (100, 10)): 4.0,
    (58, (100, 10)): np.nan,
    (280, (100, 10)): 50.0,
    (13, (300, 100)): 75.0,
}
POOLS = ((1, (10, 5), 1000), (1, (100, 10), 1000), (12, (100, 10), 15642), (280, (100, 10), 52396))
_CHAINS = 20


@intrinsic
def _multiply_add(typing, lanes, n):  # type: ignore[no-untyped-def]
    """Do n times 20 independent fused multiply-adds of whole vectors, and return a lane of their sum."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind, count = ir.VectorType(ir.FloatType(), lanes.count), ir.IntType(64)
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fma.v{lanes.count}f32"
        )
        half, one = (ir.Constant(kind, [value] * lanes.count) for value in (0.5, 1.0))
        entry, loop = builder.block, builder.append_basic_block("loop")
        after = builder.append_basic_block("after")
        builder.branch(loop)
        builder.position_at_end(loop)
        left, sums = builder.phi(count), [builder.phi(kind) for _ in range(_CHAINS)]
        new = [builder.call(fma, [value, half, one]) for value in sums]
        less = builder.sub(left, ir.Constant(count, 1))
        left.add_incoming(args[1], entry)
        left.add_incoming(less, loop)
        for number, (value, later) in enumerate(zip(sums, new, strict=True)):
            value.add_incoming(ir.Constant(kind, [float(number)] * lanes.count), entry)
            value.add_incoming(later, loop)
        builder.cbranch(builder.icmp_signed(">", less, ir.Constant(count, 0)), loop, after)
        builder.position_at_end(after)
        total = new[0]
        for value in new[1:]:
            total = builder.fadd(total, value)
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float32(lanes, types.int64), generate


@njit
def _many_multiply_adds(lanes: tuple[int, ...], n: int) -> float:
    return _multiply_add(lanes, n)


def peak() -> float:
    """Return the operations a second of fused multiply-adds in registers, one thread, the best of several."""
    n = 2_000_000
    _many_multiply_adds(LANES, 10)
    least = min(_seconds(lambda: _many_multiply_adds(LANES, n)) for _ in range(2 * REPEATS))
    return 2 * n * _CHAINS * len(LANES) / least


def operations(d: int, hidden: tuple[int, ...], n_samples: int) -> int:
    """Return the operations of one step of one network."""
    shape = Mlp(d, hidden)
    weights = [before * after for before, after in pairwise(shape.sizes)]
    return 2 * n_samples * (3 * sum(weights) - weights[0]) + 14 * shape.n_parameters


def _seconds(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _least(calls: list[Callable[[], Any]]) -> list[float]:
    """Return the least processor time of each call, all of them in turns."""
    return np.min([[_seconds(call) for call in calls] for _ in range(REPEATS)], axis=0).tolist()


def training() -> pd.DataFrame:
    """Return the time of a step of a network, network-steps a second, and the share of the processor's limit."""
    key, strengths = Streams.first(1).key("benchmark"), np.full(NETWORKS, OPTIMISM)
    names = np.stack([np.arange(NETWORKS), np.zeros(NETWORKS, dtype=np.int64)], axis=1)
    limit, lines = peak(), []
    for (d, hidden), goal in GOALS.items():
        data = some_data(NETWORKS, d)

        def timed(engine: Callable[..., Any], steps: int) -> Callable[[], Any]:
            return lambda: engine(Training(hidden, steps), data, strengths, key, names)  # noqa: B023

        engines, steps = (fit_fused, fit_networks), []
        for engine in engines:
            timed(engine, 2)()
            steps.append(int(np.clip(SECONDS * 20 / _seconds(timed(engine, 20)), 20, 5000)))
        seconds = _least([timed(engine, n) for engine, n in zip(engines, steps, strict=True)])
        fused, present = 1e6 * np.array(seconds) / NETWORKS / np.array(steps)
        rate = operations(d, hidden, 20) / (1e-6 * fused)
        lines.append(
            {
                "network": "-".join(map(str, Mlp(d, hidden).sizes)),
                "present us": present,
                "fused us": fused,
                "goal us": goal,
                "fused steps/s": 1e6 / fused,
                "ratio": present / fused,
                "Gflop/s": 1e-9 * rate,
                "% of limit": 100 * rate / limit,
            }
        )
    return pd.DataFrame(lines)


def prediction() -> pd.DataFrame:
    """Return the time of the outputs of one network for a pool, and the share of the processor's limit."""
    limit, lines = peak(), []
    for d, hidden, n_arms in POOLS:
        shape, n = Mlp(d, hidden), 10
        pool = np.random.default_rng(d).standard_normal((1, n_arms, d))
        data = replace(some_data(n, d), features=torch.tensor(pool, dtype=torch.float32))
        names = np.stack([np.arange(n), np.zeros(n, dtype=np.int64)], axis=1)
        parameters = shape.xavier(Streams.first(1).key("benchmark"), names)
        calls = [lambda f=f: f(Training(hidden), data, parameters) for f in (predict_fused, predict)]  # noqa: B023
        for call in calls:
            call()
        fused, present = (1e3 * seconds / n for seconds in _least(calls))
        rate = 2 * n_arms * sum(before * after for before, after in pairwise(shape.sizes)) / (1e-3 * fused)
        lines.append(
            {
                "network": "-".join(map(str, shape.sizes)),
                "arms": n_arms,
                "present ms": present,
                "fused ms": fused,
                "ratio": present / fused,
                "Gflop/s": 1e-9 * rate,
                "% of limit": 100 * rate / limit,
            }
        )
    return pd.DataFrame(lines)


def main() -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    print(f"Limit: {1e-9 * peak():.0f} Gflop/s of fused multiply-adds, vectors of {len(LANES)} floats\n")
    print(f"One step of one of {NETWORKS} networks, 20 samples, one thread\n")
    print(training().round(2).to_string(index=False))
    print("\nOutputs of one of 10 networks for all arms\n")
    print(prediction().round(3).to_string(index=False))


if __name__ == "__main__":
    main()

"""The fused kernels: against each step of one network in float64, against each other, and bad input."""

import logging
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from refusals import refusing
from torch import Tensor
from trained_alone import KEY, Path, assert_steps_within_rounding, steps_within_rounding

from bestarm.models import fused_fit, fused_lanes, fused_units
from bestarm.models.fused_draws import draw_in_lanes
from bestarm.models.fused_fit import fit_fused
from bestarm.models.fused_lanes import Lanes, exponential
from bestarm.models.fused_tiles import FEATURES
from bestarm.models.fused_units import Units
from bestarm.models.minibatches import draw_minibatches
from bestarm.models.mlp_batch import Mlp
from bestarm.models.mlp_fit import FitData, Training, fit_networks

EIGHT, SIXTEEN = (0,) * 8, (0,) * 16
EVERY_RESIDUE = [(1 + i, (1 + 5 * i % 17, 1 + 3 * i % 17)) for i in range(17)]
PAPER = [(1, (10, 5)), (1, (100, 10)), (13, (100, 10)), (58, (100, 10)), (280, (100, 10)), (13, (300, 100))]
OTHERS = [(1, ()), (7, ()), (33, ()), (5, (6,)), (16, (16,)), (48, (17, 33)), (3, (4, 5, 6))]
FENCES: list[tuple[np.ndarray, int, int]] = []


def some_data(d: int, n: int, seed: int = 0) -> tuple[FitData, np.ndarray]:
    """Return 25 observations of 60 arms for each of n networks, and their names."""
    rng = np.random.default_rng([seed, d])
    order = np.array([rng.permutation(60) for _ in range(n)])
    features = torch.tensor(rng.standard_normal((2, 60, d)), dtype=torch.float32)
    known, pool = (np.ascontiguousarray(part) for part in (order[:, :25], order[:, 25:]))
    sets, counts = rng.integers(2, size=n), (np.full(n, 25), np.full(n, 35))
    data = FitData(features, sets, known, counts[0], pool, counts[1], np.arange(n), rng.standard_normal((n, 25)))
    return data, np.stack([np.arange(n) + 3, np.arange(n) % 2], axis=1)


def ragged_data(d: int) -> tuple[FitData, np.ndarray]:
    """Return 19 networks of four replications with 1 to 25 observations and 0 to 35 arms left."""
    row, targets = np.arange(19) % 4, np.random.default_rng(1).standard_normal((19, 25))
    counts = {"n_observed": np.array([1, 4, 12, 25]), "n_pool": np.array([35, 12, 3, 0])}
    data = replace(some_data(d, 4)[0], row=row, targets=targets, **counts)
    return data, np.stack([row + 10, np.arange(19) // 4], axis=1)


def path_of_all_kernels(training: Training, data: FitData, optimism: np.ndarray, networks: np.ndarray) -> np.ndarray:
    """Return the parameters after every step; both kernels, with 8 and 16 lanes, must end with the same bits."""
    path = Path(training, data, networks)
    every, hooks = product((Lanes, Units), (EIGHT, SIXTEEN)), (path, None, None, None)
    found = [
        fit_fused(training, data, optimism, KEY, networks, hook, kernel=kernel, lanes=lanes)
        for (kernel, lanes), hook in zip(every, hooks, strict=True)
    ]
    assert all(np.array_equal(path.parameters[-1], other.numpy()) for other in found)
    return path.parameters


def fenced(n: int) -> np.ndarray:
    """Return n zeros in the middle of numbers that would spoil every result, had they been read."""
    whole = np.full(n + 4096, np.nan, dtype=np.float32)
    start = 1024 + (-whole.ctypes.data % 64) // 4
    whole[start : start + n] = 0.0
    FENCES.append((whole, start, n))
    return whole[start : start + n]


@pytest.mark.parametrize(("d", "hidden"), EVERY_RESIDUE + PAPER + OTHERS)
def test_every_step_of_every_shape_is_that_of_the_network_alone(d, hidden, monkeypatch):
    """Within rounding in each of 50 steps, the same bits from every kernel, and nothing read or written outside."""
    for module in (fused_lanes, fused_units):
        monkeypatch.setattr(module, "aligned", fenced)
    data, networks = some_data(d, 2)
    training, strengths = Training(hidden, steps=50), np.array([0.01, 0.0])
    path = path_of_all_kernels(training, data, strengths, networks)
    assert_steps_within_rounding(training, data, strengths, networks, path)
    for whole, start, n in FENCES:
        assert np.isnan(whole[:start]).all()
        assert np.isnan(whole[start + n :]).all()
    FENCES.clear()


@pytest.mark.parametrize("objective", ["avg", "sum", "hinge", "softmax"])
@pytest.mark.parametrize(("d", "hidden"), [(1, (10, 5)), (12, (100, 10))])
def test_objectives_and_few_observations(objective, d, hidden):
    """One observation, no pool, pessimism, initial biases, minibatches of 7 and 5: each of 50 steps within rounding."""
    data, networks = ragged_data(d)
    strengths = np.linspace(-0.02, 0.02, 19) / (10 if objective == "sum" else 1)
    training = Training(hidden, 50, minibatch=7, objective=objective, pool_minibatch=5, bias=1.0)
    path = path_of_all_kernels(training, data, strengths, networks)
    assert_steps_within_rounding(training, data, strengths, networks, path, range(0, 19, 3))


@pytest.mark.parametrize("fit", [fit_networks, fit_fused])
@pytest.mark.parametrize("strongest", [0.0, 0.02])
def test_both_engines_find_the_same(fit, strongest):
    """Each of 50 steps within rounding of the same step in float64, for all networks of a group, plain fits too."""
    data, networks = ragged_data(3)
    training, strengths = Training((10, 5), 50, objective="hinge", bias=1.0), np.linspace(0.0, strongest, 19)
    path = Path(training, data, networks)
    fit(training, data, strengths, KEY, networks, path)
    assert_steps_within_rounding(training, data, strengths, networks, path.parameters)


@pytest.mark.parametrize("fault", ["learning rate", "optimism", "target", "observation", "weight"])
def test_the_judge_sees_small_faults(fault):
    """A rate or a strength off by 1e-3, a target by 1e-3, an observation lost, one weight off by 1e-5."""
    data, networks = ragged_data(3)
    training, strengths, path = Training((10, 5), 50), np.full(19, 0.02), Path(Training((10, 5), 50), data, networks)
    other, changed, faulty = training, strengths, replace(data, targets=data.targets.copy())
    if fault == "learning rate":
        other = replace(training, learning_rate=0.01 * 1.001)
    elif fault == "optimism":
        changed = strengths * 1.001
    elif fault == "target":
        faulty.targets[:] += 1e-3
    elif fault == "observation":
        faulty = replace(data, n_observed=np.array([1, 4, 11, 25]))
    fit_fused(other, faulty, changed, KEY, networks, path)
    if fault == "weight":
        path.parameters[30:, :, 7] += 1e-5
    for g in range(2, 19, 4):
        assert steps_within_rounding(training, data, strengths, networks, path.parameters, [g])[0] > 1.0


@pytest.mark.parametrize(("d", "hidden"), [(1, (10, 5)), (13, (100, 10)), (70, (30, 20))])
def test_networks_do_not_depend_on_their_company(d, hidden):
    """The same bits alone, in groups of 5 and 16 and in all, after 400 steps, which make any rounding visible."""
    data, networks = ragged_data(d)
    strengths, training = np.linspace(0.0, 0.1, 19), Training(hidden, steps=400)
    together = fit_fused(training, data, strengths, KEY, networks)
    for size in (1, 5, 16):
        for start in range(0, 19, size):
            some = slice(start, start + size)
            part = fit_fused(training, data.take(some), strengths[some], KEY, networks[some])
            assert torch.equal(part, together[some])


@pytest.mark.parametrize("lanes", [EIGHT, SIXTEEN])
@pytest.mark.parametrize(("n", "u", "m", "m_pool"), [(60, 940, 10, 10), (5, 3, 10, 10), (30, 40, 7, 0), (9, 9, 3, 6)])
def test_draws_are_those_of_the_project(lanes, n, u, m, m_pool):
    """Bit for bit: rows with few arms and empty pools, names up to 2^32, steps after the first."""
    rng = np.random.default_rng(n)
    width, table = len(lanes), np.array([rng.permutation(1000) for _ in range(4)])
    names = np.stack([rng.integers(0, 2**31, width), rng.integers(0, 2**32, width)], axis=1)
    rows = (rng.integers(0, 4, width), 1000 * rng.integers(0, 3, width))
    known, pool = np.ascontiguousarray(table[:, :n]), np.ascontiguousarray(table[:, 1000 - u :])
    observed = (known, rng.integers(1, n + 1, 4), rng.standard_normal((width, n)).astype(np.float32))
    arguments = (names, *rows, *observed, pool, rng.integers(0, u + 1, 4), 1234)
    index, target = (40, width, m + m_pool), (40, width, m)
    expected, found = ((np.empty(index, dtype=np.int64), np.empty(target, dtype=np.float32)) for _ in range(2))
    draw_minibatches(KEY, *arguments, *expected)
    draw_in_lanes(lanes, KEY, *arguments, *found)
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


@pytest.mark.parametrize("fit", [fit_networks, partial(fit_fused, kernel=Lanes), partial(fit_fused, kernel=Units)])
def test_the_hook_sees_every_step(fit):
    """The parameters after the last step are the result; a fit of 7 steps is a fit of 20 seen early."""
    data, networks = ragged_data(3)
    strengths, seen = np.full(19, 0.1), np.zeros((21, 19, Mlp(3, (10, 5)).n_parameters), dtype=np.float32)

    def on_step(step: int, group: slice, parameters: Tensor) -> None:
        seen[step, group] = parameters.numpy()

    found = fit(Training((10, 5), 20), data, strengths, KEY, networks, on_step)
    assert np.array_equal(seen[20], found.numpy())
    assert np.array_equal(seen[7], fit(Training((10, 5), 7), data, strengths, KEY, networks).numpy())
    assert (seen[1:].std(axis=(1, 2)) > 0).all()
    if fit is fit_networks:
        return
    every = seen.copy()
    seen[:] = 0.0
    again = fit(Training((10, 5), 20), data, strengths, KEY, networks, on_step, at=(3, 20, 30))
    assert np.array_equal(again.numpy(), found.numpy())
    assert np.flatnonzero(seen.any(axis=(1, 2))).tolist() == [3, 20]
    assert np.array_equal(seen[[3, 20]], every[[3, 20]])


def test_small_averages_do_not_depend_on_a_switch_of_the_processor():
    """Dead units, 3000 steps: the same bits whether or not the processor keeps numbers below 2^-126."""
    data, networks = some_data(1, 16)
    training, strengths = Training((10, 5), steps=3000), np.zeros(16)
    for kernel in (Lanes, Units):
        kept = fit_fused(training, data, strengths, KEY, networks, kernel=kernel)
        assert float(torch.tensor(1e-40) * 0.5) > 0.0
        torch.set_flush_denormal(True)
        try:
            flushed = fit_fused(training, data, strengths, KEY, networks, kernel=kernel)
            assert float(torch.tensor(1e-30) * 1e-10) == 0.0
        finally:
            torch.set_flush_denormal(False)
        assert torch.equal(kept, flushed)


def test_what_is_not_finite_is_passed_on():
    """A target that is not a number spoils its own network and no other."""
    data, networks = some_data(2, 5)
    data.targets[3] = np.nan
    for kernel in (Lanes, Units):
        found = fit_fused(Training((10, 5), 30), data, np.full(5, 0.1), KEY, networks, kernel=kernel)
        assert torch.isnan(found).any(dim=1).tolist() == [False, False, False, True, False]


def test_where_the_kernel_cannot_run_torch_does(monkeypatch, caplog):
    data, networks = ragged_data(3)
    training, strengths = Training((10, 5), 5), np.full(19, 0.1)
    monkeypatch.setattr(fused_fit, "missing_instruction", lambda: "the processor (8086) has no multiply-add")
    fused_fit.said_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        found = [fit_fused(training, data, strengths, KEY, networks) for _ in range(2)]
    assert torch.equal(found[0], fit_networks(training, data, strengths, KEY, networks))
    steps = []
    fit_fused(training, data, strengths, KEY, networks, lambda step, *_: steps.append(step), at=(1, 4))
    assert (steps, ["8086" in record.getMessage() for record in caplog.records]) == ([1, 4], [True])


def test_the_exponential_is_the_exponential():
    """Within 1e-12, far less than float32 rounds, down to where it is nothing; what is not a number is passed on."""
    x = np.concatenate([-np.geomspace(1e-12, 99.9, 500), [0.0, -math.log(2.0), -0.5 * math.log(2.0)]])
    np.testing.assert_allclose([exponential(v) for v in x], np.exp(x), rtol=1e-12)
    assert exponential(-101.0) == exponential(-math.inf) == 0.0
    assert math.isnan(exponential(math.nan))


@refusing(
    ({"n_observed": np.array([0, 4, 12, 25])}, "at least one observation"),
    ({"n_observed": np.array([1, 4, 12, 26])}, "n_observed must be from 0 to 25"),
    ({"n_pool": np.array([35, 36, 3, 0])}, "n_pool must be from 0 to 35"),
    ({"row": np.full(19, 4)}, "row"),
    ({"row": np.full(19, -5)}, "row"),
    ({"feature_set": np.array([0, 1, 2, 0])}, "feature_set must be from 0 to 1, got 0 to 2"),
    ({"arms": np.full((4, 25), 60)}, "arms must be from 0 to 59, got 60 to 60"),
    ({"pool": np.full((4, 35), -1)}, "pool must be from 0 to 59"),
    ({"targets": np.zeros((18, 25))}, "equally many, got 19, 19, 19 and 18"),
    ({"targets": np.zeros((19, 24))}, "n_observed must be from 0 to 24"),
    ({"pool": np.zeros((3, 35), dtype=np.int64)}, "one row for each replication"),
    ({"lanes": (0,) * 4}, "8 or 16 lanes, got 4"),  # a vector that no tile is made for
)
def test_bad_input_is_refused(change):
    (data, networks), lanes = ragged_data(3), change.get("lanes", SIXTEEN)
    changed = replace(data, **{name: value for name, value in change.items() if name != "lanes"})
    fit_fused(Training((10, 5), 5), changed, np.zeros(19), KEY, networks, lanes=lanes)


def test_any_kind_of_array_will_do():
    """Read-only, broadcast, of other integers, not contiguous: the same bits."""
    data, networks = ragged_data(3)
    expected = fit_fused(Training((10, 5), 20), data, np.full(19, 0.1), KEY, networks)
    twice = np.repeat(data.pool, 2, axis=1)[:, ::2]
    arms = np.asfortranarray(data.arms.astype(np.int32))
    arms.flags.writeable = False
    features = data.features.transpose(1, 2).contiguous().transpose(1, 2)
    sets, targets = data.feature_set.astype(np.int32), data.targets.astype(np.float32)
    other = replace(data, features=features, feature_set=sets, arms=arms, pool=twice, targets=targets)
    found = fit_fused(Training((10, 5), 20), other, np.full(19, 0.1), KEY, networks.astype(np.int32))
    assert torch.equal(found, expected)


def test_a_group_that_does_not_fit_is_refused(monkeypatch):
    """Before anything is taken, with what is needed and what is free; no network is no work."""
    data, networks = ragged_data(3)
    with pytest.raises(MemoryError, match=r"19 networks with layers 3-1000000-1000000-1 need .* GiB are free"):
        fit_fused(Training((10**6, 10**6), 5), data, np.zeros(19), KEY, networks)
    monkeypatch.setattr(fused_fit, "free_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match="fit fewer networks"):
        fit_fused(Training((10, 5), 5), data, np.zeros(19), KEY, networks)
    monkeypatch.undo()  # no network is no work
    found = fit_fused(Training((10, 5), 5), data.take(slice(0, 0)), np.zeros(0), KEY, networks[:0])
    assert found.shape == (0, Mlp(3, (10, 5)).n_parameters)


def digest() -> str:
    """Return the sum of the bits of some networks, one of each kernel."""
    data, networks = some_data(3, 4)
    given = (Training((10, 5), 200), data, np.full(4, 0.1), KEY, networks)
    found = [fit_fused(*given, kernel=kernel) for kernel in (Lanes, Units)]
    return " ".join(str(int(f.numpy().view(np.uint32).sum(dtype=np.uint64))) for f in found)


@pytest.mark.slow
@pytest.mark.skipif("+avx2" not in FEATURES, reason="needs a processor with 256-bit vectors")
def test_code_for_256_bit_vectors_gives_the_same_bits_and_is_compiled_once(tmp_path):
    """A process that compiles for Haswell says so; the next one takes the code from the cache and says nothing."""
    haswell = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+bmi2,+fma"}
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)} | haswell
    said = []
    for _ in range(2):
        options = {"env": environment, "capture_output": True, "text": True, "timeout": 300, "check": True}
        ran = subprocess.run([sys.executable, __file__], **options)
        assert ran.stdout.strip() == digest()
        said.append([line for line in ran.stderr.splitlines() if "compiling" in line])
    assert len(said[0]) == 3
    assert "fused_lanes for this processor (haswell)" in " ".join(said[0])
    assert said[1] == []


if __name__ == "__main__":
    print(digest())

"""Groups of networks: against each step of one network in float64, by autograd and Torch's Adam on the same draws."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from refusals import refused, refuses
from scipy import stats
from torch import Tensor
from trained_alone import KEY, Path, assert_outputs_within_rounding, assert_steps_within_rounding

from bestarm.models import mlp_fit
from bestarm.models.minibatches import draw_minibatches
from bestarm.models.mlp_batch import Mlp
from bestarm.models.mlp_fit import DIVERGED, FitData, Training, diverged, fit_networks, predict
from bestarm.streams import philox


def ragged(seed: int = 0, d: int = 3, n_arms: int = 40, members: int = 2) -> tuple[FitData, np.ndarray]:
    """Return data of four replications, two feature sets, 1 to 25 observations and 30 to 3 arms left, and names."""
    rng = np.random.default_rng(seed)
    n_observed, n_pool = np.array([1, 4, 12, 25]), np.array([30, 12, 20, 3])
    order = np.array([rng.permutation(n_arms) for _ in n_observed])
    known, pool = (order[:, :25], n_observed), (np.ascontiguousarray(order[:, :-31:-1]), n_pool)
    features = torch.tensor(rng.standard_normal((2, n_arms, d)), dtype=torch.float32)
    row, targets = np.repeat(np.arange(4), members), rng.standard_normal((4 * members, 25))
    data = FitData(features, np.array([0, 1, 1, 0]), *known, *pool, row, targets)
    return data, np.stack([row + 10, np.tile(np.arange(members), 4)], axis=1)


@pytest.mark.parametrize("objective", ["avg", "sum", "hinge", "softmax"])
@pytest.mark.parametrize("hidden", [(), (10, 5), (100, 10), (300, 100), (6,)])
def test_a_group_is_each_network_trained_alone(hidden, objective):
    """With and without a regulariser, negative too, in one group; each of 40 steps within rounding."""
    data, networks = ragged()
    strengths = np.array([0.0, 0.1, -0.1, 0.01, 0.3, 0.0, -0.05, 1.0]) / (10 if objective == "sum" else 1)
    training = Training(hidden, steps=40, objective=objective, bias=1.0)
    path = Path(training, data, networks)
    found = fit_networks(training, data, strengths, KEY, networks, path)
    assert_steps_within_rounding(training, data, strengths, networks, path.parameters)
    assert_outputs_within_rounding(training, data, found, predict(training, data, found))


def test_strength_0_is_a_plain_fit():
    """Whatever the objective, bit for bit: the same operations."""
    data, networks = ragged()
    plain = fit_networks(Training((10, 5), 80), data, np.zeros(8), KEY, networks)
    for objective in ("sum", "hinge", "softmax"):
        training = Training((10, 5), 80, objective=objective)
        assert torch.equal(fit_networks(training, data, np.zeros(8), KEY, networks), plain)


@pytest.mark.parametrize("d", [1, 12])
@pytest.mark.parametrize("hidden", [(), (10, 5), (100, 10)])
def test_networks_depend_on_their_company_by_rounding_alone(hidden, d):
    """In groups of 1, 2, 3, 4 and 8 each of 40 steps of each network is that of the network alone.

    Not bit for bit: MKL multiplies matrices at odd places of a batch otherwise than those at even places where the
    processor is not Intel's (10 x 20 times 20 x 5, for one). The fused kernels promise it (`test_fused_fit.py`).
    """
    data, networks = ragged(d=d)
    strengths, training = np.linspace(0.01, 0.1, 8), Training(hidden, steps=40)
    for size in (1, 2, 3, 4, 8):
        for start in range(0, 8, size):
            some = slice(start, start + size)
            part, path = data.take(some), Path(training, data, networks[some])
            fit_networks(training, part, strengths[some], KEY, networks[some], path)
            assert_steps_within_rounding(training, part, strengths[some], networks[some], path.parameters)


def test_memory_is_bounded_and_changes_rounding_alone(monkeypatch):
    """Groups of one, minibatches drawn step by step, predictions arm by arm."""
    data, networks = ragged()
    strengths, training = np.full(8, 0.1), Training((10, 5), steps=60, objective="hinge")
    for n_groups, most in ((1, mlp_fit.MEMORY_BYTES), (8, 256)):
        monkeypatch.setattr(mlp_fit, "MEMORY_BYTES", most)
        groups: set[str] = set()
        path = Path(training, data, networks)

        def on_step(step: int, group: slice, parameters: Tensor, path=path, groups=groups) -> None:
            groups.add(str(group))
            path(step, group, parameters)

        found = fit_networks(training, data, strengths, KEY, networks, on_step)
        assert len(groups) == n_groups
        assert_steps_within_rounding(training, data, strengths, networks, path.parameters)
        assert_outputs_within_rounding(training, data, found, predict(training, data, found))


def draws(n: int, m: int, n_pool: int, m_pool: int, n_steps: int, n_networks: int = 1, first: int = 0):
    """Return drawn rows and targets of networks whose observations are rows 100, 101, ... and targets 0, 1, ..."""
    index = np.full((n_steps, n_networks, m + m_pool), -1)
    target = np.full((n_steps, n_networks, m), np.nan, dtype=np.float32)
    names = np.stack([np.full(n_networks, 3), np.arange(n_networks)], axis=1)
    rows, own = np.zeros(n_networks, dtype=np.int64), np.tile(np.arange(20, dtype=np.float32), (n_networks, 1))
    known, pool = (np.arange(20)[None], np.array([n]), own), (np.arange(20, 50)[None], np.array([n_pool]))
    draw_minibatches(KEY, names, rows, rows + 100, *known, *pool, first, index, target)
    return index, target


def test_minibatches_are_uniform_without_replacement():
    """Chi-square tests of all triples and of (observation, arm) pairs at level 1e-4, seed fixed."""
    index, target = draws(n=6, m=3, n_pool=5, m_pool=2, n_steps=6000, n_networks=2)
    np.testing.assert_array_equal(index[..., :3] - 100, target)
    known, free = np.sort(index[..., :3] - 100, axis=2), index[..., 3:] - 120
    assert (np.diff(known) > 0).all()
    assert (free[..., 0] != free[..., 1]).all()
    assert (known < 6).all()
    assert ((free >= 0) & (free < 5)).all()
    for g in range(2):
        triples = [(known[:, g] == np.array(t)).all(axis=1).sum() for t in combinations(range(6), 3)]
        assert stats.chisquare(triples).pvalue > 1e-4
        assert stats.chisquare(np.bincount(5 * (index[:, g, 0] - 100) + free[:, g, 0], minlength=30)).pvalue > 1e-4
    assert stats.chisquare(np.bincount(6 * (index[:, 0, 0] - 100) + index[:, 1, 0] - 100, minlength=36)).pvalue > 1e-4
    after = np.bincount(6 * (index[:-1, 0, 0] - 100) + index[1:, 0, 0] - 100, minlength=36)
    assert stats.chisquare(after).pvalue > 1e-4


def test_minibatches_are_padded_and_do_not_depend_on_their_chunk():
    """With fewer observations than places all of them are used, then zeros; steps 50 to 99 alone are the same."""
    index, target = draws(n=2, m=5, n_pool=1, m_pool=3, n_steps=100)
    assert (np.sort(index[:, 0, :2], axis=1) == [100, 101]).all()
    assert (index[:, 0, 5] == 120).all()
    assert not index[:, 0, 2:5].any()
    assert not index[:, 0, 6:].any()
    assert not target[:, 0, 2:].any()
    later, _ = draws(n=2, m=5, n_pool=1, m_pool=3, n_steps=50, first=50)
    np.testing.assert_array_equal(later, index[50:])


def test_xavier_bounds():
    """Weights uniform within sqrt(6 / (in + out)), biases 0 or within 1 / sqrt(in); equal names, equal weights."""
    shape = Mlp(7, (100, 10))
    names = np.array([[r, i] for r in range(4) for i in range(5)])
    for bias in (0.0, 1.0):
        for weights, biases in shape.layers(shape.xavier(KEY, names, bias)):
            before, after = weights.shape[1:]
            scaled = weights.numpy().ravel() / np.sqrt(6.0 / (before + after))
            assert 0.9 < np.abs(scaled).max() <= 1.0 + 1e-6
            assert stats.kstest(scaled, "uniform", args=(-1.0, 2.0)).pvalue > 1e-4
            assert np.abs(biases.numpy()).max() <= bias / np.sqrt(before) + 1e-6
            assert biases.any() == bool(bias)
    whole = shape.xavier(KEY, names)
    assert torch.equal(whole[7:8], shape.xavier(KEY, names[7:8]))
    assert len(torch.unique(whole, dim=0)) == len(names)
    assert shape.n_parameters == 7 * 100 + 100 + 100 * 10 + 10 + 10 + 1 == whole.shape[1]


def test_weights_share_no_bits_with_minibatches():
    """The words behind the first weights would also be the minibatch of the same number."""
    n, name = 1000, np.array([[3, 0]])
    index, target = np.empty((n, 1, 1), dtype=np.int64), np.empty((n, 1, 1), dtype=np.float32)
    arms, zero = np.arange(2**20)[None], np.zeros(1, dtype=np.int64)
    known = (arms, np.array([2**20]), np.zeros((1, 2**20), dtype=np.float32))
    draw_minibatches(KEY, name, zero, zero, *known, arms[:, :0], zero, 0, index, target)
    weights = Mlp(4 * n, ()).xavier(KEY, name)[0, : 4 * n : 4].numpy()
    assert abs(np.corrcoef(weights, index[:, 0, 0])[0, 1]) < 0.15  # 4.7 standard errors
    assert philox(KEY, 0, 3, 0, 0) != philox(KEY, 0, 3, 0, 1)


@pytest.mark.parametrize(("objective", "factor"), [("avg", 1), ("sum", 6)])
def test_linear_class_has_the_closed_form(objective, factor):
    """theta = theta_LS + n lambda / 2 (X'X)^-1 mu, in full batches; within 2e-3 after 4000 steps."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20, 3))
    y, n, strengths = rng.standard_normal(14), 14, np.array([0.0, 0.05, -0.1])
    known, pool = (np.arange(14)[None], np.array([14])), (np.arange(14, 20)[None], np.array([6]))
    row, features = np.zeros(3, dtype=np.int64), torch.tensor(x[None], dtype=torch.float32)
    data = FitData(features, row[:1], *known, *pool, row, np.tile(y, (3, 1)))
    training = Training((), steps=4000, learning_rate=0.003, minibatch=14, objective=objective, pool_minibatch=6)
    found = fit_networks(training, data, strengths, KEY, np.stack([row, np.arange(3)], axis=1)).numpy()
    design = np.column_stack([x, np.ones(20)])
    known, mean = design[:14], design[14:].mean(axis=0)
    least_squares = np.linalg.lstsq(known, y, rcond=None)[0]
    for theta, strength in zip(found, strengths, strict=True):
        moved = n * factor * strength / 2 * np.linalg.solve(known.T @ known, mean)
        np.testing.assert_allclose(theta, least_squares + moved, atol=2e-3)


def test_divergence_is_noticed():
    """A quartic reward beats a quadratic penalty; outputs that are huge, infinite or not a number."""
    data, networks = ragged()
    training = Training((10, 5), steps=400, learning_rate=0.5, objective="hinge")
    assert diverged(predict(training, data, fit_networks(training, data, np.full(8, 100.0), KEY, networks))).any()
    limits = np.array([[0.0, DIVERGED], [0.0, -1.1 * DIVERGED], [np.nan, 0.0], [np.inf, 0.0]])
    assert diverged(limits).tolist() == [False, True, True, True]


def test_predictions_of_one_and_of_many_feature_sets():
    """One shared set; of two see above: the plain evaluation of each network, within rounding."""
    data, networks = ragged()
    data = replace(data, features=data.features[:1].contiguous(), feature_set=data.feature_set % 1)
    training = Training((10, 5), steps=5)
    parameters = fit_networks(training, data, np.zeros(8), KEY, networks)
    assert_outputs_within_rounding(training, data, parameters, predict(training, data, parameters))


test_bad_settings = refused(
    lambda settings: Training(**settings),
    ({"steps": 0}, "steps must be at least 1, got 0"),
    ({"minibatch": 0}, "minibatch must be at least 1, got 0"),
    ({"learning_rate": 0.0}, "learning_rate must be positive, got 0.0"),
    ({"objective": "max"}, "objective must be one of avg, sum, hinge, softmax, got 'max'"),
    ({"pool_minibatch": 0}, "pool_minibatch must be at least 1"),
    ({"hidden": (10, 0)}, "hidden: each must be a whole number of at least 1"),
)


def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    refuses(lambda: Training(device="cuda"), "Torch finds no GPU here; set device to 'cpu'")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="Torch finds no GPU here to fit networks on")
@pytest.mark.parametrize("objective", ["avg", "sum", "hinge", "softmax"])
@pytest.mark.parametrize("hidden", [(), (10, 5), (100, 10)])
def test_a_gpu_changes_rounding_and_nothing_else(hidden, objective):
    """The same draws and networks as on the processor, within 1e-4 of the spread after 40 steps."""
    data, networks = ragged()
    strengths = np.array([0.0, 0.1, -0.1, 0.01, 0.3, 0.0, -0.05, 1.0]) / (10 if objective == "sum" else 1)
    found = []
    for device in ("cuda", "cpu"):
        training = Training(hidden, steps=40, objective=objective, bias=1.0, device=device)
        there = replace(data, features=data.features.to(device))
        parameters = fit_networks(training, there, strengths, KEY, networks)
        assert parameters.device.type == device
        found.append(predict(training, there, parameters))
    for on_gpu, expected in zip(*found, strict=True):
        np.testing.assert_allclose(on_gpu, expected, rtol=0, atol=1e-4 * max(1.0, np.ptp(expected)))


def test_tiny_numbers_are_back_after_a_fit_that_failed(monkeypatch):
    data, networks = ragged()

    def fail(*_):
        assert float(torch.tensor(1e-40) * 1.0) == 0.0
        raise RuntimeError("no memory")

    monkeypatch.setattr(mlp_fit, "_fit_group", fail)
    refuses(lambda: fit_networks(Training((), steps=1), data, np.zeros(8), KEY, networks), "no memory", RuntimeError)
    assert float(torch.tensor(1e-40) * 1.0) > 0.0


def test_bad_networks():
    data, networks = ragged()
    data.n_observed[1] = 0
    refuses(lambda: fit_networks(Training((), steps=1), data, np.zeros(8), KEY, networks), "at least one observation")
    refuses(lambda: Mlp(3, (10, 0)), "every layer needs at least 1 unit")

"""Outputs of many networks for large pools: against a plain pass in float64, and bad input."""

import logging

import numpy as np
import pytest
import torch
from refusals import refuses, refusing
from trained_alone import assert_outputs_within_rounding

from bestarm.models import fused_fit, fused_predict
from bestarm.models.fused_predict import predict_fused
from bestarm.models.mlp_batch import Mlp
from bestarm.models.mlp_fit import FitData, Training, predict

SHAPES = [(1 + i, (1 + 5 * i % 17, 1 + 3 * i % 17)) for i in range(17)]
SHAPES += [(1, ()), (33, ()), (12, (100, 10)), (5, (6,))]


def some_networks(d: int, hidden: tuple[int, ...], n: int, n_arms: int, n_sets: int) -> tuple[FitData, torch.Tensor]:
    """Return the features of some sets of arms, and networks with random weights and biases."""
    rng = np.random.default_rng([d, n_arms])
    features = torch.tensor(rng.standard_normal((n_sets, n_arms, d)), dtype=torch.float32)
    none = (np.zeros((n, 0), dtype=np.int64), np.zeros(n, dtype=np.int64))
    row, targets = np.arange(n)[::-1].copy(), np.zeros((n, 0))
    data = FitData(features, rng.integers(n_sets, size=n), *none, *none, row, targets)
    return data, Mlp(d, hidden).xavier(np.uint64(7), np.stack([np.arange(n), np.arange(n)], axis=1), bias=1.0)


@pytest.mark.parametrize(("n_arms", "n_sets"), [(1, 1), (63, 3), (64, 1), (129, 2)])
@pytest.mark.parametrize(("d", "hidden"), SHAPES)
def test_outputs_are_those_of_the_plain_pass(d, hidden, n_arms, n_sets, monkeypatch):
    """Within rounding of float64; the same bits with 8 and 16 lanes, alone, and with few networks at a time."""
    data, parameters = some_networks(d, hidden, 5, n_arms, n_sets)
    training = Training(hidden)
    found = predict_fused(training, data, parameters)
    assert_outputs_within_rounding(training, data, parameters, found)
    for lanes in ((0,) * 8, (0,) * 16):
        np.testing.assert_array_equal(predict_fused(training, data, parameters, lanes=lanes), found)
    np.testing.assert_array_equal(predict_fused(training, data.take(slice(2, 3)), parameters[2:3]), found[2:3])
    monkeypatch.setattr(fused_predict, "_GROUP_BYTES", 1)
    np.testing.assert_array_equal(predict_fused(training, data, parameters), found)


def test_not_finite_weights_give_not_finite_outputs():
    data, parameters = some_networks(3, (10, 5), 4, 70, 2)
    parameters[1] = torch.nan
    found = np.isnan(predict_fused(Training((10, 5)), data, parameters))
    assert found.all(axis=1).tolist() == [False, True, False, False]


def test_where_the_kernel_cannot_run_torch_does(monkeypatch, caplog):
    data, parameters = some_networks(3, (10, 5), 4, 70, 2)
    expected = predict(Training((10, 5)), data, parameters)
    monkeypatch.setattr(fused_fit, "missing_instruction", lambda: "the processor (8086) has no multiply-add")
    fused_fit.said_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            np.testing.assert_array_equal(predict_fused(Training((10, 5)), data, parameters), expected)
    assert ["8086" in record.getMessage() for record in caplog.records] == [True]


@refusing(((10, 6), 4, "parameters must have shape"), ((10, 5), 3, "parameters must have shape"))
def test_parameters_of_other_networks_are_refused(hidden, rows):
    data, parameters = some_networks(3, (10, 5), 4, 70, 2)
    predict_fused(Training(hidden), data, parameters[:rows])


@pytest.mark.parametrize(("name", "values"), [("feature_set", [0, 2, 0, 0]), ("row", [0, 1, 2, 4])])
def test_rows_and_sets_that_do_not_exist_are_refused(name, values):
    data, parameters = some_networks(3, (10, 5), 4, 70, 2)
    getattr(data, name)[:] = values
    refuses(lambda: predict_fused(Training((10, 5)), data, parameters), f"{name} must be from 0 to")

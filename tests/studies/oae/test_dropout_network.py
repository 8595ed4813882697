"""Networks with dropout, judged by one network at a time in Torch with the same random bits."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from refusals import refuses

from bestarm_studies.oae.genedisco import dropout_network
from bestarm_studies.oae.genedisco.dropout_network import DropoutTraining, fit_dropout_networks

KEY = np.uint64(11)
TRAINING = DropoutTraining(hidden=8, epochs=12, patience=4, minibatch=16, passes=40)


def problem(n_arms=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_arms, d)).astype(np.float32)
    return features, features @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n_arms)


def bits_of(words, hidden):
    return torch.tensor(((words[:, None].astype(np.int64) >> np.arange(hidden)) & 1).astype(np.float64))


def naive_fit(training, x, y, replication, number):
    """Return the parameters and the epochs of one network, trained by Torch in double precision."""
    n, d, h = len(x), x.shape[1], training.hidden
    flat = dropout_network.initial_parameters(KEY, replication, number, d, h).astype(np.float64)
    parts = np.split(flat, np.cumsum([d * h, h, h]))
    parameters = [torch.tensor(p, requires_grad=True) for p in (parts[0].reshape(d, h), *parts[1:])]
    adam = torch.optim.Adam(parameters, lr=training.learning_rate, weight_decay=training.weight_decay)
    xs, ys = torch.tensor(x, dtype=torch.float64), torch.tensor(y)
    best, lowest, waited, step, epochs = None, np.inf, 0, 0, 0
    for epoch in range(training.epochs):
        order, losses = dropout_network.epoch_order(KEY, replication, number, epoch, n), []
        for start in range(0, n, training.minibatch):
            rows = order[start : start + training.minibatch]
            kept = bits_of(dropout_network.training_bits(KEY, replication, number, step, len(rows)), h)
            step += 1
            first, bias, last, shift = parameters
            out = torch.relu(2.0 * kept * (xs[rows] @ first + bias)) @ last + shift
            goal = ys[rows]
            loss = ((out[:, None] - goal[None]) ** 2).mean() if training.broadcast_loss else ((out - goal) ** 2).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
            losses.append(loss.item())
        epochs += 1
        if np.mean(losses) < lowest:
            lowest, waited, best = np.mean(losses), 0, [p.detach().numpy().copy() for p in parameters]
        else:
            waited += 1
            if waited >= training.patience:
                break
    return best, epochs


@pytest.mark.parametrize("broadcast", [False, True])
def test_fits_are_those_of_torch(broadcast):
    """With both losses, unequal numbers of observations and several networks, parameters agree to single precision."""
    training = replace(TRAINING, broadcast_loss=broadcast)
    features, y = problem()
    arms = np.array([np.arange(60), np.r_[np.arange(37), np.zeros(23, dtype=int)]])
    names = np.array([[3, 0], [4, 7]])
    networks, epochs = fit_dropout_networks(training, features, arms, np.array([60, 37]), y[arms], KEY, names)
    for r, n in enumerate((60, 37)):
        expected, wanted = naive_fit(training, features[:n], y[:n], *names[r])
        found = (networks.first[r], networks.bias[r], networks.last[r], networks.shift[r : r + 1])
        assert epochs[r] == wanted
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-5)


def test_training_ends_early_and_keeps_the_lowest_loss():
    """With pure noise and broadcast outputs the loss soon stops falling; the network is that of an earlier epoch."""
    training = replace(TRAINING, epochs=400, patience=2, broadcast_loss=True, learning_rate=0.05)
    features, _ = problem()
    y = np.random.default_rng(1).standard_normal(60)
    arms = np.arange(60)[None]
    networks, epochs = fit_dropout_networks(training, features, arms, np.array([60]), y[arms], KEY, np.array([[0, 0]]))
    expected, wanted = naive_fit(training, features, y, 0, 0)
    assert epochs[0] == wanted < 400
    np.testing.assert_allclose(networks.first[0], expected[0], atol=2e-4)


def test_passes_are_those_of_the_bits():
    """Mean, standard deviation and range of the passes, computed pass by pass."""
    features, y = problem()
    names, arms = np.array([[2, 5]]), np.arange(60)[None]
    networks, _ = fit_dropout_networks(TRAINING, features, arms, np.array([60]), y[arms], KEY, names)
    outputs = dropout_network.hidden_outputs(networks, features)
    available = np.ones((1, 60), dtype=bool)
    available[0, ::7] = False
    found = dropout_network.predict_dropout(TRAINING, networks, outputs, available, KEY, names)
    for arm in range(60):
        kept = bits_of(dropout_network.prediction_bits(KEY, 2, 5, arm, TRAINING.passes), 8).numpy()
        pre = features[arm].astype(float) @ networks.first[0] + networks.bias[0]
        values = np.maximum(2.0 * kept * pre, 0.0) @ networks.last[0] + networks.shift[0]
        expected = (values.mean(), values.std(), np.ptp(values)) if available[0, arm] else (-np.inf,) * 3
        np.testing.assert_allclose([part[0, arm] for part in found], expected, atol=1e-5)


def test_the_mean_of_many_passes_is_the_network_without_dropout_where_all_units_are_on():
    """E[2m] = 1: with many passes the mean is the plain network, and the variance a quarter of each doubled part."""
    features, y = problem()
    training = replace(TRAINING, passes=20_000)
    names, arms = np.array([[0, 0]]), np.arange(60)[None]
    networks, _ = fit_dropout_networks(training, features, arms, np.array([60]), y[arms], KEY, names)
    outputs = dropout_network.hidden_outputs(networks, features)
    found = dropout_network.predict_dropout(training, networks, outputs, np.ones((1, 60), dtype=bool), KEY, names)
    parts = np.maximum(outputs[0], 0.0) * networks.last[0]
    error = 4.0 * np.sqrt((parts**2).sum(axis=1) / training.passes) + 1e-4
    assert (np.abs(found.mean[0] - parts.sum(axis=1) - networks.shift[0]) <= error).all()
    np.testing.assert_allclose(found.deviation[0], np.sqrt((parts**2).sum(axis=1)), rtol=0.05, atol=1e-5)


def test_the_broadcast_loss_flattens_predictions():
    """On a linear response without noise the right loss finds it, and the broadcast loss hardly does."""
    rng = np.random.default_rng(3)
    features = rng.standard_normal((400, 20)).astype(np.float32)
    y = features @ rng.standard_normal(20)
    names, arms = np.array([[0, 0]]), np.arange(400)[None]
    spread = {}
    for broadcast in (False, True):
        training = DropoutTraining(learning_rate=0.01, broadcast_loss=broadcast)
        networks, _ = fit_dropout_networks(training, features, arms, np.array([400]), y[arms], KEY, names)
        outputs = dropout_network.hidden_outputs(networks, features)
        found = dropout_network.predict_dropout(training, networks, outputs, np.ones((1, 400), dtype=bool), KEY, names)
        spread[broadcast] = float(found.mean[0].std() / y.std())
    assert spread[False] > 0.7
    assert spread[True] < 0.2


def test_equal_names_draw_equal_numbers():
    """A network depends on its name alone, not on the networks beside it."""
    features, y = problem()
    arms = np.tile(np.arange(60), (3, 1))
    names = np.array([[1, 0], [2, 0], [1, 0]])
    networks, _ = fit_dropout_networks(TRAINING, features, arms, np.full(3, 60), y[arms], KEY, names)
    assert np.array_equal(networks.first[0], networks.first[2])
    assert not np.array_equal(networks.first[0], networks.first[1])


def test_settings_are_refused():
    """More units than bits, numbers that are not positive, and networks without data."""
    refuses(lambda: DropoutTraining(hidden=33), "hidden must be at most 32, the bits of a word; got 33")
    refuses(lambda: DropoutTraining(patience=0), "patience")
    refuses(lambda: DropoutTraining(learning_rate=0.0), "learning_rate must be positive")
    features, y = problem()
    nothing = (np.zeros((1, 3), int), np.array([0]), y[:3][None], KEY, np.zeros((1, 2), int))
    refuses(lambda: fit_dropout_networks(TRAINING, features, *nothing), "at least one observation, got 0")

"""An autoencoder whose bottleneck is an embedding."""

import numpy as np

from bestarm_objectives.autoencoder.training import Coding, train

SMALL = Coding((12, 8, 4), learning_rate=0.01, minibatch=16, epochs=40, patience=40)


def low_rank(n=120, n_genes=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, n_genes)) + 0.1 * rng.standard_normal((n, n_genes))


def test_an_autoencoder_reconstructs_and_repeats_itself():
    """Three directions explain the signatures, so that four codes leave far less than the genes' means."""
    signatures = low_rank()
    one, two = train(signatures, SMALL), train(signatures, SMALL)
    np.testing.assert_array_equal(one.codes, two.codes)
    assert one.codes.shape == (120, 4)
    np.testing.assert_allclose(one.codes.mean(axis=0), 0.0, atol=1e-5)
    assert one.errors[:, 1].min() < 0.5
    assert one.errors[one.best, 1] == one.errors[:, 1].min()


def test_training_ends_when_the_validation_error_no_longer_falls():
    noise = np.random.default_rng(0).standard_normal((60, 30))
    found = train(noise, Coding((12, 4), minibatch=16, epochs=200, patience=3))
    assert len(found.errors) == found.best + 4 < 200

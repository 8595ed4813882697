"""Kernels and transformations that were tried: gradients, networks by simulation, Matérn as `SmoothGP` has it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize._numdiff import approx_derivative
from scipy.stats import boxcox, norm

from benchmarks.what_to_use_kernels import Kernel, KernelGP, Linear, Matern, Network, Sum
from benchmarks.what_to_use_tried import normal_scores, yeo_johnson
from bestarm.models.smooth_gp import UNIFORM, SmoothGP

KERNELS = [Matern(), Matern(3), Linear(), Network(), Network(3), Sum(Matern(), Network()), Sum(Network(), Linear())]


def drawn(n: int = 25, d: int = 3):
    """Return features and rewards with mean 0 and deviation 1."""
    x = UNIFORM * np.random.default_rng(0).standard_normal((n, d))
    y = np.sin(6.0 * x[:, 0]) + x[:, 1]
    return x, (y - y.mean()) / y.std()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradients_are_those_of_differences(kernel: Kernel):
    (x, y), gp = drawn(), KernelGP(kernels=kernel)
    centre = np.array([c for c, _ in [*kernel.priors(3), gp.noise_prior]])
    theta = centre + 0.3 * np.random.default_rng(1).standard_normal(len(centre))
    wanted = approx_derivative(lambda t: gp.loss(t, x, y)[0], theta)
    assert_allclose(gp.loss(theta, x, y)[1], wanted, atol=1e-4 * np.abs(wanted).max())
    among = kernel.between(theta[:-1], x, x)
    assert_allclose(np.diag(among), kernel.alone(theta[:-1], x), rtol=1e-12)
    assert_allclose(kernel.between(theta[:-1], x[:4], x[5:]), among[:4, 5:], rtol=1e-10)
    assert np.linalg.eigvalsh(among).min() > -1e-10


@pytest.mark.parametrize("layers", [1, 2])
def test_a_network_kernel_is_that_of_wide_networks(layers: int):
    """By networks of independent normal weights of variance two over their number, as rectified units need."""
    random, width, networks = np.random.default_rng(2), 300, 1500
    kernel, x, theta = Network(layers), drawn(3)[0], np.array([0.4, -1.0, 0.2, 0.1, -0.3])
    found, bias = np.zeros((3, 3)), np.exp(theta[1])
    for _ in range(networks):
        units = kernel.scaled(theta, x) @ random.standard_normal((3, width)) + np.sqrt(bias) * random.normal(size=width)
        for _ in range(layers - 1):
            weights = random.standard_normal((width, width)) * np.sqrt(2.0 / width)
            units = np.maximum(units, 0.0) @ weights + np.sqrt(bias) * random.normal(size=width)
        found += 2.0 / width * np.maximum(units, 0.0) @ np.maximum(units, 0.0).T + bias
    assert_allclose(kernel.between(theta, x, x), np.exp(theta[0]) * found / networks, rtol=0.02)


def test_matern_is_that_of_the_default():
    (x, y), prior = drawn(), (-8.0, 2.0)
    one = SmoothGP(noise_prior=prior).fitted(x, y)
    other = KernelGP(noise_prior=prior).fitted(x, y)
    points = drawn(40)[0]
    assert_allclose(other.everywhere(points), one.everywhere(points), atol=1e-4)
    rough = Matern(3).between(np.zeros(2), np.zeros((1, 1)), np.array([[0.7]]))
    assert_allclose(rough, (1.0 + 0.7 * 3.0**0.5) * np.exp(-0.7 * 3.0**0.5))


def test_rewards_are_transformed():
    assert_allclose(normal_scores(np.array([5.0, 1, 3])), norm.ppf([5 / 6, 1 / 6, 0.5]) / norm.ppf(5 / 6) * 1.5**0.5)
    assert not normal_scores(np.ones(4)).any()
    positive = np.exp(np.random.default_rng(3).standard_normal(200))  # where it is Box and Cox's of one more
    wanted, _ = boxcox(positive + 1.0)
    assert_allclose(yeo_johnson(positive), (wanted - wanted.mean()) / wanted.std(), atol=1e-3)
    assert_allclose(yeo_johnson(-positive), -yeo_johnson(positive), atol=1e-3)

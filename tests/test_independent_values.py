"""Numbers that others computed or published, beside ours; each has its source, licence and the date it was taken."""

import numpy as np
import pytest

from bestarm.designs.k_dpp_exact import elementary, sample_exact
from bestarm.interface import Arms
from bestarm.kernels import Stationary
from bestarm.models.finite_gp import FiniteGP
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo.synthetic_functions import branin_hoo, hartmann_6

# Kernels and posteriors

# GPyTorch, test/kernels/test_matern_kernel.py at 01c35da (MIT), taken 2026-11-26: points 4, 2, 8 against 0, 2 with
# length-scale 2; the file gives distances and the formula, and these are the values of scikit-learn 1.9.1 (BSD-3) there
MATERN = {
    "exponential": [[0.135335, 0.367879], [0.367879, 1.0], [0.018316, 0.049787]],
    "matern32": [[0.139731, 0.483358], [0.483358, 1.0], [0.007768, 0.034313]],
    "matern52": [[0.138660, 0.523994], [0.523994, 1.0], [0.004777, 0.027723]],
}


@pytest.mark.parametrize("family", MATERN)
def test_matern_kernels_of_gpytorch(family):
    kernel = Stationary(family, variance=1.0, lengthscale=2.0)
    found = kernel.K(np.array([[4.0], [2.0], [8.0]]), np.array([[0.0], [2.0]]))
    np.testing.assert_allclose(found, MATERN[family], atol=6e-7)


# scikit-learn 1.9.1 (BSD-3), run 2026-11-26 on the data of its tests/test_gpr.py: x sin x at 1, 3, 5, 6, 7, 8, asked
# at 2, 4, 5.5, 6.5, 7.5 by GaussianProcessRegressor(kernel, optimizer=None, alpha=0.01), length-scale 1: means,
# standard deviations, log marginal likelihood
SEEN, ASKED = np.array([1.0, 3.0, 5.0, 6.0, 7.0, 8.0])[:, None], np.array([2.0, 4.0, 5.5, 6.5, 7.5])[:, None]
POSTERIORS = {
    "exponential": (
        [0.40413519, -1.40357299, -2.83819738, 1.29021886, 5.5022088],
        [0.87388529, 0.87388438, 0.68265475, 0.68265282, 0.68265501],
        -55.36702004,
    ),
    "matern32": (
        [0.66666026, -1.8512269, -3.73135451, 1.39512357, 6.77684745],
        [0.76990989, 0.76469356, 0.41195781, 0.40723036, 0.41249234],
        -51.9433648,
    ),
    "matern52": (
        [0.75905958, -2.00385757, -3.87945145, 1.40041036, 6.98868016],
        [0.72131543, 0.70830234, 0.30936112, 0.29968185, 0.3103794],
        -50.74782485,
    ),
    "rbf": (
        [0.97004014, -2.40287726, -3.91095431, 1.39656972, 7.03137488],
        [0.59295335, 0.52489816, 0.14784727, 0.13172854, 0.15060559],
        -48.53255194,
    ),
}


@pytest.mark.parametrize("family", POSTERIORS)
def test_posteriors_and_likelihoods_of_scikit_learn(family):
    means, deviations, likelihood = POSTERIORS[family]
    kernel, rewards = Stationary(family), (SEEN * np.sin(SEEN))[:, 0]
    factor = np.linalg.cholesky(kernel.K(SEEN) + 0.01 * np.eye(6))
    across, white = np.linalg.solve(factor, kernel.K(SEEN, ASKED)), np.linalg.solve(factor, rewards)
    np.testing.assert_allclose(white @ across, means, atol=1e-7)
    np.testing.assert_allclose(np.sqrt(1.0 - (across**2).sum(axis=0)), deviations, atol=1e-7)
    found = -0.5 * white @ white - np.log(np.diag(factor)).sum() - 3.0 * np.log(2.0 * np.pi)
    assert found == pytest.approx(likelihood, abs=1e-7)


def test_the_finite_process_has_the_posterior_of_scikit_learn():
    """The model that the searches use, told reward after reward."""
    means, deviations, _ = POSTERIORS["rbf"]
    model = FiniteGP.start(Arms(np.vstack([SEEN, ASKED])), 1, 6, lengthscale=1.0, signal=1.0, noise=0.01)
    for arm in range(6):
        told = np.array([[arm]])
        model.learn(told, SEEN[told, 0] * np.sin(SEEN[told, 0]))
    found, variances = model.predict()
    np.testing.assert_allclose(found[0, 6:], means, atol=1e-7)
    np.testing.assert_allclose(np.sqrt(variances[0, 6:]), deviations, atol=1e-6)


# Test functions: BoTorch, botorch/test_functions/synthetic.py at 11d0fe6 (MIT), taken 2026-11-26; ours are maximised


@pytest.mark.parametrize("point", [(-np.pi, 12.275), (np.pi, 2.275), (9.42478, 2.475)])
def test_branin_has_the_optimum_of_botorch(point):
    assert branin_hoo(np.array([point]))[0] == pytest.approx(-0.397887, abs=1e-6)


def test_hartmann_has_the_optimum_of_botorch():
    best = np.array([[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]])
    assert hartmann_6(best)[0] == pytest.approx(3.32237, abs=1e-5)


# k-DPPs: DPPy (MIT), taken 2026-11-26


def test_inclusion_probabilities_as_dppys_suite_checks_them():
    """tests/test_finite_dpps_samplers.py at 2d1951b: ten items, a projection kernel K of rank 6, 1000 samples.

    One item is in a sample with probability K_ii, two with that of their minor. DPPy draws the kernel; ours is the
    projection onto the first six cosines, whose K_ii follow from its closed form.
    """
    n, k, runs = 10, 6, 4000
    angle = np.pi * np.outer(np.arange(n) + 0.5, np.arange(k)) / n
    basis = np.cos(angle) * np.where(np.arange(k) == 0, np.sqrt(1 / n), np.sqrt(2 / n))
    kernel = basis @ basis.T
    found = sample_exact(kernel, k, Streams(1, "DPPy", np.arange(runs)))
    inside = np.zeros((runs, n))
    np.put_along_axis(inside, found, 1.0, axis=1)
    assert (inside.sum(axis=1) == k).all()  # no item twice
    pairs = inside.T @ inside / runs
    expected = np.outer(np.diag(kernel), np.diag(kernel)) - kernel**2
    np.fill_diagonal(expected, np.diag(kernel))
    assert np.abs((pairs - expected) / np.sqrt(expected * (1 - expected) / runs)).max() < 4.0


def test_the_kernel_on_which_dppy_fails_is_sampled():
    """DPPy's issue 58 (2019): five directions of 200 items and a tenth of the identity, sets of 30.

    Its start fails there, where determinants of that size underflow. Issue 80 (2025) has condition numbers of 1e6 with
    ten large eigenvalues, which the sums of products of eigenvalues must survive.
    """
    draws = np.random.RandomState(413121).randn(5, 200)
    kernel = draws.T @ draws + 0.1 * np.eye(200)
    assert all(len(set(row)) == 30 for row in sample_exact(kernel, 30, Streams(2, "issue 58", np.arange(200))).tolist())
    values = np.linalg.eigvalsh(kernel)
    assert 1e3 < values[-1] / values[0] < 1e4
    spread = np.concatenate([np.full(10, 1e6), np.full(190, 1.0)])
    assert np.isfinite(elementary(spread / 1e6, 30)).all()
    few = sample_exact(np.diag(spread), 30, Streams(3, "issue 80", np.arange(300)))
    # ten items a million times as likely as 190: almost always all ten are in, and twenty of the others
    assert (few < 10).sum(axis=1).mean() > 9.99
    assert np.bincount(few[few >= 10], minlength=200)[10:].std() < 3.0 * np.sqrt(300 * 20 / 190)

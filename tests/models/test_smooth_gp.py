"""A Gaussian process with learned length-scales: gradients, the posterior against the formula, what it learns."""

import numpy as np
import pytest
from refusals import refused
from scipy.stats import multivariate_normal

from bestarm.kernels import Stationary
from bestarm.models import smooth_gp
from bestarm.models.smooth_gp import UNIFORM, Believer, Posterior, SmoothGP

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(30, 4))
Y = np.sin(4.0 * X[:, 0]) + X[:, 1]
Y = (Y - Y.mean()) / Y.std()
FAMILIES = pytest.mark.parametrize("family", ["matern52", "rbf"])


@FAMILIES
@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("own", [(0.0, 1.0), (RNG.uniform(0, 2, 30), RNG.uniform(0.1, 1, 30))], ids=["equal", "own"])
def test_the_likelihood_is_that_of_a_normal_vector_and_its_gradient_is_right(family, ard, own):
    """Against SciPy's density and central differences, with equal errors and with errors of each reward."""
    model, (variances, shares) = SmoothGP(family=family, ard=ard), own
    theta = RNG.normal(size=6 if ard else 3) * 0.3
    value, slope = model._likelihood(theta, X, Y, *own)
    signal = np.exp(theta[0])
    noise = variances + shares * np.exp(theta[-1])
    covariance = Stationary(family, signal).K(X / np.exp(theta[1:-1])) + (noise + 1e-8 * signal) * np.eye(30)
    density = multivariate_normal(np.zeros(30), covariance).logpdf(Y)
    assert value - 15.0 * np.log(1.0 / (2.0 * np.pi)) == pytest.approx(-density, rel=1e-9)
    for i in range(len(theta)):
        step = 1e-5 * (np.arange(len(theta)) == i)
        up, down = (model._likelihood(theta + s * step, X, Y, *own)[0] for s in (1.0, -1.0))
        assert slope[i] == pytest.approx((up - down) / 2e-5, abs=1e-5)


@FAMILIES
def test_the_posterior_is_that_of_the_formula(family):
    """Mean and variance at new points, and after some of them were taken for known at their mean."""
    posterior = SmoothGP(family=family).fitted(X, Y)
    new = RNG.uniform(size=(12, 4))

    def direct(known, y):
        kernel, scaled = Stationary(family, posterior.signal), known / posterior.scales
        k, across = kernel.K(scaled), kernel.K(new / posterior.scales, scaled)
        solved = np.linalg.solve(k + (posterior.noise + 1e-8 * posterior.signal) * np.eye(len(known)), across.T)
        return solved.T @ y, posterior.signal - (across * solved.T).sum(axis=1)

    mean, variance, _ = posterior.at(new)
    wanted = direct(X, Y)
    np.testing.assert_allclose(mean, wanted[0], atol=1e-7)
    np.testing.assert_allclose(variance, wanted[1], atol=1e-7)
    believer = Believer(posterior, new, 3)
    for place in (4, 7, 4):
        believer.take(place)
    after = direct(np.concatenate([X, new[[4, 7, 4]]]), np.concatenate([Y, mean[[4, 7, 4]]]))
    np.testing.assert_allclose(believer.means, after[0], atol=1e-5)
    np.testing.assert_allclose(believer.variances, after[1], atol=1e-5)


def test_features_that_do_not_matter_have_long_length_scales_and_noise_is_found():
    """Of eight features two matter; the noise has a tenth of the variance."""
    x = RNG.uniform(size=(200, 8))
    f = np.sin(5.0 * x[:, 0]) + np.cos(4.0 * x[:, 1])
    f = (f - f.mean()) / f.std()
    posterior = SmoothGP().fitted(x, np.sqrt(0.9) * f + np.sqrt(0.1) * RNG.standard_normal(200))
    assert posterior.scales[:2].max() * 3.0 < posterior.scales[2:].min()
    assert 0.05 < posterior.noise < 0.2
    mean, _, _ = posterior.at(x)
    assert np.corrcoef(mean, f)[0, 1] > 0.98


def test_the_prior_of_length_scales_grows_with_the_dimension():
    """Without anything to learn from, length-scales stay at their centre, which grows as the root of d."""
    for d in (4, 64):
        posterior = SmoothGP(lengthscale_spread=0.01).fitted(RNG.uniform(size=(5, d)), np.array([1.0, -1, 1, -1, 0]))
        np.testing.assert_allclose(posterior.scales, np.exp(np.sqrt(2.0)) * np.sqrt(d), rtol=0.05)
    assert pytest.approx(np.random.default_rng(0).uniform(size=10**5).std(), rel=0.01) == UNIFORM


test_settings_that_are_refused = refused(
    lambda settings: SmoothGP(**settings),
    ({"family": "cubic"}, "family must be one of matern52, rbf, got 'cubic'"),
    ({"lengthscale_spread": 0.0}, "lengthscale_spread must be positive, got 0.0"),
    ({"noise_prior": (0.0, -1.0)}, "noise_prior must be a centre and a positive deviation"),
    ({"steps": 0}, "steps must be at least 1, got 0"),
)

SCORES = {
    "mean": lambda mean, deviation: mean,
    "bound": lambda mean, deviation: mean + 3.0 * deviation,
    "hits": lambda mean, deviation: (mean - 0.2) / deviation,
}


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_the_highest_scores_are_found_by_some_of_what_is_known(score, monkeypatch):
    """As by the exact scores of all, of which the first measurements alone decide where to look."""
    monkeypatch.setattr(smooth_gp, "_FIRST", 5)
    x, looked_at, posterior = RNG.uniform(size=(300, 4)), [], SmoothGP().fitted(X, Y)
    expected = np.argsort(-score(*posterior.everywhere(x)), kind="stable")[:7]
    rough, exact = posterior.everywhere(x, rough=True), Posterior.everywhere
    monkeypatch.setattr(Posterior, "everywhere", lambda self, x: looked_at.append(len(x)) or exact(self, x))
    np.testing.assert_array_equal(posterior.highest(x, score, rough, 7), expected)
    assert sum(looked_at) < 300

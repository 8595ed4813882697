"""A Gaussian process on finitely many candidates: GPy as judge, closed forms, rank one against refitting."""

import GPy
import numpy as np
import pytest
from refusals import each_refused, refused
from scipy import stats

from bestarm.interface import Arms, take_rows
from bestarm.models import gp_hyper
from bestarm.models.finite_gp import FiniteGP
from bestarm.models.gp_hyper import GammaPriors, find_map, log_posterior, random_start, squared_differences
from bestarm.streams import Streams

SETTINGS = {"lengthscale": (0.3, 0.5), "signal": 1.7, "noise": 0.04}
FLAT = GammaPriors(*[(1.0, 1e-9)] * 3, (1e-6, 1e6), (1e-3, 1e4), (1e-8, 1e2))  # a density that is almost constant


def candidates(n: int = 40, d: int = 2, replications: int = 0, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((replications, n, d) if replications else (n, d))


def judge(x: np.ndarray, y: np.ndarray, constant: float = 0.0) -> GPy.models.GPRegression:
    """Return GPy's regression with the same hyper-parameters."""
    kernel = GPy.kern.RBF(2, variance=SETTINGS["signal"], lengthscale=SETTINGS["lengthscale"], ARD=True)
    if constant:
        kernel = kernel + GPy.kern.Bias(2, variance=constant)
    return GPy.models.GPRegression(x, y[:, None], kernel, noise_var=SETTINGS["noise"])


@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_posterior_is_that_of_gpy(constant):
    """Means and covariances of two replications with their own candidates and duplicates; 1e-5 is GPy's jitter."""
    x, arms = candidates(replications=2), np.array([[3, 7, 7, 20], [1, 0, 39, 5]])
    y = np.random.default_rng(1).standard_normal((2, 4))
    gp = FiniteGP.start(Arms(x), 2, 4, constant=constant, **SETTINGS)
    gp.learn(arms, y)
    means, variances = gp.predict()
    for r in range(2):
        mean, covariance = judge(x[r, arms[r]], y[r], constant).predict_noiseless(x[r], full_cov=True)
        np.testing.assert_allclose(means[r], mean[:, 0], atol=1e-5)
        np.testing.assert_allclose(variances[r], np.diag(covariance), atol=1e-5)
        np.testing.assert_allclose(gp.covariance(r, np.arange(10, 30)), covariance[10:30, 10:30], atol=1e-5)


def test_one_observation_in_closed_form():
    """Mean k(x, z) y / (k(z, z) + noise); variance k(x, x) - k(x, z)^2 / (k(z, z) + noise)."""
    x = candidates()
    gp = FiniteGP.start(Arms(x), 1, 1, **SETTINGS)
    gp.learn(np.array([[6]]), np.array([[2.5]]))
    k = 1.7 * np.exp(-0.5 * (((x - x[6]) / [0.3, 0.5]) ** 2).sum(axis=1))
    np.testing.assert_allclose([*gp.predict()[0], *gp.predict()[1]], [k * 2.5 / 1.74, 1.7 - k**2 / 1.74], atol=1e-12)


def test_hallucinating_is_refitting_with_the_mean_as_reward():
    """Conditioning leaves means, with the variances of a fit in which the reward was the mean; then rewards come."""
    arms, later = np.array([[3, 7, 20]]), np.array([[1, 30, 1]])
    y, y_later = np.array([[1.0, -0.5, 0.2]]), np.array([[0.3, 0.1, 0.7]])
    gp = FiniteGP.start(Arms(candidates()), 1, 6, **SETTINGS)
    gp.learn(arms, y)
    means = gp.means
    gp.condition(later)
    np.testing.assert_array_equal(gp.means, means)
    again = FiniteGP.start(Arms(candidates()), 1, 6, **SETTINGS)
    again.learn(np.hstack([arms, later]), np.hstack([y, means[:, later[0]]]))
    np.testing.assert_allclose(gp.variances, again.variances, atol=1e-12)
    np.testing.assert_allclose(again.means, means, atol=1e-12)
    gp.learn(later, y_later)
    whole = FiniteGP.start(Arms(candidates()), 1, 6, **SETTINGS)
    whole.learn(np.hstack([arms, later]), np.hstack([y, y_later]))
    np.testing.assert_allclose(gp.means, whole.means, atol=1e-12)
    np.testing.assert_allclose(gp.variances, whole.variances, atol=1e-12)


@pytest.mark.parametrize("failed", [[0], [1], [2], [0, 2], [0, 1, 2]])
def test_what_failed_leaves_no_trace(failed):
    """After NaN the posterior is that of the other rewards, whatever was hallucinated."""
    arms, totals = np.array([[3, 7, 20]]), np.array([[1.0, -0.5, 0.2]])
    gp = FiniteGP.start(Arms(candidates()), 1, 3, **SETTINGS)
    gp.condition(arms)
    totals[0, failed] = np.nan
    gp.learn(arms, totals)
    kept = [i for i in range(3) if i not in failed]
    other = FiniteGP.start(Arms(candidates()), 1, 3, **SETTINGS)
    other.learn(arms[:, kept], totals[:, kept])
    np.testing.assert_allclose(gp.means, other.means, atol=1e-12)
    np.testing.assert_allclose(gp.variances, other.variances, atol=1e-12)
    assert gp.n_known[0] == gp.n_rows[0] == len(kept)


def test_padding_several_pulls_offset_and_scale():
    """Count 0 is padding, a sum of two pulls their mean; (reward - offset) / scale, and predictions in its units."""
    gp, other = (FiniteGP.start(Arms(candidates()), 1, 3, **SETTINGS) for _ in range(2))
    gp.learn(np.array([[3, 7]]), np.array([[5.0, 3.0]]), np.array([[0, 2]]))
    other.learn(np.array([[7]]), np.array([[1.5]]))
    np.testing.assert_allclose(gp.means, other.means)
    arms, y = np.array([[3, 7, 20]]), np.array([[1.0, -0.5, 0.2]])
    settings = SETTINGS | {"constant": 0.5}
    plain = FiniteGP.start(Arms(candidates()), 1, 3, **settings)
    moved = FiniteGP.start(Arms(candidates()), 1, 3, **settings, offset=100.0, scale=7.0)
    plain.learn(arms, y)
    moved.learn(arms, 100.0 + 7.0 * y)
    np.testing.assert_allclose(moved.means, plain.means, atol=1e-12)
    np.testing.assert_allclose(moved.predict()[0], 100.0 + 7.0 * plain.means, atol=1e-9)
    np.testing.assert_allclose(moved.predict()[1], 49.0 * plain.variances)


def test_new_hyper_parameters_and_subsets_of_replications():
    """Renewing equals starting with these hyper-parameters, over more than one block of rows; replications are rows."""
    rng = np.random.default_rng(3)
    arms, y = rng.integers(60, size=(2, 75)), rng.standard_normal((2, 75))
    gp = FiniteGP.start(Arms(candidates(60)), 2, 75)
    gp.learn(arms, y)
    gp.lengthscales[1], gp.signal[1], gp.noise[1] = (0.3, 0.5), 1.7, 0.04
    gp.renew(np.array([1]))
    other = FiniteGP.start(Arms(candidates(60)), 2, 75, **SETTINGS)
    other.learn(arms, y)
    np.testing.assert_allclose(gp.means[1], other.means[1], atol=1e-9)
    np.testing.assert_allclose(gp.variances[1], other.variances[1], atol=1e-9)
    np.testing.assert_allclose(gp.pivots[1], other.pivots[1], atol=1e-9)
    part = take_rows(other, np.array([1]))
    part.condition(np.zeros((1, 0), dtype=np.int64))
    np.testing.assert_array_equal(part.means[0], other.means[1])


def some_data(n: int = 30, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return points, shape (d, n), and standardised rewards."""
    rng = np.random.default_rng(0)
    x = rng.random((n, d))
    y = np.sin(4 * x[:, 0]) + x[:, 1] + 0.1 * rng.standard_normal(n)
    return np.ascontiguousarray(x.T), (y - y.mean()) / y.std()


def value(theta: np.ndarray, priors: np.ndarray, constant: float = 0.0) -> float:
    x, y = some_data()
    return float(log_posterior(theta, squared_differences(x), y, constant, priors, np.empty(len(theta)), np.inf))


@pytest.mark.parametrize("n_scales", [1, 3])
@pytest.mark.parametrize("constant", [0.0, 1.5])
def test_likelihood_is_that_of_gpy_and_its_gradient_that_of_differences(n_scales, constant):
    priors = GammaPriors().table(n_scales)
    theta = np.array([0.2, *[-0.5, -0.3, 0.4][:n_scales], -3.0])
    x, y = some_data()
    kernel = GPy.kern.RBF(3, variance=np.exp(0.2), lengthscale=np.exp(theta[1:-1]), ARD=n_scales > 1)
    if constant:
        kernel = kernel + GPy.kern.Bias(3, variance=constant)
    model = GPy.models.GPRegression(x.T, y[:, None], kernel, noise_var=np.exp(-3.0))
    prior = ((priors[:, 0] - 1) * theta - priors[:, 1] * np.exp(theta)).sum()
    assert value(theta, priors, constant) - prior == pytest.approx(model.log_likelihood(), abs=1e-4)
    gradient = np.empty(len(theta))
    log_posterior(theta, squared_differences(x), y, constant, priors, gradient, -np.inf)
    h = 1e-5 * np.eye(len(theta))
    numeric = [(value(theta + e, priors, constant) - value(theta - e, priors, constant)) / 2e-5 for e in h]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)


def test_optimum_is_that_of_gpy():
    """Under a flat prior the most probable parameters reach GPy's likelihood."""
    x, y = some_data()
    _, reached = find_map(np.array([0.2, -0.5, -0.3, 0.4, -3.0])[None], x, y, 0.0, FLAT.table(3))
    model = GPy.models.GPRegression(x.T, y[:, None], GPy.kern.RBF(3, ARD=True), noise_var=0.05)
    model.optimize(max_iters=2000)
    assert reached >= model.log_likelihood() - 1e-3


def test_map_is_stationary_and_starts_do_not_matter_much():
    """The gradient vanishes or presses against a bound; another start adds nothing worse."""
    x, y = some_data()
    priors, gradient = GammaPriors().table(3), np.empty(5)
    start = np.log(priors[:, 0] / priors[:, 1])
    best, reached = find_map(start[None], x, y, 0.0, priors)
    log_posterior(best, squared_differences(x), y, 0.0, priors, gradient, -np.inf)
    assert np.abs(gradient[(best > priors[:, 2]) & (best < priors[:, 3])]).max() < 1e-2
    key = Streams.first(1).key("starts")
    starts = np.array([start, *[random_start(priors, key, 0, 0, s) for s in range(3)]])
    assert find_map(starts, x, y, 0.0, priors)[1] >= reached - 1e-2


def test_slice_samples_without_data_have_the_prior():
    """Gamma laws of the parameters (Kolmogorov and Smirnov on thinned samples), within wide bounds."""
    priors = GammaPriors((3.0, 2.0), (2.5, 5.0), (2.0, 10.0), (1e-6, 1e6), (1e-6, 1e6), (1e-6, 1e6))
    table = priors.table(1)
    key, nothing = Streams.first(1).key("slices"), (np.empty((1, 0)), np.empty(0))
    samples = gp_hyper.slice_sweeps(np.zeros(3), *nothing, 0.0, table, 6000, key, 0, 0)[100::6]
    for i, (shape, rate) in enumerate((priors.signal, priors.lengthscale, priors.noise)):
        assert stats.kstest(np.exp(samples[:, i]), stats.gamma(shape, scale=1 / rate).cdf).pvalue > 1e-3


test_arms_that_cannot_be_taken_for_known_are_refused = refused(
    lambda arms, counts: FiniteGP.start(Arms(candidates()), 1, 5).condition(np.array(arms), np.array(counts)),
    ([[40]], [[1]], "arm 40 does not exist: arms are 0, ..., 39; tell what was asked"),
    ([[-1]], [[1]], "arm -1 does not exist"),
    ([[3, 10**7]], [[1, 1]], "arm 10000000 does not exist"),
    ([[3, 4]], [[1, -1]], "counts must be at least 0, got -1; tell what was asked"),
    ([[3, 4]], [[1]], r"arms and counts must have shape \(1, b\), got \(1, 2\) and \(1, 1\)"),
    ([[3], [4]], [[1], [1]], r"arms and counts must have shape \(1, b\), got \(2, 1\)"),
    ([[3.0]], [[1]], "arms must be whole numbers, got an array of float64; tell what was asked"),
)

test_bad_input_is_refused = each_refused(
    (lambda: FiniteGP.start(Arms(candidates()), 1, 1, noise=0.0), "noise must be positive"),
    (lambda: FiniteGP.start(Arms(candidates()), 1, 1, lengthscale=(1.0, 2.0, 3.0)), "2 .one a feature"),
    (lambda: FiniteGP.start(Arms(candidates()), 1, 1, constant=-1.0), "constant"),
    (lambda: FiniteGP.start(Arms(candidates()), 1, 1).learn(np.zeros((1, 2), int), np.zeros((1, 2))), "room"),
    (lambda: FiniteGP.start(Arms(candidates()), 1, 1).learn(np.zeros((1, 1), int), np.full((1, 1), np.inf)), "inf"),
    (lambda: FiniteGP.start(Arms(candidates()), 1, 1).condition(np.zeros((1, 2), int)), "room"),
    (lambda: GammaPriors(noise_bounds=(1.0, 0.1)), "bounds of noise"),
    (lambda: GammaPriors(signal=(0.0, 1.0)), "shape and rate"),
)

"""Checks of local penalisation: penalties, slopes, arms that never come twice; of the normal tail beside SciPy's."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from bestarm.interface import Arms
from bestarm.models.finite_gp import FiniteGP
from bestarm.policies.gaussian import local_penalty
from bestarm.policies.gaussian.gp_acquisition import log_cdf
from bestarm.streams import Streams

LINE = np.linspace(0.0, 1.0, 401)[None]


def test_a_penalty_vanishes_far_away_and_deepens_towards_the_arm():
    """phi tends to 1 beyond the ball in which the maximum cannot be, grows with distance, and is least at the arm."""
    scores = np.zeros(LINE.shape[1])
    local_penalty.penalise(scores, LINE, 200, 0.2, 0.02, 4.0, 1.0)
    distance = np.abs(LINE[0] - LINE[0, 200])
    radius = (1.0 - 0.2) / 4.0
    assert scores.argmin() == 200
    assert (np.diff(scores[200:]) >= 0).all()
    assert (np.diff(scores[:201]) <= 0).all()
    np.testing.assert_allclose(scores[distance > radius + 0.05], 0.0, atol=1e-9)
    np.testing.assert_allclose(np.exp(scores[np.isclose(distance, radius)]), 0.5, atol=1e-6)


def test_the_penalised_acquisition_has_its_minimum_near_the_arm():
    """Whatever the slope of the acquisition, within a standard deviation over the Lipschitz constant."""
    values = 0.5 + 0.3 * np.sin(3.0 * LINE[0])
    for arm in (40, 200, 350):
        scores = local_penalty.log_softplus(values)
        local_penalty.penalise(scores, LINE, arm, values[arm], 0.05, 4.0, 1.2)
        assert abs(LINE[0, scores.argmin()] - LINE[0, arm]) <= 0.05 / 4.0


@pytest.mark.parametrize("slope", [np.array([1.5, 0.0]), np.array([-0.8, 0.6])])
def test_the_lipschitz_constant_of_linear_data_is_its_slope(slope):
    """The norm of the gradient, to 2%, from a posterior mean that interpolates a plane."""
    x = np.stack(np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1, 12)), axis=-1).reshape(-1, 2)
    gp = FiniteGP.start(Arms(x), 1, len(x), lengthscale=1.5, signal=4.0, noise=1e-6)
    gp.learn(np.arange(len(x))[None], (x @ slope)[None])
    weights = local_penalty.mean_weights(gp.rows[0], gp.pivots[0], np.arange(len(x)), x @ slope)
    key = Streams.first(1).key("slope")
    found = local_penalty.lipschitz_constant(gp.points[0], x, weights, gp.lengthscales[0], 4.0, 500, key, 0, 0)
    assert found == pytest.approx(np.linalg.norm(slope), rel=0.02)


def test_few_candidates_do_not_hide_the_steepest_slope():
    """Eight candidates leave most of the box untried: the constant is the largest norm on a fine grid all the same."""
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 81)), axis=-1).reshape(-1, 2)
    none, shares = np.empty(0), []
    for draw in range(20):
        rng = np.random.default_rng(draw)
        candidates, seen = rng.random((8, 2)), rng.random((12, 2))
        candidates[:2] = [[0.0, 0.0], [1.0, 1.0]]  # so that their box is that of the grid
        candidates = candidates if draw else grid
        weights, lengthscales = rng.normal(size=12), np.array([0.1, 0.15])
        norms = [local_penalty.mean_gradient(x, seen, weights, lengthscales, 1.0, np.empty(2), none) for x in grid]
        key = Streams.first(1).key(f"steepest {draw}")
        columns = np.ascontiguousarray(candidates.T)
        found = local_penalty.lipschitz_constant(columns, seen, weights, lengthscales, 1.0, 500, key, 0, 0)
        shares.append(found / np.sqrt(max(norms)))
    assert min(shares) > 0.97
    assert max(shares) < 1.1
    assert 0.999 <= shares[0] <= 1.02  # of as many candidates as the grid has


def test_no_arm_comes_twice_where_it_is_known_and_below_the_best():
    """With a deviation that vanishes and a mean below the best, phi is 0 at the arm: the maximiser is another one."""
    rng = np.random.default_rng(0)
    points = np.ascontiguousarray(rng.random((50, 2)).T)
    means = rng.uniform(-1.0, 0.9, 50)
    scores, chosen = local_penalty.log_softplus(means + 2.0 * rng.random(50)), []
    for _ in range(10):  # the slope is so steep that the balls in which phi vanishes do not cover all arms
        chosen.append(int(scores.argmax()))
        local_penalty.penalise(scores, points, chosen[-1], means[chosen[-1]], 1e-8, 30.0, 1.0)
        assert scores[chosen[-1]] < -1e6
    assert len(set(chosen)) == 10


@pytest.mark.parametrize("z", [-1e4, -100.0, -40.0, -35.0 - 1e-9, -35.0 + 1e-9, -20.0, -1.0, 0.0, 1e-12, 3.0, 9.0])
def test_the_log_of_the_normal_distribution_function_is_scipys(z):
    """To 12 digits, on both sides of the change."""
    assert log_cdf(z) == pytest.approx(log_ndtr(z), rel=1e-12)


def test_the_tail_is_continuous_and_increasing():
    """Over the change from the error function to its series."""
    z = np.linspace(-35.001, -34.999, 201)
    values = np.array([log_cdf(v) for v in z])
    assert (np.diff(values) > 0.0).all()
    np.testing.assert_allclose(np.diff(values), np.diff(log_ndtr(z)), rtol=1e-6)

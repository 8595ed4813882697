"""The posterior from averages, against a dense solve, GPy and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import ConstantKernel
from refusals import refused

from bestarm.kernels import Stationary, box_average, box_point_average
from bestarm.partition import Partition
from bestarm.streams import Streams
from bestarm_studies.gpoo.aggregated_gp import AggregatedGP, average_cells, observed_averages

RBF = Stationary("rbf", 0.1, 0.05)
KERNELS = [RBF, Stationary("matern52", 0.7, 0.3), Stationary("exponential", 2.0, 0.2)]


def dense(kernel, noise, points, averaging, rewards, targets, weights):
    """Return mean and covariance of Equation 4, with an explicit inverse."""
    q = averaging @ kernel.K(points) @ averaging.T + noise * np.eye(len(averaging))
    m = weights @ kernel.K(targets, points) @ averaging.T @ np.linalg.inv(q)
    covariance = weights @ kernel.K(targets) @ weights.T - m @ averaging @ kernel.K(points, targets) @ weights.T
    return m @ rewards, covariance


def some_data(seed, n=12, t=8, m=5, d=2):
    rng = np.random.default_rng(seed)
    points, averaging = rng.random((n, d)), rng.random((t, n)) / n
    return points, averaging, rng.standard_normal(t), rng.random((m, d)), rng.random((3, m)) / m


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.family)
def test_posterior_is_that_of_equation_4(kernel):
    points, averaging, rewards, targets, weights = some_data(1)
    posterior = AggregatedGP(kernel, 0.02).fit(points, rewards, averaging)
    mean, covariance = dense(kernel, 0.02, points, averaging, rewards, targets, weights)
    np.testing.assert_allclose(posterior.predict(targets, weights)[0][0], mean, rtol=1e-8)
    np.testing.assert_allclose(posterior.covariance(targets, weights)[0], covariance, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(posterior.predict(targets, weights)[1][0], np.diag(covariance), rtol=1e-8)


def test_on_single_points_it_is_gpy_s_regression():
    """RBF, Matern 5/2, and a kernel with two length-scales, GPy's own and ours."""
    from GPy import kern
    from GPy.models import GPRegression

    points, _, _, targets, _ = some_data(2)
    rewards = np.sin(4 * points[:, 0])
    for ours, theirs in (
        (Stationary("rbf", 0.5, 0.3), kern.RBF(2, 0.5, 0.3)),
        (Stationary("matern52", 0.5, 0.3), kern.Matern52(2, 0.5, 0.3)),
        (kern.RBF(2, 0.5, [0.3, 0.8], ARD=True), kern.RBF(2, 0.5, [0.3, 0.8], ARD=True)),
    ):
        model = GPRegression(points, rewards[:, None], theirs, noise_var=0.03)
        mean, variance = model.predict(targets, include_likelihood=False)
        found = AggregatedGP(ours, 0.03).fit(points, rewards)
        np.testing.assert_allclose(found.predict(targets)[0][0], mean[:, 0], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found.predict(targets)[1][0], variance[:, 0], rtol=1e-4, atol=1e-7)


def test_our_kernels_are_gpy_s():
    x = np.random.default_rng(0).random((6, 2))
    for family in ("rbf", "matern52", "matern32", "exponential"):
        ours = Stationary(family, 0.4, 0.3)
        np.testing.assert_allclose(ours.K(x), ours.to_gpy(2).K(x), rtol=1e-7)


@pytest.mark.parametrize("noise", [1e-6, 1e-2])
def test_rows_appended_one_by_one_are_the_whole_factor(noise):
    """Appendix B for 400 rewards of 40 cells, so every cell is seen ten times."""
    cells = np.tile(np.arange(40), 10)
    points, averaging = average_cells(Partition(2, 3), cells)
    rewards = np.random.default_rng(3).standard_normal(len(cells))
    step, begin = AggregatedGP(RBF, noise).prior(), 0
    for size in (1, 7, 100, 292):
        some = slice(begin, begin + size)
        used = averaging[some].any(axis=0)
        step = step.update(points[used], rewards[some], averaging[some][:, used])
        begin += size
    q = averaging @ RBF.K(points) @ averaging.T + noise * np.eye(len(cells))
    np.testing.assert_allclose(step.factor[0] @ step.factor[0].T, q, atol=1e-12)
    np.testing.assert_allclose(step.factor[0] @ step.residuals[0], rewards, atol=1e-10)


def test_replications_are_each_alone():
    """Own points, own averages, and a reward that failed in one of them."""
    rng = np.random.default_rng(4)
    points, averaging = rng.random((3, 6, 1)), rng.random((3, 4, 6))
    rewards = rng.standard_normal((3, 4))
    rewards[1, 2] = np.nan
    targets = rng.random((5, 1))
    gp = AggregatedGP(RBF, 0.05)
    together = gp.fit(points, rewards, averaging)
    for r in range(3):
        kept = np.isfinite(rewards[r])
        alone = gp.fit(points[r], rewards[r, kept], averaging[r, kept])
        for a, b in zip(together.predict(targets), alone.predict(targets), strict=True):
            np.testing.assert_allclose(a[r], b[0], rtol=1e-9, atol=1e-12)


def test_the_order_of_representatives_and_of_rewards_does_not_matter():
    points, averaging, rewards, targets, _ = some_data(5)
    rng = np.random.default_rng(6)
    columns, rows = rng.permutation(len(points)), rng.permutation(len(rewards))
    gp = AggregatedGP(RBF, 0.05)
    one = gp.fit(points, rewards, averaging).predict(targets)
    other = gp.fit(points[columns], rewards[rows], averaging[rows][:, columns]).predict(targets)
    np.testing.assert_allclose(one, other, rtol=1e-9)


@settings(max_examples=60)
@given(
    cells=st.lists(st.integers(0, 30), min_size=1, max_size=12),
    target=st.integers(0, 30),
    family=st.sampled_from(["rbf", "matern52"]),
    s=st.sampled_from([1, 3, 10]),
)
def test_proposition_2_and_its_tight_form(cells, target, family, s):
    """sd <= sigma/sqrt(n), and <= sqrt(c sigma^2/(sigma^2 + n c)), an equality if nothing else was seen."""
    kernel, sigma = Stationary(family, 0.1, 0.05), 0.1
    partition = Partition(2, s)
    gp = AggregatedGP(kernel, sigma**2)
    where, average = average_cells(partition, np.array([target]))
    prior = gp.prior().predict(where, average)[1][0, 0]
    history = np.array([*cells, target, target])
    points, averaging = average_cells(partition, history)
    posterior = gp.fit(points, np.zeros(len(history)), averaging)
    variance, n = posterior.predict(where, average)[1][0, 0], int((history == target).sum())
    tight = prior * sigma**2 / (sigma**2 + n * prior)
    assert variance <= tight * (1 + 1e-9)
    assert np.sqrt(tight) <= sigma / np.sqrt(n)
    alone = gp.fit(*_history(partition, np.full(n, target)))
    np.testing.assert_allclose(alone.predict(where, average)[1][0, 0], tight, rtol=1e-8)
    fewer = gp.fit(*_history(partition, history[:-1]))
    assert variance <= fewer.predict(where, average)[1][0, 0] + 1e-12  # more rewards, less variance


def _history(partition, cells):
    points, averaging = average_cells(partition, cells)
    return points, np.zeros(len(cells)), averaging


def test_samples_have_the_posterior_s_moments():
    """2000 draws at 4 points: means and covariances within 4.5 standard errors."""
    points, averaging, rewards, targets, _ = some_data(7, m=4)
    posterior = AggregatedGP(KERNELS[1], 0.1).fit(points, rewards, averaging)
    draws = posterior.sample(targets, 2000, Streams.first(1, seed=8))[0]
    mean, covariance = posterior.predict(targets)[0][0], posterior.covariance(targets)[0]
    assert (np.abs(draws.mean(axis=0) - mean) < 4.5 * np.sqrt(np.diag(covariance) / 2000)).all()
    spread = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / 2000)
    assert (np.abs(np.cov(draws.T) - covariance) < 4.5 * spread).all()
    again = posterior.sample(targets, 3, Streams.first(1, seed=8))[0]
    # the first draws do not depend on how many there are, but for the order of sums in a product of 4 x 4 and the mean:
    # (4 + 2) operations of 2^-53 each, twice, on terms of at most |mean| + 4 sd * 5 normal draws
    bound = 2 * 6 * 2.0**-53 * (np.abs(mean) + 4 * 5 * np.sqrt(np.diag(covariance)))
    assert (np.abs(again - draws[:3]) <= bound).all()


def test_representatives_converge_to_the_average_of_a_cell():
    """The midpoint rule: an error that falls like 1/S^2, for pairs and for a point against a cell (Appendix D)."""
    lower, upper = np.array([0.25]), np.array([0.5])
    other = np.array([0.5]), np.array([0.75])
    kernel = Stationary("rbf", 0.1, 0.2)
    exact = box_average(kernel, lower, upper, *other)
    at = box_point_average(kernel, lower, upper, np.array([0.6]))
    errors, point_errors = [], []
    for s in (4, 8, 16, 32):
        x, y = Partition(2, s).representatives(np.array([4, 5]))
        errors.append(abs(kernel.K(x, y).mean() - exact))
        point_errors.append(abs(kernel.K(x, np.array([[0.6]])).mean() - at))
    for found in (errors, point_errors):
        np.testing.assert_allclose(np.diff(np.log(found)) / np.log(2), -2.0, atol=0.1)


@pytest.mark.parametrize("feedback", ["average", "integral"])
@pytest.mark.parametrize("d", [1, 2])
def test_averages_over_whole_cells_are_those_of_the_closed_form(feedback, d):
    """Cells of many sizes, judged by Equation 4 on the closed form of Appendix D; prediction at cells and at points."""
    kernel, noise = Stationary("rbf", 0.5, 0.3), 0.01
    partition = Partition(2, 1, (0.0,) * d, (1.0, 0.7)[:d], feedback=feedback)
    rng = np.random.default_rng(11)
    cells, others = rng.integers(0, 60, 12), np.array([0, 3, 40])
    rewards, x = rng.standard_normal(12), rng.random((4, d)) * 0.7

    def size(numbers):
        lower, upper = partition.bounds(numbers)
        return (upper - lower).prod(axis=1) if feedback == "integral" else np.ones(len(numbers))

    def between(first, second):
        boxes = [corner[:, None] for corner in partition.bounds(first)] + list(partition.bounds(second))
        return box_average(kernel, *boxes) * np.outer(size(first), size(second))

    lower, upper = (corner[:, None] for corner in partition.bounds(cells))
    q = between(cells, cells) + noise * np.eye(12)
    points, averaging = observed_averages(partition, cells, 0.3)
    posterior = AggregatedGP(kernel, noise).fit(points, rewards, averaging)
    found = [posterior.predict(*observed_averages(partition, others, 0.3)), posterior.predict(x)]
    crosses = between(cells, others), box_point_average(kernel, lower, upper, x) * size(cells)[:, None]
    for (mean, variance), cross, prior in zip(found, crosses, (np.diag(between(others, others)), 0.5), strict=True):
        np.testing.assert_allclose(mean[0], cross.T @ np.linalg.solve(q, rewards), rtol=1e-8)
        expected = prior - (cross * np.linalg.solve(q, cross)).sum(axis=0)
        np.testing.assert_allclose(variance[0], expected, rtol=1e-8, atol=1e-12)


def test_many_averages_are_predicted_as_few_are():
    """300 of them, in no order, so that their points are spread over the pieces in which they are predicted."""
    points, averaging, rewards, *_ = some_data(12)
    rng = np.random.default_rng(13)
    targets = rng.random((200, 2))
    weights = np.where(rng.random((300, 200)) < 0.02, rng.random((300, 200)), 0.0)
    mean, variance = AggregatedGP(KERNELS[1], 0.1).fit(points, rewards, averaging).predict(targets, weights)
    expected, covariance = dense(KERNELS[1], 0.1, points, averaging, rewards, targets, weights)
    np.testing.assert_allclose(mean[0], expected, rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(variance[0], np.diag(covariance), rtol=1e-8, atol=1e-13)


def test_known_and_repeated_points_can_be_drawn():
    """The posterior covariance is singular there: a draw passes through the data and repeats itself."""
    x = np.linspace(0, 1, 30)[:, None]
    rewards = np.sin(6 * x[:, 0])
    posterior = AggregatedGP(Stationary("rbf", 1.0, 0.2), 1e-8).fit(x, rewards)
    draws = posterior.sample(np.concatenate([x, x]), 5, Streams.first(1, seed=2))[0]
    np.testing.assert_allclose(draws[:, :30], np.tile(rewards, (5, 1)), atol=6e-4)  # six noise standard deviations
    np.testing.assert_allclose(draws[:, 30:], draws[:, :30], atol=2e-4)  # the jitter's is 1e-5
    np.testing.assert_allclose(posterior.sample(x[:7], 5, Streams.first(1, seed=2))[0], draws[:, :7], atol=1e-9)


def test_replications_draw_with_their_own_streams():
    points, averaging, rewards, targets, _ = some_data(14)
    gp, streams = AggregatedGP(RBF, 0.05), Streams.first(3, seed=4)
    together = gp.fit(points, np.tile(rewards, (3, 1)), averaging).sample(targets, 2, streams)
    alone = gp.fit(points, rewards, averaging).sample(targets, 2, streams.take(np.array([2])))
    np.testing.assert_allclose(together[2], alone[0], rtol=1e-10)
    assert np.abs(together[1] - together[2]).min() > 0
    for n in (1, 2):
        with pytest.raises(ValueError, match=rf"streams must have 3 replications, got {n}"):
            gp.prior(3, 2).sample(targets, 1, Streams.first(n))


def test_neither_a_reward_of_nothing_nor_a_failed_one_moves_the_posterior():
    points, averaging, rewards, targets, _ = some_data(15)
    before = AggregatedGP(RBF, 0.05).fit(points, rewards, averaging)
    failed = before.update(points[:1], np.array([np.nan]))
    for posterior in (failed, before.update(points[:1], np.array([0.1]), np.zeros((1, 1)))):
        np.testing.assert_allclose(posterior.predict(targets), before.predict(targets), rtol=1e-12)


@pytest.mark.parametrize("noise", [1e-12, 1e-15, 1e-18])
def test_repeats_whose_noise_is_lost_to_rounding_are_refused(noise):
    """At 1e-14 the mean of 50 repeats would come out as 0.35 instead of 0.5."""
    gp, x = AggregatedGP(Stationary("rbf", 1.0, 0.2), noise), np.zeros((50, 1))
    with pytest.raises(ValueError, match=r"pivot 1 of replication 0 .* If rewards repeat others, or nearly, raise"):
        gp.fit(x, np.linspace(0, 1, 50))


def test_repeats_that_are_not_refused_have_the_right_mean():
    """Just above the limit: 50 repeats at noise 1e-10 of the variance; rounding is 50 eps / 1e-10."""
    gp, x = AggregatedGP(Stationary("rbf", 1.0, 0.2), 1e-10), np.zeros((50, 1))
    assert gp.fit(x, np.linspace(0, 1, 50)).predict(x[:1])[0][0, 0] == pytest.approx(0.5, abs=1e-4)


NO_NUMBER, NEGATIVE = ConstantKernel(np.nan), ConstantKernel(-1.0)
test_bad_input_is_one_clear_error = refused(
    lambda call: call(np.linspace(0, 1, 4)[:, None], np.zeros(4)),
    (lambda x, y: AggregatedGP(RBF, 0.0), "noise_variance must be positive, got 0.0"),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(x, y, np.ones((3, 4))), r"averaging must have .* \(4, 4\), got \(3, 4\)"),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(x[:, 0], y), "points must have two axes"),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(np.full((4, 1), np.nan), y), "points must be finite, got nan"),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(x, np.full(4, np.inf)), "rewards must be numbers, or NaN"),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(x, y).update(np.ones((1, 2)), y[:1]), "points must have 1 coordinates"),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(x, y).predict(x, np.ones((1, 3))), "averaging must have 4 columns"),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(x, y).predict(np.ones((3, 2))), "must have 1 coordinates, got 2"),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(np.tile(x, 2), y).predict(x), "must have 2 coordinates, got 1"),
    (lambda x, y: AggregatedGP(RBF, 1.0).prior(1, 2).update(x, y), "must have 2 coordinates, got 1"),
    (
        lambda x, y: AggregatedGP(RBF, 1.0).prior(3).update(x, np.zeros((2, 4))),
        r"rewards must have one axis, or two with 3 replications, got \(2, 4\)",
    ),
    (lambda x, y: AggregatedGP(RBF, 1.0).fit(x, y[None, None]), "rewards must have one axis, or two"),
    (lambda x, y: AggregatedGP(NO_NUMBER, 1.0).fit(x, y), "kernel must give a finite covariance"),
    (lambda x, y: AggregatedGP(NO_NUMBER, 1.0).prior().predict(x), "kernel must give a finite covariance"),
    (lambda x, y: AggregatedGP(NEGATIVE, 0.5).fit(x, y), "not positive definite: pivot 0 of replication 0 is -0.5"),
    (lambda x, y: Stationary("rbf", 1.0, -1.0), "lengthscale must be positive, got -1.0"),
    (lambda x, y: Stationary("linear"), "family must be one of rbf, matern52, matern32, exponential, got 'linear'"),
)

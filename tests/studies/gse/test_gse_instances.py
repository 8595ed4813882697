"""Instances of the GSE paper: what it states of them, their laws, that each replication has its own, rows of tables."""

import pickle

import numpy as np
import pytest
from refusals import refused, refuses
from scipy import stats
from scipy.special import expit

from bestarm.interface import Ask
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import available, fetch
from bestarm_lab.datasets.tables import read_automobile
from bestarm_lab.metrics import correct
from bestarm_studies.gse import instances as gse_instances
from bestarm_studies.gse import tabular
from bestarm_studies.gse.tabular import correct as tabular_correct

CARS = tabular.stand_in_automobile_instance
FAMILIES = {
    "sphere": gse_instances.sphere_instance(12),
    "cube": gse_instances.sphere_instance(12).as_coded(),
    "corner": gse_instances.corner_instance(9),
    "logistic": gse_instances.logistic_instance(5),
    "rows": CARS(16),
    "different rows": CARS(16, with_replacement=False),
}


def test_fixed_instances_are_those_of_the_paper():
    static = gse_instances.static_instance(0.3)
    np.testing.assert_array_equal(static.features, np.eye(16))
    np.testing.assert_allclose(static.means[0], [0.3] + [0.0] * 15)
    adaptive = gse_instances.adaptive_instance(8)
    assert adaptive.features.shape == (8, 7)
    np.testing.assert_allclose(adaptive.means[0], [1, 0, 0, 0, 0, 0, 0, np.cos(0.1)])
    assert 1 - adaptive.means[0, -1] == pytest.approx(0.004996, abs=1e-6)
    assert static.sigma**2 == adaptive.sigma**2 == pytest.approx(10)


@pytest.mark.parametrize("name", FAMILIES)
def test_an_instance_depends_on_its_replication_alone(name):
    """Not on how many there are, their order, or the process; another seed, another instance."""
    family = FAMILIES[name]
    whole = family.take(np.arange(30))
    part = pickle.loads(pickle.dumps(family)).take(np.array([17, 4]))
    np.testing.assert_array_equal(part.features, whole.features[[17, 4]])
    np.testing.assert_array_equal(part.theta, whole.theta[[17, 4]])
    np.testing.assert_array_equal(whole.take(np.array([17, 4])).means, part.means)
    other = type(family)(**{**vars(family), "seed": 1}).take(np.arange(30))
    assert (other.features != whole.features).any(axis=(1, 2)).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_without_replications_there_are_no_arms(name):
    law = FAMILIES[name]
    refuses(lambda: law.arms, r"arms differ by replication; call problem\.take\(streams\.replications\) first")


@pytest.mark.parametrize("name", ["sphere", "cube"])
def test_theta_lies_by_one_arm_of_the_closest_pair(name):
    """Which is then the best arm, its neighbour the second; either may have the lower number."""
    bandit = FAMILIES[name].take(np.arange(300))
    np.testing.assert_allclose(np.linalg.norm(bandit.features, axis=2), 1.0)
    first_is_best = 0
    for x, theta, means in zip(bandit.features, bandit.theta, bandit.means, strict=True):
        distances = np.linalg.norm(x[:, None] - x[None], axis=2) + 10 * np.eye(12)
        pair = set(np.unravel_index(distances.argmin(), distances.shape))
        order = np.argsort(-means)
        assert set(order[:2]) == pair
        np.testing.assert_allclose(theta, x[order[0]] + 0.01 * (x[order[1]] - x[order[0]]))
        first_is_best += order[0] < order[1]
    assert 0 < stats.binomtest(first_is_best, 300).pvalue > 1e-4


def test_arms_are_uniform_on_the_sphere_and_not_so_from_a_cube():
    """On the sphere a coordinate has the moments 1/d and 3/(d (d + 2)); normalising a cube changes the fourth."""
    fourth = {}
    for name in ("sphere", "cube"):
        x = FAMILIES[name].take(np.arange(4000)).features
        assert np.abs(x.mean(axis=(0, 1))).max() < 4.5 * np.sqrt(0.1 / x[..., 0].size)
        assert np.abs((x**2).mean(axis=(0, 1)) - 0.1).max() < 5 * np.sqrt(0.02 / x[..., 0].size)
        fourth[name] = (x**4).mean()
    assert fourth["sphere"] == pytest.approx(3 / 120, rel=0.01)
    assert fourth["cube"] < 0.95 * fourth["sphere"]


def test_the_corner_case():
    """The first arm is best, the last lies opposite, the others spread by 0.09 about pi/4."""
    bandit = FAMILIES["corner"].take(np.arange(2000))
    np.testing.assert_allclose(bandit.features[:, 0], np.tile([1.0, 0.0], (2000, 1)))
    np.testing.assert_allclose(bandit.means[:, -1], np.cos(3 * np.pi / 4))
    angles = np.arctan2(bandit.features[:, 1:-1, 1], bandit.features[:, 1:-1, 0])
    assert stats.kstest(angles.ravel()[:5000], "norm", (np.pi / 4, 0.09)).pvalue > 1e-3
    assert (bandit.means.argmax(axis=1) == 0).all()


def test_leaking_instances_have_four_features_as_coded():
    """A named deviation of the authors' code; the corner case has two in any case."""
    assert gse_instances.sphere_instance(8, leaks=True).as_coded().take(np.arange(2)).features.shape == (2, 8, 4)
    assert gse_instances.sphere_instance(8).as_coded().take(np.arange(2)).features.shape == (2, 8, 10)
    assert gse_instances.logistic_instance(12, leaks=True).as_coded().take(np.arange(2)).features.shape == (2, 8, 4)
    assert gse_instances.corner_instance(5).as_coded() == gse_instances.corner_instance(5)


def test_logistic_instances_have_the_stated_law():
    """Arms uniform in a cube; theta with variance 3/d as written, standard deviation 3/d as coded."""
    bandit = gse_instances.logistic_instance(6).take(np.arange(3000))
    assert stats.kstest(bandit.features.ravel()[:5000] + 0.5, "uniform").pvalue > 1e-3
    assert stats.kstest(bandit.theta.ravel(), "norm", (0, np.sqrt(0.5))).pvalue > 1e-3
    as_coded = gse_instances.logistic_instance(6).as_coded().take(np.arange(3000))
    np.testing.assert_allclose(as_coded.theta, bandit.theta * 0.5 / np.sqrt(0.5))
    np.testing.assert_allclose(bandit.means, expit(np.einsum("rkd,rd->rk", bandit.features, bandit.theta)))


def test_pulls_at_once_are_the_single_pulls():
    """The reward of pull number n of an arm is the same whoever asks for it and in which company."""
    bandit = gse_instances.LogisticBandit("two", np.eye(2), np.array([0.0, 1.0]))
    streams = Streams.first(50)
    at_once = bandit.rewards(Ask(np.tile([0, 1], (50, 1)), np.tile([3, 2], (50, 1))), np.zeros((50, 2), int), streams)
    tally, single = np.zeros((50, 2), int), np.zeros((50, 2))
    for arm in (1, 0, 0, 1, 0):
        single[:, arm] += bandit.rewards(Ask(np.full((50, 1), arm), np.ones((50, 1), int)), tally, streams)[:, 0]
    np.testing.assert_array_equal(at_once, single)
    assert (tally == [3, 2]).all()


def test_successes_are_binomial():
    """Against the exact law, by chi-square."""
    bandit = gse_instances.LogisticBandit("one", np.array([[1.0], [2.0]]), np.array([0.7]))
    n = 5000
    asked = Ask(np.zeros((n, 1), int), np.full((n, 1), 6))
    totals = bandit.rewards(asked, np.zeros((n, 2), int), Streams.first(n))[:, 0]
    expected = n * stats.binom.pmf(np.arange(7), 6, expit(0.7))
    assert stats.chisquare(np.bincount(totals.astype(int), minlength=7), expected).pvalue > 1e-3


test_settings_out_of_range_are_refused = refused(
    lambda make, settings: make(**settings),
    (gse_instances.static_instance, {"gap": 0.0}, "gap must be positive and finite, got 0"),
    (gse_instances.static_instance, {"gap": 1.0, "n_arms": 1}, "n_arms must be a whole number of at least 2, got 1"),
    (gse_instances.static_instance, {"gap": 1.0, "variance": 0.0}, "variance must be positive and finite, got 0"),
    (gse_instances.adaptive_instance, {"n_arms": 2}, "n_arms must be at least 3, got 2"),
    (gse_instances.adaptive_instance, {"n_arms": 4, "omega": 2.0}, "omega must lie in"),
    (
        gse_instances.sphere_instance,
        {"n_arms": 5, "n_features": 0},
        "n_features must be a whole number of at least 1, got 0",
    ),
    (gse_instances.corner_instance, {"n_arms": 2}, "n_arms must be at least 3, got 2"),
    (gse_instances.logistic_instance, {"n_features": 2.5}, "n_features must be a whole number of at least 1, got 2"),
    (CARS, {"n_arms": 1}, "n_arms must be a whole number of at least 2, got 1"),
    (CARS, {"n_arms": 8, "variance": -1.0}, "variance must be positive and finite, got -1"),
    (CARS, {"n_arms": 300, "with_replacement": False}, "n_arms must be at most the 205 rows of the table, got 300"),
)

STAND_INS = {"cars": CARS, "motor": tabular.stand_in_electric_motor_instance}


def linear_fit(features: np.ndarray, target: np.ndarray) -> float:
    """Return the share of variance that a linear model without intercept explains, as the policies fit it."""
    theta = np.linalg.lstsq(features, target, rcond=None)[0]
    return 1 - ((target - features @ theta) ** 2).sum() / ((target - target.mean()) ** 2).sum()


@pytest.mark.skipif(not available("automobile"), reason="the Automobile data are nowhere")
def test_what_the_cars_are():
    """205 cars, four prices missing, and how linear the scaled price is."""
    table = read_automobile(fetch("automobile"))
    assert table.features.shape == (205, 5)
    assert table.names == ("width", "curb-weight", "engine-size", "city-mpg", "highway-mpg")
    assert (table.n_imputed, table.target.min(), table.target.max()) == (4, 5118, 45400)
    assert table.features.min(axis=0).tolist() == [60.3, 1488, 61, 13, 16]
    instances = tabular.automobile_instance(8)
    assert instances.data == "real"
    assert 0 == instances.features.min() < instances.features.max() == 1
    assert linear_fit(instances.features, instances.target) == pytest.approx(0.80, abs=0.03)


@pytest.mark.skipif(not available("electric-motor-sample"), reason="the motor sample is nowhere")
@pytest.mark.parametrize("target", ["motor_speed", "pm"])
def test_what_the_motor_sample_is(target):
    instances = tabular.electric_motor_instance(16, target)
    assert (instances.features.shape, instances.target.min(), instances.target.max()) == ((15147, 11), 0, 1)
    assert linear_fit(instances.features, instances.target) > 0.5


@pytest.mark.parametrize("name", STAND_INS)
def test_stand_ins_have_the_schema_and_say_so(name):
    """The same number of features; linear to a large part, not entirely."""
    instances = STAND_INS[name](8)
    assert instances.data == "stand-in"
    assert "stand-in" in instances.label
    assert instances.features.shape[1] == {"cars": 5, "motor": 11}[name]
    assert 0.3 < linear_fit(instances.features, instances.target) < 0.9999


@pytest.mark.parametrize("again", [True, False])
def test_rows_are_uniform(again):
    """With or without replacement."""
    instances = FAMILIES["rows" if again else "different rows"]
    drawn = np.searchsorted(np.sort(instances.target), instances.take(np.arange(2000)).means)
    assert stats.chisquare(np.bincount(drawn.ravel(), minlength=205)).pvalue > 1e-3
    duplicates = np.array([len(np.unique(row)) < 16 for row in drawn])
    assert duplicates.mean() == pytest.approx(0.45 if again else 0.0, abs=0.05)


def test_duplicates_of_the_best_row_are_correct():
    """Ties by drawing a row twice are no errors."""
    bandit = tabular.TabularBandit("two", np.ones((1, 3, 2)), np.zeros((1, 2)), 1.0, np.array([[0.9, 0.2, 0.9]]))
    assert correct(bandit, np.array([[0]])) == correct(bandit, np.array([[2]])) == 1
    assert correct(bandit, np.array([[1]])) == 0


def test_rewards_have_the_target_as_mean():
    """Sums of n pulls are N(n mean, n variance)."""
    bandit = CARS(8).take(np.arange(4000))
    asked = Ask(np.full((4000, 1), 2), np.full((4000, 1), 5))
    totals = bandit.rewards(asked, np.zeros((4000, 8), dtype=np.int64), Streams.first(4000))[:, 0]
    assert stats.kstest((totals - 5 * bandit.means[:, 2]) / np.sqrt(5 * 0.1), "norm").pvalue > 1e-3


def test_scaling_and_constant_columns():
    """Extremes become 0 and 1."""
    np.testing.assert_allclose(tabular.scaled(np.array([[1.0, 3], [2, 3], [5, 3]])), [[0, 0], [0.25, 0], [1, 0]])


def test_a_missing_price_is_the_mean_of_the_others(tmp_path):
    (tmp_path / "cars").write_text("\n".join(map(",".join, [["1"] * 26, ["2"] * 25 + ["?"]])) + "\n")
    table = read_automobile(tmp_path / "cars")
    assert (table.n_imputed, table.target.tolist()) == (1, [1.0, 1.0])


def test_duplicates_of_the_best_row_are_errors_as_coded_alone():
    """The authors' code counts the first best arm only; so each run with a tie at the top has one correct arm."""
    law = CARS(16)
    for problem, several in ((law, True), (law.as_coded(), False)):
        taken = problem.take(np.arange(200))
        found = np.array([tabular_correct(taken, np.full((200, 1), a)) for a in range(16)]).sum(axis=0)
        assert (found >= 1).all()
        assert (found > 1).any() == several

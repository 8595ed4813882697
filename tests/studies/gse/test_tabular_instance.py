"""Arms that are rows of a table: the readers, the law of the rows, and what the real tables hold."""

import pickle

import numpy as np
import pytest
from refusals import refused, refuses
from scipy import stats

from bestarm.interface import Ask
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import available, fetch
from bestarm_lab.datasets.tables import read_automobile, read_electric_motor
from bestarm_lab.metrics import correct
from bestarm_studies.gse import tabular
from bestarm_studies.gse.tabular import correct as tabular_correct

needs_cars = pytest.mark.skipif(not available("automobile"), reason="the Automobile data are nowhere")
needs_motor = pytest.mark.skipif(not available("electric-motor-sample"), reason="the motor sample is nowhere")
STAND_INS = {"cars": tabular.stand_in_automobile_instance, "motor": tabular.stand_in_electric_motor_instance}


def linear_fit(features: np.ndarray, target: np.ndarray) -> float:
    """Return the share of variance that a linear model without intercept explains, as the policies fit it."""
    theta = np.linalg.lstsq(features, target, rcond=None)[0]
    return 1 - ((target - features @ theta) ** 2).sum() / ((target - target.mean()) ** 2).sum()


@needs_cars
def test_what_the_cars_are():
    """205 cars, four prices missing, and how linear the scaled price is."""
    table = read_automobile(fetch("automobile"))
    assert table.features.shape == (205, 5)
    assert table.names == ("width", "curb-weight", "engine-size", "city-mpg", "highway-mpg")
    assert table.n_imputed == 4
    assert (table.target.min(), table.target.max()) == (5118, 45400)
    assert table.features.min(axis=0).tolist() == [60.3, 1488, 61, 13, 16]
    instances = tabular.automobile_instance(8)
    assert instances.data == "real"
    assert 0 == instances.features.min() < instances.features.max() == 1
    assert linear_fit(instances.features, instances.target) == pytest.approx(0.80, abs=0.03)


@needs_motor
@pytest.mark.parametrize("target", ["motor_speed", "pm"])
def test_what_the_motor_sample_is(target):
    """15,147 measurements, eleven features."""
    instances = tabular.electric_motor_instance(16, target)
    assert instances.features.shape == (15147, 11)
    assert (instances.target.min(), instances.target.max()) == (0, 1)
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
def test_rows_depend_on_the_replication_alone_and_are_uniform(again):
    """Not on how many replications there are; with or without replacement."""
    instances = tabular.stand_in_automobile_instance(16, with_replacement=again)
    whole = instances.take(np.arange(2000))
    part = pickle.loads(pickle.dumps(instances)).take(np.array([1500, 3]))
    np.testing.assert_array_equal(part.means, whole.means[[1500, 3]])
    np.testing.assert_array_equal(whole.take(np.array([1500, 3])).features, part.features)
    drawn = np.searchsorted(np.sort(instances.target), whole.means)
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
    bandit = tabular.stand_in_automobile_instance(8).take(np.arange(4000))
    asked = Ask(np.full((4000, 1), 2), np.full((4000, 1), 5))
    totals = bandit.rewards(asked, np.zeros((4000, 8), dtype=np.int64), Streams.first(4000))[:, 0]
    assert stats.kstest((totals - 5 * bandit.means[:, 2]) / np.sqrt(5 * 0.1), "norm").pvalue > 1e-3


def test_scaling_and_constant_columns():
    """Extremes become 0 and 1."""
    np.testing.assert_allclose(tabular.scaled(np.array([[1.0, 3], [2, 3], [5, 3]])), [[0, 0], [0.25, 0], [1, 0]])


def write_cars(path, lines):
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    return path


def test_damaged_files_are_refused_in_one_line(tmp_path):
    good = [["1"] * 26, ["2"] * 25 + ["?"]]
    table = read_automobile(write_cars(tmp_path / "good", good))
    assert (table.n_imputed, table.target.tolist()) == (1, [1.0, 1.0])
    with pytest.raises(ValueError, match="expected 26 columns, found 25; is the file whole"):
        read_automobile(write_cars(tmp_path / "short", [line[:25] for line in good]))
    with pytest.raises(ValueError, match="expected a number in row 1, column 13, got 'heavy'"):
        read_automobile(write_cars(tmp_path / "words", [["1"] * 26, ["1"] * 13 + ["heavy"] + ["1"] * 12]))
    with pytest.raises(ValueError, match="a feature of car 1 is missing"):
        read_automobile(write_cars(tmp_path / "hole", [["1"] * 26, ["1"] * 13 + ["?"] + ["1"] * 12]))
    refuses(lambda: read_automobile(write_cars(tmp_path / "empty", [])), "found something else")
    with pytest.raises(ValueError, match="no column ambient"):
        read_electric_motor(write_cars(tmp_path / "motor", [[f"c{i}" for i in range(13)], ["1"] * 13]), "pm")
    refuses(lambda: read_electric_motor(tmp_path / "motor", "speed"), r"target must be one of ambient.*got 'speed'")


test_settings_out_of_range_are_refused = refused(
    lambda settings: tabular.stand_in_automobile_instance(**settings),
    ({"n_arms": 1}, "n_arms must be a whole number of at least 2, got 1"),
    ({"n_arms": 8, "variance": -1.0}, "variance must be positive and finite, got -1"),
    ({"n_arms": 300, "with_replacement": False}, "n_arms must be at most the 205 rows of the table, got 300"),
)


def test_arms_are_known_only_for_replications():
    with pytest.raises(ValueError, match=r"call problem\.take\(streams\.replications\) first"):
        tabular.stand_in_automobile_instance(8).arms  # noqa: B018


def test_duplicates_of_the_best_row_are_errors_as_coded_alone():
    """The authors' code counts the first best arm only; so each run with a tie at the top has one correct arm."""
    law = tabular.stand_in_automobile_instance(16)
    for problem, several in ((law, True), (law.as_coded(), False)):
        taken = problem.take(np.arange(200))
        found = np.array([tabular_correct(taken, np.full((200, 1), a)) for a in range(16)]).sum(axis=0)
        assert (found >= 1).all()
        assert (found > 1).any() == several

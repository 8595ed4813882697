"""Instances beyond the paper: equal gaps, misspecification, real features; curves and times of the figures."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from bestarm.interface import Ask
from bestarm.policies.linear.gifa import LinGifa, MLinGape
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import available, registry
from bestarm_lab.experiments.observed import microseconds_per_pull
from bestarm_studies.linear_topm import instances, lastfm
from bestarm_studies.linear_topm.complexity import gaps
from bestarm_studies.linear_topm.values import split_series

REGISTERED = set(lastfm.DATA_FILES) <= set(registry())


@pytest.mark.parametrize(("n_arms", "n_features"), [(4, 10), (30, 5)])
def test_equal_gap_instances_have_one_gap_whatever_the_size(n_arms, n_features):
    problem = instances.equal_gap_instance(n_arms, n_features, 3, 0.7)
    np.testing.assert_allclose(gaps(problem.means[0], 3), 0.7)
    np.testing.assert_allclose(np.linalg.norm(problem.features[:, 1:], axis=1), 1.0)
    refuses(lambda: instances.equal_gap_instance(4, 10, 4, 1.0), "got 4 of 4, 10 and 1")


def test_a_deviation_is_orthogonal_to_the_features_and_has_its_level():
    """Least squares over all arms cannot tell it from zero; independent arms leave no room for one."""
    problem = instances.misspecified_instance(20, 5, 3, 0.5, 0.3)
    deviation = problem.means[0] - problem.features @ problem.theta
    np.testing.assert_allclose(problem.features.T @ deviation, 0, atol=1e-12)
    assert problem.largest_deviation == pytest.approx(0.3)
    np.testing.assert_allclose(deviation, 3 * instances.misspecified_instance(20, 5, 3, 0.5, 0.1).deviation)
    refuses(lambda: instances.unexplained_deviation(np.eye(4), 0.1), "the 4 arms are linearly independent")
    with pytest.raises(ValueError, match=r"one finite entry per arm.*deviation \(3,\)"):
        instances.MisspecifiedBandit("", np.eye(4), np.ones(4), deviation=np.ones(3))


def test_rewards_follow_the_true_means():
    """10 000 pulls of one arm: within 4 standard errors of the mean with its deviation, in a subset as well."""
    problem = instances.misspecified_instance(20, 5, 3, 0.5, 0.3).take(np.arange(1))
    asked = Ask(np.array([[7]]), np.array([[10_000]]))
    total = problem.rewards(asked, np.zeros((1, 20), dtype=np.int64), Streams.first(1, seed=1, instance=problem.label))
    assert total[0, 0] / 10_000 == pytest.approx(problem.means[0, 7], abs=4 * 0.5 / 100)


@pytest.mark.parametrize("name", lastfm.SIZES)
@pytest.mark.parametrize("as_it_is", [False, True])
def test_stand_ins_have_the_schema_of_the_files(name, as_it_is):
    n_arms, n_features, level = lastfm.SIZES[name]
    problem = lastfm.stand_in_lastfm_instance(name, as_it_is)
    assert (problem.features.shape, problem.data) == ((n_arms, n_features), "stand-in")
    assert "stand-in" in problem.label
    assert problem.largest_deviation == pytest.approx(level if as_it_is else 0.0)
    assert 0.0 < problem.means.mean() < 1.0


@pytest.mark.skipif(not REGISTERED or not available(*lastfm.DATA_FILES), reason="the follow-up's files are not here")
@pytest.mark.parametrize("name", lastfm.SIZES)
def test_real_instances_deviate_as_their_names_say(name):
    linear, true = lastfm.lastfm_instance(name, False), lastfm.lastfm_instance(name, True)
    assert (linear.data, true.data) == ("real", "real")
    np.testing.assert_array_equal(linear.features, true.features)
    assert linear.largest_deviation == 0.0
    assert true.largest_deviation == pytest.approx(lastfm.SIZES[name][2], abs=6e-4)
    assert linear.label != true.label


def test_unreadable_files_are_named(tmp_path):
    path = tmp_path / "arms.npz"
    read = partial(lastfm.read_linear_representation, path, n_arms=3, n_features=2)
    path.write_bytes(b"no archive")
    refuses(read, r"arms\.npz: expected a NumPy archive, found something else")
    np.savez(path, features=np.ones((3, 2)), theta=np.ones(2))
    refuses(read, "expected arrays features, theta, ground_truth, found features, theta")
    assert read(with_truth=False).truth is None
    np.savez(path, features=np.ones((3, 2)), theta=np.array([1.0, np.nan]))
    refuses(lambda: read(with_truth=False), r"expected finite theta of shape \(2,\)")
    refuses(lambda: lastfm.lastfm_instance("lastfm", True), "name must be one of lastfm-103")


def test_points_of_curves_are_read_from_the_names_of_series():
    rows = split_series(pd.DataFrame({"series": ["a, ε = 0.1", "b, ε = 0.2"]}), "ε")
    assert rows[["series", "x"]].to_numpy().tolist() == [["a", 0.1], ["b", 0.2]]
    refuses(lambda: split_series(rows, "m"), "expected series such as 'name, m = 3', got 'a'")


@pytest.mark.parametrize("policy", [MLinGape(3), LinGifa(3)], ids=lambda p: p.label)
def test_times_are_positive_and_one_per_repeat(policy):
    problem = instances.equal_gap_instance(6, 3, 3, 0.1)
    found = microseconds_per_pull(policy, problem, seed=1, n_replications=2, n_rounds=4, n_repeats=3)
    assert found.shape == (3,)
    assert (found > 0).all()

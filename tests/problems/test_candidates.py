"""Candidates of a box: their spread, their names, what is refused, and trials that fail."""

import numpy as np
from refusals import each_refused, refuses, refusing

from bestarm.interface import Ask
from bestarm.problems.box import Choice, Interval, unit_points
from bestarm.problems.candidates import Candidates, latin_hypercube

SPACE = {
    "depth": Interval(1, 9, whole=True),
    "rate": Interval(1e-4, 1.0, log=True),
    "share": Interval(-1.0, 1.0),
    "loss": Choice(("l1", "l2", None)),
}


def test_latin_hypercube_has_one_point_in_every_stratum():
    """Sorted and multiplied by n, the i-th coordinate is in [i, i + 1), in every dimension."""
    points = unit_points(100, 3, "latin", 0)
    np.testing.assert_array_equal(np.floor(np.sort(points, axis=0) * 100), np.arange(100)[:, None].repeat(3, 1))


def test_sobol_balances_halves_and_a_grid_is_its_cells():
    """64 scrambled Sobol points put 32 in each half; a grid of 9 in 2 dimensions has the centres of 3 x 3 cells."""
    assert ((unit_points(64, 4, "sobol", 3) < 0.5).sum(axis=0) == 32).all()
    grid = unit_points(9, 2, "grid", 0)
    levels = (0.166667, 0.5, 0.833333)
    assert sorted(map(tuple, grid.round(6))) == [(a, b) for a in levels for b in levels]


def test_values_obey_their_settings():
    """Whole numbers are whole and equally frequent, a log scale has half its values below the geometric mean."""
    candidates = latin_hypercube(SPACE, 900, seed=2)
    depth = np.array([s["depth"] for s in candidates.settings])
    assert set(depth) == set(range(1, 10))
    assert np.bincount(depth)[1:].min() >= 95
    rates = np.array([s["rate"] for s in candidates.settings])
    assert abs((rates < 1e-2).mean() - 0.5) < 0.01
    assert rates.min() >= 1e-4
    assert rates.max() <= 1.0
    assert all(isinstance(s["depth"], int) and s["loss"] in ("l1", "l2", None) for s in candidates.settings)


def test_features_are_in_the_unit_cube_and_options_at_distance_one():
    """Three numbers and three options make six columns; two options differ by 1 in distance, two bounds by 1."""
    features = latin_hypercube(SPACE, 300, seed=1).arms.features
    assert features.shape == (300, 6)
    assert features.min() >= 0
    assert features.max() <= 1
    options = np.unique(features[:, 3:], axis=0)
    assert len(options) == 3
    np.testing.assert_allclose(np.linalg.norm(options[0] - options[1]), 1.0)
    np.testing.assert_allclose(Interval(1, 100, log=True).features([1, 10, 100])[:, 0], [0, 0.5, 1])


def test_candidates_differ_and_a_small_space_gives_what_it_has():
    """Two settings of two values each are four candidates, however many are asked for."""
    candidates = latin_hypercube({"a": Interval(0, 1, whole=True), "b": Choice(("x", "y"))}, 50)
    assert sorted((s["a"], s["b"]) for s in candidates.settings) == [(0, "x"), (0, "y"), (1, "x"), (1, "y")]


test_what_is_refused = each_refused(
    (lambda: Interval(2.0, 1.0), "lower bound must be below"),
    (lambda: Interval(1.0, 1.0), "lower bound must be below"),
    (lambda: Interval(-np.inf, 0.0), "bounds must be finite"),
    (lambda: Interval(-1.0, 1.0, log=True), "bounds on a log scale must be positive, got -1.0 and 1.0"),
    (lambda: Choice(()), "at least two different options"),
    (lambda: latin_hypercube(SPACE, 1), "at least 2 points"),
    (lambda: latin_hypercube(SPACE, 2.5), "n must be a whole number of at least 2, got 2.5"),
    (lambda: latin_hypercube([Interval(0, 1)], 5), "the space must be a dict of names to Interval or Choice, got"),
    (lambda: Candidates({"x": Interval(0, 1)}, ({"x": 0.1},)).arms, "at least 2 arms"),
    (lambda: Interval(0.0, 1.0, log=True), "must be positive"),
    (lambda: Interval(0.5, 2.0, whole=True), "must be whole"),
    (lambda: Interval("a", 1), "bounds must be numbers, got 'a' and 1; a Choice has values by name"),
    (lambda: Interval(-1e308, 1e308), "the difference of the bounds must be finite, got -1e.308 and 1e.308"),
    (lambda: Interval(1e-300, 1e300, log=True), "the ratio of the bounds must be finite"),
    (lambda: Choice(("a", "a")), "two different"),
    (lambda: Choice("ab"), "options must be a tuple of values, got 'ab'; write Choice"),
    (lambda: Choice({"a", "b"}), "options must be a tuple of values"),
    (lambda: latin_hypercube(SPACE, True), "n must be a whole number of at least 2, got True"),
    (lambda: Candidates({"x": 3}, ({"x": 1},)), "x must be an Interval or a Choice, got 3"),
    (lambda: latin_hypercube({}, 10), "empty"),
    (lambda: unit_points(10, 2, "grid", 0), "whole number to that power"),
    (lambda: unit_points(10, 2, "halton", 0), "latin, sobol or grid"),
)


@refusing(
    ({"share": 5.0}, "arm 1: share must be of Interval.low=-1.0, high=1.0.* got 5.0; change one of the two"),
    ({"share": "0.5"}, "arm 1: share must be of Interval.* got '0.5'"),
    ({"rate": 0.0}, "arm 1: rate must be of Interval"),
    ({"depth": 2.5}, "arm 1: depth must be of Interval.*whole=True.* got 2.5"),
    ({"loss": "l3"}, "arm 1: loss must be of Choice.* got 'l3'"),
    ({"loss": ...}, "arm 1 has no 'loss', got .*; a setting needs every name of the space"),
)
def test_settings_outside_the_space_are_refused(changes):
    """Each error has the arm, the name, what is allowed and the value; bounds and all options are inside."""
    good = {"depth": 9, "rate": 1e-4, "share": -1.0, "loss": None}
    other = {k: v for k, v in (good | changes).items() if v is not ...}
    assert Candidates(SPACE, (good, good | {"depth": np.int64(1), "share": 1})).arms.n_arms == 2
    Candidates(SPACE, (good, other))


def test_a_trial_that_fails_is_marked_and_the_batch_goes_on():
    """An exception and a value that is not finite become NaN with their reason; the other trials keep theirs."""
    candidates = latin_hypercube({"x": Interval(0, 9, whole=True)}, 10)
    arms = np.array([[next(i for i, s in enumerate(candidates.settings) if s["x"] == x) for x in (0, 1, 2)]])

    def objective(x):
        if x == 0:
            raise RuntimeError("out of memory")
        return np.inf if x == 1 else 3.5

    totals, table = candidates.evaluate(objective, Ask(arms, np.ones_like(arms)))
    assert np.isnan(totals[0, :2]).all()
    assert totals[0, 2] == 3.5
    assert table["failure"].tolist() == ["RuntimeError: out of memory", "the value was inf", ""]
    assert table["x"].tolist() == [0, 1, 2]
    two = Ask(arms.repeat(2, 0), np.ones((2, 3), dtype=np.int64))
    refuses(lambda: candidates.evaluate(objective, two), "one replication")

"""Instances: known optima, candidates of each replication, regrets, tables that are searched, what is refused."""

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from bestarm.policies.batch_search import RandomBatch
from bestarm.problems.box import unit_points
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import DataUnavailable, available
from bestarm_lab.experiments.store import write_rows
from bestarm_lab.study import project_seed
from bestarm_objectives.fastxml.grid import HYPER_PARAMETERS, fastxml_rows, forest_rows
from bestarm_objectives.fastxml.points import read_split
from bestarm_objectives.walker.walking import BEST_SPEED, NOMINAL, walking_speeds
from bestarm_studies.dpp_bbo.abalone.experiments import abalone_instance, read_abalone, stand_in_abalone_instance
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, candidate_regret, stored_table
from bestarm_studies.dpp_bbo.fastxml.table import fastxml_instance, stand_in_fastxml_instance
from bestarm_studies.dpp_bbo.synthetic_functions import OBJECTIVES, synthetic_instance
from bestarm_studies.dpp_bbo.values import floors
from bestarm_studies.dpp_bbo.walker import experiments as robot


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=lambda o: o.name)
def test_optimum_is_taken_where_it_is_said_and_nowhere_exceeded(objective):
    """The gradient vanishes at inner maximisers (1e-4 by central differences), and no Sobol point is better."""
    assert objective.evaluate(np.array(objective.optimisers)) == pytest.approx(objective.optimum, abs=1e-7)
    for point in objective.optimisers:
        for shift in 1e-5 * np.eye(objective.dimension):
            slope = (objective.evaluate(np.array(point) + shift) - objective.evaluate(np.array(point) - shift)) / 2e-5
            assert abs(slope) < 1e-4
    assert objective.at(unit_points(2**14, objective.dimension, "sobol", 0)).max() < objective.optimum


def test_spreads_are_those_of_the_box():
    """The standard deviation over 2^17 Sobol points is the one stated, to its two or three digits."""
    for objective in OBJECTIVES.values():
        values = objective.at(unit_points(2**17, objective.dimension, "sobol", 1))
        assert values.std() == pytest.approx(objective.spread, rel=0.02)


def test_known_values():
    """Branin-Hoo at a corner by hand, Hartmann-6 in the middle, cosines at the far corner (u = 1.1)."""
    corner = OBJECTIVES["Branin-Hoo"].evaluate(np.array([0.0, 0.0]))
    assert corner == pytest.approx(-(36 + 10 * (1 - 1 / (8 * np.pi)) + 10))
    assert OBJECTIVES["Hartmann-6"].evaluate(np.full(6, 0.5)) == pytest.approx(0.5053149917022333)
    assert OBJECTIVES["Cosines"].at(np.ones(2)) == pytest.approx(1 - 2 * (1.21 - 0.3 * np.cos(3.3 * np.pi)))


def test_replications_have_candidates_of_their_own_whatever_their_number():
    """Replication 2 of 3 is replication 2 of 5; a grid is one set; the noise is a share of the spread."""
    few, many = (synthetic_instance("Hartmann-6", 64, n) for n in (3, 5))
    np.testing.assert_array_equal(few.features, many.features[:3])
    np.testing.assert_array_equal(many.take(np.array([2, 4])).means[0], few.means[2])
    assert few.sigma == pytest.approx(0.0039)
    assert synthetic_instance("Cosines", 49, 50, design="grid").features.shape == (49, 2)
    refuses(lambda: few.take(np.array([0, 3])), "candidates for 3 replications, replication 3")


def test_regrets_to_both_optima():
    """Regret to x* exceeds that to the best candidate by what discretisation costs, 0 if x* is a candidate."""
    problem = synthetic_instance("Branin-Hoo", 256, 4)
    regret = candidate_regret(problem, np.array([[0], [1], [2], [3]]))
    np.testing.assert_allclose(regret, problem.means.max(axis=1) - problem.means[range(4), range(4)])
    assert (floors(problem) > 0).all()
    exact = synthetic_instance("Branin-Hoo", 256, 4, with_optimum=True)
    np.testing.assert_allclose(exact.means.max(axis=1), exact.optimum, atol=1e-8)


def test_a_random_search_runs_on_every_objective():
    """Each replication learns the largest of its own candidates that it saw; regrets are not negative."""
    for name in OBJECTIVES:
        problem = synthetic_instance(name, 64, 3, noise=0.0)
        streams = Streams.first(3, instance=problem.label)
        rows = simulate(RandomBatch("Random", 8, 8), problem, streams, metrics={"regret": candidate_regret})
        np.testing.assert_allclose(rows["regret"], 0.0, atol=1e-12)  # all 64 are seen


def test_what_is_refused():
    """Unknown names, negative noise, and values above the optimum."""
    refuses(lambda: synthetic_instance("Rosenbrock"), "Branin-Hoo")
    refuses(lambda: synthetic_instance("Cosines", noise=-1.0), "noise not negative")
    refuses(lambda: CandidateArms("x", np.eye(3), np.array([[0.0, 1.0, 2.0]]), optimum=1.5), "more than optimum")


def test_reading_abalone(tmp_path):
    """Sex becomes a number."""
    path = tmp_path / "abalone.data"
    path.write_text("M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\nF,0.53,0.42,0.135,0.677,0.2565,0.1415,0.21,9\n")
    table = read_abalone(path)
    assert (table.features[:, 0].tolist(), table.target.tolist()) == ([1.0, 0.0], [15.0, 9.0])


def test_abalone_stand_in_has_the_form_of_the_data():
    """Eight features in [0, 1], a single best snail, marked as a stand-in."""
    problem = stand_in_abalone_instance()
    assert (problem.data, problem.features.shape) == ("stand-in", (1000, 8))
    assert (problem.means == problem.means.max()).sum() == 1


@pytest.mark.skipif(not available("abalone"), reason="nobody has the Abalone table")
def test_abalone_is_the_table_of_the_paper():
    """4177 snails; the oldest is one with 29 rings, 5.9 standard deviations above the mean; 5 have 25 or more."""
    problem = abalone_instance()
    assert problem.features.shape == (4177, 8)
    assert (problem.data, problem.features.min(), problem.features.max()) == ("real", 0, 1)
    assert problem.optimum == pytest.approx((29 - 9.9337) / 3.2238, abs=2e-3)
    rings = problem.means[0] * 3.2238 + 9.9337
    assert ((rings > 28.5).sum(), (rings > 24.5).sum(), floors(problem).tolist()) == (1, 5, [0.0])
    part = abalone_instance(500)
    assert (part.features.shape, part.optimum) == ((500, 8), problem.optimum)


def test_a_table_of_fastxml_is_searched(tmp_path, monkeypatch):
    """Values are means over forests, features are ranks of levels, a part keeps the best, the label has a digest."""
    monkeypatch.setattr("bestarm_objectives.fastxml.grid.available", lambda *names: False)
    rows = fastxml_rows("Bibtex", 2, (1, 3), (0.0, 1.0), (1.0, 10.0), (2, 20), (2, 10))
    assert (len(rows), set(rows["data"])) == (2 * 32, {"stand-in"})
    file = tmp_path / "fastxml_bibtex.parquet"
    write_rows(rows.assign(data="real"), file, "dpp_bbo/fastxml_bibtex@laptop")
    problem = fastxml_instance("Bibtex", None, file=file)
    assert (problem.features.shape, set(problem.features.ravel())) == ((32, 5), {0.0, 1.0})
    assert problem.optimum == pytest.approx(rows.groupby(list(HYPER_PARAMETERS))["p1"].mean().max())
    assert problem.sigma > 0
    part = fastxml_instance("Bibtex", 10, file=file)
    assert (part.features.shape, part.optimum) == ((10, 5), problem.optimum)
    write_rows(rows.assign(data="real", p1=0.9 * rows["p1"]), file, "dpp_bbo/fastxml_bibtex@laptop")
    assert fastxml_instance("Bibtex", None, file=file).label != problem.label
    stand_in = stand_in_fastxml_instance("Delicious", 64)
    assert (stand_in.data, stand_in.features.shape) == ("stand-in", (64, 5))


def test_a_table_of_walks_is_searched(tmp_path):
    """Candidates of each replication are walks of the table; other walks make another label."""
    rows = robot.walker_rows(1, 256).assign(data="synthetic")
    write_rows(rows, tmp_path / "walker_table.parquet", "dpp_bbo/walker_table@laptop")
    problem = robot.walker_instance(64, 3, file=tmp_path / "walker_table.parquet")
    assert problem.features.shape == (3, 64, 8)
    np.testing.assert_allclose(walking_speeds(problem.features[1, :5]), problem.means[1, :5], atol=0.51e-7)
    assert problem.optimum == BEST_SPEED
    write_rows(rows.assign(speed=rows["speed"] / 2), tmp_path / "walker_table.parquet", "dpp_bbo/walker_table@laptop")
    assert robot.walker_instance(64, 3, file=tmp_path / "walker_table.parquet").label != problem.label
    with pytest.raises(DataUnavailable):
        robot.walker_instance(64, 3, file=tmp_path / "absent.parquet")
    assert robot.stand_in_walker_instance(32, 2).data == "stand-in"


def test_a_quarter_of_the_walkers_around_the_gait_fall():
    """The second reading of the robot; its middle is the gait of the book, which walks."""
    middle = walking_speeds(robot.around_nominal(np.full((1, 8), 0.5)))
    assert middle == pytest.approx(walking_speeds(np.array([NOMINAL])))
    assert middle[0] > 0
    table = robot.nominal_rows(1, 512)
    assert 0.2 < (table["speed"] == 0).mean() < 0.3
    points = robot.around_nominal(table[list(robot.INPUTS)].to_numpy()[:9])
    assert walking_speeds(points) == pytest.approx(table["speed"][:9])
    made = robot.stand_in_nominal_instance(n_arms=64, replications=2)
    assert (made.features.shape, made.data) == ((2, 64, 8), "stand-in")


def test_the_walker_around_the_gait_is_searched_on_its_table(tmp_path):
    file = tmp_path / "table.parquet"
    table = robot.nominal_rows(1, 128)
    write_rows(table.assign(data="synthetic", key="k"), file, f"dpp_bbo/{robot.NOMINAL_TABLE}@laptop")
    problem = robot.nominal_instance(64, 3, file=file)
    assert (problem.optimum, problem.features.shape) == (table["speed"].max(), (3, 64, 8))
    np.testing.assert_array_equal(robot.nominal_instance(64, 2, file=file).means, problem.means[:2])
    refuses(lambda: robot.nominal_instance(200, file=file), "n_arms must be between 2 and the 128 walks")


@pytest.mark.skipif(not available("bibtex-train", "bibtex-test"), reason="nobody has Bibtex")
def test_the_kept_table_is_that_of_the_present_code():
    """A rebuild does not grow its forests again: two trees at the settings of their authors are those of the table."""
    table, _ = stored_table("fastxml_bibtex")
    mine = table.query("trees <= 2 and bias == 1 and cost == 1")[[*HYPER_PARAMETERS, "p1", "p3", "p5"]]
    grown = forest_rows(*read_split("Bibtex"), bias=1.0, cost=1.0, trees=(1, 2), forest=1_000_003 * project_seed())
    pd.testing.assert_frame_equal(grown, mine.reset_index(drop=True), check_dtype=False, check_exact=True)

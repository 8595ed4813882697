"""UCI tables, landscapes and fitted responses: what is read, what is refused, what the paper says of them."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import refused, refuses
from scipy.signal import argrelmax

from bestarm.models.mlp_fit import Training
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.datasets import registry
from bestarm_lab.experiments.run import make_rows
from bestarm_lab.study import load_study
from bestarm_studies.oae import uci_sets
from bestarm_studies.oae.landscapes import HOLES, LANDSCAPES, four_hills, landscape, one_hill
from bestarm_studies.oae.uci_sets import stand_in_fitted_instance, teacher_responses

BIKES = """instant,dteday,season,temp,casual,registered,cnt
1,2011-01-01,1,0.3,10,20,30
2,2011-01-02,1,0.5,20,5,25
3,2011-01-03,2,0.1,0,7,7
4,2011-01-04,2,0.7,4,4,8
"""
BANK = """"age";"job";"duration";"nr.employed";"y"
30;"admin.";100;5191;"no"
40;"nonexistent";200;5000;"yes"
50;"unknown";300;5191;"no"
"""
ADULT = """39, State-gov, 77516, Bachelors, 13, Never-married, Clerical, Own, White, Male, 2174, 0, 40, Cuba, <=50K
50, ?, 83311, Bachelors, 13, Married, Exec, Husband, White, Male, 0, 0, 13, ?, >50K
38, Private, 215646, HS-grad, 9, Divorced, Cleaners, Own, Black, Female, 0, 5, 40, Cuba, <=50K
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str):
        path = tmp_path / "table.csv"
        path.write_text(text)
        return path

    return write


def test_bike_sharing(written):
    """The date, the number and the target's parts are no features; numbers are standardised."""
    table = uci_sets.read_bike_sharing(written(BIKES))
    assert (table.names, table.target.tolist()) == (("season", "temp"), [30, 25, 7, 8])
    np.testing.assert_allclose(table.features[:, 0], [-1, -1, 1, 1])
    np.testing.assert_allclose(table.features.std(axis=0), 1.0)
    with_parts = uci_sets.read_bike_sharing(written(BIKES), parts_of_target=True)
    assert with_parts.names == ("season", "temp", "casual", "registered")


def test_parts_of_the_target_make_a_linear_fit_exact(written):
    """Least squares on casual and registered leave no residual (1e-9)."""
    table = uci_sets.read_bike_sharing(written(BIKES), parts_of_target=True)
    design = np.column_stack([table.features[:, 2:], np.ones(4)])
    np.testing.assert_allclose(design @ np.linalg.lstsq(design, table.target, rcond=None)[0], table.target, atol=1e-9)


def test_bank_and_adult(written):
    """Words become 0/1 columns, a question mark or 'nonexistent' is a word like another; targets are 0 and 1."""
    bank = uci_sets.read_bank_marketing(written(BANK))
    assert bank.names == ("age", "duration", "nr.employed", "job_admin.", "job_nonexistent", "job_unknown")
    assert bank.target.tolist() == [0, 1, 0]
    np.testing.assert_allclose(bank.features[:, 3:], np.eye(3))
    adult = uci_sets.read_adult(written(ADULT))
    assert adult.target.tolist() == [0, 1, 0]
    assert "workclass_?" in adult.names
    assert adult.features.shape == (3, 6 + 3 + 2 + 3 + 3 + 2 + 2 + 2 + 2)
    words = adult.features[:, [i for i, name in enumerate(adult.names) if name.startswith("native-country_")]]
    assert words.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_blog_feedback_loses_its_first_row(written):
    """Which has no header, and is taken for one; the last column is the target."""
    text = "\n".join(",".join(f"{i + j}.0" for j in range(281)) for i in range(4))
    table = uci_sets.read_blog_feedback(written(text))
    assert (table.features.shape, table.target.tolist()) == ((3, 280), [281, 282, 283])
    np.testing.assert_allclose(table.features[:, 0], uci_sets.standard(np.arange(3.0)))


def test_standard_columns():
    found = uci_sets.standard(np.column_stack([np.arange(5.0), np.full(5, 7.0)]))
    np.testing.assert_allclose(found[:, 0].std(), 1.0)
    assert not found[:, 1].any()


@pytest.mark.parametrize("name", uci_sets.UCI_SETS)
def test_the_papers_sizes(name, monkeypatch):
    """Rows as printed, features as documented, a standardised response; the same rows each time, others by seed."""
    about = uci_sets.UCI_SETS[name]
    if not registry.available(about.file):
        pytest.skip(f"{about.file} cannot be had")
    table = uci_sets.read_uci(name)
    monkeypatch.setattr(uci_sets, "read_uci", lambda *_, **__: table)
    problem = uci_sets.uci_instance(name)
    assert problem.features.shape == (about.printed[0], about.n_features)
    assert problem.means.shape == (1, about.printed[0])
    assert (problem.means.mean(), problem.means.std()) == (pytest.approx(0.0, abs=1e-9), pytest.approx(1.0))
    assert problem.data == "real"
    assert np.isfinite(problem.features).all()
    assert uci_sets.uci_instance(name, n_arms=50).label == f"{name} K=50"
    few, other = uci_sets.uci_instance(name, n_arms=50), uci_sets.uci_instance(name, n_arms=50, seed=1)
    assert few.features.shape == (50, about.n_features)
    np.testing.assert_array_equal(few.features, uci_sets.uci_instance(name, n_arms=50).features)
    assert (few.features != other.features).any()
    refuses(lambda: uci_sets.uci_instance(name, n_arms=10**6), "n_arms must be between 2 and the")


def test_real_targets():
    """Two classes where the paper says binary; 24.1% and 11.3% of them ones."""
    if not registry.available("adult", "bank-marketing"):
        pytest.skip("adult and bank-marketing cannot be had")
    assert uci_sets.read_uci("Adult").target.mean() == pytest.approx(7841 / 32561)
    assert uci_sets.read_uci("Bank").target.mean() == pytest.approx(4640 / 41188)


@pytest.mark.parametrize("name", ["BikeSharingDay", "BikeSharingHour"])
def test_parts_of_the_real_target_leak(name):
    """With casual and registered the least-squares residual is 0 (1e-9 of the variance), without it is not."""
    if not registry.available(uci_sets.UCI_SETS[name].file):
        pytest.skip(f"{name} cannot be had")
    for leaks in (True, False):
        problem = uci_sets.uci_instance(name, parts_of_target=leaks)
        assert problem.features.shape[1] == uci_sets.UCI_SETS[name].n_features + 2 * leaks
        design = np.column_stack([problem.features, np.ones(problem.means.shape[1])])
        residual = problem.means[0] - design @ np.linalg.lstsq(design, problem.means[0], rcond=None)[0]
        assert (residual.var() < 1e-9) == leaks


@pytest.mark.parametrize("make", [uci_sets.uci_instance, uci_sets.stand_in_uci_instance, uci_sets.read_uci])
def test_unknown_sets(make):
    """An unknown name, parts of a target that has none."""
    refuses(lambda: make("Iris"), "name must be one of BikeSharingDay")
    refuses(lambda: make("Adult", parts_of_target=True), "parts_of_target is for the two bicycle sets")


@pytest.mark.parametrize("name", uci_sets.UCI_SETS)
def test_stand_ins_have_the_schema(name):
    """As many features and at most 2000 rows, standardised, said to be a stand-in, reproducible."""
    about, problem = uci_sets.UCI_SETS[name], uci_sets.stand_in_uci_instance(name)
    assert problem.features.shape == (min(2000, about.n_rows), about.n_features)
    assert problem.data == "stand-in"
    assert problem.label != name
    assert problem.means.std() == pytest.approx(1.0)
    np.testing.assert_array_equal(problem.means, uci_sets.stand_in_uci_instance(name).means)
    assert (problem.means != uci_sets.stand_in_uci_instance(name, seed=1).means).any()
    assert uci_sets.stand_in_uci_instance(name, n_arms=10).features.shape == (10, about.n_features)


@pytest.mark.parametrize("name", LANDSCAPES)
def test_arms_of_landscapes(name):
    """1000 distinct arms in [-10, 10], uniform outside the hole, which is empty; their own in each replication."""
    law = landscape(name)
    problem = law.take(np.arange(20))
    x = problem.features[..., 0]
    assert x.shape == (20, 1000)
    assert np.abs(x).max() <= 10
    assert len(np.unique(x)) == x.size
    np.testing.assert_array_equal(problem.means, law.evaluate(x))
    low, high = HOLES["one" if name.startswith("One") else "four"]
    assert (((x > low) & (x < high)).sum() == 0) == name.endswith("Hole")
    measure = 20 - (high - low) * name.endswith("Hole")
    assert abs((x < -5).mean() - 5 / measure) < 4.5 * np.sqrt(0.25 * 0.75 / x.size)
    np.testing.assert_array_equal(law.take(np.array([7])).features[0], problem.features[7])
    assert (landscape(name, seed=1).take(np.arange(1)).features != problem.features[:1]).all()


def test_one_hill_has_one_summit():
    """At 3, height 1, rising before and falling after; variance over uniform arms 0.18."""
    x = np.linspace(-10, 10, 200_001)
    y = one_hill(x)
    assert (x[y.argmax()], y.max()) == (pytest.approx(3.0, abs=1e-3), pytest.approx(1.0, abs=1e-3))
    slopes = np.diff(y)
    assert (slopes[x[:-1] < 2.999] > 0).all()
    assert (slopes[x[:-1] > 3.001] < 0).all()
    assert y.var() == pytest.approx(0.18, abs=0.006)
    np.testing.assert_allclose(one_hill(np.array([1.5, 3.75])), [0.755, 0.932], atol=1e-3)


def test_four_hills_have_four_summits():
    """At -8, -3, 2 and 7, heights 0.55, 0.80, 0.65 and 1; variance 0.076; the hole's edges as documented."""
    x = np.linspace(-10, 10, 20_001)
    y = four_hills(x)
    summits = argrelmax(y)[0]
    np.testing.assert_allclose(x[summits], [-8, -3, 2, 7], atol=2e-3)
    np.testing.assert_allclose(y[summits], [0.55, 0.80, 0.65, 1.00], atol=1e-4)
    assert y.var() == pytest.approx(0.076, abs=2e-3)
    np.testing.assert_allclose(four_hills(np.array([6.0, 7.25])), [0.539, 0.962], atol=1e-3)


@pytest.mark.parametrize("name", LANDSCAPES[1::2])
def test_the_best_arms_lie_right_of_the_hole(name):
    """All of the top 1% in at least 98% of the replications; the summit itself has no arm."""
    problem = landscape(name).take(np.arange(100))
    x, high = problem.features[..., 0], HOLES["one" if name.startswith("One") else "four"][1]
    top = np.take_along_axis(x, np.argsort(-problem.means, axis=1)[:, :10], axis=1)
    assert (top >= high).all(axis=1).mean() >= 0.98


def test_the_highest_hill_holds_the_best_arms():
    """Without a hole the top 1% of the four hills is around 7."""
    problem = landscape("MultiValleyOneDim").take(np.arange(100))
    top = np.take_along_axis(problem.features[..., 0], np.argsort(-problem.means, axis=1)[:, :10], axis=1)
    assert (np.abs(top - 7) < 1).all()


def test_island_and_other_variants():
    """A ring without arms around a summit that is there; wider hills; a factor that leaves the arms alone."""
    away = np.abs(landscape("MultiValleyOneDimHole", hole="island").take(np.arange(10)).features[..., 0] - 7)
    assert not ((away > 0.1) & (away < 1.5)).any()
    assert (away <= 0.1).any()
    assert len({landscape("MultiValleyOneDimHole", **s).label for s in ({}, {"hole": "island"}, {"width": 1.2})}) == 3
    assert landscape("MultiValleyOneDim", width=1.2).evaluate(np.array([5.0])) > four_hills(np.array([5.0]))
    once, twice = (landscape("OneHillValleyOneDim", scale=s).take(np.arange(2)) for s in (1.0, 2.0))
    np.testing.assert_array_equal(once.features, twice.features)
    np.testing.assert_allclose(2 * once.means, twice.means)


test_bad_landscapes = refused(
    lambda settings: landscape(**settings),
    ({"name": "TwoHills"}, "name must be one of"),
    ({"name": LANDSCAPES[1], "hole": "pit"}, "hole must be 'interval' or 'island'"),
    ({"name": LANDSCAPES[0], "n_arms": 1}, "n_arms must be at least 2"),
    ({"name": LANDSCAPES[0], "width": 0.0}, "width and scale positive"),
    ({"name": LANDSCAPES[0], "scale": np.nan}, "width and scale positive"),
)

test_bad_arms = refused(
    lambda settings: NoiselessArms(**({"label": "bad", "features": np.eye(3), "means": np.zeros((1, 3))} | settings)),
    ({"means": np.zeros(3)}, "means must have one entry per arm"),
    ({"means": np.zeros((1, 4))}, "means must have one entry per arm"),
    ({"means": np.array([[0.0, np.nan, 1.0]])}, "got nan of arm 1; drop this arm"),
    ({"sigma": -1.0}, "sigma must be at least 0"),
    ({"sigma": np.nan}, "sigma must be at least 0"),
    ({"evaluations": 0}, "evaluations at least 1"),
)


def test_fitted_responses_are_standardised_and_reproducible():
    """Mean 0, standard deviation 1, near what was fitted, another for another class; the linear class fits a plane."""
    real, runs = uci_sets.stand_in_uci_instance("BikeSharingDay"), np.arange(2)
    laws = {h: stand_in_fitted_instance("BikeSharingDay", h, steps=800) for h in ((), (10, 5))}
    made = {hidden: law.take(runs) for hidden, law in laws.items()}
    for hidden, problem in made.items():
        np.testing.assert_allclose(problem.means.mean(axis=1), 0.0, atol=1e-9)
        np.testing.assert_allclose(problem.means.std(axis=1), 1.0)
        np.testing.assert_array_equal(problem.features, real.features)
        assert np.corrcoef(real.means[0], problem.means)[0, 1:].min() > 0.5
        assert problem.label == laws[hidden].label != real.label
        assert problem.data == laws[hidden].data == "stand-in"
        again = stand_in_fitted_instance("BikeSharingDay", list(hidden), steps=800).take(runs)
        np.testing.assert_array_equal(again.means, problem.means)
    assert made[()].label != made[(10, 5)].label
    design = np.column_stack([real.features, np.ones(len(real.features))])
    plane = design @ np.linalg.lstsq(design, made[()].means[0], rcond=None)[0]
    np.testing.assert_allclose(plane, made[()].means[0], atol=1e-4)


def test_each_run_has_a_teacher_of_its_own():
    """Two runs, two responses; features are shared; which runs are fitted together changes no bit."""
    law = stand_in_fitted_instance("BikeSharingDay", (10, 5), steps=60)
    together = law.take(np.arange(20))
    assert (together.features.ndim, len(np.unique(together.means, axis=0))) == (2, 20)
    apart = np.concatenate([law.take(some).means for some in (np.array([3]), np.arange(15, 18), np.array([0, 19]))])
    np.testing.assert_array_equal(apart, together.means[[3, 15, 16, 17, 0, 19]])
    refuses(lambda: law.arms, r"call problem\.take")


def test_searches_of_fitted_responses_do_not_depend_on_blocks(tmp_path):
    """Rows of two runs in one block and in two are equal; each run is judged by its own teacher."""
    search = load_study("oae").experiments["fitted_10_5"]
    law = partial(stand_in_fitted_instance, hidden=(10, 5), steps=20)
    series = {name: search.series[name] for name in ("RandomBatch", "MeanOpt 0.1")}
    small = replace(search, problem=law, stand_in=None, series=series)
    rows = {n: make_rows(replace(small, block=n), "smoke", seed=1, store=tmp_path / str(n)) for n in (1, 2)}
    pd.testing.assert_frame_equal(rows[1].drop(columns="key"), rows[2].drop(columns="key"))
    means = law("BikeSharingDay").take(np.arange(2)).means
    first = rows[2][(rows[2]["round"] == 1) & (rows[2]["name"] == "BikeSharingDay")]
    for run, mine in first[first["series"] == "RandomBatch"].groupby("replication"):
        place = int(mine["rank"].iloc[0]) - 1
        best = np.sort(means[run])[::-1]
        regret = (best[0] - best[place]) / (best[0] - best[-1])
        assert mine["relative_regret"].iloc[0] == pytest.approx(regret, rel=1e-6)


def test_dead_teachers_are_tried_again(monkeypatch):
    """A run takes its first network that is not constant, the others stay; ten dead ones in a row are an error."""
    table, fitted = uci_sets.stand_in_uci_instance("Adult", n_arms=20), []
    training, runs = Training((4,), steps=2), np.array([4, 7, 9])
    living = np.random.default_rng(1).standard_normal((3, 20))

    def outputs(training, data, parameters):
        fitted.append(parameters.clone())
        dead = [np.zeros(20), np.full(20, np.nan)]
        return np.array([[living[0], dead[0], living[2]], [dead[1]], [living[1]]][len(fitted) - 1])

    monkeypatch.setattr(uci_sets, "predict", outputs)
    np.testing.assert_allclose(teacher_responses(table, training, runs), [uci_sets.standard(mine) for mine in living])
    assert [len(parameters) for parameters in fitted] == [3, 1, 1]
    assert (fitted[0][1] != fitted[1][0]).any()
    assert (fitted[1][0] != fitted[2][0]).any()
    monkeypatch.setattr(uci_sets, "predict", lambda _, data, __: np.full((len(data.row), 20), np.nan))
    with pytest.raises(RuntimeError, match=r"for replication 4 were all constant; lower the learning rate"):
        teacher_responses(table, training, runs)

"""Settings of a scikit-learn estimator tried in batches: as scikit-learn's own searches do, and better informed."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scipy.stats import loguniform, randint, uniform

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'bestarm[sklearn]'")
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, RandomizedSearchCV
from sklearn.utils.estimator_checks import check_estimator

import bestarm
from bestarm.search.tuning import BatchSearchCV, as_table, drawn

X = np.random.default_rng(0).normal(size=(30, 2))
Y = X[:, 0]
SPACE = {"a": uniform(-2, 3.5), "b": loguniform(1e-5, 1e3)}


class Hill(RegressorMixin, BaseEstimator):
    """An estimator whose score is known: highest at a = 1 and b = 0.01 on a logarithmic scale."""

    def __init__(self, a=0.0, b=1.0, kind="smooth"):
        self.a, self.b, self.kind = a, b, kind

    def fit(self, x, y):
        if self.kind == "broken" or self.a > 1.8:
            raise RuntimeError("does not fit")
        self.n_features_in_ = x.shape[1]
        return self

    def predict(self, x):
        return np.zeros(len(x))

    def score(self, x, y):
        return float(np.exp(-((self.a - 1.0) ** 2) - (np.log10(self.b) + 2.0) ** 2))


def tuned(space=SPACE, **settings):
    settings = {"n_iter": 24, "batch_size": 4, "cv": 2, "random_state": 0, "policy": "gp"} | settings
    return BatchSearchCV(Hill(), space, **settings).fit(X, Y)


@pytest.mark.parametrize(("estimator", "name"), [(LogisticRegression(), "C"), (Ridge(), "alpha")])
def test_it_passes_the_checks_that_scikit_learn_s_own_search_passes(estimator, name):
    """`check_estimator` finds nothing that it does not find in `RandomizedSearchCV` of the same estimator.

    That is nothing for a classifier. For a regressor that takes two-dimensional responses, neither search warns of
    those (check_supervised_y_2d), which scikit-learn lists as expected of its own searches.
    """
    space = {name: loguniform(1e-2, 1e2)}
    own = BatchSearchCV(estimator, space, n_iter=4, batch_size=2, n_candidates=8, cv=2, random_state=0)
    theirs = RandomizedSearchCV(estimator, space, n_iter=4, cv=2, random_state=0)
    found = []
    for search in (own, theirs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(search, on_fail=None, on_skip=None)
        assert sum(result["status"] == "passed" for result in results) > 40
        found.append({result["check_name"] for result in results if result["status"] == "failed"})
    assert found[0] == found[1]
    assert found[0] <= {"check_supervised_y_2d"}


def test_later_batches_are_better_than_random_ones():
    """Of twelve searches the median trial of the last batch is far above that of the first, which is random."""
    found = (pd.DataFrame(tuned(random_state=seed).cv_results_) for seed in range(12))
    medians = [results.groupby("batch")["mean_test_score"].median() for results in found]
    gain = np.array([each[6] - each[1] for each in medians])
    assert gain.mean() > 4.0 * gain.std(ddof=1) / np.sqrt(12)


def test_results_have_the_form_of_scikit_learn():
    """Batches, no setting twice, the best one refitted; equal seeds agree, copies and pickles too."""
    found = tuned()
    results = found.cv_results_
    assert results["batch"].tolist() == [1 + i // 4 for i in range(24)]
    assert len({(p["a"], p["b"]) for p in results["params"]}) == 24
    assert found.best_score_ == results["mean_test_score"].max()
    assert found.best_params_ == results["params"][results["mean_test_score"].argmax()]
    assert found.best_estimator_.get_params()["a"] == found.best_params_["a"]
    assert isinstance(found.search_, bestarm.Search)
    assert found.search_.history["reward"].tolist() == results["mean_test_score"].tolist()
    assert [found.candidates_[int(n)] for n in found.search_.history["name"]] == results["params"]
    assert len(found.search_.predict()) == len(found.candidates_) == 300
    assert found.search_.check() == []
    assert clone(found).fit(X, Y).cv_results_["params"] == results["params"]
    assert pickle.loads(pickle.dumps(found)).search_.ask(3)["name"].tolist() == found.search_.ask(3)["name"].tolist()
    assert tuned(random_state=1).cv_results_["params"] != results["params"]


def test_two_jobs_find_what_one_does():
    one, two = tuned(n_iter=8), tuned(n_iter=8, n_jobs=2)
    assert one.cv_results_["params"] == two.cv_results_["params"]


@pytest.mark.parametrize("size", [1.0, 1e-170])
def test_batches_have_the_same_splits_and_tiny_scores_are_0(size):
    parts = set()
    found = tuned(
        n_iter=8, cv=KFold(3, shuffle=True), scoring=lambda e, x, y: parts.add(x.sum()) or size * e.score(x, y)
    )
    assert (len(parts), found.n_splits_, len(found.cv_results_["split2_test_score"])) == (3, 3, 8)
    scores, told = found.cv_results_["mean_test_score"], found.search_.history["reward"]
    np.testing.assert_array_equal(told, scores if size == 1.0 else 0.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:.*non-finite")
def test_a_trial_that_fails_is_not_repeated_and_ends_nothing():
    """Its score is NaN and the search goes on; a first batch that fails as a whole ends it, as in scikit-learn."""
    with pytest.warns(FitFailedWarning, match="no fit of batch 3 succeeded; cv_results_ has none of it"):
        found = tuned({"a": uniform(0.0, 3.0), "b": loguniform(1e-5, 1e3)})
    scores, states = found.cv_results_["mean_test_score"], found.search_.states
    assert 0 < np.isnan(scores).sum() < len(scores) < 24 == (states != "unmeasured").sum()
    assert (states == "failed").sum() == np.isnan(scores).sum() + 24 - len(scores)
    assert found.best_params_["a"] <= 1.8
    with pytest.raises(ValueError, match="All the 8 fits failed"):
        tuned({"a": uniform(0.0, 1.0), "kind": ["broken"]})


test_odd_settings_are_refused = refused(
    lambda settings: tuned(**settings),
    ({"batch_size": 0}, "batch_size must be a whole number of at least 1, got 0"),
    ({"n_candidates": 2.5}, "n_candidates must be a whole number of at least 1, got 2.5"),
    ({"n_iter": 0}, "n_iter"),
    ({"policy": "gpp"}, "there is no policy 'gpp'"),
    ({"space": {"a": 3.0}}, "'a'"),
    ({"space": {"z": uniform(0, 1)}}, "Invalid parameter 'z'"),
    error=(ValueError, TypeError),
)


def test_several_metrics():
    scoring = {"height": lambda e, x, y: e.score(x, y), "depth": lambda e, x, y: -e.score(x, y)}
    found = tuned(scoring=scoring, refit="depth", n_iter=12)
    assert found.search_.history["reward"].tolist() == found.cv_results_["mean_test_depth"].tolist()


def test_settings_as_candidates():
    """Wide positive numbers by their logarithm, words and truth values as words, what is absent as a gap."""
    space = [{"a": [1.0, 1000.0], "kind": ["x", None]}, {"kind": [True, "1", 1]}]
    settings = drawn(space, 100, np.random.RandomState(0))
    assert len(settings) == 7
    table = as_table(settings)
    assert (set(table["param_a"].dropna()), table["param_a"].isna().sum()) == ({0.0, 3.0}, 3)
    kinds = [f"param_kind={word}" for word in ("NoneType None", "bool True", "int 1", "str '1'", "str 'x'")]
    assert [column for column in table.columns if column.startswith("param_kind")] == kinds
    assert (table[kinds].sum(axis=1) == 1).all()
    odd = as_table([{"depth": depth} for depth in [None, *range(1, 40)]])
    assert odd["param_depth"].isna().sum() == odd["param_depth=NoneType None"].sum() == 1
    assert as_table([{"n": 1}, {"n": 99}])["param_n"].tolist() == [1.0, 99.0]
    assert len(drawn({"n": randint(0, 5)}, 100, np.random.RandomState(0))) == 5
    assert len(tuned(n_iter=31, batch_size=31, policy="random").candidates_) == 310
    with pytest.warns(UserWarning, match="all 2 settings are tried, no policy chooses; make n_iter .30. smaller"):
        few = BatchSearchCV(Hill(), {"a": [0.0, 1.0]}, cv=2).fit(X, Y)
    assert (few.search_, few.best_params_) == (None, {"a": 1.0})

"""Series with one thing changed: how they are made, how their names are read back, and what each sets."""

from functools import partial

import pytest

from bestarm.policies.linear.gse import Gse
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm_lab.experiments.series import (
    Series,
    algorithm_and_change,
    changed,
    name_of_change,
    one_change,
    setting_of_each,
)


@pytest.mark.parametrize(("algorithm", "change"), [("A", "B"), ("LinGIFA (τ^LUCB)", "ρ = 1 in V"), ("A", "b | c")])
def test_a_name_is_read_back_as_it_was_made(algorithm, change):
    assert algorithm_and_change(name_of_change(algorithm, change)) == (algorithm, change)
    assert algorithm_and_change(algorithm) == (algorithm, "")


def test_each_series_differs_in_its_change_alone():
    policies, problems = {"B": {"alpha": 0.5}, "C": {"disjoint": True}}, {"D": {"n_features": 4}}
    found = one_change("A", partial(LinUcb, alpha=2.0), policies, problems)
    assert list(found) == ["A", "A | B", "A | C", "A | D"]
    settings = [found[name].keywords for name in ("A", "A | B", "A | C")]
    assert settings == [{"alpha": 2.0}, {"alpha": 0.5}, {"alpha": 2.0, "disjoint": True}]
    assert found["A | D"].problem == {"n_features": 4}
    assert found["A | D"].policy.keywords == {"alpha": 2.0}
    assert list(one_change("A", partial(LinUcb), {"B": {"alpha": 0.5}}, itself=False)) == ["A | B"]


def test_a_series_keeps_what_is_not_changed():
    others = {"label": "A", "problem": {"n_arms": 8}, "replications": 5, "budgets": [10]}
    series = Series(partial(Gse), partial(Gse, rounds_down=True), **others)
    other = changed(series, {"allocation": "greedy"}, {"n_features": 4})
    assert other.policy.keywords == {"allocation": "greedy"}
    assert other.coded.keywords == {"rounds_down": True, "allocation": "greedy"}  # as coded it has the change, too
    assert other.problem == {"n_arms": 8, "n_features": 4}
    assert (other.label, other.replications, other.budgets) == ("A", 5, [10])
    policy = changed(LinUcb(label="A", budget=8), {"alpha": 0.5})
    assert (policy.label, policy.budget, policy.alpha) == ("A", 8, 0.5)


def test_a_setting_of_each_series_is_that_of_its_problem_then_of_its_policy():
    series = {
        "on the problem": Series(partial(LinUcb, alpha=1.0), problem={"alpha": 2.0}),
        "in a partial": partial(LinUcb, alpha=3.0),
        "in a policy": LinUcb(label="A", budget=8, alpha=4.0),
    }
    assert setting_of_each(series, "alpha") == {"on the problem": 2.0, "in a partial": 3.0, "in a policy": 4.0}
    with pytest.raises(ValueError, match="A sets no alpha; it sets: disjoint"):
        setting_of_each({"A": partial(LinUcb, disjoint=True)}, "alpha")

"""Experiments that vary settings of their problem: cells, budgets per arm, fewer runs, tuning draws."""

import numpy as np
import pytest

from bestarm.experiments import definitions
from bestarm.experiments.construct import make_series
from bestarm.experiments.definitions import load_experiment
from bestarm.experiments.run import instance_of, run_experiment

GSE = {"make": "gse.Gse"}
SPHERE = {"make": "structured_instances.sphere_instance", "n_features": 3}


@pytest.fixture
def ledger(monkeypatch):
    """Return a small ledger in the place of the committed ones."""
    experiment = {
        "problem": dict(SPHERE),
        "vary": {"n_arms": [4, 6], "variance": [1.0, 2.0]},
        "every_series": {"budgets": {"per_arm": [5, 10]}},
        "series": {"A": dict(GSE), "B": {"make": "lin_ucb.LinUcb", "within": {"n_arms": 4}, "replications": 3}},
        "conventions": ["as_written", "as_coded"],
        "metrics": ["correct", "simple_regret"],
        "block": 4,
        "profiles": {
            "laptop": {"replications": 6, "fewer": {"n_arms": {6: 5}}},
            "smoke": {"replications": 2, "vary": {"n_arms": [4]}},
        },
    }
    monkeypatch.setattr(definitions, "ledger", lambda _: {"experiments": {"fig": experiment}})
    return experiment


def test_every_combination_is_a_cell_with_its_own_noise(ledger):
    """Rows say which cell they are of; budgets are multiples of the arms; series within limits only."""
    experiment = load_experiment("any", "fig", "laptop")
    assert experiment.varied == ("n_arms", "variance")
    assert len(experiment.series) == 2 * (4 * 2 + 2 * 2)  # conventions x (A in four cells, B in two) x budgets
    instances = {instance_of(experiment, s) for s in experiment.series}
    assert instances == {f"sphere K={k} d=3 variance={v}" for k in (4, 6) for v in (1, 2)}
    assert {s.budget for s in experiment.series if s.cell["n_arms"] == 6} == {30, 60}
    assert [s.cell for s in load_experiment("any", "fig", "smoke").series if s.cell["n_arms"] == 6] == []


def test_rows_hold_the_cells_and_the_stated_numbers_of_runs(ledger, tmp_path):
    """Fewer runs where the profile or the series says so; reused rows are the same."""
    experiment = load_experiment("any", "fig", "laptop")
    rows = run_experiment(experiment, seed=1, store=tmp_path, workers=1)
    counts = rows.groupby(["convention", "series", "n_arms", "variance", "budget"]).size()
    assert counts.xs("A", level="series").groupby("n_arms").unique().to_dict() == {4: [6], 6: [5]}
    assert (counts.xs("B", level="series") == 3).all()
    assert (rows["pulls"] <= rows["budget"]).mean() > 0.5
    again = run_experiment(experiment, seed=1, store=tmp_path / "other", committed=rows, workers=1)
    assert not (tmp_path / "other").exists()
    np.testing.assert_array_equal(again["correct"], rows["correct"])
    assert list(again.columns) == list(rows.columns)


def test_a_cell_alone_has_the_same_rows(ledger, tmp_path):
    """What other cells there are does not matter."""
    whole = run_experiment(load_experiment("any", "fig", "laptop"), seed=1, store=tmp_path / "a", workers=1)
    ledger["vary"] = {"n_arms": [4], "variance": [2.0]}
    alone = run_experiment(load_experiment("any", "fig", "laptop"), seed=1, store=tmp_path / "b", workers=1)
    same = whole[(whole["n_arms"] == 4) & (whole["variance"] == 2.0)]
    np.testing.assert_array_equal(alone["simple_regret"], same["simple_regret"])


def test_settings_for_one_convention_and_tuning_draws():
    """``as_coded`` replaces settings there only; ``draws`` names other noise."""
    settings = GSE | {"budgets": {"at": [20]}, "allocation": "uniform", "as_coded": {"eta": 3}}
    (written,) = make_series("A", "as_written", settings, SPHERE | {"n_arms": 4}, {})
    (published,) = make_series("A", "as_coded", settings, SPHERE | {"n_arms": 4}, {}, draws="tuning")
    assert (written.policy.eta, published.policy.eta) == (2, 3)
    assert written.instance is None
    assert published.instance == "sphere K=4 d=3 variance=10 tuning"


@pytest.mark.parametrize(
    ("settings", "spec", "words"),
    [
        (
            {"within": {"n_armz": 4}},
            {"n_arms": 4},
            "within: the problem has no setting n_armz; it has: make, n_features, n_arms",
        ),
        (
            {"budgets": {"per_arm": [5]}},
            {},
            "budgets per arm need a problem with n_arms; its settings are make, n_features",
        ),
    ],
)
def test_settings_that_fit_no_problem_are_refused(settings, spec, words):
    """Before anything runs."""
    with pytest.raises(ValueError, match=words):
        make_series("A", "as_written", GSE | {"budget": 9} | settings, SPHERE | spec, {})

"""Experiments that follow regret over budgets: series with their own problem, one run a budget, anytime records."""

import numpy as np
import pandas as pd
import pytest

from bestarm.experiments import definitions
from bestarm.experiments.construct import make_series
from bestarm.experiments.definitions import load_experiment
from bestarm.experiments.run import cell_key, run_experiment

PROBLEM = {"make": "gpoo_functions.reward_function", "name": "f1"}
LEDGER = {
    "experiments": {
        "curve": {
            "problem": PROBLEM,
            "conventions": ["as_written", "as_coded"],
            "every": 4,
            "block": 3,
            "metrics": ["aggregated_regret", "depth"],
            "series": {
                "GPOO": {"make": "gpoo.Gpoo", "budget": 8},
                "GPOO (S = 3)": {
                    "make": "gpoo.Gpoo",
                    "label": "GPOO",
                    "budget": 8,
                    "problem": {"n_representatives": 3},
                },
                "StoOO": {"make": "stooo.Stooo", "budgets": [1, 8]},
                "StoOO, some": {"make": "stooo.Stooo", "label": "StoOO", "budgets": {"at": [2, 8]}},
            },
            "profiles": {"smoke": {"replications": 2, "budgets": {"at": [8]}}, "laptop": {"replications": 5}},
        }
    }
}


@pytest.fixture
def curve(monkeypatch):
    monkeypatch.setattr(definitions, "ledger", lambda paper: LEDGER)
    return load_experiment("gpoo", "curve", "laptop")


def test_a_series_may_be_one_run_for_each_budget(curve):
    """Eight policies for [1, 8], two for the listed ones; a profile's budgets take the place of the ledger's."""
    written = [s for s in curve.series if s.convention == "as_written"]
    assert [s.budget for s in written if s.label == "StoOO"] == list(range(1, 9))
    assert [s.policy.budget for s in written if s.label == "StoOO, some"] == [2, 8]
    assert [s.budget for s in written if s.label == "GPOO"] == [None]
    small = load_experiment("gpoo", "curve", "smoke")
    assert [s.budget for s in small.series if s.label == "StoOO" and s.convention == "as_written"] == [8]


def test_problems_of_series_and_of_conventions(curve):
    """S belongs to the problem; as coded the function is another one, on the same noise."""
    by_name = {(s.label, s.convention): s for s in curve.series}
    assert by_name["GPOO (S = 3)", "as_written"].problem.partition.n_representatives == 3
    assert by_name["GPOO", "as_written"].problem.design.lengthscale == 0.05
    assert by_name["GPOO", "as_coded"].problem.design.lengthscale == 0.1
    assert len({s.problem.label for s in curve.series}) == 1
    keys = {(s.label, s.convention, s.budget): cell_key(curve, s, 1) for s in curve.series}
    assert keys["StoOO", "as_written", 8] == keys["StoOO, some", "as_written", 8]  # the same computation
    different = {k: v for k, v in keys.items() if k[0] != "StoOO, some"}
    assert len(set(different.values())) == len(different)


def test_rows_have_the_budget_they_were_made_with(curve, tmp_path):
    """Anytime: every fourth evaluation and the end; else the end of each run. What is stored is not made again."""
    rows = run_experiment(curve, seed=3, store=tmp_path, workers=1)
    budgets = rows.groupby(["convention", "series"])["budget"].unique()
    assert budgets["as_written", "GPOO"].tolist() == [0, 4, 8]
    assert budgets["as_written", "StoOO"].tolist() == list(range(1, 9))
    spent = rows[rows["series"] == "StoOO"]
    assert (
        spent[spent["convention"] == "as_written"]["pulls"] == spent[spent["convention"] == "as_written"]["budget"]
    ).all()
    published = spent[spent["convention"] == "as_coded"]
    assert (published["pulls"] == published["budget"] - 1).all()
    assert rows.groupby(["convention", "series", "budget"])["replication"].nunique().eq(5).all()
    again = run_experiment(curve, seed=3, store=tmp_path / "empty", committed=rows, workers=1)
    pd.testing.assert_frame_equal(again, rows)
    assert not list((tmp_path / "empty").glob("*/*.parquet"))


def test_an_anytime_run_is_the_beginning_of_a_longer_one():
    """The index of GPOO does not know the budget, so its first eight evaluations are those of a run of twelve."""
    frames = []
    for budget in (8, 12):
        settings = {"make": "gpoo.Gpoo", "budget": budget}
        (series,) = make_series("GPOO", "as_written", settings, PROBLEM, {})
        from bestarm import metrics
        from bestarm.experiments.simulate import simulate
        from bestarm.streams import Streams

        streams = Streams(1, series.problem.label, np.arange(3))
        frames.append(
            simulate(series.policy, series.problem, streams, metrics={"regret": metrics.aggregated_regret}, every=1)
        )
    short, long = (f[f["pulls"] <= 8].reset_index(drop=True)["regret"] for f in frames)
    pd.testing.assert_series_equal(short, long)

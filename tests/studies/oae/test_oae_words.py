"""What the notebooks of OAE put together: rows of a set from several experiments, scales in words, verdicts."""

import numpy as np
import pandas as pd

from bestarm_lab.study import load_study
from bestarm_studies.oae.figures import scale_words
from bestarm_studies.oae.values import by_set
from bestarm_studies.oae.verdicts.figures import verdict_counts


def test_rows_of_a_set_take_a_series_from_the_first_table_that_has_it():
    first = pd.DataFrame({"name": ["hill", "hill"], "series": ["random", "plain"], "value": [1, 2]})
    second = pd.DataFrame({"name": ["hill", "hills"], "series": ["random", "random"], "value": [3, 4]})
    found = by_set(first, second, pd.DataFrame({"series": ["plain"], "value": [5]}))
    assert {name: rows["value"].tolist() for name, rows in found.items()} == {
        "hill": [1, 2],
        "hills": [4],
        "BlogFeedback": [5],
    }
    assert by_set(first, series=["plain"])["hill"]["value"].tolist() == [2]


def test_the_scale_names_only_what_the_series_have_and_every_cut():
    large, small = load_study("oae").experiments["synthetic_100_10"], load_study("oae").experiments["sequential_100_10"]
    assert scale_words([(large, "paper")], ["Greedy"]) == "the paper's own scale: 5000 training steps, 150 batches"
    cut = "200 training steps (paper: 5000), 20 batches (paper: 150)"
    assert scale_words([(large, "laptop"), (small, "laptop")], ["MeanOpt 0.1", "SeqB 0.1"]) == cut
    assert scale_words([(large, "laptop")], ["Ensemble"]).endswith("ensembles of 5 (paper: 10)")


def test_verdicts_for_the_score():
    verdicts = pd.DataFrame(
        {
            "id": ["A", "B", "C"],
            "verdict": ["mixed", "undecided", "confirmed"],
            "for": [2.0, 0.0, np.nan],
            "comparisons": [4.0, 1.0, np.nan],
            "ours": [np.nan, np.nan, "control"],
            "kind": ["test", "test", "exact"],
            "scale": ["paper", "laptop", np.nan],
        }
    )
    score = verdict_counts(verdicts).set_index("decided")
    assert score.to_numpy().sum() == 2, "the project's own statements do not count"
    assert score.loc["at the paper's own scale", "mixed"] == 1


def test_a_claim_that_was_not_run_is_decided_at_no_scale():
    line = {"ours": "", "kind": "test", "verdict": "not run", "scale": "laptop"}
    assert verdict_counts(pd.DataFrame([line])).to_dict("records") == [{"decided": "not at all", "not run": 1}]

"""Claims on landscapes from random biases: planted rows that turn a verdict, and the committed table."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from bestarm_studies.oae.default_biases import bias_table, bias_values, read_biases, rows_of_both, under_biases

from bestarm_lab.study import load_study
from bestarm_studies.oae.experiments import DEFAULT_BIASES, SYNTHETIC
from bestarm_studies.oae.landscapes import LANDSCAPES
from bestarm_studies.oae.series import LANDSCAPE_ENSEMBLES

CLAIMS = load_study("oae").claims


def searches(batches: dict[str, int], runs: int, names=LANDSCAPES) -> pd.DataFrame:
    """Return searches of 100 arms that find a top arm about the given batch; what is not named takes 40."""
    noise = np.random.default_rng(1)
    lines = [
        {"series": series, "name": name, "replication": run, "round": batch, "rank": 1 if batch >= found else 100}
        for name in names
        for series in LANDSCAPE_ENSEMBLES
        for run in range(runs)
        for found in [batches.get(series, 40) + int(noise.integers(0, 3))]
        for batch in range(1, 51)
    ]
    same = {"arm_count": 100, "pulls": 3, "data": "synthetic", "convention": "as_written", "diverged": 0.0}
    return pd.DataFrame(lines).assign(**same, broken=False, optimistic=1.0, relative_regret=0.5, reward=0.5)


@cache
def planted() -> pd.DataFrame:
    """With zero biases MeanOpt is far behind Greedy, with random ones far ahead."""
    zero = searches({"Greedy": 5, "Ensemble": 5}, 60)
    random = searches({f"MeanOpt {strength:g}": 4 for strength in (0.001, 0.01, 0.1)}, 25)
    claims = {i: CLAIMS[i] for i in ("OAE-C37", "OAE-C28", "OAE-C49", "OAE-C54a")}
    return under_biases(claims, {"synthetic_10_5": zero}, {"synthetic_10_5": random}).set_index("claim")


def test_rows_from_random_biases_turn_a_verdict():
    found = planted().loc["OAE-C28"]  # Greedy is behind on four hills
    assert (found["random_25"], found["random_25_for"]) == ("confirmed", found["comparisons"])
    assert found["zero"] == found["zero_25"] == "refuted"
    assert found["zero_for"] == found["random_25_against"] == 0


def test_a_claim_on_other_data_or_without_rows_is_left_out():
    assert set(planted().index) == {"OAE-C37", "OAE-C28"}, "tables have no random biases; DetD has no rows here"


def test_the_words_are_a_table():
    table = bias_table(planted().reset_index()).set_index("claim")
    assert table.at["C28", "random biases, 25 runs"].startswith("confirmed (")
    values = bias_values(planted().reset_index())
    assert set(values["series"]) == {"biases of zero", "biases of zero, 25 runs", "random biases, 25 runs"}
    assert values.query("panel == 'OAE-C28' and series == 'random biases, 25 runs'")["statistic"].item() == "confirmed"
    assert table["comparisons"].str.fullmatch(r"\d+ of \d+").all()


def test_the_experiments_are_those_of_the_ledger_but_for_biases_step_sizes_and_runs():
    assert {name.removeprefix("default_") for name in DEFAULT_BIASES} == set(SYNTHETIC)
    for name, experiment in DEFAULT_BIASES.items():
        plain = SYNTHETIC[name.removeprefix("default_")]
        assert {**experiment.settings} == {**plain.settings, "bias": 1.0}
        assert set(experiment.series) == set(plain.series)
        ours, theirs = (dict(e.scale("paper").settings) for e in (experiment, plain))
        assert {k: v for k, v in ours.items() if k != "learning_rate"} == {
            k: v for k, v in theirs.items() if k != "learning_rate"
        }


def test_the_committed_table_is_that_of_the_committed_rows():
    zero, random = rows_of_both()
    asked = {i: CLAIMS[i] for i in ("OAE-C28", "OAE-C31", "OAE-C54a")}
    found = under_biases(asked, zero, random).fillna({"without": ""})
    committed = read_biases()
    committed = committed[committed["claim"].isin(asked)].reset_index(drop=True)
    assert len(committed) == len(asked)
    pd.testing.assert_frame_equal(found, committed, check_dtype=False)


@pytest.mark.parametrize("name", ["synthetic_10_5", "synthetic_100_10"])
def test_rows_have_the_papers_own_scale(name):
    zero, random = rows_of_both()
    assert random[name]["replication"].nunique() == 25
    assert zero[name]["replication"].nunique() == 100
    assert set(random[name]["series"]) == set(zero[name]["series"])


def test_what_is_said_of_biases():
    """Numbers and words of notebook 09."""
    found = read_biases().set_index("claim")
    moved = found["zero_25"] != found["random_25"]
    assert (moved.sum(), len(found)) == (17, 43)
    assert [(found[reading] == "confirmed").sum() for reading in ("random_25", "zero_25")] == [17, 12]
    assert [(found[reading] == "mixed").sum() for reading in ("zero", "random_25")] == [10, 3]
    small = found.loc[["OAE-C31", "OAE-C32", "OAE-C35", "OAE-C38"]]
    assert (small["random_25"] == "confirmed").all()
    assert (small["zero_25"] != "confirmed").all()
    assert (small["random_25_against"] == 0).all()
    greedy = found.loc["OAE-C2b"]
    assert tuple(greedy[["random_25_for", "zero_25_for", "comparisons"]]) == (4, 5, 8)
    assert (greedy["random_25"], greedy["zero_25"]) == ("undecided", "confirmed")

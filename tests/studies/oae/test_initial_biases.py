"""Claims on landscapes from random biases and from zero: planted rows that turn a verdict, and the committed table."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from prose import prose

from bestarm_lab.paths import RESULTS
from bestarm_lab.study import load_study
from bestarm_studies.oae.experiments import SYNTHETIC, ZERO_BIASES
from bestarm_studies.oae.initial_biases import BIASES, PREFIX, bias_table, bias_values, rows_of_both, under_biases
from bestarm_studies.oae.landscapes import LANDSCAPES
from bestarm_studies.oae.series import (
    DEFAULT_BIAS,
    DEFAULT_STEP_SIZES,
    LANDSCAPE_ENSEMBLES,
    LARGE,
    MANY_RUNS,
    MIDDLE,
    RUNS,
    SMALL,
    STEP_SIZES,
)

CLAIMS = load_study("oae").claims


def table_of_biases() -> pd.DataFrame:
    return pd.read_csv(BIASES, keep_default_na=False)


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
    zero = searches({"Greedy": 5, "Ensemble": 5}, 25)
    random = searches({f"MeanOpt {strength:g}": 4 for strength in (0.001, 0.01, 0.1)}, 25)
    claims = {i: CLAIMS[i] for i in ("OAE-C37", "OAE-C28", "OAE-C49", "OAE-C54a")}
    return under_biases(claims, {"synthetic_10_5": random}, {"synthetic_10_5": zero}).set_index("claim")


def test_rows_from_zero_biases_turn_a_verdict():
    found = planted().loc["OAE-C28"]  # Greedy is behind on four hills
    assert (found["random"], found["random_for"]) == ("confirmed", found["comparisons"])
    assert (found["zero"], found["zero_against"]) == ("refuted", found["comparisons"])
    assert found["zero_for"] == found["random_against"] == 0


def test_a_claim_on_other_data_or_without_rows_is_left_out():
    assert set(planted().index) == {"OAE-C37", "OAE-C28"}, "tables have no random biases; DetD has no rows here"


def test_the_words_are_a_table():
    table = bias_table(planted().reset_index()).set_index("claim")
    assert table.at["C28", "random biases"].startswith("confirmed (")
    values = bias_values(planted().reset_index())
    assert set(values["series"]) == {"random biases", "biases of zero"}
    assert values.query("panel == 'OAE-C28' and series == 'random biases'")["statistic"].item() == "confirmed"
    assert table["comparisons"].str.fullmatch(r"\d+ of \d+").all()


def test_the_experiments_are_those_of_the_ledger_except_biases_and_step_sizes():
    assert {name.removeprefix(PREFIX) for name in ZERO_BIASES} == set(SYNTHETIC)
    for name, experiment in ZERO_BIASES.items():
        plain = SYNTHETIC[name.removeprefix(PREFIX)]
        assert {**plain.settings} == {**experiment.settings, "bias": DEFAULT_BIAS}
        assert "bias" not in experiment.settings
        assert set(experiment.series) == set(plain.series)
        ours, theirs = (dict(e.scale("paper").settings) for e in (experiment, plain))
        assert experiment.scale("paper").replications == plain.scale("paper").replications
        assert {k: v for k, v in ours.items() if k != "learning_rate"} == {
            k: v for k, v in theirs.items() if k != "learning_rate"
        }


def test_the_committed_table_is_that_of_the_committed_rows():
    random, zero = rows_of_both()
    asked = {i: CLAIMS[i] for i in ("OAE-C28", "OAE-C31", "OAE-C54a")}
    found = under_biases(asked, random, zero)
    committed = table_of_biases()
    committed = committed[committed["claim"].isin(asked)].reset_index(drop=True)
    assert len(committed) == len(asked)
    pd.testing.assert_frame_equal(found, committed, check_dtype=False)


@pytest.mark.parametrize(
    ("name", "runs"), [("synthetic_10_5", MANY_RUNS), ("synthetic_100_10", MANY_RUNS), ("synthetic_300_100", RUNS)]
)
def test_both_have_the_same_runs_at_the_papers_own_scale(name, runs):
    random, zero = rows_of_both()
    assert set(random[name]["replication"]) == set(zero[name]["replication"]) == set(range(runs))
    assert set(random[name]["series"]) == set(zero[name]["series"])
    assert set(random[name]["name"]) == set(zero[name]["name"]) == set(LANDSCAPES)


def test_what_is_said_of_biases():
    """Numbers and words of notebook 09."""
    text, found = prose("oae", "09_open_choices"), table_of_biases().set_index("claim")
    moved = found.index[found["random"] != found["zero"]]
    said = f"{len(moved)} of {len(found)} claims"
    assert text.count(f"{said} have another word") == 2
    assert f"*(changes a verdict: {said} on landscapes)*" in text
    assert (found["comparisons"] == found["of"]).all()
    confirmed = [set(found.index[found[reading] == "confirmed"]) for reading in ("random", "zero")]
    refuted = [set(found.index[found[reading] == "refuted"]) for reading in ("random", "zero")]
    counts = f"From random biases {len(confirmed[0])} are confirmed and none refuted; from zero {len(confirmed[1])} are"
    assert counts in text
    assert refuted == [set(), {"OAE-C24b"}]
    assert confirmed[1] < confirmed[0]
    assert confirmed[0] - confirmed[1] == {"OAE-C29b", "OAE-C31", "OAE-C35", "OAE-C36", "OAE-C38"}
    assert "five confirmed claims are lost" in text
    small = found.loc[["OAE-C31", "OAE-C35", "OAE-C36", "OAE-C38"]]
    assert (small["random_against"] == 0).all()
    sets = found.loc["OAE-C32"]
    assert (sets["random"], sets["zero"], sets["random_against"], sets["zero_against"]) == ("confirmed",) * 2 + (0, 1)


def test_what_is_said_of_the_larger_classes_and_of_greedy():
    text, found = prose("oae", "09_open_choices"), table_of_biases().set_index("claim")
    middle = found[found.index.str.endswith("w")]
    better = middle[(middle["zero"] == "mixed") & (middle["random_against"] == 0)]
    assert (len(better), "five words that are mixed from zero" in text) == (5, True)
    mixed = found.index[(found["random"] == "mixed") & (found["zero"] != "mixed")]
    assert set(mixed) == {"OAE-C33w", "OAE-C27v", "OAE-C28v"}
    greedy = found.loc["OAE-C2b"]
    said = "they have {} of {} comparisons for it, and zero has {}."
    assert said.format(*greedy[["random_for", "comparisons", "zero_for"]]) in text
    assert greedy["random"] == greedy["zero"] == "confirmed"
    ledger = pd.read_csv(RESULTS / "oae" / "verdicts.csv").set_index("id")["verdict"]
    assert ledger["OAE-C2b"] == "undecided"


def test_step_sizes_that_are_said():
    for words, rates in (("random biases", DEFAULT_STEP_SIZES.long), ("biases of zero", STEP_SIZES.long)):
        line = f"| {words} | " + " | ".join(f"{rates[hidden]}" for hidden in (SMALL, MIDDLE, LARGE)) + " |"
        assert line in prose("oae", "09_open_choices")


def test_the_lead_on_four_hills_after_fifty_batches():
    """Of MeanOpt over random batches (C31): refuted from zero biases, confirmed from random ones."""
    assert "refuted with as few batches; from the ledger's random ones it is confirmed" in prose(
        "oae", "09_open_choices"
    )
    cut = [
        {name: rows[rows["round"] <= 50] for name, rows in mine.items() if name == "synthetic_10_5"}
        for mine in rows_of_both()
    ]
    (found,) = under_biases({"OAE-C31": CLAIMS["OAE-C31"]}, *cut).to_dict("records")
    assert (found["random"], found["zero"]) == ("confirmed", "refuted")
    whole = table_of_biases().set_index("claim").loc["OAE-C31"]
    assert (whole["random"], whole["zero"]) == ("confirmed", "at the margin")
    ledger = pd.read_csv(RESULTS / "oae" / "verdicts.csv").set_index("id")["verdict"]
    assert ledger["OAE-C31"] == "confirmed"

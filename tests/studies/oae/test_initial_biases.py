"""Claims on landscapes from random biases and from zero: planted rows that turn a verdict, and the committed table."""

from functools import cache

import pandas as pd
import pytest
from prose import prose

from bestarm_lab.claims.robustness import OpenChoice, Substitution, under_choices
from bestarm_lab.results import published, read_robustness, read_verdicts
from bestarm_lab.study import load_study
from bestarm_studies.oae.experiments import SYNTHETIC, ZERO_BIASES
from bestarm_studies.oae.landscapes import LANDSCAPES
from bestarm_studies.oae.robustness import CHOICES, ZERO
from bestarm_studies.oae.series import (
    DEFAULT_BIAS,
    DEFAULT_STEP_SIZES,
    LARGE,
    MANY_RUNS,
    MIDDLE,
    RUNS,
    SMALL,
    STEP_SIZES,
)

CLAIMS = load_study("oae").claims


PREFIX = "zero_"
(FROM_ZERO,) = (choice for choice in CHOICES if choice.words == ZERO)


def table_of_biases() -> pd.DataFrame:
    return read_robustness("oae").query("choice == @ZERO").reset_index(drop=True)


@cache
def rows_of_both() -> dict[str, pd.DataFrame]:
    return {name: published("oae", name)[1] for name in (*SYNTHETIC, *ZERO_BIASES)}


def decided(claims, random: pd.DataFrame, zero: pd.DataFrame) -> pd.DataFrame:
    choice = OpenChoice(ZERO, {"synthetic_10_5": Substitution("zero_10_5")})
    return under_choices(claims, [choice], {"synthetic_10_5": random, "zero_10_5": zero}).set_index("claim")


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
    asked = {i: CLAIMS[i] for i in ("OAE-C28", "OAE-C31", "OAE-C54a")}
    found, committed = under_choices(asked, [FROM_ZERO], rows_of_both()), table_of_biases()
    committed = committed[committed["claim"].isin(asked)].reset_index(drop=True)
    assert len(committed) == len(asked)
    pd.testing.assert_frame_equal(found, committed, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "runs"), [("synthetic_10_5", MANY_RUNS), ("synthetic_100_10", MANY_RUNS), ("synthetic_300_100", RUNS)]
)
def test_both_have_the_same_runs_at_the_papers_own_scale(name, runs):
    random, zero = rows_of_both()[name], rows_of_both()[PREFIX + name]
    assert set(random["replication"]) == set(zero["replication"]) == set(range(runs))
    assert set(random["series"]) == set(zero["series"])
    assert set(random["name"]) == set(zero["name"]) == set(LANDSCAPES)


def test_what_is_said_of_biases():
    """Numbers and words of notebook 09."""
    text, found = prose("oae", "09_open_choices"), table_of_biases().set_index("claim")
    moved = found.index[found["word"] != found["word_then"]]
    said = f"{len(moved)} of {len(found)} claims"
    assert text.count(f"{said} have another word") == 2
    assert f"*(changes a verdict: {said} on landscapes)*" in text
    assert (found[["for", "open", "against"]].sum(axis="columns") == found["of"]).all()
    confirmed = [set(found.index[found[reading] == "confirmed"]) for reading in ("word", "word_then")]
    refuted = [set(found.index[found[reading] == "refuted"]) for reading in ("word", "word_then")]
    counts = f"From random biases {len(confirmed[0])} are confirmed and none refuted; from zero {len(confirmed[1])} are"
    assert counts in text
    assert refuted == [set(), {"OAE-C24b"}]
    assert confirmed[1] < confirmed[0]
    assert confirmed[0] - confirmed[1] == {"OAE-C29b", "OAE-C31", "OAE-C35", "OAE-C36", "OAE-C38"}
    assert "five confirmed claims are lost" in text
    small = found.loc[["OAE-C31", "OAE-C35", "OAE-C36", "OAE-C38"]]
    assert (small["against"] == 0).all()
    sets = found.loc["OAE-C32"]
    assert sets[["word", "word_then", "against", "against_then"]].to_list() == ["confirmed", "confirmed", 0, 1]


def test_what_is_said_of_the_larger_classes_and_of_greedy():
    text, found = prose("oae", "09_open_choices"), table_of_biases().set_index("claim")
    middle = found[found.index.str.endswith("w")]
    better = middle[(middle["word_then"] == "mixed") & (middle["against"] == 0)]
    assert (len(better), "five words that are mixed from zero" in text) == (5, True)
    mixed = found.index[(found["word"] == "mixed") & (found["word_then"] != "mixed")]
    assert set(mixed) == {"OAE-C33w", "OAE-C27v", "OAE-C28v"}
    greedy = found.loc["OAE-C2b"]
    said = "they have {} of {} comparisons for it, and zero has {}."
    assert said.format(*greedy[["for", "of", "for_then"]]) in text
    assert greedy["word"] == greedy["word_then"] == "confirmed"
    ledger = read_verdicts("oae").set_index("id")["verdict"]
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
    rows = rows_of_both()
    random, zero = (rows[name].query("round <= 50") for name in ("synthetic_10_5", "zero_synthetic_10_5"))
    found = decided({"OAE-C31": CLAIMS["OAE-C31"]}, random, zero).loc["OAE-C31"]
    assert (found["word"], found["word_then"]) == ("confirmed", "refuted")
    whole = table_of_biases().set_index("claim").loc["OAE-C31"]
    assert (whole["word"], whole["word_then"]) == ("confirmed", "at the margin")
    ledger = read_verdicts("oae").set_index("id")["verdict"]
    assert ledger["OAE-C31"] == "confirmed"

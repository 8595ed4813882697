"""Claims on landscapes from biases of zero and from random ones: the committed table and what is said of it."""

from functools import cache

import pandas as pd
import pytest
from prose import prose

from bestarm_lab.claims.robustness import OpenChoice, Substitution, under_choices
from bestarm_lab.results import published, read_robustness, read_verdicts
from bestarm_lab.study import load_study
from bestarm_studies.oae import series
from bestarm_studies.oae.experiments import RANDOM_BIASES, SYNTHETIC
from bestarm_studies.oae.landscapes import LANDSCAPES
from bestarm_studies.oae.robustness import CHOICES, RANDOM_START

CLAIMS = load_study("oae").claims
PREFIX = "random_"
(FROM_RANDOM,) = (choice for choice in CHOICES if choice.words == RANDOM_START)


def table_of_biases() -> pd.DataFrame:
    """Return the committed lines of claims on searches of landscapes."""
    table = read_robustness("oae").query("choice == @RANDOM_START")
    return table[~table["claim"].str.startswith("OAE-C30")].reset_index(drop=True)


@cache
def rows_of_both() -> dict[str, pd.DataFrame]:
    return {name: published("oae", name)[1] for name in (*SYNTHETIC, *RANDOM_BIASES)}


def test_the_experiments_are_those_of_the_ledger_except_biases_and_step_sizes():
    assert {name.removeprefix(PREFIX) for name in RANDOM_BIASES} == set(SYNTHETIC)
    for name, random in RANDOM_BIASES.items():
        plain = SYNTHETIC[name.removeprefix(PREFIX)]
        assert {**random.settings} == {**plain.settings, "bias": series.DEFAULT_BIAS}
        assert "bias" not in plain.settings
        assert set(random.series) == set(plain.series)
        ours, theirs = ({**e.scale("paper").settings, "learning_rate": None} for e in (random, plain))
        assert random.scale("paper").replications <= plain.scale("paper").replications
        assert ours == theirs


def test_the_committed_table_is_that_of_the_committed_rows():
    asked = {i: CLAIMS[i] for i in ("OAE-C28", "OAE-C31", "OAE-C54a")}
    choice = OpenChoice(RANDOM_START, {name: FROM_RANDOM.substitutions[name] for name in SYNTHETIC})
    found, committed = under_choices(asked, [choice], rows_of_both()), table_of_biases()
    committed = committed[committed["claim"].isin(asked)].reset_index(drop=True)
    assert len(committed) == len(asked)
    pd.testing.assert_frame_equal(found, committed, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "runs"),
    [("synthetic_10_5", series.MANY_RUNS), ("synthetic_100_10", series.MANY_RUNS), ("synthetic_300_100", series.RUNS)],
)
def test_both_are_compared_on_the_same_runs_at_the_papers_own_scale(name, runs):
    zero, random = rows_of_both()[name], rows_of_both()[PREFIX + name]
    random, zero = FROM_RANDOM.substitutions[name].rows(random, zero)
    assert set(random["replication"]) == set(zero["replication"]) == set(range(runs))
    assert set(random["series"]) == set(zero["series"])
    assert set(random["name"]) == set(zero["name"]) == set(LANDSCAPES)


def test_what_is_said_of_biases():
    """Numbers and verdicts of notebook 09."""
    text, found = prose("oae", "09_open_choices"), table_of_biases().set_index("claim")
    moved = found.index[found["word"] != found["word_then"]]
    said = f"{len(moved)} of {len(found)} claims"
    assert f"{said} get another verdict" in text
    assert f"change the verdicts** of {said} on landscapes" in text
    assert f"*(changes a verdict: {said} on landscapes)*" in text
    assert (found[["for", "open", "against"]].sum(axis="columns") == found["of"]).all()
    confirmed = [set(found.index[found[reading] == "confirmed"]) for reading in ("word", "word_then")]
    refuted = [set(found.index[found[reading] == "refuted"]) for reading in ("word", "word_then")]
    assert f"With biases of zero {len(confirmed[0])} are confirmed, and one is refuted" in text
    assert f"With random biases {len(confirmed[1])} are confirmed and none is refuted" in text
    assert refuted == [{"OAE-C24b"}, set()]
    assert confirmed[0] < confirmed[1]
    said = f"random biases keep all {len(confirmed[0])} confirmations of those that start from zero and add five"
    assert said in text
    assert confirmed[1] - confirmed[0] == {"OAE-C29b", "OAE-C31", "OAE-C35", "OAE-C36", "OAE-C38"}
    assert (found.loc[["OAE-C31", "OAE-C35", "OAE-C36", "OAE-C38"]]["against_then"] == 0).all()
    sets = found.loc["OAE-C32"]
    assert sets[["word", "word_then", "against", "against_then"]].to_list() == ["confirmed", "confirmed", 1, 0]


def test_what_is_said_of_the_larger_classes_and_of_greedy():
    text, found = prose("oae", "09_open_choices"), table_of_biases().set_index("claim")
    middle = found[found.index.str.endswith("w")]
    better = middle[(middle["word"] == "mixed") & (middle["against_then"] == 0)]
    assert (len(better), "contradicts five claims with random biases that are mixed" in text) == (5, True)
    mixed = found.index[(found["word"] != "mixed") & (found["word_then"] == "mixed")]
    assert set(mixed) == {"OAE-C33w", "OAE-C27v", "OAE-C28v"}
    greedy = found.loc["OAE-C2b"]
    said = "with them {} of {} comparisons are for it, with biases of zero {}."
    assert said.format(*greedy[["for_then", "of", "for"]]) in text
    assert greedy["word"] == greedy["word_then"] == "confirmed"
    assert read_verdicts("oae").set_index("id")["verdict"]["OAE-C2b"] == "confirmed"


def test_step_sizes_that_are_said():
    for words, rates in (("random biases", series.DEFAULT_STEP_SIZES.long), ("biases of zero", series.STEP_SIZES.long)):
        cells = [words, *(str(rates[hidden]) for hidden in (series.SMALL, series.MIDDLE, series.LARGE))]
        assert f"| {' | '.join(cells)} |" in prose("oae", "09_open_choices")


def test_the_lead_on_four_hills_after_fifty_batches():
    """Of MeanOpt over random batches (C31): refuted from zero biases, confirmed from random ones."""
    said = "refuted with as few batches; from random biases it is confirmed with both"
    assert said in prose("oae", "09_open_choices")
    names = "synthetic_10_5", "random_synthetic_10_5"
    rows = {name: rows_of_both()[name].query("round <= 50") for name in names}
    choice = OpenChoice(RANDOM_START, {names[0]: Substitution(names[1], same="replication")})
    (found,) = under_choices({"OAE-C31": CLAIMS["OAE-C31"]}, [choice], rows).to_dict("records")
    assert (found["word"], found["word_then"]) == ("refuted", "confirmed")
    whole = table_of_biases().set_index("claim").loc["OAE-C31"]
    assert (whole["word"], whole["word_then"]) == ("at the margin", "confirmed")
    assert read_verdicts("oae").set_index("id")["verdict"]["OAE-C31"] == "at the margin"

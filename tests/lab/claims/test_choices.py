"""Claims under open choices: one that flips the verdict, those without a claim's cells, what cannot be asked."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from bestarm_lab.claims.cells import Quantity
from bestarm_lab.claims.choices import (
    Choice,
    StandIn,
    choice_values,
    experiments,
    n_comparisons,
    readings,
    stands,
    stands_table,
)
from bestarm_lab.claims.kinds import Difference, Slope
from bestarm_lab.claims.layout import Best, Part
from bestarm_lab.claims.records import Claim
from bestarm_lab.claims.statistics import Relation
from bestarm_lab.paths import RESULTS
from bestarm_lab.results import published, read_choices
from bestarm_lab.study import load_study
from bestarm_studies.dpp_bbo.readings import CHOICES as OF_DPP
from bestarm_studies.gse.further_tables import CHOICES as OF_GSE

RUNS = 40


def rows(ahead: dict[str, float], arms: tuple[int, ...] = (8, 16), seed: int = 0) -> pd.DataFrame:
    """Return runs of series whose value is higher by so much, on numbers of arms."""
    rng = np.random.default_rng(seed)
    frames = [
        pd.DataFrame({"series": name, "n_arms": n, "replication": np.arange(RUNS), "value": by + noise})
        for n in arms
        for noise in [rng.normal(size=RUNS)]
        for name, by in {name: by + 0.1 * rng.normal(size=RUNS) for name, by in ahead.items()}.items()
    ]
    return pd.concat(frames).assign(data="synthetic", convention="as_written")


def claim(*pairs, arms=(8, 16), test=Difference, quantifier="all", **settings) -> dict[str, Claim]:
    """Return a ledger of one claim: left is above right."""
    part = Part((("fig", {"n_arms": list(arms)}),), pairs or (("A", "B"),))
    asked = {"quantity": Quantity("value"), "relation": Relation("above", low=0.0), "quantifier": quantifier}
    return {"X-1": Claim("X-1", "A is above B.", "", "", {"as_written": test(**asked, parts=(part,), **settings)})}


def only(claims, choice, frames):
    """Return the only line that is found."""
    (line,) = readings(claims, [choice], frames).to_dict("records")
    return line


OWN = rows({"A": 1.0, "B": 0.0, "C": 0.5})


def test_a_choice_that_flips_the_verdict():
    """And the same comparisons without it, which are confirmed."""
    choice = Choice("B gains", {"fig": StandIn("other", {"B": "B | better"}, beside=["A", "C"])})
    other = rows({"B": 0.0, "B | better": 2.0})
    line = only(claim(), choice, {"fig": OWN, "other": other})
    assert line["verdict"] == "refuted"
    assert line["own"] == "confirmed"
    assert [line[key] for key in ("for", "open", "against", "comparisons", "of")] == [0, 0, 2, 2, 2]
    told = stands(readings(claim(), [choice], {"fig": OWN, "other": other}))
    assert told.iloc[0]["differs"] == "B gains (refuted, else confirmed)"
    assert told.iloc[0][["choices", "confirmed", "refuted", "open"]].to_list() == [1, 0, 1, 0]
    assert stands_table(told).iloc[0].to_list()[1:4] == ["0 of 1", 1, "2 of 2"]


def test_a_choice_of_the_problem_has_all_series():
    """Its own rows are those of the experiment that it stands in for."""
    line = only(claim(), Choice("noise", {"fig": StandIn("other")}), {"fig": OWN, "other": rows({"A": -1.0, "B": 0.0})})
    assert (line["verdict"], line["own"]) == ("refuted", "confirmed")


def test_comparisons_that_the_rows_lack_are_left_out_and_counted():
    """By a cell, and by a rival that depends on the choice and was not run under it."""
    stand = StandIn("other", {"A": "A | new"}, beside=["B"])
    frames = {"fig": OWN, "other": rows({"A": 1.0, "A | new": 1.0}, arms=(8,))}
    line = only(claim(("A", "B"), ("A", "C")), Choice("new", {"fig": stand}), frames)
    assert (line["comparisons"], line["of"]) == (1, 4)


def test_a_best_of_some_needs_all_that_the_study_has():
    """Not those that it does not have either."""
    best = Best("highest", ("B", "C", "nobody"))
    new = rows({"A": 1.0, "A | new": 3.0})
    for beside, found in ((["B"], 0), (["B", "C"], 1)):
        choice = Choice("new", {"fig": StandIn("other", {"A": "A | new"}, beside)})
        assert len(readings(claim(("A", best)), [choice], {"fig": OWN, "other": new})) == found


def test_a_choice_without_the_claims_cells_gives_no_line():
    """No such experiment, no such cell, a series that it does not concern, a quantity that it does not concern."""
    elsewhere = Choice("new", {"figure": StandIn("other")})
    far = {"fig": OWN, "figure": OWN, "other": rows({"A": 1.0, "B": 0.0}, arms=(64,))}
    assert readings(claim(), [elsewhere], far).empty
    assert readings(claim(), [Choice("new", {"fig": StandIn("other")})], far).empty
    third = Choice("new", {"fig": StandIn("other", {"C": "C | new"}, ["A", "B"])})
    assert readings(claim(), [third], {"fig": OWN, "other": rows({"C": 1.0, "C | new": 1.0})}).empty
    of_another = Choice("new", {"fig": StandIn("fig")}, quantities=["regret"])
    assert readings(claim(), [of_another], {"fig": OWN}).empty
    assert list(stands(readings(claim(), [elsewhere], far)))  # columns of a table without lines


def test_a_choice_whose_experiment_has_no_rows_is_refused():
    """In one line, with the choice and the experiment."""
    choice = Choice("new", {"fig": StandIn("other")})
    assert experiments([choice]) == ["fig", "other"]
    with pytest.raises(ValueError, match=r"^new: no current rows of other; make them by bestarm rows\.$"):
        readings(claim(), [choice], {"fig": OWN})


def test_a_number_that_a_claim_names_is_asked_in_proportion():
    """Three of four comparisons become two of two, which one against undoes."""
    pairs = (("A", "B"), ("A", "C"))
    both = rows({"A": 1.0, "B": 0.0, "C": 2.0}, arms=(8,))
    line = only(claim(*pairs, need=3), Choice("few", {"fig": StandIn("other")}), {"fig": OWN, "other": both})
    assert (line["comparisons"], line["of"], line["verdict"]) == (2, 4, "refuted")


def test_a_slope_needs_every_value_of_its_setting():
    """A line through fewer is another comparison."""
    ledger = claim(("A", "B"), arms=(8, 16, 32), test=partial(Slope, along="n_arms"))
    assert n_comparisons(ledger["X-1"].test) == 1
    three = rows({"A": 1.0, "B": 0.0}, arms=(8, 16, 32))
    choice = Choice("new", {"fig": StandIn("other")})
    assert len(readings(ledger, [choice], {"fig": three, "other": three})) == 1
    assert readings(ledger, [choice], {"fig": three, "other": OWN}).empty


def test_own_rows_are_kept_where_those_of_the_choice_have_the_value():
    """Such as every third round: a mean over rounds is of the same rounds."""
    own, other = (pd.concat([OWN.assign(round=t) for t in rounds], ignore_index=True) for rounds in ((1, 2, 3), (3,)))
    changed = pd.concat([other, other[other["series"] == "A"].assign(series="A | new")])
    after, before = StandIn("other", {"A": "A | new"}, ["B"], same="round").rows(changed, own)
    assert set(after["round"]) == set(before["round"]) == {3}
    assert set(after["series"]) == set(before["series"]) == {"A", "B"}


def test_the_table_as_values_of_a_figure():
    """A line for each claim and choice."""
    found = readings(claim(), [Choice("same", {"fig": StandIn("fig")})], {"fig": OWN})
    values = choice_values(found, "laptop")
    assert values[["panel", "series", "statistic", "x", "value"]].to_numpy().tolist() == [
        ["X-1", "same", "confirmed", 2, 2]
    ]


@pytest.mark.parametrize(("study", "choices"), [("gse", OF_GSE), ("dpp_bbo", OF_DPP)])
def test_committed_choices_are_those_of_the_committed_rows(study, choices):
    """All of them; the words of choices are one for each."""
    assert len({choice.words for choice in choices}) == len(choices)
    frames = {name: published(study, name)[1] for name in experiments(choices)}
    assert all(frame is not None for frame in frames.values())
    pd.testing.assert_frame_equal(readings(load_study(study).claims, choices, frames), read_choices(study))


def test_what_is_read_under_a_second_walker_and_budgets_per_arm_is_what_the_controls_say():
    """The same rows, asked by claims of this project: their comparisons are for, open and against alike."""
    for study, of in (
        ("dpp_bbo", {"the walker around a gait": (".w", ["DPP-C10", "DPP-C12a", "DPP-C20b", "DPP-C35c"])}),
        ("gse", {"budgets of Figures 6 and 7 per arm": (".a", ["GSE-C23", "GSE-C24"])}),
    ):
        verdicts = pd.read_csv(f"{RESULTS}/{study}/verdicts.csv").query("convention == 'as_written'").set_index("id")
        found = read_choices(study).set_index(["claim", "choice"])
        for words, (suffix, claims) in of.items():
            for name in claims:
                counts = ["for", "open", "against"]
                told = found.loc[(name, words), counts].to_list()
                assert told == verdicts.loc[f"{name}{suffix}", counts].to_list(), name

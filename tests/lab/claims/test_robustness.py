"""Claims under open choices: one that flips the verdict, those without a claim's cells, draws of all choices."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from frames import runs
from scipy import stats

from bestarm_lab.claims import robustness
from bestarm_lab.claims.cells import Quantity, Value
from bestarm_lab.claims.kinds import Difference, Slope
from bestarm_lab.claims.layout import Best, Part
from bestarm_lab.claims.records import Claim
from bestarm_lab.claims.report import columns_of, rows_behind
from bestarm_lab.claims.robustness import OpenChoice, Substitution, choice_values, effects, summary, under_choices
from bestarm_lab.claims.statistics import Relation
from bestarm_lab.paths import RESULTS, ROOT
from bestarm_lab.results import read_robustness
from bestarm_lab.study import load_study, open_choices
from bestarm_studies.dpp_bbo.robustness import CHOICES as OF_DPP
from bestarm_studies.gse.robustness import CHOICES as OF_GSE

RUNS = 40


def rows(ahead: dict[str, float], arms: tuple[int, ...] = (8, 16), seed: int = 0) -> pd.DataFrame:
    """Return runs of series whose value is higher by so much, on numbers of arms."""
    rng = np.random.default_rng(seed)
    frames = [
        runs({name: by + noise + 0.1 * rng.normal(size=RUNS) for name, by in ahead.items()}, n_arms=n)
        for n in arms
        for noise in [rng.normal(size=RUNS)]
    ]
    return pd.concat(frames)


def claim(*pairs, arms=(8, 16), test=Difference, quantifier="all", **settings) -> dict[str, Claim]:
    part = Part((("fig", {"n_arms": list(arms)}),), pairs or (("A", "B"),))
    asked = {"quantity": Quantity("value"), "relation": Relation("above", low=0.0), "quantifier": quantifier}
    return {"X-1": Claim("X-1", "A is above B.", "", "", {"as_written": test(**asked, parts=(part,), **settings)})}


def only(claims, choice, frames):
    (line,) = under_choices(claims, [choice], frames).to_dict("records")
    return line


def compared(line) -> int:
    return line["for_then"] + line["open_then"] + line["against_then"]


OWN = rows({"A": 1.0, "B": 0.0, "C": 0.5})


def test_a_choice_that_flips_the_verdict():
    choice = OpenChoice("B gains", {"fig": Substitution("other", {"B": "B | better"}, beside=["A", "C"])})
    other = rows({"B": 0.0, "B | better": 2.0})
    line = only(claim(), choice, {"fig": OWN, "other": other})
    assert (line["word"], line["word_then"], line["kind"]) == ("confirmed", "refuted", "choice")
    counts = [line[key] for key in ("for", "open", "against", "for_then", "open_then", "against_then", "of")]
    assert counts == [2, 0, 0, 0, 0, 2, 2]
    told = summary(under_choices(claim(), [choice], {"fig": OWN, "other": other}))
    assert told.iloc[0]["differs"] == "B gains (refuted, else confirmed)"
    assert told.iloc[0][["choices", "confirmed", "refuted", "open"]].to_list() == [1, 0, 1, 0]
    assert robustness.summary_table(told).iloc[0].to_list()[1:4] == ["0 of 1", 1, "2 of 2"]


def test_a_choice_of_the_problem_has_all_series():
    """Its own rows are those of the experiment that it stands in for."""
    choice = OpenChoice("noise", {"fig": Substitution("other")})
    line = only(claim(), choice, {"fig": OWN, "other": rows({"A": -1.0, "B": 0.0})})
    assert (line["word_then"], line["word"]) == ("refuted", "confirmed")


def test_comparisons_that_the_rows_lack_are_left_out_and_counted():
    """By a cell, and by a rival that depends on the choice and was not run under it."""
    stand = Substitution("other", {"A": "A | new"}, beside=["B"])
    frames = {"fig": OWN, "other": rows({"A": 1.0, "A | new": 1.0}, arms=(8,))}
    line = only(claim(("A", "B"), ("A", "C")), OpenChoice("new", {"fig": stand}), frames)
    assert (compared(line), line["of"]) == (1, 4)


def test_a_best_of_some_needs_all_that_the_study_has():
    best = Best("highest", ("B", "C", "nobody"))
    new = rows({"A": 1.0, "A | new": 3.0})
    for beside, found in ((["B"], 0), (["B", "C"], 1)):
        choice = OpenChoice("new", {"fig": Substitution("other", {"A": "A | new"}, beside)})
        assert len(under_choices(claim(("A", best)), [choice], {"fig": OWN, "other": new})) == found


def test_a_choice_without_the_claims_cells_gives_no_line():
    """No such experiment, no such cell, a series that it does not concern, a quantity that it does not concern."""
    elsewhere = OpenChoice("new", {"figure": Substitution("other")})
    far = {"fig": OWN, "figure": OWN, "other": rows({"A": 1.0, "B": 0.0}, arms=(64,))}
    assert under_choices(claim(), [elsewhere], far).empty
    assert under_choices(claim(), [OpenChoice("new", {"fig": Substitution("other")})], far).empty
    third = OpenChoice("new", {"fig": Substitution("other", {"C": "C | new"}, ["A", "B"])})
    assert under_choices(claim(), [third], {"fig": OWN, "other": rows({"C": 1.0, "C | new": 1.0})}).empty
    of_another = OpenChoice("new", {"fig": Substitution("fig")}, quantities=["regret"])
    assert under_choices(claim(), [of_another], {"fig": OWN}).empty
    assert list(summary(under_choices(claim(), [elsewhere], far)))  # columns of a table without lines


def test_a_choice_whose_experiment_has_no_rows_is_refused():
    choice = OpenChoice("new", {"fig": Substitution("other")})
    assert robustness.experiments([choice]) == ["fig", "other"]
    with pytest.raises(ValueError, match=r"^new: no current rows of other; make them by bestarm rows\.$"):
        under_choices(claim(), [choice], {"fig": OWN})


def test_a_number_that_a_claim_names_is_asked_in_proportion():
    """Three of four comparisons become two of two, which one against undoes."""
    pairs = (("A", "B"), ("A", "C"))
    both = rows({"A": 1.0, "B": 0.0, "C": 2.0}, arms=(8,))
    line = only(claim(*pairs, need=3), OpenChoice("few", {"fig": Substitution("other")}), {"fig": OWN, "other": both})
    assert (compared(line), line["of"], line["word_then"]) == (2, 4, "refuted")


def test_a_slope_needs_every_value_of_its_setting():
    ledger = claim(("A", "B"), arms=(8, 16, 32), test=partial(Slope, along="n_arms"))
    assert robustness.n_comparisons(ledger["X-1"].test) == 1
    three = rows({"A": 1.0, "B": 0.0}, arms=(8, 16, 32))
    choice = OpenChoice("new", {"fig": Substitution("other")})
    assert len(under_choices(ledger, [choice], {"fig": three, "other": three})) == 1
    assert under_choices(ledger, [choice], {"fig": three, "other": OWN}).empty


def test_own_rows_are_kept_where_those_of_the_choice_have_the_value():
    """Such as every third round: a mean over rounds is of the same rounds."""
    own, other = (pd.concat([OWN.assign(round=t) for t in rounds], ignore_index=True) for rounds in ((1, 2, 3), (3,)))
    changed = pd.concat([other, other[other["series"] == "A"].assign(series="A | new")])
    after, before = Substitution("other", {"A": "A | new"}, ["B"], same="round").rows(changed, own)
    assert set(after["round"]) == set(before["round"]) == {3}
    assert set(after["series"]) == set(before["series"]) == {"A", "B"}


def test_the_table_as_values_of_a_figure():
    """A line for each claim and choice, and one for what the study's own rows have."""
    found = under_choices(claim(), [OpenChoice("same", {"fig": Substitution("fig")})], {"fig": OWN})
    values = choice_values(found, "laptop")
    columns = ["panel", "series", "statistic", "x", "value"]
    assert values[columns].to_numpy().tolist() == [["X-1", "same", "confirmed", 2, 2]]
    assert choice_values(found, "laptop", "ours")["series"].to_list() == ["ours", "same"]
    told = ["1", "confirmed (2 / 0 / 0)", "confirmed (2 / 0 / 0)", "2 of 2"]
    assert robustness.change_table(found, "ours").iloc[0].to_list() == told


def test_another_value_is_read_from_all_rows_of_the_study():
    """Without a substitution; of the project's own statements only where the choice asks for it."""
    opposite = Value("its opposite", lambda frame, given: -frame.pivot(index="replication", columns="series")["value"])
    lower = {"value": opposite}
    own = {"X-2": replace(claim()["X-1"], ours="control")}
    found = under_choices(claim() | own, [OpenChoice("opposite", values=lower)], {"fig": OWN})
    assert found[["claim", "word", "word_then"]].to_numpy().tolist() == [["X-1", "confirmed", "refuted"]]
    assert len(under_choices(own, [OpenChoice("opposite", values=lower, ours=True)], {"fig": OWN})) == 1
    assert under_choices(claim(), [OpenChoice("opposite", quantities=["value"], values=lower)], {}).empty


def drawn(strengths: dict[tuple[int, str], float], levels: dict[int, str]) -> tuple[pd.DataFrame, list[OpenChoice]]:
    """Return a claim in draws, each read in several ways, with planted strengths."""
    choices = [OpenChoice(f"draw {k}, {way}", levels={"start": levels[k], "way": way}, draw=k) for k, way in strengths]
    counts = dict.fromkeys(("for_then", "open_then", "against_then", "of"), 1)
    lines = [
        {"claim": "X-1", "kind": "draw", "choice": choice.words, "strength": by, "word": "open", **counts}
        | {"word_then": "confirmed" if by > 0 else "mixed"}
        for choice, by in zip(choices, strengths.values(), strict=True)
    ]
    return pd.DataFrame(lines), choices


def test_the_effect_of_a_choice_is_between_draws_or_within_them():
    """Levels of draws are two samples; what is read in every draw is paired, so that draws may scatter."""
    noise = np.random.default_rng(1).normal(scale=2.0, size=60)
    levels = {k: "ab"[k % 2] for k in range(60)}
    own = {k: 4.0 * (levels[k] == "a") + noise[k] for k in range(60)}
    strengths = {(k, way): own[k] + by for k in range(60) for way, by in (("x", 0.2), ("y", 0.0))}
    found, choices = drawn(strengths, levels)
    worth = effects(found, choices).set_index("choice")
    assert (worth.loc["start", "more"], worth.loc["way", "more"]) == ("a", "x")
    difference = noise[::2].mean() - noise[1::2].mean() + 4.0
    error = np.hypot(*(noise[k::2].std(ddof=1) / np.sqrt(30) for k in (0, 1)))
    reach = stats.t.isf(0.05 / 2 / 2, 58) * error  # two pairs of levels in all
    expected = [difference, difference - reach, difference + reach]
    assert worth.loc["start", ["difference", "low", "high"]].to_list() == pytest.approx(expected)
    assert worth.loc["way", ["difference", "low", "high"]].to_list() == pytest.approx([0.2, 0.2, 0.2])
    share = np.mean([by > 0 for (k, _), by in strengths.items() if levels[k] == "a"])
    assert worth.loc["start", "words"].startswith(f"start: a {share:.0%} confirmed, {1 - share:.0%} refuted; b ")
    told = summary(found, effects(found, choices)).iloc[0]
    assert told["choices"] == told["confirmed"] + told["refuted"] == 120
    assert set(told["differs"].replace("; way", "|way").replace("; start", "|start").split("|")) == set(worth["words"])
    values = robustness.draw_values(found, effects(found, choices), "laptop")
    counts = values[values["statistic"] == "readings"].set_index("series")
    assert counts["value"].to_dict() == {verdict: told[verdict] for verdict in ("confirmed", "refuted", "open")}
    assert (counts["n"] == 120).all()


def test_no_choice_is_named_where_none_matters():
    """All levels alike: an interval excludes 0 in at most 5% of the claims (three standard errors)."""
    generator, named = np.random.default_rng(1), 0
    found, choices = drawn({(k, "x"): 0.0 for k in range(60)}, {k: "abc"[k % 3] for k in range(60)})
    for _ in range(200):
        named += (effects(found.assign(strength=generator.normal(size=60)), choices)["low"] > 0.0).any()
    assert named <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


@pytest.mark.parametrize(("study", "choices"), [("gse", OF_GSE), ("dpp_bbo", OF_DPP)])
def test_committed_choices_are_those_of_the_committed_rows(study, choices):
    assert len({choice.words for choice in choices}) == len(choices)
    files = {e: rows_behind(study, e, True) for e in robustness.experiments(choices)}
    columns = {e: [c for c in columns_of(file) if c not in ("key", "data")] for e, file in files.items()}
    texts = dict.fromkeys(("convention", "series"), "category")  # quicker than texts, as is what has no keys
    frames = {e: pd.read_parquet(ROOT / file, columns=columns[e]).astype(texts) for e, file in files.items()}
    committed = read_robustness(study).query("kind == 'choice'").reset_index(drop=True)
    found = under_choices(load_study(study).claims, choices, frames)
    pd.testing.assert_frame_equal(found, committed, rtol=1e-3, atol=1e-3)


def test_choices_of_studies_are_found_and_others_have_none():
    assert (open_choices("gse"), open_choices("gpoo")) == (OF_GSE, ())


def test_what_is_read_under_a_second_walker_and_budgets_per_arm_is_what_the_controls_say():
    """The same rows, asked by claims of this project: their comparisons are for, open and against alike."""
    for study, of in (
        ("dpp_bbo", {"the walker around a gait": (".w", ["DPP-C10", "DPP-C12a", "DPP-C20b", "DPP-C35c"])}),
        ("gse", {"budgets of Figures 6 and 7 per arm": (".a", ["GSE-C23", "GSE-C24"])}),
    ):
        verdicts = pd.read_csv(f"{RESULTS}/{study}/verdicts.csv").query("convention == 'as_written'").set_index("id")
        found = read_robustness(study).set_index(["claim", "choice"])
        for words, (suffix, claims) in of.items():
            for name in claims:
                counts = ["for", "open", "against"]
                told = found.loc[(name, words), [f"{state}_then" for state in counts]].to_list()
                assert told == verdicts.loc[f"{name}{suffix}", counts].to_list(), name

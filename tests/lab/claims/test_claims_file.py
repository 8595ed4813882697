"""Misspellings in ledgers: each is refused in one line with file, claim and the nearest right word."""

import copy
import re
from functools import cache, partial

import pytest
from refusals import refuses, refusing

from bestarm_lab.claims.claims_file import check_names, check_parents, read_claim, read_ledger
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import CONVENTIONS, Decision
from bestarm_lab.claims.written import written_claim
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import claim_ids, study_names

GRIDS = {"fig1": {"gap": [0.1, 1], "budget": [320]}, "fig2": {"n_arms": [8, 16], "per_arm": (10, 20)}, "made": {}}


@cache
def ledger(name):
    """Return the committed claims of a study and its sections as they are written, groups expanded."""
    return {identity: written_claim(name, identity) for identity in claim_ids(name)}


def misspelt(word):
    return f"{word}{word[-1]}"


def places(entry):
    """Yield the way to every mapping of a claim whose keys are words of the grammar."""
    test = entry["test"]
    yield ()
    yield ("test",)
    if "paper" in entry:
        yield ("paper",)
    for convention in CONVENTIONS:
        if test.get(convention):
            yield ("test", convention)
    for key in ("runs",) if "check" not in test else ():
        if key in test:
            yield ("test", key)
    for number in range(len(test.get("parts", []))):
        yield ("test", "parts", number)


def inside(entry, way):
    for step in way:
        entry = entry[step]
    return entry


def changed(entry, way, old, new=None):
    entry = copy.deepcopy(entry)
    mapping = inside(entry, way)
    value = mapping.pop(old)
    if new is not None:
        mapping[new] = value
    return entry


def refusal(name, identity, entry):
    """Return why a claim is refused, or None if it is read."""
    study = load_study(name)
    try:
        read_claim(identity, entry, {}, study.checks, study.values, f"{name}/claims.yaml")
    except ValueError as error:
        return str(error)
    return None


def misspellings(name):
    """Yield every claim of a study, and every place and key of it that can be misspelt."""
    for identity, entry in ledger(name).items():
        for way in places(entry):
            for key in inside(entry, way):
                yield identity, entry, way, key


@pytest.mark.parametrize("name", study_names())
def test_every_misspelt_key_of_every_claim_is_refused(name):
    """With file, claim and right word, in one line: every key of every claim, once."""
    found = {
        (identity, *way, key): refusal(name, identity, changed(entry, way, key, misspelt(key)))
        for identity, entry, way, key in misspellings(name)
    }
    assert len(found) > 300
    told = [
        said is not None
        and said.startswith(f"{name}/claims.yaml, {way[0]}")
        and f"unknown key {misspelt(way[-1])!r}; the nearest right word is {way[-1]!r}" in said
        and "\n" not in said
        for way, said in found.items()
    ]
    assert [way for way, right in zip(found, told, strict=True) if not right] == []


def test_optional_keys_are_refused_that_passed_in_silence():
    """What may be left out could be misspelt: a review counted 86 such slips, of which 22 turned the verdict."""
    optional = [
        (name, identity, key)
        for name in study_names()
        for identity, entry, way, key in misspellings(name)
        if way[:1] == ("test",) and refusal(name, identity, changed(entry, way, key)) is None
    ]
    assert len(optional) >= 86
    assert {"by", "need", "runs", "paired", "best", "against", "from", "with"} <= {key for *_, key in optional}


OURS = {"claim": "A.", "where": "here", "notebook": "01"}
PAPER = {"sentence": "s0123456789-7", "level": "detail", "quantifier": "all"}
ANCHOR = {**OURS, "paper": PAPER}
C10 = {"discordant": "aggregated_regret", "left": "GPOO (S = 10)", "right": "GPOO (S = 1)", "below": 0, "need": 3}
C10 |= {"cells": {"fig5": {"budget": [10, 15]}}}
AB = {"left": "a", "right": "b"}
GAP = {"difference": "gap_closed", "of": "aggregated_regret", "slow": "AVE-StoOO", "fast": "GPOO (S = 10)"}
GAP |= {"changed": "AVE-StoOO | posterior mean", "each": "series", "above": 0.5, "cells": {"ablation_f1": {}}}
ALWAYS = {"check": "always", "experiments": ["theory_event"], "metric": "regret_share", "series": ["GPOO (S = 1)"]}
SEARCH = {"check": "of_search", "experiments": ["fig5"], "metric": "aggregated_regret", "series": ["GPOO (S = 1)"]}
OF_SEARCH = Check(lambda given, rows: Decision(True, ""), {"metric": "column", "series": "series"})


def read_one(test, checks=None, values=None, file="claims.yaml", **about):
    return read_ledger({"claims": {"C": {**ANCHOR, "test": test, **about}}}, checks or {}, values or {}, file)[0]


def begins(place, said):
    """Return a pattern of messages that begin with a place and have some words."""
    return f"^(?={re.escape(place)}).*{re.escape(said)}"


@refusing(
    (C10 | {"cells": {"fig55": {}}}, "unknown experiment 'fig55'; the nearest right word is 'fig5'"),
    (C10 | {"with": "rivals_f33"}, "unknown experiment 'rivals_f33'; the nearest right word is 'rivals_f3'"),
    (C10 | {"cells": {"fig5": {"bugdet": 10}}}, "unknown setting 'bugdet'; the nearest right word is 'budget'"),
    (C10 | {"left": "GPOO (S=10)"}, "unknown series 'GPOO (S=10)'; the nearest right word is 'GPOO (S = 10)'"),
    (C10 | {"right": {"highest": ["GPOO (S = 1)", "GPOO"]}}, "unknown series 'GPOO'"),
    (C10 | {"discordant": "agregated_regret"}, "unknown column or value 'agregated_regret'; the nearest"),
    (GAP | {"of": "agregated_regret"}, "of: unknown column 'agregated_regret'; the nearest"),
    (GAP | {"slow": "AVE-StooOO"}, "slow: unknown series 'AVE-StooOO'; the nearest right word is 'AVE-StoOO'"),
    (ALWAYS | {"experiments": ["theory_events"]}, "unknown experiment 'theory_events'"),
    (SEARCH | {"series": ["GPOO (S = 2)"]}, "series: unknown series 'GPOO (S = 2)'"),
    (SEARCH | {"metric": "aggregate_regret"}, "metric: unknown column 'aggregate_regret'; the nearest"),
    (ALWAYS | {"check": "alway"}, "unknown check 'alway'; the nearest right word is 'always'"),
    within=partial(begins, "gpoo/claims.yaml, C, test"),
)
def test_names_that_the_study_does_not_have_are_refused(test):
    study, file = load_study("gpoo"), "gpoo/claims.yaml"
    given = {**study.checks, "of_search": OF_SEARCH}, study.values, file
    check_names(read_one(test, *given), study.experiments, file)


def test_a_value_of_a_setting_that_is_not_varied_is_refused():
    study = load_study("gse")
    test = {"difference": "correct", "left": "GSE-Lin", "above": 0.5, "cells": {"fig1": {"gap": 0.02}}}
    claims = read_one(test, study.checks, study.values)
    refuses(lambda: check_names(claims, study.experiments), r"fig1, gap: unknown value 0\.02")


@refusing(
    ({"need": "three"}, "need: expected a whole number, got 'three'"),
    ({"need": True}, "need: expected a whole number, got True"),
    ({"below": "zero"}, "below: expected a number, got 'zero'"),
    ({"below": 0.1}, "this test is about 0, got below 0.1; write below: 0"),
    ({"above": 0}, "above and below exclude one another"),
    ({"paired": "no"}, "paired: expected true or false, got 'no'"),
    ({"cells": 5}, "cells: expected keys with values, got 5"),
    ({"cells": {"fig5": {"budget": {"from": 10, "too": 80}}}}, "unknown key 'too'; the nearest right word is 'to'"),
    ({"left": {"lowest_by_halve": ["a"]}}, "unknown key 'lowest_by_halve'; the nearest right word"),
    ({"pairs": [["a", "b"]]}, "left and pairs exclude one another"),
    ({"runs": {"at_mots": 1}}, "unknown key 'at_mots'; the nearest right word is 'at_most'"),
    ({"parts": [{"cels": {}}]}, "unknown key 'cels'; the nearest right word is 'cells'"),
    ({"series_are": "size"}, "unknown value 'size'"),
    within=partial(begins, "claims.yaml, C, test"),
)
def test_values_that_mean_nothing_are_refused(change):
    read_one(C10 | change)


@refusing(
    ({"mostly": "v", **AB, "below": 0, "in_cells": 1, "by": "ratios"}, "unknown word 'ratios'"),
    ({"mostly": "v", "left": "a", "below": 0, "in_cells": 1}, "compares two sides; name right"),
    ({"mostly": "v", **AB, "below": 0}, "no in_cells or in_more_than"),
    ({"rank": "v", "left": "c", "among": ["a", "b"], "is": 1, "in_cells": 1}, "unknown series 'c'"),
    ({"rank": "v", "left": "a", "among": ["a"], "is": 1, "in_cells": 1, "best": "low"}, "unknown word 'low'"),
    ({"slope": "v", "left": "a", "above": 0, "along": "k"}, "along: unknown setting 'k'"),
    ({"share": "v", "left": "a", "within": 0.1, "printed": {"e": {"a": 0.5}}}, "without its number of runs"),
    ({"share": "v", "left": "a", "within": 0.1}, "no above or below"),
    ({"check": "c"}, "no level"),
    ({"check": "c", "level": 1, "part": "smal"}, "part: unknown word 'smal'; the nearest right word is 'small'"),
    ({"left": "a"}, "no check or difference or ratio"),
    within=partial(begins, "claims.yaml, C, test"),
)
def test_tests_that_lack_something_are_refused(test):
    checks = {"c": Check(lambda given: Decision(True, ""), {"level": "number"}, {"part": "small|large"})}
    read_one(test if "check" in test else {**test, "cells": {"e": {}}}, checks)


def test_a_statement_of_ours_belongs_to_a_claim_that_there_is():
    entry = {**OURS, "test": C10, "ours": "control", "of": "C11"}
    claims = read_ledger({"claims": {"C1": {**entry, "of": "C1"}, "C1.a": entry}}, {}, {})[0]
    refuses(lambda: check_parents(claims), r"C1\.a, of: unknown claim 'C11'; the nearest right word is 'C1")
    wrong = {"claims": {"C1": {**entry, "ours": "controls"}}}
    refuses(lambda: read_ledger(wrong, {}, {}), "unknown word 'controls'; the nearest right word is 'control'")


@refusing(
    ({"sentence": "the sentence"}, "sentence: expected a fingerprint such as s0f3a9c21de-17, got 'the sentence'"),
    ({"sentence": None}, "C, paper: no sentence"),
    ({"level": "headlines"}, "level: unknown word 'headlines'; the nearest right word is 'headline'"),
    ({"level": "headline"}, "C, paper: no short"),
    ({"quantifier": "mostly"}, "quantifier: unknown word 'mostly'; the nearest right word is 'most'"),
    ({"short": "a detail has none"}, "C, paper: unknown key 'short'"),
    within=partial(begins, "claims.yaml, C, paper"),
)
def test_a_claim_says_which_sentence_it_is_of(change):
    read_one(C10, paper={key: value for key, value in (PAPER | change).items() if value is not None})


def test_a_claim_is_the_papers_or_ours():
    refuses(lambda: read_one(C10, ours="control"), r"^claims\.yaml, C: unknown key 'paper'")
    refuses(lambda: read_ledger({"claims": {"C": {**OURS, "test": C10}}}, {}, {}), r"^claims\.yaml, C: no paper")
    nowhere = {"claim": "A.", "notebook": "01", "ours": "control", "test": C10}
    refuses(lambda: read_ledger({"claims": {"C": nowhere}}, {}, {}), r"^claims\.yaml, C: no where")


def test_a_statement_of_ours_takes_from_its_claim_what_it_does_not_say():
    entries = {
        "C": {**ANCHOR, "test": C10},
        "C.a": {"claim": "B.", "notebook": "01", "ours": "control", "test": {"like": "C", "right": "GPOO"}},
        "C.b": {**OURS, "where": "there", "ours": "reading", "of": "C.a", "test": {"like": "C.a", "below": 0}},
    }
    found, _ = read_ledger({"claims": entries}, {}, {})
    assert [(claim.of, claim.where) for claim in found.values()] == [("", "here"), ("C", "here"), ("C.a", "there")]
    first, *others = (claim.test.parts[0] for claim in found.values())
    assert [part.cells for part in others] == [first.cells] * 2
    assert [part.pairs for part in others] == [(("GPOO (S = 10)", "GPOO"),)] * 2
    entries["C.a"]["test"] = {"like": "C.b"}
    said = r"^l\.yaml, C\.a, test, like: unknown earlier claim 'C\.b'; the nearest right word is 'C'\.$"
    refuses(lambda: read_ledger({"claims": entries}, {}, {}, "l.yaml"), said)


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ("fig2", [("fig2", {"n_arms": [8, 16], "per_arm": [10, 20]})]),
        (["fig1", "made"], [("fig1", {"gap": [0.1, 1]}), ("made", {})]),
        ({"fig2": {"per_arm": 20}}, [("fig2", {"n_arms": [8, 16], "per_arm": [20]})]),
        ({"fig1": {"budget": 320}}, [("fig1", {"gap": [0.1, 1], "budget": [320]})]),
        ([{"fig1": "small"}, "fig2"], [("fig1", {"gap": [0.1]}), ("fig2", {"n_arms": [8, 16], "per_arm": [10, 20]})]),
        ({"fig1": {"batch": 3}}, [("fig1", {"batch": [3], "gap": [0.1, 1]})]),
        ([{"fig1": {"gap": 1}}, {"fig1": {"gap": 0.1}}], [("fig1", {"gap": [1]}), ("fig1", {"gap": [0.1]})]),
    ],
)
def test_a_claim_has_the_grid_of_its_experiment(cells, found):
    ledger = {"groups": {"small": {"gap": 0.1}}, "claims": {"C": {**ANCHOR, "test": {**C10, "cells": cells}}}}
    claims, _ = read_ledger(ledger, {}, {}, grids=GRIDS)
    assert list(claims["C"].test.parts[0].cells) == found


def test_a_value_outside_the_grid_is_refused():
    ledger = {"claims": {"C": {**ANCHOR, "test": {**C10, "cells": {"fig2": {"per_arm": [10, 50]}}}}}}
    said = r"^s/claims\.yaml, C, test, cells, fig2, per_arm: 50 is not in the experiment's grid; name some of 10, 20\.$"
    refuses(lambda: read_ledger(ledger, {}, {}, "s/claims.yaml", grids=GRIDS), said)


def test_a_margin_of_both_sides_says_which_is_better():
    test = {"difference": "v", "left": "a", "within": 0.1, "better": "above", "cells": {"e": {}}}
    assert read_one(test)["C"].test.better == "above"
    one_sided = {key: value for key, value in test.items() if key != "within"} | {"above": 0}
    refuses(lambda: read_one(one_sided), "unknown key 'better'")

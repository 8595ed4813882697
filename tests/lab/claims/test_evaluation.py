"""A claim's way from rows to a verdict: absent, wrong, smoke and stand-in rows, exact checks, both conventions."""

import ast
import inspect
import re
import textwrap
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from frames import runs

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.claims_file import read_ledger
from bestarm_lab.claims.evaluation import COLUMNS, COMPARED, adjust_p_values, comparison_table, verdict_lines
from bestarm_lab.claims.records import OURS, Check, Exact
from bestarm_lab.claims.robustness import other_margins
from bestarm_lab.claims.verdicts import Decision, scoreboard, verdict_table, verdict_text
from bestarm_lab.claims.written import expanded
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.paper import Paper
from bestarm_lab.study import Study, load_study, open_choices
from bestarm_lab.study_packages import study_names

PAPER = Paper("", "", "", "", "", prints={}, figures={})
TEST = {"difference": "correct", "left": "a", "right": "b", "above": 0, "cells": {"e": {}}}
MANY = {**TEST, "cells": {"e": {"k": [1, 2, 3]}}}
STUDIES = list(study_names())


def rows(
    means: dict[str, float], *, n: int = 200, seed: int = 0, data: str = "synthetic", convention: str = "as_written"
) -> pd.DataFrame:
    """Return rows of runs that succeed with these probabilities."""
    rng = np.random.default_rng(seed)
    correct = {s: (rng.random(n) < p).astype(float) for s, p in means.items()}
    return runs(correct, "correct", convention=convention, data=data)


def study(*tests: dict, checks=None, values=None, quantifier="all", **about) -> Study:
    """Return a study with these tests as claims C1, C2, ..."""
    paper = {"sentence": "s0123456789-7", "level": "detail", "quantifier": quantifier}
    anchor = {} if "ours" in about else {"paper": paper}
    claims = {
        f"C{i}": {"claim": f"Claim {i} holds.", "where": "here", "notebook": "01", **anchor, "test": t, **about}
        for i, t in enumerate(tests, start=1)
    }
    checks, values = checks or {}, values or {}
    return Study("s", {}, read_ledger({"claims": claims}, checks, values)[0], PAPER, checks, values)


def evaluate(*given, **settings) -> pd.DataFrame:
    return adjust_p_values(verdict_lines(*given, **settings))


def verdict(test: dict, frames: dict[str, pd.DataFrame], **given) -> pd.Series:
    return evaluate(study(test), frames, **given).iloc[0]


GOOD = rows({"a": 0.9, "b": 0.5})


def test_the_rows_handed_over_decide():
    """Right rows confirm, reversed rows refute, equal ones leave it open; the line has the effect and both p-values."""
    line = verdict(TEST, {"e": GOOD})
    assert (line["verdict"], line["effect"]) == ("confirmed", pytest.approx(0.4, abs=0.08))
    assert line["low"] < line["effect"] < line["high"]
    assert (line["n"], line["comparisons"], line["for"], line["scale"]) == (200, 1, 1, "laptop")
    assert line[["on_average", "average_p_adjusted"]].isna().all()  # one comparison is its own mean
    assert list(line.index) == COLUMNS
    assert verdict(TEST, {"e": rows({"a": 0.5, "b": 0.9})})["verdict"] == "refuted"
    open_ = verdict(TEST, {"e": rows({"a": 0.5, "b": 0.5}, seed=1)})
    assert open_["verdict"] in ("undecided", "at the margin")
    assert pd.isna(open_["needed_n"]) or open_["needed_n"] > 200


@pytest.mark.parametrize(
    ("frames", "given", "reason"),
    [
        ({}, {}, "e has no rows"),
        ({"e": GOOD}, {"profile": "smoke"}, "smoke profile"),
        ({"e": rows({"a": 0.9, "b": 0.5}, data="stand-in")}, {}, "e ran on stand-in data"),
        ({"e": rows({"a": 0.9, "b": 0.5}, n=11)}, {}, "e has n = 11 < 12"),
    ],
)
def test_what_decides_nothing_is_not_run(frames, given, reason):
    """Absent, smoke and stand-in rows and too few runs give no verdict, whatever the numbers say."""
    line = verdict(TEST, frames, **given)
    assert (line["verdict"], line["decided_by"]) == ("not run", reason)
    assert pd.isna(line["p_adjusted"])


def test_an_exact_check_sees_only_the_rows_handed_over():
    """It is not run without rows, on stand-in data or on smoke rows, and never looks elsewhere."""

    def check(test, given):
        """Check that the first run is right."""
        return Decision(bool(given["e"]["correct"].iloc[0] == test["first"]), "looked", checked="1 run")

    checks = {"check": Check(check, {"first": "number"})}
    claims = study({"check": "check", "experiments": ["e"], "first": 1.0}, checks=checks)
    right, wrong = rows({"a": 1.0}, n=1), rows({"a": 0.0}, n=1)
    found = evaluate(claims, {"e": right}).iloc[0]
    assert found[["verdict", "kind", "test"]].tolist() == ["confirmed", "exact", "Check that the first run is right"]
    assert verdict_text(found) == "no violation in 1 run"
    assert evaluate(claims, {"e": wrong}).iloc[0]["verdict"] == "refuted"
    for given in ({}, {"e": right.assign(data="stand-in")}):
        assert evaluate(claims, given).iloc[0]["verdict"] == "not run"
    assert evaluate(claims, {"e": right}, profile="smoke").iloc[0]["verdict"] == "not run"


def test_what_could_not_fail_is_not_informative_and_missing_data_not_run():
    def empty(test, given):
        """Check nothing."""
        return Decision(True, "the bound is never below 1", informative=False)

    def absent(test, given):
        """Check a file."""
        raise DataUnavailable("no file")

    tests = [{"check": name, "experiments": []} for name in ("a", "b")]
    found = evaluate(study(*tests, checks={"a": Check(empty), "b": Check(absent)}), {})
    assert found["verdict"].tolist() == ["not informative", "not run"]
    assert verdict(TEST, {"e": pd.concat([rows({"a": 0.0, "b": 0.0})])})["verdict"] == "not informative"
    everybody = verdict({**TEST, "above": -0.1}, {"e": rows({"a": 1.0, "b": 1.0})})
    assert everybody["verdict"] == "confirmed"  # all succeed: that is no empty cell


def test_a_cell_in_which_nobody_succeeds_does_not_count():
    """One of two cells is empty: the other decides, and the line says how many say nothing."""
    both = pd.concat([GOOD.assign(k=1), rows({"a": 0.0, "b": 0.0}).assign(k=2)])
    line = verdict({**TEST, "cells": {"e": {"k": [1, 2]}}}, {"e": both})
    assert (line["verdict"], line["comparisons"]) == ("confirmed", 1)
    assert line["decided_by"].endswith("; 1 say nothing")


def test_the_largest_scale_decides_where_all_experiments_have_it():
    """Rows at the paper's scale take the place of the laptop's, unless one experiment has none."""
    bad = rows({"a": 0.5, "b": 0.9})
    line = verdict(TEST, {"e": bad}, larger={"e": GOOD})
    assert (line["verdict"], line["scale"]) == ("confirmed", "paper")
    line = verdict({**TEST, "cells": {"e": {}, "f": {}}}, {"e": bad, "f": bad}, larger={"e": GOOD})
    assert (line["verdict"], line["scale"]) == ("refuted", "laptop")
    line = verdict(TEST, {}, larger={"e": GOOD}, profile="smoke")
    assert line["verdict"] == "confirmed"  # rows at the paper's scale are no smoke rows


def test_conventions_are_decided_apart():
    """A claim has a line for each convention that its rows have; a control needs them of every experiment."""
    both = pd.concat([GOOD, rows({"a": 0.5, "b": 0.9}, convention="as_coded")])
    found = evaluate(study(TEST), {"e": both}).set_index("convention")["verdict"]
    assert found.to_dict() == {"as_written": "confirmed", "as_coded": "refuted"}
    two = {**TEST, "cells": {"e": {}, "f": {}}}
    assert evaluate(study(two), {"e": both, "f": GOOD}).set_index("convention")["verdict"]["as_coded"] == "not run"
    assert evaluate(study(two, ours="control"), {"e": both, "f": GOOD})["convention"].tolist() == ["as_written"]


def test_a_ledger_may_change_a_test_for_a_convention_or_leave_it_out():
    """A side that the authors' code does not have is named by null; other settings replace those of the test."""
    both = pd.concat([GOOD, rows({"b": 0.9}, convention="as_coded")])
    assert evaluate(study({**TEST, "as_coded": None}), {"e": both})["convention"].tolist() == ["as_written"]
    found = evaluate(study({**TEST, "as_coded": {"left": "b", "above": -0.1}}), {"e": both}).set_index("convention")
    assert found["margin"].to_dict() == {"as_written": "above 0", "as_coded": "above -0.1"}


def test_another_claim_does_not_undecide_the_others_and_ours_are_a_family_of_their_own():
    """Twenty copies of a claim keep its p-value (Holm would multiply it by twenty); ours do not count among them."""
    weak = {"e": rows({"a": 0.60, "b": 0.47}, seed=3)}
    alone = evaluate(study(TEST), weak).iloc[0]
    assert alone["verdict"] == "confirmed"
    assert 0.001 < alone["p_adjusted"] < 0.05
    assert evaluate(study(*[TEST] * 20), weak)["p_adjusted"].to_numpy(dtype=float) == pytest.approx(alone["p_adjusted"])
    mixed = study(TEST, *[{**TEST, "left": "b", "right": "b2"}] * 9)
    noise = pd.concat([weak["e"], rows({"b2": 0.47}, seed=8)])
    theirs = evaluate(mixed, {"e": noise})
    assert theirs["p_adjusted"].iloc[0] > alone["p_adjusted"]  # nine empty claims cost something
    own = {name: replace(claim, ours="control") for name, claim in mixed.claims.items()}
    for claims, expected in (({**mixed.claims, "C1": own["C1"]}, alone), (own, theirs.iloc[0])):
        found = evaluate(replace(mixed, claims=claims), {"e": noise})["p_adjusted"].iloc[0]
        assert found == pytest.approx(expected["p_adjusted"])


def test_the_scoreboard_counts_the_papers_claims_only():
    table = evaluate(study(TEST, TEST), {"e": GOOD})
    table.loc[1, "ours"] = "control"
    line = scoreboard({"s": table}).iloc[0]
    assert (line["study"], line["convention"], line["confirmed"], line["refuted"]) == ("s", "paper's text", 1, 0)


def test_the_table_for_reading_has_a_column_for_each_convention_and_no_effects():
    both = pd.concat([GOOD, rows({"a": 0.5, "b": 0.9}, convention="as_coded")])
    lines = verdict_table(evaluate(study(TEST), {"e": both})).splitlines()
    assert lines[0] == "|  | claim | text | code | for / open / against |"
    assert lines[2] == "| C1 | Claim 1 holds. | confirmed | refuted | 1 / 0 / 0<br>0 / 0 / 1 |"
    control = verdict_table(evaluate(study(TEST, ours="control"), {"e": GOOD}))
    assert control.splitlines()[2] == "| C1 | *control:* Claim 1 holds. | confirmed | 1 / 0 / 0 |"


def three(*higher: bool) -> dict[str, pd.DataFrame]:
    """Return rows of three cells in each of which a is better, or b."""
    both = ({"a": 0.9, "b": 0.5}, {"a": 0.5, "b": 0.9})
    cells = [rows(both[not up], seed=k).assign(k=k) for k, up in enumerate(higher, start=1)]
    return {"e": pd.concat(cells, ignore_index=True)}


@pytest.mark.parametrize(
    ("quantifier", "two_of_three", "one_of_three"),
    [("all", "mixed", "mixed"), ("most", "confirmed", "mixed"), ("exists", "confirmed", "confirmed")],
)
def test_a_quantifier_says_how_many_comparisons_a_claim_needs(quantifier, two_of_three, one_of_three):
    found = evaluate(study(MANY, quantifier=quantifier), three(True, True, False)).iloc[0]
    assert (found["verdict"], found["for"], found["against"]) == (two_of_three, 2, 1)
    assert evaluate(study(MANY, quantifier=quantifier), three(True, False, False)).iloc[0]["verdict"] == one_of_three
    assert evaluate(study(MANY, quantifier=quantifier), three(False, False, False)).iloc[0]["verdict"] == "refuted"


def test_every_comparison_behind_a_verdict_is_written_down():
    table = comparison_table(verdict_lines(study(MANY), three(True, True, False)))
    assert (list(table), table["state"].tolist()) == (COMPARED, ["for", "for", "against"])
    assert table["comparison"].tolist() == [f"e: k = {k}, a against b" for k in (1, 2, 3)]
    assert (table["strength"] > 0).tolist() == [True, True, False]


def test_verdicts_under_other_margins():
    """0.4 beyond a margin of 0.25, not of 0.5; a claim without a margin has no such line."""
    lines = verdict_lines(study({**TEST, "above": 0.25}, TEST), {"e": rows({"a": 0.9, "b": 0.5}, n=2000)})
    table = other_margins(lines, adjust_p_values(lines))
    assert set(table["word"]) == {"confirmed"}
    assert table[["choice", "word_then", "for_then", "against_then"]].to_numpy().tolist() == [
        ["margin halved", "confirmed", 1, 0],
        ["margin doubled", "refuted", 0, 1],
        ["adjusted by Holm", "confirmed", 1, 0],
        ["adjusted by Holm", "confirmed", 1, 0],
    ]


def test_a_second_look_costs_a_little():
    """At any scale with so many runs; rows with fewer were looked at once; of three looks the last but one is paid."""
    frames = {"e": rows({"a": 0.60, "b": 0.47}, seed=3)}

    def p(*runs: int, larger: bool = True) -> float:
        given = replace(study(TEST), plan={"e": list(runs)} if runs else {})
        return evaluate(given, {} if larger else frames, larger=frames if larger else None).iloc[0]["p"]

    assert p() < p(100, 200) < 1.1 * p()
    assert p(100, 200, larger=False) == p(50, 100, 200) == p(100, 200)
    assert p(100, 201) == p()


def test_groups_stand_for_what_they_list():
    """A name is replaced in lists (spliced), in mappings and inside other groups; keys and other strings stay."""
    groups = {"two": ["a", "b"], "cells": {"e": {"name": "two"}}}
    assert expanded({"left": "two", "right": ["two", "c", {"highest": "two"}], "cells": "cells"}, groups) == {
        "left": ["a", "b"],
        "right": ["a", "b", "c", {"highest": ["a", "b"]}],
        "cells": {"e": {"name": ["a", "b"]}},
    }


@pytest.mark.parametrize("name", STUDIES)
def test_every_claim_is_a_sentence_that_stands_alone(name):
    """No claim leans on the one above it; what is ours says what it is, and of which claim."""
    claims = load_study(name).claims
    leans = r"(So|It|Its|They|Nor|With (?:it|this|them|these)|And|Neither|This|These|Then)\b"
    for identity, claim in claims.items():
        assert re.match(r"[A-Zηαmλ]", claim.text), identity
        assert not re.match(leans, claim.text), identity
        assert claim.text.endswith("."), identity
        assert claim.ours in ("", *OURS), identity
        assert ("." in identity) <= bool(claim.of), identity
    assert len({claim.text for claim in claims.values()}) == len(claims)


@pytest.mark.parametrize("study_name", STUDIES)
def test_every_check_and_value_is_used(study_name):
    """Nothing decides or derives what nobody claims, and no check or value declares a setting that it does not read."""
    loaded, used = load_study(study_name), set()
    for test in (test for claim in loaded.claims.values() for test in claim.tests.values()):
        if isinstance(test, Exact):
            used.add(test.name)
        else:
            settings = [setting for part in test.parts for _, where in part.cells for setting in where]
            used |= {test.quantity.name, test.quantity.series_are, *settings}
    read = [value for choice in open_choices(study_name) for value in choice.values.values()]
    used |= {name for name, value in loaded.values.items() if value in read}
    for known in (loaded.checks, loaded.values):
        assert set(known) <= used
        for name, asked in known.items():
            functions = [asked.decide] if isinstance(asked, Check) else [asked.of, asked.statistic]
            modules = {inspect.getmodule(getattr(f, "func", f)) for f in functions if f is not None}
            source = "".join(map(inspect.getsource, modules))
            assert [key for key in (*asked.needs, *asked.may) if f'"{key}"' not in source] == [], name


def test_a_value_of_the_study_takes_the_place_of_a_column():
    wrong = Value("a wrong answer", lambda r, test: 1.0 - r.pivot(index="replication", columns="series")["correct"])
    test = {"share": "wrong", "below": 0.3, "left": "a", "cells": {"e": {}}}
    line = evaluate(study(test, values={"wrong": wrong}), {"e": GOOD}).iloc[0]
    assert (line["verdict"], line["unit"]) == ("confirmed", "share of runs with a wrong answer")


def test_a_check_without_rows_is_called_with_its_settings_alone_and_cannot_ask_for_experiments():
    def half(test):
        return Decision(test["of"] / 2 < 1, "a half")

    check = Check(half, {"of": "number"})
    assert check({"of": 1}, {}).holds
    assert not check({"of": 2}, {"fig1": pd.DataFrame()}).holds
    assert not check.reads_rows


@pytest.mark.parametrize("study_name", STUDIES)
def test_a_check_with_rows_reads_them(study_name):
    for name, check in load_study(study_name).checks.items():
        rows = list(inspect.signature(check.decide).parameters)[1:]
        body = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(check.decide))))
        read = {n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        assert set(rows) <= read, f"{name} does not read {', '.join(rows)}; drop that argument."

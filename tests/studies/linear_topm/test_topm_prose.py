"""Numbers, titles and verdicts in the notebooks' prose are those of the tables beside them."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from prose import WRITTEN, prose, quote

from bestarm_lab.paths import FIGURES, NOTEBOOKS
from bestarm_lab.results import read_verdicts

LINGAPE, LUCB, RATIO = "m-LinGapE (greedy)", "LUCB (largest var.)", "ratio of means"


def quoted(notebook: str, fragment: str, file: str, *lines: Mapping[str, Any], **how: Any) -> Any:
    """Return a quote of means as written, where a line does not name another number."""
    return quote("linear_topm", notebook, fragment, file, *({"statistic": "mean"} | WRITTEN | x for x in lines), **how)


def in_figure_1(panel, series):
    return {"panel": panel, "series": series}


def growth(series):
    return [{"panel": panel, "series": series} for panel in "ba"]


def ratio(over, under):
    return f"{over / under:.1f}"


def real(series, statistic, panel):
    return {"panel": panel, "series": series, "statistic": statistic, "x": "103 artists,\ntrue"}


ONE, TWO, THREE, FOUR = "01_main_results", "02_classic_instances", "03_random_instances", "04_complexity_constants"
FIVE, SIX, SEVEN, EIGHT = "05_drug_simulator", "06_paper_against_code", "07_theory", "08_beyond"
SEPARATION = {"panel": "separation", "series": "the ten drugs of the paper"}
STALE = {"panel": "1(b)", "series": LINGAPE, "x": "stale pair", "statistic": "error rate"}
TEN_OF_FIVE = {"series": "K=10, m=4, N=5", "statistic": "frequency"}

QUOTED = [
    quoted(ONE, "of LUCB's pulls on the classic instance ({:.0f} against", "fig01", in_figure_1("a", LINGAPE)),
    quoted(ONE, "on the classic instance (3048 against {:.0f})", "fig01", in_figure_1("a", LUCB)),
    quoted(ONE, "on instance (b) it needs {:.0f} pulls", "fig01", in_figure_1("b", "LinGame")),
    quoted(ONE, "a third of the {:.0f} of m-LinGapE", "fig01", in_figure_1("b", LINGAPE)),
    quoted(TWO, "grows by a factor of {} as written", "fig02", *growth(LINGAPE), form=ratio),
    quoted(TWO, "that of LUCB by {}, where", "fig02", *growth(LUCB), form=ratio),
    quoted(
        TWO,
        "the gap to the power {}, close",
        "tab_growth",
        {"series": LINGAPE, "statistic": "growth exponent"},
        form=lambda slope: f"−{-slope:.2f}",
    ),
    quoted(THREE, "are alike for m = 3 ({:.0f} and", "fig03", in_figure_1("m = 3", "m-LinGapE (optimized)")),
    quoted(
        THREE, "are alike for m = 3 (1092 and {:.0f} pulls", "fig03", in_figure_1("m = 3", "LinGIFA (largest var.)")
    ),
    quoted(THREE, "as written ({:.0f} against", "fig03", in_figure_1("m = 8", "m-LinGapE (optimized)")),
    quoted(THREE, "(12588 against {:.0f})", "fig03", in_figure_1("m = 8", "LinGIFA (largest var.)")),
    quoted(FOUR, "holds on {:.1%} of the smallest", "tab04", TEN_OF_FIVE | {"convention": "as_coded"}),
    quoted(FOUR, "holds on {:.1%} of all instances", "tab04", TEN_OF_FIVE),
    quoted(FIVE, "mean score of AE drugs {:.3f} above", "fig05", SEPARATION | {"convention": "as_coded"}),
    quoted(FIVE, "the difference is {:.3f} on average", "fig05", SEPARATION),
    quoted(FIVE, "on average and never above {:.3f}.", "fig05", SEPARATION | {"statistic": "maximum"}),
    quoted(SIX, "the stale pair alone makes {:.1%} of", "fig_audit_deviations", STALE),
    quoted(
        SIX,
        "multiplies the pulls of LinGame by {:.2f}.",
        "fig_audit_deviations",
        {"panel": "1(b)", "series": "LinGame", "x": "without 1/σ²", "statistic": RATIO},
    ),
    quoted(
        SEVEN,
        "it is {:.1f} times the pulls",
        "theory_bound",
        {"panel": "theory_classic", "series": "m-LinGapE (largest var.)", "statistic": "mean slack"},
    ),
    quoted(
        SEVEN,
        "loses the event in {:.1%} of the runs",
        "theory_event",
        {"panel": "classic, heuristic", "series": LINGAPE, "statistic": "event failed"},
    ),
    quoted(
        EIGHT,
        "m-LinGapE (greedy) needs {:.0f} pulls where",
        "beyond_growth",
        {"panel": "b", "series": LINGAPE, "x": 100},
    ),
    quoted(EIGHT, "where LUCB needs {:.0f}.", "beyond_growth", {"panel": "b", "series": LUCB, "x": 100}),
    quoted(EIGHT, "stops after {:.0f} pulls with", "beyond_real", real(LINGAPE, "mean", "c")),
    quoted(EIGHT, "with a loss of {:.3f}. LUCB", "beyond_real", real(LINGAPE, "mean loss", "b")),
    quoted(EIGHT, "no features, needs {:.0f} pulls and", "beyond_real", real(LUCB, "mean", "c")),
    quoted(EIGHT, "pulls and loses {:.3f}.", "beyond_real", real(LUCB, "mean loss", "b")),
]


@pytest.mark.parametrize("quoted_number", QUOTED)
def test_quoted_numbers_are_those_of_the_figures(quoted_number):
    quoted_number.check()


def verdicts() -> pd.DataFrame:
    table = read_verdicts("linear_topm")
    assert isinstance(table, pd.DataFrame)
    return table


def line(identity: str, convention: str = "as_written") -> pd.Series:
    return verdicts().set_index(["id", "convention"]).loc[(identity, convention)]


def test_the_score():
    table = verdicts().query("ours.isna() and convention == 'as_written'")
    counts, text = table["verdict"].value_counts(), prose("linear_topm", "09_verdicts")
    said = f"As written, {counts['confirmed']} of the paper's {len(table)} claims are confirmed and {counts['refuted']}"
    assert f"{said} are refuted; two are undecided, one is at the margin and one is not informative." in text
    assert counts[["refuted", "undecided", "at the margin", "not informative"]].to_list() == [9, 2, 1, 1]
    refuted = {"C8", "C11", "C11b", "C12", "C16", "C22b", "C24", "C25b", "C27"}
    assert set(table.loc[table["verdict"] == "refuted", "id"].str.removeprefix("TOPM-")) == refuted
    for identity in ("TOPM-C31", "TOPM-C32a", "TOPM-C32b", "TOPM-C33"):
        assert (line(identity)["verdict"], line(identity)["level"]) == ("confirmed", "headline")


def test_verdicts_that_the_code_changes():
    table = (
        verdicts()
        .query("ours.isna() and verdict != 'not run'")
        .pivot(index="id", columns="convention", values="verdict")
    )
    both = table.dropna()
    changed = both.index[both["as_written"] != both["as_coded"]]
    found = sorted(
        re.findall(r"TOPM-C\d+\w?", prose("linear_topm", "09_verdicts").partition("authors' own code gives")[2])
    )
    assert sorted(changed) == found


def test_verdicts_that_the_notebooks_name():
    for identity in ("TOPM-C7", "TOPM-C14", "TOPM-C14b", "TOPM-C31", "TOPM-C32a", "TOPM-C32b", "TOPM-C33"):
        assert line(identity)["verdict"] == "confirmed"
    assert line("TOPM-C7")[["for", "comparisons"]].to_list() == [6, 7]
    assert line("TOPM-C14b")[["for", "open", "comparisons"]].to_list() == [3, 1, 4]
    assert line("TOPM-C31")[["for", "comparisons"]].to_list() == [5, 7]
    assert line("TOPM-C31")["effect"] == pytest.approx(0.7, abs=0.005)  # "by up to 30%"
    assert line("TOPM-C13")[["verdict", "for", "against"]].to_list() == ["undecided", 1, 1]
    assert (line("TOPM-C32a")["open"], line("TOPM-C32b")["open"]) == (0, 0)
    words = [line(f"TOPM-{identity}")["verdict"] for identity in ("C25", "C25b", "C25c", "C24")]
    assert words == ["not informative", "refuted", "at the margin", "refuted"]
    one, two = re.findall(r"is ([\d.]+ to [\d.]+) times H", line("TOPM-C24")["decided_by"])
    assert (one, f"that of m-LinGapE (2) {two} times" in prose("linear_topm", FOUR)) == ("4.5 to 4.5", True)


def shown(notebook: str, name: str) -> pd.DataFrame:
    """Return the table of a figure."""
    return pd.read_csv(FIGURES / "linear_topm" / notebook / f"{name}.csv")


def test_errors_that_keep_to_their_widths():
    largest = shown(SEVEN, "theory_event").query("statistic == 'largest'").set_index("panel")["value"]
    proved = largest[largest.index.str.endswith("Eq. 2")]
    assert f"no error exceeds {proved.max():.2f} of its width" in prose("linear_topm", SEVEN)


def test_time_of_a_pull():
    """The sentence below the table of times."""
    times = shown(EIGHT, "tab_times").pivot_table(index="x", columns="series", values="value")
    linear = times.drop(columns=LUCB)
    assert (linear.loc[1000] > 10 * linear.loc[100]).all()
    assert times.loc[300, LUCB] < 1.5 * times.loc[100, LUCB]
    sentence = "Beyond 100 arms the time of a pull grows faster than their number, except for LUCB."
    assert sentence in prose("linear_topm", EIGHT)


def test_what_stopping_rules_save():
    """The sentences below the table of savings."""
    saved = shown(SEVEN, "tab_stopping")
    pulls, runs = (saved[saved["statistic"] == name] for name in ("mean pulls saved", "share of runs with a saving"))
    assert (saved.loc[saved["x"] <= 0.05, "value"] == 0).all()
    assert f"at most {pulls['value'].max():.1f} pulls on average at larger ε" in prose("linear_topm", SEVEN)
    assert runs["value"].max() < 1 / 6
    assert runs.loc[runs["x"] == 0.2, "value"].max() > 0.16


def test_how_wrong_lemma_2_is():
    cells = json.loads((NOTEBOOKS / "linear_topm" / f"{SEVEN}.ipynb").read_text(encoding="utf-8"))["cells"]
    printed = "".join("".join(o.get("text", "")) for cell in cells for o in cell.get("outputs", []))
    largest = max(float(number) for number in re.findall(r"right side = ([\d.]+)", printed))
    assert f"the left side is up to {largest:.0f} times the right side" in prose("linear_topm", SEVEN)


def test_changes_of_lingame_that_the_text_names():
    table = shown(SIX, "fig_audit_deviations").query("series == 'LinGame' and statistic == 'ratio of means'")
    value = table.set_index("x")["value"]
    text = prose("linear_topm", SIX)
    assert f"costs a factor of {value['without 1/σ²']:.1f}, and Equation 2 instead" in text
    assert (
        f"a factor of {value['Eq. 2']:.1f}; the norm that is not squared costs {value['norm not squared'] - 1:.0%}"
        in text
    )

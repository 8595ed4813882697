"""The findings paper: built from rows, it refuses what is misspelt or no longer true, and has no number of its own."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from bestarm_paper.__main__ import main, page
from bestarm_paper.facts import FACTS, said
from bestarm_paper.measures import NOT_OF_THE_CODE, calibration, counted, scatter, switches, turned_pairs
from bestarm_paper.predicates import PREDICATES
from bestarm_paper.rows import Rows, in_words
from bestarm_paper.text import HERE, ROLE, Paper, works
from refusals import refuses

from bestarm_lab.claims.robustness import HOLM
from bestarm_lab.paths import RESULTS

TEXT = (HERE / "paper.md").read_text(encoding="utf-8")
PLACES = r"(?:Table|Section|Figure|Equation|Lemma|Theorem)s?\s\d+(?:\.\d+)?"
WORDS = r"\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|fifty|dozen|hundred|thousand)\b"


@pytest.fixture(scope="module")
def rows():
    return Rows()


@pytest.fixture(scope="module")
def html(rows):
    return page(rows)


def test_the_page_is_one_file_that_fetches_nothing(html):
    addresses = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert len(addresses) > 80
    assert all(address.startswith(("#", "data:image/")) for address in addresses)
    assert "<script" not in html
    assert "url(" not in html


def test_every_claim_and_every_work_has_its_place(html):
    named = set(re.findall(r'class="(?:claim|cite)" href="#([^"]*)"', html))
    places = re.findall(r'<(?:tr|li) id="([^"]*)"', html)
    assert named <= set(places)
    assert len(places) == len(set(places))
    assert {key for key in places if key in works()} == set(works()), "works that the text does not cite"


def test_every_role_and_fence_was_understood(html):
    assert not re.search(r"\{\w+\}`|:::|<!--", html.partition("<main>")[2])


def test_every_predicate_guards_a_paragraph():
    assert set(" ".join(re.findall(r"^:::\{holds\} (.*)$", TEXT, re.MULTILINE)).split()) == set(PREDICATES)


def test_every_fact_is_told():
    assert {match[2].partition("::")[0].strip() for match in ROLE.finditer(TEXT) if match[1] == "fact"} == set(FACTS)


def test_the_text_has_no_number_of_its_own():
    """Apart from places in papers, levels of intervals in captions, and the names of a quantity in roles."""
    text = re.sub(r"^:::.*$|<h2.*|<[^>]*>", "", ROLE.sub("", TEXT), flags=re.MULTILINE)
    text = re.sub(PLACES, "", text.replace("95% interval", "interval"))
    assert not [line for line in text.splitlines() if re.search(rf"\d|{WORDS}", line)]


def test_the_length_of_the_text(html):
    body = re.sub(r"<table.*?</table>|<img[^>]*>", " ", html.partition("<main>")[2], flags=re.DOTALL)
    body = re.sub(r"<[^>]+>", " ", body.partition('<h2 class="plain">Record</h2>')[0])
    assert 4000 <= len(body.split()) <= 6000
    assert html.count("<figure") <= 6


REFUSED = {
    "{row}`figures/gse/12_verdicts/tab_gpa :: panel = every cell (39) :: .3f`": "there is no tab_gpa.csv.*'tab_gap'",
    "{row}`figures/gse/12_verdicts/tab_gap :: pane = every cell (39) :: .3f`": "unknown column 'pane'.*'panel'",
    "{row}`figures/gse/12_verdicts/tab_gap :: series = best GSA :: .3f`": "no series 'best GSA'.*'best GSE'",
    "{row}`figures/gse/12_verdicts/tab_gap :: series = best GSE :: .3f`": "tab_gap: 5 lines of",
    "{row}`figures/gse/12_verdicts/tab_gap :: series :: .3f`": "expected column = text",
    "{claim}`GSE-C999`": "there is no claim 'GSE-C999'.*'GSE-C9",
    "{verdict}`GSE-C1 txet word`": "GSE-C1 has no run 'txet'.*'text'",
    "{verdict}`GSE-C1 text wrod`": "GSE-C1 has no field 'wrod'.*'word'",
    "{verdict}`GPOO-C4 text runs fig4_f9`": "names a claim, a run, a field or a comparison that there is not",
    "{verdict}`DPP-C1 code word`": "DPP-C1 was not run as code",
    "{count}`gse refutde`": "no property 'refutde'.*'refuted'",
    "{fact}`paper`": "there is no fact 'paper'.*'papers'",
    "{cite}`agarwal2012`": "there is no work 'agarwal2012'.*'agarwal2021'",
    "{rwo}`x`": "there is no role 'rwo'.*'row'",
    ":::{holds} gse-is-behnd\nx\n:::": "there is no predicate 'gse-is-behnd'.*'gse-is-behind'",
    ":::{figure} scroe\nx\n\ny\n:::": "there is no figure 'scroe'.*'score'",
    ":::{hold} x\ny\n:::": "there is no fence 'hold'.*'holds'",
}


@pytest.mark.parametrize(("text", "said"), REFUSED.items(), ids=list(REFUSED))
def test_a_misspelling_is_refused_in_one_line_with_its_place(rows, text, said):
    refuses(lambda: Paper(rows, f"A sentence.\n\n{text}\n").html(), rf"^paper\.md, line 3: .*{said}")


@dataclass(frozen=True)
class Damaged(Rows):
    """Rows in which one thing, ``damage``, was turned round."""

    damage: str = ""

    def read(self, name):
        table = super().read(name).copy()
        if self.damage == "words" and "verdict" in table:
            table["verdict"] = table["verdict"].replace({"confirmed": "refuted", "refuted": "confirmed"})
        if self.damage == "sides" and "against" in table:
            table[["for", "against"]] = table[["against", "for"]].to_numpy()
        if self.damage == "signs" and "low" in table and "value" in table:
            table[["value", "low", "high"]] = -table[["value", "high", "low"]].to_numpy()
        if self.damage == "sizes" and "value" in table:
            table.loc[table["x"].notna() if "x" in table else slice(None), ["value", "low", "high"]] *= 10.0
        if self.damage == "rates" and "falsely refuted" in table:
            table["falsely refuted"] = "9.9%"
        if self.damage == "closed" and "statistic" in table:
            table.loc[table["statistic"] == "closed", "value"] *= 0.5
        if self.damage == "moves" and "word_then" in table:
            table.loc[table["choice"] == HOLM, "word_then"] = "changed"
        if self.damage == "parts" and "convention" in table and "verdict" in table:
            words = table.set_index(["id", "convention"])["verdict"]
            pairs = zip(table["id"], table["verdict"], strict=True)
            table["verdict"] = [words.get((identity, "as_written"), word) for identity, word in pairs]
        if self.damage == "cells" and "decided_by" in table:
            table["decided_by"] = table["decided_by"].str.replace("false in", "false in 0 of 9 rounds,")
        return table


FAULTS = [Damaged(damage=d) for d in ("words", "sides", "signs", "sizes", "rates", "moves", "parts", "cells", "closed")]


@pytest.mark.parametrize("name", PREDICATES)
def test_a_conclusion_falls_with_its_rows(rows, name):
    holds = PREDICATES[name]
    assert holds(rows)
    assert not all(holds(damaged) for damaged in FAULTS)


@pytest.mark.parametrize("word", ["confirmed", "refuted", "undecided"])
def test_conclusions_do_not_rest_on_verdicts_about_landscapes(word):
    """Nor on any other test of OAE, whose words the text takes from the verdicts."""

    class Otherwise(Rows):
        def read(self, name):
            table = super().read(name)
            if name == "results/oae/verdicts":
                table["verdict"] = table["verdict"].where(table["kind"] == "exact", word)
            return table

    assert [name for name, holds in PREDICATES.items() if not holds(Otherwise())] == []


def test_a_conclusion_that_fell_is_refused():
    text = ":::{holds} gse-is-behind\nGSE is behind.\n:::\n"
    assert "GSE is behind" in Paper(Rows(), text).html()
    with pytest.raises(ValueError, match=r"line 1: the rows no longer bear 'gse-is-behind' \(GSE's first claim"):
        Paper(Damaged(damage="words"), text).html()


def test_a_number_follows_its_row(rows):
    table, line = "figures/gse/12_verdicts/tab_gap", {"series": "best GSE", "panel": "every cell (39)"}
    text = f"{{row}}`{table} :: {' :: '.join(f'{key} = {value}' for key, value in line.items())} :: .3f`"
    value = rows.number(table, line)
    assert f">{value:.3f}</span>" in Paper(rows, text).html()
    assert f">−{value:.3f}</span>" in Paper(Damaged(damage="signs"), text).html()


def test_a_page_that_is_not_built_says_why_in_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("bestarm_paper.__main__.Rows", lambda: Damaged(damage="words"))
    assert main(["--output", str(tmp_path / "paper.html")]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "no longer bear" in told
    assert not (tmp_path / "paper.html").exists()


def test_causes_stand_in_the_order_of_their_effects(rows, html):
    table = rows.causes
    first = table.groupby("kind", sort=False)["fold"].first()
    assert (first.diff().dropna() <= 0).all()
    assert table.groupby("kind")["fold"].apply(lambda fold: fold.is_monotonic_decreasing).all()
    begins = dict(re.findall(r"<!-- kind: (.*?) -->\s+(?::::.*\n)?\*\*(.*?)\.\*\*", TEXT))  # the paragraph on a kind
    heads = [html.index(f"<strong>{begins[kind]}") for kind in first.index]
    assert heads == sorted(heads)


def test_factors_by_hand(rows):
    causes = rows.causes.set_index("switch")
    lingame = pd.read_csv(rows.root / "figures/linear_topm/06_paper_against_code/fig_audit_deviations.csv")
    line = lingame[(lingame["x"] == "without 1/σ²") & (lingame["statistic"] == "ratio of means")].iloc[0]
    assert causes.loc["LinGame without the noise scale", "value"] == line["value"]
    audit = pd.read_csv(rows.root / "figures/gse/10_paper_against_code/tab_audit.csv")
    mine = audit[(audit["panel"] == "baselines adaptive, K = 16") & (audit["series"] == "BayesGap-Lin")]
    written, changed = mine[mine["x"].isna()]["value"].item(), mine[mine["x"] == "H without its power"]["value"].item()
    found = causes.loc["gaps in BayesGap's index without their power"]
    assert found["value"] == pytest.approx((written + changed) / written)
    assert found["fold"] == pytest.approx(written / (written + changed))
    kept = pd.read_csv(rows.root / "figures/gse/03_adaptive/fig02_kept.csv")
    kept = kept.query("panel == 'B/K = 50' and x == 16 and statistic == 'accuracy'").set_index("series")
    assert causes.loc["rewards of earlier stages kept", "value"] == pytest.approx(
        kept.loc["GSE-Lin | rewards kept", "value"] / kept.loc["GSE-Lin", "value"]
    )


def test_counts_are_those_of_the_verdicts(rows):
    table = pd.read_csv(RESULTS / "gse" / "verdicts.csv")
    mine = table[table["ours"].isna()]
    refuted = mine[(mine["convention"] == "as_written") & (mine["verdict"] == "refuted") & (mine["kind"] == "test")]
    assert counted(rows, "gse text test refuted") == len(refuted)
    assert counted(rows, "gse") == mine["id"].nunique()
    assert counted(rows, "gse sentences") == mine["sentence"].nunique()
    left_open = mine[mine["verdict"].isin(["undecided", "at the margin"])]
    assert counted(rows, "gse undecided at-the-margin") == left_open["id"].nunique()


def test_claims_that_turn_round():
    words = [("confirmed", "refuted"), ("mixed", "confirmed"), ("confirmed", "undecided"), ("refuted", "mixed")]
    assert turned_pairs(pd.DataFrame(words, columns=["as_written", "as_coded"])).index.tolist() == [0, 1]


def test_single_differences_are_single(rows):
    found = switches(rows)
    assert (found["fold"] >= 1).all()
    assert not found["x"].isin(NOT_OF_THE_CODE).any()
    assert not found["x"].str.contains(", ").any()
    beta = found.query("x == 'β of the code' and panel == 'f1' and series == 'GPTree'")["fold"].item()
    assert beta == pytest.approx(rows.causes.set_index("switch").loc["small β of the code in GPTree", "fold"])


def test_the_scatter_of_simulated_rates():
    drawn = np.random.default_rng(1).binomial(400, 0.025, 100_000) / 400
    assert (drawn > scatter()).mean() <= 0.025
    assert (drawn >= scatter()).mean() > 0.025


def test_the_table_of_calibration_is_read_whole(rows):
    lines = [line for line in (rows.root / "docs/verdicts.md").read_text("utf-8").splitlines() if "% |" in line]
    assert len(calibration(rows)) == len(lines) > 10


def test_numbers_as_words(rows):
    assert [in_words(n) for n in (0, 1, 12, 13)] == ["no", "one", "twelve", "13"]
    assert said(rows, "papers") == "five"

"""The pages, replays and manifests as files: links lead somewhere, sizes are kept, all says what was recorded."""

import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import bestarm_site.algorithms as algorithms
import pandas as pd
import pytest
import yaml
from bestarm_site import benchmarks, cards, comparisons, decisions, pages, printed, record, runs, source
from bestarm_site.cards import card
from bestarm_site.manifests import write
from bestarm_site.narrow_figures import narrow_of
from bestarm_site.records import controls, figure_of, number, of_study, plain, printed_in, records, told
from refusals import refuses

import bestarm
from benchmarks import what_to_use_comparison as what_to_use
from bestarm_lab.notebooks.pages import disagreements
from bestarm_lab.notebooks.runner import notebooks_of
from bestarm_lab.paths import ROOT
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import claim_ids, study_names

HTML = ROOT / "build" / "site" / "html"


class Links(HTMLParser):
    """What a page links to, and what can be linked to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.to += [given[key] for key in ("href", "src") if given.get(key)]
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}


@pytest.fixture(scope="module")
def made():
    if not (HTML / "index.html").is_file():
        pytest.skip("the site is not made; run `make site-test`")
    return {path: Links(path.read_text(encoding="utf-8")) for path in HTML.rglob("*.html")}


def test_no_link_within_the_site_is_broken(made):
    broken = []
    for path, links in made.items():
        for address in links.to:
            if re.match(r"[a-z]+:|//", address):
                continue
            target, _, anchor = address.partition("#")
            file = (path.parent / target.partition("?")[0]).resolve() if target.partition("?")[0] else path
            if file.is_dir():
                file = file / "index.html"
            if not file.is_file() or (anchor and file in made and anchor not in made[file].anchors):
                broken.append(f"{path.relative_to(HTML)}: {address}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(made):
    for path in made:
        text = path.read_text(encoding="utf-8")
        found = re.findall(r'<(?:script|img|link rel="stylesheet"|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text)
        assert not found, path


def test_no_picture_is_changed_twice(made):
    """Pages that are not made anew keep one source for phones and one switch."""
    for path in made:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'<picture><source[^>]*><picture>|"two-runs"[^>]*><span class="two-runs"', text), path


def test_every_claim_has_a_card_with_its_anchor(made):
    for claim in records().values():
        assert claim.id in made[HTML / f"{claim.page}.html"].anchors
    assert {r.id for r in records().values()} == {i for study in study_names() for i in claim_ids(study)}


def test_every_notebook_is_a_chapter(made):
    for path in notebooks_of():
        assert HTML / path.relative_to(ROOT).with_suffix(".html") in made


def test_the_site_is_small(made):
    assert sum(p.stat().st_size for p in HTML.rglob("*") if p.is_file()) < 60e6
    home = made[HTML / "index.html"].to
    files = {(HTML / a.partition("?")[0]).resolve() for a in home if re.search(r"\.(js|css|png|svg)(\?|$)", a)}
    without_formulas = {f for f in files if "mathjax" not in f.parts}
    assert "tex-svg" not in (HTML / "index.html").read_text(encoding="utf-8"), "the first page has no formula"
    assert sum(f.stat().st_size for f in without_formulas) + (HTML / "index.html").stat().st_size < 1e6


def test_numbers_of_stories_are_those_of_the_verdicts():
    claim = next(r for r in records().values() if r.first.effect is not None)
    run = "text" if "as_written" in claim.verdicts else "code"
    assert pages.filled(f"so {{{claim.id}|{run}|effect}}.") == f"so {number(claim.first.effect)}."
    wrong = ("{NO-C1|text|effect}", f"{{{claim.id}|{run}|mood}}", f"{{{claim.id}|{run}|runs|no such comparison}}")
    for text in wrong:
        with pytest.raises(ValueError, match="a claim, a run, a field or a comparison that there is not"):
            pages.filled(text)
    for study, entry in pages.told().items():
        assert study in study_names()
        assert pages.filled(entry["story"]) != entry["story"], "a story has a number"
        assert set(entry["decides"]) <= set(records())
        for text in [entry["story"], *entry["why"]]:
            assert set(re.findall(r"\b[A-Z]+-[CT]\w+(?:\.[a-z])?", text)) <= set(records()), text


def test_a_number_has_three_digits_and_a_true_minus():
    assert number(-0.0390001) == "−0.039"
    assert number(float("inf")) == "∞"
    assert plain("LinGapE of [2]_, :math:`x` and ``y``") == "LinGapE of, x and y"


def test_counts_of_cells_are_told_in_words():
    claimed = "share of the cells that are as claimed (difference at least -0.02) in accuracy"
    assert told(claimed) == claimed.replace("-0.02", "−0.02")
    found = told("3 of 39 cells, between 1 and 16; 3 say nothing")
    assert found.startswith("3 of 39 cells by their estimates, 1 to 16 by the tests; left out")
    assert found.endswith("; left out are 3 more that cannot decide")
    for claim in records().values():
        for verdict in claim.verdicts.values():
            assert not re.search(r"\bleft (is|has)\b", verdict.unit + verdict.test)


@pytest.mark.parametrize("narrow", [False, True])
def test_a_figure_is_cut_into_its_rows_for_text_and_for_code(narrow):
    file = ROOT / "figures" / "gse" / "03_adaptive" / "fig02.svg"
    if not narrow_of(file).is_file():
        pytest.skip("narrow variants are not drawn; run `make site-test`")
    labels = narrow_of(file).read_text(encoding="utf-8")
    picture = labels if narrow else file.read_text(encoding="utf-8")
    made = runs.alone(picture, labels)
    assert list(made) == ["as_written", "as_coded"]
    assert len({re.search('viewBox="([^"]*)"', text).group(1) for text in made.values()}) == 1, "the two are as high"
    kept = {convention: set(re.findall('id="(axes_[0-9]+)"', text)) for convention, text in made.items()}
    assert [len(panels) for panels in kept.values()] == [3, 3]
    assert set.union(*kept.values()) == set(re.findall('id="(axes_[0-9]+)"', picture))
    for text in made.values():
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids), "every letter and mark is still defined"
    if narrow:
        assert "as written (paper" in made["as_written"]
        assert "as coded (authors" not in made["as_written"]


def test_a_figure_whose_text_and_code_are_side_by_side_is_not_cut(tmp_path):
    beside = ROOT / "figures" / "linear_topm" / "01_main_results" / "fig01.svg"
    alone = ROOT / "figures" / "gse" / "03_adaptive" / "fig02_kept.svg"
    assert runs.write_alone(beside, tmp_path, beside.name) == {}
    assert runs.write_alone(alone, tmp_path, alone.name) == {}
    assert runs.write_alone(ROOT / "docs" / "score.png", tmp_path, "score.png") == {}
    assert not list(tmp_path.iterdir())


def test_every_comparison_of_a_verdict_is_drawn_and_has_the_rows_behind_it():
    for study in study_names():
        entries = comparisons.of_study(study)
        for claim in [*of_study(study), *of_study(study, ours=True)]:
            for convention, verdict in claim.verdicts.items():
                entry = entries[f"{claim.id}|{convention}"]
                states = Counter(dot["state"] for dot in entry["dots"])
                counts = (verdict.confirming, verdict.undecided, verdict.against)
                assert tuple(states[state] for state in ("for", "open", "against")) == counts
                assert all((ROOT / file).is_file() for file in entry["files"])
                if entry["dots"]:
                    assert entry["relation"] in ("above", "below", "within", "at_least")
                    assert entry["queries"]
                    assert entry["need"] == verdict.needed


def test_a_card_says_what_the_record_has():
    counted = next(r for r in records().values() if r.first.moved.get("margin halved") and r.first.comparisons > 1)
    text, verdict = card(counted, comparisons.of_study(counted.study)), counted.first
    assert f"{verdict.confirming} for, {verdict.undecided} open, {verdict.against} against" in text
    assert f"it needs {verdict.needed} of {verdict.comparisons}" in text
    assert f"{verdict.confidence} interval" in text
    assert f"margin halved: {verdict.moved['margin halved']}" in text
    for name, words in (("choices", "What differs"), ("draws", "What decides most")):
        read = next(r for r in records().values() if (getattr(r, name) or {}).get("differs"))
        told = getattr(read, name)
        said = f"by itself confirmed under {told['confirmed']} of {told['choices']}, refuted under {told['refuted']}"
        assert said in card(read, {})
        assert f"{words}: {told['differs']}." in card(read, {})
    part = next(r for r in records().values() if cards.same_sentence(r))
    other = cards.same_sentence(part)[0]
    assert (other.sentence, other.study) == (part.sentence, part.study)
    assert f'<a href="#{other.id}">' in card(part, {})


def test_the_first_page_shows_every_headline_with_its_comparisons():
    text = pages.score_figure()
    headlines = [(r, c, v) for r in records().values() if r.level == "headline" for c, v in r.verdicts.items()]
    drawn = [(r, v) for r, _, v in headlines if v.comparisons]
    assert text.count('class="score-row"') == len(drawn)
    assert text.count('class="mark-for"') == sum(v.confirming for _, v in drawn)
    assert all(f"#{r.id}" in text for r, _ in drawn)


def test_text_and_code_are_counted_as_in_the_readme():
    counts = disagreements(pages.verdict_tables())
    text = pages.text_and_code()
    assert f"Of {counts['claims'].sum()} claims" in text
    assert f"{counts['differ'].sum()} have different verdicts" in text
    assert len([r for r in records().values() if not r.ours and r.parts]) == counts["differ"].sum()


def test_a_card_holds_the_statements_about_its_claim():
    claim = next(r for r in records().values() if controls(r))
    text = card(claim, {})
    assert claim.text in text
    assert all(f'id="{other.id}"' in text and other.text in text for other in controls(claim))
    assert f"bestarm verdict {claim.id}" in text


def test_figures_of_claims_are_of_their_notebooks():
    found = {r.id: figure_of(r) for r in records().values()}
    mine = [f[1].notebook == records()[i].notebook for i, f in found.items() if f is not None]
    assert sum(mine) > len(mine) / 2
    assert sum(f is not None for f in found.values()) > len(found) / 2


def test_every_algorithm_has_a_card_with_an_equation_of_its_notebook():
    described = algorithms.described()
    presets = {n for n in bestarm.__all__ if n.islower() and "policies." in getattr(bestarm, n).__module__}
    assert set(described) <= set(bestarm.__all__)
    assert not (presets - set(described) - {"grid_search", "random_batches"})  # controls, no algorithm of a paper
    for name, entry in described.items():
        if entry["equation"]:
            assert entry["equation"] in algorithms.equation(entry["study"], entry["notebook"], entry["equation"])
        assert name in algorithms.call(name)
    refuses(lambda: algorithms.equation("gse", "01_problem", "no such equation"), "has no equation with")


@pytest.mark.parametrize("name", algorithms.described())
def test_the_code_on_a_card_runs_as_it_is(name):
    known = {}
    exec(algorithms.code(name), known)
    assert len(known["batch"] if "batch" in known else known["points"]) >= 1


def test_deviations_are_those_of_the_docstring():
    found = dict(algorithms.deviations("gse_lin"))
    assert "spends_remainder" in found
    assert "keeps_rewards" in found
    assert "budget" not in found


def test_links_of_a_page_lead_to_pages_or_become_words(monkeypatch):
    file = ROOT / "docs" / "one_paper.md"
    notebook = notebooks_of()[0].relative_to(ROOT).as_posix()
    shown = {
        f"[a](../{notebook})": f"[a](/{notebook})",
        "[v](scoreboard.md)": "[v](/claims/index.md)",
        "[p](https://example.org/x.md)": "[p](https://example.org/x.md)",
        "![pic](../figures/gse/x.png)": "![pic](/figures/gse/x.png)",
        "[![pic](../figures/gse/x.png)](scoreboard.md)": "[![pic](/figures/gse/x.png)](/claims/index.md)",
        "[source](../src/bestarm/simulate.py)": "source",
    }
    for text, wanted in shown.items():
        assert source.relinked(text, file) == wanted
    monkeypatch.setattr(source, "REPOSITORY", "https://example.org/r")
    wanted = "[source](https://example.org/r/blob/main/src/bestarm/simulate.py)"
    assert source.relinked("[source](../src/bestarm/simulate.py)", file) == wanted


def test_a_page_shows_the_svg_beside_a_png():
    drawn = "figures/gse/04_static/fig01.svg"
    assert (ROOT / drawn).is_file()
    assert source.picture_of("figures/gse/04_static/fig01.png") == drawn
    assert source.picture_of("docs/score.png") == "docs/score.png"
    assert source.picture_of("figures/gse/04_static/fig01.csv").endswith(".csv")


@pytest.mark.parametrize(
    ("code", "folded"),
    [
        ("import numpy as np\nimport pandas as pd", True),
        ('figure = line_panels(values, title="a")\nsection.show("fig01", figure, values)', True),
        ("estimate = np.linalg.solve(V, b)\nestimate", False),
    ],
)
def test_plotting_is_folded_and_computing_is_not(code, folded):
    cell = {"metadata": {}}
    source.fold(cell, code)
    assert ("hide-input" in cell["metadata"]["tags"]) == folded


def test_names_in_the_sidebar_are_short():
    assert source.short_title(Path("08_od_linbai.ipynb")) == "08 OD-LinBAI"
    assert source.short_title(Path("own_arms.md")) == "Own arms"


def test_scores_of_benchmarks_are_shares_of_what_chance_leaves():
    found, errors = [20.0, 30.0, 6.0], [1.0, 1.0, 1.0]
    table = pd.DataFrame({"data": ["a", "a", "b"], "policy": ["p", "q", "q"], "found": found, "error": errors})
    table = table.assign(chance=[10.0, 10.0, 2.0], most=[50.0, 50.0, 10.0]).assign(seconds=2.0)
    made = benchmarks.scores(table)
    assert list(made.index) == ["q", "p"], "what was run on all data comes first"
    assert made.loc["q", ["a", "b", "mean", "seconds"]].tolist() == [0.5, 0.5, 0.5, 4.0]
    assert pd.isna(made.loc["p", "b"])
    assert "not run" in benchmarks.bars(table)


def test_the_page_of_benchmarks_has_every_policy_and_every_command():
    text = benchmarks.page()
    table = what_to_use.read().table()
    assert (table["chance"] < table["most"]).all()
    assert all(f'<th scope="row">{policy}</th>' in text for policy in set(table["policy"]))
    assert {"calibration", "guards", "oae_engine"} <= set(benchmarks.modules())
    assert all(f"`python -m benchmarks.{name}` | {words} |" in text for name, words in benchmarks.modules().items())


@pytest.mark.parametrize("study", study_names())
def test_a_page_of_decisions_has_every_choice_and_every_difference(study):
    page = decisions.page(study)
    source = (decisions.FOLDER / f"{study}.md").read_text(encoding="utf-8").partition("\n")[2]
    for text in re.findall(r"^\* \*\*([^*]+)\*\*", source, re.MULTILINE):
        assert f"**{' '.join(text.split())}**" in page.replace("\\|", "|")
    assert set(re.findall(r"\w+", source)) <= set(re.findall(r"\w+", page)), "nothing is dropped"
    listed = [d for notebook in notebooks_of(study) for d in decisions.differences(notebook)]
    assert len(listed) > 20
    assert all(d.text and d.changes for d in listed)
    assert page.count("](/notebooks/") >= len(listed)


def test_a_choice_names_its_claims_with_or_without_the_letters_of_the_paper():
    made = decisions.choices(
        "* **A.** GSE-C1 and C4.a, not C999.\n* **B** is\n  free.\n* **C**:\n\n  | a |\n  |---|\n", "gse"
    )
    assert "| **A.** GSE-C1 and C4.a, not C999. | GSE-C1, GSE-C4.a |" in made
    assert "| **B** is free. |  |" in made
    assert made.rstrip().endswith("|---|"), "a list with a table of its own stays a list"


def test_committed_replays_are_small_and_whole():
    for name in ("gse", "tree", "oae", "topm"):
        text = (ROOT / "site" / "replays" / f"{name}.json").read_text(encoding="utf-8")
        assert len(text) < 300_000
        assert json.loads(text)


@pytest.mark.parametrize("study", study_names())
def test_no_figure_or_table_of_a_paper_is_missing(study):
    found = printed.printed(study)
    assert [name for name, ours in found.items() if not ours] == []
    text = printed.page()
    for ours in found.values():
        for _, entry in ours:
            made = ROOT / "figures" / study / entry.notebook / entry.file
            assert made.with_suffix(".png").is_file() or made.with_suffix(".md").is_file()
            assert cards.figure_anchor(study, entry.notebook, entry.file) in text
    named = {name for claim in of_study(study) for name in printed_in(claim.where)}
    assert named <= set(found), "a claim is on a figure that the paper does not have"


@pytest.mark.parametrize("study", study_names())
def test_a_picture_of_several_figures_says_which_part_is_which(study):
    for title, shown in load_study(study).paper.figures.items():
        numbers = [name.split()[-1] for name in printed_in(title)]
        file = ROOT / "notebooks" / study / f"{shown.notebook}.ipynb"
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        below = text.partition(f"/{shown.file}.png)")[2].partition("**How to read ")[2].partition("\n\n")[0]
        named = set(re.findall(r"\d+", below))
        assert len(numbers) < 2 or named >= set(numbers), f"{shown.notebook}/{shown.file} stands for {title}"


def test_figures_are_read_in_titles_and_places():
    assert printed_in("Figures 28 and 29 (MaxOpt), 30 and 31 (HingePNorm)") == [f"Figure {n}" for n in range(28, 32)]
    assert printed_in("Figures 2, left, and 5") == ["Figure 2", "Figure 5"]
    assert printed_in("Figure 4, 500 runs") == ["Figure 4"]
    shown = ["Figure 1", "Figure 2", "Figure 3", "Table 6"]
    assert printed_in("Abstract, sentence 5; also Figures 1-3 and Table 6") == shown


def test_the_tree_is_what_the_library_does():
    assert json.loads(record.recorded("tree")) == json.loads((record.FOLDER / "tree.json").read_text(encoding="utf-8"))


def test_stages_are_what_the_library_does():
    """The runs that are shown; those that are only counted take half a minute."""
    committed = json.loads((record.FOLDER / "gse.json").read_text(encoding="utf-8"))
    made = json.loads(json.dumps(record.gse_replay(counted=record.SHOWN)))
    assert [panel["runs"] for panel in made["panels"]] == [panel["runs"] for panel in committed["panels"]]
    assert made["means"] == committed["means"]


def test_the_stale_pair_stops_where_it_was_recorded():
    shown = json.loads((record.FOLDER / "topm.json").read_text(encoding="utf-8"))["runs"][0]
    found, stale = record.topm_run(shown["run"])
    assert record.thinned(shown["run"], found, stale) == shown


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    write(folder)
    return folder


def test_every_claim_leads_to_files_with_their_digests(release):
    told = json.loads((release / "claims.json").read_text(encoding="utf-8"))
    assert [entry["claim"] for entry in told["claims"]] == list(records())
    named = {p for e in told["claims"] for kind in ("verdicts", "notebook", "rows", "figure") for p in e.get(kind, [])}
    assert named <= set(told["sha256"])
    for path in sorted(named)[::20]:
        assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == told["sha256"][path]
    tested = [e for e in told["claims"] if any(word != "not run" for word in e["verdict"].values())]
    assert all(e["notebook"] and e["verdicts"] for e in tested)


def test_a_codecheck_finds_every_output(release):
    text = (release / "codecheck.yml").read_text(encoding="utf-8")
    assert text.startswith("---\n")
    told = yaml.safe_load(text)
    files = [entry["file"] for entry in told["manifest"]]
    assert len(files) == len(set(files)) > 100
    assert all((ROOT / file).is_file() and entry for file, entry in zip(files, told["manifest"], strict=True))


def test_the_version_is_the_same_everywhere(release):
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == bestarm.__version__
    assert f"## {bestarm.__version__}, " in (ROOT / "docs" / "CHANGELOG.md").read_text(encoding="utf-8")
    for name in ("codemeta.json", ".zenodo.json"):
        assert json.loads((release / name).read_text(encoding="utf-8"))["version"] == bestarm.__version__

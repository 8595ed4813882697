"""Odd files and calls of the commands end with one line and status 2, or by a rule that is counted; nothing is lost."""

import gzip
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import raising, refuses
from small_screen import Lab, features, genes, one_line, phenotypes

from bestarm.command_line import main
from bestarm.search import genes as named_genes
from bestarm.search.campaign import Campaign
from bestarm.search.candidates import read_features
from bestarm.search.choices import Choice, parsed_settings
from bestarm.search.genes import TABLE, approved_symbols, matched, places, registered_table, wells_of
from bestarm.search.tables import averaged, read_wells
from bestarm_lab.datasets import registry


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path)
    lab.round(1, policy="random")
    return lab


def refused(lab, capsys, *words: str, policy="random", arguments=()) -> None:
    """Assert that the command ends with one line, status 2, and the log as it was."""
    before, shown = lab.files(), lab.says(capsys, *arguments, status=2, policy=policy)
    assert all(word in shown for word in words), shown
    assert lab.files() == before


HEADER = "gene,phenotype\n"

PHENOTYPES = [
    (HEADER + "GENE00,high\n", "line 2: the phenotype of GENE00 is 'high'; it must be a number, empty while it is to"),
    (HEADER + "GENE00,inf\n", "line 2: the phenotype of GENE00 is 'inf'"),
    (HEADER + "GENE00,1e80\n", "line 2: the phenotype of GENE00 is '1e80'"),
    (HEADER + "GENE00,1,2\n", "line 2: 3 fields where the header has 2"),
    (HEADER + ",1\n", "line 2: a well without a gene"),
    ("gene,value,more\nGENE00,1,2\n", "has no column 'phenotype'; it has: gene, value, more"),
    ("gene,gene\nGENE00,1\n", "the column name 'gene' is there twice, in column 2 again"),
    (HEADER + "COW,1\nCAT,2\n", "none of its genes (COW, CAT) has features"),
    (HEADER + "GENE00,<0.1\n", "'<0.1', beyond what can be measured; give the limit itself"),
]
FEATURES = [
    ("gene,a\nG1,1\nG2,x\n", "column 'a' of G2 is 'x' among numbers such as '1'"),
    ("gene,a\nG1,1\nG2,inf\n", "column 'a' of G2 is 'inf' among numbers"),
    ("gene,a\nG1,1\nG1,2\nG2,3\n", "G1 has two different rows, lines 2 and 3; keep one of them"),
    ("gene,a\nG1,1\n,2\n", "line 3: a gene without a name"),
    ("gene,a\nG1,1\n", "has 1 gene; a search needs at least two"),
    ("gene,a\nG1,1\nG2,1\n", "every feature is the same for all candidates"),
    ("gene,b\nG1,\nG2,\n", "has no feature with anything in it; add columns of numbers"),
    ("gene\nG1\nG2\n", "has no feature, only the column gene"),
    ("gene,a\nG1,1\nG2,2\nTOTAL,3\n", "the last row is called 'TOTAL', as a spreadsheet's summary is; delete it"),
]
SETTINGS = [
    ("--policy mean_opts", "there is no policy 'mean_opts'; did you mean mean_opt? There are: mean_opt, max_opt, "),
    ("--policy random --set optimsm=1", "random has no setting 'optimsm'; it has: "),
    ("--policy random --set optimism", "a setting is written name=value, such as optimism=0.1, got 'optimism'"),
    ("--policy mean_opt --set steps=0", "steps"),
    ("--policy mean_opt --set steps=many", "steps"),
    ("--policy mean_opt --set batch=3", "mean_opt has no setting 'batch'"),
    ("--batch 0", "batch must be a whole number of at least 1, got 0"),
    ("--seed -1", "seed must be a whole number of at least 0, got -1"),
    ("--components 4", "components must be between 1 and 3, or 0 for all features; got 4"),
    ("--keep-free Z99", "a plate of 96 has no well 'Z99'; wells are A01 to H12"),
    ("--phenotype rep1", "has no column 'rep1'; it has: gene, phenotype"),
]


@pytest.mark.parametrize("case", [*(("phenotypes", *r) for r in PHENOTYPES), *(("features", *r) for r in FEATURES)])
def test_tables_that_are_refused(case, lab, capsys):
    table, text, words = case
    getattr(lab, table).write_text(text)
    refused(lab, capsys, f"{table}.csv", words)


def test_a_file_that_is_not_there_or_no_text(lab, capsys):
    lab.phenotypes.unlink()
    refused(lab, capsys, f"there is no file {lab.phenotypes}")
    lab.phenotypes.write_bytes(b"PK\x03\x04\xff\xfe\x00")
    refused(lab, capsys, "is a spreadsheet or an archive, no text; save it as CSV")


@pytest.mark.parametrize(("arguments", "words"), SETTINGS)
def test_settings_that_are_refused(arguments, words, lab, capsys):
    refused(lab, capsys, words, arguments=arguments.split())


def test_a_half_written_file_loses_nothing(lab, capsys):
    """Cut after many a byte: the round before is still there, and no round is made of a part of the batch."""
    text = lab.phenotypes.read_text()
    before = lab.files()
    for end in [*range(0, len(text) - 6, 4), *range(len(text) - 6, len(text) - 1)]:
        lab.phenotypes.write_text(text[:end])
        status = lab.suggest(policy="random")
        shown = capsys.readouterr()
        complete = set(lab.batch(1)) <= {line.split(",")[0] for line in text[:end].splitlines() if "," in line}
        if complete:  # cut within the last number, or before it: what no program can know, but the file has no end
            assert status == 0
            assert "the last line has no end; it is taken as it is, check that the file is whole." in shown.out
            break
        assert status == 2 or "waits for its results: the same batch" in shown.out
        assert lab.files() == before


def test_rows_that_vanish_and_results_that_are_missing(lab, capsys):
    """A gene that an earlier round used, and a part of the batch that waits."""
    assert lab.suggest(policy="random") == 0
    whole = lab.phenotypes.read_text()
    lab.measure(lab.batch(2)[:3])
    refused(lab, capsys, f"round 2 waits for 1 of 4 genes ({lab.batch(2)[3]})", "`failed` where the well")
    lab.phenotypes.write_text(whole.replace(lab.batch(1)[2] + ",", "GENE39,"))
    lab.measure(lab.batch(2))
    refused(lab, capsys, "1 genes that earlier rounds used have no row now", lab.batch(1)[2])


def test_features_that_changed_are_refused(lab, capsys):
    """One number, or another name of a column, is enough; another log takes what was measured as known."""
    whole = lab.features.read_text()
    lab.features.write_text(whole.replace("gene,a,b,c", "gene,a,b,d"))
    refused(lab, capsys, "has other features or columns now; put them back")
    lab.features.write_text(whole.replace("GENE05,", "GENE05,0").replace("GENE05,0-", "GENE05,-9"))
    refused(lab, capsys, "is not what earlier rounds used: GENE05 has other features", "another log by --campaign")
    shown = lab.says(capsys, "--campaign", str(lab.folder / "second"), policy="greedy")
    assert "4 that no batch had suggested are taken as known" in shown


def test_a_gene_that_was_never_suggested_is_taken_as_known(lab, capsys):
    """It is said, told to the policy, and not suggested any more."""
    other = [g for g in genes() if g not in lab.batch(1)][:5]
    lab.measure(other)
    shown = lab.says(capsys, policy="random", batch=31)
    assert "9 of 40 genes known, 0 of them failed; 5 that no batch had suggested are taken as known" in shown
    assert not set(lab.batch(2)) & set(other)


def test_failed_wells_teach_nothing_and_are_used_up(lab, capsys):
    """`failed` in any case of letters; a gene fails if all of its wells did; a well with a gap is still to come."""
    rows = ["GENE00,failed", "GENE01,Failed", "GENE05,failed", "GENE05,7", "GENE05,9", "GENE06,", "GENE07,NA"]
    lab.phenotypes.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    names, wells, to_come = read_wells(lab.phenotypes, "", [])
    means, _ = averaged(names, wells)
    assert [gene for gene, value in means.items() if math.isnan(value)] == ["GENE00", "GENE01"]
    assert (to_come, set(means)) == (["GENE06", "GENE07"], {"GENE00", "GENE01", "GENE05"})
    assert means["GENE05"] == 8.0


def test_replicates_are_averaged_over_rows_and_columns(lab):
    """Without those that failed; their pooled deviation is reported."""
    lab.phenotypes.write_text("plate;gene;rep1;rep2\n1;A;1;2\n1;B;5;\n2;A;6;\n2;C;failed;failed\n2;D;;\n")
    names, wells, to_come = read_wells(lab.phenotypes, "rep1,rep2", [])
    means, deviation = averaged(names, wells)
    assert (means["A"], means["B"], to_come) == (3.0, 5.0, ["D"])
    assert math.isnan(means["C"])
    assert deviation == pytest.approx(np.std([1, 2, 6], ddof=1))


def test_rules_for_features_are_counted(tmp_path):
    """Rows there twice, gaps, constant features, a missing end; tabs and a byte-order mark."""
    path = tmp_path / "features.tsv"
    path.write_text("\ufeffgene\ta\tb\tc\nG1\t1\t5\t\nG2\t2\t5\t4\nG1\t1\t5\t\n\nG3\tNA\t5\t8", encoding="utf-8")
    notes = []
    table = read_features(path, notes)
    assert (table.names, table.columns) == (("G1", "G2", "G3"), ("a", "b", "c"))
    np.testing.assert_array_equal(table.values, [[1, 5, 6], [2, 5, 4], [1.5, 5, 8]])
    assert table.varies.tolist() == [True, False, True]
    assert [line.split(": ", 1)[1] for line in notes] == [
        "the last line has no end; it is taken as it is, check that the file is whole.",
        "1 row there twice, counted once.",
        "column a: 'NA' taken for a gap (1 cell).",
        "column a: 1 gap set to the mean.",
        "column c: 1 gap set to the mean.",
        "1 feature the same for all candidates, left out (b).",
    ]


@pytest.fixture
def hgnc(tmp_path, monkeypatch):
    """Put a small table in the place of HGNC's."""
    path = tmp_path / "hgnc.tsv.gz"
    table = b"outdated\tapproved\nOLD1\tNEW1\nOLD2\tNEW2\nTWO\tNEW1\nTWO\tNEW2\nNEW3\tNEW1\nX\tNEW3\n"
    path.write_bytes(gzip.compress(table))
    monkeypatch.setattr(named_genes, "registered_table", lambda: path)
    return path


def test_outdated_symbols_are_mapped_both_ways_and_counted(hgnc):
    """To the one approved symbol; not a symbol that is approved itself, an ambiguous one, or one that is there."""
    approved = approved_symbols(hgnc)
    assert approved == {"OLD1": "NEW1", "OLD2": "NEW2", "X": "NEW3"}
    wanted = ["NEW1", "OLD2", None, None, "G"]
    assert matched(["OLD1", "NEW2", "TWO", "NEW3", "G"], ["NEW1", "OLD2", "G"], approved, [], "") == wanted
    assert matched(["OLD1"], ["OLD1", "NEW1"], approved, [], "") == ["OLD1"], "a name that is there stays"
    assert matched(["NEW1"], ["OLD1", "G"], approved, [], "") == ["OLD1"]
    notes = []
    found = matched(["OLD1", "G", "TWO", "OLD1"], ["NEW1", "G"], approved, notes, "ph.csv")
    assert found == ["NEW1", "G", None, "NEW1"]
    assert notes == [
        "ph.csv: 1 outdated symbols mapped by HGNC's table (OLD1 is NEW1).",
        "ph.csv: 1 genes have no features and are left out (TWO).",
    ]


def test_outdated_symbols_in_the_command(lab, hgnc, capsys):
    """The wells of the old and of the new name are replicates of one gene; a gene without features is left out."""
    lab.features.write_text(lab.features.read_text().replace("GENE00", "NEW1"))
    lab.phenotypes.write_text(HEADER + "OLD1,1\nNEW1,3\nCOW,4\nGENE01,2\n")
    out = lab.says(capsys, "--campaign", str(lab.folder / "other"), policy="random")
    assert "phenotypes.csv: 1 outdated symbols mapped by HGNC's table (OLD1 is NEW1)." in out
    assert "phenotypes.csv: 1 genes have no features and are left out (COW)." in out
    assert Campaign(lab.folder / "other").rounds()[0].told == (("NEW1", 2.0), ("GENE01", 2.0))


@pytest.mark.parametrize("error", [registry.DataUnavailable("x"), ModuleNotFoundError("No module named 'yaml'")])
def test_without_the_table_of_symbols_a_line_says_so(lab, monkeypatch, capsys, error):
    """No file, or no registry's packages: names must agree as they are."""
    monkeypatch.setattr(named_genes, "entry_points", lambda group: {"lab": SimpleNamespace(load=raising(error))})
    lab.add("COW,1")
    assert "note: outdated symbols are not mapped: HGNC's table is not here" in lab.says(capsys, policy="random")


def test_a_table_of_symbols_can_be_given(lab, hgnc, monkeypatch, capsys):
    """By --symbols, whatever a registry has; a file that is not there is refused."""
    monkeypatch.setattr(named_genes, "registered_table", lambda: pytest.fail("asked for nothing"))
    lab.features.write_text(lab.features.read_text().replace("GENE00", "NEW1"))
    lab.phenotypes.write_text(HEADER + "OLD1,1\n")
    other = ["--campaign", str(lab.folder / "other"), "--symbols"]
    shown = lab.says(capsys, *other, str(hgnc), policy="random")
    assert "1 outdated symbols mapped by HGNC's table (OLD1 is NEW1)." in shown
    assert "there is no file" in lab.says(capsys, *other, str(lab.folder / "none.tsv"), policy="random", status=2)
    (bare := lab.folder / "bare.tsv").write_text("OLD1\tNEW1\n")
    assert "the first line, 'OLD1\\tNEW1', is no header" in lab.says(capsys, *other, str(bare), status=2)


@pytest.mark.skipif(not registry.available(TABLE), reason="HGNC's table is not here")
def test_the_stored_table_of_symbols():
    """Symbols that changed in 2020 and before, and one that is approved still."""
    approved = approved_symbols(registered_table())
    assert (approved["MARCH3"], approved["C10orf10"]) == ("MARCHF3", "DEPP1")
    assert "TP53" not in approved
    assert len(approved) > 40_000


def hold(folder, ready, go) -> None:
    with Campaign(folder).locked():
        ready.set()
        go.wait(60)


def test_two_people_at_once(lab, capsys):
    """The second is refused in one line, while the first goes on; the lock of a killed process does not last."""
    context = multiprocessing.get_context("fork")
    ready, go = context.Event(), context.Event()
    other = context.Process(target=hold, args=(lab.rounds, ready, go))
    other.start()
    assert ready.wait(60)
    refused(lab, capsys, "somebody else is running bestarm suggest on", "Wait until it has ended")
    os.kill(other.pid, signal.SIGKILL)
    other.join()
    assert "round 2: 4 of 40 genes known" in lab.says(capsys, policy="random")


def begun(lab, policy, **pipes):
    code = "import sys; from bestarm.command_line import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen([sys.executable, "-c", code, *lab.given(policy=policy)], stdout=subprocess.PIPE, **pipes)


def test_many_at_once_make_one_round(lab):
    """Of four processes at the same moment each prints the same batch or is refused; one round is added."""
    running = [begun(lab, "linear", stderr=subprocess.PIPE, text=True) for _ in range(4)]
    ended = [(*process.communicate(), process.returncode) for process in running]
    good = [out for out, _, status in ended if status == 0]
    assert good
    assert all("somebody else is running" in err for _, err, status in ended if status != 0)
    assert len(Campaign(lab.rounds).rounds()) == 2
    assert all(gene in out for out in good for gene in lab.batch(2))


def test_a_process_killed_at_any_moment_leaves_whole_rounds(lab, kills):
    """Every file of the log is whole, and the same call goes on."""
    for number in range(kills):
        process = begun(lab, "random")
        time.sleep(0.5 + 0.9 * number)
        process.kill()
        process.communicate()
        assert len(Campaign(lab.rounds).rounds()) in (1, 2)
    assert (lab.suggest(policy="random"), len(Campaign(lab.rounds).rounds()), len(lab.batch(2))) == (0, 2, 4)


def test_a_pipe_that_closes_ends_a_command_without_a_word(lab):
    process = begun(lab, "random", stderr=subprocess.PIPE)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 141)


@pytest.mark.parametrize("damage", ["cut", "words", "another format"])
def test_a_damaged_log_is_refused_and_left_as_it_is(damage, lab, capsys):
    path = lab.rounds / "round_001.json"
    text = path.read_text()
    other = text.replace('"format": 2', '"format": 9')
    path.write_text({"cut": text[: len(text) // 2], "words": "[]", "another format": other}[damage])
    words = "has format 9, this bestarm reads up to 3" if damage == "another format" else "is damaged or half-written"
    refused(lab, capsys, str(path), words)


def test_a_round_that_is_missing(lab, capsys):
    assert lab.suggest(policy="random") == 0
    os.rename(lab.rounds / "round_001.json", lab.folder / "elsewhere.json")
    refused(lab, capsys, "has no round 1, but round 2; put round_001.json back")


def test_all_wells_failed(lab, capsys):
    lab.phenotypes.write_text(HEADER + "".join(f"{gene},failed\n" for gene in lab.batch(1)))
    assert lab.suggest(policy="mean_opt") == 0
    assert not set(lab.batch(2)) & set(lab.batch(1))
    assert set(lab.plate(2)["why"]) == {"random, since every well failed so far"}


def test_phenotypes_that_are_all_equal(lab):
    """They have no spread to scale by; a batch is suggested all the same."""
    lab.phenotypes.write_text(HEADER + "".join(f"{gene},5\n" for gene in lab.batch(1)))
    for policy in ("mean_opt", "thompson", "linear"):
        assert lab.suggest("--campaign", str(lab.folder / policy), policy=policy) == 0


def test_wells_and_plates():
    """Row by row; 384 wells; several plates; a plate kept free as a whole."""
    assert [well for _, well in places(13, 96)] == [f"A{i:02d}" for i in range(1, 13)] + ["B01"]
    assert (len(wells_of(384)), wells_of(384)[-1], places(97, 96)[-1]) == (384, "P24", (2, "A01"))
    assert len(set(places(500, 96))) == 500
    refuses(lambda: wells_of(96, wells_of(96)), "all 96 wells are kept free")
    refuses(lambda: wells_of(24), "plate must be 96 or 384, got 24")


def test_settings_by_name():
    found = parsed_settings(["hidden=10,5", "optimism=0.1", "kernel=rbf"], named=True)
    assert found == {"hidden": (10, 5), "optimism": 0.1, "kernel": "rbf"}
    refuses(lambda: Choice("greedy", {"hidden": 3}), "hidden")


@pytest.fixture
def fresh(tmp_path):
    return Lab(tmp_path)


def run(fresh, *arguments, broken=(), missing=(), encoding=None) -> subprocess.CompletedProcess[str]:
    """Return the end of a command in a process of its own, where packages are broken or not installed."""
    for name in broken:
        folder = fresh.folder / "broken" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text('raise ImportError("libcudart.so.12: cannot open shared object file")\n')
    lines = ["import sys", *(f"sys.modules[{name!r}] = None" for name in missing)]
    lines += ["from bestarm.command_line import main", f"sys.exit(main({[str(a) for a in arguments]}))"]
    environment = dict(os.environ) | ({"PYTHONIOENCODING": encoding} if encoding else {})
    paths = [str(fresh.folder / "broken"), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("how", ["broken", "missing"])
def test_without_torch_a_policy_with_networks_is_refused_in_one_line(fresh, how):
    """Whether Torch is not there or cannot be imported; the cause is said."""
    shown = run(fresh, "suggest", fresh.features, fresh.phenotypes, "--policy", "mean_opt", **{how: ["torch"]})
    why = " (libcudart.so.12: cannot open shared object file)" if how == "broken" else ""
    said = f"bestarm: mean_opt needs Torch{why}: pip install 'bestarm[networks]'.\n"
    assert (shown.returncode, shown.stderr) == (2, said)


@pytest.mark.parametrize("how", ["broken", "missing"])
def test_without_matplotlib_replay_has_no_figure_and_report_is_refused(fresh, how):
    screen, out = fresh.folder / "screen.csv", fresh.folder / "out"
    phenotypes().to_csv(screen, index_label="gene")
    few = ["--runs", "2", "--rounds", "2", "--batch", "4", "--policy", "random"]
    shown = run(fresh, "replay", fresh.features, screen, "--out", out, *few, **{how: ["matplotlib"]})
    assert shown.returncode == 0, shown.stderr
    assert "no figure (" in shown.stdout
    assert "pip install 'bestarm[plot]'" in shown.stdout
    assert (out / "hits.csv").is_file()
    assert not (out / "hits.png").exists()
    fresh.suggest(policy="random")
    shown = run(fresh, "report", fresh.rounds, missing=["matplotlib"])
    assert (shown.returncode, shown.stderr) == (2, "bestarm: plots need matplotlib: pip install 'bestarm[plot]'.\n")


def test_output_in_an_encoding_that_lacks_letters_prints(fresh):
    """With a question mark in their place, and status 0, since the round is logged."""
    table = features()
    table.index = ["IFNγ", *table.index[1:]]
    table.to_csv(fresh.features, index_label="gene", encoding="utf-8")
    fresh.phenotypes.write_text("gene,phenotype\nGENE04,1.5\nGENE05,2.5\nGENE06,0.5\n", encoding="utf-8")
    shown = run(fresh, "suggest", fresh.features, fresh.phenotypes, "--batch", "39", encoding="cp1252")
    assert shown.returncode == 0, shown.stderr
    assert "IFN?" in shown.stdout
    assert len(list(fresh.rounds.glob("round_001*"))) == 2


@pytest.mark.parametrize("given", ["IC50, nM", "ic50, nm", " IC50, nM ", '"IC50, nM"', 'rep2,"IC50, nM"'])
def test_a_column_with_a_comma_in_its_name_can_be_named(fresh, given, capsys):
    """In any case of letters, and quoted beside others."""
    table = phenotypes().rename("IC50, nM").to_frame().assign(rep2=phenotypes() + 1.0)
    table.head(20).to_csv(fresh.phenotypes, index_label="gene")
    assert "20 of 40 genes known" in fresh.says(capsys, "--phenotype", given, policy="random")


@pytest.mark.parametrize("command", ["suggest", "replay"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "gpp"], "there is no policy 'gpp'; did you mean gp? There are: "),
        (["--policy", "GP"], "did you mean gp?"),
        (["--policy", "neighbors"], "did you mean neighbours?"),
        (["--set", "share=0.1"], "--set share=0.1 is for a policy that is named; add one, such as --policy hits."),
    ],
)
def test_a_misspelt_policy_and_a_setting_of_none(fresh, command, arguments, said, capsys):
    assert said in one_line(capsys, command, fresh.features, fresh.phenotypes, *arguments)


def test_a_report_of_a_campaign(fresh, capsys):
    """By its folder, as the last round knew it; the page is beside the folder unless it is named."""
    fresh.round(1, failed=1, policy="gp")
    fresh.suggest(policy="gp")
    capsys.readouterr()
    assert main(["report", str(fresh.rounds)]) == 0
    page = fresh.folder / "phenotypes_rounds.html"
    assert capsys.readouterr().out == f"report: {page}\n"
    text = page.read_text(encoding="utf-8")
    assert "3 measured, 1 failed, 4 asked and still to come" in text
    assert "left to find" in text
    assert "of batch 2 to be measured" in text
    assert main(["report", str(fresh.rounds), "--out", str(fresh.folder / "other.html")]) == 0
    assert "has no round_001.json; run bestarm suggest, which writes it" in one_line(capsys, "report", fresh.folder)
    (fresh.rounds / "candidates.zip").unlink()
    assert "has no candidates.zip; run bestarm suggest, which" in one_line(capsys, "report", fresh.rounds)

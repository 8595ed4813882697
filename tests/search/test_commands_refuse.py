"""What `bestarm suggest`, `replay` and `report` do where something is missing or misspelt: one line, nothing lost."""

import os
import subprocess
import sys

import pytest
from small_screen import Lab, features, phenotypes

from bestarm.command_line import main

BROKEN = 'raise ImportError("libcudart.so.12: cannot open shared object file")\n'


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def run(lab, *arguments, broken=(), missing=(), encoding=None) -> subprocess.CompletedProcess[str]:
    """Return the end of a command in a process of its own, where packages are broken or not installed."""
    for name in broken:
        folder = lab.folder / "broken" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(BROKEN)
    lines = ["import sys", *(f"sys.modules[{name!r}] = None" for name in missing)]
    lines += ["from bestarm.command_line import main", f"sys.exit(main({[str(a) for a in arguments]}))"]
    environment = dict(os.environ) | ({"PYTHONIOENCODING": encoding} if encoding else {})
    paths = [str(lab.folder / "broken"), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("how", ["broken", "missing"])
def test_without_torch_a_policy_with_networks_is_refused_in_one_line(lab, how):
    """Whether Torch is not there or cannot be imported; the cause is said."""
    shown = run(lab, "suggest", lab.features, lab.phenotypes, "--policy", "mean_opt", **{how: ["torch"]})
    why = " (libcudart.so.12: cannot open shared object file)" if how == "broken" else ""
    assert shown.stderr == f"bestarm: mean_opt needs Torch{why}: pip install 'bestarm[networks]'.\n"
    assert shown.returncode == 2


@pytest.mark.parametrize("how", ["broken", "missing"])
def test_without_matplotlib_replay_has_no_figure_and_report_is_refused(lab, how):
    screen, out = lab.folder / "screen.csv", lab.folder / "out"
    phenotypes().to_csv(screen, index_label="gene")
    few = ["--runs", "2", "--rounds", "2", "--batch", "4", "--policy", "random"]
    shown = run(lab, "replay", lab.features, screen, "--out", out, *few, **{how: ["matplotlib"]})
    assert shown.returncode == 0, shown.stderr
    assert "no figure (" in shown.stdout
    assert "pip install 'bestarm[plot]'" in shown.stdout
    assert (out / "hits.csv").is_file()
    assert not (out / "hits.png").exists()
    lab.suggest(policy="random")
    shown = run(lab, "report", lab.rounds, missing=["matplotlib"])
    assert shown.stderr == "bestarm: plots need matplotlib: pip install 'bestarm[plot]'.\n"
    assert shown.returncode == 2


def test_output_in_an_encoding_that_lacks_letters_prints(lab):
    """With a question mark in their place, and status 0, since the round is logged."""
    table = features()
    table.index = ["IFNγ", *table.index[1:]]
    table.to_csv(lab.features, index_label="gene", encoding="utf-8")
    lab.phenotypes.write_text("gene,phenotype\nGENE04,1.5\nGENE05,2.5\nGENE06,0.5\n", encoding="utf-8")
    shown = run(lab, "suggest", lab.features, lab.phenotypes, "--batch", "39", encoding="cp1252")
    assert shown.returncode == 0, shown.stderr
    assert "IFN?" in shown.stdout
    assert len(list(lab.rounds.glob("round_001*"))) == 2


@pytest.mark.parametrize("given", ["IC50, nM", "ic50, nm", " IC50, nM ", '"IC50, nM"', 'rep2,"IC50, nM"'])
def test_a_column_with_a_comma_in_its_name_can_be_named(lab, given, capsys):
    """In any case of letters, and quoted beside others."""
    table = phenotypes().rename("IC50, nM").to_frame().assign(rep2=phenotypes() + 1.0)
    table.head(20).to_csv(lab.phenotypes, index_label="gene")
    assert lab.suggest("--phenotype", given, policy="random") == 0
    assert "20 of 40 genes known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "gpp"], "there is no policy 'gpp'; did you mean gp? There are: "),
        (["--policy", "GP"], "did you mean gp?"),
        (["--policy", "neighbors"], "did you mean neighbours?"),
        (["--set", "share=0.1"], "--set share=0.1 is for a policy that is named; add one, such as --policy hits."),
    ],
)
def test_a_misspelt_policy_and_a_setting_of_none(lab, arguments, said, capsys):
    for command in ("suggest", "replay"):
        assert main([command, str(lab.features), str(lab.phenotypes), *arguments]) == 2
        shown = capsys.readouterr().err
        assert said in shown
        assert shown.count("\n") == 1


def test_a_report_of_a_campaign(lab, capsys):
    """By its folder, as the last round knew it; the page is beside the folder unless it is named."""
    lab.suggest(policy="gp")
    lab.measure(lab.batch(1), failed=lab.batch(1)[:1])
    lab.suggest(policy="gp")
    capsys.readouterr()
    assert main(["report", str(lab.rounds)]) == 0
    page = lab.folder / "phenotypes_rounds.html"
    assert capsys.readouterr().out == f"report: {page}\n"
    text = page.read_text(encoding="utf-8")
    assert "3 measured, 1 failed, 4 asked and still to come" in text
    assert "left to find" in text
    assert "of batch 2 to be measured" in text
    assert main(["report", str(lab.rounds), "--out", str(lab.folder / "other.html")]) == 0
    assert main(["report", str(lab.folder)]) == 2
    assert "has no round_001.json; run bestarm suggest, which writes it" in capsys.readouterr().err
    (lab.rounds / "candidates.zip").unlink()
    assert main(["report", str(lab.rounds)]) == 2
    assert "has no candidates.zip; run bestarm suggest, which" in capsys.readouterr().err

"""The pipeline declares what it reaches, and notebooks keep the form."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bestarm.paths import FIGURES, NOTEBOOKS, RESULTS, ROOT
from bestarm.reporting import runner
from bestarm.reporting.pipeline import (
    declared_claims,
    experiments_of_stage,
    load_pipeline,
    notebook_of_stage,
    notebook_source,
    required_deps,
    stage_parameters,
)
from bestarm.reporting.rebuild import redraw, stages_of

STAGES = load_pipeline()["stages"]
COMMITTED = sorted(NOTEBOOKS.glob("*/*.ipynb"))


def outs_of(stage: dict) -> list[str]:
    """Return the paths that a stage makes."""
    return [next(iter(out)) if isinstance(out, dict) else out for out in stage["outs"]]


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_declares_every_file_it_reaches(name):
    """Follow the imports of the notebook and the modules its experiments name; `make pipeline` adds what is missing."""
    stage = STAGES[name]
    missing = set(required_deps(notebook_of_stage(stage), experiments_of_stage(stage))) - set(stage["deps"])
    assert not missing


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_declares_the_claims_that_its_notebook_judges(name):
    """Its own, each by name; all of them where the notebook reads all."""
    stage = STAGES[name]
    notebook = notebook_of_stage(stage)
    keys = stage_parameters(stage).get(f"papers/{notebook.parent.name}.yaml", [])
    assert [k for k in keys if k.startswith("claims")] == declared_claims(stage)
    source = notebook_source(notebook)
    reads_all = "load_results()" in source or "control_rows(section.claims()" in source
    assert reads_all <= ("claims" in keys)


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_keeps_its_outputs_in_git_and_through_failures(name):
    """`cache: false, persist: true` for each output."""
    for out in STAGES[name]["outs"]:
        ((_, options),) = out.items()
        assert options == {"cache": False, "persist": True}


def test_every_notebook_has_a_stage_and_every_committed_output_a_maker():
    """Nothing is made by hand."""
    made = {out for stage in STAGES.values() for out in outs_of(stage)}
    files = {str(p.relative_to(ROOT)) for folder in (FIGURES, RESULTS) for p in folder.glob("*/*.*")}
    large_figures = {str(p.relative_to(ROOT)) for p in FIGURES.glob("*/paper_scale/*.*")}
    assert files | large_figures == made
    large = yaml.safe_load((ROOT / "paper_scale" / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    made_large = {out for stage in large.values() for out in outs_of(stage)}
    assert {str(p.relative_to(ROOT)) for p in RESULTS.glob("*/paper_scale/*.*")} <= made_large
    taken = {d for stage in STAGES.values() for d in stage["deps"] if d.startswith(("results/", "figures/"))}
    assert taken <= made | made_large
    assert {notebook_of_stage(stage) for stage in STAGES.values()} == set(COMMITTED)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: p.stem)
def test_a_notebook_keeps_the_form(path):
    """Prose first, a parameters cell, short code, text outputs of the smoke profile, a list of differences."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = notebook["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    prose = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    outputs = [o for c in cells if c["cell_type"] == "code" for o in c["outputs"]]
    assert cells[0]["cell_type"] == "markdown"
    assert sum(c["metadata"].get("tags") == ["parameters"] for c in cells) == 1
    assert sum(len([line for line in c.splitlines() if line.strip()]) for c in code) <= 150
    assert "nbval-check-output" in str([c["metadata"] for c in cells])
    assert any("SMOKE PROFILE" in "".join(o.get("text", "")) for o in outputs)
    assert not any(o["output_type"] == "error" or "image/png" in o.get("data", {}) for o in outputs)
    assert re.search(r"## (Differences from the paper|What the paper leaves open)", prose)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    for alt, target in re.findall(r"!\[(.*?)\]\((.*?)\)", prose):
        assert alt
        assert (path.parent / target).is_file(), target


def test_unknown_and_missing_parameters_are_refused_before_anything_runs(tmp_path):
    """A misspelt parameter would silently run the default."""
    with pytest.raises(ValueError, match=r"has no parameter profil; it has: .*profile"):
        runner.check_parameters(COMMITTED[0], {"profil": "laptop"})
    notebook = json.loads(COMMITTED[0].read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("tags") == ["parameters"]:
            cell["source"] = ["profile = 'smoke'"]
    path = tmp_path / "lacking.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    with pytest.raises(ValueError, match="declares no parameter output_dir"):
        runner.check_parameters(path, {})


def test_unknown_names_give_one_line_and_status_2():
    """From the command line: a notebook, a figure and a paper that do not exist."""
    for words in (
        ["notebook", "no.ipynb"],
        ["figure", "--paper", "linear_topm", "--fig", "99"],
        ["repro", "--paper", "x"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "bestarm.reporting.cli", *words],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert done.returncode == 2
        assert done.stderr.startswith("bestarm: ")
        assert done.stderr.count("\n") == 1


def test_a_failing_notebook_publishes_nothing(tmp_path, monkeypatch):
    """What was saved before the failing cell stays in the temporary folder."""
    notebook = json.loads(COMMITTED[0].read_text(encoding="utf-8"))
    saving = (
        "from pathlib import Path\nPath(output_dir, 'figures').mkdir()\nPath(output_dir, 'figures/x.png').touch()\n"
    )
    cells = [c for c in notebook["cells"] if c["metadata"].get("tags") == ["parameters"]]
    failing = {"cell_type": "code", "id": "fails", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"] = [*cells, failing | {"source": saving + "raise RuntimeError('no')"}]
    path = tmp_path / "paper" / "failing.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps(notebook), encoding="utf-8")
    monkeypatch.setattr(runner, "QUICK", tmp_path / "quick")
    with pytest.raises(runner.NotebookFailed, match="RuntimeError: no"):
        runner.run_notebook(path, "smoke")
    assert not (tmp_path / "quick").exists()


def test_stages_and_figures_are_found_by_name():
    """`make repro PAPER=` and `make figure FIG=` name what exists."""
    assert stages_of("linear_topm") == [s for s in STAGES if s.startswith("linear_topm")]
    with pytest.raises(ValueError, match=r"no stage makes figure '99'.*fig01"):
        redraw("linear_topm", "99")


def test_no_file_speaks_of_a_machine():
    """Machine paths do not travel."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False).stdout.split()
    names = listed or [str(p.relative_to(ROOT)) for p in Path(ROOT, "src").rglob("*.py")]
    pattern = re.compile(r"/(?:home|root|Users)/\w")
    texts = {
        n: (ROOT / n).read_text(encoding="utf-8", errors="ignore")
        for n in names
        if not n.endswith((".png", ".parquet"))
    }
    assert [n for n, text in texts.items() if pattern.search(text) and n != "tests/test_pipeline.py"] == []

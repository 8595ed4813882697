"""Without the data: what is committed stays, problems are stand-ins that say so, cells that show them are skipped."""

import ast
import importlib
import json
import shutil
import subprocess
import sys

import nbformat
import pandas as pd
import pytest
from matplotlib.figure import Figure

from bestarm_lab import results
from bestarm_lab.datasets import registry
from bestarm_lab.experiments import experiment as experiment_module
from bestarm_lab.experiments.names import names_of
from bestarm_lab.notebooks import runner
from bestarm_lab.notebooks import section as section_module
from bestarm_lab.notebooks.section import Section
from bestarm_lab.paths import NOTEBOOKS, RESULTS
from bestarm_lab.results import committed_rows, current_rows
from bestarm_lab.study import load_study
from bestarm_studies.linear_topm.theory.findings import bound_values

REAL = "real_drugs_linear"


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("BESTARM_DATA", str(tmp_path))
    monkeypatch.setenv("BESTARM_OFFLINE", "1")
    monkeypatch.setattr(registry, "RAW_DATA", tmp_path)
    experiment_module._built.cache_clear()


@pytest.fixture
def section(monkeypatch, tmp_path):
    """Return the section of a notebook that publishes into a folder of the test."""
    monkeypatch.setattr(section_module, "QUICK", tmp_path / "quick")
    monkeypatch.setenv("BESTARM_OUTPUT", str(tmp_path / "published"))
    return Section("linear_topm", "08_beyond", "laptop")


@pytest.mark.parametrize("name", ["drug_simulator", REAL])
def test_rows_on_data_that_nobody_has_are_returned_as_they_are(name, no_data):
    """Whatever their key, since a key names the data; searches and computations alike."""
    assert not load_study("linear_topm").experiment(name).has_data()
    rows = current_rows("linear_topm", name, "laptop")
    assert rows is not None
    assert rows.equals(committed_rows("linear_topm", name, "laptop"))


@pytest.mark.parametrize(("name", "data"), [(REAL, "stand-in"), ("each_m", "synthetic")])
def test_other_rows_must_be_those_of_the_present_code(name, data, no_data, monkeypatch):
    """Rows on stand-ins and simulated rows have keys that can be computed anywhere."""
    stale = committed_rows("linear_topm", name, "laptop").assign(key="another", data=data)
    monkeypatch.setattr(results, "committed_rows", lambda *names: stale)
    assert current_rows("linear_topm", name, "laptop") is None


def test_a_problem_without_its_data_is_a_stand_in_that_says_so(no_data, section, capsys):
    """Its figures are not published, though the rows of the experiment are the real ones."""
    rows = section.rows(REAL)
    assert (capsys.readouterr().out, section._folder().name) == ("", "published")
    assert section.problem(REAL).data == "stand-in"
    assert capsys.readouterr().out.startswith(f"STAND-IN DATA in {REAL}: nobody here has the real data")
    assert (rows["data"] == "real").all()
    assert "quick" in section._folder().parts


def test_a_problem_that_needs_no_data_says_nothing(no_data, section, capsys):
    assert section.problem("each_m") is section.experiment("each_m").first_problem()
    assert capsys.readouterr().out == ""


def test_pulls_on_real_data_are_not_compared_with_the_bound_of_a_stand_in(no_data, section):
    names = ["bound_pi3", "bound_drug"]
    rows, problems = {n: section.rows(n) for n in names}, {n: section.problem(n) for n in names}
    assert set(bound_values(rows, problems, ["m-LinGapE (largest var.)"], "laptop")["panel"]) == {"bound_pi3"}


def test_what_is_shown_after_a_stand_in_is_not_published_whatever_it_names(no_data, section, tmp_path):
    """A figure that names no experiment, a table of other rows, a diagram; and data that belong to no experiment."""
    values = pd.DataFrame({"series": ["a"], "value": [0.25]})
    section.rows(REAL)
    section.table("before", values, values, [REAL])
    section.data("own", lambda: registry.fetch("drug-rewards"), lambda: 1, ["drug-rewards"])
    section.show("gaps", Figure(), values)
    section.table("other", values, values, [REAL])
    section.picture("diagram", Figure())
    published = {file.stem for file in (tmp_path / "published").iterdir()}
    quick = {file.stem for file in (tmp_path / "quick").rglob("*.*")}
    assert (published, quick) == ({"before"}, {"gaps", "other", "diagram"})


def test_a_notebook_in_which_data_stand_in_leaves_what_is_published(tmp_path, tiny_notebook, capsys):
    """Every figure, whatever wrote it into the notebook's folder, and the notebook with its outputs."""
    path = tiny_notebook(
        "import os, pathlib\n"
        "pathlib.Path(os.environ['BESTARM_OUTPUT'], 'gaps.csv').write_text('made up')\n"
        "print('STAND-IN DATA in x: nobody here has the real data.')"
    )
    figures = tmp_path / "figures" / "gse"
    published = figures / "01_tiny" / "gaps.csv"
    published.parent.mkdir(parents=True)
    published.write_text("real")
    before = path.read_bytes()
    assert runner.run_notebook("gse/01_tiny") == path
    assert (published.read_text(), path.read_bytes()) == ("real", before)
    assert [file.name for file in figures.rglob("*")] == ["01_tiny", "gaps.csv"]
    assert "gse/01_tiny: kept as published, since some of its data are not here" in capsys.readouterr().err


@pytest.mark.slow
def test_verdicts_on_data_that_nobody_has_stay_as_they_are(no_data, monkeypatch, tmp_path, capsys):
    """Exact claims that ask the same; one without a committed verdict is not run, without a path of the machine."""
    study = tmp_path / "results" / "linear_topm"
    shutil.copytree(RESULTS / "linear_topm", study)
    monkeypatch.setattr(results, "RESULTS", study.parent)
    lines = (study / "verdicts.csv").read_text(encoding="utf-8").splitlines()
    (study / "verdicts.csv").write_text("\n".join(x for x in lines if "TOPM-C22b," not in x), encoding="utf-8")
    results.write_verdicts(load_study("linear_topm"))
    new = (study / "verdicts.csv").read_text(encoding="utf-8").splitlines()
    different = [line for old, line in zip(lines, new, strict=True) if old != line]
    assert [line.split(",")[:3] for line in different] == [["TOPM-C22b", "as_written", "not run"]]
    assert "data unavailable: nobody here has 'epilepsy-network'," in different[0]
    for name in ("comparisons", "robustness"):
        assert (study / f"{name}.csv").read_bytes() == (RESULTS / "linear_topm" / f"{name}.csv").read_bytes()
    assert "SKIPPED TOPM-C34a, TOPM-C34b, TOPM-C15 of linear_topm: nobody here has the data" in capsys.readouterr().err


def test_no_notebook_takes_a_stand_in_without_saying_so():
    """A function that looks whether data can be had is called by `Section.data` alone, which says what it found."""
    faults, said = [], 0
    for path in runner.notebooks_of():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        trees = [ast.parse("".join(c["source"])) for c in cells if c["cell_type"] == "code"]
        nodes = [node for tree in trees for node in ast.walk(tree)]
        calls = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == "section.data"]
        inside = {part for call in calls for part in ast.walk(call)}
        names = [n for n in nodes if isinstance(n, ast.Name)]
        silent = {name for n in nodes if isinstance(n, ast.ImportFrom) for name in choosing(n)}
        said += len(silent)
        faults += [f"{path.parent.name}/{path.stem}: {n.id}" for n in names if n.id in silent and n not in inside]
    assert not faults
    assert said  # else the rule looks for what is no longer there


def choosing(imported):
    """Return the names that a statement imports of functions that choose between a file and a stand-in."""
    if imported.module is None or not imported.module.startswith("bestarm_studies"):
        return
    for alias in imported.names:
        module = getattr(getattr(importlib.import_module(imported.module), alias.name, None), "__module__", None) or ""
        known = names_of(module).statements.get(alias.name, []) if module.startswith("bestarm_studies") else []
        calls = [n for statement in known for n in ast.walk(statement) if isinstance(n, ast.Call)]
        if any(ast.unparse(call.func) in ("available", "registry.available") for call in calls):
            yield alias.asname or alias.name


@pytest.mark.slow
def test_only_cells_that_differ_after_the_line_are_skipped(tmp_path):
    """Before a notebook has said that data stand in a difference is an error, after it what agrees is compared."""
    shutil.copy(NOTEBOOKS / "conftest.py", tmp_path)
    notebook = nbformat.v4.new_notebook()
    before, after = ("print(1)", "0\n"), [("print(2)", "0\n"), ("print(3)", "3\n"), ("1 / 0", "0\n")]
    for source, shown in [before, ("print('STAND-IN DATA for e: nobody has it')", None), *after]:
        outputs = [nbformat.v4.new_output("stream", text=shown)] if shown else []
        tags = {"tags": ["nbval-check-output"]} if shown else {}
        notebook.cells.append(nbformat.v4.new_code_cell(source, metadata=tags, outputs=outputs, execution_count=1))
    nbformat.write(notebook, tmp_path / "some.ipynb")
    options = ["-p", "bestarm_lab.notebooks", "--nbval-lax", "-p", "no:cacheprovider", "-rs"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout.count("some.ipynb F.s.F") == 1, ran.stdout
    assert "some.ipynb, Cell 2: nobody here has the data that it shows" in ran.stdout

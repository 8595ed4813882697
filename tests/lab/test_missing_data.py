"""Without the data: committed rows stay, problems are stand-ins that say so, and cells that show them are skipped."""

import shutil
import subprocess
import sys

import nbformat
import pytest

from bestarm_lab import results
from bestarm_lab.datasets import registry
from bestarm_lab.experiments import experiment as experiment_module
from bestarm_lab.notebooks import section as section_module
from bestarm_lab.notebooks.section import Section
from bestarm_lab.paths import NOTEBOOKS
from bestarm_lab.results import committed_rows, current_rows
from bestarm_lab.study import load_study
from bestarm_studies.linear_topm.theory import bound_values

REAL = "real_drugs_linear"


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Take every data file away, and what was built from them."""
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
    assert capsys.readouterr().out == ""
    assert section._folder([REAL]).name == "published"
    problem = section.problem(REAL)
    assert problem.data == "stand-in"
    assert capsys.readouterr().out.startswith(f"STAND-IN DATA in {REAL}: nobody here has the real data")
    assert (rows["data"] == "real").all()
    assert "quick" in section._folder([REAL]).parts


def test_a_problem_that_needs_no_data_says_nothing(no_data, section, capsys):
    problem = section.problem("each_m")
    assert problem is section.experiment("each_m").first_problem()
    assert capsys.readouterr().out == ""


def test_pulls_on_real_data_are_not_compared_with_the_bound_of_a_stand_in(no_data, section):
    names = ["bound_pi3", "bound_drug"]
    rows, problems = {n: section.rows(n) for n in names}, {n: section.problem(n) for n in names}
    values = bound_values(rows, problems, ["m-LinGapE (largest var.)"], "laptop")
    assert set(values["panel"]) == {"bound_pi3"}


@pytest.mark.slow
def test_only_cells_that_differ_after_the_line_are_skipped(tmp_path):
    """Before a notebook has said that data stand in a difference is an error, after it what agrees is compared."""
    shutil.copy(NOTEBOOKS / "conftest.py", tmp_path)
    notebook = nbformat.v4.new_notebook()
    for source, shown in [
        ("print(1)", "0\n"),
        ("print('STAND-IN DATA for e: nobody has it')", None),
        ("print(2)", "0\n"),
        ("print(3)", "3\n"),
        ("1 / 0", "0\n"),
    ]:
        outputs = [nbformat.v4.new_output("stream", text=shown)] if shown else []
        tags = {"tags": ["nbval-check-output"]} if shown else {}
        cell = nbformat.v4.new_code_cell(source, metadata=tags, outputs=outputs, execution_count=1)
        notebook.cells.append(cell)
    nbformat.write(notebook, tmp_path / "some.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "-p", "no:cacheprovider", "-rs", str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout.count("some.ipynb F.s.F") == 1, ran.stdout
    assert "some.ipynb, Cell 2: nobody here has the data that it shows" in ran.stdout

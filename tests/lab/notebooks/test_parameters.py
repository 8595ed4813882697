"""Parameters of notebooks: declared, published as they stand, refused if unknown, and changed without any trace."""

import ast
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import papermill
import pytest
from matplotlib import pyplot as plt
from refusals import refuses, refusing

from bestarm_lab.experiments.changes import with_parameters
from bestarm_lab.experiments.experiment import Experiment, Series
from bestarm_lab.experiments.keys import describe
from bestarm_lab.experiments.scale import PerArm
from bestarm_lab.figures.figures import headed
from bestarm_lab.notebooks import section as section_module
from bestarm_lab.notebooks.parameters import REQUIRED, published_parameters, read_value
from bestarm_lab.notebooks.runner import NotebookFailed, check_parameters, notebooks_of, run_notebook
from bestarm_lab.notebooks.section import Section
from bestarm_lab.paths import FIGURES, NOTEBOOKS, QUICK, RESULTS, ROOT
from bestarm_lab.results import published
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names

IDS = {"ids": lambda p: f"{p.parent.name}/{p.stem}"}
PATHS = notebooks_of()
TINY = {
    "gse/03_adaptive": {"replications": 3, "variance": 1.0, "n_arms": [8, 16]},
    "gpoo/04_aggregation": {"replications": 2, "arities": [2, 3], "sizes": [1, 5]},
    "linear_topm/03_random_instances": {"replications": 2, "delta": 0.3, "sigma": 0.2},
    "dpp_bbo/05_abalone": {"replications": 2, "sigma": 0.1, "rounds": 3},
    "oae/06_realizable": {"replications": 2, "steps": 5, "rounds": 3},
}


@cache
def code_of(path: Path) -> tuple[str, list[str]]:
    """Return the cell with the parameters of a notebook, and its other code."""
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    tagged = ["parameters" in cell["metadata"].get("tags", []) for cell in cells]
    assert sum(tagged) == 1
    sources = ["".join(cell["source"]) for cell in cells]
    return sources[tagged.index(True)], [source for source, of in zip(sources, tagged, strict=True) if not of]


@pytest.mark.parametrize("path", PATHS, **IDS)
def test_every_notebook_declares_parameters_at_their_published_values(path):
    """Each with a comment, in a line that papermill can read; a last line may say what becomes of them."""
    text, _ = code_of(path)
    values = {s.targets[0].id: ast.literal_eval(s.value) for s in ast.parse(text).body}
    published = published_parameters(path.parent.name, path.stem)
    assert {name: value for name, value in values.items() if name not in REQUIRED} == published
    assert len(published) >= 1
    *lines, last = text.splitlines()
    for line in lines if last.startswith("# Section") else [*lines, last]:
        assert line.count("=") == 1, line
        assert "  # " in line
        assert len(line) <= 100


def test_the_record_of_published_parameters_names_notebooks():
    for study in study_names():
        named = [line.rstrip(":\n") for line in (NOTEBOOKS / study / "parameters.yaml").open() if line[0] not in " #"]
        assert named == [p.stem for p in PATHS if p.parent.name == study]


@pytest.mark.parametrize("path", PATHS, **IDS)
def test_no_cell_takes_the_name_of_a_parameter(path):
    """Else the Section reads another value when its cell is run again, or a later cell does."""
    published = set(published_parameters(path.parent.name, path.stem))
    for source in code_of(path)[1]:
        for node in ast.walk(ast.parse(source)):
            names = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.asname or alias.name for alias in node.names}
            assert not names & published


def parts_of(problem):
    """Return what a problem is made of; two `partial` of the same parts are not equal."""
    return problem.func, problem.args, {name: describe(value) for name, value in problem.keywords.items()}


@pytest.mark.parametrize("path", PATHS, **IDS)
def test_published_parameters_change_no_experiment(path):
    """The very objects of the study come back, whose rows are the committed ones."""
    published = published_parameters(path.parent.name, path.stem)
    section = Section(path.parent.name, path.stem, "laptop", changed={})
    for name, experiment in load_study(path.parent.name).experiments.items():
        assert section.experiment(name) is experiment
        again = with_parameters(experiment, published, published)
        if again is not experiment and isinstance(experiment, Experiment) and "replications" not in published:
            now, was = ([parts_of(c.problem) for c in one.cells("smoke")] for one in (again, experiment))
            assert now == was


@pytest.mark.parametrize("path", [NOTEBOOKS / f"{name}.ipynb" for name in TINY], **IDS)
def test_the_runner_refuses_an_unknown_parameter(path):
    with pytest.raises(ValueError, match=r"has no parameter budgett; it has: profile, output_dir, "):
        check_parameters(path, {"budgett": 200})


def test_plain_papermill_refuses_an_unknown_parameter(tmp_path):
    """Papermill itself only warns; the Section ends the notebook before anything is simulated."""
    source = NOTEBOOKS / "gse" / "12_verdicts.ipynb"
    with pytest.raises(papermill.PapermillExecutionError, match="gse/12_verdicts has no parameter budget; it has: "):
        papermill.execute_notebook(source, tmp_path / "out.ipynb", {"budget": 200}, cwd=str(ROOT), progress_bar=False)


@pytest.mark.parametrize(
    ("value", "published", "found"),
    [
        ("[8, 16]", [8], [8, 16]),
        (8, [8, 16], [8]),
        ("8", [8, 16], [8]),
        ("0.5", 0.1, 0.5),
        ("[GSE-C1]", None, ["GSE-C1"]),
        (20, None, 20),
        ("null", None, None),
    ],
)
def test_values_are_read_as_what_was_published(value, published, found):
    assert read_value("x", value, published) == found


@pytest.mark.parametrize(("value", "published"), [("much", 0.1), (True, 0.1), ({"a": 1}, [8]), (None, 3)])
def test_values_of_another_kind_are_refused(value, published):
    refuses(lambda: read_value("x", value, published), r"^x must be a (number|list), as .*, got ")


@pytest.fixture
def fig2():
    return load_study("gse").experiment("fig2")


def test_changed_replaces_what_is_named_and_nothing_else(fig2):
    """Runs of every series, at every profile; cells; settings of problem and policies."""
    found = fig2.changed(replications=7, vary={"n_arms": [4, 8]}, budgets=PerArm((5,)), problem={"variance": 2.0})
    for profile in ("smoke", "laptop", "paper"):
        cells = found.cells(profile)
        assert {c.replications for c in cells} == {7}
        assert {(c.where["n_arms"], c.budget) for c in cells} == {(4, 20), (8, 40)}
        assert {c.build().sigma for c in cells} == {2.0**0.5}
    assert (list(found.series), found.metrics) == (list(fig2.series), fig2.metrics)
    assert {c.policy.eta for c in fig2.changed(settings={"eta": 3}).cells("smoke") if c.series == "GSE-Lin"} == {3}


def test_changed_to_what_it_is_changes_no_key(fig2):
    as_it_is = {"vary": {"n_arms": [8, 16, 32, 64, 128]}, "problem": {"variance": 10.0, "omega": 0.1}}
    same = fig2.changed(**as_it_is, budgets=PerArm((10, 20, 50)), settings={"eta": 2}).cells("laptop")
    assert [(c.policy, str(c.problem)) for c in same] == [(c.policy, str(c.problem)) for c in fig2.cells("laptop")]


@refusing(
    ({"problem": {"varience": 1.0}}, r"its problem has no setting varience; there are: n_arms, omega, variance\."),
    ({"vary": {"gap": [1]}}, r"its problem has no setting gap; there are: n_arms"),
    ({"settings": {"etta": 3}}, r"no policy has a setting etta; there are: .*eta"),
    ({"problem": {"n_arms": 8}}, r"varies n_arms; name its values in vary, not in problem"),
)
def test_changes_by_unknown_names_are_refused(changes, fig2):
    fig2.changed(**changes)


def test_budgets_of_an_experiment_without_budgets_are_refused():
    with pytest.raises(ValueError, match="one run for all budgets; where its policies have a budget"):
        load_study("linear_topm").experiment("fig1a").changed(budgets=[10])


def test_a_series_keeps_what_is_not_changed():
    """Its own budgets are replaced, its label and its problem are not."""
    series = load_study("gpoo").experiment("fig4_f1").changed(budgets=[5], settings={"theta": 0.2}).series
    found = series["AVE-StoOO"]
    assert isinstance(found, Series)
    assert (list(found.budgets), found.problem) == ([5], {"n_representatives": 10})
    assert series["GPOO (S = 10)"].policy.keywords["theta"] == 0.2


def test_a_computation_is_changed_by_settings_of_its_function():
    computation = load_study("dpp_bbo").experiment("theory_sets")
    found = computation.changed(replications=5, settings={"noises": (0.5,)})
    assert found.settings_at("laptop") == {**computation.settings_at("laptop"), "replications": 5, "noises": (0.5,)}
    with pytest.raises(ValueError, match=r"its function has no setting noisses; there are: .*noises"):
        computation.changed(settings={"noisses": (0.5,)})


def test_a_parameter_changes_only_what_has_its_published_value():
    """The noise of Figure 1, and not that of the same figure with variance 1, which is there for it."""
    experiments, published = load_study("gse").experiments, {"variance": 10.0}
    noisy, unit = (with_parameters(experiments[n], {"variance": 5.0}, published) for n in ("fig1", "fig1_unit"))
    assert noisy.problem.keywords["variance"] == 5.0
    assert unit is experiments["fig1_unit"]


def test_a_parameter_reaches_the_problems_and_policies_within_a_computation():
    found = with_parameters(load_study("gpoo").experiment("tree_growth"), {"theta": 0.5}, {"theta": 0.1})
    assert {policy.theta for policy, _ in found.rows.keywords["searches"].values()} == {0.5}


def files_now() -> dict[Path, tuple[int, int]]:
    """Return size and time of every file that a notebook could overwrite."""
    files = [p for folder in (NOTEBOOKS, FIGURES, RESULTS) for p in folder.rglob("*") if p.is_file()]
    return {p: (p.stat().st_size, p.stat().st_mtime_ns) for p in files}


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_a_changed_notebook_writes_below_quick_alone(name):
    """And says in every heading, and in the place of verdicts, what was changed."""
    before = files_now()
    path = run_notebook(name, "smoke", **TINY[name])
    assert (files_now(), path) == (before, QUICK / "changed" / "notebooks" / f"{name}.ipynb")
    text = path.read_text(encoding="utf-8")
    for parameter, value in TINY[name].items():
        assert f"{parameter} = {value}" in text
    assert "Claims are decided on the published rows alone." in text
    if "STAND-IN DATA" in text:
        pytest.skip("figures of a stand-in are published nowhere")
    figures = QUICK / "changed" / "figures" / name
    assert list(figures.glob("*.png"))
    values = pd.concat([pd.read_csv(file) for file in figures.glob("fig*.csv")])
    n = values["n"][values["n"] > 1]  # pictures of one run keep it
    assert (n == TINY[name]["replications"]).mean() > 0.9  # the others are the authors' recorded runs


@pytest.mark.parametrize("name", ["fig6", "fig7"])
def test_fewer_runs_are_the_first_of_the_committed_ones(monkeypatch, name):
    """Whether those lie at the laptop's scale or at the paper's: nothing is simulated for them."""
    monkeypatch.setattr("bestarm_lab.experiments.run._compute", lambda *given: pytest.fail("simulated for nothing"))
    rows = Section("gse", "08_od_linbai", "laptop", changed={"replications": 3}).rows(name)
    _, known = published("gse", name)
    first = known[known["replication"] < 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, first, check_like=True, check_dtype=False, check_categorical=False)


def test_an_experiment_that_no_change_concerns_keeps_its_published_rows():
    assert Section("gse", "08_od_linbai", "laptop", changed={"n_arms": [4]}).rows("fig7")["replication"].max() >= 999


def test_a_figure_of_changed_parameters_is_headed_by_them(tmp_path, monkeypatch):
    """In the place of the finding and of its setting; published verdicts are not shown."""
    shown = []
    monkeypatch.setenv("BESTARM_OUTPUT", str(tmp_path))
    monkeypatch.setattr(section_module, "display", lambda value: shown.append(getattr(value, "data", "")))
    section = Section("gse", "03_adaptive", "smoke", changed={"replications": 5})
    figure = headed(plt.figure(layout="constrained"), "GSE is ahead", "1000 runs")
    section.show("one", figure, pd.DataFrame({"n": [5], "value": [0.5]}))
    words = " ".join(text.get_text() for text in figure.texts)
    assert " ".join(words.split()) == "Changed parameters: replications = 5; n = 5 runs"
    section.verdicts()
    assert shown[-1].startswith("Changed parameters: replications = 5. Claims are decided on")


SECTION = """
from bestarm_lab.notebooks.section import Section
Section("gse", "01_tiny", profile, output_dir)
"""
WRITES = """
import os, time
from pathlib import Path
Path(os.environ["BESTARM_OUTPUT"], "x.csv").write_text("1\\n")
"""


def test_an_edited_cell_is_published_nowhere(tmp_path, tiny_notebook):
    """A notebook whose parameters cell was edited and saved leaves figures and notebook as they are."""
    path = tiny_notebook(SECTION + WRITES, "replications = 5")
    ran = start(tmp_path).communicate(timeout=240)
    assert "parameters are changed" in ran[0], ran
    assert not (tmp_path / "figures/gse/01_tiny").exists()
    assert (tmp_path / "_quick/changed/figures/gse/01_tiny/x.csv").is_file()
    assert not json.loads(path.read_text())["cells"][1].get("outputs")


def test_two_runs_of_one_notebook_at_once_both_end_well(tmp_path, tiny_notebook):
    """Each has a folder of its own; the figures of one of them are published whole."""
    tiny_notebook(f"{WRITES}time.sleep(2)")
    both = [start(tmp_path) for _ in range(2)]
    said = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert (tmp_path / "figures/gse/01_tiny/x.csv").read_text() == "1\n"
    assert not [p for p in tmp_path.rglob(".*") if p.name.startswith(".01_tiny")]


def start(root: Path) -> subprocess.Popen:
    command = "from bestarm_lab.notebooks.runner import run_notebook; run_notebook('gse/01_tiny')"
    given = {"cwd": root, "env": os.environ | {"BESTARM_ROOT": str(root)}, "text": True}
    return subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **given)


def test_a_failed_notebook_names_the_refusal(fig2, tmp_path, tiny_notebook):
    """A value that no problem takes ends in one line, and nothing is published."""
    words = "variance must be positive and finite, got -1"
    refuses(lambda: fig2.changed(problem={"variance": -1.0}).first_problem(), words)
    path = tiny_notebook(f"raise ValueError({words!r})")
    before = path.read_bytes()
    refuses(lambda: run_notebook("gse/01_tiny"), words, NotebookFailed)
    assert (path.read_bytes(), (tmp_path / "figures/gse/01_tiny").exists()) == (before, False)

"""The pipeline names what there is: every study, every notebook, every picture."""

import json
import re
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
import yaml
from refusals import refuses

from bestarm_lab.notebooks.rebuild import PIPELINE, stages_of
from bestarm_lab.notebooks.runner import check_parameters, notebooks_of
from bestarm_lab.paths import FIGURES, NOTEBOOKS, ROOT
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names

STAGES = yaml.safe_load(PIPELINE.read_text(encoding="utf-8"))["stages"]
IDS = {"ids": lambda p: f"{p.parent.name}/{p.stem}"}


def cells(path: Path, kind: str) -> list[str]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_a_person_can_read_the_pipeline():
    assert len(PIPELINE.read_text(encoding="utf-8").splitlines()) <= 80
    assert (ROOT / "dvc.lock").stat().st_size < 100_000


def test_every_study_and_notebook_has_a_stage():
    assert sorted(STAGES["rows"]["foreach"]) == study_names() == sorted(set(STAGES) - {"rows"})
    for study in study_names():
        assert STAGES[study]["foreach"] == [p.stem for p in notebooks_of(study)]


def test_stages_of_some_studies():
    assert stages_of(["gse"])[:2] == ["rows@gse", f"gse@{STAGES['gse']['foreach'][0]}"]
    refuses(lambda: stages_of(["gsee"]), r"unknown study gsee; the pipeline has: .*gse")


@pytest.mark.parametrize("path", notebooks_of(), **IDS)
def test_notebooks_are_parameterised_and_published(path):
    check_parameters(path, {"profile": "laptop", "output_dir": "_quick"})
    source = "\n".join(cells(path, "code"))
    assert 'profile = "laptop"' in source, "a notebook that is opened and run shows the published numbers"
    assert f'Section("{path.parent.name}", "{path.stem}", profile, output_dir)' in source
    assert max(map(len, source.splitlines())) <= 100


@pytest.mark.parametrize("path", notebooks_of(), **IDS)
def test_every_picture_is_shown_by_its_notebook(path):
    shown = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", "\n".join(cells(path, "markdown")))
    files = {(path.parent / target).resolve() for _, target in shown}
    assert all(file.is_file() for file in files), f"missing: {[f for f in files if not f.is_file()]}"
    assert set((FIGURES / path.parent.name / path.stem).glob("*.png")) <= files
    assert all(len(alt) > 20 for alt, _ in shown), "an alternative text says what is to be seen"


def test_figures_belong_to_notebooks():
    made = {p.relative_to(FIGURES) for p in FIGURES.glob("*/*") if p.is_dir()}
    assert made <= {p.relative_to(NOTEBOOKS).with_suffix("") for p in notebooks_of()}
    assert not [p for p in FIGURES.glob("*/*") if p.is_file()]


@pytest.mark.parametrize("study", study_names())
def test_the_paper_names_notebooks_that_make_its_figures(study):
    for title, entry in load_study(study).paper.figures.items():
        files = list((FIGURES / study / entry.notebook).glob(f"{entry.file}.*"))
        assert files, f"{title}: notebook {entry.notebook} makes no {entry.file}"


@pytest.mark.parametrize("study", study_names())
def test_keys_beside_figures_are_those_of_committed_rows(study):
    """A figure whose rows were renewed is drawn again, so that what stands beside it leads to its rows."""
    for file in (FIGURES / study).glob("*/*.json"):
        for name, made in json.loads(file.read_text(encoding="utf-8")).get("experiments", {}).items():
            rows = (ROOT / "results" / study).rglob(f"{name}.parquet")
            columns = (parquet.read_table(p, columns=["key"])["key"] for p in rows)
            known = {key[:12] for column in columns for key in column.unique().to_pylist()}
            assert {keys[:12] for keys in made["keys"].values()} <= known, f"{file.name}: draw it again"

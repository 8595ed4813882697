"""``bestarm new study``: what it writes runs, passes its own tests, and leaves the checkout as it should be."""

import os
import shutil
import subprocess
import sys

from refusals import refuses, refusing

from bestarm_lab import new_study as new_study_module
from bestarm_lab.new_study import new_study
from bestarm_lab.paths import ROOT

COMMANDS = """
import sys
import pytest
from bestarm.command_line import main
ended = [main(["rows", "toy_arms"]), main(["notebook", "toy_arms/01_first"])]
sys.exit(any(ended) or pytest.main(["-q", "-p", "no:cacheprovider", "tests"]))
"""


def test_a_study_in_a_repository_of_its_own_runs_and_passes_its_tests(tmp_path):
    root = tmp_path / "repository"
    assert all(file.is_file() for file in new_study("toy_arms", root, known=["gse"]))
    installed = root / "src" / "bestarm_toy_arms-0.1.0.dist-info"  # what pip would write
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: bestarm-toy-arms\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text("[bestarm.studies]\ntoy_arms = toy_arms_study\n")
    # the package is found as an installed one is, by its entry point
    env = os.environ | {"BESTARM_ROOT": str(root), "PYTHONPATH": str(root / "src"), "BESTARM_OFFLINE": "1"}
    env["BESTARM_WORKERS"] = "1"  # other processes take longer to start than to compute
    given = {"cwd": root, "env": env, "capture_output": True, "text": True, "timeout": 600}
    ended = subprocess.run([sys.executable, "-c", COMMANDS], **given, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "3 passed" in ended.stdout
    verdicts = (root / "results" / "toy_arms" / "verdicts.csv").read_text()
    # one uniform stage is far better where features are few
    assert "TOY-ARMS-C1,as_written,refuted,worse,test" in verdicts
    assert "TOY-ARMS-T1,as_written,confirmed,,exact" in verdicts
    assert (root / "figures" / "toy_arms" / "01_first" / "fig01.png").stat().st_size > 1000


def test_a_study_in_the_checkout_adds_its_lines(tmp_path, monkeypatch):
    for name in ("pyproject.toml", "dvc.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "src" / "bestarm_studies").mkdir(parents=True)
    monkeypatch.setattr(new_study_module, "ROOT", tmp_path)
    new_study("toy", None, known=[])
    assert 'toy = "bestarm_studies.toy"\n' in (tmp_path / "pyproject.toml").read_text()
    stages = (tmp_path / "dvc.yaml").read_text()
    assert "dpp_bbo, toy]" in stages
    assert "src/bestarm_objectives, src/bestarm_studies/toy, results/toy]" in stages
    assert (tmp_path / "notebooks" / "toy" / "parameters.yaml").is_file()
    refuses(lambda: new_study("toy", None, known=[]), "is there already; move it away")


@refusing(
    *((name, "a study's name is a word of small letters") for name in ("My Study", "1st", "", "../up")),
    ("class", "'class' is a keyword of Python"),
    ("gse", "there is a study 'gse' already"),
)
def test_a_name_that_is_no_package_or_taken_is_refused(name, tmp_path):
    new_study(name, tmp_path / "there", known=["gse"])


def test_a_full_folder_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    refuses(lambda: new_study("toy", tmp_path, known=[]), "is not empty; name a folder that is not there yet")
    monkeypatch.setattr(new_study_module, "ROOT", tmp_path)
    refuses(lambda: new_study("toy", None, known=[]), "is no checkout of bestarm; name a folder of its own by --at")

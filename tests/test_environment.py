"""The conda environment: the declared dependencies at their locked versions, with a part that pip accepts."""

import subprocess
import sys

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_lock import LOCKED, declared, version

from bestarm_lab.paths import ROOT

CONDA_NAMES = {"pytorch": "torch"}
NOT_OURS = {"python", "pip", "make"}
LISTED = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
PIP = next(part["pip"] for part in LISTED if isinstance(part, dict))


def test_it_lists_what_is_declared_at_the_locked_versions():
    conda = dict(part.split("=") for part in LISTED if isinstance(part, str) and "=" in part)
    found = {canonicalize_name(CONDA_NAMES.get(name, name)): number for name, number in conda.items()}
    found |= {canonicalize_name(r.name): version(r) for r in map(Requirement, PIP)}
    names = {canonicalize_name(requirement.name) for requirement in declared()}
    assert found.keys() - NOT_OURS == names
    assert {name: version(LOCKED[name]) for name in names} == {name: found[name] for name in names}


def tried(*arguments: str) -> subprocess.CompletedProcess:
    """Let pip say what it would install, without asking twice."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--retries", "0"]
    return subprocess.run([*command, "--timeout", "20", *arguments], capture_output=True, text=True, check=False)


def test_pip_accepts_its_part(tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_text("\n".join(PIP) + "\n")
    found = tried("--requirement", str(path))
    if found.returncode and tried(f"packaging=={version(LOCKED['packaging'])}").returncode:
        pytest.skip("no package index answers here")
    assert found.returncode == 0, found.stderr
    last = found.stdout.splitlines()[-1]
    assert last.startswith("Would install ")
    assert len(last.split()) == 2 + len(PIP)

"""The lock: each package at one version with hashes, as many as needed; conda's environment; the audit."""

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bestarm_lab.paths import ROOT

RENEW = "run `make lock`"
CUDA_ONLY = ("cuda-", "nvidia-", "triton")  # brought by Torch's build for CUDA alone; its metadata name the versions


def entries(name: str) -> list[tuple[Requirement, list[str]]]:
    """Return the requirements of a lock file in its order, each with its options (hashes)."""
    lines = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    parts = [line.split(" --") for line in lines if not line.startswith("#")]
    return [(Requirement(first), [option.strip() for option in options]) for first, *options in parts]


HASHED = entries("locks/requirements.lock")
SITE = entries("locks/site.lock")
TORCH = entries("locks/torch.lock")
LOCKED = {requirement.name: requirement for requirement, _ in HASHED + TORCH}


def version(requirement: Requirement) -> str:
    (only,) = requirement.specifier
    assert only.operator == "==", f"{requirement} admits several versions"
    return only.version


def declared() -> list[Requirement]:
    """Return what pyproject.toml declares, with all extras; an extra may take in others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    found = [Requirement(text) for group in [project["dependencies"], *extras] for text in group]
    return [requirement for requirement in found if requirement.name != project["name"]]


def test_every_package_has_one_version_and_hashes():
    """In pip's mode of hashes one package without any would stop the installation."""
    assert len(LOCKED) == len(HASHED) + len(TORCH)
    for requirement, options in HASHED:
        assert requirement.name == canonicalize_name(requirement.name)
        assert "+" not in version(requirement)  # the label of one index's own build
        assert "*" not in version(requirement)
        assert requirement.url is None
        assert options, f"{requirement} has no hash: {RENEW}"
        for option in options:
            kind, _, digest = option.partition(":")
            assert kind == "hash=sha256", f"{requirement}: {option}"
            assert len(digest) == 64
            assert set(digest) <= set("0123456789abcdef")
        assert len(set(options)) == len(options)


def test_tools_of_the_site_are_locked_beside_the_rest():
    """What its groups declare, within the range, with hashes; nothing twice, and nothing that a setup would install."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    for requirement, options in SITE:
        assert canonicalize_name(requirement.name) not in LOCKED, RENEW
        version(requirement)
        assert options, f"{requirement} has no hash: {RENEW}"
        assert all(option.startswith("hash=sha256:") for option in options)
    here = {r.name: r for r, _ in SITE if r.marker is None or r.marker.evaluate()}
    for requirement in (Requirement(text) for group in groups.values() for text in group):
        name = canonicalize_name(requirement.name)
        assert name in here, f"{requirement} is not in locks/site.lock: {RENEW}"
        assert requirement.specifier.contains(version(here[name])), f"{requirement}: {RENEW}"


@pytest.fixture
def commands(tmp_path):
    """Return the commands that make would run, as a function of its arguments."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    ask = ["make", "--dry-run", "--no-print-directory", f"VENV={tmp_path}/new", f"BIN={tmp_path}/new/bin"]
    return lambda *more: subprocess.run([*ask, *more], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_site_is_made_with_its_own_tools(commands, tmp_path):
    """A setup first, then hashed tools in a folder of their own."""
    said = commands("site", f"SITE_TOOLS={tmp_path}/tools").replace("\\\n", " ")
    tools = next(line for line in said.splitlines() if "--target" in line)
    assert "--no-deps --require-hashes" in tools
    assert "locks/site.lock" in tools
    assert "python -m bestarm_site --fresh" in said.splitlines()[-1]
    assert said.index("locks/requirements.lock") < said.index("--target")


def test_torch_alone_has_no_hash():
    assert [(requirement.name, options) for requirement, options in TORCH] == [("torch", [])]
    assert "+" not in version(TORCH[0][0])


def test_what_is_declared_is_locked_within_its_range():
    """Ranges have a lower end and no upper one: what breaks is found by the tests of the newest versions."""
    for requirement in declared():
        name = canonicalize_name(requirement.name)
        assert name in LOCKED, f"{requirement} is not in the lock: {RENEW}"
        assert [part.operator for part in requirement.specifier] == [">="], f"{requirement} is no range"
        locked = version(LOCKED[name])
        assert requirement.specifier.contains(locked), f"{requirement}, locked is {locked}: {RENEW}"


def test_the_lock_is_what_is_declared_and_what_that_depends_on():
    """Followed through the metadata of the installed packages, on this system and this Python."""
    if (Path(sys.prefix) / "conda-meta").is_dir():
        pytest.skip("conda's packages have dependencies of their own")
    needed: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = declared()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name.startswith(CUDA_ONLY):
            continue
        needed.add(name)
        for extra in {"", *requirement.extras} - {done for of, done in seen if of == name}:
            seen.add((name, extra))
            found = [Requirement(text) for text in distribution(name).requires or []]
            waiting += [r for r in found if r.marker is None or r.marker.evaluate({"extra": extra})]
    here = {name for name, r in LOCKED.items() if r.marker is None or r.marker.evaluate()}
    assert needed - here == set(), f"not in the lock: {RENEW}"
    assert here - needed == set(), f"needed by nothing: {RENEW}"


def test_setup_asks_for_hashes_and_then_for_torch(commands):
    """Torch, which has no hashes, needs a command of its own."""
    installs = [line for line in commands("setup", "PIP_ARGS=--an-option").splitlines() if " pip install " in line]
    assert all(line.endswith(" --an-option") for line in installs)
    hashed, torch, project = installs
    assert "--require-hashes --requirement locks/requirements.lock " in hashed
    assert "--requirement locks/torch.lock " in torch
    assert "--no-deps --editable . " in project


LISTED = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
PIP = next(part["pip"] for part in LISTED if isinstance(part, dict))


def test_it_lists_what_is_declared_at_the_locked_versions():
    conda = dict(part.split("=") for part in LISTED if isinstance(part, str) and "=" in part)
    found = {canonicalize_name({"pytorch": "torch"}.get(name, name)): number for name, number in conda.items()}
    found |= {canonicalize_name(r.name): version(r) for r in map(Requirement, PIP)}
    names = {canonicalize_name(requirement.name) for requirement in declared()}
    assert found.keys() - {"python", "pip", "make"} == names
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


# The audit says what was not audited, in one line, and never calls that a success. Python and pip-audit are replaced by
# scripts, so that nothing is asked of any network.
N_LOCKED = len(LOCKED)
NOT = "were NOT audited."
TABLE = "Name Version ID Fix Versions\\n---- ------- -- ------------\\nnumpy 1.0 PYSEC-1 2.0\\n"
SKIPPED = "numpy Dependency not found on PyPI and could not be audited: numpy (2.4.6)\\n"
NO_ROUTE = "echo Traceback >&2; echo 'ConnectionError: no route' >&2; exit 1"
NOTHING_KNOWN = f"for i in $(seq {N_LOCKED}); do printf '{SKIPPED}'; done"
NO_DATABASE = "no database of vulnerabilities answers here"
DOES_NOT_KNOW = f"the database that answers here does not know {{}} of {N_LOCKED} dependencies; those {NOT}"
NONE_IN = f"no known vulnerability in {{}} of {N_LOCKED} dependencies."


@pytest.mark.parametrize(
    ("pip", "audit", "status", "lines"),
    [
        ("exit 1", "exit 0", 0, [f"pip-audit cannot be installed here; the dependencies {NOT}"]),
        ("exit 0", NO_ROUTE, 0, [f"{NO_DATABASE} (ConnectionError: no route); the dependencies {NOT}"]),
        ("exit 0", NOTHING_KNOWN, 0, [DOES_NOT_KNOW.format(N_LOCKED)]),
        ("exit 0", f"printf '{SKIPPED}'", 0, [DOES_NOT_KNOW.format(1), NONE_IN.format(N_LOCKED - 1)]),
        ("exit 0", "echo fine >&2", 0, [NONE_IN.format(N_LOCKED)]),
        ("exit 0", f"printf '{TABLE}'; exit 1", 1, ["numpy 1.0 PYSEC-1 2.0"]),
    ],
)
def test_the_audit_says_what_it_did(tmp_path, pip, audit, status, lines):
    """Not installed, no database, one that knows nothing or little, all well, a finding."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    fake = tmp_path / "python3"
    fake.write_text(
        "#!/usr/bin/env bash\n"
        'mkdir -p "$3/bin"\n'
        f"printf '#!/usr/bin/env bash\\n%s\\n' {shlex.quote(pip)} > \"$3/bin/pip\"\n"
        f"printf '#!/usr/bin/env bash\\n%s\\n' {shlex.quote(audit)} > \"$3/bin/pip-audit\"\n"
        'chmod +x "$3/bin/pip" "$3/bin/pip-audit"\n'
    )
    fake.chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    found = subprocess.run(["bash", str(ROOT / ".ci" / "audit")], capture_output=True, text=True, env=env, check=False)
    assert (found.returncode, found.stderr) == (status, "")
    said = found.stdout.splitlines()
    assert said[-len(lines) :] == ([f"audit: {line}" for line in lines] if status == 0 else lines)
    assert len(said) == (len(lines) if status == 0 else 3)

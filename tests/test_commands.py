"""The command line and the one import: commands, lacking extras, endings in one line, public names, what they cost."""

import errno
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest
from refusals import raising, refuses

import bestarm
from bestarm import command_line, plugins
from bestarm.command_line import main, one_line
from bestarm_lab import study_packages
from bestarm_lab.paths import ROOT

TOY = """
from __future__ import annotations

def add_commands(commands):
    parser = commands.add_parser("toy", help="a toy")
    parser.set_defaults(run=run)
    return "TOY_SIZE, how large"

def run(given):
    import a_package_that_nobody_has
"""


@pytest.fixture
def site(tmp_path):
    """Return a folder with another distribution: a command and a study."""
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "__init__.py").write_text(TOY)
    info = tmp_path / "toys-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    points = "[bestarm.commands]\ntoy = toys:add_commands [extra]\n[bestarm.studies]\ntoy = toys\n"
    (info / "entry_points.txt").write_text(points)
    return tmp_path


def run(*arguments: str, paths: tuple[Path, ...] = (), **settings) -> subprocess.CompletedProcess:
    path = os.pathsep.join([*map(str, paths), str(Path(bestarm.__file__).parents[1])])
    env = os.environ | {"PYTHONPATH": path} | settings.pop("env", {})
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, **settings)


def test_another_distribution_brings_a_command_and_a_study(site):
    """The command is listed with what it says of the environment; a missing package names its extra."""
    shown = run("-m", "bestarm", "--help", paths=(site,))
    assert "a toy" in shown.stdout
    assert "TOY_SIZE, how large" in shown.stdout
    lacking = run("-m", "bestarm", "toy", paths=(site,))
    said = "bestarm: toy needs a_package_that_nobody_has, which is not here: pip install 'toys[extra]'\n"
    assert (lacking.returncode, lacking.stderr) == (2, said)
    names = run("-c", "from bestarm_lab.study_packages import study_names; print(*study_names())", paths=(site,))
    assert names.stdout.split() == ["dpp_bbo", "gpoo", "gse", "linear_topm", "oae", "toy"]


def test_a_checkout_declares_what_an_old_installation_does_not_know(monkeypatch):
    """With no metadata at all, every command and study is there; the extras are those of the declaration."""
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: ())
    monkeypatch.setattr(study_packages, "entry_points", declared := plugins.entry_points.__wrapped__)  # asked anew
    assert {k: e.extras for k, e in declared("bestarm.commands").items()} == {"lab": ["lab"], "screens": ["screens"]}
    assert study_packages.study_names() == ["dpp_bbo", "gpoo", "gse", "linear_topm", "oae"]


def test_the_installed_metadata_are_those_of_the_checkout():
    for group in ("bestarm.commands", "bestarm.studies", "bestarm.data"):
        for entry in plugins.entry_points(group).values():
            assert isinstance(entry, EntryPoint)
            assert entry.load() is not None


def without_module(lacking: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    lines = ["import sys", f"sys.modules[{lacking!r}] = None", "from bestarm.command_line import main"]
    return run("-c", "\n".join([*lines, f"sys.exit(main({list(arguments)}))"]))


def test_a_command_without_its_extra_names_it_and_suggest_needs_no_torch():
    """Where its policy has no networks."""
    shown = without_module("psutil", "rows", "gse")
    said = "bestarm: rows needs psutil, which is not here: pip install 'bestarm[lab]'\n"
    assert (shown.returncode, shown.stderr) == (2, said)
    shown = without_module("torch", "suggest", "absent.csv", "phenotypes.csv")
    assert shown.returncode == 2
    assert shown.stderr.startswith("bestarm: there is no file absent.csv; ")


REFUSALS = """
import sys
from bestarm.command_line import main
suggest = ["suggest", "no.csv", "p.csv"]
for arguments in (["sugest"], suggest, [*suggest, "--policy", "hit"], ["replay", "no", "p"]):
    try:
        main(arguments)
    except SystemExit:
        pass
print([name for name in ("torch", "matplotlib", "scipy.stats", "bestarm_studies") if name in sys.modules])
"""


def test_refusals_load_no_study_and_nothing_slow():
    """Neither Torch nor Matplotlib nor the statistics of SciPy, which take seconds."""
    shown = run("-c", REFUSALS)
    assert shown.stdout.strip() == "[]"
    assert sum(line.startswith("bestarm: ") for line in shown.stderr.splitlines()) == 4


def test_without_a_checkout_a_command_says_what_it_needs(tmp_path):
    commands = [["rows", "gse"], ["notebook", "gse/01_problem"], ["retell"], ["repro"], ["pages"]]
    code = f"from bestarm.command_line import main\nprint(*map(main, {commands}))"
    shown = run("-c", code, cwd=tmp_path, env={"BESTARM_ROOT": str(tmp_path)})
    assert shown.stdout.split() == ["2"] * 5
    assert shown.stderr == "".join(
        f"bestarm: bestarm {name} needs a checkout of the repository (git clone), as the working directory or as "
        f"BESTARM_ROOT; {tmp_path} has no params.yaml.\n"
        for name, *_ in commands
    )


def test_the_project_is_the_one_around_the_working_directory(tmp_path, monkeypatch):
    """Unless BESTARM_ROOT names another; elsewhere it is the checkout of the packages."""
    code = "from bestarm_lab.paths import ROOT; print(ROOT)"
    deep = tmp_path / "own" / "notebooks"
    deep.mkdir(parents=True)
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / "own" / name).write_text("seed: 1\n")
    monkeypatch.delenv("BESTARM_ROOT", raising=False)
    checkout = Path(bestarm.__file__).parents[2]
    for folder, root, expected in ((deep, "", tmp_path / "own"), (deep, tmp_path, tmp_path), (tmp_path, "", checkout)):
        shown = run("-c", code, cwd=folder, env={"BESTARM_ROOT": str(root)} if root else {})
        assert Path(shown.stdout.strip()) == expected


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left on device: /x/y. Free the disk, or choose another place."),
        (errno.EROFS, "Read-only file system: /x/y. Choose another place."),
        (errno.EACCES, "Permission denied: /x/y. Choose another place."),
        (errno.ENOENT, "No such file or directory: /x/y."),
        (errno.EISDIR, "Is a directory: /x/y."),
    ],
)
def test_only_a_full_disk_is_to_be_freed(number, words):
    assert one_line(OSError(number, os.strerror(number), "/x/y")) == words


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted."),
        (MemoryError("Unable to allocate 7 GiB"), 2, "memory ran out (Unable to allocate 7 GiB)."),
        (ValueError("a line\nand another"), 2, "a line and another"),
    ],
)
def test_bad_endings_of_a_command_stand_in_one_line(monkeypatch, capsys, error, status, words):
    def add(commands):
        commands.add_parser("x").set_defaults(run=raising(error))
        return ""

    entry = SimpleNamespace(extras=(), load=lambda: add)
    monkeypatch.setattr(command_line, "entry_points", lambda group: {"x": entry})
    assert main(["x"]) == status
    assert capsys.readouterr().err.strip() == f"bestarm: {words}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("suggest a b --batch x", "--batch: invalid int value: 'x'; bestarm suggest --help tells what there is."),
        ("replay a b --top x", "--top: invalid share value: 'x'; bestarm replay --help tells what there is."),
        ("report", "the following arguments are required: STATE; bestarm report --help tells what there is."),
    ],
)
def test_what_the_parser_refuses_is_one_line(capsys, arguments, words):
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split())
    assert capsys.readouterr().err == f"bestarm: {words}\n"


def seconds(code: str) -> float:
    """Return the least processor seconds that a fresh Python takes for some code, beyond its own start."""
    script = f"import time\nbegan = time.process_time()\n{code}\nprint('took', time.process_time() - began)"
    return min(float(run("-c", script, cwd=ROOT).stdout.rsplit("took", 1)[1]) for _ in range(3))


def test_importing_is_quick():
    assert seconds("import bestarm; bestarm.__all__; dir(bestarm)") < 0.2


def test_help_is_quick_and_names_the_environment_variables():
    code = "from bestarm.command_line import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    assert seconds(code) < 0.5
    text = " ".join(run("-m", "bestarm", "--help").stdout.split())
    for name in ("DATA", "STORE", "WORKERS", "FRESH", "OFFLINE"):
        assert f"BESTARM_{name}," in text


@pytest.mark.parametrize("name", bestarm.__all__)
def test_every_public_name_is_there_and_documented(name):
    if name == "BatchSearchCV":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'bestarm[sklearn]'")
    assert len(getattr(bestarm, name).__doc__) > 20
    assert name in dir(bestarm)


def test_an_unknown_name_is_refused_with_those_that_there_are():
    refuses(lambda: bestarm.mean_opts, r"no attribute 'mean_opts'; it has: .*mean_opt", AttributeError)


def test_the_version_is_that_of_the_package():
    assert f'version = "{bestarm.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_first_compilation_is_said_once(tmp_path):
    """With an empty cache of compiled code, on the standard error; not with a full one."""
    code = (
        "import bestarm, numpy as np\n"
        "state = bestarm.random_batches(2, 2).start(bestarm.Arms(np.eye(4)), bestarm.Streams.first(1))\n"
        "bestarm.random_batches(2, 2).start(bestarm.Arms(np.eye(4)), bestarm.Streams.first(1))"
    )
    for folder, times in ((tmp_path / "empty", 1), (tmp_path / "full", 0)):
        folder.mkdir()
        if times == 0:
            (folder / "x.nbi").touch()
        shown = run("-c", code, env={"NUMBA_CACHE_DIR": str(folder)})
        assert (shown.returncode, shown.stderr.count("compiling for the first time")) == (0, times)

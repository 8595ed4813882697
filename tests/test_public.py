"""The one import: public names, what they cost, and the help of the command line."""

import os
import subprocess
import sys

import pytest

import bestarm
from bestarm_lab.paths import ROOT


def seconds(code: str) -> float:
    """Return the least processor seconds that a fresh Python takes for some code, beyond its own start."""
    script = f"import time\nbegan = time.process_time()\n{code}\nprint('took', time.process_time() - began)"
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
        for _ in range(3)
    ]
    return min(float(run.stdout.rsplit("took", 1)[1]) for run in runs)


def test_importing_is_quick():
    assert seconds("import bestarm; bestarm.__all__; dir(bestarm)") < 0.2


def test_help_is_quick_and_names_the_environment_variables():
    code = "from bestarm.command_line import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    assert seconds(code) < 0.5
    shown = subprocess.run([sys.executable, "-m", "bestarm", "--help"], capture_output=True, text=True, check=True)
    text = " ".join(shown.stdout.split())
    for name in ("DATA", "STORE", "WORKERS", "FRESH", "OFFLINE"):
        assert f"BESTARM_{name}," in text


@pytest.mark.parametrize("name", bestarm.__all__)
def test_every_public_name_is_there_and_documented(name):
    if name == "BatchSearchCV":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'bestarm[sklearn]'")
    assert len(getattr(bestarm, name).__doc__) > 20
    assert name in dir(bestarm)


def test_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(AttributeError, match=r"no attribute 'mean_opts'; it has: .*mean_opt"):
        bestarm.mean_opts  # noqa: B018


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
        env = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        assert run.stderr.count("compiling for the first time") == times

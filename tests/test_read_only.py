"""The package where nobody may write: compiled code is kept in a folder of the user, or a line says that it is not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bestarm

SEARCH = (
    "import numpy as np, bestarm\n"
    "state = bestarm.random_batches(2, 2).start(bestarm.Arms(np.eye(4)), bestarm.Streams.first(1))\n"
    "from bestarm.guards.rewards import note_outcomes\n"
    "note_outcomes(np.ones((1, 2), np.int64), np.ones((1, 2)), np.zeros(1, np.bool_), np.zeros(1, np.int64))\n"
    "print(bestarm.__file__)\n"
)


@pytest.fixture
def run(tmp_path):
    """Return a function that starts a search from a read-only copy of the library, with a home of some mode."""
    site, home = tmp_path / "site-packages", tmp_path / "home"
    shutil.copytree(Path(bestarm.__file__).parent, site / "bestarm", ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()
    command = [sys.executable, "-c", SEARCH]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("the super-user may write anywhere, and setpriv, which takes that right away, is not here")
        command = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override", *command]

    def once(home_mode: int) -> subprocess.CompletedProcess:
        home.chmod(home_mode)
        kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
        env = kept | {"PYTHONPATH": str(site), "HOME": str(home), "TMPDIR": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, check=True)

    folders = [site / "bestarm", *(p for p in (site / "bestarm").rglob("*") if p.is_dir())]
    for folder in [site, *folders]:
        folder.chmod(0o555)
    yield once
    for folder in [site, *folders, home]:
        folder.chmod(0o755)


def test_a_read_only_package_keeps_its_compiled_code_with_the_user(run, tmp_path):
    """The first start compiles and says so, the second one finds what the first has kept; the package is as it was."""
    first, second = run(0o755), run(0o755)
    assert first.stdout.startswith(str(tmp_path))
    assert first.stderr.count("\n") == 1
    assert "compiling for the first time" in first.stderr
    assert second.stderr == ""
    assert list((tmp_path / "home" / ".cache" / "bestarm" / "numba").rglob("*.nbi"))
    assert not list((tmp_path / "site-packages").rglob("*.nb*"))


def test_where_nothing_can_be_written_one_line_says_so(run, tmp_path):
    """Neither package nor home: the search starts all the same, and leaves nothing in the temporary folder."""
    found = run(0o555)
    assert found.stdout.startswith(str(tmp_path))
    said = found.stderr.splitlines()
    assert len(said) == 2
    assert "compiled code cannot be kept, since" in said[0]
    assert "Set NUMBA_CACHE_DIR to a folder of your own." in said[0]
    assert "compiling for the first time" in said[1]
    assert not list(tmp_path.glob("bestarm-*"))

"""Notebooks and pipelines that are killed at random moments, and two pipelines at once: the same files at the end.

``pytest --kills 50 tests/lab/notebooks/test_kills.py`` kills as often as that; by default a few times.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
RUN = """
import sys
from bestarm_lab.notebooks.runner import run_notebook
print("ready", flush=True)
run_notebook("gse/01_tiny", sys.argv[1])
"""
WRITES = """
import os, time
from pathlib import Path
for number in range(20):
    name = Path(os.environ["BESTARM_OUTPUT"]) / f"fig{number:02d}.csv"
    with open(name, "w") as file:
        for line in range(50):
            file.write(f"{profile},{number},{line}\\n")
            file.flush()
    time.sleep(0.01)
print("20 figures at", profile)
"""
STAGE = f"""
import sys
sys.path.insert(0, {str(EXPERIMENTS)!r})
import os, time
from pathlib import Path
from small_experiments import SEED, experiment
from bestarm_lab.experiments.run import make_rows
from bestarm_lab.experiments.store import write_rows
from bestarm.policies.linear.gifa import MLinGape
small = experiment(replications=20, block=2, series={{"A": MLinGape(2, sigma=1.0)}})
rows = make_rows(small, "laptop", seed=SEED, store=Path("_store"))
write_rows(rows, Path("results/rows.parquet"), "rows")
while Path("wait").exists():
    time.sleep(0.05)
"""


def killed(process: subprocess.Popen, after: float) -> bool:
    """Kill a process and all of its group after some seconds; return whether it was still running."""
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return True
    finally:
        process.communicate()
    return False


def start(command: list[str], folder: Path, **variables: str) -> subprocess.Popen:
    given = {"cwd": folder, "env": os.environ | variables, "text": True, "start_new_session": True}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **given)


@pytest.fixture
def house(tmp_path, tiny_notebook):
    """Return a folder with one notebook that writes its figures slowly, and with figures of an earlier run."""
    tiny_notebook(WRITES)
    figures = tmp_path / "figures/gse/01_tiny"
    figures.mkdir(parents=True)
    (figures / "fig00.csv").write_text("of an earlier run\n")
    (figures / "fig99.csv").write_text("of an earlier run\n")
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["smoke", "laptop"])
def test_a_notebook_that_is_killed_publishes_all_or_nothing(house, kills, profile):
    """A published name has the earlier run or the new one, whole; a run to the end gives equal files."""
    command = [sys.executable, "-c", RUN, profile]
    published = house / ("figures" if profile == "laptop" else "_quick/smoke/figures") / "gse/01_tiny"
    notebook = house / ("notebooks/gse" if profile == "laptop" else "_quick/smoke/notebooks/gse") / "01_tiny.ipynb"
    expected = {f"fig{n:02d}.csv": "".join(f"{profile},{n},{line}\n" for line in range(50)) for n in range(20)}
    earlier = contents(published)
    text = notebook.read_text() if notebook.exists() else ""
    moments, seconds = random.Random(len(profile)), 3.0
    for _ in range(max(1, kills // 2)):
        process = start(command, house, BESTARM_ROOT=str(house))
        assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        if not killed(process, moments.uniform(0.0, 1.2 * seconds)):
            seconds = time.monotonic() - began
        assert contents(published) in ({}, earlier, expected)  # empty between two renames
        if notebook.exists() and notebook.read_text() != text:
            assert "20 figures at" in json.dumps(json.loads(notebook.read_text()))
    process = start(command, house, BESTARM_ROOT=str(house))
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert contents(published) == expected
    cells = json.loads(notebook.read_text())["cells"]
    assert [output["text"] for cell in cells for output in cell.get("outputs", [])] == [[f"20 figures at {profile}\n"]]
    assert not [p for p in house.rglob(".*") if p.name.startswith(".01_tiny")]


def dvc(folder: Path, *arguments: str) -> subprocess.Popen:
    return start([sys.executable, "-m", "dvc", *arguments], folder, DVC_NO_ANALYTICS="1")


def ended(process: subprocess.Popen) -> str:
    """Return what a process says until its end, which must be a good one."""
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, out + errors
    return out + errors


@pytest.fixture
def pipeline(tmp_path):
    """Return a folder with a pipeline of one stage, with the options of the project's own stages."""
    ended(dvc(tmp_path, "init", "--no-scm", "--quiet"))
    (tmp_path / "stage.py").write_text(STAGE)
    outs = [{"results": {"cache": False, "persist": True}}]
    stage = {"cmd": f"{sys.executable} stage.py", "deps": ["stage.py"], "outs": outs}
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"rows": stage}}))
    return tmp_path


@pytest.mark.slow
def test_dvc_repro_that_is_killed_ends_with_equal_bits(pipeline, kills, tmp_path_factory):
    """Killed with all its children at random moments, repeated: the file of an undisturbed run, and a clean state."""
    calm = tmp_path_factory.mktemp("calm")
    (calm / "stage.py").write_text(STAGE)
    subprocess.run([sys.executable, "stage.py"], cwd=calm, check=True, capture_output=True)
    moments = random.Random(1)
    for _ in range(max(1, kills // 2)):
        killed(dvc(pipeline, "repro"), moments.uniform(0.5, 6.0))
        for path in pipeline.glob("results/rows.parquet"):
            assert path.read_bytes() == (calm / "results/rows.parquet").read_bytes()
    ended(dvc(pipeline, "repro"))
    assert (pipeline / "results/rows.parquet").read_bytes() == (calm / "results/rows.parquet").read_bytes()
    assert not list(pipeline.glob("results/.*"))
    assert "up to date" in ended(dvc(pipeline, "status"))


@pytest.mark.slow
def test_of_two_dvc_repro_at_once_one_ends_with_a_clear_message(pipeline):
    """The second one names the process that is running; the first one finishes, and then a third has nothing to do."""
    (pipeline / "wait").touch()
    first = dvc(pipeline, "repro")
    limit = time.monotonic() + 200
    while not (pipeline / "results/rows.parquet").exists():
        assert first.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.1)
    second = dvc(pipeline, "repro")
    out, errors = second.communicate(timeout=240)
    with contextlib.suppress(FileNotFoundError):
        (pipeline / "wait").unlink()
    assert second.returncode not in (0, None)
    assert [line for line in (out + errors).splitlines() if line.startswith("ERROR")]
    assert f"PID {first.pid}" in out + errors
    assert "Traceback" not in out + errors
    ended(first)
    assert "up to date" in ended(dvc(pipeline, "repro"))

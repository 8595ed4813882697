"""Sizes and import times of an installation with each extra: ``python -m benchmarks.install --python 3.11 3.13``.

The wheel of this checkout is installed into fresh environments by uv, with the newest versions that its ranges allow or
with ``--oldest`` those at their lower ends. In each the first batch is asked for. It needs uv and a package index;
``--constraint torch==2.13.0+cpu`` takes one build of Torch where an index has several.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("", "networks", "sklearn", "excel", "plot", "screens", "lab", "cluster")
WITH_TORCH = ("networks", "screens", "lab", "cluster")

_FIRST_BATCH = """
import numpy, bestarm
arms = numpy.random.default_rng(1).standard_normal((20, 3))
for policy in ({policies}):
    assert len(bestarm.Search(arms, policy).ask()) > 0
"""
_LIGHT = "bestarm.random_batches(4, 3), bestarm.m_lingape(2), bestarm.gse_lin(100), bestarm.gp_bucb(4, 3)"
_SCREEN = """
import pandas, numpy
from bestarm.command_line import main
table = pandas.DataFrame(numpy.random.default_rng(1).standard_normal((20, 3)).round(3), columns=["a", "b", "c"])
table.insert(0, "gene", [f"G{i}" for i in range(20)])
table.to_csv("features.csv", index=False)
table[["gene"]].assign(phenotype=table["a"]).to_csv("screen.csv", index=False)
small = ["--policy", "random", "--batch", "4", "--rounds", "2", "--runs", "2"]
assert main(["replay", "features.csv", "screen.csv", *small]) == 0
"""
_SKLEARN = """
import numpy, bestarm, sklearn.tree
x = numpy.random.default_rng(1).standard_normal((60, 3))
space = {"max_depth": list(range(1, 30))}
tuned = bestarm.BatchSearchCV(sklearn.tree.DecisionTreeClassifier(), space, n_iter=6, batch_size=3, cv=2)
assert 1 <= tuned.fit(x, x[:, 0] > 0).best_params_["max_depth"] < 30
"""
_EXCEL = """
import bestarm, pandas
pandas.DataFrame({"name": ["1.10", "1.1"], "x": [1.5, 2.5]}).to_excel("c.xlsx", index=False)
assert bestarm.Search("c.xlsx", "random").candidates.names == ("1.10", "1.1")
"""
_PLOT = """
import numpy, bestarm
search = bestarm.Search(numpy.random.default_rng(1).standard_normal((20, 3)), "neighbours")
search.tell(search.ask(5).assign(reward=[1.0, 2.0, 3.0, 2.5, 1.5]))
search.plot().savefig("search.png")
search.report("search.html")
"""
_LAB = """
import bestarm_lab.results, bestarm_lab.notebooks.pages, bestarm_lab.notebooks.rebuild
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names
assert [load_study(name).name for name in study_names()] == ["dpp_bbo", "gpoo", "gse", "linear_topm", "oae"]
"""
TRIES = {  # what must work with an extra
    "": _FIRST_BATCH.format(policies=_LIGHT),
    "networks": _FIRST_BATCH.format(policies="bestarm.random_batches(4, 3), bestarm.mean_opt(4, 3, optimism=0.1)"),
    "sklearn": _SKLEARN,
    "excel": _EXCEL,
    "plot": _PLOT,
    "screens": _SCREEN,
    "lab": _LAB,
    "cluster": "import bestarm_lab.experiments.cluster, distributed, cloudpickle",
}
IMPORTS = "import time; began = time.process_time(); import bestarm; bestarm.{}; print(time.process_time() - began)"


def said(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Return what a command prints; if it fails, end with its last words."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "BESTARM_", "VIRTUAL_ENV"))}
    run = subprocess.run([str(c) for c in command], cwd=cwd, env=kept | environment, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(map(str, command))[:300]}\n{run.stdout[-2000:]}{run.stderr[-3000:]}")
    return run.stdout


def lower_ends(extra: str) -> list[str]:
    """Return what an extra needs, each at the oldest version of its range."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *(project["optional-dependencies"][extra] if extra else [])]
    inner = [text.partition("[")[2].rstrip("]") for text in texts if text.startswith("bestarm[")]
    found = [text.replace(">=", "==") for text in texts if not text.startswith("bestarm[")]
    return list(dict.fromkeys(found + [text for name in inner for text in lower_ends(name)]))


def size(folder: Path) -> float:
    """Return the megabytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def measured(wheel: Path, uv: str, python: str, extra: str, oldest: bool, constraints: list[str]) -> str:
    """Install into a fresh environment, try it, and return a line of the table."""
    with tempfile.TemporaryDirectory(prefix="bestarm-install-") as name:
        folder = Path(name)
        said(uv, "venv", "--quiet", "--python", python, "env", cwd=folder)
        (folder / "constraints.txt").write_text("\n".join(constraints))
        own = folder / "env" / "bin" / "python"
        what = f"bestarm[{extra}] @ {wheel.as_uri()}" if extra else f"bestarm @ {wheel.as_uri()}"
        (folder / "asked.txt").write_text("\n".join([what, *(lower_ends(extra) if oldest else [])]))
        began = time.perf_counter()
        said(
            uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            own,
            "--constraint",
            "constraints.txt",
            "--requirement",
            "asked.txt",
            cwd=folder,
        )
        seconds = time.perf_counter() - began
        (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        megabytes, number = size(packages), len(list(packages.glob("*.dist-info")))
        version = said(own, "-c", "import platform; print(platform.python_version())", cwd=folder).strip()
        said(own, "-c", TRIES[extra], cwd=folder, MPLBACKEND="Agg", NUMBA_CACHE_DIR=str(folder / "numba"))
        heavy = "mean_opt" if extra in WITH_TORCH else "gp_bucb"
        times = [
            min(float(said(own, "-c", IMPORTS.format(what), cwd=folder)) for _ in range(3))
            for what in ("Search", heavy)
        ]
        if extra not in WITH_TORCH:
            tried = subprocess.run([own, "-c", "import bestarm; bestarm.mean_opt"], capture_output=True, text=True)
            assert "mean_opt needs Torch: pip install 'bestarm[networks]'" in tried.stderr
    kind = "oldest" if oldest else "newest"
    what = f"`bestarm[{extra}]`" if extra else "`bestarm`"
    return (
        f"| {what} | {version} | {kind} | {number} | {megabytes:,.0f} | {seconds:.0f} | {times[0]:.2f} | "
        f"{times[1]:.2f} (`{heavy}`) |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="+", default=["3.11"], help="versions or interpreters")
    parser.add_argument("--extra", nargs="+", default=list(EXTRAS), choices=EXTRAS)
    parser.add_argument("--oldest", action="store_true", help="the lower ends of the ranges")
    parser.add_argument("--constraint", nargs="+", default=[], help="say torch==2.13.0+cpu")
    parser.add_argument("--uv", default="uv", help="the program")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        said(given.uv, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT, cwd=ROOT)
        (wheel,) = Path(folder).glob("*.whl")
        print(f"wheel: {wheel.stat().st_size / 1e6:.2f} MB\n")
        print("| installed | Python | versions | packages | MB | seconds to install | import seconds | with a policy |")
        print("| --- | --- | --- | --: | --: | --: | --: | --: |")
        for python in given.python:
            for extra in given.extra:
                print(measured(wheel, given.uv, python, extra, given.oldest, given.constraint), flush=True)


if __name__ == "__main__":
    main()

"""Narrow variants of figures, for phones: drawn by their notebooks from committed rows, kept in ``build/narrow``.

A notebook is executed only where its figures, its code or what lays figures out are not those of the variants there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import papermill

from bestarm_lab.notebooks.runner import notebooks_of
from bestarm_lab.paths import FIGURES, ROOT

NARROW = ROOT / "build" / "narrow"


def narrow_of(drawn: Path) -> Path:
    """Return the narrow variant of a committed figure; where it has no room for one there is no such file."""
    drawn = drawn.resolve()
    below = drawn.relative_to(FIGURES) if drawn.is_relative_to(FIGURES) else Path(drawn.name)
    return NARROW / below.with_suffix(".svg")


def state_of(notebook: Path) -> str:
    """Return a hash of the code of a notebook, of what lays figures out, and of the numbers of its figures."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    digest = hashlib.sha256("\n\n".join(code).encode())
    numbers = (FIGURES / notebook.parent.name / notebook.stem).glob("*.csv")
    for file in [*sorted(numbers), *sorted((ROOT / "src" / "bestarm_lab" / "figures").glob("*.py"))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def draw(notebooks: list[Path] | None = None, workers: int | None = None) -> list[Path]:
    """Draw the variants that are not there or not current, and return the notebooks that were executed for them.

    Parameters
    ----------
    notebooks : list of Path, optional
        By default all.
    workers : int, optional
        Notebooks that run at once, by default one for each processor, up to four.
    """
    stale = [path for path in notebooks or notebooks_of() if not _is_current(path)]
    if stale:
        print(f"narrow figures: executing {len(stale)} notebooks from committed rows", file=sys.stderr)
    with ThreadPoolExecutor(workers or min(4, os.cpu_count() or 1)) as pool:
        for path in pool.map(_draw, stale):
            print(f"narrow figures: {path.parent.name}/{path.stem}", file=sys.stderr)
    return stale


def _folder(notebook: Path) -> Path:
    return NARROW / notebook.parent.name / notebook.stem


def _is_current(notebook: Path) -> bool:
    written = _folder(notebook) / "state"
    return written.is_file() and written.read_text(encoding="utf-8") == state_of(notebook)


def _draw(notebook: Path) -> Path:
    folder, work = _folder(notebook), NARROW / "work" / notebook.parent.name / notebook.stem
    shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    os.environ["BESTARM_NARROW"] = str(NARROW)
    given = {"output_dir": str(work.relative_to(ROOT))}
    quiet = {"progress_bar": False, "extra_arguments": ["--IPKernelApp.log_level=40"]}
    papermill.execute_notebook(
        str(notebook), str(work / notebook.name), given, kernel_name="python3", cwd=str(ROOT), **quiet
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state").write_text(state_of(notebook), encoding="utf-8")
    shutil.rmtree(work)
    return notebook

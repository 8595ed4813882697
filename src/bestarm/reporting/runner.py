"""Execute notebooks: with checked parameters, from the root of the project, into a temporary folder first."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient import NotebookClient

from bestarm.paths import EXECUTED, NOTEBOOKS, QUICK, ROOT

REQUIRED = ("profile", "output_dir")


class NotebookFailed(RuntimeError):
    """A cell raised; what was coded before is untouched."""


def notebooks_of(paper: str | None = None) -> list[Path]:
    """Return the notebooks of one paper or of all, in order."""
    return sorted(p for p in NOTEBOOKS.glob(f"{paper or '*'}/*.ipynb") if ".ipynb_checkpoints" not in p.parts)


def check_parameters(path: Path, given: Mapping[str, Any]) -> None:
    """Refuse parameters that the notebook does not have, and notebooks that lack the required ones."""
    declared = set(papermill.inspect_notebook(str(path)))
    missing = [name for name in REQUIRED if name not in declared]
    if missing:
        raise ValueError(
            f"{path.name} declares no parameter {', '.join(missing)}; add it to the cell tagged parameters."
        )
    unknown = sorted(set(given) - declared)
    if unknown:
        raise ValueError(f"{path.name} has no parameter {', '.join(unknown)}; it has: {', '.join(sorted(declared))}.")


@contextlib.contextmanager
def _progress(path: Path, name: str) -> Iterator[None]:
    """Print the kernel's progress lines while it works: one rewritten line on a terminal, plain lines in a log."""
    path.unlink(missing_ok=True)
    done = threading.Event()
    began = time.monotonic()

    def follow() -> None:
        seen = 0
        while not done.wait(1.0):
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            for line in lines[seen:]:
                text = f"[{time.monotonic() - began:5.0f} s] {name}: {line}"
                end = "\r" if sys.stderr.isatty() else "\n"
                print(f"{text:<100}" if end == "\r" else text, end=end, file=sys.stderr, flush=True)
            seen = len(lines)

    thread = threading.Thread(target=follow, daemon=True)
    os.environ["BESTARM_PROGRESS"] = str(path)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        os.environ.pop("BESTARM_PROGRESS", None)
        path.unlink(missing_ok=True)


def run_notebook(path: Path, profile: str, **parameters: Any) -> Path:
    """Execute a notebook at a profile and publish what it saved.

    Figures and results go to a temporary folder and are moved when the notebook has finished: to ``figures/`` and
    ``results/``, or below ``_quick/`` in the smoke profile.

    Parameters
    ----------
    path : Path
        Notebook below ``notebooks/``.
    profile : {"smoke", "laptop", "paper"}
        Scale.
    **parameters
        Further parameters of the notebook.

    Returns
    -------
    Path
        The executed notebook.

    Raises
    ------
    ValueError
        For an unknown or missing parameter, before anything runs.
    NotebookFailed
        If a cell raises.
    """
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"there is no notebook {path}.")
    check_parameters(path, {"profile": profile, **parameters})
    executed = EXECUTED / profile / path.parent.name / path.name
    temporary = EXECUTED / f".{profile}-{path.parent.name}-{path.stem}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    given = {"profile": profile, "output_dir": str(temporary.relative_to(ROOT)), **parameters}
    began = time.monotonic()
    name = f"{path.parent.name}/{path.stem}"
    with _progress(temporary / "progress.txt", name):
        try:
            papermill.execute_notebook(
                str(path), str(temporary / path.name), given, kernel_name="python3", cwd=str(ROOT), progress_bar=False
            )
        except papermill.PapermillExecutionError as error:
            raise NotebookFailed(
                f"{name} stopped in cell {error.exec_count}: {error.ename}: {error.evalue.rstrip('.')}. "
                f"Nothing was coded; the notebook so far is {temporary / path.name}."
            ) from error
    _publish(temporary, ROOT if profile != "smoke" else QUICK)
    executed.parent.mkdir(parents=True, exist_ok=True)
    os.replace(temporary / path.name, executed)
    shutil.rmtree(temporary)
    print(f"{name}: {profile} profile in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return executed


def _publish(temporary: Path, target: Path) -> None:
    for source in sorted(temporary.glob("*/**/*")):
        if source.is_file():
            destination = target / source.relative_to(temporary)
            destination.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, destination)


def refresh_notebook(path: Path) -> None:
    """Run a notebook with its own defaults (the smoke profile) and keep the text outputs in the file itself."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [_text_only(output) for output in cell.outputs if _is_text(output)]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


def _is_text(output: Any) -> bool:
    if output.output_type == "stream":
        return output.name == "stdout"
    return output.output_type in ("execute_result", "display_data") and not any(
        kind.startswith("image/") for kind in output.data
    )


def _text_only(output: Any) -> Any:
    if output.output_type != "stream":
        output.data = {kind: text for kind, text in output.data.items() if kind in ("text/plain", "text/markdown")}
    return output
